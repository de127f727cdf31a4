"""The frame of a volume as four numbers: x0, y0, azimuth (radians), flip; and where its columns lie on the map."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Frame, Grid
from subsalt.errors import ModelError

#: what the map coordinates of columns are called where a file has room for them
MAP_NAMES = ("map_x", "map_y")


def map_axes(grid: Grid, frame: Frame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return map x and map y of the columns of a grid, each (nx,) in 2-D or (nx, ny) in 3-D, m."""
    nx, ny, _ = grid.shape3
    points = np.zeros((nx, ny, 3))
    points[..., 0] = grid.axis(0)[:, None]
    points[..., 1] = (grid.axis(1) if grid.ndim == 3 else np.zeros(1))[None, :]
    world = frame.to_world(points)
    shape = grid.shape[:-1]
    return world[..., 0].reshape(shape), world[..., 1].reshape(shape)


def frame_from(values: Sequence[float], path: object) -> Frame:
    """Return the frame that a file describes; refuse numbers that are not finite."""
    x0, y0, azimuth, flip = (float(v) for v in values)
    if not all(math.isfinite(v) and abs(v) < 1e12 for v in (x0, y0, azimuth, flip)):
        raise ModelError(f"{path}: the frame {x0}, {y0}, {azimuth} is not finite", "mend it", code="E230")
    return Frame(x0, y0, azimuth, bool(flip))
