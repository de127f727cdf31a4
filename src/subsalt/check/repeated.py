"""Sources and receivers that stand where others do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot
from subsalt.check.context import Context, SampledShot, file_names, leave_out, named, rule, warning
from subsalt.errors import Finding


@rule("repeated", "survey")
def repeated_positions(context: Context) -> Iterator[Finding]:
    """Shots that share a position; receivers of a shot that do."""
    assert context.survey is not None
    src = np.stack([s.src for s in context.survey.shots])
    _, first, member = np.unique(np.round(src, 2), axis=0, return_index=True, return_inverse=True)
    before = first[member.reshape(-1)]
    again = np.flatnonzero(before != np.arange(len(src)))
    if len(again) and len(first) == 1:
        yield one_place(len(src), src[0])
    elif len(again):
        yield shared_places(context, again, before[again])
    for shot in context.survey.shots:
        places = len(np.unique(np.round(shot.rcv, 2), axis=0))
        if places < len(shot.rcv):
            name = f"shot {shot.id}" if shot.id else "the shot without a number (byte 9 is 0)"
            by_table = context.survey.notes.get("positions") == "tables"
            yield warning(
                "W338",
                f"{name}: {len(shot.rcv) - places} of {len(shot.rcv)} receivers stand where another does"
                + _several_files(context, shot) * by_table,
                "the tables place traces by field record and channel: correct the numbers that repeat (byte 9, byte "
                "13), or say where the right ones stand: [data.bytes] ffid = ..."
                if by_table
                else "check the receiver coordinates (bytes 81, 85) and the shot key",
                shot=shot.id,
            )
            return


def one_place(shots: int, at: NDArray[np.float64]) -> Finding:
    """Return the finding on a survey all of whose shots stand at one place, m."""
    return warning(
        "W337",
        f"all {shots} shots stand at one place ({', '.join(f'{v:g}' for v in at)})",
        "take source coordinates from where they are: [data.bytes] source_x, source_y, or [data.geometry]; nothing "
        "to do for one source that was repeated",
    )


def shared_places(context: Context, again: NDArray[np.int64], before: NDArray[np.int64]) -> Finding:
    """Return the finding on shots, by their rows, that stand where one `before` them does."""
    assert context.survey is not None
    shots = context.survey.shots
    sampled = [SampledShot(shots[int(i)], np.empty((0, 0), np.float32)) for i in again]
    pairs = ", ".join(
        f"{shots[int(i)].id} at that of {shots[int(k)].id}"
        for i, k in list(zip(again, before, strict=True))[:5]
    )
    return warning(
        "W337",
        f"{len(again)} of {len(shots)} shots stand where another does: shot {pairs} ({named(context, sampled)})",
        "correct the source coordinates (bytes 73, 77) or the shot key; nothing to do for shots that were repeated; "
        "else " + leave_out(context, sampled),
        shots=[s.shot.id for s in sampled[:50]],
    )


def _several_files(context: Context, shot: Shot) -> str:
    """Return what files the traces of one field record are in."""
    rows = np.linspace(0, len(shot.rcv) - 1, min(len(shot.rcv), 1000)).astype(int)
    files = file_names(context, [shot], (int(row) for row in rows))
    more = f" and {len(files) - 3} more files" * (len(files) > 3)
    return f": field record {shot.id} is that of traces in {', '.join(files[:3])}{more}" if files else ""
