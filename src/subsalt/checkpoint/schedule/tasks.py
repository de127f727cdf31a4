"""A schedule in the steps of the executor: both wavefields, the samples in pieces, restart points between them.

`counts_of` adds up these tasks, `subsalt.methods.rtm` does them: that is why plan and run agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Literal, NamedTuple

from subsalt.checkpoint.schedule.scheme import Scheme, schedule_of
from subsalt.checkpoint.schedule.two_level import Action, Level


class Task(NamedTuple):
    """One task of the executor."""

    #: ``rest``, ``store``, ``load``, ``drop``: as in `Action`. ``forward``: the source wavefield goes from sample
    #: `first` to sample `last`. ``take``: it stands at sample `last`, which becomes a snapshot. ``receive``: the
    #: receiver wavefield goes back through the samples `last` .. `first`, and to the very end when `first` is 0.
    #: ``point``: a restart point
    kind: Literal["rest", "store", "load", "drop", "forward", "take", "receive", "point"]
    #: samples, of tasks on wavefields
    first: int = 0
    last: int = 0
    #: block whose start an action is about
    block: int = 0
    #: as in `Action`
    level: Level | Literal[""] = ""
    slot: int = -1
    #: in ``forward``: the samples after `first` become snapshots of the current block
    wanted: bool = False
    #: in ``forward``: these samples are made for the first time
    new: bool = False


def tasks_of(scheme: Scheme) -> Iterator[Task]:
    """Yield the tasks of a shot, restart points among them."""
    if not scheme.restart_every:
        yield from (task for task, _ in _tasks(scheme))
        return
    since, last = 0, None
    for task, point_after in _tasks(scheme):
        if last is not None:
            yield last
            since = 0
        yield task
        since += steps_of(scheme, task)
        # held back until another task follows: none is wanted after the last
        last = Task("point") if point_after and since >= scheme.restart_every else None


def steps_of(scheme: Scheme, task: Task) -> int:
    """Return the time steps of a task."""
    if task.kind == "forward":
        return (task.last - task.first) * scheme.image_step
    if task.kind == "receive":
        return receiver_time(scheme, task.first) - receiver_time(scheme, task.last + 1)
    return 0


def receiver_time(scheme: Scheme, sample: int) -> int:
    """Return the time index of the receiver wavefield that meets a sample; 0 beyond the last, N for sample 0."""
    return 0 if sample > scheme.samples else scheme.steps - sample * scheme.image_step


def _tasks(scheme: Scheme) -> Iterator[tuple[Task, bool]]:
    """Yield tasks, and whether a restart point may follow: where no snapshots are in memory."""
    here = reached = 0
    for action in schedule_of(scheme):
        if action.kind == "image":
            first, last = scheme.span(action.block)
            if first > 0:
                yield Task("take", last=first), False
            one_block = scheme.strategy != "revolve"
            for a, b in _upward(scheme, first, last):
                yield Task("forward", a, b, wanted=True, new=b > reached), one_block
            reached = max(reached, last)
            for a, b in _downward(scheme, first, last):
                yield Task("receive", a, b), one_block or a == first
        elif action.kind == "advance":
            to = scheme.span(action.block)[0]
            for a, b in _upward(scheme, here, to) if to > reached else [(here, to)]:
                yield Task("forward", a, b, new=to > reached), to > reached
            here, reached = to, max(reached, to)
        else:
            if action.kind != "drop":
                here = scheme.span(action.block)[0]
            yield _of_slot(action), False


def _of_slot(action: Action) -> Task:
    """Return the task of an action on slots."""
    kind = action.kind
    assert kind in ("rest", "store", "load", "drop")
    return Task(kind, block=action.block, level=action.level, slot=action.slot)


def _upward(scheme: Scheme, first: int, last: int) -> list[tuple[int, int]]:
    """Cut the way from sample to sample into pieces."""
    piece = scheme.piece if scheme.in_pieces else scheme.samples
    return [(a, min(a + piece, last)) for a in range(first, last, piece)]


def _downward(scheme: Scheme, first: int, last: int) -> list[tuple[int, int]]:
    """Cut the samples `last` .. `first` into pieces; sample 0 needs no snapshot and goes with sample 1."""
    reads = scheme.snapshots_on == "disk" or scheme.keep == "both"
    points = scheme.restart_every and scheme.strategy != "revolve"
    piece = scheme.piece if reads or points else scheme.samples + 1
    cuts = list(range(last, max(first, 1) - 1, -piece))
    lows = [max(first, b - piece + 1) for b in cuts] if cuts else [first]
    if first == 0:
        lows[-1] = 0
    return list(zip(lows, cuts or [last], strict=True))


@dataclass(frozen=True)
class Counts:
    """Steps and copies of one rank for one shot; predicted by the plan, counted by the run, equal."""

    #: time steps executed; of the source wavefield forward and, for ``boundary``, backward
    source_steps: int = 0
    receiver_steps: int = 0
    #: copies of a state into and from slots
    states_stored_memory: int = 0
    states_stored_disk: int = 0
    states_loaded_memory: int = 0
    states_loaded_disk: int = 0
    #: snapshots written to and read from disk, kept wavefields included
    snapshots_written: int = 0
    snapshots_read: int = 0
    #: restart points written on the way
    restart_points: int = 0
    #: states written with them: that of the current wavefield, and those of memory slots
    restart_states: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Return the sum of two."""
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def bytes(self, state_bytes: int, snapshot_bytes: int, sums_bytes: int = 0) -> tuple[int, int]:
        """Return the bytes written to disk and read from it.

        Parameters
        ----------
        state_bytes, snapshot_bytes : int
            Bytes of one state and of one snapshot on disk.
        sums_bytes : int
            Bytes of the image accumulators, which are written with every restart point.
        """
        states = self.states_stored_disk + self.restart_states
        written = states * state_bytes + self.snapshots_written * snapshot_bytes
        read = self.states_loaded_disk * state_bytes + self.snapshots_read * snapshot_bytes
        return written + self.restart_points * sums_bytes, read


class Tally:
    """Adds up tasks into counts."""

    def __init__(self, scheme: Scheme) -> None:
        self.scheme = scheme
        self.done = dict.fromkeys((f.name for f in fields(Counts)), 0)
        #: by memory slot: whether a restart point has its state
        self._written: dict[int, bool] = {}

    def counts(self) -> Counts:
        """Return the sums so far."""
        return Counts(**self.done)

    def add(self, task: Task) -> None:
        """Count one task."""
        scheme, done = self.scheme, self.done
        samples = task.last - max(task.first, 1) + 1
        if task.kind == "forward":
            done["source_steps"] += steps_of(scheme, task)
            if task.new and scheme.writes_source:
                done["snapshots_written"] += task.last - task.first
        elif task.kind == "receive":
            done["receiver_steps"] += steps_of(scheme, task)
            if scheme.snapshots_on == "disk":
                done["snapshots_read"] += samples
            if scheme.keep == "both":
                done["snapshots_written"] += samples
        elif task.kind in ("store", "load"):
            done[f"states_{task.kind}{'d' if task.kind == 'store' else 'ed'}_{task.level}"] += 1
            if task.kind == "store" and task.level == "memory":
                self._written[task.slot] = False
        elif task.kind == "drop" and task.level == "memory":
            self._written.pop(task.slot, None)
        elif task.kind == "point":
            done["restart_points"] += 1
            done["restart_states"] += 1 + sum(not written for written in self._written.values())
            self._written = dict.fromkeys(self._written, True)


@lru_cache(maxsize=1 << 12)
def counts_of(scheme: Scheme) -> Counts:
    """Return what `scheme` costs, exactly."""
    if scheme.strategy == "boundary":
        steps = scheme.samples * scheme.image_step
        return Counts(steps + max(0, steps - scheme.image_step - 1), scheme.steps)
    if scheme.restart_every:
        # when restart points fall due depends on everything else: the tasks are added up
        tally = Tally(scheme)
        for task in tasks_of(scheme):
            tally.add(task)
        return tally.counts()
    moves = scheme.moves
    samples, k = scheme.samples, scheme.image_step
    within = samples + 1 - scheme.blocks  # each block's first sample is where its state stands
    read = samples if scheme.snapshots_on == "disk" else 0
    return Counts(
        (moves.advances * scheme.block + within) * k,
        scheme.steps,
        *moves[1:5],
        (samples if scheme.writes_source else 0) + (samples if scheme.keep == "both" else 0),
        read,
    )
