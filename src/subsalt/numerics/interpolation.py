"""Values between the samples of a trace, by a windowed sinc that is exact to 1e-5 below 0.9 of Nyquist.

The sinc is the exact interpolator of a band-limited signal and never ends; a Kaiser window of 64 samples and 100 dB
cuts it. A lower cutoff makes it the antialias filter of a coarser axis as well.

References
----------
Kaiser, J. F. (1974), Nonrecursive digital filter design using the I0-sinh window function, Proc. IEEE Int. Symp.
Circuits and Systems, 20-23.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from subsalt import _native
from subsalt.numerics import fixedmath

#: samples to either side, at the full band
HALF = 32
#: attenuation of the window, dB, and what Kaiser's formulas make of it: its shape, and the width of the fall as a
#: part of the Nyquist frequency, half of it to either side of the cutoff
ATTENUATION = 100.0
SHAPE = 0.1102 * (ATTENUATION - 8.7)
FALL = 2.0 * (ATTENUATION - 7.95) / (14.36 * 2 * HALF)


def weights(fraction: NDArray[np.float64], cutoff: float = 1.0) -> tuple[NDArray[np.float64], int]:
    """Return the weights (m, 2 h) of samples i - h + 1 ... i + h for the values at i + fraction, and h.

    Parameters
    ----------
    fraction : ndarray, (m,)
        Fraction of a sample, from 0 to 1.
    cutoff : float
        Middle of the fall, as a part of Nyquist; below 1 what lies above is removed.

    Notes
    -----
    Their sum is 1: a constant stays what it is. At fraction 0 and cutoff 1 the sample itself is taken, exactly. h is a
    multiple of 4, as the compiled sums have it; further out than `HALF` / cutoff they are zero.
    """
    reach = math.ceil(HALF / cutoff)
    half = 4 * -(-reach // 4)
    u = fraction[:, None] - np.arange(1 - half, half + 1)
    inside = np.maximum(1.0 - (u / reach) * (u / reach), 0.0)
    window = fixedmath.bessel_i0(SHAPE * np.sqrt(inside)) / fixedmath.bessel_i0(np.array([SHAPE]))[0]
    w = cutoff * fixedmath.sinc(cutoff * u) * np.where(inside > 0, window, 0.0)
    total = np.zeros(len(w))
    for column in w.T:
        total += column
    return np.ascontiguousarray(w / total[:, None]), half


def shifted(traces: NDArray, samples: NDArray[np.float64], *, transpose: bool = False) -> NDArray:
    """Return traces (n, nt), each later by its own number of samples, also parts of one; zeros come from outside.

    Parameters
    ----------
    traces : ndarray, (n, nt), float32 or float64
        Samples.
    samples : ndarray, (n,)
        Shift in samples, positive: later.
    transpose : bool
        Apply the transpose instead.
    """
    # y[m] = sum_k w_k x[m - whole + k], k = 1 - h ... h, whole - samples between 0 and 1
    whole = np.ceil(samples).astype(np.int64)
    w, half = weights(whole - samples)
    first = 1 - half - whole
    if transpose:
        # x[j] = sum_k w_k y[j + whole - k]
        w, first = np.ascontiguousarray(w[:, ::-1]), whole - half
    x, out = np.ascontiguousarray(traces), np.empty_like(traces, order="C")
    _native.interpolate(x, out, w, first, True, False)
    return out


class Resampling:
    """Another axis for the samples of traces; zeros lie outside the record.

    Parameters
    ----------
    nt : int
        Samples of a trace.
    positions : ndarray, (m,)
        Positions of the values, in samples from the first.
    cutoff : float
        End of the pass band, as in `weights`.
    """

    def __init__(self, nt: int, positions: NDArray[np.float64], cutoff: float) -> None:
        self.nt = nt
        base = np.floor(positions).astype(np.int64)
        self._w, half = weights(positions - base, cutoff)
        # windows wholly outside the record see its zeros wherever they are
        self._first = np.clip(base + 1 - half, -2 * half, nt)

    def apply(self, traces: NDArray) -> NDArray:
        """Return the values (n, m) of traces (n, nt), float32 or float64, at the positions."""
        x = np.ascontiguousarray(traces)
        out = np.empty((len(x), len(self._first)), x.dtype)
        _native.interpolate(x, out, self._w, self._first, False, False)
        return out

    def transpose(self, values: NDArray) -> NDArray:
        """Return the traces (n, nt) that the transpose makes of values (n, m)."""
        y = np.ascontiguousarray(values)
        out = np.empty((len(y), self.nt), y.dtype)
        _native.interpolate(y, out, self._w, self._first, False, True)
        return out
