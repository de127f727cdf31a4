"""Common-receiver gathers: few receivers and many shots, migrated as few shots with many receivers.

The pressure at B of a source of volume at A is that at A of the same source at B. A gather of all traces of one
hydrophone is therefore a shot: its source stands at the hydrophone, its receivers at the sources.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey

#: receivers closer than this are the same, m: coordinates are stored to a centimetre or worse
SAME_PLACE = 0.05
#: shots per receiver from which common-receiver gathers are proposed
WORTH = 2


def of_pressure(survey: Survey) -> bool:
    """Return whether no trace says that it is of a sensor of motion (SEG-Y trace identifications 12 to 17)."""
    ids: Any = survey.notes.get("trace_ids", ())
    return not any(12 <= i <= 17 for i in ids)


def _places(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return positions (n, 3), m, in parts of `SAME_PLACE`."""
    return np.round(points / SAME_PLACE).astype(np.int64)


def fewer_gathers(survey: Survey) -> int | None:
    """Return how many receivers a survey has, when they are fewer than its shots by `WORTH`; else None."""
    shots, n = survey.shots, len(survey.shots)
    some = np.concatenate([s.rcv for s in (shots[:1] + shots[-1:])]) if n else np.empty((0, 3))
    # of a streamer two shots have more receivers than would be worth it: no need to compare all
    if n < WORTH or len(np.unique(_places(some), axis=0)) * WORTH > n:
        return None
    receivers = len(np.unique(np.concatenate([np.unique(_places(s.rcv), axis=0) for s in shots]), axis=0))
    return receivers if 0 < receivers * WORTH <= n else None


def receiver_gathers(survey: Survey) -> Survey:
    """Return the survey with a shot for every receiver: `src` is the receiver, `rcv` the sources that it heard.

    Parameters
    ----------
    survey : Survey
        A survey of pressure, recorded from sources of volume.

    Returns
    -------
    Survey
        Shots 1, 2, ... in the order in which their receivers first appear, the traces of each in the order of the
        shots; samples are read from where they are.

    Notes
    -----
    Exact for a medium with losses in absorbing layers alone, whatever its velocities. The same traces, correlated with
    the same wavelet, add up to the same image where traces are not weighted; where a receiver stands for an area
    (reflectivity), that area is now one between sources.
    """
    shots = survey.shots
    counts = [len(s.rcv) for s in shots]
    rcv = np.concatenate([s.rcv for s in shots])
    src = np.repeat(np.stack([s.src for s in shots]), counts, axis=0)
    _, first, member = np.unique(_places(rcv), axis=0, return_index=True, return_inverse=True)
    member = member.reshape(-1)
    order = np.argsort(member, kind="stable")
    ends = np.searchsorted(member[order], np.arange(len(first) + 1))
    index = (
        None if any(s.trace_index is None for s in shots) else np.concatenate([s.trace_index for s in shots])
    )  # type: ignore[arg-type]
    data = None if any(s.data is None for s in shots) else np.concatenate([s.data for s in shots])  # type: ignore[arg-type]
    out = []
    for number, k in enumerate(np.argsort(first, kind="stable"), 1):
        rows = order[ends[k] : ends[k + 1]]
        out.append(
            Shot(
                number,
                rcv[first[k]],
                src[rows],
                None if data is None else data[rows],
                None if index is None else index[rows],
            )
        )
    notes = {**survey.notes, "gathers": {"receivers": len(out), "shots": len(shots)}}
    return replace(survey, shots=out, notes=notes)
