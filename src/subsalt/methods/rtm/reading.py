"""What the ranks of a group read more than once: ghost planes of the model, and traces that two slabs need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from subsalt.methods.rtm.memory import FLOAT, receivers_on
from subsalt.methods.rtm.need import Needs

#: ghost planes for each plane of its own from which on a slab counts as thin; document 000's 125 planes on 24 nodes had
#: 8 for 5.2, and 57 % efficiency
THIN = 1.0


@dataclass(frozen=True)
class Reading:
    """Bytes that the ranks of a group read for the largest shot, and how thin their slabs are.

    Parameters
    ----------
    model_wanted, model_read : int
        Bytes of the model in the window of the shot, and what its ranks read of it together.
    traces_wanted, traces_read : int
        Bytes of the samples of its traces likewise; 0 when there are none to read.
    owned, ghosts : int
        Planes along x of the thinnest slab, and of its halo.
    """

    model_wanted: int
    model_read: int
    traces_wanted: int
    traces_read: int
    owned: int
    ghosts: int

    @property
    def thin(self) -> bool:
        """Whether the halo outweighs the planes it surrounds."""
        return self.ghosts > THIN * self.owned

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "model_wanted_bytes": self.model_wanted,
            "model_read_bytes": self.model_read,
            "model_redundancy": ratio(self.model_read, self.model_wanted),
            "traces_wanted_bytes": self.traces_wanted,
            "traces_read_bytes": self.traces_read,
            "traces_redundancy": ratio(self.traces_read, self.traces_wanted),
            "thinnest_slab_planes": self.owned,
            "thinnest_slab_ghosts": self.ghosts,
        }


def reading_of(needs: Needs, group: int, files: int, traces: bool) -> Reading:
    """Return what `group` ranks read for the shot with the largest window.

    Parameters
    ----------
    needs : Needs
        Setup and survey.
    group : int
        Ranks per shot.
    files : int
        Volumes of the model that come from files.
    traces : bool
        Traces are read, not modelled.
    """
    setup, shot = needs.setup, needs.worst_shots[0]
    window = needs.window(shot)
    nx, ny, nz = window.shape
    plane = files * FLOAT * ny * nz
    trace = FLOAT * setup.record.nt if traces else 0
    wanted, rows = nx * plane, trace * len(shot.rcv)
    if group == 1:
        return Reading(wanted, wanted, rows, rows, needs.planes[shot.id], 0)
    slabs = needs.slabs(shot, group)
    front = needs.domain(shot).pad[0]
    read = plane * sum(max(0, min(s.last, front + nx) - max(s.first, front)) for s in slabs)
    shares = [receivers_on(needs.domain(shot, (s.rank, group)), shot) for s in slabs]
    thinnest = max(slabs, key=lambda s: (s.ghost_lo + s.ghost_hi) / (s.hi - s.lo))
    return Reading(
        wanted,
        read,
        rows,
        trace * sum(shares),
        thinnest.hi - thinnest.lo,
        thinnest.ghost_lo + thinnest.ghost_hi,
    )


def ratio(part: int, whole: int) -> float:
    """Return part / whole, 1 when there is nothing."""
    return part / whole if whole else 1.0
