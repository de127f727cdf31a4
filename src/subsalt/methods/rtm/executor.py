"""A shot by a scheme: what it needs in memory and in files, the tasks done, and what was counted.

Where the source wavefield is not stored it runs backwards in time beside the receivers'. On its way forward it leaves
its shell at every step (`methods.rtm.reversal`), in chunks of whole imaged samples. Then, chunk by chunk from the
last to the first, it goes back over the steps of the chunk, leaving its imaged samples in a few arrays, and the
receiver wavefield comes over the same samples and is correlated with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.checkpoint.schedule.scheme import STATE_BUFFERS, Scheme
from subsalt.checkpoint.schedule.tasks import Counts, tasks_of
from subsalt.checkpoint.storage.shell import BUFFERS, Chunks, MemoryShelf, Shelf, StoreShelf, chunk_samples
from subsalt.checkpoint.storage.states import Copy, Pieces, StateSlots, cut, state_beside, state_floats
from subsalt.checkpoint.storage.store import Store, StoreCounts
from subsalt.errors import ConfigError, SnapshotDamaged
from subsalt.kernels.problem import State
from subsalt.kernels.shell import Shell
from subsalt.kernels.work import Shells, Snapshots, Source
from subsalt.methods.rtm.restart import Point, RestartPoints
from subsalt.methods.rtm.reversal import Backwards, shell_of
from subsalt.methods.rtm.samples import Form, SampleFile, Samples, SnapshotPool
from subsalt.methods.rtm.sweeps import Held, Shooting, ShotTask, Sweeps
from subsalt.propagation.propagator import Propagator

#: attempts of a shot whose shells are damaged on disk
TRIES = 3


@dataclass
class Reversed:
    """What a shot took.

    Parameters
    ----------
    source_steps, receiver_steps : int
        Time steps done; of the source wavefield both ways.
    storage : StoreCounts
        Of the shells.
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
        What is advanced; the receivers' source is in reversed time.
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
    shape, row = prop.interior.shape, (prop.problem.n_fields, shell.cells)
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
        fields, kept = whole[:room], whole[room:]
    else:
        (fields,) = pool.take(prop.kernels, 1, (room,), prop.dtype)
        kept = (
            pool.take(prop.kernels, 1, (rest,), prop.dtype, "memory")[0] if rest else np.empty(0, prop.dtype)
        )

    def shelf() -> Shelf:
        if not on_disk or not shell.cells:  # a rank that owns nothing but layer has no file
            return MemoryShelf(kept.reshape(chunks.rows, *row), chunks)
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
            # what lies before a damaged shell cannot be reached: the way begins anew
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
            found, damage = None, None
            try:
                found = stack.enter_context(self.shelf.reading(number, rows))
            except SnapshotDamaged as error:
                damage = error
            group = self.prop.group if self.may_fail else None
            if group is not None and group.max(int(damage is not None)) and damage is None:
                damage = SnapshotDamaged(number, "another rank cannot read its part")
            if found is None or damage is not None:
                raise damage or SnapshotDamaged(number, "it is not there")
            yield found

    def receive(self, state: State, fields: dict[int, NDArray], until: int | None = None) -> None:
        """Advance the receiver wavefield over some samples of the source's, and correlate it with them."""
        steps, shooting = self.steps, self.shooting
        until = steps - min(fields) if until is None else until
        partners = {steps - n: u for n, u in fields.items()}
        self.receiver_steps += until - state.it
        with self.clock("receivers"):
            self.prop.advance(
                state,
                until - state.it,
                sources=[shooting.receivers],
                correlation=shooting.condition.correlation(partners, shooting.scale),
                progress=lambda it: self.reached(steps + it),
            )


@dataclass
class Done:
    """What doing a shot took on this rank.

    Parameters
    ----------
    counts : Counts
        As counted; those of `checkpoint.schedule.tasks.counts_of` when nothing was damaged.
    storage : StoreCounts
        Of all its stores.
    recomputed : int
        Time steps done again because something on disk was damaged.
    resumed : int
        Time steps that a restart point saved.
    """

    counts: Counts = field(default_factory=Counts)
    storage: StoreCounts = field(default_factory=StoreCounts)
    recomputed: int = 0
    resumed: int = 0


class Files:
    """The stores of a shot, closed together."""

    def __init__(self, task: ShotTask) -> None:
        self.scheme, self.scratch, self.shot, self.halved = task.scheme, task.scratch, task.shot, task.halved
        self._stores: list[tuple[Store, bool]] = []

    def samples(
        self, name: Literal["source", "receiver"], shooting: Shooting, *, keep: bool, resume: bool
    ) -> SampleFile:
        """Return the file of the samples of a wavefield."""
        prop, scheme = shooting.prop, self.scheme
        form = form_of(prop, self.halved)
        store = None
        if prop.interior.size:
            meta: dict[str, object] = {
                "shape": list(form.shape),
                "dtype": np.dtype(np.float32 if self.halved else prop.dtype).str,
                "box": _corners(prop.image_box),
                "window": _corners(prop.window),
                "image_step": scheme.image_step,
                "dt": prop.dt,
                "samples": scheme.samples,
            }
            assert self.scratch is not None
            store = self.scratch.open(
                name,
                self.shot,
                form.words,
                scheme.buffers,
                meta=meta,
                keep=keep,
                records=scheme.samples,
                resume=resume,
            )
            self._stores.append((store, keep))
        return SampleFile(store, form)

    def states(self, state: State, copy: Copy, *, resume: bool) -> Pieces:
        """Return the store of the disk slots."""
        floats = state_floats(state)
        count, record = cut(floats)
        meta: dict[str, object] = (
            {"shape": [record]} if count > 1 else {"shapes": [list(a.shape) for a in state.arrays()]}
        )
        meta["dtype"] = state.arrays()[0].dtype.str
        # with restart points some that were dropped stay for a while
        records = 0 if self.scheme.restart_every else count * self.scheme.moves.disk
        assert self.scratch is not None
        store = self.scratch.open(
            "states", self.shot, record, STATE_BUFFERS, meta=meta, records=records, resume=resume
        )
        self._stores.append((store, False))
        return Pieces(store, floats, copy)

    def storage(self) -> StoreCounts:
        """Return what all stores moved."""
        return sum((store.counts for store, _ in self._stores), StoreCounts())

    def close(self, *, failed: bool) -> None:
        """Close all; what is kept stays when the shot went well, and with restart points everything does."""
        restart = self.scheme.restart_every > 0
        for store, keep in self._stores:
            if failed and restart:
                store.abandon()
            else:
                store.close(remove=failed or not (keep or restart))


def _corners(box: object) -> list[list[int]]:
    return [list(box.lo), list(box.hi)]  # type: ignore[attr-defined]


def image_by_scheme(shooting: Shooting, task: ShotTask) -> Done:
    """Advance both wavefields of a shot as its scheme says; its condition has the sums then. Collective.

    Parameters
    ----------
    shooting : Shooting
        What is advanced.
    task : ShotTask
        How.
    """
    scheme, shot, scratch, clock = task.scheme, task.shot, task.scratch, task.clock
    on_disk = scheme.snapshots_on == "disk" or scheme.writes_source
    if scratch is None and (on_disk or scheme.moves.disk or scheme.restart_every):
        raise ConfigError(
            f"shot {shot}: a scheme that writes to disk without a folder for it",
            "give a scratch, or a scheme in memory",
            code="E871",
        )
    if scratch is not None:
        scratch.lock = shooting.prop.kernels.lock
    if scheme.strategy == "boundary":
        return _by_reversal(shooting, task)
    prop = shooting.prop
    with clock("setup"):
        arrays = _arrays(task.pool, prop, scheme, task.halved)
        source = prop.new_state()
        states = source, source if scheme.strategy == "store" else prop.new_state()
        slots = None
        if scheme.strategy == "revolve":
            steps = scheme.block * scheme.image_step
            slots = _slots(prop, scheme, source, steps)
            for slot in range(scheme.moves.memory):
                slots.room(slot)  # a lack of memory shows before the first time step
    files = Files(task)
    points = point = None
    failed = True
    try:
        if scheme.restart_every:
            assert scratch is not None
            sums = shooting.condition.sums
            with clock("restart points"):
                points = RestartPoints(
                    scratch, shot, scheme, shooting.group, sums, states, prop.kernels.copy, prop.domain.counts
                )
                point = points.find(slots)
        sweeps = _sweeps(
            shooting,
            task,
            files,
            Held(Samples(arrays, None, prop.kernels.copy), None, slots, states, points),
            point,
        )
        sweeps.do(tasks_of(scheme), point)
        failed = False
    finally:
        with clock("scratch"):
            files.close(failed=failed)
            if points is not None:
                points.close()
    storage = files.storage() + (points.storage if points is not None else StoreCounts())
    saved = 0 if point is None else point.counts.source_steps + point.counts.receiver_steps
    return Done(sweeps.counts(), storage, sweeps.recomputed, saved)


def _by_reversal(shooting: Shooting, task: ShotTask) -> Done:
    """Let the source wavefield run backwards from what its edges left."""
    with task.clock("setup"):
        done = image_by_reversal(shooting, task)
    return Done(Counts(done.source_steps, done.receiver_steps), done.storage, done.recomputed)


def form_of(prop: Propagator, halved: bool) -> Form:
    """Return how the samples of a wavefield lie in memory."""
    return Form(prop.interior.shape, prop.dtype, halved)


def _arrays(pool: SnapshotPool, prop: Propagator, scheme: Scheme, halved: bool) -> list[NDArray]:
    """Return room for the snapshots that are in memory at a time: of the host, or of the device."""
    place = scheme.snapshots_on
    pool.give_back(*{"device", "memory"} - {place})
    if place == "disk":
        return []
    held = min(scheme.block, scheme.samples)
    return form_of(prop, halved).rooms(pool, prop.kernels, held, place)


def _slots(prop: Propagator, scheme: Scheme, source: State, steps: int) -> StateSlots:
    """Return the slots for states: those used most on the device, others in the memory of the host."""

    def apart(slot: int) -> bool:
        return prop.kernels.OWN_MEMORY and not scheme.slot_on_device(slot)

    def new(slot: int) -> State:
        return state_beside(source, prop.kernels.reserve_host) if apart(slot) else prop.new_state()

    return StateSlots(new, prop.kernels.copy, steps, apart)


def _sweeps(shooting: Shooting, task: ShotTask, files: Files, held: Held, point: Point | None) -> Sweeps:
    """Return the sweeps with their files opened, at a restart point or at the start."""
    scheme, copy, slots, resume = task.scheme, shooting.prop.kernels.copy, held.slots, point is not None
    with task.clock("setup"):
        file = None
        if scheme.writes_source:
            file = files.samples("source", shooting, keep=scheme.keep != "none", resume=resume)
        if scheme.keep == "both":
            held.receiver_file = files.samples("receiver", shooting, keep=True, resume=resume)
        if slots is not None and scheme.moves.disk:
            slots.disk = files.states(held.states[0], copy, resume=resume)
        if held.points is not None:
            held.points.files = [f for f in (file, held.receiver_file) if f is not None]
            if slots is not None and slots.disk is not None:
                slots.hold()
        held.samples.file = file
        sweeps = Sweeps(shooting, task, held)
        if point is not None:
            sweeps.go_on(point)
    return sweeps
