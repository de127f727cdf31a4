"""A smooth surface through elevations at scattered places: their mean within a radius."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError

#: cells of the lattice in a radius: the weight changes by less than 0.2 from one to the next
CELLS = 8
#: cells of a lattice, which take a second: 10^3 km^2 with a radius of 260 m
MOST_CELLS = 1_000_000


@dataclass(frozen=True, eq=False)
class SmoothSurface:
    """Elevations averaged over a radius, on a lattice, linear between its points and constant outside.

    Parameters
    ----------
    first : ndarray, (2,), float64
        Map position of the first point, m.
    step : float
        Spacing of the points along x and y, m.
    values : ndarray, (nx, ny), float64
        Elevations, m, positive up.
    known : ndarray, (nx, ny), bool
        Points with elevations within the radius; the others have the value of the nearest of these.
    """

    first: NDArray[np.float64]
    step: float
    values: NDArray[np.float64]
    known: NDArray[np.bool_]

    @classmethod
    def through(
        cls, points: NDArray[np.float64], elevation: NDArray[np.float64], radius: float
    ) -> SmoothSurface:
        """Return the mean of elevations around every point of a lattice of ``radius / 8``.

        Parameters
        ----------
        points : ndarray, (n, 2)
            Map positions, m.
        elevation : ndarray, (n,)
            Elevation there, m, positive up.
        radius : float
            Radius at which the weight (1 - d^2 / radius^2)^2 ends, m.

        Raises
        ------
        ConfigError
            E750, when the radius is too small for the extent of the points.

        Notes
        -----
        Elevations of one cell of the lattice are averaged first: many traces of one station count once. All sums are
        added in one order, so that the surface has the same bits on every processor.
        """
        step, low = radius / CELLS, points.min(axis=0)
        place = np.floor((points - low) / step).astype(np.int64) + CELLS
        shape = tuple(int(n) + CELLS + 1 for n in place.max(axis=0))
        if shape[0] * shape[1] > MOST_CELLS:
            extent = points.max(axis=0) - low
            least = CELLS * float(np.sqrt(extent[0] * extent[1] / MOST_CELLS) + extent.max() / MOST_CELLS)
            raise ConfigError(
                f"floating_datum radius = {radius:g} m is too small for stations over {extent[0]:.0f} x "
                f"{extent[1]:.0f} m",
                f"use {np.ceil(1.2 * least):.0f} m or more",
                code="E750",
            )
        cell = place[:, 0] * shape[1] + place[:, 1]
        count = np.bincount(cell, minlength=shape[0] * shape[1])
        # elevations that are all alike give them back exactly
        level = float(elevation[0])
        sums = np.bincount(cell, weights=elevation - level, minlength=len(count))
        here = (count > 0).astype(np.float64).reshape(shape)
        mean = (sums / np.maximum(count, 1)).reshape(shape)
        above, below = np.zeros(shape), np.zeros(shape)
        for weight, out, into in _neighbours(shape):
            above[into] += weight * mean[out]
            below[into] += weight * here[out]
        known = below > 0
        values = above / np.where(known, below, 1.0)
        if not known.all():
            from scipy.ndimage import distance_transform_edt

            nearest = distance_transform_edt(~known, return_distances=False, return_indices=True)
            values = values[tuple(nearest)]
        # cells are counted from their middle
        return cls(low + (0.5 - CELLS) * step, step, level + values, known)

    def _corners(self, points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        last = np.array(self.values.shape) - 1
        at = np.clip((points - self.first) / self.step, 0.0, last)
        corner = np.minimum(at.astype(np.int64), last - 1)
        return corner, at - corner

    def at(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the elevation at map positions (n, 2), m."""
        corner, f = self._corners(points)
        i, j = corner[:, 0], corner[:, 1]
        v, x, y = self.values, f[:, 0], f[:, 1]
        near = v[i, j] + y * (v[i, j + 1] - v[i, j])
        far = v[i + 1, j] + y * (v[i + 1, j + 1] - v[i + 1, j])
        return near + x * (far - near)

    def covers(self, points: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which map positions (n, 2) have elevations within the radius."""
        corner, f = self._corners(points)
        at = corner + (f >= 0.5)
        inside = np.abs((points - self.first) / self.step - at).max(axis=1) <= 1.0
        return inside & self.known[at[:, 0], at[:, 1]]


def _neighbours(shape: tuple[int, ...]) -> Iterator[tuple[float, Any, Any]]:
    """Yield weight, source and target of every shift of a lattice within the radius, in one order."""

    def halves(d: int, n: int) -> tuple[slice, slice]:
        return slice(max(0, d), n + min(0, d)), slice(max(0, -d), n - max(0, d))

    for i in range(1 - CELLS, CELLS):
        for j in range(1 - CELLS, CELLS):
            rest = 1.0 - (i * i + j * j) / CELLS**2
            if rest > 0:
                (a, b), (c, d) = halves(i, shape[0]), halves(j, shape[1])
                yield rest * rest, (a, c), (b, d)
