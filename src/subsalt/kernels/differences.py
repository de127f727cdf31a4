"""Derivatives on padded arrays inside an index box, in the canonical order of operations."""

from __future__ import annotations

from numpy.typing import NDArray

from subsalt.earth.grid import Box
from subsalt.kernels.fields import Z_FRONT
from subsalt.kernels.problem import Problem


def at(problem: Problem, a: NDArray, box: Box, axis: int = 0, shift: int = 0) -> NDArray:
    """Return the points of `box` in a padded array, moved by `shift` along `axis`."""
    lay = problem.layout
    off = [lay.radius, lay.y_halo, Z_FRONT]
    off[axis] += shift
    return a[tuple(slice(l + o, h + o) for l, h, o in zip(box.lo, box.hi, off, strict=True))]


def add_d2(problem: Problem, acc: NDArray, u: NDArray, box: Box, axis: int) -> NDArray:
    """Add the off-centre terms of the second derivative along `axis`: acc + sum_k c_k (u[+k] + u[-k])."""
    for k, c in enumerate(problem.second(axis)):
        if k:
            acc = c * (at(problem, u, box, axis, k) + at(problem, u, box, axis, -k)) + acc
    return acc


def d2(problem: Problem, u: NDArray, box: Box, axes: tuple[int, ...]) -> NDArray:
    """Return the sum of the second derivatives along `axes`, in one chain that starts at the centre."""
    centre = problem.second(axes[0])[0]
    for axis in axes[1:]:
        centre = centre + problem.second(axis)[0]
    acc = centre * at(problem, u, box)
    for axis in axes:
        acc = add_d2(problem, acc, u, box, axis)
    return acc


def d1(problem: Problem, u: NDArray, box: Box, axis: int) -> NDArray:
    """Return the first derivative along `axis`: sum_k d_k (u[+k] - u[-k])."""
    d = problem.first(axis)
    acc = d[0] * (at(problem, u, box, axis, 1) - at(problem, u, box, axis, -1))
    for k in range(2, len(d) + 1):
        acc = d[k - 1] * (at(problem, u, box, axis, k) - at(problem, u, box, axis, -k)) + acc
    return acc


def inside(a: NDArray, part: Box, whole: Box) -> NDArray:
    """Return the view of `part` in an array that covers `whole`."""
    return a[tuple(slice(p - w, q - w) for p, q, w in zip(part.lo, part.hi, whole.lo, strict=True))]
