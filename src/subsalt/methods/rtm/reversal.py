"""A source wavefield backwards in time: from its last two levels and the shell that it left on its way forward.

Without damping the leapfrog scheme is symmetric in time::

    u[n+1] = 2 u[n] - u[n-1] + m L u[n] + s[n]      =>      u[n-1] = 2 u[n] - u[n+1] + m L u[n] + s[n]

so the same kernels run it backwards, with the source samples of the same sign. In the absorbing layer it is not, and
there the field is lost. What stands between is the shell: the cells within reach of the layer, in the part of
the grid that does not absorb. They are kept at every step and put back at every step; inside them the field comes back
to rounding. The reach is M cells, the radius of the stencil: the terms of a PML act in the M cells inside its edge, and
the first cell beyond them reads all M. In tilted media, whose derivatives are composed, it is 2 M.

On the way forward the shell is left at every step, in chunks of whole imaged samples. Then, chunk by chunk from the
last to the first, the source wavefield goes back over the steps of the chunk, leaving its imaged samples in a few
arrays, and the receiver wavefield comes over the same samples and is correlated with them.

References
----------
Clapp, R. G. (2008), Reverse time migration: saving the boundaries, Stanford Exploration Project 136, 137-144.
Dussaud, E., et al. (2008), Computational strategies for reverse-time migration, SEG Expanded Abstracts, 2267-2271.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.checkpoint.storage.shell import BUFFERS, Chunks, MemoryShelf, Shelf, StoreShelf, chunk_samples
from subsalt.checkpoint.storage.store import StoreCounts
from subsalt.errors import SnapshotDamaged
from subsalt.kernels.problem import State
from subsalt.kernels.shell import Shell
from subsalt.kernels.work import Shells, Snapshots, Source
from subsalt.methods.rtm.sweeps import Shooting, ShotTask, with_lags
from subsalt.propagation.domain import shell_of, shell_shape
from subsalt.propagation.propagator import Propagator

#: attempts of a shot whose shells are damaged on disk
TRIES = 3


@dataclass
class Backwards:
    """Turn a state and a source round in time.

    Parameters
    ----------
    last : int
        Time index at which the wavefield on its way forward stands. Time index n of it is ``last - n`` of the one that
        runs backwards.
    """

    last: int

    def state(self, state: State) -> State:
        """Return the same two levels in reverse order, sharing their arrays: n = last - 1 is the newest."""
        return State(state.curr, state.prev, {}, 1)

    def source(self, source: Source) -> Source:
        """Return a source that acts in the step from n to n - 1 with the sample that acted from n to n + 1."""
        samples = np.asarray(source.samples)
        used = np.zeros((samples.shape[0], self.last + 1), dtype=samples.dtype)
        n = min(samples.shape[1], self.last + 1)
        used[:, :n] = samples[:, :n]
        return Source(source.points, np.asfortranarray(used[:, ::-1]))


@dataclass
class Reversed:
    """Counts of a shot by time reversal.

    Parameters
    ----------
    source_steps, receiver_steps : int
        Time steps done; of the source wavefield both ways.
    storage : StoreCounts
        Transfers of the shells.
    recomputed : int
        Time steps of attempts that met a damaged shell.
    """

    source_steps: int
    receiver_steps: int
    storage: StoreCounts
    recomputed: int = 0


def image_by_reversal(shooting: Shooting, task: ShotTask) -> Reversed:
    """Run both sweeps of a shot; the sums of the condition hold the image afterwards. Collective over the group.

    Parameters
    ----------
    shooting : Shooting
        Propagator, sources and condition; the receivers' source is in reversed time.
    task : ShotTask
        Its scheme has `chunk` (samples of a chunk; 0: as many as stay in a cache), and says where the shells lie. The
        clock takes ``source`` (both ways), ``receivers`` and ``scratch``; what is left, memory and what is made in it,
        belongs to the phase of the caller. The pool lends memory for samples, and for the shells in memory.

    Returns
    -------
    Reversed
        Time steps done, and what became of the shells: a record is a chunk.
    """
    prop, condition, scheme, pool = shooting.prop, shooting.condition, task.scheme, task.pool
    shell = shell_of(prop.domain, prop.medium)
    shape, row = prop.interior.shape, shell_shape(prop.domain, prop.medium)
    sample = np.dtype(prop.dtype).itemsize * math.prod(shape)
    chunk = scheme.chunk or chunk_samples(scheme.samples, sample)
    chunks = Chunks(scheme.image_step, scheme.samples, chunk)
    on_disk = scheme.snapshots_on == "disk"
    place: Literal["device", "memory"] = "device" if scheme.snapshots_on == "device" else "memory"
    # one piece of memory for both where they lie together
    room, rest = chunks.buffers * math.prod(shape), 0 if on_disk else chunks.rows * math.prod(row)
    if place == "device" or not prop.kernels.OWN_MEMORY:
        pool.give_back("memory")
        (whole,) = pool.take(prop.kernels, 1, (room + rest,), prop.dtype)
        fields, stored = whole[:room], whole[room:]
    else:
        (fields,) = pool.take(prop.kernels, 1, (room,), prop.dtype)
        stored = (
            pool.take(prop.kernels, 1, (rest,), prop.dtype, "memory")[0] if rest else np.empty(0, prop.dtype)
        )

    def shelf() -> Shelf:
        if not on_disk or not shell.cells:  # a rank that owns nothing but layer has no file
            return MemoryShelf(stored.reshape(chunks.rows, *row), chunks)
        assert task.scratch is not None
        record, buffers = chunks.length * math.prod(row), max(1, min(BUFFERS, chunks.count))
        store = task.scratch.open("shells", task.shot, record, buffers, records=chunks.count)
        return StoreShelf(store, chunks, row)

    done = Reversed(0, 0, StoreCounts())
    for left in reversed(range(TRIES)):
        room_for = list(fields.reshape(chunks.buffers, *shape))
        reversal = _Reversal(shooting, task, _Way(shell, chunks, shelf()), room_for)
        try:
            reversal.run()
        except SnapshotDamaged:
            # what lies before a damaged shell cannot be reached: the shot begins again
            if not left:
                raise
            done.recomputed += reversal.source_steps + reversal.receiver_steps
            for a in condition.sums.values():
                a.fill(0)
        else:
            done.source_steps, done.receiver_steps = reversal.source_steps, reversal.receiver_steps
            break
        finally:
            with task.clock("scratch"):
                reversal.shelf.close()
            done.storage += reversal.shelf.counts
    return done


@dataclass
class _Way:
    """The way back of the source wavefield: which shell is kept, in which chunks, and where."""

    shell: Shell
    chunks: Chunks
    shelf: Shelf


class _Reversal:
    """The two sweeps, with what they share."""

    def __init__(self, shooting: Shooting, task: ShotTask, way: _Way, room: list[NDArray]) -> None:
        self.shooting, self.room, self.reached = shooting, room, task.reached
        self.shell, self.chunks, self.shelf = way.shell, way.chunks, way.shelf
        self.steps = task.scheme.steps
        self.samples = range(task.scheme.image_step, self.chunks.last + 1, task.scheme.image_step)
        self.clock, self.prop = task.clock, shooting.prop
        #: the shells of some rank lie on disk, so that all ask after every read
        self.may_fail = task.scheme.snapshots_on == "disk"
        self.source_steps = self.receiver_steps = 0

    def run(self) -> None:
        """Do both."""
        # memory for states is made, and given back, outside of both sweeps: the caller's clock counts it
        state = self.prop.new_state()
        with self.clock("source"):
            at_end = self.forward(state)
        behind = Backwards(self.chunks.last)
        back = behind.state(state)
        del state  # nobody needs its layer any more
        with self.prop.without_layer() as bare:
            source = behind.source(self.shooting.source)
            receivers = self.prop.new_state()
            if self.shooting.companion is not None:
                self.shooting.companion.state.clear()
            self.receive(receivers, at_end)
            for number in reversed(range(self.chunks.count)):
                with self.clock("source"):
                    fields = self.backward(bare, back, source, number)
                self.receive(receivers, fields)
            self.receive(receivers, {}, self.steps)

    def forward(self, state: State) -> dict[int, NDArray]:
        """Advance the source wavefield to the last sample; return the samples that its two levels hold."""
        prop, shooting, last = self.prop, self.shooting, self.chunks.last
        at_end = dict(zip((n for n in self.samples if n >= last - 1), self.room, strict=False))
        snapshots = shooting.condition.snapshots({n: at_end.get(n) for n in self.samples}, shooting.scale)

        def advance(until: int, shells: Shells | None = None) -> None:
            if until == state.it:
                return
            self.source_steps += until - state.it
            prop.advance(
                state,
                until - state.it,
                sources=[shooting.source],
                snapshots=snapshots,
                shells=shells,
                progress=self.reached,
            )

        for number in range(self.chunks.count):
            first, end = self.chunks.steps(number)
            advance(first - 1)
            with self.shelf.writing(number, end + 1 - first) as rows:
                advance(end, Shells(self.shell, rows, first))
        advance(last)
        return at_end

    def backward(self, bare: Propagator, back: State, source: Source, number: int) -> dict[int, NDArray]:
        """Run the source wavefield back over a chunk; return its imaged samples by time index."""
        first, end = self.chunks.steps(number)
        last = self.chunks.last
        fields = dict(zip((n for n in self.samples if first <= n <= end), self.room, strict=False))
        self.source_steps += end + 1 - first
        with self._shells(number, end + 1 - first) as rows:
            bare.advance(
                back,
                end + 1 - first,
                sources=[source],
                snapshots=Snapshots(bare.interior, {last - n: u for n, u in fields.items()}),
                shells=Shells(self.shell, rows, last - first, -1, put_back=True),
                inner=self.shell.inside,
            )
        return fields

    @contextmanager
    def _shells(self, number: int, rows: int) -> Iterator[NDArray]:
        """Lend the shells of a chunk; when they are damaged on any rank of a group, all raise `SnapshotDamaged`."""
        with ExitStack() as stack:
            shells, damage = None, None
            try:
                shells = stack.enter_context(self.shelf.reading(number, rows))
            except SnapshotDamaged as error:
                damage = error
            group = self.prop.group if self.may_fail else None
            if group is not None and group.max(int(damage is not None)) and damage is None:
                damage = SnapshotDamaged(number, "another rank cannot read its part")
            if shells is None or damage is not None:
                raise damage or SnapshotDamaged(number, "it is not there")
            yield shells

    def receive(self, state: State, fields: dict[int, NDArray], until: int | None = None) -> None:
        """Advance the receiver wavefield over some samples of the source's, and correlate it with them."""
        steps, shooting = self.steps, self.shooting
        until = steps - min(fields) if until is None else until
        partners = {steps - n: u for n, u in fields.items()}
        correlation = shooting.condition.correlation(partners, shooting.scale)
        self.receiver_steps += until - state.it

        def advance(until: int, snapshots: Snapshots) -> None:
            if until == state.it:
                return
            self.prop.advance(
                state,
                until - state.it,
                sources=[shooting.receivers],
                snapshots=snapshots if snapshots.fields else None,
                correlation=correlation,
                progress=lambda it: self.reached(steps + it),
            )

        none = Snapshots(correlation.box, {})
        with self.clock("receivers"):
            if shooting.lags is not None:
                at = {n: steps - n for n in sorted(fields, reverse=True)}
                with_lags(shooting, state, {n: fields[n] for n in at}, at, none, advance)
            if (companion := shooting.companion) is not None:
                at = {n: steps - n for n in sorted(fields, reverse=True)}
                companion.through(state, {n: fields[n] for n in at}, at, none, advance)
                companion.advance(until)
            advance(until, none)
