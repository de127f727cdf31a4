"""Filters of a finished image: Laplacian and top mute; and the slant stack of its gathers to angles.

Elementwise, in fixed order.
"""

from __future__ import annotations

from collections.abc import Sequence

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


#: part of the half offsets on either side, from the ends, over which they fade
FADE = 0.25


def end_taper(lags: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights of half offsets: 1 in the middle, a quarter of a cosine over `FADE` of either side, (n,)."""
    far = np.abs(lags) / (np.abs(lags).max() + (lags[1] - lags[0]))
    return np.where(far <= 1 - FADE, 1.0, 0.5 + 0.5 * np.cos(np.pi * np.clip((far - 1 + FADE) / FADE, 0, 1)))


def angle_gathers(
    gathers: NDArray[np.floating], lags: Sequence[float], dz: float, angles: Sequence[float]
) -> NDArray[np.float32]:
    """Return angle gathers of space-lag gathers of a section: a slant stack; other angles cost no propagation.

    Parameters
    ----------
    gathers : ndarray, (..., half offsets, nz)
        Finished gathers.
    lags : sequence of float
        Half offsets, m, equally spaced.
    dz : float
        Distance of depths, m.
    angles : sequence of float
        Half opening angles, radians, within (-pi/2, pi/2).

    Returns
    -------
    ndarray, (..., angles, nz), float32
        Per radian: the sum over angles, divided by cos^2 and times their distance, is the image.

    Notes
    -----
    An event of half the opening angle gamma dips by dz / dh = -tan gamma at every column, whatever the dip of its
    reflector. With K the wavenumber in depth, ::

        A(K, gamma) = |K| / (2 pi) sum_h  t(h) I(K, h) exp(-i K h tan gamma) dh
        I(K, h = 0) = sum_gamma A(K, gamma) / cos^2 gamma  dgamma

    Half offsets fade towards both ends (t, 1 at zero), which else leave smiles. Where ``|K| tan gamma`` is above the
    Nyquist wavenumber of the half offsets there is nothing but alias, and A is zero.

    References
    ----------
    Sava, P., Fomel, S. (2003), Angle-domain common-image gathers by wavefield continuation methods, Geophysics 68,
    1065-1074, equations 5 and 11.
    """
    h, slope = np.asarray(lags, np.float64), np.tan(np.asarray(angles, np.float64))
    nz = gathers.shape[-1]
    flat = np.asarray(gathers).reshape(-1, len(h), nz)
    out = np.empty((len(flat), len(slope), nz), np.float32)
    for column, gather in enumerate(flat):
        out[column] = slant_stack(gather, h, dz, slope)
    return out.reshape(*gathers.shape[:-2], len(slope), nz)


def slant_stack(
    gather: NDArray[np.floating], h: NDArray[np.float64], dz: float, slope: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the slant stack of one gather along ``dz / dh = -slope``, (slopes, nz); see `angle_gathers`.

    Parameters
    ----------
    gather : ndarray, (half offsets, nz)
        Finished gather.
    h : ndarray, (half offsets,)
        Half offsets, m, equally spaced.
    dz : float
        Distance of depths, m.
    slope : ndarray, (slopes,)
        Slopes: tangents of angles.
    """
    nz, dh = gather.shape[-1], h[1] - h[0]
    # an event slides by h tan gamma at most: as much room behind the last depth
    most = int(np.ceil(np.abs(h).max() * np.abs(slope).max() / dz)) + 1
    n = _fast(nz + most)
    k = 2 * np.pi * np.fft.rfftfreq(n, dz)
    passed = np.abs(np.outer(slope, k)) <= np.pi / dh
    spectra = np.fft.rfft(np.asarray(gather, np.float64), n, axis=-1)
    stack = np.zeros((len(slope), len(k)), np.complex128)
    for offset, weight, spectrum in zip(h, end_taper(h) * dh, spectra, strict=True):
        stack += weight * np.exp(-1j * offset * np.outer(slope, k)) * spectrum
    stack *= passed * (k / (2 * np.pi))
    # one array of its own: no view of the longer one is kept
    return np.array(np.fft.irfft(stack, n, axis=-1)[:, :nz])


def widest_angle(lags: Sequence[float], wavelength: float) -> float:
    """Return the half opening angle, radians, up to which half offsets are not aliased at a wavelength in depth, m.

    ``|K| tan gamma`` reaches the Nyquist wavenumber there.
    """
    return float(np.arctan(0.5 * wavelength / (lags[1] - lags[0])))


def _fast(least: int) -> int:
    """Return the next size of a transform with small factors."""
    size = least
    while True:
        rest = size
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return size
        size += 1
