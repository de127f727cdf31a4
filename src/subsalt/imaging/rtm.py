"""Reverse time migration of one shot, and the sum over shots.

The source wavefield goes forward and leaves a snapshot of the imaged field every `image_step` steps; the receiver
wavefield goes backward in time by the same propagator (the scheme is its own adjoint) and is correlated with them.
Sample n of the source field meets sample N - 1 - n of the reversed receiver field.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import DataError
from subsalt.grid import Box
from subsalt.imaging.conditions import Condition, ImagingSums, condition_of
from subsalt.imaging.filters import laplacian, ramp, top_mute
from subsalt.imaging.setup import MigrationSetup
from subsalt.imaging.traces import end_taper, receiver_area, to_propagation, velocity_at
from subsalt.propagator import Propagator
from subsalt.survey import Shot
from subsalt.timing import Phases

#: called with the fraction of the shot that is done, 0 to 1
Progress = Callable[[float], None]


@dataclass
class ShotImage:
    """What one shot adds to the image.

    Parameters
    ----------
    shot : int
        Its id.
    box : Box
        Window on the model grid.
    sums : dict of ndarray, shape of the box, float32
        Accumulated fields of the imaging condition.
    point_steps : int
        Grid points times time steps of both wavefields, layer included.
    seconds : float
        Wall time.
    """

    shot: int
    box: Box
    sums: dict[str, NDArray[np.float32]]
    point_steps: int
    seconds: float


class SnapshotPool:
    """Memory for the source snapshots of a shot, touched once and used again by the next shot."""

    def __init__(self) -> None:
        self._store = np.empty(0, dtype=np.float32)

    def take(
        self, kernels: ModuleType, count: int, shape: tuple[int, int, int], dtype: type
    ) -> list[NDArray]:
        """Return `count` arrays of `shape`, contents left open; they stay valid until the next call."""
        size = math.prod(shape)
        if self._store.size < count * size or self._store.dtype != dtype:
            self._store = np.empty(0, dtype=dtype)  # give the old memory back first
            # every page is there: a lack of memory shows before the first time step
            self._store = kernels.reserve(count * size, dtype)
        return list(self._store[: count * size].reshape(count, *shape))


def migrate_shot(
    setup: MigrationSetup,
    shot: Shot,
    traces: NDArray[np.float32],
    *,
    pool: SnapshotPool | None = None,
    phases: Phases | None = None,
    progress: Progress | None = None,
) -> ShotImage:
    """Migrate one shot.

    Parameters
    ----------
    setup : MigrationSetup
        Shared choices.
    shot : Shot
        Positions.
    traces : ndarray, (nr, nt), float32
        Records of the shot.
    pool : SnapshotPool, optional
        Reused over shots.
    phases : Phases, optional
        Takes the seconds of `setup`, `traces`, `source`, `receivers`.
    progress : callable, optional
        Called now and then with the fraction done.

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
    pool = pool or SnapshotPool()
    with clock("traces"):
        samples = receiver_samples(setup, shot, traces)
    with clock("setup"):
        positions = np.concatenate([shot.src[None], shot.rcv])
        prop = Propagator(
            setup.model,
            setup.propagation,
            setup.axis.dt,
            window=setup.window(shot),
            points=positions,
            taper_at=positions,
        )
        source = prop.source(shot.src[None], setup.signature[None])
        receivers = prop.source(shot.rcv, samples)
        condition = condition_of(setup.imaging.condition)(prop.kernels, prop.problem, prop.interior)
        times = setup.imaged_samples
        snapshots = dict(
            zip(times, pool.take(prop.kernels, len(times), prop.interior.shape, prop.dtype), strict=True)
        )
    steps = setup.axis.nt - 1
    state = prop.new_state()
    scale = setup.image_step * setup.axis.dt
    report = _Report(progress, 2 * steps)

    with clock("source"):
        prop.advance(
            state,
            steps,
            sources=[source],
            snapshots=condition.snapshots(snapshots, scale),
            progress=report.reached,
        )
    state.clear()
    with clock("receivers"):
        prop.advance(
            state,
            steps,
            sources=[receivers],
            correlation=condition.correlation({steps - it: u for it, u in snapshots.items()}, scale),
            progress=lambda it: report.reached(steps + it),
        )
    for weight in window_taper(setup, prop.window):
        for a in condition.sums.values():
            a *= weight
    sums = {name: np.asarray(a, dtype=np.float32) for name, a in condition.sums.items()}
    return ShotImage(shot.id, prop.window, sums, 2 * steps * prop.point_count, time.perf_counter() - begin)


def window_taper(setup: MigrationSetup, window: Box) -> list[NDArray[np.float32]]:
    """Return weights along x and y that bring a shot's fields to zero at those edges of its window inside the model.

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
    return out


def receiver_samples(setup: MigrationSetup, shot: Shot, traces: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return what is injected at the receivers, (nr, nt) on the propagation axis, reversed in time.

    Notes
    -----
    ``adjoint`` injects the data. ``reflectivity`` injects ``-(2 / v_r) dd/dt dA`` with v_r the velocity at the receiver
    and dA the area (2-D: length) it stands for, which makes the back-propagated amplitude that of the up-going wave.
    """
    if traces.shape != (len(shot.rcv), setup.record.nt):
        raise DataError(
            f"shot {shot.id}: traces have shape {traces.shape}, "
            f"{len(shot.rcv)} receivers with {setup.record.nt} samples are expected",
            "check the survey's time axis",
            code="E305",
        )
    if not np.isfinite(traces).all():
        bad = int((~np.isfinite(traces)).any(axis=1).sum())
        raise DataError(
            f"shot {shot.id}: {bad} of {len(traces)} traces hold values that are not finite",
            'zero them with [data] dead_traces = "zero"',
            code="E306",
        )
    imaging = setup.imaging
    traces = end_taper(traces, setup.record, 1.0 / setup.wavelet.f0)
    reflectivity = imaging.mode == "reflectivity"
    mapping = to_propagation(
        setup.record, setup.axis, time_dispersion=setup.propagation.time_dispersion, derivative=reflectivity
    )
    samples = mapping.apply(traces.astype(np.float64))
    if reflectivity:
        weight = -2.0 / velocity_at(setup.model, shot.rcv) * receiver_area(shot, setup.model.grid.ndim)
        samples = samples * weight[:, None]
    return samples[:, ::-1]


@dataclass
class ImageSum:
    """Partial images summed in the order in which they are added: the order of the survey."""

    setup: MigrationSetup
    fields: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    shots: int = 0

    def __post_init__(self) -> None:
        names = condition_of(self.setup.imaging.condition).accumulators
        shape = self.setup.model.grid.shape3
        if self.setup.imaging.illumination == "shot":
            names = ("image",)
        self.fields = {name: np.zeros(shape) for name in names}

    @property
    def condition(self) -> type[Condition]:
        """The imaging condition."""
        return condition_of(self.setup.imaging.condition)

    def add(self, part: ShotImage) -> None:
        """Add one shot's accumulated fields; with ``illumination = "shot"`` its finished image."""
        cut = part.box.slices
        self.shots += 1
        if self.setup.imaging.illumination == "shot":
            own = {name: a.astype(np.float64) for name, a in part.sums.items()}
            self.fields["image"][cut] += self.condition.finish(self._sums(own, part.box))
            return
        for name, a in part.sums.items():
            self.fields[name][cut] += a

    def _sums(self, fields: dict[str, NDArray[np.float64]], box: Box) -> ImagingSums:
        model = self.setup.model
        vp = model.values("vp", box)
        return ImagingSums(fields, model.grid.window(box), vp, self.setup.imaging.normalise)

    def finish(self) -> NDArray[np.float32]:
        """Return the image on the model grid: condition, filter, mute; shape of the model."""
        grid, imaging = self.setup.model.grid, self.setup.imaging
        if imaging.illumination == "shot":
            image = self.fields["image"].copy()
        else:
            image = self.condition.finish(self._sums(self.fields, grid.box))
        if imaging.filter == "laplacian":
            image = -laplacian(image, grid)
        image = top_mute(image, grid, imaging.top_mute)
        return np.ascontiguousarray(image.reshape(grid.shape), dtype=np.float32)

    def illumination(self) -> NDArray[np.float32] | None:
        """Return the source illumination summed over shots, when the condition accumulates it."""
        a = self.fields.get("illumination")
        return None if a is None else a.reshape(self.setup.model.grid.shape).astype(np.float32)


class _Report:
    """Turn the steps done into rare calls of a progress function."""

    def __init__(self, call: Progress | None, total: int) -> None:
        self.call, self.total, self.told = call, max(1, total), 0
        self.every = max(1, total // 100)

    def reached(self, done: int) -> None:
        """Tell that `done` steps of all are done, a hundred times at most."""
        if self.call is not None and done - self.told >= self.every:
            self.told = done
            self.call(done / self.total)
