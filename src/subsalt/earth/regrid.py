"""Volumes from grid to grid, and smoothed: linear interpolation, Gaussian averages."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid


def resample(values: NDArray[Any], source: Grid, target: Grid) -> NDArray[np.float32]:
    """Interpolate linearly from grid to grid, axis by axis; outside the source its edge value continues."""
    return resample_planes(values, 0, source, target, 0, target.shape[0])


def resample_planes(
    values: NDArray[Any], first: int, source: Grid, target: Grid, lo: int, hi: int
) -> NDArray[np.float32]:
    """Interpolate the planes `lo` to `hi` of a grid; `values` are those of the source from plane `first` on.

    The source planes that are needed are said by `planes_between`.
    """
    out = np.asarray(values, dtype=np.float64)
    for axis in range(source.ndim):
        low, high, share = _neighbours(axis, source, target)
        if axis == 0:
            low, high, share = low[lo:hi] - first, high[lo:hi] - first, share[lo:hi]
        weight = share.reshape([-1 if i == axis else 1 for i in range(source.ndim)])
        out = np.take(out, low, axis) * (1 - weight) + np.take(out, high, axis) * weight
    return out.astype(np.float32)


def planes_between(source: Grid, target: Grid, lo: int, hi: int) -> tuple[int, int]:
    """Return the planes (first, end) of the source between which the planes `lo` to `hi` of the target lie."""
    low, high, _ = _neighbours(0, source, target)
    return (int(low[lo:hi].min()), int(high[lo:hi].max()) + 1) if hi > lo else (0, 0)


def _neighbours(
    axis: int, source: Grid, target: Grid
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return for every point of a target axis the source points on both sides, and the share of the second."""
    at = (target.axis(axis) - source.origin[axis]) / source.spacing[axis]
    at = np.clip(at, 0, source.shape[axis] - 1)
    low = np.minimum(np.floor(at).astype(np.int64), max(source.shape[axis] - 2, 0))
    return low, np.minimum(low + 1, source.shape[axis] - 1), at - low


def same_grid(a: Grid, b: Grid) -> bool:
    """Return whether two grids coincide to a thousandth of a cell."""
    if a.shape != b.shape:
        return False
    close = [
        abs(ha - hb) * max(n - 1, 1) < 1e-3 * hb and abs(oa - ob) < 1e-3 * hb
        for ha, hb, oa, ob, n in zip(a.spacing, b.spacing, a.origin, b.origin, b.shape, strict=True)
    ]
    return all(close)


def smoothing_weights(sigma: float) -> NDArray[np.float64]:
    """Return a normalised Gaussian of `sigma` samples, cut at 4 sigma.

    Rounded to 12 digits, so that the last bit of a mathematical library does not reach the image.
    """
    r = max(1, math.ceil(4 * sigma))
    raw = [round(math.exp(-0.5 * (k / sigma) ** 2), 12) for k in range(-r, r + 1)]
    total = math.fsum(raw)
    return np.array([w / total for w in raw])


def smooth(
    values: NDArray[Any], grid: Grid, sigma: float, top: float | None, own: slice = slice(None)
) -> NDArray[Any]:
    """Return the Gaussian average of a volume, edges continued, nothing changed above the depth `top`.

    Parameters
    ----------
    sigma : float
        Standard deviation in m, the same along all axes.
    top : float, optional
        Depth, m: what lies above stays, and does not leak into what lies below.
    own : slice, optional
        Planes of `values` that are returned; the others only reach into these. All when left out.
    """
    from scipy.ndimage import correlate1d

    first = (
        0
        if top is None
        else int(np.clip(math.ceil((top - grid.origin[-1]) / grid.spacing[-1]), 0, grid.shape[-1]))
    )
    below = values[..., first:].astype(np.float64)
    if below.shape[-1] == 0:
        return values[own]
    for axis, h in enumerate(grid.spacing):
        if below.shape[axis] > 1:
            below = correlate1d(below, smoothing_weights(sigma / h), axis=axis, mode="nearest")
        if axis == 0:
            below = below[own]
    out = values[own].copy()
    out[..., first:] = below
    return out
