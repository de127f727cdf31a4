"""The shots of a migration: every group of ranks takes the next one that is not done, until none is left.

A shot counts as done only after all ranks of its group have published their planes of its partial image. One that
fails (bad traces, a wavefield that blows up) is tried once more at the end, then quarantined, and the survey continues.

Which planes and receivers of a shot a rank has is known before anything is read (`share_of`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt import physics
from subsalt.acquisition.survey import Shot, Survey
from subsalt.earth.grid import Box
from subsalt.errors import CorruptionError
from subsalt.methods.rtm.broadcast import TracesTogether, reading_of, with_input
from subsalt.methods.rtm.partial import write_partial
from subsalt.methods.rtm.read_ahead import Rows, TraceReader
from subsalt.methods.rtm.reuse import Reuse, reused
from subsalt.methods.rtm.rtm import ShotImage, migrate_shot
from subsalt.methods.rtm.samples import SnapshotPool
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.methods.rtm.strategies import Strategies
from subsalt.methods.rtm.wavefields import records_of
from subsalt.parallel.comm import Comm
from subsalt.parallel.decomp import Slab
from subsalt.propagation.domain import Domain
from subsalt.propagation.halo import Traffic
from subsalt.run import quarantine
from subsalt.run.crashes import CrashNote
from subsalt.run.groups import Groups
from subsalt.run.scheduler import Outcome
from subsalt.run.units import Report
from subsalt.timing import Phases


@dataclass(frozen=True)
class ShotShare:
    """One rank's share of a shot.

    Parameters
    ----------
    slab : Slab
        Planes of the shot's computational grid.
    rows : ndarray, (k,)
        Receivers whose support touches the planes owned; one receiver may be in the shares of several ranks.
    image_box : Box
        The part of the image that this rank accumulates, on the model grid; may be empty.
    """

    slab: Slab
    rows: NDArray[np.intp]
    image_box: Box


def share_of(setup: MigrationSetup, shot: Shot, group: Comm | None = None) -> ShotShare:
    """Return a rank's share of a shot; needs no message and reads no model values.

    Parameters
    ----------
    setup : MigrationSetup
        Shared choices.
    shot : Shot
        Positions.
    group : Comm, optional
        The ranks that share the shot; None: this process alone.

    Raises
    ------
    ConfigError
        When the slabs of the group would be thinner than their halo.
    """
    rank, ranks = (group.rank, group.size) if group is not None else (0, 1)
    positions = np.concatenate([shot.src[None], shot.rcv])
    domain = Domain.of(
        setup.model.grid,
        setup.window(shot),
        setup.propagation,
        physics.medium_of(setup.model, setup.propagation.medium),
        positions,
        rank=rank,
        ranks=ranks,
    )
    _, rows = domain.mine(domain.points(shot.rcv))
    return ShotShare(domain.slab, rows, domain.image_box)


@dataclass
class ShotRunner:
    """Migrates shots on the ranks of one group.

    Parameters
    ----------
    setup : MigrationSetup
        What all shots share.
    survey : Survey
        Shots and their traces.
    images : Path
        Folder of the partial images.
    groups : Groups
        This rank's group.
    clock : Phases
        Takes the seconds.
    io : str
        How the group gets its input: `[parallel] io`.
    crash : CrashNote, optional
        Where it is said which shot this rank begins.
    reuse : Reuse, optional
        What the run has kept: shots that it serves are not propagated.
    strategies : Strategies, optional
        How shots have their source wavefields again; all snapshots in memory when None.
    by : str
        What computes, in words.
    """

    setup: MigrationSetup
    survey: Survey
    images: Path
    groups: Groups
    clock: Phases
    io: str = "per-rank"
    crash: CrashNote | None = None
    reuse: Reuse | None = None
    strategies: Strategies | None = None
    by: str = ""

    def __post_init__(self) -> None:
        self.pool, self.point_steps, self.grid_point_steps = SnapshotPool(), 0, 0
        #: what all exchanges of ghost planes took on this rank
        self.halo = Traffic()
        reading = reading_of(self.io, self.groups.group)
        self.setup = with_input(self.setup, reading)
        self.feed = (
            TraceReader(self.survey, self._rows)
            if reading is None
            else TracesTogether(self.survey, self._rows, reading)
        )

    def _rows(self, shot: Shot) -> Rows:
        """Return the receivers whose traces this rank injects."""
        group = self.groups.group
        return share_of(self.setup, shot, group).rows if group.size > 1 else None

    def one(self, shot: Shot, ahead: Shot | None, report: Report) -> Outcome:
        """Migrate one shot and publish its partial image; return what became of it. Collective over the group."""
        report(shot, 0.0)
        group = self.groups.group
        if self.crash is not None:
            self.crash.now(shot.id)
        kept = self._reused(shot, report)
        if isinstance(kept, ShotImage):
            return self._published(shot, kept)
        try:
            with self.clock("trace input"), group.together():
                traces = self.feed.take(shot)
            if ahead is not None and not (self.reuse and self.reuse.source_of(ahead.id)):
                with self.clock("trace input"):
                    self.feed.prepare(ahead)
            part = migrate_shot(
                self.setup,
                shot,
                traces.data,
                rows=traces.rows,
                group=group if group.size > 1 else None,
                pool=self.pool,
                phases=self.clock,
                progress=lambda fraction: report(shot, fraction),
                **({} if self.strategies is None else self.strategies.of(shot)),
            )
        except Exception as error:
            if not quarantine.belongs_to_shot(error, group):
                raise
            if group.is_root:
                where: dict[str, object] = {"rank": self.groups.world.rank, "host": group.host}
                quarantine.record(
                    self.images.parent, self.survey, shot, self.setup.window(shot), error, where
                )
            if self.strategies is not None:
                # what it left may be what was wrong
                self.strategies.scratch.remove(shot.id)
            return {"shot": shot.id, "reason": quarantine.words_of(error)}
        told = self._published(shot, part) | ({} if kept is None else {"damaged": str(kept)[:300]})
        told["by"] = self.by
        if self.strategies is not None:
            with self.clock("scratch"):
                told["checkpoint"] = self.strategies.finished(shot, part)
            if group.is_root and self.strategies.choice(shot).scheme.keep != "none":
                told["wavefields"] = records_of(shot.id, self.strategies.scratch.directories)
        return told

    def _reused(self, shot: Shot, report: Report) -> ShotImage | CorruptionError | None:
        """Return the sums of a shot that need no propagation; what is damaged of them; None when it needs one."""
        if self.reuse is None or not self.reuse.source_of(shot.id):
            return None
        with self.clock(self.reuse.source_of(shot.id)):
            return reused(self.reuse, shot, self.groups.group, lambda fraction: report(shot, fraction))

    def _published(self, shot: Shot, part: ShotImage) -> Outcome:
        """Publish the partial image of a shot and return what is told of it. Collective over the group."""
        with self.clock("partial image"):
            sha = write_partial(self.images, part, self.setup.window(shot), self.groups.group)
        self.point_steps += part.point_steps
        self.grid_point_steps += part.grid_point_steps
        self.halo.add(part.traffic, Traffic())
        return {"shot": shot.id, "sha256": sha, "seconds": part.seconds}

    def give_back(self) -> None:
        """Give the memory of snapshots back: no shot is left, and what comes then needs its own."""
        self.pool.give_back("device", "memory")
        if self.strategies is not None and self.strategies.scratch is not None:
            self.strategies.scratch.give_back()
