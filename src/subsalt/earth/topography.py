"""The topography of a survey on land as a surface of the model: its depth, slope, and nearest points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid

if TYPE_CHECKING:
    from subsalt.earth.smooth_surface import SmoothSurface

#: parts of a cell that count as none
ON_NODE = 1e-6
#: steps towards the nearest point of the surface, at most, and the part of a step of the slope that counts as arrived
STEPS, ARRIVED = 60, 1e-9


@dataclass(frozen=True, eq=False)
class Topography:
    """The depth of the surface of the earth.

    Parameters
    ----------
    depth : callable
        ``depth(points)``: z of the surface, m, positive down, at local positions (n, 2).
    """

    depth: Callable[[NDArray[np.float64]], NDArray[np.float64]]

    @classmethod
    def of(cls, surface: SmoothSurface, datum: float) -> Topography:
        """Return the topography of elevations at local positions; z = 0 lies at the elevation `datum`, m."""
        return cls(lambda points: datum - surface.at(points))

    def under(self, grid: Grid) -> NDArray[np.float64]:
        """Return the depth of the surface at the columns of a grid, (nx, ny)."""
        x, y = (
            o + h * np.arange(n)
            for o, h, n in zip(grid.origin3, grid.spacing3, grid.shape3[:2], strict=False)
        )
        places = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
        return self.depth(places).reshape(len(x), len(y))

    def below(self, grid: Grid) -> NDArray[np.bool_]:
        """Return which nodes of a grid lie below the surface, (nx, ny, nz)."""
        z = grid.origin3[2] + grid.spacing3[2] * np.arange(grid.shape3[2])
        return z > self.under(grid)[:, :, None] + ON_NODE * grid.spacing3[2]

    def slope(self, at: NDArray[np.float64], step: float) -> NDArray[np.float64]:
        """Return dz/dx and dz/dy of the surface (n, 2), by differences over `step` m to both sides."""
        out = np.zeros_like(at)
        for axis in range(2):
            aside = np.zeros(2)
            aside[axis] = step
            out[:, axis] = (self.depth(at + aside) - self.depth(at - aside)) / (2 * step)
        return out

    def foot(self, points: NDArray[np.float64], step: float) -> NDArray[np.float64]:
        """Return the points of the surface nearest to `points` (n, 3): the line between is across the surface."""
        at = points[:, :2].copy()
        for _ in range(STEPS):
            # x_f = x + (z - z_f) dz/dx; half of the way at a time, which converges for slopes up to 1.7
            wanted = points[:, :2] + (points[:, 2] - self.depth(at))[:, None] * self.slope(at, step)
            move = 0.5 * (wanted - at)
            at += move
            if np.abs(move).max(initial=0.0) < ARRIVED * step:
                break
        return np.column_stack([at, self.depth(at)])

    def facts(self, grid: Grid) -> dict[str, Any]:
        """Return its depths on a grid, m, and its steepest slope, for reports."""
        z = self.under(grid)
        steep = [np.abs(np.diff(z, axis=a)).max(initial=0.0) / grid.spacing3[a] for a in (0, 1)]
        return {
            "depths": [float(z.min()), float(z.max())],
            "steepest": float(np.hypot(*steep)),
        }
