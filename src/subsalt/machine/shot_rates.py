"""Rates of the parts of a shot on this machine: a time step, a snapshot, a product with one, and an injected trace.

A plan measures them for the medium, order, layer, dimensions and size of the job. This takes a second or two: a
wavefield of the same shape, or a smaller one when that is large, is advanced with and without each part.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt import kernels
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.host import available_memory
from subsalt.io.tile_cache import remember_tiles
from subsalt.kernels import cpu
from subsalt.kernels.work import Correlation, Snapshots
from subsalt.machine.load import Watch
from subsalt.machine.programs import run
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.propagator import Propagator

#: bytes of a number of a wavefield
FLOAT = 4
#: points of the largest wavefield that is timed: its arrays are larger than any cache
MOST_POINTS = 6_000_000
#: seconds of one timing, and timings of each part; the fastest counts
SECONDS, REPEATS = 0.12, 3
#: arrays that stand for snapshots: a shot has hundreds, of which each comes from memory
ARRAYS_BYTES = 400_000_000


@dataclass(frozen=True)
class ShotCase:
    """A shot whose parts are timed.

    Parameters
    ----------
    medium : str
        Medium of the propagation.
    shape : tuple of int
        Points of the window, layer not included; two numbers in 2-D.
    order, boundary, layer_cells, free_surface, model_storage
        As in `PropagationOptions`.
    image_step : int
        Time steps between imaged samples.
    receivers : int
        Traces that are injected.
    threads : int
        Threads that compute.
    """

    medium: str
    shape: tuple[int, ...]
    order: int
    boundary: str
    layer_cells: int
    free_surface: bool
    model_storage: str
    image_step: int
    receivers: int
    threads: int

    @property
    def kind(self) -> dict[str, Any]:
        """Key of the cases that a rate holds for, whatever the size."""
        names = ("medium", "order", "boundary", "layer_cells", "free_surface", "model_storage", "threads")
        return {n: getattr(self, n) for n in names} | {"dim": len(self.shape)}

    @property
    def scaled(self) -> tuple[int, ...]:
        """The shape that is timed: that of the case, or one like it with `MOST_POINTS`."""
        factor = min(1.0, (MOST_POINTS / math.prod(self.shape)) ** (1 / len(self.shape)))
        return tuple(max(min(n, 24), round(n * factor)) for n in self.shape)

    @property
    def points(self) -> int:
        """Points that are timed, layer not included."""
        return math.prod(self.scaled)


def measure(case: ShotCase) -> dict[str, Any]:
    """Return a row for the section ``shots`` of machine.json.

    Returns
    -------
    dict
        The case; ``step_points_per_s`` of a time step, layer included; ``snapshot_points_per_s`` of a snapshot with its
        illumination, and ``product_points_per_s`` of a product, of window points; ``injection_seconds`` of a trace and
        time step; ``copy_bytes_per_s`` of a state to memory; ``setup_points_per_s`` of making a propagator and its
        state; ``touch_bytes_per_s`` of memory that is used for the first time; ``start_seconds`` of the program.
    """
    grid = Grid(case.scaled, (10.0,) * len(case.shape))
    options = PropagationOptions(
        medium=case.medium,  # type: ignore[arg-type]
        order=case.order,
        boundary=case.boundary,  # type: ignore[arg-type]
        layer=case.layer_cells,
        free_surface=case.free_surface,
        model_storage=case.model_storage,  # type: ignore[arg-type]
        threads=case.threads,
    )
    model = _model(grid, case.medium)
    before = kernels.threads_to_use()
    device = kernels.prepare(options.device, case.threads)
    remember_tiles()
    try:
        # a step of the whole grid: short runs from rest would stay near the source
        with Watch(case.threads) as watch, cpu.forced(front=False):
            spent = _timed(case, model, options)
    finally:
        device.set_threads(before)
    return {
        **case.kind,
        "points": case.points,
        "shape": list(case.scaled),
        "image_step": case.image_step,
        "receivers": case.receivers,
        "isa": device.describe().get("isa"),
        **spent,
        "start_seconds": start_seconds(),
        **watch.stamp(),
    }


def _model(grid: Grid, medium: str) -> EarthModel:
    """Return a model that differs everywhere, as real ones do."""
    noise = np.random.default_rng(0).random(grid.shape, dtype=np.float32)
    vp = 1500.0 + 2500.0 * noise
    if medium == "isotropic":
        return EarthModel(grid, vp)
    epsilon = 0.1 + 0.1 * noise
    theta = 0.5 * noise if medium == "tti" else None
    return EarthModel(grid, vp, epsilon, epsilon - 0.05, theta)


def _timed(case: ShotCase, model: EarthModel, options: PropagationOptions) -> dict[str, float]:
    """Return the rates of one case."""
    k, length = case.image_step, 10.0 * (model.grid.shape[0] - 1)
    across = 5.0 * model.grid.shape[1] if model.grid.ndim == 3 else 0.0
    x = np.linspace(5.0, length - 5.0, case.receivers)
    positions = np.stack([x, np.full_like(x, across), np.full_like(x, 25.0)], axis=1)
    dt = model.choose_dt(options.weights, None, options.dt_reserve)
    Propagator(model, options, dt, points=positions[:1]).free()  # what is read at its first use
    making = time.perf_counter()
    with Propagator(model, options, dt, points=positions) as prop:
        signature = np.sin(np.arange(4000) * 0.3)
        source = prop.source(positions[:1], signature[None])
        receivers = prop.source(positions, np.tile(signature, (case.receivers, 1)))
        state = prop.new_state()
        making = time.perf_counter() - making
        shape, box = prop.interior.shape, prop.interior
        count = max(2, min(64, ARRAYS_BYTES // (4 * math.prod(shape))))
        touching, memory = _touched(prop, count * math.prod(shape))
        fields = list(memory.reshape(count, *shape))
        sums: NDArray[np.float32] = np.zeros(shape, np.float32)

        def samples(first: int, n: int) -> dict[int, Any]:
            return {it: fields[(it // k) % count] for it in range(first + k, first + n + 1, k)}

        def plain(n: int) -> None:
            state.clear()
            prop.advance(state, n, sources=[source])

        def snapshots(n: int) -> None:
            state.clear()
            prop.advance(state, n, sources=[source], snapshots=Snapshots(box, samples(0, n), sums, 1.0))

        def products(n: int) -> None:
            state.clear()
            correlation = Correlation(box, samples(0, n), sums, 1.0)
            prop.advance(state, n, sources=[source], correlation=correlation)

        def injected(n: int) -> None:
            state.clear()
            prop.advance(state, n, sources=[receivers])

        plain(k)  # first touch
        step, *others = _best((plain, snapshots, products, injected), _steps(plain, k))
        names = ("snapshots", "products", "injected")
        taken = {name: max(0.0, seconds - step) for name, seconds in zip(names, others, strict=True)}
        arrays = state.arrays()
        copies = [np.empty_like(a) for a in arrays]
        begin = time.perf_counter()
        for _ in range(2):
            for a, b in zip(arrays, copies, strict=True):
                np.copyto(b, a)
        copied = (time.perf_counter() - begin) / 2
        points = math.prod(shape)
        # a part that takes less than the noise of a step counts as its hundredth
        per_sample = {n: max(k * taken[n], 0.01 * step) for n in ("snapshots", "products")}
        return {
            "step_points_per_s": prop.point_count / step,
            "snapshot_points_per_s": points / per_sample["snapshots"],
            "product_points_per_s": points / per_sample["products"],
            "injection_seconds": taken["injected"] / case.receivers,
            "copy_bytes_per_s": sum(a.nbytes for a in arrays) / copied,
            "setup_points_per_s": prop.point_count / making,
            "touch_bytes_per_s": memory.nbytes / touching,
        }


def start_seconds() -> float:
    """Return the seconds of a migration before it reads its job: start of the interpreter, and imports."""
    begin = time.perf_counter()
    imports = "import subsalt.methods.rtm.migrate, subsalt.methods.rtm.check, subsalt.report, subsalt.cli.app"
    run([sys.executable, "-c", imports], what="the start of the program")
    return time.perf_counter() - begin


def _steps(run: Callable[[int], None], k: int) -> int:
    """Return the steps, whole samples, that take about `SECONDS`."""
    steps = k
    while True:
        begin = time.perf_counter()
        run(steps)
        seconds = time.perf_counter() - begin
        if seconds > 0.25 * SECONDS or steps > 3000:
            return min(3900 // k * k, max(k, round(steps * SECONDS / seconds / k) * k))
        steps *= 2


def _best(runs: Sequence[Callable[[int], None]], steps: int) -> list[float]:
    """Return the seconds of a time step of each, of the fastest of `REPEATS` runs.

    They take turns: what slows the machine for a while slows all of them, and their differences are wanted.
    """
    fastest = [math.inf] * len(runs)
    for _ in range(REPEATS):
        for i, one in enumerate(runs):
            begin = time.perf_counter()
            one(steps)
            fastest[i] = min(fastest[i], time.perf_counter() - begin)
    return [seconds / steps for seconds in fastest]


def _touched(prop: Propagator, size: int) -> tuple[float, NDArray[np.float32]]:
    """Return the seconds in which `size` numbers of memory are there, and the memory.

    What another program has just given back is there sooner than what a virtual machine must ask for: of two, one
    beside the other, the slower counts.
    """
    spent, held = [], []
    for _ in range(2 if available_memory() > 4 * FLOAT * size else 1):
        begin = time.perf_counter()
        held.append(prop.kernels.reserve(size, prop.dtype))
        spent.append(time.perf_counter() - begin)
    return max(spent), held[-1]
