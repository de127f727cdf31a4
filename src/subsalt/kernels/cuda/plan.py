"""A problem on the GPU: its parameters there, and the plug-in's plan; built once per problem.

Points between nodes are injected and recorded on the GPU, and stay there as long as their point set.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt import _native
from subsalt.kernels import cpu
from subsalt.kernels.cuda.arrays import DeviceArray, address
from subsalt.kernels.cuda_library import call, library, pointers
from subsalt.kernels.problem import MODEL, Problem, State

if TYPE_CHECKING:
    from subsalt.acquisition.injection import Points

_PLAN = "cuda.plan"

#: parameters in the order of api.h
_MODEL = ("m", "e", "s", "nx", "ny", "nz")


class CudaPlan:
    """A problem in the form that calls of the plug-in take; it owns the arrays that the plug-in points to."""

    def __init__(self, problem: Problem) -> None:
        self.host = cpu.host_plan(problem)
        self.model = _model_of(problem)
        given = [self.model[n].pointer if n in self.model else None for n in _MODEL]
        out = pointers([None])
        call(
            "subsalt_cuda_plan",
            self.host.address,
            _native.Plan.size,
            pointers(given),
            out,
        )
        self.pointer: int = out[0]
        weakref.finalize(self, library().subsalt_cuda_free_plan, self.pointer).atexit = False


def _model_of(problem: Problem) -> dict[str, DeviceArray]:
    """Return the parameters on the GPU, those of another problem where both have the same arrays (`MODEL`)."""
    known = problem.cache.get(MODEL)
    if isinstance(known, dict):
        return known
    made: dict[str, DeviceArray] = {}
    for name, values in problem.params.items():
        made[name] = DeviceArray(values.shape, values.dtype, zeroed=False)
        made[name][...] = values
    problem.cache[MODEL] = made
    return made


def plan_of(problem: Problem) -> CudaPlan:
    """Return the plan of a problem."""
    made = problem.cache.get(_PLAN)
    if not isinstance(made, CudaPlan):
        made = problem.cache[_PLAN] = CudaPlan(problem)
    return made


def levels(state: State) -> Any:
    """Return the arrays of a state as the plug-in takes them: prev, curr, psi, zeta, zeta2."""

    def pair(arrays: list) -> list[int | None]:
        return [a.pointer for a in arrays] + [None] * (2 - len(arrays))

    memory = [
        state.memory[name].pointer if name in state.memory else None  # type: ignore[attr-defined]
        for kind in ("psi", "zeta", "zeta2")
        for name in (f"{kind}_{axis}" for axis in range(3))
    ]
    return pointers([*pair(state.prev), *pair(state.curr), *memory])


def fields_of(fields: list) -> Any:
    """Return one or two arrays of the GPU as the plug-in takes them."""
    return pointers([f.pointer for f in fields] + [None] * (2 - len(fields)))


#: points of the plug-in by the id of their Points, the grid and the plug-in; an entry goes when its Points do
_known: dict[tuple[int, tuple[int, int, int], int], tuple[weakref.ref, int]] = {}


def on_device(problem: Problem, points: Points) -> int:
    """Return the plug-in's form of `points` on this grid, built once."""
    plugin = library()
    key = id(points), problem.layout.shape3, id(plugin)
    stored = _known.get(key)
    if stored is not None and stored[0]() is points:
        return stored[1]
    out = pointers([None])
    host = cpu.host_points(problem, points)
    call("subsalt_cuda_points", plan_of(problem).pointer, host.address, _native.PointSet.size, out)
    made: int = out[0]
    free = plugin.subsalt_cuda_free_points

    def gone(_: object) -> None:
        if _known.pop(key, None) is not None:
            free(made)

    _known[key] = weakref.ref(points, gone), made
    return made


def inject(problem: Problem, fields: list[Any], points: Points, values: NDArray) -> None:
    """Add a source sample at every point, through C; `values` (n,) on the host."""
    samples = np.ascontiguousarray(values, dtype=np.float32)
    if samples.shape != (len(points.base),):
        raise ValueError(f"{samples.size} values for {len(points.base)} points")
    if samples.size:
        there, plan = on_device(problem, points), plan_of(problem).pointer
        call("subsalt_cuda_inject", plan, fields_of(fields), there, address(samples))


def record(problem: Problem, fields: list[Any], points: Points) -> NDArray:
    """Return p, or (p + q) / 2, interpolated at every point, (n,), on the host."""
    out = np.empty(len(points.base), dtype=np.float32)
    if out.size:
        there, plan = on_device(problem, points), plan_of(problem).pointer
        call("subsalt_cuda_record", plan, fields_of(fields), there, address(out))
    return out


def record_shares(problem: Problem, fields: list[Any], points: Points) -> NDArray:
    """Return the contribution of every plane of a support to the sample of its point, (n, width), on the host.

    Added in the order of the planes they give `record`; 0 for planes without weight.
    """
    out = np.empty((len(points.base), points.weights.shape[2]), dtype=np.float32)
    if out.size:
        there, plan = on_device(problem, points), plan_of(problem).pointer
        call("subsalt_cuda_record_shares", plan, fields_of(fields), there, address(out))
    return out
