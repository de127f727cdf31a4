"""The operators of tilted transverse isotropy in NumPy: lap - V on p, and V on q.

With the unit vector n of the symmetry axis and w one of p, q::

    V w = sum_i D1_i( n_i g ) + share sum_i (D2_i - D1_i D1_i) w,    g = sum_j n_j D1_j w,   share = 0.2

D1_i and D2_i are the centred first and second derivatives of one order. As a divergence of fluxes::

    F_i = n_i g - share D1_i w,    V w = sum_i D1_i F_i + share sum_i D2_i w

The flux outside the grid is zero, as the field is, so that the outer D1 is minus the transpose of the inner one: -V and
-(lap - V) are symmetric and positive for any field of axes. Below a free surface at z = 0 the fields are odd, and the
vertical flux is even: F_z[-k] = F_z[k].

References
----------
Zhang, Zhang and Zhang, 2011, A stable TTI reverse time migration and its implementation, Geophysics 76: the rotated
operators that are their own adjoint. The term with D2 - D1 D1 is of the order of the scheme.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box
from subsalt.kernels.differences import at, d1, d2, inside
from subsalt.kernels.problem import TILT_SHARE, Problem


class Operator:
    """lap - V on p (`field` 0) or V on q (`field` 1), without the layer, in one box.

    Parameters
    ----------
    problem : Problem
        A tilted medium.
    w : ndarray
        Padded wavefield.
    field : {0, 1}
        Which operator.
    box : Box
        Where it will be asked for; the fluxes are computed here, and `radius` cells around it.
    """

    def __init__(self, problem: Problem, w: NDArray, field: int, box: Box) -> None:
        self.problem, self.w, self.box = problem, w, box
        share = problem.dtype(TILT_SHARE)
        #: the weight of D2 and of the divergence
        self.share, self.sign = (problem.dtype(1) - share, -1) if field == 0 else (share, 1)
        reach = [problem.radius if axis in problem.axes else 0 for axis in range(3)]
        self.near = Box(
            tuple(l - r for l, r in zip(box.lo, reach, strict=True)),  # type: ignore[arg-type]
            tuple(h + r for h, r in zip(box.hi, reach, strict=True)),  # type: ignore[arg-type]
        )
        part = self.near.intersect(Box((0, 0, 0), problem.layout.shape3))
        slopes = {axis: d1(problem, w, part, axis) for axis in problem.axes}
        axis_vector = dict(zip(problem.axes, problem.axis_names, strict=True))
        n = {axis: at(problem, problem.params[name], part) for axis, name in axis_vector.items()}
        g = sum(n[axis] * slopes[axis] for axis in problem.axes)
        self.flux: dict[int, NDArray] = {}
        for axis in problem.axes:
            flux: NDArray = np.zeros(self.near.shape, dtype=problem.dtype)
            inside(flux, part, self.near)[...] = n[axis] * g - share * slopes[axis]
            self.flux[axis] = flux
        if problem.free_surface:
            surface = -self.near.lo[2]  # index of z = 0
            for k in range(1, surface + 1):
                if surface + k < self.near.shape[2]:
                    self.flux[2][..., surface - k] = self.flux[2][..., surface + k]

    def along_axis(self, box: Box, axis: int) -> NDArray:
        """Return the share of `axis` in the operator, in a part of the box."""
        out = self.share * d2(self.problem, self.w, box, (axis,))
        for k, d in enumerate(self.problem.first(axis), start=1):
            ahead, behind = (self._flux(box, axis, shift) for shift in (k, -k))
            out = (self.sign * d) * (ahead - behind) + out
        return out

    def total(self) -> NDArray:
        """Return the operator in the whole box."""
        return sum(
            (self.along_axis(self.box, axis) for axis in self.problem.axes[1:]), self.along_axis(self.box, 0)
        )

    def _flux(self, box: Box, axis: int, shift: int) -> NDArray:
        lo, hi = list(box.lo), list(box.hi)
        lo[axis], hi[axis] = lo[axis] + shift, hi[axis] + shift
        return inside(self.flux[axis], Box(tuple(lo), tuple(hi)), self.near)  # type: ignore[arg-type]
