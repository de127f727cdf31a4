"""How much of a grid has a wavefield from rest reached, on the mean of its steps? What lies beyond is not computed.

Rows along z are advanced from their top to the last number that is not zero (`native/isa/front.hpp`). Ahead of a wave
the numbers of a scheme fall off like an Airy function, whose width grows with the cube root of the steps, until they
are flushed to zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.plan.model.cut import Shape

#: cells ahead of the wave over the cube root of the steps, in 2-D and in 3-D, where waves are weaker: 17 to 18 and
#: 14 to 16 (order 8, half a cell a step, 40 to 200 steps)
AHEAD_2D, AHEAD_3D = 18.0, 15.0
#: rows along x and y, points and times that stand for all
ROWS, POINTS, TIMES = 24, 32, 12


def reached(shape3: Shape, points: ArrayLike, cells: float, steps: int) -> float:
    """Return the part of the points of a grid that is advanced, on the mean of the steps.

    Parameters
    ----------
    shape3 : tuple of int
        Points of the grid, layer included.
    points : array_like, (n, 3)
        Where waves begin, in cells of the grid.
    cells : float
        Cells that a wave travels in a step.
    steps : int
        From rest.
    """
    where = np.atleast_2d(np.asarray(points, dtype=np.float64))
    if steps < 1 or not len(where):
        return 1.0
    where = where[:: -(-len(where) // POINTS)]
    x, y = np.meshgrid(_some(shape3[0]), _some(shape3[1]), indexing="ij")
    # to the nearest point, and its depth
    apart = np.hypot(x[..., None] - where[:, 0], y[..., None] - where[:, 1])
    times = steps * (np.arange(TIMES) + 0.5) / TIMES
    ahead = AHEAD_2D if shape3[1] == 1 else AHEAD_3D
    parts = [_part(apart, where[:, 2], cells * n + ahead * np.cbrt(n), shape3[2]) for n in times]
    return float(np.mean(parts))


def _part(apart: NDArray[np.float64], depth: NDArray[np.float64], radius: float, nz: int) -> float:
    """Return the part of the rows above the waves of all points, `radius` cells away from each."""
    down = np.where(apart <= radius, depth + np.sqrt(np.maximum(0.0, radius**2 - apart**2)), 0.0)
    return float(np.minimum(1.0, down.max(axis=-1) / nz).mean())


def _some(n: int) -> NDArray[np.float64]:
    """Return the middles of equal parts of n rows, no more than `ROWS`."""
    count = min(n, ROWS)
    return (np.arange(count) + 0.5) * n / count - 0.5
