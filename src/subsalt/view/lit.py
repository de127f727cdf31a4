"""The part of an image that its survey lights, to which pictures of images are cropped.

A location of a time image is lit where the image has a trace.

A column of the image is lit where the source wavefields came and where the image shows anything: where its largest
amplitude is a visible part of the grey scale. What is shown is the smallest range along x, and along y in 3-D, that
holds all lit columns and all stations, with a margin. Depth is never cropped.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid, LocationBox
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
        lo[axis], hi[axis] = _with_margin(int(min(ends)), int(max(ends)), n)
    return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))


def lit_locations(fold: NDArray | None, grid: ImageGrid) -> LocationBox:
    """Return the locations of a time image that are worth showing; all of them without a fold, or with an empty one.

    Parameters
    ----------
    fold : ndarray, (ni, nj, ...), optional
        Traces per location, and maybe per class.
    grid : ImageGrid
        Grid of the image.
    """
    if fold is None or not fold.any():
        return grid.whole
    lit: NDArray[np.bool_] = np.any(fold.reshape(*grid.shape, -1), axis=2)
    ends = [np.flatnonzero(lit.any(axis=1 - axis))[[0, -1]] for axis in range(2)]
    (i0, i1), (j0, j1) = (_with_margin(int(a), int(b), n) for (a, b), n in zip(ends, grid.shape, strict=True))
    return LocationBox(i0, i1, j0, j1)


def _with_margin(first: int, last: int, n: int) -> tuple[int, int]:
    """Return where what is shown of n places begins and ends; all of them where little would be left out."""
    margin = math.ceil(MARGIN * (last - first + 1))
    low, high = max(0, first - margin), min(n, last + margin + 1)
    return (low, high) if n - (high - low) >= WORTH * n else (0, n)


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


def shown_locations(grid: ImageGrid, part: ImageGrid) -> str:
    """Return which lines of a time image a picture shows, for the facts below its heading; empty for all of them."""
    names = ("inline", "CDP" if grid.shape[0] == 1 else "crossline")
    lines = ((grid.inlines, part.inlines), (grid.crosslines, part.crosslines))
    parts = [
        f"{name} {own[0]} to {own[1]} of {all_of[0]} to {all_of[1]}"
        for name, (all_of, own) in zip(names, lines, strict=True)
        if own != all_of
    ]
    return f" · {', '.join(parts)}, lit by the survey" if parts else ""
