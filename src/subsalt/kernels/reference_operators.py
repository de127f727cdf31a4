"""Derivatives and operators of the wave equations in NumPy, in the canonical order of operations (`kernels.reference`).

The operators of tilted transverse isotropy are lap - V on p, and V on q. With the unit vector n of the symmetry axis
and w one of p, q::

    V w = sum_i D1_i( n_i g ) + share sum_i (D2_i - D1_i D1_i) w,    g = sum_j n_j D1_j w,   share = 0.2

D1_i and D2_i are the centred first and second derivatives of one order. As a divergence of fluxes::

    F_i = n_i g - share D1_i w,    V w = sum_i D1_i F_i + share sum_i D2_i w

The flux outside the grid is zero, as the field is, so that the outer D1 is minus the transpose of the inner one: -V and
-(lap - V) are symmetric and positive for any field of axes. Below a free surface at z = 0 the fields are odd, and the
vertical flux is even: F_z[-k] = F_z[k].

On a stretched depth axis (`Problem.depth_scale`) the fields are a^(1/2) p, and the operators those of
`subsalt.kernels.depth_rows`, with rows of numbers along z: square = a^2, root = a^(-1/2), power = a^(3/2), and centre,
the weight of the node itself in all second derivatives, with -e. Per point, one fused multiply-add for ``a * b + c``::

    chain along z   s = c_1 (u[+1] + u[-1]);  k = 2 .. M: s = c_k (u[+k] + u[-k]) + s       without the centre
    isotropic       acc = centre u;  the chains of x and y go on from there;  acc = square s + acc
    VTI             A as on a uniform axis;  B = square s + centre_q q
    layer           extra = (term_x + term_y), then square term_z + extra; the recursions are those of a uniform axis
    TTI  second     s_z on a unit grid as above, then square s_z in its place;  start = centre_w w
         slope      h_z = power (D1 of root w, each value rounded before the differences)
         flux       Phi = root F_z is what is kept along z
         z          a = power S + a,  S = d_1 (Phi[+1] - Phi[-1]), k = 2 .. M: S = d_k (Phi[+k] - Phi[-k]) + S
         layer      X_z = weight D2 w + root S, D2 with its centre as on a uniform axis;  a = square term_z + a

References
----------
Zhang, Zhang and Zhang, 2011, A stable TTI reverse time migration and its implementation, Geophysics 76: the rotated
operators that are their own adjoint. The term with D2 - D1 D1 is of the order of the scheme.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box
from subsalt.kernels.depth_rows import depth_rows, padded_row
from subsalt.kernels.problem import Z_FRONT, Problem


def at(problem: Problem, a: NDArray, box: Box, axis: int = 0, shift: int = 0) -> NDArray:
    """Return the points of `box` in a padded array, moved by `shift` along `axis`."""
    lay = problem.layout
    off = [lay.radius, lay.y_halo, Z_FRONT]
    off[axis] += shift
    return a[tuple(slice(l + o, h + o) for l, h, o in zip(box.lo, box.hi, off, strict=True))]


def along_z(row: NDArray, box: Box) -> NDArray:
    """Return the numbers of a row along z in `box`."""
    return row[box.lo[2] : box.hi[2]]


def add_d2(problem: Problem, acc: NDArray, u: NDArray, box: Box, axis: int) -> NDArray:
    """Add the off-centre terms of the second derivative along `axis`: acc + sum_k c_k (u[+k] + u[-k])."""
    for k, c in enumerate(problem.second(axis)):
        if k:
            acc = c * (at(problem, u, box, axis, k) + at(problem, u, box, axis, -k)) + acc
    return acc


def d2(problem: Problem, u: NDArray, box: Box, axes: tuple[int, ...]) -> NDArray:
    """Return the sum of the second derivatives along `axes` in the step of a medium that is not tilted."""
    rows = depth_rows(problem)
    if rows is None or 2 not in axes:
        return chain(problem, u, box, axes)
    acc = along_z(rows.centre[0], box) * at(problem, u, box)
    for axis in axes[:-1]:
        acc = add_d2(problem, acc, u, box, axis)
    return along_z(rows.square, box) * add_d2(problem, problem.dtype(0), u, box, 2) + acc


def chain(problem: Problem, u: NDArray, box: Box, axes: tuple[int, ...]) -> NDArray:
    """Return the sum of the second derivatives on a uniform grid, in one chain that starts at the centre."""
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


class Operator:
    """lap - V on p (`field` 0) or V on q (`field` 1), without the layer, in one box.

    Parameters
    ----------
    problem : Problem
        A tilted medium.
    w : ndarray
        Padded wavefield.
    field : {0, 1}
        Which of the two operators.
    box : Box
        Box in which it is evaluated; the fluxes are computed there, and in `radius` cells around it.
    """

    def __init__(self, problem: Problem, w: NDArray, field: int, box: Box) -> None:
        self.problem, self.w, self.box, self.field = problem, w, box, field
        #: of a stretched depth axis
        self.rows = depth_rows(problem)
        share = problem.dtype(problem.weights.tilt_share())
        #: the weight of D2 and of the divergence
        self.share, self.sign = (problem.dtype(1) - share, -1) if field == 0 else (share, 1)
        reach = [problem.radius if axis in problem.axes else 0 for axis in range(3)]
        self.near = Box(
            tuple(l - r for l, r in zip(box.lo, reach, strict=True)),  # type: ignore[arg-type]
            tuple(h + r for h, r in zip(box.hi, reach, strict=True)),  # type: ignore[arg-type]
        )
        part = self.near.intersect(Box((0, 0, 0), problem.layout.shape3))
        slopes = {axis: d1(problem, w, part, axis) for axis in problem.axes}
        if self.rows is not None:
            scaled = w * padded_row(problem.layout, self.rows.root)[: problem.layout.row]
            slopes[2] = along_z(self.rows.power, part) * d1(problem, scaled, part, 2)
        axis_vector = dict(zip(problem.axes, problem.axis_names, strict=True))
        n = {axis: at(problem, problem.params[name], part) for axis, name in axis_vector.items()}
        g = sum(n[axis] * slopes[axis] for axis in problem.axes)
        self.flux: dict[int, NDArray] = {}
        for axis in problem.axes:
            flux: NDArray = np.zeros(self.near.shape, dtype=problem.dtype)
            values = n[axis] * g - share * slopes[axis]
            if self.rows is not None and axis == 2:
                values = along_z(self.rows.root, part) * values
            inside(flux, part, self.near)[...] = values
            self.flux[axis] = flux
        if problem.free_surface:
            surface = -self.near.lo[2]  # index of z = 0
            for k in range(1, surface + 1):
                if surface + k < self.near.shape[2]:
                    self.flux[2][..., surface - k] = self.flux[2][..., surface + k]

    def along_axis(self, box: Box, axis: int) -> NDArray:
        """Return the share of `axis` in the operator, in a part of the box; along a stretched z over a^2."""
        out = self.share * chain(self.problem, self.w, box, (axis,))
        if self.rows is None or axis != 2:
            return self._add_divergence(out, box, axis)
        return along_z(self.rows.root, box) * self._add_divergence(None, box, axis) + out

    def total(self) -> NDArray:
        """Return the operator in the whole box."""
        rows, box, axes = self.rows, self.box, self.problem.axes
        if rows is None:
            return sum((self.along_axis(box, axis) for axis in axes[1:]), self.along_axis(box, 0))
        out = along_z(rows.centre[self.field], box) * at(self.problem, self.w, box)
        for axis in axes:
            off_centre = add_d2(self.problem, self.problem.dtype(0), self.w, box, axis)
            out = self.share * (along_z(rows.square, box) * off_centre if axis == 2 else off_centre) + out
        for axis in axes[:-1]:
            out = self._add_divergence(out, box, axis)
        return along_z(rows.power, box) * self._add_divergence(None, box, 2) + out

    def _add_divergence(self, out: NDArray | None, box: Box, axis: int) -> NDArray:
        """Return `out` (None: zeros) and D1 of the flux along `axis`."""
        if out is None:
            out = np.zeros(box.shape, dtype=self.problem.dtype)
        for k, d in enumerate(self.problem.first(axis), start=1):
            ahead, behind = (self._flux(box, axis, shift) for shift in (k, -k))
            out = (self.sign * d) * (ahead - behind) + out
        return out

    def _flux(self, box: Box, axis: int, shift: int) -> NDArray:
        lo, hi = list(box.lo), list(box.hi)
        lo[axis], hi[axis] = lo[axis] + shift, hi[axis] + shift
        return inside(self.flux[axis], Box(tuple(lo), tuple(hi)), self.near)  # type: ignore[arg-type]
