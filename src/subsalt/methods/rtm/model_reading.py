"""The bytes of model and traces that the ranks of a group read for a shot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from subsalt.methods.rtm.arrays import FLOAT
from subsalt.methods.rtm.need import Needs
from subsalt.propagation.domain import Domain

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
        Planes along x (or rows along y) of the thinnest part, and of its halo.
    cut : tuple of int
        Parts along x and y.
    """

    model_wanted: int
    model_read: int
    traces_wanted: int
    traces_read: int
    owned: int
    ghosts: int
    cut: tuple[int, int] = (1, 1)

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
        return Reading(wanted, wanted, rows, rows, needs.extents[shot.id][0], 0)
    parts = needs.parts(shot, group)
    # a file is read by whole planes, whatever of them a rank keeps
    read = plane * sum(window.intersect(p.held).shape[0] for p in parts)
    shares = [needs.arrays(shot, (p.rank, group)).receivers for p in parts]
    owned, ghosts = max((_thin(p) for p in parts), key=lambda largest: largest[1] / largest[0])
    return Reading(wanted, read, rows, trace * sum(shares), owned, ghosts, parts[0].counts)


def _thin(part: Domain) -> tuple[int, int]:
    """Return the planes or rows that a part owns, and its ghosts along that axis: of the axis where it is thinner."""
    sides = [(s.hi - s.lo, s.ghost_lo + s.ghost_hi) for s in (part.slab, part.across)]
    return max(sides, key=lambda side: side[1] / side[0])


def ratio(part: int, whole: int) -> float:
    """Return part / whole, 1 when there is nothing."""
    return part / whole if whole else 1.0
