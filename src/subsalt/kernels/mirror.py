"""A free surface inside the grid: values above it by odd reflection, and a weak damping below it.

At every ghost node the field is minus that at its mirror point below the surface, interpolated from the nodes around.
Nodes above the surface that such an interpolation would need are ghosts themselves and have been substituted, so that
ghosts depend on nodes below the surface alone. The interpolation leaves the operator not quite symmetric, and waves of
two or three nodes per wavelength would grow within thousands of steps; near the surface they are damped::

    v = gamma S^2 (u_next - u) / 2,     u_next -= v,     u += v,
    S = minus the differences of second order, summed over the axes

in every step from a time index that is a multiple of `Mirror.every`, for all of these. The mean of both levels stays as
it is: what is taken is energy of motion at any phase of a wave. Taken from u_next alone, waves whose period is that of
the damping would grow.

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
    """What is done to padded arrays, by their flat indices.

    Parameters
    ----------
    above : ndarray, (n,), int32
        The ghosts. What is injected above the surface is nothing, for m = 0 there.
    odd : csr_array, (n, padded points)
        Their values from those of nodes below the surface: minus the interpolation at the mirror points.
    near : ndarray, (m,), int32
        Nodes below the surface that are damped.
    damping : csr_array, (m, padded points)
        gamma S^2 / 2; no rows where every mirror point is a node.
    every : int
        Steps from one that damps to the next.
    """

    above: NDArray[np.int32]
    odd: csr_array
    near: NDArray[np.int32]
    damping: csr_array
    every: int = 1

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        parts = [self.above, self.near]
        for rows in (self.odd, self.damping):
            parts += [rows.data, rows.indices, rows.indptr]
        return sum(part.nbytes for part in parts)


#: what a device does after a time step, when sources have been injected: ``(problem, state)``, whose newest level is
#: damped, and its nodes above the surface get their values
MirrorStep = Callable[["Problem", "State"], None]


def in_numpy(problem: Problem, state: State) -> None:
    """Do what stands above to the newest level of a state."""
    mirror = problem.mirror
    assert mirror is not None
    for u, before in zip(state.curr, state.prev, strict=True):
        flat = u.reshape(-1)
        if (state.it - 1) % mirror.every == 0:
            last = before.reshape(-1)
            change = mirror.damping @ (flat - last)
            flat[mirror.near] -= change
            last[mirror.near] += change
        flat[mirror.above] = mirror.odd @ flat
