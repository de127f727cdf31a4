"""Filters that traces pass before they are summed: the phase of the migration weights and the alias bands.

Every filter is a finite impulse response, designed once: the response wanted is transformed to the time domain on a
fine grid of frequencies and cut at a reach. Convolution with it is what it says at every sample of a record, without
wrap-around, whatever transform carries it out.

===========  =================================================================================
amplitude    response of the phase filter P(w), e^{+iwt} in the inverse transform
===========  =================================================================================
``"3d"``     -iw: minus the derivative
``"2.5d"``   conj(sqrt(iw)) = sqrt(w) (1 - i) / sqrt(2), w > 0: the anticausal half derivative
``"none"``   1
===========  =================================================================================

Band j = 0 ... B-1 is low-passed at f_j = fN (B - j) / B: it passes up to f_{j+1}, half at f_j and nothing from f_{j-1},
as a raised cosine; band 0 passes everything. A fall two steps wide about f_j keeps the most of what is not aliased and
makes the least noise where the sum goes from band to band (measured, docs/theory/kirchhoff.md). The phase filters
fall from 0.8 fN to fN: what lies there no interpolation could use, and a filter that stops at fN would ring at that
frequency from every step of a trace.

References
----------
Gray, S. H. (1992), Frequency-selective design of the Kirchhoff migration operator, Geophys. Prosp. 40, 565-571 (bands).
Bleistein, N., Cohen, J. K. & Stockwell, J. W. (2001), Mathematics of multidimensional seismic imaging, migration, and
inversion, Springer (phase in 2.5-D and 3-D).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from subsalt.methods.kirchhoff.fourier import transform
from subsalt.methods.kirchhoff.interpolator import AFTER, BEFORE
from subsalt.methods.kirchhoff.options import Amplitude, KirchhoffOptions
from subsalt.numerics import fixedmath

#: the phase filters fall over this part of the Nyquist frequency, up to it
FALL = 0.2

#: a band falls over this many steps fN / B, the middle of the fall at f_j
BAND_FALL = 2

#: reach of a filter that falls over a part d of the Nyquist frequency, in samples times d. The tail of a raised cosine
#: falls with the cube of the lag, and a taper over the outer half makes its end smooth: what is cut changes the
#: response by less than 3e-4 of the gain (tested).
REACH = 32

#: points of the design grid over the reach; what folds back into it lies beyond three times the reach
OVERSAMPLING = 4


@dataclass(frozen=True)
class FilterBank:
    """Impulse responses of all bands.

    Parameters
    ----------
    impulse : ndarray, (bands, 2 reach + 1), float64
        Response at lags -reach ... reach samples.
    corner : ndarray, (bands,), float64
        Frequency of which each band passes half, Hz; the first passes everything.
    """

    impulse: NDArray[np.float64]
    corner: NDArray[np.float64]

    @property
    def reach(self) -> int:
        """Largest lag, samples."""
        return self.impulse.shape[1] // 2

    @property
    def is_identity(self) -> bool:
        """Whether traces pass unchanged."""
        return self.impulse.shape == (1, 1) and self.impulse[0, 0] == 1.0


def band_count(options: KirchhoffOptions) -> int:
    """Return the number of copies of a trace: the alias bands, or 1 without them."""
    return options.bands if options.antialias == "bands" else 1


@lru_cache(maxsize=8)
def design(nt: int, dt: float, amplitude: Amplitude, bands: int) -> FilterBank:
    """Return the filters for records of `nt` samples every `dt` seconds."""
    corner = 0.5 / dt * (bands - np.arange(bands)) / bands
    if amplitude == "none" and bands == 1:
        return FilterBank(np.ones((1, 1)), corner)
    narrowest = min(FALL if amplitude != "none" else 1.0, BAND_FALL / bands)
    # the half derivative falls too slowly (lag^-3/2) to be cut anywhere but at the length of the record, and the
    # samples that interpolation takes behind it: longer lags have nothing to act on
    reach, record = round(REACH / narrowest), nt - 1 + max(BEFORE, AFTER)
    longest = record if amplitude == "2.5d" else reach
    size = 2
    while size < OVERSAMPLING * max(reach, longest):
        size *= 2
    impulse = _impulse(*_response(size // 2, dt, amplitude, bands), longest)
    if amplitude == "2.5d":
        impulse = impulse - _folded_tail(longest, size) / np.sqrt(dt)
    else:
        impulse = impulse * _taper(reach)
    if amplitude == "none":
        impulse[0] = np.arange(-reach, reach + 1) == 0
        for row in impulse:
            row /= fixedmath.total(row)  # constants pass exactly
    cut = longest - min(longest, record)
    impulse = np.ascontiguousarray(impulse[:, cut : impulse.shape[1] - cut])
    impulse.flags.writeable = False
    return FilterBank(impulse, corner)


def _response(
    points: int, dt: float, amplitude: Amplitude, bands: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return real and imaginary part (bands, points + 1) of the responses from zero to the Nyquist frequency."""
    part = np.arange(points + 1) / points
    passed = np.stack(
        [_fall(part, (bands - j) / bands, BAND_FALL / bands if j else 0.0) for j in range(bands)]
    )
    if amplitude != "none":
        passed = passed * _fall(part, 1.0 - FALL / 2, FALL)
    real, imag = _phase(part * fixedmath.PI / dt, amplitude)
    return passed * real, passed * imag


def _fall(part: NDArray[np.float64], middle: float, width: float) -> NDArray[np.float64]:
    """Return 1 below the fall, 0 above it, a raised cosine between; 1 everywhere for width 0."""
    if width == 0.0:
        return np.ones_like(part)
    place = np.clip((part - middle) / width + 0.5, 0.0, 1.0)
    return 0.5 + 0.5 * fixedmath.cos(fixedmath.PI * place)


def _phase(w: NDArray[np.float64], amplitude: Amplitude) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return real and imaginary part of the phase filter at angular frequencies w >= 0, rad/s."""
    if amplitude == "3d":
        return np.zeros_like(w), -w
    if amplitude == "2.5d":
        half = np.sqrt(0.5 * w)
        return half, -half
    return np.ones_like(w), np.zeros_like(w)


def _impulse(real: NDArray[np.float64], imag: NDArray[np.float64], reach: int) -> NDArray[np.float64]:
    """Return lags -reach ... reach of the real impulse response of a response (bands, M/2 + 1)."""
    size = 2 * (real.shape[1] - 1)
    # x_n = (1/M) Re sum_k g_k H_k e^{2 pi i k n / M}, g = 2 inside, 1 at both ends: the other half is the conjugate
    weight = np.full(real.shape[1], 2.0 / size)
    weight[[0, -1]] = 1.0 / size
    a, b = np.zeros((len(real), size)), np.zeros((len(real), size))
    a[:, : real.shape[1]], b[:, : real.shape[1]] = weight * real, weight * imag
    whole = transform(a, b, sign=1)[0]
    return np.concatenate([whole[:, -reach:], whole[:, : reach + 1]], axis=1)


def _folded_tail(reach: int, size: int) -> NDArray[np.float64]:
    """Return what the tail of the half derivative adds to lags -reach ... reach by folding with the period `size`.

    The tail is that of the kink at zero frequency, -(4 pi)^{-1/2} n^{-3/2} at lag -n for an interval of 1, whatever the
    roll-off. Its sum over n = size - lag, 2 size - lag ... is that of eight terms and the rest by Euler and Maclaurin.
    """
    share = np.arange(-reach, reach + 1) / size
    total = np.zeros_like(share)
    for k in range(1, 9):
        total += 1.0 / fixedmath.power(k - share, 1.5)
    rest = 9.0 - share
    total += 2.0 / np.sqrt(rest) + 0.5 / fixedmath.power(rest, 1.5) + 0.125 / fixedmath.power(rest, 2.5)
    return -total / (np.sqrt(4.0 * fixedmath.PI) * size * np.sqrt(float(size)))


def _taper(reach: int) -> NDArray[np.float64]:
    """Return 1 for the inner half of the lags, then a raised cosine to nothing just beyond the reach."""
    place = np.clip((np.abs(np.arange(-reach, reach + 1)) - reach / 2) / (reach / 2 + 1), 0.0, 1.0)
    return 0.5 + 0.5 * fixedmath.cos(fixedmath.PI * place)
