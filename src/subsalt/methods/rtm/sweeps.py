"""Both wavefields of a shot, advanced as the tasks of a scheme say; what fails its check on disk is computed again.

The bits of the image do not depend on the scheme: the illumination adds up while the source wavefield passes a sample
for the first time, in the order of time, and products are added sample by sample from the last to the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice, pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.checkpoint.schedule.tasks import Counts, Task, receiver_time, steps_of
from subsalt.checkpoint.storage.scratch import Scratch
from subsalt.checkpoint.storage.states import StatePlace, StateSlots
from subsalt.errors import SnapshotDamaged
from subsalt.kernels.problem import State
from subsalt.kernels.work import Snapshots, Source
from subsalt.methods.rtm.companion import Companion
from subsalt.methods.rtm.conditions import Condition, LagSums
from subsalt.methods.rtm.field_pair import FieldPair
from subsalt.methods.rtm.restart import ShotRestartPoint, ShotRestartPoints
from subsalt.methods.rtm.samples import BlockSamples, SampleFile, SnapshotPool
from subsalt.parallel.comm import Comm
from subsalt.propagation.propagator import Propagator
from subsalt.timing import Phases


class Scattered(Protocol):
    """A wavefield that every sample of the source wavefield excites, when it is made for the first time."""

    @property
    def steps(self) -> int:
        """Its time steps."""

    @property
    def room(self) -> NDArray:
        """Room for a sample that no one keeps."""

    def use(self, waves: State) -> None:
        """Say which state carries it."""

    def meet(self, n: int, field: NDArray) -> None:
        """Take the sample at a time index, in order of time."""

    def turn(self) -> None:
        """Make what the receivers inject, when all samples have been met."""


@dataclass
class Shooting:
    """Propagator, sources and imaging condition of a shot.

    Parameters
    ----------
    prop : Propagator
        Propagator of both wavefields.
    source, receivers : Source
        Sources of the two wavefields.
    condition : Condition
        Condition that accumulates the image.
    scale : float
        k dt, the time that a sample stands for.
    group : Comm, optional
        The ranks that share the shot.
    lags : LagSums, optional
        Gathers that are summed beside the image.
    companion : Companion, optional
        A second wavefield of the receivers.
    scattering : Scattered, optional
        A wavefield that meets every sample of the source wavefield when it is made for the first time.
    pair : FieldPair, optional
        Samples and products are those of both fields of an anisotropic medium.
    """

    prop: Propagator
    source: Source
    receivers: Source
    condition: Condition
    scale: float
    group: Comm | None = None
    lags: LagSums | None = None
    companion: Companion | None = None
    scattering: Scattered | None = None
    pair: FieldPair | None = None

    @property
    def beside(self) -> tuple[State, ...]:
        """The states of wavefields beside those of source and receivers."""
        return () if self.companion is None else (self.companion.state,)

    def anywhere(self, here: bool) -> bool:
        """Return whether something is so on any rank of the group; collective."""
        return here if self.group is None else bool(self.group.max(int(here)))


@dataclass(frozen=True)
class ShotTask:
    """How a shot is done, and where.

    Parameters
    ----------
    scheme : Scheme
        How the source wavefield comes to meet the receiver wavefield.
    shot : int
        Its id, which names the files.
    scratch : Scratch or None
        Where files go.
    clock : Phases
        Takes the seconds.
    reached : callable
        Called with the steps done.
    pool : SnapshotPool
        Memory for snapshots, used again by the next shot.
    halved : bool
        Snapshots are kept in 16 bits.
    """

    scheme: Scheme
    shot: int
    scratch: Scratch | None = None
    clock: Phases = field(default_factory=Phases)
    reached: Callable[[int], None] = lambda done: None
    pool: SnapshotPool = field(default_factory=SnapshotPool)
    halved: bool = False


@dataclass
class ShotResources:
    """Buffers, states and files that a shot uses while it is processed.

    Parameters
    ----------
    samples : BlockSamples
        Samples of the source wavefield.
    receiver_file : SampleFile or None
        Where the samples of the receiver wavefield go.
    slots : StateSlots or None
        Slots of ``revolve``.
    states : tuple of State
        Source and receiver wavefield; the same one when the source is over before the receivers begin.
    points : ShotRestartPoints or None
        Where restart points are written.
    """

    samples: BlockSamples
    receiver_file: SampleFile | None
    slots: StateSlots | None
    states: tuple[State, State]
    points: ShotRestartPoints | None = None


def with_lags(
    shooting: Shooting,
    state: State,
    fields: Mapping[int, NDArray],
    at: Mapping[int, int],
    snapshots: Snapshots,
    advance: Callable[[int, Snapshots], None],
) -> None:
    """Take the receiver wavefield through samples in pieces, and add each piece to the gathers.

    Parameters
    ----------
    shooting : Shooting
        With gathers.
    state : State
        The receiver wavefield.
    fields : mapping of int to ndarray
        Samples of the source wavefield, the first one that the receivers meet first.
    at : mapping of int to int
        Time index of the receiver wavefield at each.
    snapshots : Snapshots
        Those that are taken on the way anyway.
    advance : callable
        Takes the receiver wavefield to a time index, with snapshots.
    """
    prop, lags, taken = shooting.prop, shooting.lags, snapshots.fields
    assert lags is not None
    # a snapshot that goes into 16 bits is not what the image sees: of such the wavefield itself is read
    packed = any(room is not None and room.dtype == np.int16 for room in taken.values())
    for piece in lags.pieces(list(fields), one_by_one=packed):
        rooms: dict[int, NDArray] = {}
        for number, i in enumerate(piece):
            room = None if packed else taken.get(at[i])
            rooms[at[i]] = lags.room(number) if room is None else room
            if at[i] == 0:  # at rest, before any step
                rooms[0][...] = 0
        last = at[piece[-1]]
        advance(last, snapshots if packed else Snapshots(snapshots.box, {**taken, **rooms}))
        if packed and last and prop.interior.size:
            prop.kernels.snapshot(prop.problem, state.curr, rooms[last], prop.interior)
        lags.add([fields[i] for i in piece], [rooms[at[i]] for i in piece], shooting.scale)


class Sweeps:
    """The tasks of a shot, done.

    Parameters
    ----------
    shooting : Shooting
        Propagator, sources and condition of the shot.
    task : ShotTask
        By which scheme.
    resources : ShotResources
        Fields, files and states.
    """

    def __init__(self, shooting: Shooting, task: ShotTask, resources: ShotResources) -> None:
        self.shooting, self.scheme, self.samples = shooting, task.scheme, resources.samples
        self.receiver_file, self.slots, self.points = (
            resources.receiver_file,
            resources.slots,
            resources.points,
        )
        self.source, self.receivers = resources.states
        self.clock, self.reached = task.clock, task.reached
        self.receiving = False
        self.source_steps = self.receiver_steps = 0
        self._before = Counts()
        #: steps that were recomputed because of damage
        self.recomputed = 0
        self._spare: State | None = None

    def do(self, tasks: Iterable[Task], point: ShotRestartPoint | None = None) -> None:
        """Do tasks one after the other, those after a restart point; collective over the group."""
        first = 0 if point is None else point.task + 1
        with self.clock("schedule"):
            for number, (task, after) in enumerate(
                pairwise(chain(islice(tasks, first, None), [None])), first
            ):
                assert task is not None
                if task.kind == "forward":
                    with self.clock("source"):
                        self._forward(task)
                elif task.kind == "take":
                    with self.clock("source"):
                        self._copy_out(self.samples.take(task.last))
                elif task.kind == "receive":
                    with self.clock("receivers"):
                        self._receive(task)
                elif task.kind == "rest":
                    with self.clock("source"):
                        self.source.clear()
                elif task.kind == "point":
                    assert self.points is not None
                    with self.clock("restart points"):
                        self.points.write(self.here(number))
                else:
                    with self.clock("states"):
                        self._slot(task, after)

    def here(self, task: int) -> ShotRestartPoint:
        """Return where the sweeps stand after a task."""
        state = self.receivers if self.receiving else self.source
        places = self.slots.places if self.slots is not None else []
        return ShotRestartPoint(task, self.receiving, state.it, places, self.counts())

    def go_on(self, point: ShotRestartPoint) -> None:
        """Stand where a restart point says; the arrays are as they were then."""
        self.receiving, self._before = point.receiving, point.counts
        (self.receivers if point.receiving else self.source).it = point.it
        if point.receiving and self.shooting.companion is not None:
            self.shooting.companion.state.it = point.it
        if self.slots is not None:
            self.slots.adopt(point.places)

    def counts(self) -> Counts:
        """Return what was done, as counted while doing it; with what a restart point says was done before."""
        return self._counts() + self._before

    def _counts(self) -> Counts:
        slots, files = self.slots, [f for f in (self.samples.file, self.receiver_file) if f is not None]
        stored, loaded = (slots.stored, slots.loaded) if slots is not None else ({}, {})
        return Counts(
            self.source_steps,
            self.receiver_steps,
            stored.get("memory", 0),
            stored.get("disk", 0),
            loaded.get("memory", 0),
            loaded.get("disk", 0),
            sum(f.written for f in files),
            self.samples.file.read if self.samples.file is not None else 0,
            self.points.written if self.points is not None else 0,
            self.points.states_written if self.points is not None else 0,
        )

    # the source wavefield

    def _forward(self, task: Task) -> None:
        """Advance the source wavefield from sample to sample."""
        numbers = range(task.first + 1, task.last + 1)
        wanted, new = task.wanted, task.new
        with self.clock("snapshots"):
            rooms = self.samples.rooms(numbers, wanted=wanted, new=new)
        scattering, k = self.shooting.scattering, self.scheme.image_step
        if scattering is not None and new and not rooms:
            self._scatter_one_by_one(scattering, numbers)
            return
        self._advance_source(
            self.source,
            steps_of(self.scheme, task),
            rooms,
            numbers if new else (),
            check_last=new and task.last == self.scheme.samples,
        )
        self.source_steps += steps_of(self.scheme, task)
        if scattering is not None and new:
            for i in numbers:
                scattering.meet(i * k, rooms[i])
        if rooms:
            with self.clock("snapshots"):
                self.samples.made(numbers, wanted=wanted, new=new)

    def _scatter_one_by_one(self, scattering: Scattered, numbers: range) -> None:
        """Advance the source wavefield through new samples that no one keeps: each is met before the next is made."""
        k = self.scheme.image_step
        for i in numbers:
            last = i == self.scheme.samples
            self._advance_source(self.source, k, {i: scattering.room}, (i,), check_last=last)
            self.source_steps += k
            scattering.meet(i * k, scattering.room)

    def _advance_source(
        self,
        state: State,
        steps: int,
        rooms: dict[int, NDArray],
        new: Iterable[int] = (),
        *,
        check_last: bool = False,
    ) -> None:
        """Advance a source wavefield; fill `rooms` by sample, and add up the energy of the samples `new`.

        What is not finite stays so, and is found where the time index is a multiple of `FINITE_EVERY`, or at the end
        of the first sweep. A look after each of many short pieces would take a twelfth of their time.
        """
        shooting, k = self.shooting, self.scheme.image_step
        wanted = shooting.condition.snapshots({}, shooting.scale)
        fields: dict[int, NDArray | None] = {i * k: None for i in new} if wanted.energy is not None else {}
        taken, pair = {i * k: room for i, room in rooms.items()}, shooting.pair
        alone = taken if pair is None else {}
        if new:
            snapshots = Snapshots(wanted.box, fields | alone, wanted.energy, wanted.scale)
        else:
            snapshots = Snapshots(wanted.box, alone)
        done, before = self.source_steps + self.receiver_steps + self.recomputed, state.it
        shooting.prop.advance(
            state,
            steps,
            sources=[shooting.source],
            snapshots=snapshots if snapshots.fields else None,
            hook=None if pair is None else pair.writing(taken),
            at=taken,
            progress=lambda it: self.reached(done + it - before),
            check_last=check_last,
        )

    def _copy_out(self, out: NDArray) -> None:
        """Copy the imaged field of the source wavefield as it stands."""
        prop = self.shooting.prop
        if self.shooting.pair is not None:
            self.shooting.pair.write(self.source, out)
        elif prop.interior.size:
            prop.kernels.snapshot(prop.problem, self.source.curr, out, prop.interior)

    def _slot(self, task: Task, after: Task | None) -> None:
        """Store, load or drop a state; `after` is the next task."""
        slots = self.slots
        assert slots is not None
        assert task.level
        if task.kind == "store":
            slots.store(task.level, task.slot, task.block, self.source)
        elif task.kind == "drop":
            slots.drop(task.level, task.slot)
        elif task.level == "memory" and self._last_use(after):
            slots.take(task.slot, task.block, self.source)
        elif not self._loaded(StatePlace(task.level, task.slot, task.block)):
            self._make_again(StatePlace(task.level, task.slot, task.block))

    def _last_use(self, after: Task | None) -> bool:
        """Return whether a state that is loaded now is not loaded again: its own block is visited next.

        Not where others know the arrays of the wavefield (the exchange of a group), or still write the slot (a restart
        point before it is dropped).
        """
        own = after is not None and after.kind == "take"
        return own and self.shooting.group is None and self.points is None

    def _loaded(self, place: StatePlace) -> bool:
        """Make the source wavefield what a slot holds; return whether that went well on all ranks."""
        assert self.slots is not None
        damaged = False
        try:
            self.slots.load(*place, self.source)
        except SnapshotDamaged:
            damaged = True
        return place.level == "memory" or not self.shooting.anywhere(damaged)

    def _make_again(self, place: StatePlace) -> None:
        """Compute the state of a slot that is damaged from the nearest earlier one that is not."""
        assert self.slots is not None
        for earlier in reversed(self.slots.places):
            if earlier.block < place.block and self._loaded(earlier):
                break
        else:
            self.source.clear()
        steps = place.block * self.scheme.block * self.scheme.image_step - self.source.it
        with self.clock("computing damaged data again"):
            self._advance_source(self.source, steps, {})
        self.recomputed += steps
        self.slots.mend(*place, self.source)

    # the receiver wavefield

    def _receive(self, task: Task) -> None:
        """Take the receiver wavefield back through samples, and add their products to the image."""
        shooting, scheme = self.shooting, self.scheme
        numbers = range(task.last, max(task.first, 1) - 1, -1)
        if not self.receiving:
            self.receiving = True
            if shooting.scattering is not None:
                with self.clock("source"):
                    shooting.scattering.turn()
            self.receivers.clear()
            if shooting.companion is not None:
                shooting.companion.state.clear()
            self.samples.expect(task.last)
        with self.clock("snapshots"):
            fields = self._source_samples(numbers)
            rooms = {} if self.receiver_file is None else {i: self.receiver_file.room(i) for i in numbers}
        at = {i: receiver_time(scheme, i) for i in numbers}
        for i, room in rooms.items():
            if at[i] == 0:  # at rest, before any step
                room[...] = 0
        pair = shooting.pair
        correlation = shooting.condition.correlation({at[i]: u for i, u in fields.items()}, shooting.scale)
        snapshots = Snapshots(correlation.box, {at[i]: room for i, room in rooms.items()})
        done, before = self.source_steps + self.receiver_steps + self.recomputed, self.receivers.it
        end = before + steps_of(scheme, task)

        def advance(until: int, snapshots: Snapshots) -> None:
            """Take the receiver wavefield to a time index; the products of all samples on the way are added."""
            now = self.receivers.it
            if until == now:
                return  # the last sample, when it is the last time step too: it meets a field at rest
            # of many pieces each looks at what it passes alone
            passed = {it: u for it, u in correlation.fields.items() if now < it <= until}
            shooting.prop.advance(
                self.receivers,
                until - self.receivers.it,
                sources=[shooting.receivers],
                snapshots=snapshots if snapshots.fields else None,
                correlation=replace(correlation, fields=passed) if passed and pair is None else None,
                hook=None if pair is None else pair.adding(correlation.image, passed, shooting.scale),
                at=passed,
                progress=lambda it: self.reached(done + it - before),
                check_last=until == end and task.first == 0,
            )

        if shooting.lags is not None:
            with_lags(shooting, self.receivers, fields, at, snapshots, advance)
        if (companion := shooting.companion) is not None:
            companion.through(self.receivers, fields, at, snapshots, advance)
        advance(end, snapshots)
        if companion is not None:
            companion.advance(end, check_last=task.first == 0)
        self.receiver_steps += end - before
        with self.clock("snapshots"):
            for i in rooms:
                assert self.receiver_file is not None
                self.receiver_file.put(i)
            self.samples.imaged(numbers)

    def _source_samples(self, numbers: range) -> dict[int, NDArray]:
        """Return source samples; of damaged ones, all that come before are made again."""
        from_file = self.samples.on_file(numbers)
        arrays, damaged = self.samples.get(numbers)
        if not from_file or not self.shooting.anywhere(bool(damaged)):
            return arrays
        self.samples.give_back()
        return self._make_samples_again(numbers)

    def _make_samples_again(self, numbers: range) -> dict[int, NDArray]:
        """Return samples computed again from the start; the ones before them are written again on the way.

        One more sweep then repairs a whole file, however much of it is damaged. What is asked for comes from memory:
        should the device spoil what it is given again, the next piece meets it.
        """
        prop, file, k = self.shooting.prop, self.samples.file, self.scheme.image_step
        assert file is not None
        if self._spare is None:
            self._spare = prop.new_state()
        self._spare.clear()
        first, last = numbers[-1], numbers[0]
        with self.clock("computing damaged data again"):
            for a in range(0, first - 1, self.scheme.piece):
                some = range(a + 1, min(a + self.scheme.piece, first - 1) + 1)
                self._advance_source(self._spare, len(some) * k, {i: file.room(i) for i in some})
                for i in some:
                    file.put(i)
            rooms = file.form.rooms(SnapshotPool(), prop.kernels, len(numbers), "memory")
            arrays = dict(zip(numbers, rooms, strict=True))
            self._advance_source(self._spare, last * k - self._spare.it, arrays)
        self.recomputed += last * k
        self.samples.expect(first - 1)
        return arrays
