"""Reflection from one horizontal plane between two isotropic half spaces: coefficient and waveform."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.analytic.uniform import trace_from_response
from subsalt.errors import ConfigError


def reflection_coefficient(v1: float, v2: float, angle: ArrayLike = 0.0) -> NDArray[np.complex128]:
    """Return the pressure reflection coefficient of a plane wave at a jump of velocity (constant density).

    Parameters
    ----------
    v1, v2 : float
        Velocities on the side of the wave and beyond, m/s.
    angle : array_like
        Angle of incidence, radians.

    Returns
    -------
    ndarray, complex128
        ``(k1 - k2) / (k1 + k2)`` with the normal wavenumbers; ``(v2 - v1) / (v2 + v1)`` at normal incidence,
        complex with modulus 1 beyond the critical angle.
    """
    sine = np.sin(np.asarray(angle, dtype=np.float64))
    k1 = np.sqrt(1 - sine**2) / v1
    k2 = np.sqrt((1 / v2**2 - sine**2 / v1**2).astype(np.complex128))
    return (k1 - k2) / (k1 + k2)


def reflection_waveform(
    offset: ArrayLike,
    src_depth: float,
    rcv_depth: float,
    reflector_depth: float,
    v1: float,
    v2: float,
    wavelet: ArrayLike,
    dt: float,
    nt: int,
    ndim: int = 2,
) -> NDArray[np.float64]:
    """Return the exact reflection of a point source from a horizontal plane where the velocity jumps from v1
    to v2.

    Parameters
    ----------
    offset : array_like, (nr,)
        Horizontal distances from source to receivers, m.
    src_depth, rcv_depth, reflector_depth : float
        Depths, m; source and receivers lie above the reflector.
    v1, v2 : float
        Velocities above and below the reflector, m/s.
    wavelet : array_like, (n,)
        Source samples from time zero, `dt` apart.
    dt, nt : float, int
        Sampling interval (s) and number of samples.
    ndim : {2, 3}
        Dimension of space.

    Returns
    -------
    ndarray, (nr, nt), float64
        The reflected and head waves alone, without the direct wave; angle-dependent and complete.

    Notes
    -----
    Sum over horizontal wavenumbers of plane waves, each reflected with its own coefficient ::

        2-D   (1/2 pi)  int e^(i k x)    (i / 2 k1) R(k) e^(i k1 h) dk
        3-D   (1/2 pi)  int J0(k r) k    (i / 2 k1) R(k) e^(i k1 h) dk

    with h the height of the receiver above the mirror image of the source, and k1 its vertical
    wavenumber. The integral becomes a sum when the source is repeated at a distance L; with complex
    frequencies nothing else is neglected while the repetitions arrive after the record ends (Bouchon 2003,
    Pure and Applied Geophysics 160, 445).
    """
    x = np.abs(np.atleast_1d(np.asarray(offset, dtype=np.float64)))
    height = 2 * reflector_depth - src_depth - rcv_depth
    if min(reflector_depth - src_depth, reflector_depth - rcv_depth) <= 0:
        raise ConfigError(
            f"source at {src_depth:g} m and receivers at {rcv_depth:g} m are not above the reflector "
            f"at {reflector_depth:g} m",
            "this solution holds for reflections seen from above",
        )
    step = 2 * np.pi / (x.max() + 1.2 * max(v1, v2) * nt * dt + height)

    def response(omega: NDArray[np.complex128]) -> NDArray[np.complex128]:
        out = np.empty((x.size, omega.size), dtype=np.complex128)
        for i, w in enumerate(omega):
            # evanescent waves have decayed to e^-32 at the end of the sum
            k = step * np.arange(np.ceil(np.hypot(w.real / v1, 32 / height) / step) + 1)
            k1 = np.sqrt((w / v1) ** 2 - k**2)
            k2 = np.sqrt((w / v2) ** 2 - k**2)
            part = 0.5j / k1 * (k1 - k2) / (k1 + k2) * np.exp(1j * k1 * height)
            if ndim == 2:
                part[1:] *= 2  # the wavenumbers -k
                out[:, i] = (np.cos(np.outer(x, k)) * part).sum(axis=1) * step / (2 * np.pi)
            else:
                from scipy.special import j0

                weight = np.arange(k.size, dtype=np.float64)
                weight[:2] += np.array([11.0, -1.0]) / 120  # Euler-Maclaurin: k F(k) has a kink at k = 0
                out[:, i] = (j0(np.outer(x, k)) * (weight * part)).sum(axis=1) * step**2 / (2 * np.pi)
        return out

    return trace_from_response(wavelet, dt, nt, response, negligible=1e-9)
