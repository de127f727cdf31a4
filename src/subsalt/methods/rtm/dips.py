"""Angle gathers in 3-D: dips of the reflectors, measured on the finished image, are taken out of the slant stack.

Two waves that meet at a reflector with the unit normal n, half their opening angle gamma, have the wavenumbers ::

    k_m = k n        k_h = k tan(gamma) (cos(phi) e1 + sin(phi) e2)

for position and half offset; e1 is the direction of the half offsets laid onto the reflector, e2 normal to it and to n,
phi the azimuth of the plane of the two waves from e1. With half offsets along x ``e1 = (x - n_x n) / sqrt(1 - n_x^2)``,
and e2 has no part along x, so that ::

    -dz / dh = tan(gamma) cos(phi) sqrt(1 + q^2)        q = dz / dy of the reflector at constant x

One axis tells gamma where phi = 0: where shots and receivers of a trace lie along it. Elsewhere it tells the part
``tan(gamma) cos(phi)`` of it, and half offsets along the other axis tell the other part, with that axis for x.

References
----------
Sava, P., Fomel, S. (2005), Coordinate-independent angle-gathers for wave equation migration, SEG Technical Program
Expanded Abstracts, 2052-2055. Biondi, B., Tisserant, T. (2004), 3D angle-domain common-image gathers for migration
velocity analysis, Geophysical Prospecting 52, 575-591. Sava, P., Vlad, I. (2011), Wide-azimuth angle gathers for wave-
equation migration, Geophysics 76, S131-S141: dips from the image where gathers are thin.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.methods.rtm.filters import slant_stack
from subsalt.numerics.stencil import first_derivative

#: order of the derivatives of an image, and the points on either side that they look at
ORDER = 8
DERIVED = ORDER // 2
#: planes, and depths, on either side of a point over which its dip is a mean
AVERAGED, DEPTHS = 4, 8
#: planes on either side of a plane that the dips of its points look at
DIP_REACH = DERIVED + AVERAGED
#: lines across the half offsets without which no dip is measured
FEWEST_LINES = 2 * DERIVED + 1
#: largest slope, dz over dx or dy: 79 degrees
STEEPEST = 5.0
#: ratio of two values of ``sqrt(1 + q^2)`` that are told apart: a hundredth of the tangent of an angle at most
TOLD_APART = 1.02


def slopes(image: NDArray[np.float64], grid: Grid, axis: int) -> NDArray[np.float64]:
    """Return the slope of the events of an image along x (0) or y (1): dz over dx or dy.

    Parameters
    ----------
    image : ndarray, (nx, ny, nz)
        An image, or some of its planes: of those that are `DIP_REACH` and more from the ends of the part, or at the end
        of the image, slopes do not depend on the part.
    grid : Grid
        Its spacing.
    axis : int
        0 or 1.

    Notes
    -----
    An event f(z - q y) has f_y = -q f_z. Least squares over a neighbourhood give ``q = -<f_y f_z> / <f_z^2>``; points
    whose derivative would look beyond the image have no part in it.
    """
    across = _derivative(image, axis, grid.spacing3[axis])
    down = _derivative(image, 2, grid.spacing3[2])
    n = image.shape[axis]
    ends = [slice(None)] * 3
    for end in (slice(0, DERIVED), slice(max(n - DERIVED, 0), n)):
        ends[axis] = end
        down[tuple(ends)] = 0.0
    cross, power = across * down, down * down
    for along, half in ((0, AVERAGED), (1, AVERAGED), (2, DEPTHS)):
        cross, power = (_summed(a, along, half) for a in (cross, power))
    out = np.zeros(image.shape)
    np.divide(-cross, power, out=out, where=power > 0)
    return np.clip(out, -STEEPEST, STEEPEST)


def stretch_of(image: NDArray[np.float64], grid: Grid, axis: int) -> NDArray[np.float64]:
    """Return ``sqrt(1 + q^2)`` at every point, (nx, ny, nz), for half offsets along x (0) or y (1); q is the slope of
    the events along the other one; parameters as of `slopes`.
    """
    q = slopes(image, grid, 1 - axis)
    return np.sqrt(1.0 + q * q)


def dipping_angle_gathers(
    gathers: NDArray[np.floating],
    lags: Sequence[float],
    dz: float,
    angles: Sequence[float],
    stretch: NDArray[np.float64],
) -> NDArray[np.float32]:
    """Return angle gathers of space-lag gathers along one axis of a volume; other angles cost no propagation.

    Parameters
    ----------
    gathers : ndarray, (columns, ..., half offsets, nz)
        Finished gathers.
    lags : sequence of float
        Half offsets, m, equally spaced.
    dz : float
        Distance of depths, m.
    angles : sequence of float
        Half opening angles, radians, within (-pi/2, pi/2).
    stretch : ndarray, (columns, ..., nz)
        ``sqrt(1 + q^2)`` at every sample (`stretch_of`).

    Returns
    -------
    ndarray, (columns, ..., angles, nz), float32
        Per radian: the sum over angles, divided by cos^2 and times their distance, is the image.

    Notes
    -----
    ``A(z, gamma) = s P(z, s tan(gamma))`` with P the slant stack (`filters.slant_stack`) and s the stretch at z: where
    a reflector dips across the half offsets, an angle has a steeper slope, and the wavenumbers of an angle lie as much
    further apart. Stretches are rounded to powers of `TOLD_APART`; flat reflectors have one of exactly 1.
    """
    h, slope = np.asarray(lags, np.float64), np.tan(np.asarray(angles, np.float64))
    nz = gathers.shape[-1]
    flat = np.asarray(gathers).reshape(-1, len(h), nz)
    steps = np.rint(np.log(stretch.reshape(-1, nz)) / np.log(TOLD_APART)).astype(np.int64)
    out = np.zeros((len(flat), len(slope), nz), np.float32)
    for gather, level, made in zip(flat, steps, out, strict=True):
        for step in np.unique(level).tolist():
            s, there = TOLD_APART**step, level == step
            made[:, there] = s * slant_stack(gather, h, dz, s * slope)[:, there]
    return out.reshape(*gathers.shape[:-2], len(slope), nz)


def _derivative(a: NDArray[np.float64], axis: int, spacing: float) -> NDArray[np.float64]:
    """Return the first derivative along an axis; zero where it would look beyond the end."""
    n, out = a.shape[axis], np.zeros(a.shape)
    if n < FEWEST_LINES:
        return out
    target = _cut(out, axis, DERIVED, n - DERIVED)
    for k, weight in enumerate(first_derivative(ORDER), start=1):
        ahead, behind = (_cut(a, axis, DERIVED + shift, n - DERIVED + shift) for shift in (k, -k))
        target += weight / spacing * (ahead - behind)
    return out


def _summed(a: NDArray[np.float64], axis: int, half: int) -> NDArray[np.float64]:
    """Return the sums over `half` points on either side along an axis; nothing lies beyond the end."""
    n, out = a.shape[axis], a.copy()
    for k in range(1, min(half, n - 1) + 1):
        _cut(out, axis, 0, n - k)[...] += _cut(a, axis, k, n)
        _cut(out, axis, k, n)[...] += _cut(a, axis, 0, n - k)
    return out


def _cut(a: NDArray[np.float64], axis: int, first: int, end: int) -> NDArray[np.float64]:
    """Return a view of the points `first` to `end` along an axis."""
    cut = [slice(None)] * 3
    cut[axis] = slice(first, end)
    return a[tuple(cut)]
