"""Fields of a stretched depth axis at depths that are equally far apart, for movies, pictures and arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.earth.regrid import weights_between


class EvenDepths:
    """Carries fields from a stretched depth axis to depths that are equally far apart, every one or every n-th.

    Parameters
    ----------
    grid : Grid
        Grid with the axis.

    Attributes
    ----------
    even : Grid
        Grid of the same extent with the finest spacing everywhere.
    """

    def __init__(self, grid: Grid) -> None:
        assert grid.depth_scale is not None
        self.even = Grid((*grid.shape[:-1], grid.even_depths), grid.spacing, grid.origin)
        self._weights = weights_between(grid, self.even, grid.ndim - 1, "mirror")
        self._near = np.rint(grid.index_along(-1, self.even.axis(-1))).clip(0, grid.shape[-1] - 1)
        #: the pressure over the field that is stepped, at the nodes
        self._pressure = np.sqrt(1.0 / grid.depth_scale)

    def field(self, values: NDArray[np.floating], thin: int = 1) -> NDArray[np.float32]:
        """Return the pressure of a stepped field (..., nz) at every `thin`-th depth."""
        return self.image(values * self._pressure, thin)

    def image(self, values: NDArray[np.floating], thin: int = 1) -> NDArray[np.float32]:
        """Return values (..., nz) at every `thin`-th depth."""
        return self._weights.applied(values, values.ndim - 1)[..., ::thin].astype(np.float32)

    def nearest(self, values: NDArray[np.float32], thin: int) -> NDArray[np.float32]:
        """Return the values (..., nz) of the nearest node at every `thin`-th depth."""
        return values[..., self._near[::thin].astype(np.intp)]
