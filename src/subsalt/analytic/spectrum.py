"""From a Green's function in the frequency domain to a trace, with complex frequencies against wrap-around.

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
