"""The compiled kernels, float32: the same functions as `subsalt.kernels.reference`.

The instruction set is the best this processor has (x86-64-v4, v3 or v2), or the one the environment variable
``SUBSALT_ISA`` names. v3, v4 and neon (64-bit ARM) give the same bits; v2 has no fused multiply-add and is a
numerics class of its own. Bits depend neither on threads nor on boxes.
Threads: ``set_threads``, else ``OMP_NUM_THREADS``, else the cores this process may use.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt import _native
from subsalt.earth.grid import Box
from subsalt.errors import ConfigError, DeviceError, processor_too_old
from subsalt.kernels import tuning
from subsalt.kernels.depth_rows import depth_rows, padded_row
from subsalt.kernels.device import InPlace, RowProducts
from subsalt.kernels.host_arrays import CUTS_ROWS as CUTS_ROWS
from subsalt.kernels.host_arrays import OWN_MEMORY as OWN_MEMORY
from subsalt.kernels.host_arrays import WHOLE_MEMORY_FIELDS as WHOLE_MEMORY_FIELDS
from subsalt.kernels.host_arrays import lock as lock
from subsalt.kernels.host_arrays import on_host as on_host
from subsalt.kernels.host_arrays import to_device as to_device
from subsalt.kernels.host_arrays import to_host as to_host
from subsalt.kernels.host_arrays import work_done as work_done
from subsalt.kernels.host_arrays import zeros as zeros
from subsalt.kernels.mirror import MirrorStep
from subsalt.kernels.problem import Layout, Problem, State
from subsalt.kernels.shell import Shell
from subsalt.kernels.stepper import Sharing, Stepper
from subsalt.kernels.work import Work
from subsalt.numerics import side_by_side

if TYPE_CHECKING:
    from subsalt.acquisition.injection import Points

NAME = "cpu"

#: whether kernels return before they have computed
ASYNCHRONOUS = False

#: whether numbers below the smallest normal one are made zeros
FLUSHES = True

#: how ghost planes come to MPI
ghost_planes = InPlace

_PLAN, _MIRROR = "cpu.plan", "cpu.mirror"


class _Settings:
    """Settings that tests change: threads, instruction set ("": the best), radius at run time for orders 4 and 8.

    `slow` is a thread of segments that sleeps before every plane (-1: none), which exposes threads that do not wait.
    """

    threads = side_by_side.default_threads()
    isa = ""
    generic_radius = False
    #: leave out what a wavefield has not reached (native/isa/front.hpp); changes speed, no bit
    front = os.environ.get("SUBSALT_FRONT", "").strip().lower() != "off"
    slow = -1


def set_threads(n: int) -> None:
    """Use `n` threads from now on; no result depends on it."""
    if n < 1:
        raise ConfigError(f"threads = {n}", "use 1 or more")
    _Settings.threads = int(n)
    side_by_side.set_threads(int(n))


def set_front(on: bool) -> None:
    """Leave out, from now on, what a wavefield has not reached, or advance it too; no result depends on it."""
    _Settings.front = on


def leaves_out() -> bool:
    """Return whether what a wavefield has not reached is left out."""
    return _Settings.front


def in_use() -> tuple[int, str]:
    """Return the threads, and the instruction set that is forced ("": the chosen one)."""
    return _Settings.threads, _Settings.isa


def slow_thread() -> int:
    """Return the thread that rests before every plane, for tests of what the others wait for; -1 for none."""
    return _Settings.slow


@contextmanager
def forced(
    isa: str = "",
    *,
    threads: int | None = None,
    generic_radius: bool = False,
    front: bool | None = None,
    slow: int = -1,
) -> Iterator[None]:
    """Compute with a given instruction set, threads, radius, front and slow thread inside the ``with`` block."""
    saved = _Settings.isa, _Settings.threads, _Settings.generic_radius, _Settings.front, _Settings.slow
    _Settings.isa, _Settings.generic_radius, _Settings.slow = isa, generic_radius, slow
    if front is not None:
        _Settings.front = front
    if threads is not None:
        set_threads(threads)
    try:
        yield
    finally:
        _Settings.isa, _Settings.threads, _Settings.generic_radius, _Settings.front, _Settings.slow = saved


def available() -> list[str]:
    """Return the instruction sets that are built and that this processor has."""
    return list(_native.available_isas())


def left_out() -> list[str]:
    """Return the instruction sets that this processor has, better than those that were compiled, the best last."""
    return list(_native.left_out_isas())


def is_slower() -> str:
    """Return in words which kernels this build lacks on this processor; nothing where it lacks none."""
    missing = left_out()
    if not missing or os.environ.get("SUBSALT_ISA", "").strip():
        return ""
    best = missing[-1]
    return f"this processor has x86-64-{best}, for which no kernels were compiled: it computes with {_native.isa()}"


def describe() -> dict[str, object]:
    """Return the facts of the device: name, instruction set, numerics class, threads.

    Raises
    ------
    DeviceError
        When ``SUBSALT_ISA`` names an instruction set that is not available here.
    ConfigError
        When ``SUBSALT_TILE_ROWS`` is not a number of rows, or ``SUBSALT_BATCH`` no seed.
    """
    tuning.forced_rows()
    tuning.batch_seed()
    try:
        isa, numerics = _Settings.isa or _native.isa(), _native.numerics()
    except RuntimeError as err:
        if not available():
            raise processor_too_old(["SSE 4.2 or POPCNT"]) from err
        raise DeviceError(str(err), "unset SUBSALT_ISA", code="E702") from err
    return {"device": NAME, "isa": isa, "class": numerics, "threads": _Settings.threads}


def allocate(layout: Layout, dtype: type = np.float32) -> NDArray:
    """Return a padded array of zeros, aligned, on huge pages when large."""
    if np.dtype(dtype) != np.float32:
        raise ConfigError(f"dtype {np.dtype(dtype)} on the cpu device", "use float32, or device = reference")
    return _native.allocate(list(layout.padded_shape), _Settings.threads)


def reserve(size: int, dtype: type = np.float32) -> NDArray:
    """Return `size` numbers to be written, with every page of their memory there; large ones on huge pages."""
    return _native.allocate([size], _Settings.threads, zeroed=False)


def reserve_host(size: int, dtype: type = np.float32) -> NDArray:
    """Return `size` numbers in the memory of the host, from and to which the device copies fast: those of `reserve`."""
    return reserve(size, dtype)


def copy(target: NDArray, source: NDArray) -> None:
    """Copy an array into another one of the same size (contiguous), by all threads."""
    _native.copy(target, source, _Settings.threads)


def _allocate_packed(layout: Layout) -> NDArray[np.uint16]:
    """Return a padded array of 16-bit zeros, aligned, on huge pages when large."""
    nx, ny, row = layout.padded_shape
    return _native.allocate([nx, ny, row // 2], _Settings.threads).view(np.uint16)


def _plan(problem: Problem) -> Any:
    """Return the compiled form of `problem`, built once; moves its parameters to aligned memory."""
    plan = problem.cache.get(_PLAN)
    if plan is not None:
        return plan
    describe()  # a wrong SUBSALT_ISA is reported here, before any work
    lay = problem.layout
    _storage_agrees(problem)  # before a copy could convert
    for name, values in problem.params.items():
        if values.ctypes.data % 64:
            problem.params[name] = _allocate_packed(lay) if problem.scales else allocate(lay)
            problem.params[name][...] = values
    plan = problem.cache[_PLAN] = _compiled(problem)
    return plan


def _storage_agrees(problem: Problem) -> None:
    for name, values in problem.params.items():
        if values.dtype != (np.uint16 if problem.scales else np.float32):
            raise ConfigError(f"parameter {name} is {values.dtype} in compiled kernels", "use float32")


def _compiled(problem: Problem) -> Any:
    """Return the compiled form of `problem`, on its parameters where they are."""
    rows = depth_rows(problem)
    lay = problem.layout
    _storage_agrees(problem)
    profiles: list[NDArray] = []
    if problem.boundary == "pml":
        assert problem.decay is not None
        profiles = [np.ascontiguousarray(b, dtype=np.float32) for b in problem.decay]
    elif problem.boundary == "damping":
        assert problem.sigma is not None
        profiles = [np.ascontiguousarray(s * problem.dt, dtype=np.float32) for s in problem.sigma]
    first = np.zeros((3, problem.radius + 1), dtype=np.float32)
    for axis in range(3):
        first[axis, 1:] = problem.first(axis)
    plan = _native.Plan(
        shape=lay.shape3,
        dim=lay.ndim,
        radius=problem.radius,
        row=lay.row,
        width=problem.widths,
        boundary=problem.boundary,
        free_surface=problem.free_surface,
        second=np.stack([problem.second(axis) for axis in range(3)]).astype(np.float32),
        first=first,
        profiles=profiles,
        m=problem.params["m"],
        e=problem.params.get("e"),
        s=problem.params.get("s"),
        scales=[
            (c.scale, c.offset) for c in (problem.scales[n] for n in ("m", "e", "s") if n in problem.scales)
        ],
    )
    if problem.medium == "tti":
        plan.set_tilt(
            axis=[problem.params[name] for name in problem.axis_names],
            spacing=problem.spacing3,
            second=problem.weights.second(tilted=True),
            first=problem.weights.first(tilted=True),
            share=problem.weights.tilt_share(),
        )
    if rows is not None:
        square, root, power = (padded_row(lay, row) for row in (rows.square, rows.root, rows.power))
        plan.set_stretch(square, [padded_row(lay, row) for row in rows.centre], root, power)
    return plan


def host_plan(problem: Problem) -> Any:
    """Return the compiled form of `problem` on the host for a device that brings it to its own memory."""
    return _compiled(problem)


def host_points(problem: Problem, points: Points) -> Any:
    """Return the compiled form of `points` on the host, likewise."""
    return _points(problem, points)


def new_memory(problem: Problem) -> dict[str, NDArray]:
    """Return zeroed memory fields of the PML, in the layer only: `Problem.memory_kinds` per axis, in rows along z."""
    if problem.boundary != "pml":
        return {}
    plan = _plan(problem)
    return {
        f"{kind}_{axis}": _native.allocate(list(plan.memory_shape(axis)), _Settings.threads)
        for kind in problem.memory_kinds
        for axis in problem.axes
    }


def new_state(problem: Problem) -> State:
    """Return a state at rest at time index 0."""
    _plan(problem)  # it may copy parameters: before the wavefields are there

    def level() -> list[NDArray]:
        return [allocate(problem.layout) for _ in range(problem.n_fields)]

    return State(level(), level(), new_memory(problem))


def memory_step(problem: Problem, state: State, box: Box) -> None:
    """Advance Psi of every axis inside the layer; all boxes come before the first `field_step`."""
    if problem.boundary == "pml":
        memory = list(state.memory.values())
        _native.memory_step(
            _plan(problem), state.prev, state.curr, memory, box.lo, box.hi, _Settings.threads, _Settings.isa
        )


def field_step(problem: Problem, state: State, box: Box) -> None:
    """Write the next time level over `state.prev` in `box`; `state.rotate` comes after all boxes."""
    _native.field_step(
        _plan(problem),
        state.prev,
        state.curr,
        list(state.memory.values()),
        box.lo,
        box.hi,
        _Settings.threads,
        _Settings.isa,
        _Settings.generic_radius,
    )


def time_step(problem: Problem, state: State) -> None:
    """Do `memory_step` and `field_step` on the whole grid, with the same bits, in one pass over memory."""
    if _Settings.generic_radius:
        raise ConfigError("time_step has no run-time radius at orders 4 and 8", "use field_step")
    memory = list(state.memory.values())
    _native.time_step(_plan(problem), state.prev, state.curr, memory, _Settings.threads, _Settings.isa)


def _mirror(problem: Problem) -> Any:
    """Return the compiled form of the mirror of `problem`, made once; None without one."""
    made, mirror = problem.cache.get(_MIRROR), problem.mirror
    if mirror is None or made is not None:
        return made
    rows = [
        (
            np.ascontiguousarray(a.indptr, dtype=np.int64),
            np.ascontiguousarray(a.indices, dtype=np.int32),
            np.ascontiguousarray(a.data, dtype=np.float32),
            np.ascontiguousarray(place, dtype=np.int32),
        )
        for a, place in (
            (mirror.odd, mirror.above),
            (mirror.reach, np.arange(mirror.reach.shape[0])),
            (mirror.own, mirror.near),
            (mirror.spread, mirror.near),
        )
    ]
    made = problem.cache[_MIRROR] = _native.MirrorSet(*rows, int(np.prod(problem.layout.padded_shape)))
    return made


def _mirror_step(problem: Problem, state: State) -> None:
    """Do what a free surface inside the grid asks for after a single step (native/kernels/mirror.hpp)."""
    _native.mirror(_plan(problem), _mirror(problem), state.curr, state.prev, _Settings.threads, _Settings.isa)


#: a free surface inside the grid
mirror: MirrorStep | None = _mirror_step


class Segment(Stepper):
    """Many time steps in one call of compiled code; the arguments that stay the same are prepared once.

    Parameters
    ----------
    problem : Problem
        Medium and grid of the wavefield.
    work : Work, optional
        Sources, recorders and the like (`Work.compiles`); none when None.
    """

    def __init__(self, problem: Problem, work: Work | None = None) -> None:
        work = Work() if work is None else work
        self.plan = _plan(problem)
        self.problem = problem
        self.sources = [(_points(problem, s.points), _values(s.samples.T)) for s in work.sources]
        self.recorders = [(_points(problem, r.points), r.data.T) for r in work.recorders]
        #: time index, box, and arrays: copy, energy, partner, image; and the scale
        self.samples: list[tuple[Any, ...]] = []
        if (s := work.snapshots) is not None:
            for it, copy in s.fields.items():
                self.samples.append((it, s.box.lo, s.box.hi, copy, s.energy, None, None, s.scale))
        if (c := work.correlation) is not None:
            for it, u in c.fields.items():
                self.samples.append((it, c.box.lo, c.box.hi, None, None, u, c.image, c.scale))
        self.samples.sort(key=lambda sample: sample[0])
        self.shells: tuple[Any, ...] | None = None
        if (k := work.shells) is not None and k.shell.cells:
            box, row = k.shell.box, (k.first, k.direction, k.put_back, k.data)
            self.shells = (box.lo, box.hi, k.shell.widths, *row)
        self.inner = None if work.inner is None else (work.inner.lo, work.inner.hi)
        self.mirror = _mirror(problem)

    def advance(
        self,
        state: State,
        n: int,
        finite_every: int,
        check_last: bool,
        progress: Callable[[int], None] | None = None,
    ) -> bool:
        """Advance `state` by `n` steps, or up to where it is not finite; Ctrl-C is noticed several times a second."""
        if _Settings.generic_radius:
            raise ConfigError("a segment has no run-time radius at orders 4 and 8", "use field_step")
        threads, isa = _Settings.threads, _Settings.isa
        tuner, seed = _tuner(self.problem), tuning.batch_seed()
        while True:
            cut, steps = tuner.trial(n)
            start, n = time.perf_counter(), n - steps
            advanced = _native.advance(
                self.plan,
                state,
                steps,
                self.sources,
                self.recorders,
                self.samples,
                finite_every,
                check_last and n == 0,
                progress,
                threads,
                isa,
                cut,
                self.shells,
                self.inner,
                self.mirror,
                _Settings.front and tuner.settled,  # trials compare cuts at equal work
                seed,
                _Settings.slow,
            )
            tuner.took(cut, steps, time.perf_counter() - start)
            self.points += max(0, advanced)
            if advanced < 0 or n == 0:
                return bool(advanced >= 0)


def stepper(problem: Problem, work: Work, sharing: Sharing | None = None) -> Stepper | None:
    """Return a segment, of a slab passes; None where steps in Python are the way: blocks, tilted media on slabs."""
    from subsalt.kernels.slab import SlabPasses

    if sharing is None:
        return Segment(problem, work)
    by_step = problem.medium == "tti" or sharing.rows is not None
    return None if by_step else SlabPasses(problem, work, sharing)


def settle(problem: Problem, state: State) -> tuning.Cut:
    """Advance `state` until the cut of a segment of this problem is chosen, and return it."""
    segment, tuner = Segment(problem), _tuner(problem)
    while not tuner.settled:
        segment.advance(state, tuner.steps(tuner.left[0]), 1 << 30, False)
    return tuner.best


def _tuner(problem: Problem) -> tuning.Tuner:
    """Return the tuner of this problem, for the threads and the instruction set in use."""
    name = f"cpu.tuner {_Settings.threads} {_Settings.isa}"
    tuner = problem.cache.get(name)
    if not isinstance(tuner, tuning.Tuner):
        tuner = tuning.Tuner(problem, _Settings.threads, _Settings.isa or _native.isa())
        problem.cache[name] = tuner
    return tuner


def plain_step(problem: Problem, state: State) -> None:
    """Do a field step by a plain loop (orders 4 and 8, 3-D, no layer): a yardstick, with the same bits."""
    _native.plain_step(_plan(problem), state.prev, state.curr, _Settings.threads, _Settings.isa)


def roof_step(problem: Problem, state: State) -> None:
    """Do what a field step of the core does to memory, with the centre weights in place of the stencil."""
    isa = _Settings.isa or _native.isa()
    _native.lab.roof_step(_plan(problem), state.prev, state.curr, _Settings.threads, isa)


#: compiled point sets by the id of their Points; an entry goes when its Points do
_point_sets: dict[tuple[int, tuple[int, int, int]], tuple[weakref.ref, Any]] = {}


def _points(problem: Problem, points: Points) -> Any:
    """Return the compiled form of `points` on this grid, built once."""
    key = id(points), problem.layout.shape3
    stored = _point_sets.get(key)
    if stored is not None and stored[0]() is points:
        return stored[1]
    base = np.ascontiguousarray(points.base, dtype=np.int32)
    weights = np.ascontiguousarray(points.weights, dtype=np.float32)
    made = _native.PointSet(base, weights, problem.layout.shape3)
    _point_sets[key] = weakref.ref(points, lambda _: _point_sets.pop(key, None)), made
    return made


def _values(values: NDArray) -> NDArray[np.float32]:
    return np.ascontiguousarray(values, dtype=np.float32)


def inject(problem: Problem, fields: list[NDArray], points: Points, values: NDArray) -> None:
    """Add a source sample at every point, through C."""
    _native.inject(
        _plan(problem), fields, _points(problem, points), _values(values), _Settings.threads, _Settings.isa
    )


def record(problem: Problem, fields: list[NDArray], points: Points) -> NDArray:
    """Return p, or (p + q) / 2, interpolated at every point, (n,)."""
    out = np.empty(len(points.base), dtype=np.float32)
    _native.record(_plan(problem), fields, _points(problem, points), out, _Settings.threads, _Settings.isa)
    return out


def snapshot(problem: Problem, fields: list[NDArray], out: NDArray, box: Box) -> None:
    """Write the imaged field, p or (p + q) / 2, in `box` to `out` (shape of the box), packed where that is int16."""
    sample = (0, box.lo, box.hi, out, None, None, None, 1.0)
    _native.sample(_plan(problem), fields, sample, _Settings.threads, _Settings.isa)


def apply_l(problem: Problem, fields: list[NDArray], box: Box) -> list[NDArray]:
    """Return L u in `box` without the layer: [lap p], [(Dxx + Dyy) p, Dzz q] or [lap p - V p, V q]."""
    out = [np.empty(box.shape, dtype=np.float32) for _ in range(problem.n_fields)]
    _native.apply_l(_plan(problem), fields, out, box.lo, box.hi, _Settings.threads, _Settings.isa)
    return out


def imaged(problem: Problem, fields: list[NDArray], box: Box) -> NDArray:
    """Return a copy of the imaged field, p or (p + q) / 2, in `box`."""
    out = np.empty(box.shape, dtype=np.float32)
    snapshot(problem, fields, out, box)
    return out


def correlate(
    problem: Problem, image: NDArray, u: NDArray, fields: list[NDArray], box: Box, scale: float
) -> None:
    """Accumulate image += (scale u) w, with w the imaged field of `fields` in `box`; u may be packed."""
    sample = (0, box.lo, box.hi, None, None, u, image, scale)
    _native.sample(_plan(problem), fields, sample, _Settings.threads, _Settings.isa)


def square(problem: Problem, illumination: NDArray, u: NDArray, scale: float) -> None:
    """Accumulate illumination += (scale u) u (contiguous arrays of one shape)."""
    _native.square(illumination, u, scale, _Settings.threads, _Settings.isa)


def product(image: NDArray, u: NDArray, w: NDArray, scale: float) -> None:
    """Accumulate image += (scale u) w of two snapshots, with the bits of `correlate` (contiguous, of one shape)."""
    _native.product(image, u, w, scale, _Settings.threads, _Settings.isa)


def _row_products(
    sums: NDArray, u: Sequence[NDArray], w: Sequence[NDArray], rows: NDArray[np.int64], scale: float
) -> None:
    """Add products of rows of two wavefields (native/kernels/row_products.hpp)."""
    _native.row_products(sums, list(u), list(w), rows, scale, _Settings.threads, _Settings.isa)


#: products of rows of two wavefields, for gathers
row_products: RowProducts | None = _row_products


def keep_shell(problem: Problem, fields: list[NDArray], shell: Shell, out: NDArray) -> None:
    """Copy the shell of every field to `out` (fields, cells)."""
    _shell(problem, fields, shell, out, put_back=False)


def put_back_shell(problem: Problem, fields: list[NDArray], shell: Shell, record: NDArray) -> None:
    """Write `record` (fields, cells) over the shell of every field, and over its odd images above a free surface."""
    _shell(problem, fields, shell, record, put_back=True)


def _shell(problem: Problem, fields: list[NDArray], shell: Shell, record: NDArray, *, put_back: bool) -> None:
    box, widths = shell.box, shell.widths
    threads, isa = _Settings.threads, _Settings.isa
    _native.shell(_plan(problem), fields, box.lo, box.hi, widths, record, put_back, threads, isa)


def is_finite(problem: Problem, fields: list[NDArray]) -> bool:
    """Return whether every point of every field is finite."""
    return bool(_native.is_finite(_plan(problem), fields, _Settings.threads, _Settings.isa))
