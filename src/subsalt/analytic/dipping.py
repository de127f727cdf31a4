"""Reflections from one dipping plane: the mirror source, the travel time and the point of reflection."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.analytic.uniform import _offsets


def mirror_source(src: ArrayLike, point: ArrayLike, dip: float) -> NDArray[np.float64]:
    """Return the mirror image of a source in a plane that dips along x.

    Parameters
    ----------
    src : array_like, (2,) or (3,)
        Source position, m.
    point : array_like, (2,) or (3,)
        A point of the plane, m.
    dip : float
        Dip of the plane, radians, positive when it gets deeper towards +x.

    Returns
    -------
    ndarray
        Position of the image source, m.
    """
    s, p = np.asarray(src, dtype=np.float64), np.asarray(point, dtype=np.float64)
    normal = np.zeros_like(s)
    normal[0], normal[-1] = -np.sin(dip), np.cos(dip)
    return s - 2 * np.sum((s - p) * normal) * normal


def reflection_time(
    src: ArrayLike, rcv: ArrayLike, point: ArrayLike, dip: float, v: float
) -> NDArray[np.float64]:
    """Return the times of a reflection from a dipping plane in a uniform isotropic medium.

    Parameters
    ----------
    src : array_like, (d,)
        Source position, m.
    rcv : array_like, (nr, d)
        Receiver positions, m.
    point : array_like, (d,)
        A point of the plane, m.
    dip : float
        Dip along x, radians, positive when the plane gets deeper towards +x.
    v : float
        Velocity, m/s.

    Returns
    -------
    ndarray, (nr,), float64
        Distance from the mirror image of the source over the velocity, s.
    """
    return np.sqrt(((_offsets(rcv) - mirror_source(src, point, dip)) ** 2).sum(axis=1)) / v


def dipping_reflection_point(
    src: ArrayLike, rcv: ArrayLike, point: ArrayLike, dip: float
) -> NDArray[np.float64]:
    """Return where on a dipping plane the reflection between a source and each receiver happens.

    Parameters
    ----------
    src, rcv, point, dip
        As in `reflection_time`.

    Returns
    -------
    ndarray, (nr, d), float64
        Reflection points, m: the part of the plane that one shot can image.
    """
    r, p = _offsets(rcv), np.asarray(point, dtype=np.float64)
    image = mirror_source(src, point, dip)
    normal = np.zeros_like(p)
    normal[0], normal[-1] = -np.sin(dip), np.cos(dip)
    ray = r - image
    part = ((p - image) * normal).sum() / (ray * normal).sum(axis=1)
    return image + part[:, None] * ray
