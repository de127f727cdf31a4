"""Steps, states, and bytes to and from disk of the shots of a plan: the numbers that a run counts again."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from subsalt.acquisition.survey import Shot
from subsalt.checkpoint.choice.footprint import disk_traffic, link_traffic
from subsalt.checkpoint.schedule.tasks import Counts
from subsalt.methods.rtm.companion import companions, sums_per_point
from subsalt.methods.rtm.grouping import Grouping
from subsalt.methods.rtm.memory import lags_of
from subsalt.methods.rtm.need import Needs
from subsalt.methods.rtm.setup import MigrationSetup


@dataclass(frozen=True)
class Totals:
    """Counts and bytes of shots.

    Parameters
    ----------
    counts : Counts
        Counts of one rank of a group; they are the same on all ranks.
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


def of_shot(needs: Needs, decision: Grouping, shot: Shot, group: int = 0) -> Totals | None:
    """Return what one shot does on a group of ranks, the smallest when 0; None where nothing is imaged."""
    group = group or decision.group_size
    choice, setup = decision.choice_of(shot, group), needs.setup
    if choice is None or not isinstance(setup, MigrationSetup):
        return None
    written = read = scratch = down = up = 0
    for rank in range(group):
        arrays = needs.arrays(shot, (rank, group))
        # a second wavefield of the receivers is kept as accumulators are
        sums = sums_per_point(setup) * arrays.snapshot() + companions(setup) * arrays.propagator.state
        if (lags := lags_of(setup, arrays)) is not None:
            sums += lags.bytes
        sizes = needs.sizes(shot, group, rank)
        put, get = disk_traffic(choice.scheme, choice.counts, sizes, sums)
        written, read, scratch = written + put, read + get, scratch + choice.best.need.disk
        link = link_traffic(choice.scheme, choice.counts, sizes, sums)
        down, up = down + link.down, up + link.up
    return Totals(choice.counts, written, read, scratch, down, up)


def of_survey(needs: Needs, decision: Grouping) -> Totals | None:
    """Return what all shots do together; scratch is that of the groups that work at the same time."""
    totals = [t for s in needs.shots if (t := of_shot(needs, decision, s)) is not None]
    if not totals:
        return None
    counts = totals[0].counts
    for t in totals[1:]:
        counts += t.counts
    return Totals(
        counts,
        sum(t.written for t in totals),
        sum(t.read for t in totals),
        decision.groups * max(t.scratch for t in totals),
        sum(t.down for t in totals),
        sum(t.up for t in totals),
    )
