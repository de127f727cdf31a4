"""Filters of traces, designed once and applied by convolution, with the same bits on every machine.

A filter is a finite impulse response at lags of whole samples. Lags beyond the record have nothing to act on, so that a
response cut at the length of the record acts as the whole would: what an amplitude or a phase asks for is met without
a window. `convolve` carries it out without wrap-around, in double precision (``native/signal/convolve.hpp``).

References
----------
Oppenheim, A. V. & Schafer, R. W. (2010), Discrete-time signal processing, 3rd ed., chapter 13 (minimum phase from the
cepstrum of the amplitude).
Bleistein, N. (1986), Two-and-one-half dimensional in-plane wave propagation, Geophys. Prosp. 34, 686-703.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from subsalt import _native
from subsalt.numerics import fixedmath

Pair = tuple[NDArray[np.float64], NDArray[np.float64]]
Sample = TypeVar("Sample", np.float32, np.float64)

#: points of the frequency grid of a design over the samples of a record; what folds back comes from lags three times
#: as long and longer
OVERSAMPLING = 4
#: amplitude, relative to the largest, below which a minimum-phase filter does not follow the amplitude asked for: -80
#: dB
FLOOR = 1e-4
#: from this part of the Nyquist frequency the half integral falls, to nothing at Nyquist
PASSED = 0.8


def transform(real: NDArray[np.float64], imag: NDArray[np.float64], sign: int = -1) -> Pair:
    """Return sum_n x_n exp(sign 2 pi i k n / N) along the last axis, as real and imaginary part; N = 2^a 3^b.

    Decimation in time (Cooley & Tukey 1965): N/p-point transforms of every p-th sample, p = 3 or 2, turned and added.

    Notes
    -----
    ``numpy.fft`` and NumPy's complex product choose their code by processor. Here is nothing but additions and products
    of real numbers, those of all transforms of one length at a time.
    """
    n = real.shape[-1]
    a, b = _decimated(real.reshape(-1, n), imag.reshape(-1, n), sign)
    return a.reshape(real.shape), b.reshape(real.shape)


def _decimated(real: NDArray[np.float64], imag: NDArray[np.float64], sign: int) -> Pair:
    """Return the transforms of the rows of (m, n)."""
    m, n = real.shape
    if n == 1:
        return real.copy(), imag.copy()
    p = 3 if n % 3 == 0 else 2
    if n % p:
        raise ValueError(f"a transform of {n} points: the length must be a product of twos and threes")
    # every p-th sample of a row, from r on, is a row of its own
    rows = [x.reshape(m, n // p, p).transpose(0, 2, 1).reshape(m * p, n // p) for x in (real, imag)]
    parts = [x.reshape(m, p, 1, n // p) for x in _decimated(rows[0], rows[1], sign)]
    out_real, out_imag = np.zeros((m, p, n // p)), np.zeros((m, p, n // p))
    k = np.arange(n)
    for r in range(p):
        angle = sign * 2.0 * fixedmath.PI / n * ((k * r) % n)
        c, s = (f(angle).reshape(p, n // p) for f in (fixedmath.cos, fixedmath.sin))
        a, b = (x[:, r] for x in parts)
        out_real += c * a - s * b
        out_imag += s * a + c * b
    return out_real.reshape(m, n), out_imag.reshape(m, n)


@dataclass(frozen=True, eq=False)
class Filter:
    """An impulse response.

    Parameters
    ----------
    taps : ndarray, (m,), float64
        Values of the filter at lags first, first + 1, ... samples.
    first : int
        Lag of the first value; negative where the filter looks ahead.
    """

    taps: NDArray[np.float64]
    first: int

    def reversed(self) -> Filter:
        """Return the filter whose convolution is the transpose of that of this one."""
        return Filter(np.ascontiguousarray(self.taps[::-1]), -(self.first + len(self.taps) - 1))

    def response(self, frequency: NDArray[np.float64], dt: float) -> Pair:
        """Return real and imaginary part of sum_j h_j e^{-2 pi i f j dt} at frequencies, Hz."""
        lag = self.first + np.arange(len(self.taps))
        angle = 2.0 * fixedmath.PI * dt * np.multiply.outer(frequency, lag)
        real = (fixedmath.cos(angle) * self.taps).sum(axis=-1)
        return real, -(fixedmath.sin(angle) * self.taps).sum(axis=-1)


def convolve(traces: NDArray[Sample], filter_: Filter, threads: int = 1) -> NDArray[Sample]:
    """Return traces (n, nt), float32 or float64, convolved with a filter; zeros lie outside the record.

    Parameters
    ----------
    traces : ndarray, (n, nt), float32 or float64
        Samples.
    filter_ : Filter
        Lags of the length of the record and beyond count for nothing.
    threads : int
        No bit depends on them, nor on the traces beside a trace.
    """
    x = np.ascontiguousarray(traces)
    nt = x.shape[1]
    lag = filter_.first + np.arange(len(filter_.taps))
    inside = np.flatnonzero(np.abs(lag) < nt)
    out = np.empty_like(x)
    if not len(inside) or not len(x):
        out[:] = 0
        return out
    taps = np.ascontiguousarray(filter_.taps[inside[0] : inside[-1] + 1])
    _native.convolve(x, out, taps, int(lag[inside[0]]), threads)
    return out


def design_frequencies(nt: int, dt: float) -> NDArray[np.float64]:
    """Return the frequencies, Hz, from zero to Nyquist at which filters for records of `nt` samples are designed."""
    size = 2
    while size < 2 * OVERSAMPLING * nt:
        size *= 2
    return np.arange(size // 2 + 1) / (size * dt)


def from_response(real: NDArray[np.float64], imag: NDArray[np.float64], nt: int) -> Filter:
    """Return the filter with a response at the `design_frequencies` of records of `nt` samples."""
    size = 2 * (len(real) - 1)
    # x_n = (1/M) Re sum_k g_k H_k e^{2 pi i k n / M}, g = 2 inside, 1 at both ends: the other half is the conjugate
    weight = np.full(len(real), 2.0 / size)
    weight[[0, -1]] = 1.0 / size
    a, b = np.zeros(size), np.zeros(size)
    a[: len(real)], b[: len(real)] = weight * real, weight * imag
    whole = transform(a, b, sign=1)[0]
    return Filter(np.concatenate([whole[size - (nt - 1) :], whole[:nt]]), 1 - nt)


def zero_phase(amplitude: Callable[[NDArray[np.float64]], NDArray[np.float64]], nt: int, dt: float) -> Filter:
    """Return the zero-phase filter of an amplitude, a function of frequency in Hz, for records of `nt` samples."""
    real = amplitude(design_frequencies(nt, dt))
    made = from_response(real, np.zeros_like(real), nt)
    # symmetric to the last bit, hence its own transpose
    return Filter(0.5 * (made.taps + made.taps[::-1]), made.first)


def minimum_phase(
    amplitude: Callable[[NDArray[np.float64]], NDArray[np.float64]], nt: int, dt: float
) -> Filter:
    """Return the minimum-phase filter of an amplitude, a function of frequency in Hz, for records of `nt` samples.

    Notes
    -----
    The cepstrum of log A, folded to positive times, is that of the causal filter whose energy comes earliest. Below
    `FLOOR` of its largest value A is raised to that: a filter that has nothing in a band has no minimum phase.
    """
    a = amplitude(design_frequencies(nt, dt))
    a = np.maximum(a, FLOOR * a.max())
    size = 2 * (len(a) - 1)
    log = fixedmath.log(np.concatenate([a, a[-2:0:-1]]))
    cepstrum = transform(log, np.zeros(size), sign=1)[0] / size
    fold = np.zeros(size)
    fold[0], fold[size // 2] = 1.0, 1.0
    fold[1 : size // 2] = 2.0
    real, imag = transform(fold * cepstrum, np.zeros(size))
    size_ = fixedmath.exp(real)
    taps = transform(size_ * fixedmath.cos(imag), size_ * fixedmath.sin(imag), sign=1)[0] / size
    return Filter(taps[:nt].copy(), 0)


def half_integral(nt: int, dt: float) -> Filter:
    """Return the causal half integral, (i w)^{-1/2} in the transform e^{-i w t}, for records of `nt` samples.

    Notes
    -----
    With x = e^{-i w dt} the bilinear rule (2/dt (1 - x) / (1 + x))^{-1/2} has the phase -pi/4 at every frequency and
    the
    amplitude (2/dt tan(w dt / 2))^{-1/2}; its series in x has the coefficients c_{2k} = c_{2k+1} = (2k)! / (4^k k!^2).
    What its amplitude lacks, the square root of tan(w dt/2) / (w dt/2), is a zero-phase filter, which also falls to
    nothing between `PASSED` of Nyquist and Nyquist.
    """
    nyquist = 0.5 / dt

    def lacking(f: NDArray[np.float64]) -> NDArray[np.float64]:
        part = np.minimum(f / nyquist, 1.0)
        half = 0.5 * fixedmath.PI * part
        c = fixedmath.cos(half)
        inside = (half > 0) & (c > 1e-9)
        tangent = np.divide(fixedmath.sin(half), c, out=np.ones_like(c), where=inside)
        ratio = np.divide(tangent, half, out=np.ones_like(c), where=inside)
        fall = 0.5 + 0.5 * fixedmath.cos(fixedmath.PI * np.clip((part - PASSED) / (1.0 - PASSED), 0.0, 1.0))
        return np.where(part < 1.0, np.sqrt(ratio) * fall, 0.0)

    pairs = np.ones(nt)
    for k in range(1, nt):
        pairs[k] = pairs[k - 1] * (2 * k - 1) / (2 * k)
    series = np.zeros(2 * nt - 1)
    series[0::2], series[1::2] = pairs, pairs[: nt - 1]
    series *= np.sqrt(0.5 * dt)
    # lag l of both: sum_j g_j b_{l-j}, |l| and |j| < nt, on an axis that begins at lag 1 - nt
    wide = np.zeros((1, 3 * nt - 2))
    wide[0, nt - 1 :] = series
    taps = convolve(wide, zero_phase(lacking, nt, dt))[0, : 2 * nt - 1]
    return Filter(np.ascontiguousarray(taps), 1 - nt)
