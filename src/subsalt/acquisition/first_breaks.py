"""First breaks of shots: picks, and one line fitted to them, offset against time.

A pick is the time at which a trace first rises above what was there before. What it rises above is the larger of its
noise (a low quantile of its energy) and a part of its strongest arrival, so that neither noise nor the tiny forerunners
of a computed wave are picked. Picks of one shot are fitted by straight lines ``t = t0 + |x| / v``, each side of the
source alone and both together, by medians (Theil and Sen), which half of the picks may miss without moving them.

A survey is sampled: at most `MOST_SHOTS` shots and `MOST_TRACES` traces of each, evenly spread, and `MOST_BYTES` of
samples, so that a survey of a million traces costs as much as one of ten thousand. The sample depends on the survey
alone. Where noise of low frequencies hides what arrives, as swell does, it is cut off before
(`subsalt.acquisition.band`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.band import cut_low, finite, low_cut
from subsalt.acquisition.band import dominant_period as dominant_period
from subsalt.acquisition.survey import Shot, Survey
from subsalt.errors import SubsaltError

#: examined shots, traces of each, and bytes of samples in all
MOST_SHOTS, MOST_TRACES, MOST_BYTES = 200, 64, 96 << 20

#: energy, relative to the strongest of the trace and to its noise, at which it has begun: amplitudes of 1/20 and 3
OF_STRONGEST, OF_NOISE = 0.05**2, 3.0**2
#: part of the first arrival's largest amplitude at which it is picked: below the first lobe (0.45) of a Ricker wavelet
ONSET = 0.25
#: amplitude of the arrival over that of what precedes it, below which a pick is none
LEAST_RISE = 3.0
#: shots of whose traces the low cut is chosen
OF_CUT = 8
#: part of a period by which picks of one wave lie off their line: a crossover bends by more
ONE_LINE = 0.15
#: samples of the window around a pick, which holds two periods from half a period before it
WINDOW = 32
#: picks that a line takes, and lines that say anything: fewer say nothing
FEWEST = 5


@dataclass(frozen=True)
class BreakLine:
    """A straight line through first breaks.

    Parameters
    ----------
    intercept : float
        Time at offset zero, s.
    slowness : float
        Growth of the time with distance from the source, s/m; negative where times fall with offset.
    scatter : float
        Median distance of the picks from the line, s.
    n : int
        Picks it was fitted to.
    """

    intercept: float
    slowness: float
    scatter: float
    n: int

    @property
    def velocity(self) -> float:
        """Velocity, m/s; infinite for times that do not grow."""
        return 1.0 / self.slowness if self.slowness else math.inf


@dataclass
class ShotBreaks:
    """First breaks of some traces of one shot.

    Parameters
    ----------
    shot : Shot
        Shot with its position and number.
    rows : ndarray, (n,), int
        Examined traces of the shot.
    offset : ndarray, (n,)
        Horizontal distance from the source, m, negative on the far side of the line's direction.
    time : ndarray, (n,)
        Picks, s; NaN where a trace has none.
    windows : ndarray, (n, WINDOW)
        Traces around their picks, of unit energy; zeros where there is none.
    amplitude : ndarray, (n,)
        Largest amplitude of the first arrival.
    muted : float
        Share of the picks that stand at the end of exact zeros, as a mute leaves them.
    period : float
        Dominant period of the traces, s.
    cut : float
        Frequency below which noise was taken from them before, Hz; 0 where nothing was.
    """

    shot: Shot
    rows: NDArray[np.int64]
    offset: NDArray[np.float64]
    time: NDArray[np.float64]
    windows: NDArray[np.float64]
    amplitude: NDArray[np.float64]
    muted: float
    period: float
    cut: float = 0.0
    line: BreakLine | None = None
    sides: tuple[BreakLine | None, BreakLine | None] = (None, None)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def picked(self) -> NDArray[np.bool_]:
        """Which traces have a pick."""
        return np.isfinite(self.time)

    @property
    def coherence(self) -> float:
        """Share of the energy of all windows that is one waveform, of either sign: 1 for equal arrivals."""
        w = self.windows[self.picked]
        if len(w) < FEWEST:
            return 0.0
        s = np.linalg.svd(w, compute_uv=False)
        return float(s[0] ** 2 / (s**2).sum())

    @property
    def good(self) -> bool:
        """Whether the picks say something: most traces have one, of one waveform, and they lie near a line.

        A line over times that spread over many periods may be missed by a tenth of that (refractions bend it).
        """
        if self.line is None or self.picked.mean() < 0.6:
            return False
        spread = float(np.ptp(np.nanpercentile(self.time, [5, 95])))
        return self.line.scatter <= max(self.period, 0.1 * spread) and self.coherence >= 0.4


def pick(
    data: NDArray[np.float32], dt: float, period: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return the first break of each trace.

    Parameters
    ----------
    data : ndarray, (n, nt)
        Traces.
    dt, period : float
        Sampling interval and dominant period, s.

    Returns
    -------
    at, amplitude : ndarray, (n,)
        Time after the first sample, s, NaN where there is none; largest amplitude of the arrival.
    muted : ndarray, (n,), bool
        The pick stands within a period after exact zeros from the start of the trace.
    """
    x = np.abs(finite(data))
    n, nt = x.shape
    w = max(2, round(period / dt))
    at, amplitude, muted = np.full(n, np.nan), np.zeros(n), np.zeros(n, bool)
    if nt <= 4 * w:
        return at, amplitude, muted
    # energy of the period that begins at each sample
    sums = np.concatenate([np.zeros((n, 1)), np.cumsum(x**2, axis=1)], axis=1)
    lead = np.maximum(sums[:, w:] - sums[:, :-w], 0.0) / w
    floor = np.maximum(OF_STRONGEST * lead.max(axis=1), OF_NOISE * np.quantile(lead, 0.1, axis=1))
    above = lead > floor[:, None]
    for i in np.flatnonzero(above.any(axis=1) & (floor > 0)):
        k = int(np.argmax(above[i]))
        span = x[i, k : k + w + w // 4]
        largest = float(span.max())
        j = k + int(np.argmax(span > ONSET * largest))
        if j < w // 2 or j + w > nt:
            continue  # the record begins or ends within the arrival
        before = x[i, max(0, j - 2 * w) : max(1, j - w // 4)]
        if largest < LEAST_RISE * math.sqrt(2.0 * float((before**2).mean())):
            continue
        low, high = x[i, j - 1], x[i, j]
        at[i] = dt * (j - 1 + (ONSET * largest - low) / (high - low) if high > low else j)
        amplitude[i] = largest
        first = int(np.argmax(x[i] > 0))
        muted[i] = first > 0 and j - first < w
    return at, amplitude, muted


def windows(
    data: NDArray[np.float32], dt: float, at: NDArray[np.float64], period: float
) -> NDArray[np.float64]:
    """Return two periods of each trace from half a period before its pick, (n, WINDOW), of unit energy."""
    out = np.zeros((len(data), WINDOW))
    x = finite(data)
    axis = dt * np.arange(x.shape[1])
    around = period * (np.arange(WINDOW) * (2.0 / WINDOW) - 0.5)
    for i in np.flatnonzero(np.isfinite(at)):
        w = np.interp(at[i] + around, axis, x[i])
        size = float(np.sqrt((w**2).sum()))
        out[i] = w / size if size > 0 else 0.0
    return out


def fit_line(distance: NDArray[np.float64], time: NDArray[np.float64]) -> BreakLine | None:
    """Return the line of median slope through times (n,) at distances (n,), None for fewer than `FEWEST` places.

    Notes
    -----
    The slope is the median of those between all pairs, the intercept the median of what is left.
    """
    use = np.isfinite(time)
    x, t = distance[use], time[use]
    if len(np.unique(np.round(x, 2))) < FEWEST:
        return None
    i, j = _pairs(len(x))
    run = x[j] - x[i]
    # neighbours say little about the slope, and their ratio is noise
    far = np.abs(run) > 0.05 * np.ptp(x)
    slope = _median((t[j] - t[i])[far] / run[far])
    rest = t - slope * x
    level = _median(rest)
    return BreakLine(level, slope, _median(np.abs(rest - level)), len(x))


@lru_cache(maxsize=2 * MOST_TRACES)
def _pairs(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices of all pairs of n places."""
    i, j = np.triu_indices(n, 1)
    return i, j


def _median(values: NDArray[np.float64]) -> float:
    """Return the median of finite numbers: ``np.median`` takes most of its time for small arrays to look for others."""
    middle = len(values) // 2
    if len(values) % 2:
        median = float(np.partition(values, middle)[middle])
    else:
        low, high = np.partition(values, [middle - 1, middle])[middle - 1 : middle + 1].tolist()
        median = (low + high) / 2
    return median + 0.0  # -0.0 is 0.0, as there


def near_line(distance: NDArray[np.float64], time: NDArray[np.float64], period: float) -> BreakLine | None:
    """Return the line through the first breaks (n,) nearest to the source, as many as one line takes; None for few.

    Direct waves come first near the source, head waves beyond, on lines of their own: one line through both is that of
    neither. Of `BreakLine.n` picks all but a tenth lie within `ONE_LINE` periods.
    """
    order = np.argsort(distance, kind="stable")
    order = order[np.isfinite(time[order])]
    n = len(order)
    while n >= FEWEST:
        own = order[:n]
        line = fit_line(distance[own], time[own])
        if line is None:
            return None
        off = np.abs(time[own] - line.intercept - line.slowness * distance[own])
        if np.quantile(off, 0.9) <= ONE_LINE * period:
            return line
        n = min(n - 1, round(0.85 * n))
    return None


def signed_offset(shot: Shot) -> NDArray[np.float64]:
    """Return horizontal offsets (nr,), m, negative against the direction in which the receivers lie along x (or y)."""
    d = shot.rcv[:, :2] - shot.src[:2]
    # the direction of the longest spread; towards growing x, or growing y of a line along y
    axis = np.linalg.eigh(d.T @ d)[1][:, 1] if len(d) else np.array([1.0, 0.0])
    axis = axis * (-1.0 if axis[int(np.argmax(np.abs(axis)))] < 0 else 1.0)
    return np.where(d @ axis < 0, -1.0, 1.0) * np.sqrt((d**2).sum(axis=1))


def breaks_of(
    shot: Shot, rows: NDArray[np.int64], data: NDArray[np.float32], dt: float, t0: float, cut: float = 0.0
) -> ShotBreaks:
    """Return the first breaks of traces (len(rows), nt) of a shot whose first sample is at `t0`.

    Parameters
    ----------
    cut : float
        Frequency below which traces hold noise, Hz, as `low_cut` gives it for the survey.
    """
    data = cut_low(data, dt, cut)
    period = dominant_period(data, dt)
    at, amplitude, muted = pick(data, dt, period)
    around = windows(data, dt, at, period)
    offset = signed_offset(shot)[rows]
    picked = np.isfinite(at)
    out = ShotBreaks(
        shot,
        rows,
        offset,
        at + t0,
        around,
        amplitude,
        float(muted[picked].mean()) if picked.any() else 0.0,
        period,
        cut,
    )
    fit(out)
    return out


def fit(breaks: ShotBreaks) -> None:
    """Fit the lines of a shot: of both sides together, and of each."""
    distance, left = np.abs(breaks.offset), breaks.offset < 0
    breaks.line = fit_line(distance, breaks.time)
    breaks.sides = (
        fit_line(distance[left], breaks.time[left]),
        fit_line(distance[~left], breaks.time[~left]),
    )


def reader_of(survey: Survey) -> Callable[[Shot, NDArray[np.int64]], NDArray[np.float32]]:
    """Return a reader of traces of a shot for checks of arrivals, on the time axis of the records.

    The traces are as in the files, except for steps of the job that move arrivals or, by causal filters, change their
    band; before any mute.
    """
    reader = survey.reader
    inner = getattr(reader, "picked", getattr(reader, "inner", reader))

    def read(shot: Shot, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        if shot.data is not None or inner is None:
            return survey.traces(shot, rows)
        traces: NDArray[np.float32] = inner(shot, rows)
        return traces

    return read


def spread(n: int, most: int) -> NDArray[np.int64]:
    """Return at most `most` numbers from 0 to n - 1, evenly spread, the first and the last among them."""
    if n <= most:
        return np.arange(n)
    return np.unique(np.linspace(0, n - 1, max(2, most)).round().astype(np.int64))


def first_breaks(
    survey: Survey, shots: int = MOST_SHOTS, traces: int = MOST_TRACES, most_bytes: int = MOST_BYTES
) -> list[ShotBreaks]:
    """Return the first breaks of a sample of a survey.

    Parameters
    ----------
    survey : Survey
        Shots with data, or a reader of them.
    shots, traces, most_bytes : int
        Largest number of shots, of traces of a shot, and of bytes of samples that are read.

    Notes
    -----
    A shot that cannot be read (samples that are not finite, say) is left out; another check reports it.
    """
    read = reader_of(survey)
    size = 4 * survey.time.nt * min(traces, max((len(s.rcv) for s in survey.shots), default=1))
    chosen = [int(i) for i in spread(len(survey.shots), max(3, min(shots, most_bytes // max(1, size))))]

    def traces_of(i: int) -> tuple[NDArray[np.int64], NDArray[np.float32]] | None:
        shot = survey.shots[i]
        rows = spread(len(shot.rcv), traces)
        try:
            return (rows, read(shot, rows)) if len(rows) else None
        except SubsaltError:
            return None

    # one cut for all shots, so that they can be compared
    few = {chosen[int(k)]: traces_of(chosen[int(k)]) for k in spread(len(chosen), OF_CUT)}
    dt, t0 = survey.time.dt, survey.time.t0
    cut = low_cut([part[1] for part in few.values() if part is not None], dt)
    out = []
    for i in chosen:
        part = few.pop(i) if i in few else traces_of(i)
        if part is not None:
            out.append(breaks_of(survey.shots[i], *part, dt, t0, cut))
    return out
