"""Points between nodes on the GPU: kept there as long as the point set they belong to, injected and recorded."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt import _native
from subsalt.kernels import cpu
from subsalt.kernels.cuda.arrays import address
from subsalt.kernels.cuda.library import call, library, pointers
from subsalt.kernels.cuda.plan import fields_of, plan_of
from subsalt.kernels.problem import Problem

if TYPE_CHECKING:
    from subsalt.acquisition.injection import Points

#: points of the plug-in by the id of their Points, the grid and the plug-in; an entry goes when its Points do
_known: dict[tuple[int, tuple[int, int, int], int], tuple[weakref.ref, int]] = {}


def on_device(problem: Problem, points: Points) -> int:
    """Return the plug-in's form of `points` on this grid, built once."""
    plugin = library()
    key = id(points), problem.layout.shape3, id(plugin)
    found = _known.get(key)
    if found is not None and found[0]() is points:
        return found[1]
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
    """Return what every plane of a support adds to the sample of its point, (n, width), on the host.

    Added in the order of the planes they give `record`; 0 for planes without weight.
    """
    out = np.empty((len(points.base), points.weights.shape[2]), dtype=np.float32)
    if out.size:
        there, plan = on_device(problem, points), plan_of(problem).pointer
        call("subsalt_cuda_record_shares", plan, fields_of(fields), there, address(out))
    return out
