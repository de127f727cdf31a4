"""The part of an image that its survey lights, to which pictures of images are cropped.

A column of the image is lit where the source wavefields came and where the image shows anything: where its largest
amplitude is a visible part of the grey scale. What is shown is the smallest range along x, and along y in 3-D, that
holds all lit columns and all stations, with a margin. Depth is never cropped.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box, Grid
from subsalt.earth.planes import Planes

#: part of the grey scale, either side of zero, that no eye tells from zero
PLAIN = 0.02
#: part of the lit width that is shown on either side of it
MARGIN = 0.05
#: part of an axis that is worth leaving out
WORTH = 0.1
#: columns of a plane that are looked at, at most
MOST_COLUMNS = 500


def lit_box(
    image: NDArray,
    grid: Grid,
    illumination: NDArray | Planes | None,
    limit: float,
    stations: NDArray[np.float64],
) -> Box:
    """Return the indices of an image that are worth showing; all of them without illumination.

    Parameters
    ----------
    image : ndarray, (nx, ny, nz)
        Image that is shown; read plane by plane.
    grid : Grid
        Grid of the image.
    illumination : ndarray or Planes, optional
        Source illumination on the grid.
    limit : float
        Amplitude at which the grey scale ends.
    stations : ndarray, (n, 3)
        Sources and receivers that are marked, local, m; those outside the grid don't count.
    """
    whole = Box((0, 0, 0), grid.shape3)
    if illumination is None:
        return whole
    lit = _lit_columns(image, grid, illumination, PLAIN * limit)
    if not lit.any():
        return whole
    lo, hi = list(whole.lo), list(whole.hi)
    for axis in range(2 if grid.ndim == 3 else 1):
        n = grid.shape3[axis]
        shown = np.flatnonzero(lit.any(axis=1 - axis))
        places = np.round((stations[:, axis] - grid.origin3[axis]) / grid.spacing3[axis])
        ends = [shown[0], shown[-1], *places[(places >= 0) & (places < n)]]
        margin = math.ceil(MARGIN * (max(ends) - min(ends) + 1))
        low, high = max(0, int(min(ends)) - margin), min(n, int(max(ends)) + margin + 1)
        if n - (high - low) >= WORTH * n:
            lo[axis], hi[axis] = low, high
    return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))


def _lit_columns(
    image: NDArray, grid: Grid, illumination: NDArray | Planes, plain: float
) -> NDArray[np.bool_]:
    """Return which columns (nx, ny) are lit; of a wide plane every n-th is looked at."""
    nx, ny, nz = grid.shape3
    step = -(-ny // MOST_COLUMNS)
    lit = np.zeros((nx, ny), dtype=bool)
    for i in range(nx):
        part = illumination.read(i, i + 1) if isinstance(illumination, Planes) else illumination[i : i + 1]
        light = np.reshape(part, (ny, nz))[::step]
        amplitude = np.abs(np.asarray(image[i, ::step], dtype=np.float32))
        lit[i, ::step] = (light.max(axis=1) > 0) & (np.nan_to_num(amplitude).max(axis=1) > plain)
    return lit


def shown_text(grid: Grid, box: Box) -> str:
    """Return which part of a grid a picture shows, for the facts below its heading; empty for all of it."""
    parts = []
    for name, axis in (("x", 0), ("y", 1)):
        if (box.lo[axis], box.hi[axis]) != (0, grid.shape3[axis]):
            o, d, n = (getattr(grid, k)[axis] for k in ("origin3", "spacing3", "shape3"))
            left, right, first, last = (
                f"{o + i * d:.10g}" for i in (box.lo[axis], box.hi[axis] - 1, 0, n - 1)
            )
            parts.append(f"{name} {left} to {right} m of {first} to {last} m")
    return f" · {', '.join(parts)}, lit by the survey" if parts else ""
