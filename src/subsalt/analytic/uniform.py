"""Point sources in a uniform isotropic or elliptically anisotropic medium.

From a Green's function in the frequency domain to a trace, with complex frequencies against wrap-around.

The transform is ``S(w) = int s(t) e^(iwt) dt``, so that an outgoing wave carries ``e^(+i w r / v)``. Moving
the integration to ``w + i eta`` multiplies the signal by ``e^(-eta t)``: what arrives after the end of the
transform wraps around with a weight of ``e^(-eta T) = WRAP``, and rounding errors grow by no more than its
inverse.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.errors import ConfigError

#: weight of what wraps around in time; its inverse times the rounding unit, 2e-9, is the other error
WRAP = 1e-7
#: spectral components weaker than this part of the strongest are left out
NEGLIGIBLE = 1e-11

Response = Callable[[NDArray[np.complex128]], NDArray[np.complex128]]


def trace_from_response(
    wavelet: ArrayLike, dt: float, nt: int, response: Response, negligible: float = NEGLIGIBLE
) -> NDArray[np.float64]:
    """Return the trace of a wavelet seen through a linear response.

    Parameters
    ----------
    wavelet : array_like, (n,)
        Source samples, `dt` apart, the first at time zero; taken as band-limited and zero outside.
    dt : float
        Sampling interval, s.
    nt : int
        Samples wanted, the first at time zero.
    response : callable
        Takes complex angular frequencies (nf,) with positive real and imaginary part, rad/s, and returns the
        response (nf,) or, for several receivers, (nr, nf).
    negligible : float
        Frequencies at which the wavelet is weaker than this part of its maximum are not evaluated.

    Returns
    -------
    ndarray, (nt,) or (nr, nt), float64
        The wavelet convolved with the response.
    """
    s = np.asarray(wavelet, dtype=np.float64)
    n = 1 << math.ceil(math.log2(2 * max(nt, s.size)))
    eta = -math.log(WRAP) / (n * dt)
    source = np.conj(np.fft.rfft(s * np.exp(-eta * dt * np.arange(s.size)), n))
    omega = np.asarray(2 * np.pi * np.fft.rfftfreq(n, dt) + 1j * eta, dtype=np.complex128)
    omega[0] += 1e-9 * eta  # keeps zero frequency inside the quadrant where the responses are defined
    use = np.nonzero(np.abs(source) > negligible * np.abs(source).max())[0]
    values = np.asarray(response(omega[use]))
    out = np.zeros((*values.shape[:-1], omega.size), dtype=np.complex128)
    out[..., use] = values * source[use]
    return np.fft.irfft(np.conj(out), n)[..., :nt] * np.exp(eta * dt * np.arange(nt))


def isotropic_response(omega: NDArray[np.complex128], distance: ArrayLike, v: float, ndim: int) -> NDArray:
    """Return the Green's function of ``-(w/v)^2 p - lap p = delta`` at distances (nr,) and frequencies (nf,).

    Notes
    -----
    ``G = (i/4) H0(w r / v)`` with the Hankel function of the first kind in 2-D, ``G = e^(i w r / v) / (4 pi
    r)`` in 3-D.
    """
    r = np.atleast_1d(np.asarray(distance, dtype=np.float64))[:, None]
    if np.any(r <= 0):
        raise ConfigError(
            "the field of a point source is infinite at distance 0", "ask for points away from the source"
        )
    if ndim == 2:
        from scipy.special import hankel1

        return 0.25j * hankel1(0, omega[None, :] * r / v)
    return np.exp(1j * omega[None, :] * r / v) / (4 * np.pi * r)


def isotropic_waveform(
    offset: ArrayLike, v: float, wavelet: ArrayLike, dt: float, nt: int
) -> NDArray[np.float64]:
    """Return the exact pressure of a point source in a uniform isotropic medium.

    Parameters
    ----------
    offset : array_like, (nr, 2) or (nr, 3)
        Receiver minus source positions, (x, z) or (x, y, z), m; the number of columns is the dimension.
    v : float
        Velocity, m/s.
    wavelet : array_like, (n,)
        Source samples from time zero, `dt` apart.
    dt, nt : float, int
        Sampling interval (s) and number of samples of wavelet and result.

    Returns
    -------
    ndarray, (nr, nt), float64
        Traces; in source units per m in 3-D, in source units in 2-D.

    Notes
    -----
    ``(1/v^2) p_tt - lap p = s(t) delta(x)`` gives ``s(t - r/v) / (4 pi r)`` in 3-D, and in 2-D the
    convolution of s with ``H(t - r/v) / (2 pi sqrt(t^2 - r^2/v^2))``, done here in the frequency domain.
    """
    d = _offsets(offset)
    r = np.sqrt((d**2).sum(axis=1))
    return trace_from_response(wavelet, dt, nt, lambda w: isotropic_response(w, r, v, d.shape[1]))


def elliptical_waveform(
    offset: ArrayLike,
    vp: float,
    epsilon: float,
    wavelet: ArrayLike,
    dt: float,
    nt: int,
    theta: float = 0.0,
    phi: float = 0.0,
) -> NDArray[np.float64]:
    """Return the exact waveform of a uniform medium with epsilon = delta and a symmetry axis in any direction.

    Parameters
    ----------
    offset : array_like, (nr, 2) or (nr, 3)
        Receiver minus source positions, m.
    vp : float
        Velocity along the symmetry axis, m/s.
    epsilon : float
        The common value of epsilon and delta.
    wavelet : array_like, (n,)
        Source samples from time zero, `dt` apart.
    dt, nt : float, int
        Sampling interval (s) and number of samples.
    theta, phi : float
        Tilt of the symmetry axis from +z and, in 3-D, its azimuth from +x towards +y, radians.

    Returns
    -------
    ndarray, (nr, nt), float64
        ``(p + q) / 2`` for a source that acts half on p and half on q.

    Notes
    -----
    With ``s = sqrt(1 + 2 epsilon)`` the stretch ``x_perp -> x_perp / s`` turns the medium into an isotropic
    one; source and receiver weights give ``((s + 1) / 2)^2``, the volume element ``s^(1 - ndim)``.
    """
    d = along_axis(offset, theta, phi)
    ndim = d.shape[1]
    s = np.sqrt(1 + 2 * epsilon)
    r = np.sqrt((d[:, :-1] ** 2).sum(axis=1) / s**2 + d[:, -1] ** 2)
    weight = (0.5 * (s + 1)) ** 2 * s ** (1 - ndim)
    return weight * trace_from_response(wavelet, dt, nt, lambda w: isotropic_response(w, r, vp, ndim))


def along_axis(offset: ArrayLike, theta: float, phi: float = 0.0) -> NDArray[np.float64]:
    """Return offsets in coordinates whose z axis is the symmetry axis: a uniform tilted medium is upright there.

    Parameters
    ----------
    offset : array_like, (nr, 2) or (nr, 3)
        Vectors, m.
    theta, phi : float
        Tilt from +z and, in 3-D, azimuth from +x towards +y of the axis, radians.
    """
    d = _offsets(offset)
    c, s = np.cos(theta), np.sin(theta)
    if d.shape[1] == 2:
        return np.stack([c * d[:, 0] - s * d[:, 1], s * d[:, 0] + c * d[:, 1]], axis=1)
    x = np.cos(phi) * d[:, 0] + np.sin(phi) * d[:, 1]
    y = np.cos(phi) * d[:, 1] - np.sin(phi) * d[:, 0]
    return np.stack([c * x - s * d[:, 2], y, s * x + c * d[:, 2]], axis=1)


def _offsets(offset: ArrayLike) -> NDArray[np.float64]:
    """Return offsets as (nr, 2) or (nr, 3)."""
    d = np.atleast_2d(np.asarray(offset, dtype=np.float64))
    if d.shape[1] not in (2, 3):
        raise ConfigError(f"offsets have shape {d.shape}", "give (x, z) or (x, y, z) per receiver")
    return d
