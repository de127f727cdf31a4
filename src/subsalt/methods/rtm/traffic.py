"""What shots read, compute and write besides their image.

Planes and traces that the ranks of a group read more than once; steps, states, and bytes to and from disk, the numbers
that a run counts again.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from subsalt.acquisition.survey import Shot
from subsalt.checkpoint.choice.footprint import disk_traffic, link_traffic
from subsalt.checkpoint.schedule.tasks import Counts
from subsalt.methods.rtm.arrays import FLOAT
from subsalt.methods.rtm.conditions import condition_of
from subsalt.methods.rtm.grouping import Decision
from subsalt.methods.rtm.need import Needs
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.propagation.domain import Domain


@dataclass(frozen=True)
class Totals:
    """Counts and bytes of shots.

    Parameters
    ----------
    counts : Counts
        Of one rank of a group; all do the same.
    written, read : int
        Bytes to and from scratch, of all ranks of the groups.
    scratch : int
        Bytes of scratch at the same time, of all ranks of one group.
    down, up : int
        Bytes of snapshots and states over the links of GPUs to their hosts and back, of all ranks of the groups.
    """

    counts: Counts
    written: int
    read: int
    scratch: int
    down: int = 0
    up: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            **{f.name: getattr(self.counts, f.name) for f in fields(Counts)},
            "bytes_written": self.written,
            "bytes_read": self.read,
            "scratch_bytes": self.scratch,
        }


def of_shot(needs: Needs, decision: Decision, shot: Shot, group: int = 0) -> Totals | None:
    """Return what one shot does on a group of ranks, the smallest when 0; None where nothing is imaged."""
    group = group or decision.group_size
    choice, setup = decision.choice_of(shot, group), needs.setup
    if choice is None or not isinstance(setup, MigrationSetup):
        return None
    per_point = condition_of(setup.imaging.condition).per_point()
    written = read = scratch = down = up = 0
    for rank in range(group):
        sums = per_point * needs.arrays(shot, (rank, group)).snapshot()
        sizes = needs.sizes(shot, group, rank)
        put, get = disk_traffic(choice.scheme, choice.counts, sizes, sums)
        written, read, scratch = written + put, read + get, scratch + choice.best.need.disk
        link = link_traffic(choice.scheme, choice.counts, sizes, sums)
        down, up = down + link.down, up + link.up
    return Totals(choice.counts, written, read, scratch, down, up)


def of_survey(needs: Needs, decision: Decision) -> Totals | None:
    """Return what all shots do together; scratch is that of the groups that work at the same time."""
    found = [t for s in needs.shots if (t := of_shot(needs, decision, s)) is not None]
    if not found:
        return None
    counts = found[0].counts
    for t in found[1:]:
        counts += t.counts
    return Totals(
        counts,
        sum(t.written for t in found),
        sum(t.read for t in found),
        decision.groups * max(t.scratch for t in found),
        sum(t.down for t in found),
        sum(t.up for t in found),
    )


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
    owned, ghosts = max((_thin(p) for p in parts), key=lambda found: found[1] / found[0])
    return Reading(wanted, read, rows, trace * sum(shares), owned, ghosts, parts[0].counts)


def _thin(part: Domain) -> tuple[int, int]:
    """Return the planes or rows that a part owns, and its ghosts along that axis: of the axis where it is thinner."""
    sides = [(s.hi - s.lo, s.ghost_lo + s.ghost_hi) for s in (part.slab, part.across)]
    return max(sides, key=lambda side: side[1] / side[0])


def ratio(part: int, whole: int) -> float:
    """Return part / whole, 1 when there is nothing."""
    return part / whole if whole else 1.0
