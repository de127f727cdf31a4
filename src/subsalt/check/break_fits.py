"""First breaks against a model: do they fit, and if not, which single mistake makes them fit.

A pick fits when it lies between the bounds of the first arrival, moved by the onset of the wavelet.
What is allowed beyond the bounds follows from what picks and models can be trusted with: three quarters of a period,
because a pick may lie on the next lobe and the phase of a wavelet is seldom known; 15 % of the traveltime, because a
migration velocity is smooth and near-surface velocities are known to about that.

Where most picks of a shot do not fit, each mistake is tried: what it would have done is undone in memory, and the
picks are compared again, more strictly (half a period, a tenth of the traveltime). What makes nearly all of them fit is
named.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.band import cut_low
from subsalt.acquisition.first_breaks import BreakLine, ShotBreaks, fit_line, near_line, pick, spread
from subsalt.acquisition.wavelet import Wavelet
from subsalt.check.travel_bounds import bounds as bounds
from subsalt.check.travel_bounds import velocity as velocity
from subsalt.earth.model_like import ModelLike

#: allowed beyond the bounds, as parts of a period and of the traveltime: to fit, and to fit once a mistake is undone
LOOSE, STRICT = (0.75, 0.15), (0.5, 0.10)
#: share of picks outside from which a shot does not fit, and below which an undone mistake explains it
BAD, EXPLAINED = 0.5, 0.15
#: period of the data over that of the wavelet, outside of which the onset of the wavelet is not known
KNOWN_PERIOD = (0.4, 2.5)
#: traveltimes that grow by less than this many periods over the spread tell no velocity from a shift
PERIODS = 2.0
#: factors of the sampling interval that are tried: times stand in the headers twice, or half
INTERVALS = (0.5, 2.0)
#: factor by which near-surface velocities may be off without a finding
FACTOR = 1.12
#: share of picks a period and more before anything can arrive that is no noise
EARLY = 0.15
#: part of the slowness of the model below which times have no moveout: no rock is four times as fast as the surface
#: over a whole spread
FLAT = 0.25
#: picks whose bounds are closer than the quarter of a period that a pick may be off, from which a shift is taken when
#: they agree within that, either way
NARROW = 3
#: factors of the velocity near the surface by which moveout may have been corrected: rms velocities grow downward
CORRECTIONS = (1.0, 1.07, 1.15, 1.23, 1.3)
#: traces of a shot whose arrivals are computed
TRACES = 16
#: and of the nearest to the source
NEAREST = 6


@dataclass(frozen=True)
class Verdict:
    """Verdict on the first breaks of a shot.

    Parameters
    ----------
    name : {"fits", "unclear", "interval", "shift", "velocity", "moveout", "early"}
        Mistake to undo; ``moveout``: muted, and yet faster than the model; ``early``: picks lie before
        anything can arrive, and nothing explains it.
    value : float
        Velocity of a correction for moveout, m/s, infinite where no time grows with offset, 0 where it is not known;
        factor of the sampling interval or of the traveltimes of the model, or shift in s to be added to the times.
    outside, after : float
        Share of picks that do not fit, as they are and once undone.
    scatter : float
        Mean distance of the picks from the bounds once undone, s.
    """

    name: str
    value: float = 0.0
    outside: float = 0.0
    after: float = 0.0
    scatter: float = 0.0


@dataclass(frozen=True)
class Measured:
    """Picks of a shot and what the model allows.

    Parameters
    ----------
    time, early, late : ndarray, (n,)
        Picks, and bounds of the traveltime, s.
    start : ndarray, (n,)
        Time of the first sample of each trace, s.
    period, pulse : float
        Dominant period of the data; onset of the wavelet after time zero, s.
    expected_period : float
        Period of the wavelet, s.
    distance : ndarray, (n,)
        From source to receiver along the surface, m.
    at : ndarray, (n,), int
        Which of the traces of `ShotBreaks` these are.
    direction : ndarray, (n, 2)
        Unit vectors from source to receiver along the surface; zeros where they stand above each other.
    muted : bool
        Picks stand at the end of exact zeros: they may be later than the arrival.
    """

    time: NDArray[np.float64]
    early: NDArray[np.float64]
    late: NDArray[np.float64]
    start: NDArray[np.float64]
    period: float
    pulse: float
    expected_period: float
    distance: NDArray[np.float64]
    at: NDArray[np.int64]
    direction: NDArray[np.float64]
    muted: bool = False

    def excess(self) -> NDArray[np.float64]:
        """Return by how much picks lie after the bounds, s; negative before them, 0 between."""
        t = self.time - self.pulse
        return t - np.clip(t, self.early, self.late)

    def late_by(self) -> float | None:
        """Return by how much all picks are late, s, from those that the model leaves no freedom; None if not one time.

        Where the bounds are wide, far from the source, anything between them fits.
        """
        room = 0.25 * self.period
        e = self.excess()[self.late - self.early <= room]
        return float(np.median(e)) if len(e) >= NARROW and np.ptp(e) <= 2 * room else None

    def near_by(self) -> float | None:
        """Return by how much the picks nearest to the source are late, s; None if not by one time.

        There waves have one way to go, and bounds that let anything arrive far from the source are narrow.
        """
        e = self.excess()[np.argsort(self.distance, kind="stable")[:NEAREST]]
        return float(np.median(e)) if len(e) == NEAREST and np.ptp(e) <= 0.5 * self.period else None

    def near_lines(self) -> tuple[BreakLine, BreakLine, BreakLine] | None:
        """Return lines through the picks of the branch nearest to the source, and the model's bounds over the same."""
        seen = near_line(self.distance, self.time, self.period)
        if seen is None:
            return None
        own = np.argsort(self.distance, kind="stable")[: seen.n]
        early, late = (fit_line(self.distance[own], t[own]) for t in (self.early, self.late))
        return None if early is None or late is None else (seen, early, late)

    def outside(self, allowed: tuple[float, float], more: float = 0.0) -> float:
        """Return the share of picks beyond what is `allowed`, and `more` seconds."""
        ratio = self.period / self.expected_period
        if not KNOWN_PERIOD[0] <= ratio <= KNOWN_PERIOD[1]:
            more += 1.5 * max(self.period, self.expected_period)
        room = allowed[0] * self.period + allowed[1] * self.late + more
        return float((np.abs(self.excess()) > room).mean())


def onset(wavelet: Wavelet, cut: float = 0.0) -> float:
    """Return the time at which a wavelet is picked, s, by the rule that picks traces, after the same low cut."""
    period = 1.0 / wavelet.f0
    quiet = np.zeros(int(np.ceil(4 * period / wavelet.dt)) + 1)
    trace = cut_low(np.concatenate([quiet, wavelet.samples, quiet])[None], wavelet.dt, cut)
    at = pick(trace.astype(np.float32), wavelet.dt, period)[0][0]
    begin = float(at) + wavelet.t0 - wavelet.dt * len(quiet)
    return begin if np.isfinite(begin) else wavelet.peak_time - 0.5 * period


def measure(picks: ShotBreaks, model: ModelLike, wavelet: Wavelet, start: NDArray[np.float64]) -> Measured:
    """Return the picks of a shot with what the model allows.

    Parameters
    ----------
    start : ndarray, (n,)
        Time of the first sample of each trace that was looked at, s.
    """
    use = np.flatnonzero(picks.picked)
    # some over the whole spread, and the nearest to the source, where a model leaves times the least freedom
    near = use[np.argsort(np.abs(picks.offset[use]), kind="stable")[:NEAREST]]
    use = np.union1d(use[spread(len(use), TRACES)], near)
    early, late = bounds(model, picks.shot.src, picks.shot.rcv[picks.rows[use]])
    along = picks.shot.rcv[picks.rows[use], :2] - picks.shot.src[:2]
    return Measured(
        picks.time[use],
        early,
        late,
        start[use],
        picks.period,
        onset(wavelet, picks.cut),
        1.0 / wavelet.f0,
        np.abs(picks.offset[use]),
        use,
        along / np.maximum(np.hypot(*along.T), 1e-6)[:, None],
        picks.muted > 0.5,
    )


def judge(m: Measured) -> Verdict:
    """Return what the picks of a shot say: that they fit, or which mistake explains that they do not."""
    outside = m.outside(LOOSE)
    shift = _shift(m) if float(np.ptp(m.late)) >= PERIODS * m.period else None
    velocity = _velocity(m)
    # one shift of all times, or one factor of a sharp line, is seen where it stays within what is allowed
    hidden = [
        v
        for v, clear in (
            (shift, m.outside(STRICT) >= 0.3 or m.late_by() is not None),
            (velocity, velocity is not None and _sharp(m, velocity)),
        )
        if v is not None and clear and v.after <= EXPLAINED
    ]
    impossible = float((m.excess() < -m.period - LOOSE[1] * m.late).mean())
    near = m.near_by()
    wrong_there = near is not None and abs(near) > m.period + LOOSE[1] * float(np.min(m.late))
    if outside <= BAD and not hidden and impossible < EARLY and not wrong_there:
        return Verdict("fits", outside=outside)
    ahead = float(np.median(m.excess())) < 0 or impossible >= EARLY
    # a mute leaves times that are too late, never too early; a reflection is late, and bends
    if not ahead and (m.muted or _bends(m)):
        return Verdict("unclear", outside=outside)
    if ahead and _flat(m):
        return Verdict("moveout", np.inf, outside)
    tried = [*(_interval(m, f) for f in INTERVALS), shift, velocity, _moveout(m) if ahead else None]
    working = [v for v in tried if v is not None and v.after <= EXPLAINED]
    if working:
        likeliest = replace(_likeliest(working, m), outside=outside)
        if m.muted and ahead and likeliest.name == "velocity":
            # what a mute leaves cannot be early: correction for moveout brings times forward, and its stretch is muted
            return replace(likeliest, name="moveout", value=0.0)
        return likeliest
    return Verdict("early" if ahead else "unclear", float(m.excess().min()), outside)


def _lines(m: Measured) -> tuple[BreakLine, BreakLine, BreakLine] | None:
    """Return the lines through the picks, through the earliest and through the latest arrivals of the model."""
    seen, early, late = (fit_line(m.distance, t) for t in (m.time, m.early, m.late))
    return None if seen is None or early is None or late is None else (seen, early, late)


def _flat(m: Measured) -> bool:
    """Return whether times do not grow with offset where those of the model grow by many periods."""
    lines = _lines(m)
    if lines is None or float(np.ptp(m.early)) < 2 * PERIODS * m.period:
        return False
    return lines[0].slowness < FLAT * min(line.slowness for line in lines[1:])


def _bend(seen: BreakLine, early: BreakLine, late: BreakLine) -> float:
    """Return by how much the arrivals of the model lie off a line, in the scale of the picks, s."""
    # times that do not grow with offset have no scale of their own
    return max(
        line.scatter * (max(1.0, seen.slowness / line.slowness) if line.slowness > 0 else 1.0)
        for line in (early, late)
    )


def _bends(m: Measured) -> bool:
    """Return whether picks lie further from a line than a third of a period and the bend of the model's arrivals."""
    lines = _lines(m)
    return lines is None or lines[0].scatter > 0.35 * m.period + 1.5 * _bend(*lines)


def _sharp(m: Measured, velocity: Verdict) -> bool:
    """Return whether picks lie on a line, as one wave along the surface does, half a period off the model's."""
    lines = _lines(m)
    if lines is None or lines[0].scatter > 0.25 * m.period:
        return False
    apart = abs(1.0 - 1.0 / velocity.value) * lines[0].slowness * float(np.ptp(m.distance))
    return apart >= 0.5 * m.period


def _likeliest(working: list[Verdict], m: Measured) -> Verdict:
    """Return the mistake that explains picks best; of wrong interval and wrong velocity the one of the right period.

    A wrong interval and a correction for moveout, which stretches, change the period of the data, too, which the
    wavelet tells; a wrong velocity does not.
    """
    best = min(v.after for v in working)
    close = {v.name: v for v in reversed(working) if v.after <= best + 0.1}
    if "interval" in close and len(close) > 1:
        as_is = abs(np.log(m.period / m.expected_period))
        mended = abs(np.log(m.period * close["interval"].value / m.expected_period))
        if mended > as_is:
            del close["interval"]
    if "interval" in close:
        return close["interval"]
    if "moveout" in close and len(close) > 1:
        as_is = abs(np.log(m.period / m.expected_period))
        if abs(np.log(m.period * _stretch(m, close["moveout"].value) / m.expected_period)) > as_is:
            del close["moveout"]
        else:
            return close["moveout"]
    return min(close.values(), key=lambda v: v.scatter)


def _interval(m: Measured, factor: float) -> Verdict:
    """Return how picks fit with another sampling interval."""
    time = m.start + factor * (m.time - m.start)
    return _undone(replace(m, time=time, period=factor * m.period), "interval", factor)


def _moveout(m: Measured) -> Verdict | None:
    """Return how picks fit once a correction for moveout is undone; the value is its velocity, m/s."""
    far = m.distance > 0
    if m.muted or not far.any():
        return None
    surface = float(np.median(m.distance[far] / m.late[far]))
    verdicts = []
    for v in (factor * surface for factor in CORRECTIONS):
        before = replace(m, time=np.hypot(m.time, m.distance / v), period=m.period * _stretch(m, v))
        verdicts.append(_undone(before, "moveout", v))
    return min(verdicts, key=lambda v: (v.after, v.scatter))


def _stretch(m: Measured, v: float) -> float:
    """Return the median part of their period that arrivals had before they were corrected with a velocity."""
    time = np.maximum(m.time, 1e-6)
    return float(np.median(time / np.hypot(time, m.distance / v)))


def _shift(m: Measured) -> Verdict | None:
    """Return how picks fit when all are moved by their median excess; None where that is within a period.

    That of the picks with narrow bounds, or else of those nearest to the source, where these are late by one time.
    """
    late = m.late_by()
    late = m.near_by() if late is None else late
    shift = -float(np.median(m.excess()) if late is None else late)
    if abs(shift) < m.period:
        return None
    return _undone(replace(m, time=m.time + shift), "shift", shift)


def _velocity(m: Measured) -> Verdict | None:
    """Return how picks fit a model whose velocities are wrong by one factor; the value is that of its traveltimes."""
    lines = _lines(m)
    if lines is None or not all(line.slowness > 0 for line in lines):
        return None
    seen, early, late = (line.slowness for line in lines)
    factor = seen / float(np.clip(seen, min(early, late), max(early, late)))
    if 1 / FACTOR < factor < FACTOR:
        return None
    return _undone(replace(m, early=factor * m.early, late=factor * m.late), "velocity", factor)


def _undone(m: Measured, name: str, value: float) -> Verdict:
    return Verdict(name, value, after=m.outside(STRICT), scatter=float(np.abs(m.excess()).mean()))
