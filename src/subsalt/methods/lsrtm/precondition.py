"""The preconditioner of a least-squares migration, of options, illumination and mask; and its iteration with it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.earth.grid import Grid
from subsalt.inversion.cgls import Cgls
from subsalt.inversion.options import LeastSquaresOptions
from subsalt.inversion.penalty import Penalty
from subsalt.inversion.preconditioner import by_depth, by_illumination, masked, normalised


def cgls_of(
    options: LeastSquaresOptions, grid: Grid, illumination: NDArray[np.float64], mask: ArrayLike | None
) -> Cgls:
    """Return the iteration over all shots on a grid; parameters and errors as of `weights_of`."""
    weights = weights_of(options, grid, illumination, mask)
    return Cgls(weights, Penalty(options.penalty), options.damping)


def weights_of(
    options: LeastSquaresOptions, grid: Grid, illumination: NDArray[np.float64], mask: ArrayLike | None
) -> NDArray[np.float64]:
    """Return the diagonal of the preconditioner on a grid.

    Parameters
    ----------
    options : LeastSquaresOptions
        Which preconditioner.
    grid : Grid
        Grid of the unknown.
    illumination : ndarray, shape of the grid
        Sum over shots and time of the squared wavefield that scatters.
    mask : array_like, shape of the grid, or None
        0 where the image does not change, 1 where it may.

    Raises
    ------
    ConfigError
        When the preconditioner is zero throughout (E894), or the mask does not fit (E896).

    Notes
    -----
    Along a stretched depth axis the gradient of a point counts the thickness for which it stands; P divides by it, so
    that a step is a function of depth whatever the points.
    """
    if options.precondition == "illumination":
        weights = by_illumination(illumination, options.floor)
    elif options.precondition == "depth":
        depths = grid.axis(-1) - grid.origin[-1]
        weights = by_depth(grid.shape, depths, options.depth_power)
    else:
        weights = np.ones(grid.shape)
    scale = grid.depth_scale
    if scale is not None:
        weights = normalised(weights * scale)
    return masked(weights, mask)
