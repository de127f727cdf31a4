"""Inline and crossline numbers of map positions, and back.

Velocities are placed by these numbers, whatever lines of them are put out: an image at every second line has the
velocities of those lines in the whole image, bit for bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid

#: steps into which a line number, and a metre on the map, are divided: what is finer is rounding of coordinates
FINEST = 1e6


def numbers_of(grid: ImageGrid, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inline and crossline numbers (n, 2) of map positions (n, 2), m, to a millionth."""
    first = np.array([grid.inlines[0], grid.crosslines[0]], dtype=np.float64)
    step = np.array([grid.inlines[2], grid.crosslines[2]], dtype=np.float64)
    return snapped(first + step * grid.index_of(points))


def positions_of(grid: ImageGrid, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the map positions (n, 2), m, of inline and crossline numbers (n, 2)."""
    i, j = numbers[:, 0] - grid.inlines[0], numbers[:, 1] - grid.crosslines[0]
    (ax, ay), (bx, by) = grid.per_inline, grid.per_crossline
    return np.stack([(grid.corner[0] + i * ax) + j * bx, (grid.corner[1] + i * ay) + j * by], axis=-1)


def snapped(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values to a millionth."""
    return np.round(values * FINEST) / FINEST
