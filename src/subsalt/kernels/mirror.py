"""A free surface inside the grid: values above it by odd reflection, and a correction that keeps the step symmetric.

At every ghost node the field is minus that at its mirror point below the surface, interpolated from the nodes around.
Nodes above the surface that such an interpolation would need are ghosts themselves and have been substituted, so that
ghosts depend on nodes below the surface alone. Interpolation leaves the operator of the step not quite symmetric, and
waves would grow; near the surface every step adds a correction that makes it so (`subsalt.propagation.closure`)::

    s = reach u,     u_next += own u + spread s,     then  u_next = odd u_next  at the ghosts

References
----------
Mittet, R. (2002), Free-surface boundary conditions for elastic staggered-grid modeling schemes, Geophysics 67: odd and
even extensions at a free surface.
Mulder, W. A. (2017), A simple finite-difference scheme for handling topography with the second-order wave equation,
Geophysics 82: extrapolation across a surface between nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from subsalt.kernels.problem import Problem, State


@dataclass(frozen=True, eq=False)
class Mirror:
    """The free surface as sparse operators on padded arrays, by flat index.

    Parameters
    ----------
    above : ndarray, (n,), int32
        The ghosts. Nothing is injected above the surface, since m = 0 there.
    odd : csr_array, (n, padded points)
        Their values from those of nodes below the surface: minus the interpolation at the mirror points.
    near : ndarray, (m,), int32
        Nodes below the surface to which a step adds something; none where every mirror point is a node.
    reach : csr_array, (k, padded points)
        Stencils at ghosts, restricted to nodes below the surface.
    own : csr_array, (m, padded points)
        Correction from the nodes themselves and from ghosts; times (v dt)^2.
    spread : csr_array, (m, k)
        Correction from the sums of `reach`; times (v dt)^2.
    """

    above: NDArray[np.int32]
    odd: csr_array
    near: NDArray[np.int32]
    reach: csr_array
    own: csr_array
    spread: csr_array

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        parts = [self.above, self.near]
        for rows in (self.odd, self.reach, self.own, self.spread):
            parts += [rows.data, rows.indices, rows.indptr]
        return sum(part.nbytes for part in parts)


#: function of a device after a time step and the injection of sources: ``(problem, state)``; it adds the correction
#: from the level before to the newest level, and sets its nodes above the surface
MirrorStep = Callable[["Problem", "State"], None]


def in_numpy(problem: Problem, state: State) -> None:
    """Do what stands above to the newest level of a state."""
    mirror = problem.mirror
    assert mirror is not None
    for u, before in zip(state.curr, state.prev, strict=True):
        flat, last = u.reshape(-1), before.reshape(-1)
        flat[mirror.near] += mirror.own @ last + mirror.spread @ (mirror.reach @ last)
        flat[mirror.above] = mirror.odd @ flat
