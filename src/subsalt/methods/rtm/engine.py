"""Reverse time migration of one shot.

The source wavefield goes forward and leaves a snapshot of the imaged field every `image_step` steps; the receiver
wavefield goes backward in time by the same propagator (the discrete operator is its own adjoint) and is correlated
with them. Time index n of the source field meets time index N - n of the reversed receiver field, N time steps in all.
How the snapshots are there when they are wanted, a `Scheme` says.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, refuse_bad_traces
from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.checkpoint.schedule.tasks import Counts, counts_of
from subsalt.checkpoint.storage.scratch import Scratch
from subsalt.checkpoint.storage.store import StoreCounts
from subsalt.earth.grid import Box
from subsalt.errors import ConfigError, DataError
from subsalt.kernels.work import Source
from subsalt.methods.rtm.companion import companion_of, companions, second_samples
from subsalt.methods.rtm.conditions import LAGS, LagSums, condition_of
from subsalt.methods.rtm.executor import image_by_scheme
from subsalt.methods.rtm.field_pair import FieldPair
from subsalt.methods.rtm.lag_exchange import RowExchange
from subsalt.methods.rtm.samples import SnapshotPool
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.methods.rtm.sweeps import Scattered, Shooting, ShotTask
from subsalt.methods.rtm.traces import end_taper, receiver_area, velocity_at
from subsalt.numerics.fixedmath import ramp
from subsalt.parallel.comm import Comm
from subsalt.propagation.halo import HaloTraffic
from subsalt.propagation.image_planes import whole_planes
from subsalt.propagation.propagator import Propagator
from subsalt.timing import Phases

#: called with the fraction of the shot that is done, 0 to 1
Progress = Callable[[float], None]


@dataclass
class ShotImage:
    """Contribution of one shot to the image.

    Parameters
    ----------
    shot : int
        Its id.
    box : Box
        Window on the model grid, or whole planes of it.
    sums : dict of ndarray, shape of the box, float32
        Accumulated fields of the imaging condition.
    point_steps : int
        Points of both wavefields that were computed, layer included, of all their time steps: those that a wave has not
        reached are not.
    grid_point_steps : int
        Grid points times time steps of both wavefields.
    lags : ndarray, `LagBox.shape`, float32, or None
        Sums of the gathers: those of the window, of this rank's columns, or of some planes.
    seconds : float
        Wall time.
    traffic : HaloTraffic
        Traffic and seconds of this rank's exchanges of ghost planes.
    counts : Counts
        Steps, states and snapshots of this rank; what `counts_of` says of its scheme unless something was damaged.
    storage : StoreCounts
        Transfers of this rank to and from files.
    recomputed : int
        Time steps done again because something on disk was damaged.
    resumed : int
        Time steps that a restart point saved.
    """

    shot: int
    box: Box
    sums: dict[str, NDArray[np.float32]]
    point_steps: int
    seconds: float
    traffic: HaloTraffic = field(default_factory=HaloTraffic)
    counts: Counts = field(default_factory=Counts)
    storage: StoreCounts = field(default_factory=StoreCounts)
    recomputed: int = 0
    resumed: int = 0
    grid_point_steps: int = 0
    lags: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class ReadyShot:
    """Shot that the host has prepared for its first time step.

    Parameters
    ----------
    prop : Propagator
        Propagator of both wavefields.
    source, receivers : Source
        Injected samples; those of the receivers are reversed in time.
    beside : Source, optional
        Samples of a second wavefield of the receivers.
    scattering : Scattered, optional
        A wavefield that the source wavefield scatters in its first sweep, and whose data are what the receivers inject.
    """

    prop: Propagator
    source: Source
    receivers: Source
    beside: Source | None = None
    scattering: Scattered | None = None


def prepare_shot(
    setup: MigrationSetup,
    shot: Shot,
    traces: NDArray[np.float32],
    *,
    rows: NDArray[np.intp] | None = None,
    group: Comm | None = None,
    phases: Phases | None = None,
) -> ReadyShot:
    """Return a shot ready to be migrated; parameters and errors as of `migrate_shot`. Allocates no wavefield."""
    clock = phases or Phases()
    with clock("traces"), nullcontext() if group is None else group.together():
        samples = receiver_samples(setup, shot, traces, rows)
    with clock("setup"), nullcontext() if group is None else group.together():
        prop = propagator_of(setup, shot, group)
        source = prop.source(shot.src[None], setup.signature[None])
        at = shot.rcv if rows is None else shot.rcv[rows]
        second = second_samples(setup, shot, samples, rows)
        beside = None if second is None else prop.source(at, second)
        return ReadyShot(prop, source, prop.source(at, samples), beside)


def migrate_shot(
    setup: MigrationSetup,
    shot: Shot,
    traces: NDArray[np.float32] | ReadyShot,
    *,
    rows: NDArray[np.intp] | None = None,
    group: Comm | None = None,
    pool: SnapshotPool | None = None,
    phases: Phases | None = None,
    progress: Progress | None = None,
    scheme: Scheme | None = None,
    scratch: Scratch | None = None,
    halved: bool = False,
) -> ShotImage:
    """Migrate one shot; collective over the group that shares it.

    Parameters
    ----------
    setup : MigrationSetup
        Shared choices.
    shot : Shot
        Positions.
    traces : ndarray, (nr, nt), float32, or ReadyShot
        Records of the shot; those of `rows` only. Or the shot as `prepare_shot` made it of these, with that group.
    rows : ndarray, optional
        Receivers that `traces` are of: at least those of this rank (`slabs.share_of`), ascending; all when None.
    group : Comm, optional
        The ranks that share the shot. Each gets its part of the window; bits and all are those of one process.
    pool : SnapshotPool, optional
        Reused over shots.
    phases : Phases, optional
        Takes the seconds of `setup`, `traces`, `source`, `receivers`.
    progress : callable, optional
        Called at intervals with the fraction done.
    scheme : Scheme, optional
        How the source wavefield comes to meet the receiver wavefield; all snapshots in memory when None. The image has
        the same bits whatever it is, except for ``boundary`` and scratch compressed by zfp.
    scratch : Scratch, optional
        Where the scheme writes. With restart points its files stay, for the caller to remove once the result is safe.
    halved : bool
        Snapshots are kept in 16 bits, in memory and on disk.

    Returns
    -------
    ShotImage

    Raises
    ------
    DataError
        When traces are not finite or have the wrong shape.
    NumericalFailure
        When a wavefield is no longer finite.
    """
    begin = time.perf_counter()
    clock = phases or Phases()
    ready = (
        traces
        if isinstance(traces, ReadyShot)
        else prepare_shot(setup, shot, traces, rows=rows, group=group, phases=clock)
    )
    prop = ready.prop
    with clock("setup"), nullcontext() if group is None else group.together():
        condition = condition_of(setup.imaging.condition)(prop.kernels, prop.problem, prop.interior)
        lags = None
        if setup.lags is not None:
            shared = None
            if prop.group is not None and prop.group.size > 1:
                shared = RowExchange(setup.lags, prop.domain, prop.group)
            lags = LagSums(setup.lags, prop.kernels, prop.window, prop.dtype, shared)
            # restart points keep them, and a shot that begins again clears them
            condition.sums[LAGS] = lags.sums
    steps = setup.axis.nt - 1
    scheme = scheme or Scheme("store", steps, setup.image_step)
    if (scheme.steps, scheme.image_step) != (steps, setup.image_step):
        raise ConfigError(
            f"a scheme for {scheme.steps} steps, every {scheme.image_step}th imaged; shot {shot.id} has {steps} steps, "
            f"every {setup.image_step}th imaged",
            "make the scheme from the setup of the shots",
            code="E870",
        )
    scale = setup.image_step * setup.axis.dt
    with clock("setup"), nullcontext() if group is None else group.together():
        beside = companion_of(setup, prop, ready.beside, condition.sums, scale)
    pair = FieldPair(prop) if setup.pairs else None
    shooting = Shooting(
        prop,
        ready.source,
        ready.receivers,
        condition,
        scale,
        prop.group,
        lags,
        beside,
        ready.scattering,
        pair,
    )
    planned = counts_of(scheme)
    report = _Report(progress, planned.source_steps + planned.receiver_steps)
    # the memory of the wavefields is given back in it
    with clock("setup"), prop:
        task = ShotTask(scheme, shot.id, scratch, clock, report.reached, pool or SnapshotPool(), halved)
        done = image_by_scheme(shooting, task)
    with clock("taper"):
        on_host = {name: prop.kernels.to_host(a) for name, a in condition.sums.items()}
        weights = window_weights(setup, prop.window, prop.image_box)
        gathers = on_host.pop(LAGS, None)
        if lags is not None and gathers is not None:
            # columns of any part of the window
            lags.box.weigh(gathers, window_weights(setup, prop.window))
            gathers = np.asarray(gathers, dtype=np.float32)
        for weight in weights:
            for a in on_host.values():
                a *= weight
        sums = {name: np.asarray(a, dtype=np.float32) for name, a in on_host.items()}
        box, sums = whole_planes(prop.domain, sums, prop.group)
    seconds = time.perf_counter() - begin
    counts = done.counts
    steps_done = counts.source_steps + (1 + companions(setup)) * counts.receiver_steps
    if ready.scattering is not None:
        steps_done += ready.scattering.steps
    grid_point_steps = (steps_done + done.recomputed - done.resumed) * prop.point_count
    return ShotImage(
        shot.id,
        box,
        sums,
        prop.points_advanced,
        seconds,
        prop.traffic,
        counts,
        done.storage,
        done.recomputed,
        done.resumed,
        grid_point_steps,
        gathers,
    )


def propagator_of(setup: MigrationSetup, shot: Shot, group: Comm | None = None) -> Propagator:
    """Return the propagator of both wavefields of a shot in its window; collective over the group that shares it."""
    positions = np.concatenate([shot.src[None], shot.rcv])
    return Propagator(
        setup.model,
        setup.propagation,
        setup.axis.dt,
        window=setup.window(shot),
        points=positions,
        taper_at=positions,
        group=group,
    )


def window_weights(setup: MigrationSetup, window: Box, part: Box | None = None) -> list[NDArray[np.float32]]:
    """Return what the sums of products of a shot are multiplied by along x, y and z.

    Parameters
    ----------
    window : Box
        Window of the shot, on the model grid.
    part : Box, optional
        The part of it that the weights are wanted for; all when None.

    Notes
    -----
    Along x and y a taper (`window_taper`); along z, where depth is stretched, dz / dzeta: the fields that are stepped
    are its square root below the pressure.
    """
    weights = window_taper(setup, window, part)
    scale = setup.model.grid.window(window).depth_scale
    if scale is not None:
        weights.append((1.0 / scale).astype(np.float32).reshape(1, 1, -1))
    return weights


def window_taper(setup: MigrationSetup, window: Box, part: Box | None = None) -> list[NDArray[np.float32]]:
    """Return weights along x and y that bring a shot's fields to zero at those edges of its window inside the model.

    Parameters
    ----------
    window : Box
        Window of the shot, on the model grid.
    part : Box, optional
        The part of it that the weights are wanted for; all when None.

    Notes
    -----
    Correlation and illumination get the same weight, so that the sum over shots is a weighted mean without seams
    where a window ends; a Laplacian over such a seam would draw a stripe. The ramp takes the outer quarter of the
    aperture.
    """
    grid, aperture = setup.model.grid, setup.imaging.aperture
    if not aperture:
        return []
    out = []
    for axis in (0, 1) if grid.ndim == 3 else (0,):
        n = window.shape[axis]
        cells = min(0.25 * aperture / grid.spacing3[axis], 0.25 * n)
        index = np.arange(n, dtype=np.float64)
        weight = np.ones(n)
        if window.lo[axis] > 0:
            weight = weight * ramp((index + 1.0) / (cells + 1.0))
        if window.hi[axis] < grid.shape3[axis]:
            weight = weight * ramp((n - index) / (cells + 1.0))
        shape = [1, 1, 1]
        shape[axis] = n
        out.append(weight.astype(np.float32).reshape(shape))
    if part is None:
        return out
    x, y = (slice(part.lo[i] - window.lo[i], part.hi[i] - window.lo[i]) for i in (0, 1))
    return [w[x] if axis == 0 else w[:, y] for axis, w in enumerate(out)]


def receiver_samples(
    setup: MigrationSetup,
    shot: Shot,
    traces: NDArray[np.float32],
    rows: NDArray[np.intp] | None = None,
) -> NDArray[np.float64]:
    """Return what is injected at the receivers, or at some `rows` of them, (nr, nt), reversed in time.

    Notes
    -----
    ``adjoint`` injects the data. ``reflectivity`` injects ``-(2 / v_r) dd/dt dA`` with v_r the velocity at the receiver
    and dA the area (2-D: length) it stands for, which makes the back-propagated amplitude that of the up-going wave.
    """
    count = len(shot.rcv) if rows is None else len(rows)
    if traces.shape != (count, setup.record.nt):
        raise DataError(
            f"shot {shot.id}: traces have shape {traces.shape}, "
            f"{count} receivers with {setup.record.nt} samples are expected",
            "check the survey's time axis",
            code="E305",
        )
    refuse_bad_traces(traces, f"shot {shot.id}")
    imaging = setup.imaging
    traces = end_taper(traces, setup.record, 1.0 / setup.wavelet.f0)
    reflectivity = imaging.mode == "reflectivity"
    samples = setup.trace_map.apply(traces.astype(np.float64))
    if reflectivity:
        some = slice(None) if rows is None else rows
        area = receiver_area(shot, setup.model.grid.ndim)[some]
        weight = -2.0 / velocity_at(setup.model, shot.rcv[some]) * area
        samples = samples * weight[:, None]
    return samples[:, ::-1]


@dataclass(frozen=True)
class TraceBytes:
    """Bytes of the traces of a shot on their way from the record to injection (`receiver_samples`, `prepare_shot`).

    Parameters
    ----------
    receivers, recorded, stepped : int
        Traces, and samples of each as they come and of every time step.
    """

    receivers: int
    recorded: int
    stepped: int

    @property
    def came(self) -> int:
        """Bytes of the recorded traces, in single precision."""
        return 4 * self.receivers * self.recorded

    @property
    def samples(self) -> int:
        """Bytes of the injected samples, in double precision."""
        return 8 * self.receivers * self.stepped

    @property
    def held(self) -> int:
        """Bytes during propagation: traces, injected samples, and these again in single precision."""
        return self.came + self.samples + self.samples // 2

    @property
    def scaling(self) -> int:
        """While what is injected is scaled (`Propagator.source`)."""
        return self.held + self.samples

    @property
    def mapping(self) -> int:
        """While they are mapped, with a tapered copy and one in double precision."""
        return 4 * self.came + self.samples

    @property
    def weighting(self) -> int:
        """While what came of that is weighted."""
        return 2 * self.came + 2 * self.samples


class _Report:
    """Turn the steps done into rare calls of a progress function."""

    def __init__(self, call: Progress | None, total: int) -> None:
        self.call, self.total, self.reported = call, max(1, total), 0
        self.every = max(1, total // 100)

    def reached(self, done: int) -> None:
        """Tell that `done` steps of all are done, a hundred times at most."""
        if self.call is not None and done - self.reported >= self.every:
            self.reported = done
            self.call(min(1.0, done / self.total))
