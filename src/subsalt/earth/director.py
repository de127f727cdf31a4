"""The symmetry axis of a tilted medium as a field that can be averaged.

An axis n and its opposite -n are the same, and azimuths jump at 180 degrees, so that angles must be neither
interpolated nor smoothed. What is averaged instead is the product n n, which knows no sign: in 2-D by the
double angle, (cos 2 theta, sin 2 theta), in 3-D by its six components; the axis of the average is its principal
direction. All functions are of `fixedmath`, since the axis is on the way to the image.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.numerics import fixedmath

Field = NDArray[Any]

#: squarings of n n: the power 2^8 of its eigenvalues leaves 1e-11 of a second direction nine tenths as strong
SQUARINGS = 8


def of_angles(theta: NDArray, phi: NDArray | None) -> list[Field]:
    """Return the field that stands for the axis: two components without `phi` (2-D), six with it (3-D).

    Parameters
    ----------
    theta, phi : ndarray
        Tilt and azimuth, radians; in 2-D phi is None and theta has a sign.
    """
    if phi is None:
        return [fixedmath.cos(2.0 * theta), fixedmath.sin(2.0 * theta)]
    across = fixedmath.sin(theta)
    x, y, z = across * fixedmath.cos(phi), across * fixedmath.sin(phi), fixedmath.cos(theta)
    return [x * x, x * y, x * z, y * y, y * z, z * z]


def to_angles(field: list[Field]) -> dict[str, NDArray[np.float32]]:
    """Return theta (2-D: -90 to 90 degrees; 3-D: 0 to 90) and in 3-D phi of an averaged director, radians.

    Notes
    -----
    Where an average has no direction (axes at right angles in equal parts), some axis of them is returned.
    """
    if len(field) == 2:
        c, s = (np.asarray(a, dtype=np.float64) for a in field)
        return {"theta": (0.5 * _angle(s, c)).astype(np.float32)}
    x, y, z = _principal([np.asarray(a, dtype=np.float64) for a in field])
    up = np.where(z < 0, -1.0, 1.0)
    x, y, z = up * x, up * y, up * z
    return {
        "theta": _angle(np.sqrt(x * x + y * y), z).astype(np.float32),
        "phi": _angle(y, x).astype(np.float32),
    }


def _principal(m: list[Field]) -> tuple[Field, Field, Field]:
    """Return the principal direction, of length one, of symmetric positive matrices xx, xy, xz, yy, yz, zz."""
    xx, xy, xz, yy, yz, zz = m
    for _ in range(SQUARINGS):
        size = xx + yy + zz
        xx, xy, xz, yy, yz, zz = (a / size for a in (xx, xy, xz, yy, yz, zz))
        xx, xy, xz, yy, yz, zz = (
            xx * xx + xy * xy + xz * xz,
            xx * xy + xy * yy + xz * yz,
            xx * xz + xy * yz + xz * zz,
            xy * xy + yy * yy + yz * yz,
            xy * xz + yy * yz + yz * zz,
            xz * xz + yz * yz + zz * zz,
        )
    # every column points along the axis; the one with the largest diagonal is the most exact
    by_x, by_y = (xx >= yy) & (xx >= zz), yy >= zz
    x = np.where(by_x, xx, np.where(by_y, xy, xz))
    y = np.where(by_x, xy, np.where(by_y, yy, yz))
    z = np.where(by_x, xz, np.where(by_y, yz, zz))
    length = np.sqrt(x * x + y * y + z * z)
    return x / length, y / length, z / length


def _angle(y: Field, x: Field) -> Field:
    """Return the angle of the vector (x, y) in -pi to pi; 0 where it has no length."""
    length = np.sqrt(x * x + y * y)
    length = np.where(length > 0, length, 1.0)
    # the arc sine of the smaller component: that of a value near one loses half of its digits
    small = fixedmath.asin(np.minimum(np.minimum(np.abs(x), np.abs(y)) / length, 1.0))
    a = np.where(np.abs(y) > np.abs(x), 0.5 * fixedmath.PI - small, small)
    a = np.where(x < 0, fixedmath.PI - a, a)
    return np.where(y < 0, -a, a)
