"""Traces made ready for the sum: phase, alias bands, and polynomials between samples.

`prepare` in NumPy and double precision is the text against which the compiled one is read and tested.

Filters give traces the phase of the migration weights, and cut them into the alias bands. Every filter is a finite
impulse response, designed once: the response wanted is transformed to the time domain on a fine grid of frequencies
and cut at a reach. Convolution with it is what it says at every sample of a record, without wrap-around, whatever
transform carries it out.

===========  =================================================================================
amplitude    response of the phase filter P(w), e^{+iwt} in the inverse transform
===========  =================================================================================
``"3d"``     -iw: minus the derivative
``"2.5d"``   conj(sqrt(iw)) = sqrt(w) (1 - i) / sqrt(2), w > 0: the anticausal half derivative
``"none"``   1
===========  =================================================================================

Band j = 0 ... B-1 is low-passed at f_j = fN (B - j) / B: it passes up to f_{j+1}, half at f_j and nothing from
f_{j-1}, as a raised cosine; band 0 passes everything. A fall two steps wide about f_j keeps the most of what is not
aliased and makes the least noise where the sum goes from band to band (measured, docs/theory/kirchhoff.md). The phase
filters fall from 0.8 fN to fN: what lies there no interpolation could use, and a filter that stops at fN would ring
at that frequency from every step of a trace.

References
----------
Gray, S. H. (1992), Frequency-selective design of the Kirchhoff migration operator, Geophys. Prosp. 40, 565-571 (bands).
Bleistein, N., Cohen, J. K. & Stockwell, J. W. (2001), Mathematics of multidimensional seismic imaging, migration, and
inversion, Springer (phase in 2.5-D and 3-D).

Interpolation between the samples of a trace: one polynomial per interval, made by short filters.

The trace at sample i + f, 0 <= f < 1, is ``sum_k c_k[i] f^k`` with ``c_k[i] = sum_m taps[k, m] x[i + m - before]``
(Farrow 1988): all that depends on the samples is done once per trace, and the sum evaluates a polynomial.

``"linear"``: c = (x_i, x_{i+1} - x_i). ``"sinc"``: order 4 over 16 samples, the least largest error below 0.7 of the
Nyquist frequency: 7.9e-4 of the amplitude there, 4e-4 at half of it, 4e-5 at 0.2, none at zero. The numbers come from
``docs/make_interpolator.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from subsalt import _native
from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError
from subsalt.kernels import cpu
from subsalt.kernels.kirchhoff_arguments import PAD
from subsalt.methods.kirchhoff.options import Amplitude, Interpolation, KirchhoffOptions
from subsalt.numerics import fixedmath
from subsalt.numerics.filters import transform

#: samples before and behind an interval's first sample that its polynomial may take
BEFORE, AFTER = 7, 8

#: order of the polynomials
ORDERS: dict[Interpolation, int] = {"linear": 1, "sinc": 4}

# In u = f - 1/2, over the 8 samples behind the middle of the interval: even powers 0, 2, 4 and odd powers 1, 3.
# fmt: off
EVEN = (
    (6.283325255e-01, -1.884508981e-01, 9.114192863e-02, -4.653326583e-02,
     2.250296365e-02, -9.595285111e-03, 3.236676397e-03, -6.346452042e-04),
    (-5.507796282e-01, 8.269171656e-01, -4.187290136e-01, 2.124301352e-01,
     -9.967113714e-02, 3.948426226e-02, -1.131321906e-02, 1.661434987e-03),
    (1.503588440e-01, -2.937364339e-01, 2.186269208e-01, -1.077982987e-01,
     4.063641953e-02, -5.586705480e-03, -5.241328418e-03, 2.740582244e-03),
)
ODD = (
    (1.264544597e+00, -1.340195482e-01, 4.474416599e-02, -2.023087311e-02,
     9.761763882e-03, -4.408150277e-03, 1.671219557e-03, -3.927074216e-04),
    (-1.076182488e+00, 5.507731687e-01, -1.899574877e-01, 8.885957866e-02,
     -4.410709311e-02, 2.025749299e-02, -7.913711728e-03, 2.024482247e-03),
)
# fmt: on


@lru_cache
def behind(interpolation: Interpolation) -> NDArray[np.float32]:
    """Return the taps (5, 8) of powers of f - 1/2 over the samples behind the middle, for the compiled kernel."""
    rows = (
        [(ODD if k % 2 else EVEN)[k // 2] for k in range(5)] if interpolation == "sinc" else np.zeros((0, 8))
    )
    return np.array(rows, dtype=np.float32)


@lru_cache
def taps(interpolation: Interpolation) -> NDArray[np.float64]:
    """Return the taps (order + 1, BEFORE + 1 + AFTER) of the powers of f; read-only."""
    if interpolation == "linear":
        out = np.zeros((2, BEFORE + 1 + AFTER))
        out[0, BEFORE], out[1, BEFORE], out[1, BEFORE + 1] = 1.0, -1.0, 1.0
    else:
        middle = np.empty((5, BEFORE + 1 + AFTER))
        for k in range(5):
            half = np.array((ODD if k % 2 else EVEN)[k // 2])
            middle[k] = np.concatenate([(-1.0) ** k * half[::-1], half])
        # sum_k (f - 1/2)^k m_k, sorted by powers of f
        out = np.zeros_like(middle)
        row: tuple[float, ...] = (1.0,)  # coefficients of (f - 1/2)^k
        for k in range(5):
            for power, factor in enumerate(row):
                out[power] += factor * middle[k]
            row = tuple(a - 0.5 * b for a, b in zip((0.0, *row), (*row, 0.0), strict=True))
    out.flags.writeable = False
    return out


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


def padded(nt: int) -> int:
    """Return the samples of a padded row: PAD and what makes it a multiple of 16."""
    return -(-(nt + PAD) // 16) * 16


def polynomials(
    traces: NDArray[np.floating], bank: FilterBank, taps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the coefficients (n, bands, order + 1, ns_pad) of traces (n, nt), filtered by every band."""
    n, nt = traces.shape
    out = np.zeros((n, len(bank.impulse), len(taps), padded(nt)))
    for trace, rows in zip(traces.astype(np.float64), out, strict=True):
        for impulse, band in zip(bank.impulse, rows, strict=True):
            wide = np.convolve(np.pad(trace, max(BEFORE, AFTER)), impulse)[bank.reach :]
            first = max(BEFORE, AFTER) - BEFORE
            for k, row in enumerate(taps):
                # c_k[i] = sum_m row[m] x[i + m - BEFORE]
                inside = sum(row[m] * wide[first + m : first + m + nt] for m in range(len(row)))
                band[k, : nt - (k > 0)] = inside[: nt - (k > 0)]
    return out


@dataclass(frozen=True)
class Prepared:
    """A block of traces ready to be summed.

    Parameters
    ----------
    samples : ndarray, (n, bands, order + 1, ns_pad), float32
        Polynomials between samples: the trace at t = t_first + (i + f) dt, 0 <= f < 1, is sum_k samples[.., k, i] f^k.
        At the last sample of the record only k = 0 is there, behind it nothing is.
    corner : ndarray, (bands,), float64
        Frequency of which each band passes half, Hz, falling; the first band is the whole trace.
    t_first : float
        Time of sample 0, s.
    dt : float
        Sampling interval, s.
    ns : int
        Samples of the record.
    integrals : ndarray, (n, ns_pad), float64, optional
        For the triangle filter: S_i, the double integral of the trace of band 0 from the first sample to sample i, in
        units of samples (dt = 1).

    Notes
    -----
    With q_i(f) = f^2 sum_k c_k f^k / ((k + 1)(k + 2)), c_k = samples[0, k, i], the double integral between samples is
    S(i + f) = S_i + f (S_{i+1} - S_i - q_i(1)) + q_i(f), and (S(p + T) - 2 S(p) + S(p - T)) / T^2 is the trace at p
    smoothed by a triangle of half-length T samples, of unit area for any T (Lumley, Claerbout & Bevc 1994). S is zero
    before the record and a straight line after it.
    """

    samples: NDArray[np.float32]
    corner: NDArray[np.float64]
    t_first: float
    dt: float
    ns: int
    integrals: NDArray[np.float64] | None = None


#: largest amplitude that no filter carries past the largest float32 (3.4e38): derivative, transform and polynomials
#: together multiply by less than 1e10 for any record
LARGEST = 1e28


def prepare(
    traces: NDArray[np.float32],
    time: TimeAxis,
    options: KirchhoffOptions,
    threads: int = 1,
    out: Prepared | NDArray[np.float32] | None = None,
    numbers: NDArray[np.int64] | None = None,
) -> Prepared:
    """Filter traces by the phase of the migration and by every alias band, and interpolate them.

    Parameters
    ----------
    traces : ndarray, (n, nt), float32
        Samples; finite.
    time : TimeAxis
        Time axis of the traces, s.
    options : KirchhoffOptions
        Amplitude (phase), antialias, bands and interpolation count.
    threads : int
        Threads to compute with; no bit depends on them, nor on the traces beside a trace.
    out : Prepared or ndarray, optional
        Prepared before, or memory, of as many traces or more, no longer needed: it is used again. New memory costs
        as much as the filters.
    numbers : ndarray, (n,), int64, optional
        Numbers of the traces in messages; their places in the block when None.

    Returns
    -------
    Prepared

    Raises
    ------
    ConfigError
        E717 when traces do not fit the time axis, E718 when a sample is not finite or absurdly large.

    Notes
    -----
    About 10 microseconds per trace of 625 samples with 10 bands on one core with AVX-512 (Zen 5), 15 with AVX2, 30 with
    neither: `benchmarks/kirchhoff_prepare.py`.
    """
    traces = np.ascontiguousarray(traces, dtype=np.float32)
    _check(traces, time, numbers)
    bands = band_count(options)
    bank = design(time.nt, time.dt, options.amplitude, bands)
    shape = prepared_shape(len(traces), time.nt, options)
    samples = _memory(shape, threads, out.samples if isinstance(out, Prepared) else out)
    size, pairs = _factors(time.nt, time.dt, options.amplitude, bands)
    _native.prepare_traces(
        traces, samples, pairs, size, behind(options.interpolation), threads, cpu.in_use()[1]
    )
    integrals = None
    if options.antialias == "triangle":
        integrals = np.empty((len(traces), shape[-1]))
        _native.double_integral(samples, integrals, threads)
    return Prepared(samples, bank.corner, time.t0, time.dt, time.nt, integrals)


def _check(traces: NDArray[np.float32], time: TimeAxis, numbers: NDArray[np.int64] | None) -> None:
    if traces.ndim != 2 or traces.shape[1] != time.nt or time.nt < 2 or not 0 < time.dt < math.inf:
        raise ConfigError(
            f"traces have shape {traces.shape}, the time axis has {time.nt} samples every {time.dt} s",
            "order traces as (trace, sample), two samples or more",
            code="E717",
        )
    # a comparison with what is not a number is false
    good = np.abs(traces).max(axis=1, initial=0.0) <= LARGEST
    if not good.all():
        i = int(np.flatnonzero(~good)[0])
        worst = traces[i][~(np.abs(traces[i]) <= LARGEST)][0]
        raise ConfigError(
            f"trace {i if numbers is None else numbers[i]} holds {worst:g}, which cannot be filtered",
            "leave the trace out or repair it; values beyond 1e28 often mean a wrong sample format",
            code="E718",
        )


def prepared_shape(n: int, nt: int, options: KirchhoffOptions) -> tuple[int, int, int, int]:
    """Return the shape of `n` prepared traces of `nt` samples."""
    return n, band_count(options), ORDERS[options.interpolation] + 1, padded(nt)


def _memory(shape: tuple[int, ...], threads: int, out: NDArray[np.float32] | None) -> NDArray[np.float32]:
    """Return an array of that shape, in the memory of `out` where it is large enough; contents are open."""
    if out is not None and out.flags.c_contiguous and out.size >= math.prod(shape):
        return out.reshape(-1)[: math.prod(shape)].reshape(shape)
    return _native.allocate(shape, threads, zeroed=False)


@lru_cache(maxsize=8)
def _factors(nt: int, dt: float, amplitude: Amplitude, bands: int) -> tuple[int, NDArray[np.float32]]:
    """Return the points of the transform and the factors of every pair of bands (see trace_bands.hpp)."""
    bank = design(nt, dt, amplitude, bands)
    if bank.is_identity:
        return 0, np.zeros((0, 0, 4), dtype=np.float32)
    # samples from BEFORE the record to AFTER it are wanted, from reach before those to reach after them: no two of
    # these lags may be the same modulo the points
    size = _native.fft_size(nt + BEFORE + AFTER + bank.reach)
    lags = np.zeros((bands + bands % 2, size))
    lags[:bands, : bank.reach + 1] = bank.impulse[:, bank.reach :]
    lags[:bands, size - bank.reach :] = bank.impulse[:, : bank.reach]
    real, imag = (part[:, : size // 2 + 1] / size for part in transform(lags, np.zeros_like(lags)))
    # band a + i band b for X_k, their conjugates for conj(X_k)
    a, b = slice(0, None, 2), slice(1, None, 2)
    parts = (real[a] - imag[b], imag[a] + real[b], real[a] + imag[b], real[b] - imag[a])
    pairs = np.ascontiguousarray(np.stack(parts, axis=-1), dtype=np.float32)
    pairs.flags.writeable = False
    return size, pairs


def prepared_bytes(nt: int, options: KirchhoffOptions) -> int:
    """Return the bytes that one prepared trace of `nt` samples takes."""
    coefficients = (ORDERS[options.interpolation] + 1) * band_count(options)
    return padded(nt) * (4 * coefficients + (8 if options.antialias == "triangle" else 0))
