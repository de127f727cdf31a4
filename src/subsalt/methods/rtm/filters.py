"""Filters of a finished image: Laplacian and top mute. Elementwise, in fixed order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.numerics.fixedmath import ramp
from subsalt.numerics.stencil import first_derivative, second_derivative

#: order of the Laplacian of images, and the planes on either side that it looks at
ORDER = 8
LAPLACIAN_REACH = ORDER // 2


def laplacian(image: NDArray[np.float64], grid: Grid, order: int = ORDER) -> NDArray[np.float64]:
    """Return the Laplacian of an image; outside the grid the edge value is continued.

    Parameters
    ----------
    image : ndarray, (nx, ny, nz)
        With ny = 1 in 2-D.
    grid : Grid
        Its spacing.
    order : int
        Order of the derivative.
    """
    weights = second_derivative(order)
    radius = len(weights) - 1
    out = np.zeros_like(image)
    for axis in (0, 1, 2) if grid.ndim == 3 else (0, 2):
        n = image.shape[axis]
        pad = [(0, 0)] * 3
        pad[axis] = (radius, radius)
        wide = np.pad(image, pad, mode="edge")

        def at(shift: int, wide: NDArray = wide, axis: int = axis, n: int = n) -> NDArray:
            cut = [slice(None)] * 3
            cut[axis] = slice(radius + shift, radius + shift + n)
            return wide[tuple(cut)]

        term = weights[0] * image
        for k in range(1, radius + 1):
            term = term + weights[k] * (at(k) + at(-k))
        term = term / grid.spacing3[axis] ** 2
        if axis == 2 and (a := grid.depth_scale) is not None:
            # f_zz = a (a f')', with the derivatives along the coordinate of the axis
            change = _first(np.pad(a, radius, mode="edge"), order)
            term = a * a * term + a * change * _first(wide, order) / grid.spacing3[axis] ** 2
        out += term
    return out


def _first(wide: NDArray[np.float64], order: int) -> NDArray[np.float64]:
    """Return the first derivative along the last axis for unit spacing; `wide` has half an order more at each end."""
    weights = first_derivative(order)
    n, radius = wide.shape[-1] - 2 * len(weights), len(weights)
    out: NDArray[np.float64] = np.zeros((*wide.shape[:-1], n))
    for k, d in enumerate(weights, start=1):
        out += d * (wide[..., radius + k : radius + k + n] - wide[..., radius - k : radius - k + n])
    return out


def top_mute(
    image: NDArray[np.float64], grid: Grid, depth: float, surface: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the image with zeros above `depth` (m below the first row) and a ramp over half that depth below it.

    With a `surface`, its depth below the first row at every column of the image, `depth` counts from there.
    """
    if depth <= 0:
        return image
    z = np.arange(grid.shape[-1], dtype=np.float64) * grid.spacing[-1]
    if grid.depth_axis is not None:
        z = grid.axis(-1) - grid.origin[-1]
    if surface is not None:
        z = z - surface[:, :, None]
    return image * ramp((z - depth) / (0.5 * depth))
