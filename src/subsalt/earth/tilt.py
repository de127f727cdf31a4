"""The symmetry axis of a tilted medium: its angles in one form, its components, and its taper at the edges.

The axis is ``n = (sin theta cos phi, sin theta sin phi, cos theta)``, in 2-D ``(sin theta, cos theta)`` with a signed
theta. An axis has no arrow: n and -n are the same medium.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.numerics import fixedmath

PI = np.float32(fixedmath.PI)
HALF_PI = np.float32(fixedmath.PI / 2)

#: directions that azimuths may be counted from (`building.azimuths_on_grid`)
CountedFrom = Literal["x", "map x", "north"]

#: cells over which the tilt returns to its value in front of a layer
TAPER_CELLS = 10


def normalised(
    theta: NDArray[np.float32],
    phi: NDArray[np.float32] | None,
    ndim: int,
    turned: bool | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """Return the angles of the same axes in the one form that the package uses.

    Parameters
    ----------
    theta : ndarray, float32
        Tilt from +z, radians, -pi to pi.
    phi : ndarray, float32, or None
        Azimuth from +x towards +y, radians, -2 pi to 2 pi; None is zero. In 2-D 0 or pi: +x or -x.
    ndim : int
        2 or 3.
    turned : bool, optional
        For a part of a 3-D model: whether some axis of the whole needs turning (`needs_turning`).

    Returns
    -------
    theta, phi
        3-D: theta from 0 to pi/2 and phi above -pi up to pi, or None where no axis needed turning. 2-D: theta above
        -pi/2 up to pi/2, positive towards +x, and phi None. Arrays that have this form already come back as they are.
    """
    if ndim == 2:
        if phi is not None:
            theta = np.where(np.abs(np.abs(phi) - PI) < HALF_PI, -theta, theta)
        if theta.max(initial=0) > HALF_PI or theta.min(initial=0) <= -HALF_PI:
            theta = np.where(theta > HALF_PI, theta - PI, theta)
            theta = np.where(theta <= -HALF_PI, theta + PI, theta)
        return theta, None
    if needs_turning(theta.min(initial=0), theta.max(initial=0)) if turned is None else turned:
        # towards the other side of z, then to the other end of the axis: either turns the azimuth by pi
        turn = (theta < 0) != (np.abs(theta) > HALF_PI)
        theta = np.abs(theta)
        theta = np.where(theta > HALF_PI, np.maximum(PI - theta, np.float32(0)), theta)
        phi = np.where(turn, PI, np.float32(0)) + (np.float32(0) if phi is None else phi)
    if phi is not None:
        if phi.max(initial=0) > PI:
            phi = np.where(phi > PI, phi - 2 * PI, phi)
        if phi.min(initial=0) <= -PI:
            phi = np.where(phi <= -PI, phi + 2 * PI, phi)
    return theta, phi


def needs_turning(low: float, high: float) -> bool:
    """Return whether tilts from `low` to `high` of a 3-D model, radians, leave the form of `normalised`."""
    return bool(low < 0 or high > HALF_PI)


def axis(
    theta: NDArray[np.float32], phi: NDArray[np.float32] | None, ndim: int
) -> tuple[NDArray[np.float64], ...]:
    """Return the components of the unit axes, (nx, nz) in 2-D and (nx, ny, nz) in 3-D, in double precision.

    The bits are the same on every processor (`subsalt.numerics.fixedmath`).
    """
    across, along = fixedmath.sin(theta), fixedmath.cos(theta)
    if ndim == 2:
        return across, along
    if phi is None:
        return across, np.zeros_like(across), along
    return across * fixedmath.cos(phi), across * fixedmath.sin(phi), along


def towards_zero(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return values rounded to float32 towards zero.

    An axis of single precision must not be longer than 1: with ``abs(n) > 1`` the operator ``lap - V`` of the tilted
    medium is no longer negative along the axis, and what it should only carry grows.
    """
    out = values.astype(np.float32)
    return np.where(np.abs(out) > np.abs(values), np.nextafter(out, np.float32(0)), out)


def taper(shape3: tuple[int, int, int], quiet: Sequence[int | None]) -> list[NDArray[np.float32]]:
    """Return factors of the tilt along x, y, z: 0 in the cells that must be upright, 1 inside, smooth between.

    Parameters
    ----------
    shape3 : tuple of int
        Points of the grid.
    quiet : sequence of int or None, 6
        Upright cells at x low, x high, y low, y high, z low, z high; None leaves the side as it is.

    Returns
    -------
    list of ndarray
        Three arrays that broadcast over the grid. Over the `TAPER_CELLS` cells after the upright ones the factor is
        ``t^2 (3 - 2 t)``; where two sides are nearer than that to each other their factors multiply.
    """
    out = []
    for i, n in enumerate(shape3):
        factor = np.ones(n)
        for side, cells in enumerate(quiet[2 * i : 2 * i + 2]):
            if cells is None:
                continue
            t = np.clip((np.arange(n, dtype=np.float64) - cells + 1) / (TAPER_CELLS + 1), 0.0, 1.0)
            ramp = t * t * (3.0 - 2.0 * t)
            factor = factor * (ramp[::-1] if side else ramp)
        shape = [1, 1, 1]
        shape[i] = n
        out.append(factor.astype(np.float32).reshape(shape))
    return out
