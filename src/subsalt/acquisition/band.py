"""The band of recorded traces: their dominant period, and where swell and other low-frequency noise ends.

Waves come and go, noise stays: a low cut helps when it raises the strongest stretch of a trace over its quiet ones.
`low_cut` tries cuts upward, up to a part of the frequency at which what is left is strongest, and takes the first that
gives the contrast which picking needs, or the best. Records without low-frequency noise, white noise among them, gain
nothing by any cut, and are left alone to the last bit.

The filter is causal (Butterworth, minimum phase). One of zero phase would put the low frequencies of an arrival before
it, with the opposite sign, and first breaks would be picked there; a causal one leaves the onset where it is. It
changes the waveform, so whatever is compared with the traces, a wavelet for example, goes through the same filter.

References
----------
Oppenheim, A. V. & Schafer, R. W. (2010), Discrete-time signal processing, 3rd ed., section 7.2 (bilinear transform).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Sample = TypeVar("Sample", np.float32, np.float64)

#: slope of the filter: 6 dB per octave each
ORDER = 4
#: a cut over the next lower one that is tried, and over the frequency of the largest amplitude that it leaves
STEP, BELOW_PEAK = 1.25, 0.75
#: amplitude of the strongest stretch of a trace over that of its quiet ones, from which noise does not disturb a pick
#: (three times the noise is below a twentieth of the strongest arrival, `first_breaks.OF_NOISE` and `OF_STRONGEST`),
#: and what is wanted of a cut: the median trace has it, far ones have less. A higher cut than needed changes waveforms
ENOUGH, WANTED = 60.0, 100.0
#: by what a cut must raise that ratio
GAIN = 2.0
#: share of the windows of a trace that are quiet
QUIET = 0.1
#: examined traces of one shot
TRACES = 8


def finite(data: NDArray[Sample]) -> NDArray[np.float64]:
    """Return traces in double precision, with zeros in place of NaN and infinity: squares of the rest are finite."""
    return np.nan_to_num(data.astype(np.float64), posinf=0.0, neginf=0.0)


def dominant_period(data: NDArray[Sample], dt: float) -> float:
    """Return the period at the peak of the traces' mean amplitude spectrum, s; each trace counts alike."""
    x = finite(data)
    nt = x.shape[1]
    if nt < 2 or not len(x):
        return 4.0 * dt
    level = np.sqrt((x**2).mean(axis=1, keepdims=True))
    x = np.divide(x, level, out=np.zeros_like(x), where=level > 0)
    power = (np.abs(np.fft.rfft(x * np.hanning(nt), axis=1)) ** 2).mean(axis=0)
    # smoothed over a twentieth of the band, so that a single line of noise is not the peak
    width = max(1, len(power) // 40)
    smooth = np.convolve(power, np.ones(2 * width + 1), "same")
    smooth[: max(1, width // 2)] = 0.0
    peak = int(np.argmax(smooth))
    return float(np.clip(nt * dt / max(peak, 1), 4 * dt, max(4.0, nt / 8) * dt))


def cut_low(traces: NDArray[Sample], dt: float, cut: float) -> NDArray[Sample]:
    """Return traces (n, nt) without what lies below `cut` Hz; unchanged when that is zero.

    Notes
    -----
    The first sample of a trace is taken to have stood there before it began, so that the filter does not start with a
    step. Zeros at the start of a trace stay zeros.
    """
    n, nt = traces.shape
    if cut <= 0 or cut >= 0.45 / dt or nt < 2 or not n:
        return traces
    return _Traces(finite(traces), dt).without(cut).astype(traces.dtype)


class _Traces:
    """Traces (n, nt), and what all cuts of them share: where they begin, and their spectra.

    Parameters
    ----------
    x : ndarray, (n, nt), float64
        Finite samples.
    dt : float
        Sampling interval, s.
    """

    def __init__(self, x: NDArray[np.float64], dt: float) -> None:
        self.x, self.dt = x, dt
        self.silent = np.cumsum(np.abs(x), axis=1) == 0
        self.spectra: dict[int, NDArray[np.complex128]] = {}

    def without(self, cut: float) -> NDArray[np.float64]:
        """Return the traces without what lies below `cut` Hz, above zero and below 0.45 / dt."""
        nt = self.x.shape[1]
        # the response has died away after three periods of the cut
        size = 1 << math.ceil(math.log2(nt + 3.0 / (cut * self.dt)))
        if size not in self.spectra:
            self.spectra[size] = np.fft.rfft(self.x - self.x[:, :1], size, axis=1)
        y = np.fft.irfft(self.spectra[size] * _response(size, self.dt, cut), size, axis=1)[:, :nt]
        y[self.silent] = 0
        return y


@lru_cache(maxsize=128)
def _response(size: int, dt: float, cut: float) -> NDArray[np.complex128]:
    """Return the response of the causal Butterworth low cut by the bilinear transform, (size // 2 + 1,)."""
    f = np.fft.rfftfreq(size)
    # s of the low-pass of which it is the mirror: cut over frequency; infinite at zero, where nothing passes
    s = np.full(len(f), np.inf, np.complex128)
    s[1:] = -1j * math.tan(math.pi * cut * dt) / np.tan(np.pi * f[1:])
    k = np.arange(1, ORDER + 1)
    poles = np.exp(0.5j * np.pi * (2 * k + ORDER - 1) / ORDER)
    out = np.zeros(len(f), np.complex128)
    out[1:] = 1.0 / np.prod(s[1:, None] - poles, axis=1)
    return out


def low_cut(shots: Sequence[NDArray[np.float32]], dt: float) -> float:
    """Return the frequency below which traces (n, nt) of some shots hold noise that hides arrivals, Hz; 0 for none."""
    parts = [finite(d[:: max(1, len(d) // TRACES)]) for d in shots if d.shape[1] > 64]
    if not parts:
        return 0.0
    plain, period = _contrast(parts, dt)
    if not 0 < plain < ENOUGH:
        return 0.0
    best, best_gain = 0.0, plain
    cut = 2.0 / (max(p.shape[1] for p in parts) * dt)
    every = [_Traces(p, dt) for p in parts]
    while cut < 0.2 / dt:
        here, period = _contrast([p.without(cut) for p in every], dt)
        if cut > BELOW_PEAK / period:
            break
        if here > best_gain:
            best, best_gain = cut, here
        if here >= WANTED:
            break
        cut *= STEP
    return best if best_gain >= GAIN * plain else 0.0


def _contrast(parts: Sequence[NDArray[np.float64]], dt: float) -> tuple[float, float]:
    """Return amplitude of the strongest stretch over that of the quiet ones, and the period, as medians over traces."""
    periods = [dominant_period(p, dt) for p in parts]
    period = float(np.median(periods))
    ratios: list[float] = []
    for x in parts:
        nt = x.shape[1]
        w = min(max(2, round(3 * period / dt)), nt // 5)
        sums = np.cumsum(np.pad(x**2, ((0, 0), (1, 0))), axis=1)
        power = np.maximum(sums[:, w:] - sums[:, :-w], 0.0)
        # what a mute left, and dead traces, are not quiet but silent
        ratios += [math.sqrt(p.max() / _quantile(p[p > 0], QUIET)) for p in power if (p > 0).any()]
    return (float(np.median(ratios)) if ratios else math.inf), period


def _quantile(x: NDArray[np.float64], q: float) -> float:
    """Return what ``np.quantile(x, q)`` does, of finite numbers, at a fifth of its price for a few hundred."""
    at = (len(x) - 1) * q
    low = math.floor(at)
    high = min(low + 1, len(x) - 1)
    part, share = np.partition(x, (low, high)), at - low
    a, b = float(part[low]), float(part[high])
    return b - (b - a) * (1 - share) if share >= 0.5 else a + (b - a) * share
