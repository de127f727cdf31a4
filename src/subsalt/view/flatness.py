"""How flat the events of image gathers are: semblance along offset, and the moveout that is left.

Measures of a finished image, for pictures and for choosing a velocity; nothing here is on the way to the image.

An image trace at offset x of a flat event, migrated with v_m instead of v, has it at
``t^2 = tau^2 + q x^2`` with ``q = 1/v^2 - 1/v_m^2`` (the hyperbola of the data less the one that migration took off):
q > 0, later at far offsets, where v_m was too fast; q < 0, earlier, where it was too slow. A dipping event obeys the
same law with v over the cosine of its dip in both velocities (Al-Yahya 1989 and Schleicher & Biloti 2007 for depth).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError

#: half length of the window in which semblance is taken, s: two periods of 25 Hz
HALF_WINDOW = 0.08
#: image traces that must be live at a sample before its semblance says anything
FEWEST_LIVE = 4
#: an event counts as picked above this semblance
PICKED = 0.4
#: ... and above this share of the power of the strongest: a thirtieth of its amplitude
QUIET = 1e-3
#: of scanned curvatures, on either side of flat
SCANNED = 20
#: ratios of velocity that are scanned on either side of one
WIDEST_RATIO = 0.15


def window_sum(values: NDArray[np.float64], half: int) -> NDArray[np.float64]:
    """Return sums over 2 half + 1 neighbours along the last axis, shorter at the ends."""
    total = np.cumsum(np.pad(values, [(0, 0)] * (values.ndim - 1) + [(half + 1, half)]), axis=-1)
    return total[..., 2 * half + 1 :] - total[..., : -2 * half - 1]


def semblance(gather: NDArray, time: TimeAxis, half_window: float = HALF_WINDOW) -> NDArray[np.float64]:
    """Return how alike the traces of a gather are: energy of their sum over their energy, 0 to 1.

    Parameters
    ----------
    gather : ndarray, (..., n, nt)
        Image traces of a location by offset; samples that are exactly zero are muted ones.
    time : TimeAxis
        Their samples.
    half_window : float
        Half length of the window, s.

    Returns
    -------
    ndarray, (..., nt)
        ``sum_w (sum_x a)^2 / sum_w (m sum_x a^2)`` with m the live traces of a sample; 0 where fewer than
        `FEWEST_LIVE` are live.

    References
    ----------
    Neidell & Taner 1971, Geophysics 36, 482-497.
    """
    a = np.asarray(gather, dtype=np.float64)
    live = np.count_nonzero(a, axis=-2)
    enough = live >= FEWEST_LIVE
    half = max(1, round(half_window / time.dt))
    top = window_sum(np.where(enough, a.sum(axis=-2) ** 2, 0.0), half)
    bottom = window_sum(np.where(enough, live * (a**2).sum(axis=-2), 0.0), half)
    # cumulated sums leave rounding where nothing is
    tiny = 1e-9 * bottom.max(initial=0.0)
    out = np.divide(top, bottom, out=np.zeros_like(top), where=(bottom > tiny) & enough)
    return np.clip(out, 0.0, 1.0)


def moved(gather: NDArray, offset: NDArray[np.float64], time: TimeAxis, q: NDArray) -> NDArray[np.float64]:
    """Return a gather read along ``t = sqrt(tau^2 + q x^2)``: flat where its moveout is q.

    Parameters
    ----------
    gather : ndarray, (n, nt)
        Image traces.
    offset : ndarray, (n,)
        Their offsets, m.
    time : TimeAxis
        Their samples; the times tau of the result.
    q : ndarray, (nt,)
        Curvature for every tau, s2/m2.

    Returns
    -------
    ndarray, (n, nt), float64
        Linearly interpolated; zero outside the traces, and where either sample is muted (zero).
    """
    tau = time.values()
    square = tau**2 + np.outer(np.asarray(offset, np.float64) ** 2, q)
    place = (np.sqrt(np.maximum(square, 0.0)) - time.t0) / time.dt
    k = np.floor(place).astype(np.int64)
    inside = (square >= 0) & (k >= 0) & (k < time.nt - 1)
    k = np.clip(k, 0, time.nt - 2)
    a = np.asarray(gather, dtype=np.float64)
    low, high = np.take_along_axis(a, k, 1), np.take_along_axis(a, k + 1, 1)
    f = place - k
    return np.where(inside & (low != 0) & (high != 0), low + f * (high - low), 0.0)


@dataclass(frozen=True)
class Moveout:
    """Semblance of a gather by time and by what moveout is left.

    Parameters
    ----------
    ratio : ndarray, (nr,)
        Velocity that would make an event flat over the one that was used.
    spectrum : ndarray, (nr, nt)
        Semblance.
    time : TimeAxis
        Samples of the spectrum.
    picks : ndarray, (n, 4)
        Time (s), ratio, semblance and relative amplitude of the events that stand out, in order of time.
    """

    ratio: NDArray[np.float64]
    spectrum: NDArray[np.float64]
    time: TimeAxis
    picks: NDArray[np.float64]

    @property
    def mean_ratio(self) -> float:
        """Mean of the picked ratios, weighted by semblance and amplitude; NaN without a pick."""
        if not len(self.picks):
            return float("nan")
        return float(np.average(self.picks[:, 1], weights=self.picks[:, 2] * self.picks[:, 3]))


def residual_moveout(
    gather: NDArray,
    offset: NDArray[np.float64],
    time: TimeAxis,
    velocity: NDArray,
    *,
    widest: float = WIDEST_RATIO,
    half_window: float = HALF_WINDOW,
) -> Moveout:
    """Scan a gather for the moveout that is left in it.

    Parameters
    ----------
    gather : ndarray, (n, nt)
        Image traces of one location.
    offset : ndarray, (n,)
        Their offsets, m.
    time : TimeAxis
        Their samples.
    velocity : ndarray, (nt,)
        The rms velocity with which it was migrated, m/s.
    widest : float
        Ratios from 1 - widest to 1 + widest are tried.
    half_window : float
        Half length of the semblance window, s.

    Returns
    -------
    Moveout
        A pick is the most coherent power of a stretch as long as two semblance windows, when its semblance is `PICKED`
        or more and its power at least `QUIET` of the strongest.

    Notes
    -----
    ``q(tau) = (1/ratio^2 - 1) / v(tau)^2``: ratio below 1 says that the velocity was too fast.
    """
    if not 0 < widest < 1:
        raise ConfigError(f"widest = {widest:g}", "give a share of the velocity above 0 and below 1")
    slowness = 1.0 / np.asarray(velocity, dtype=np.float64) ** 2
    ratio = 1.0 + widest * np.arange(-SCANNED, SCANNED + 1) / SCANNED
    offset = np.asarray(offset, dtype=np.float64)
    half = max(1, round(half_window / time.dt))
    spectrum, power = np.zeros((2, len(ratio), time.nt))
    for k, r in enumerate(ratio):
        flattened = moved(gather, offset, time, (r**-2 - 1) * slowness)
        spectrum[k] = semblance(flattened, time, half_window)
        # summed twice: largest in the middle of an event, whose tails are as much alike as the event itself
        power[k] = window_sum(window_sum(flattened.sum(axis=0) ** 2, half), half)
    return Moveout(ratio, spectrum, time, _picks(spectrum, power, ratio, time, 4 * half))


def _picks(
    spectrum: NDArray[np.float64],
    power: NDArray[np.float64],
    ratio: NDArray[np.float64],
    time: TimeAxis,
    length: int,
) -> NDArray[np.float64]:
    """Return time, ratio, semblance and amplitude of the most coherent power of each stretch of `length` samples."""
    score, picks = spectrum * power, []
    best, loudest = score.max(axis=0), float(power.max(initial=0.0))
    for a in range(0, time.nt, length):
        k = a + int(np.argmax(best[a : a + length]))
        # at the end of a stretch it may be the tail of an event in the next one
        if best[k] < best[max(k - 1, 0) : k + 2].max():
            continue
        column = spectrum[:, k]
        i = int(np.argmax(column))
        # a best at the end of the scan is no best
        if column[i] >= PICKED and power[i, k] > QUIET * loudest and 0 < i < len(ratio) - 1:
            amplitude = float(np.sqrt(power[i, k] / loudest))
            picks.append((time.t0 + k * time.dt, peak(ratio, column), float(column[i]), amplitude))
    return np.asarray(picks, dtype=np.float64).reshape(-1, 4)


def peak(at: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Return where the parabola through the largest value and its neighbours peaks; an end as it is."""
    i = int(np.argmax(values))
    if not 0 < i < len(values) - 1:
        return float(at[i])
    left, top, right = (float(v) for v in values[i - 1 : i + 2])
    bend = left - 2 * top + right
    shift = 0.5 * (left - right) / bend if bend < 0 else 0.0
    return float(at[i] + shift * (at[i + 1] - at[i - 1]) / 2)
