"""The ghosts in the spectrum of reflections: which depths of source and receivers their notches say.

A wave that leaves a source at the depth z is followed by its reflection at the free surface, 2 z cos(a) / c later and
of the opposite sign, with a the angle from the vertical and c the velocity of water; so is one that comes to a
receiver. The two ghosts multiply the power spectrum by

    |1 - r exp(-i w ts)|^2 |1 - r exp(-i w tr)|^2,    t = 2 z cos(a) / c,

which is nothing at f = n c / (2 z cos(a)): the notches. What else the spectrum is, wavelet and earth, is smooth beside
them: a polynomial of the logarithm. Both are fitted for all pairs of depths, to the mean power spectrum of the traces
at small offsets, smoothed by a window over its autocorrelation; the model is smoothed in the same way, exactly, since
it is a sum of cosines. What a pair leaves, in dB, is compared with what the best pair leaves, and with what is left
without ghosts. Depths whose first notch lies above the band of the data are not told from none.

The product does not say which of the two depths is that of the source.

References
----------
Amundsen, L. & Zhou, H. (2013), Low-frequency seismic deghosting, Geophysics 78 (ghost functions and notches).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: velocity of water, m/s
WATER = 1500.0
#: reflections r of the sea surface that are tried: waves roughen it, and angles that differ fill a notch
SURFACES = (0.97, 0.85)
#: longest lag of the autocorrelation, s: both ghosts of 30 m, one after the other
LAG = 0.08
#: depths that are tried, m, and their step: a notch moves by less than the resolution 1 / LAG from one to the next
SHALLOWEST, DEEPEST, STEP = 3.0, 30.0, 0.5
#: frequencies of the spectrum up to Nyquist
FREQUENCIES = 256
#: band of the data: down to this part of the largest power, and up from this frequency, Hz, above swell
BAND, SWELL = 1e-3, 4.0
#: degree of the polynomial in frequency; a power of the frequency is fitted with it
DEGREE = 4
#: a notch is seen where it lies below this part of the end of the band
WITHIN = 0.75
#: a spectrum speaks against depths that leave so much more energy than others, and so many dB more
TIMES, MORE = 3.0, 0.7
#: how far depths of the headers may be off, as a part and in m: swell moves a vessel, and angles are means
OFF, LEAST_OFF = 0.12, 1.0


@dataclass(frozen=True)
class Spectrum:
    """The mean power spectrum of traces of equal energy.

    Parameters
    ----------
    f, power : ndarray, (nf,)
        Frequencies, Hz, and the power there.
    cosine : float
        Mean cosine of the angle from the vertical at which the waves come up.
    traces : int
        Traces that went in.
    """

    f: Array
    power: Array
    cosine: float
    traces: int


@dataclass(frozen=True)
class Notches:
    """Depths of source and receivers that fit the spectrum, and how well.

    Parameters
    ----------
    low, high : float
        Band of the data, Hz.
    best : (float, float)
        Depths that leave least, m, the shallower first.
    left_best, left_given, left_none : float
        Misfit with the best depths, with those of the headers, and without ghosts, dB rms.
    cosine : float
        Angle in the notch frequencies, as in `spectrum`.
    """

    low: float
    high: float
    best: tuple[float, float]
    left_best: float
    left_given: float
    left_none: float
    cosine: float

    @property
    def shallowest(self) -> float:
        """Shallowest depth whose first notch lies well inside the band, m."""
        return WATER / (2.0 * WITHIN * self.high * self.cosine)

    def notch(self, depth: float) -> float:
        """Return the frequency of the first notch of a depth, Hz."""
        return WATER / (2.0 * depth * self.cosine)

    @property
    def seen(self) -> bool:
        """Whether the data have a notch."""
        return worse(self.left_none, self.left_best) and self.best[1] >= self.shallowest

    def agrees(self, *given: float) -> bool:
        """Return whether depths have the notches that are seen, and no others that would be."""
        seen = [z for z in self.best if z >= self.shallowest]
        ours = [z for z in given if z >= (1.0 + OFF) * self.shallowest]
        return all(any(alike(z, g) for g in given) for z in seen) and all(
            any(alike(z, g) for z in seen) for g in ours
        )

    @property
    def given_wrong(self) -> bool:
        """Whether the spectrum speaks against the depths of the headers."""
        return worse(self.left_given, min(self.left_best, self.left_none))


def alike(one: float, other: float) -> bool:
    """Return whether two depths, m, are the same within the resolution of notches."""
    return abs(one - other) <= max(LEAST_OFF, OFF * max(one, other)) + 0.5 * STEP


def worse(one: float, other: float) -> bool:
    """Return whether one fit leaves decidedly more than another."""
    return one**2 >= TIMES * other**2 and one - other >= MORE


def spectrum(data: Array, offset: Array, times: Array, first: Array) -> Spectrum | None:
    """Return the mean power spectrum of the reflections of traces; None where none has energy.

    Parameters
    ----------
    data : ndarray, (n, nt)
        Traces.
    offset : ndarray, (n,)
        Distances from the source, m.
    times : ndarray, (nt,)
        Times of the samples, s.
    first : ndarray, (n,)
        Times from which on there are reflections alone, s.
    """
    dt = float(times[1] - times[0])
    fade = np.clip((times[None] - first[:, None]) / 0.04, 0.0, 1.0) * np.clip((times[-1] - times) / 0.1, 0, 1)
    cut = data * fade
    energy = (cut**2).sum(axis=1)
    live = energy > 0
    if not live.any() or 4 * dt > LAG or times[-1] - times[0] < 4 * LAG:
        return None
    cut, energy, offset = cut[live], energy[live], offset[live]
    # waves that come later come from deeper and steeper; the layers below water are a little faster
    sine = offset[:, None] / (1.05 * WATER * np.maximum(times[None], dt))
    cosine = float(((cut**2 * np.sqrt(np.clip(1.0 - sine**2, 0.0, 1.0))).sum(axis=1) / energy).mean())
    size = 1 << math.ceil(math.log2(2 * len(times)))
    lags = round(LAG / dt)
    power = (np.abs(np.fft.rfft(cut, size, axis=1)) ** 2 / energy[:, None]).mean(axis=0)
    auto: Array = np.fft.irfft(power, size)[: lags + 1] * _window(dt * np.arange(lags + 1, dtype=np.float64))
    f = np.arange(1, FREQUENCIES) / (2.0 * dt * FREQUENCIES)
    turns = np.cos(2.0 * math.pi * dt * f[:, None] * np.arange(1, lags + 1))
    return Spectrum(f, auto[0] + 2.0 * turns @ auto[1:], cosine, int(live.sum()))


def fitted(data: Spectrum, source: float, receiver: float) -> Notches | None:
    """Return what depths fit the spectrum best, beside those of the headers, m; None where its band is too narrow."""
    low, high = _band(data)
    inside = (data.f >= low) & (data.f <= high)
    f = data.f[inside]
    if len(f) < 4 * (DEGREE + 2) or data.cosine <= 0.5:
        return None
    level = 10.0 * np.log10(np.maximum(data.power[inside], 0.1 * BAND * data.power.max()))
    smooth = np.column_stack(
        [np.polynomial.chebyshev.chebvander(2.0 * (f - low) / (high - low) - 1.0, DEGREE), np.log(f)]
    )
    q, _ = np.linalg.qr(smooth)

    def left(values: Array) -> Array:
        """Return what is left of levels (..., nf) without what is smooth, dB rms."""
        rough = values - (values @ q) @ q.T
        return np.asarray(np.sqrt((rough**2).mean(axis=-1)))

    depth = np.arange(SHALLOWEST, DEEPEST + 0.5 * STEP, STEP)
    one, two = (depth[i] for i in np.triu_indices(len(depth)))
    rests = left(level - _ghosts(f, one, two, data.cosine)).min(axis=0)
    # headers may be off by a little, and may lie between depths that are tried or beyond them
    shallow, deep = sorted((source, receiver))
    some = np.linspace(-1.0, 1.0, 5)
    a, b = (at + max(LEAST_OFF, OFF * at) * some for at in (shallow, deep))
    given = left(level - _ghosts(f, np.repeat(a, 5), np.tile(b, 5), data.cosine))
    best = int(np.argmin(rests))
    pair = float(one[best]), float(two[best])
    return Notches(low, high, pair, float(rests[best]), float(given.min()), float(left(level)), data.cosine)


def _band(data: Spectrum) -> tuple[float, float]:
    """Return the band in which a spectrum stands above its floor, Hz."""
    above = data.f > SWELL
    power = np.where(above, data.power, 0.0)
    # white noise is as strong where the signal has ended; the quietest tenth says how strong
    floor = max(BAND * float(power.max()), 4.0 * float(np.quantile(np.abs(data.power[above]), 0.05)))
    inside = np.flatnonzero(power > floor)
    return (float(data.f[inside[0]]), float(data.f[inside[-1]])) if len(inside) else (0.0, 0.0)


def _ghosts(f: Array, one: Array, two: Array, cosine: float) -> Array:
    """Return the power of the ghosts of depths, m, (surfaces, pairs, nf), dB, smoothed as the spectra are."""
    a, b = (2.0 * np.abs(depth) * cosine / WATER for depth in (one, two))

    def turns(lag: Array) -> Array:
        return np.asarray(_window(np.abs(lag))[:, None] * np.cos(2.0 * math.pi * lag[:, None] * f[None]))

    both, product = turns(a) + turns(b), turns(a + b) + turns(a - b)
    out = []
    for r in SURFACES:
        whole, part = 1.0 + r * r, 2.0 * r
        # (whole - part cos a)(whole - part cos b), the product of the cosines as a sum
        out.append(np.maximum(whole**2 - whole * part * both + 0.5 * part**2 * product, 1e-3))
    return np.asarray(10.0 * np.log10(out))


def _window(lag: Array) -> Array:
    """Return the weight of lags, s, of the autocorrelation."""
    return np.where(lag < LAG, np.cos(0.5 * math.pi * np.minimum(lag, LAG) / LAG) ** 2, 0.0)
