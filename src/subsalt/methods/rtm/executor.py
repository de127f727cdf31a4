"""A shot by a scheme: what it needs in memory and in files, the tasks done, and what was counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.checkpoint.schedule.scheme import STATE_BUFFERS, Scheme
from subsalt.checkpoint.schedule.tasks import Counts, tasks_of
from subsalt.checkpoint.storage.states import Copy, Pieces, StateSlots, cut, state_beside, state_floats
from subsalt.checkpoint.storage.store import Store, StoreCounts
from subsalt.errors import ConfigError
from subsalt.kernels.problem import State
from subsalt.methods.rtm.restart import ShotRestartPoint, ShotRestartPoints
from subsalt.methods.rtm.reversal import image_by_reversal
from subsalt.methods.rtm.samples import BlockSamples, SampleFile, SnapshotPool, WavefieldFormat
from subsalt.methods.rtm.sweeps import Shooting, ShotResources, ShotTask, Sweeps
from subsalt.propagation.propagator import Propagator


@dataclass
class Done:
    """Counts of a finished shot on this rank.

    Parameters
    ----------
    counts : Counts
        As counted; those of `checkpoint.schedule.tasks.counts_of` when nothing was damaged.
    storage : StoreCounts
        Transfers of all its stores.
    recomputed : int
        Time steps done again because something on disk was damaged.
    resumed : int
        Time steps that a restart point saved.
    """

    counts: Counts = field(default_factory=Counts)
    storage: StoreCounts = field(default_factory=StoreCounts)
    recomputed: int = 0
    resumed: int = 0


class ShotStores:
    """The stores of a shot, closed together."""

    def __init__(self, task: ShotTask) -> None:
        self.scheme, self.scratch, self.shot, self.halved = task.scheme, task.scratch, task.shot, task.halved
        self._stores: list[tuple[Store, bool]] = []

    def samples(
        self, name: Literal["source", "receiver"], shooting: Shooting, *, keep: bool, resume: bool
    ) -> SampleFile:
        """Return the file of the samples of a wavefield."""
        prop, scheme = shooting.prop, self.scheme
        form = form_of(shooting, self.halved)
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
        Propagator, sources and condition of the shot.
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
        arrays = _arrays(task.pool, shooting, scheme, task.halved)
        source = prop.new_state()
        scattering = shooting.scattering
        # what the source wavefield scatters goes beside it, unless all samples are kept before it starts
        one = scheme.strategy == "store" and (scattering is None or not scheme.in_pieces)
        states = source, source if one else prop.new_state()
        if scattering is not None:
            scattering.use(states[1])
        slots = None
        if scheme.strategy == "revolve":
            steps = scheme.block * scheme.image_step
            slots = _slots(prop, scheme, source, steps)
            for slot in range(scheme.moves.memory):
                slots.room(slot)  # a lack of memory shows before the first time step
    files = ShotStores(task)
    points = point = None
    failed = True
    try:
        if scheme.restart_every:
            assert scratch is not None
            sums, held = shooting.condition.sums, (*states, *shooting.beside)
            with clock("restart points"):
                points = ShotRestartPoints(
                    scratch, shot, scheme, shooting.group, sums, held, prop.kernels.copy, prop.domain.counts
                )
                point = points.find(slots)
        sweeps = _sweeps(
            shooting,
            task,
            files,
            ShotResources(BlockSamples(arrays, None, prop.kernels.copy), None, slots, states, points),
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


def form_of(shooting: Shooting, halved: bool) -> WavefieldFormat:
    """Return how the samples of a wavefield lie in memory."""
    prop = shooting.prop
    return WavefieldFormat.of_fields(
        prop.interior.shape, prop.dtype, halved, 1 if shooting.pair is None else 2
    )


def _arrays(pool: SnapshotPool, shooting: Shooting, scheme: Scheme, halved: bool) -> list[NDArray]:
    """Return room for the snapshots that are in memory at a time: of the host, or of the device."""
    place = scheme.snapshots_on
    pool.give_back(*{"device", "memory"} - {place})
    if place == "disk":
        return []
    held = min(scheme.block, scheme.samples)
    return form_of(shooting, halved).rooms(pool, shooting.prop.kernels, held, place)


def _slots(prop: Propagator, scheme: Scheme, source: State, steps: int) -> StateSlots:
    """Return the slots for states: those used most on the device, others in the memory of the host."""

    def apart(slot: int) -> bool:
        return prop.kernels.OWN_MEMORY and not scheme.slot_on_device(slot)

    def new(slot: int) -> State:
        return state_beside(source, prop.kernels.reserve_host) if apart(slot) else prop.new_state()

    return StateSlots(new, prop.kernels.copy, steps, apart)


def _sweeps(
    shooting: Shooting,
    task: ShotTask,
    files: ShotStores,
    resources: ShotResources,
    point: ShotRestartPoint | None,
) -> Sweeps:
    """Return the sweeps with their files opened, at a restart point or at the start."""
    scheme, copy, slots, resume = task.scheme, shooting.prop.kernels.copy, resources.slots, point is not None
    with task.clock("setup"):
        file = None
        if scheme.writes_source:
            file = files.samples("source", shooting, keep=scheme.keep != "none", resume=resume)
        if scheme.keep == "both":
            resources.receiver_file = files.samples("receiver", shooting, keep=True, resume=resume)
        if slots is not None and scheme.moves.disk:
            slots.disk = files.states(resources.states[0], copy, resume=resume)
        if resources.points is not None:
            resources.points.files = [f for f in (file, resources.receiver_file) if f is not None]
            if slots is not None and slots.disk is not None:
                slots.hold()
        resources.samples.file = file
        sweeps = Sweeps(shooting, task, resources)
        if point is not None:
            sweeps.go_on(point)
    return sweeps
