"""Values between the samples of a trace, by a windowed sinc that is exact but for 1e-5 below 0.9 of Nyquist.

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

from subsalt.numerics import fixedmath

#: samples to either side, at the full band
HALF = 32
#: attenuation of the window, dB, and what Kaiser's formulas make of it: its shape, and the width of the fall as a
#: part of the Nyquist frequency, half of it to either side of the cutoff
ATTENUATION = 100.0
SHAPE = 0.1102 * (ATTENUATION - 8.7)
FALL = 2.0 * (ATTENUATION - 7.95) / (14.36 * 2 * HALF)
#: traces interpolated together: their samples stay in a cache
CHUNK = 16


def weights(fraction: NDArray[np.float64], cutoff: float = 1.0) -> tuple[NDArray[np.float64], int]:
    """Return the weights (m, 2 h) of samples i - h + 1 ... i + h for the values at i + fraction, and h.

    Parameters
    ----------
    fraction : ndarray, (m,)
        From 0 to 1, in samples.
    cutoff : float
        Middle of the fall, as a part of Nyquist; below 1 what lies above is removed.

    Notes
    -----
    Their sum is 1: a constant stays what it is. At fraction 0 and cutoff 1 the sample itself is taken, exactly.
    """
    half = math.ceil(HALF / cutoff)
    u = fraction[:, None] - np.arange(1 - half, half + 1)
    inside = np.maximum(1.0 - (u / half) * (u / half), 0.0)
    window = fixedmath.bessel_i0(SHAPE * np.sqrt(inside)) / fixedmath.bessel_i0(np.array([SHAPE]))[0]
    w = cutoff * fixedmath.sinc(cutoff * u) * np.where(inside > 0, window, 0.0)
    total = np.zeros(len(w))
    for column in w.T:
        total += column
    return w / total[:, None], half


def shifted(traces: NDArray, samples: NDArray[np.float64], *, transpose: bool = False) -> NDArray:
    """Return traces (n, nt), each later by its own number of samples, also parts of one; zeros come from outside.

    Parameters
    ----------
    traces : ndarray, (n, nt), float32 or float64
        Samples.
    samples : ndarray, (n,)
        By how much, positive: later.
    transpose : bool
        Apply the transpose instead.
    """
    n, nt = traces.shape
    # y[m] = sum_k w_k x[m - whole + k], k = 1 - h ... h, whole - samples between 0 and 1
    whole = np.ceil(samples).astype(np.int64)
    w, half = weights(whole - samples)
    out = np.empty_like(traces)
    if transpose:
        # x[j] = sum_k w_k y[j + whole - k]
        whole, w, low = -whole, w[:, ::-1], -half
    else:
        low = 1 - half
    for a in range(0, n, CHUNK):
        rows = slice(a, min(a + CHUNK, n))
        wide = np.zeros((rows.stop - a, nt + 2 * half))
        for i in range(a, rows.stop):
            # wide[i, p] is the sample p + low - whole
            first = low - int(whole[i])
            begin, end = max(0, -first), min(nt + 2 * half, nt - first)
            if begin < end:
                wide[i - a, begin:end] = traces[i, begin + first : end + first]
        total = np.zeros((rows.stop - a, nt))
        for k in range(2 * half):
            total += w[rows, k, None] * wide[:, k : k + nt]
        out[rows] = total
    return out


def resampled(
    traces: NDArray, positions: NDArray[np.float64], cutoff: float, *, nt: int | None = None
) -> NDArray:
    """Return the values of traces (n, nt) at positions (m,) in samples from the first; zeros lie outside.

    Parameters
    ----------
    traces : ndarray, (n, nt), float32 or float64
        Samples; with `nt` given, (n, m) values at the positions, of which the transpose makes (n, nt).
    positions : ndarray, (m,)
        Where, the same for all traces.
    cutoff : float
        As in `weights`.
    nt : int, optional
        Samples of the axis of the positions: apply the transpose.
    """
    base = np.floor(positions).astype(np.int64)
    w, half = weights(positions - base, cutoff)
    at = base + half  # of sample base in a row with 2 half - 1 zeros before; k = 0 is sample base + 1 - half
    length = traces.shape[1] if nt is None else nt
    size = max(length + 2 * half, int(at.max(initial=0)) + half + 1)
    out = np.empty((len(traces), len(positions) if nt is None else nt), traces.dtype)
    margin = half - 1
    for a in range(0, len(traces), CHUNK):
        part = traces[a : a + CHUNK]
        wide = np.zeros((len(part), size + margin))
        if nt is None:
            wide[:, 2 * margin + 1 : 2 * margin + 1 + length] = part
            total = np.zeros((len(part), len(positions)))
            for k in range(2 * half):
                total += w[:, k] * wide[:, at + k]
            out[a : a + CHUNK] = total
        else:
            for k in range(2 * half):
                # positions may share a sample where the new axis is finer: added one after the other
                np.add.at(wide.T, at + k, (w[:, k] * part).T)
            out[a : a + CHUNK] = wide[:, 2 * margin + 1 : 2 * margin + 1 + length]
    return out
