"""Do the echoes of the data agree with those of a model, as it is given, nearly, or only when it is read otherwise.

Correlations of traces after the direct wave, of either sign, at a shift of a part of a period, as the phase of the
wavelet is seldom known. A model that is known to some ten per cent has its echoes at other times: it is compared with
faster and slower ones, too, and only what fits none of these is strange. It has to have echoes of its own, sharper than
those of smoothed velocities, where those of the data are heard; they must be alike within the zone that reflects, so
that columns can stand for them; and they must differ along the line, or the data not: a function of depth
alone says little of dipping layers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.acquisition.wavelet import Wavelet
from subsalt.check.echo_columns import Columns, Near, in_band
from subsalt.check.echo_readings import EchoReading, readings
from subsalt.earth.model_like import ModelLike

Array = NDArray[np.float64]

#: shift that is allowed, in periods: the phase of the wavelet is seldom known, and with either sign this is any phase
LAG = 0.25
#: Smallest correlation that says anything; standard deviations of that of unrelated traces that it must exceed, as
#: some shifts and both signs are tried; and the smallest, and how many times that of chance, where many velocities,
#: spacings and places are tried, too.
LEAST, CHANCE, MANY, MORE = 0.25, 4.5, 0.45, 1.35
#: how many times the energy must be explained that the model as given explains, and the same for a model in time
#: against one in depth with other velocities, which is nearly the same
TIMES, TIMED = 2.0, 1.25
#: part of the smallest correlation that says anything, up to which echoes are strange
STRANGE = 0.75
#: smallest reflection of a model, of the incident wave, from which it has echoes; from which they are those of layers,
#: not of smoothed ones; and largest that layers have
FAINT, SHARP, HARDEST = 0.01, 0.03, 0.4
#: correlation of neighbouring traces from which data are clear, of echoes of the model within the zone that reflects
#: from which its columns stand for them, and of echoes along the line up to which they differ
CLEAR, STEADY, SAME = 0.5, 0.35, 0.8
#: correlation from which columns do stand for layers, however steep
FITS = 0.6
#: part of the energy of the model's echoes that must come after the direct wave
HEARD = 0.5
#: independent samples of the data, below which nothing is said
FEW = 30
#: factors of velocities that are ordinary errors of a model
INEXACT = (0.88, 0.91, 0.94, 0.97, 1.0, 1.03, 1.06, 1.09, 1.12)
#: Factors that are tried before a turned model is named: of a model in depth with wrong velocities the echoes come too
#: early or too late, and may by chance be nearer to those of another reading.
STRETCH = (0.75, 0.8, 0.85, 0.9, 0.95, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3)
#: those beyond the ordinary: a model whose echoes fit better there is no ordinary one
BEYOND = tuple(f for f in STRETCH if not INEXACT[0] <= f <= INEXACT[-1])
#: readings that are tried with other velocities: the best ones
TRIED = 4


@dataclass(frozen=True)
class EchoAgreement:
    """Correlations of the echoes of a model and of the data.

    Parameters
    ----------
    given, inexact, best : float
        Correlations of the model as given, with velocities that are some per cent off, and in the best other reading.
    speed : float
        Factor of the velocities of `inexact`.
    least : float
        From which a correlation is none of chance.
    tried, second : str
        That other reading and the next best one, in words; empty when none was tried.
    how : EchoReading or None
        The other reading, where it is clearly the right one.
    other : bool
        Other readings fit, of which none is clearly the right one.
    why : str
        Why nothing can be said; empty when something can.
    """

    given: float = 0.0
    inexact: float = 0.0
    speed: float = 1.0
    best: float = 0.0
    least: float = 0.0
    tried: str = ""
    second: str = ""
    how: EchoReading | None = None
    other: bool = False
    why: str = ""

    @property
    def surely(self) -> float:
        """From which the best correlation of many that were tried is none of chance."""
        return max(self.least, MANY)


@dataclass
class EchoComparison:
    """Traces of small offset and the columns of a model below them.

    Parameters
    ----------
    model : ModelLike
        With velocities.
    near : Near
        Traces as recorded.
    axis : TimeAxis
        Time axis of their samples.
    wavelet : Wavelet
        Wavelet of the source.
    after : ndarray, (n,)
        Times at which the direct wave has passed, s.
    """

    model: ModelLike
    near: Near
    axis: TimeAxis
    wavelet: Wavelet
    after: Array

    def __post_init__(self) -> None:
        self.near, time = in_band(self.near, self.axis, self.wavelet, self.after)
        self.gain = np.where(time[None, :] > self.after[:, None], np.maximum(time, 0.0), 0.0)
        self.columns = Columns(self.model, self.near, time, self.wavelet)
        self.period, self.dt = 1.0 / self.wavelet.f0, float(time[1] - time[0])
        self.lags = min(round(LAG * self.period / self.dt), len(time) - 1)
        self.data = self.near.data * self.gain
        self.unit = _unit(self.data)
        #: of readings that were compared before: their correlation, and their strongest echo
        self._known: dict[EchoReading, tuple[float, float]] = {}
        self.speed = float(np.median(self.model.at(np.ascontiguousarray(self.near.src))))

    def usable(self) -> bool:
        """Return whether all values of the columns are velocities."""
        v = self.columns.velocities(EchoReading())
        return bool(np.isfinite(v).all() and (v > 0).all())

    def echoes(self, how: EchoReading) -> Array | None:
        """Return what a reading gives after the direct wave, louder with time, (n, nt)."""
        made = self.columns.echoes(how, self.after)
        return None if made is None else made * self.gain

    def score(self, how: EchoReading) -> float:
        """Return the correlation of a reading with the data; 0 where it makes no echoes."""
        return self._compared(how)[0]

    def _compared(self, how: EchoReading) -> tuple[float, float]:
        """Return the correlation of a reading, and its strongest echo after the direct wave, of the incident wave."""
        if how not in self._known:
            made = self.columns.echoes(how, self.after)
            if made is None:
                return 0.0, 0.0
            size = float(np.abs(self.wavelet.samples).max())
            strongest = float(np.abs(made * (self.gain > 0)).max()) / size
            self._known[how] = _shifted(self.unit, _unit(made * self.gain), self.lags), strongest
        return self._known[how]

    def best_speed(self, how: EchoReading, speeds: tuple[float, ...] = INEXACT) -> tuple[float, float]:
        """Return the largest correlation of a reading with faster or slower velocities, and the factor."""
        return max((self.score(how.faster(f)), f) for f in speeds)

    def strongest(self, how: EchoReading) -> float:
        """Return the strongest echo of a reading after the direct wave, of the incident wave."""
        return self._compared(how)[1]

    def heard(self) -> float:
        """Return which part of the energy of the model's echoes comes after the direct wave."""
        made, after = self.columns.echoes(EchoReading()), self.echoes(EchoReading())
        if made is None or after is None:
            return 0.0
        return float((after**2).sum()) / max(float(((made * self.gain) ** 2).sum()), 1e-300)

    def steady(self, how: EchoReading) -> float:
        """Return how alike the echoes of the model are within the zone that reflects.

        A quarter of the diameter of the first Fresnel zone, ``2 sqrt(lambda z / 2)``, in the middle of the model, or of
        what the records show of it.
        """
        grid = self.model.grid
        deep = 0.5 * min((grid.shape[-1] - 1) * grid.spacing[-1], 0.5 * self.speed * self.axis.duration)
        far = 0.5 * float(np.sqrt(0.5 * self.speed * self.period * deep))
        here = self.columns.echoes(how, self.after)
        if here is None:
            return 0.0
        sides = [np.array(by) for by in ((far, 0.0, 0.0), (0.0, far, 0.0))[: grid.ndim - 1]]
        likenesses = []
        for k, by in enumerate(s * side for side in sides for s in (1, -1)):
            beside = replace(how, what=f"{how.what}, beside {k}", place=lambda p, by=by: how.place(p) + by)  # type: ignore[misc]
            there = self.columns.echoes(beside, self.after)
            likenesses.append(
                likeness(here * self.gain, there * self.gain, self.lags) if there is not None else 0.0
            )
        return min(likenesses)

    def along(self) -> tuple[float, float]:
        """Return how alike echoes are along the line: of the model, and of the data."""
        half = np.roll(np.arange(len(self.data)), len(self.data) // 2)
        here = self.columns.echoes(EchoReading(), self.after)
        data = likeness(self.data, self.data[half], self.lags)
        if here is None:
            return 1.0, data
        middle = self.columns.echoes(
            EchoReading("in the middle", lambda p: np.broadcast_to(np.median(p, axis=0), p.shape)), self.after
        )
        return (1.0 if middle is None else likeness(here * self.gain, middle * self.gain, self.lags)), data

    @property
    def independent(self) -> float:
        """Independent samples of the data: two in a period, of each shot, as neighbouring traces are alike."""
        return self.near.shots * 2 * float((self.gain > 0).sum(axis=1).mean()) * self.dt / self.period

    def alike(self) -> float:
        """Return the median correlation of neighbouring traces after the direct wave, over small shifts.

        Neighbours in a shot, or of one offset in neighbouring shots, where receivers are sparse.
        """
        rows = [np.flatnonzero(self.near.shot == shot) for shot in np.unique(self.near.shot)]
        in_shots = [pair for of in rows for pair in pairwise(of.tolist())]
        offset = self.near.offset
        across = [(int(a[0]), int(b[np.abs(offset[b] - offset[a[0]]).argmin()])) for a, b in pairwise(rows)]
        medians = [
            np.median([likeness(self.data[[i]], self.data[[k]], self.lags) for i, k in pairs])
            for pairs in (in_shots, across)
            if pairs
        ]
        return float(max(medians, default=0.0))


def compare(of: EchoComparison, holds: Callable[[EchoReading], bool]) -> EchoAgreement:
    """Return how the echoes of the data agree with those of the model as given, nearly, and read otherwise.

    Parameters
    ----------
    holds : callable
        Whether a model that is read so holds the survey.
    """
    if of.independent < FEW:
        return EchoAgreement(
            why=f"too little of the records comes after the direct wave: {of.independent / 2:.0f} periods"
        )
    candidates = readings(
        of.model.grid, of.near.middle, of.near.src, of.near.shot, 0.25 * of.speed * of.period
    )
    least = max(LEAST, CHANCE / float(np.sqrt(max(of.independent, 1.0))))
    given = of.score(candidates[0])
    agreement = EchoAgreement(given, given, 1.0, given, least)
    # nothing explains so much more
    if TIMES * given**2 > 1.0:
        return agreement
    inexact, speed = of.best_speed(candidates[0])
    agreement = replace(agreement, inexact=inexact, speed=speed)
    agreement = _otherwise(of, agreement, [how for how in candidates[1:] if holds(how)])
    if agreement.other or given >= least:
        return agreement
    return _strange(of, agreement)


def _otherwise(of: EchoComparison, agreement: EchoAgreement, candidates: list[EchoReading]) -> EchoAgreement:
    """Return the same with the best other reading, and whether it is clearly the right one."""
    ranked = sorted(((of.score(how), k) for k, how in enumerate(candidates)), reverse=True)
    scores: list[tuple[float, EchoReading]] = []
    for first, k in ranked[: 2 * TRIED]:
        how = candidates[k]
        # of what is smooth a turned model can be told, not one of other numbers
        faintest = FAINT if how.flip or how.axes else SHARP
        if not faintest <= of.strongest(how) <= HARDEST or (how.held != "interval" and not _layered(of, how)):
            continue
        scores.append((max(first, of.best_speed(how)[0]) if len(scores) < TRIED else first, how))
    if not scores:
        return agreement
    scores.sort(key=lambda s: s[0], reverse=True)
    best, how = _simplest(scores)
    rivals = [s for s in scores if s[1].family != how.family and not _more_of(how, s[1])]
    if any(_more_of(how, other) and TIMED * score**2 > best**2 for score, other in scores):
        how = replace(how, what=f"{how.what}, whatever it is across")
    second = rivals[0][1].what if rivals else ""
    agreement = replace(agreement, best=best, tried=how.what, second=second)
    turned = bool(how.flip or how.axes)
    if (
        best < (agreement.least if turned else max(MANY, MORE * agreement.least))
        or best**2 < TIMES * agreement.inexact**2
    ):
        return agreement
    wide = max(agreement.inexact, of.best_speed(EchoReading(), STRETCH)[0]) if turned or how.timed else 0.0
    if best**2 < (TIMED if how.timed else TIMES) * wide**2:
        return agreement
    # where layers are steep, echoes come from beside: from another place or depth than that of a column
    if not turned and best < FITS and of.steady(how) < STEADY:
        return agreement
    clear = not rivals or best**2 >= TIMED * rivals[0][0] ** 2
    return replace(agreement, how=how if clear else None, other=True)


def _simplest(scores: list[tuple[float, EchoReading]]) -> tuple[float, EchoReading]:
    """Return the best reading; of spacings that fit as well the one that changes fewer of them, along z first."""
    best, how = scores[0]
    if how.family == "spacing xz":
        for score, other in scores[1:]:
            fewer = other.family in ("spacing z", "spacing x") and set(other.spacing) <= {1.0, how.factor}
            if fewer and score >= 0.95 * best:
                return score, other
    return best, how


def _more_of(how: EchoReading, other: EchoReading) -> bool:
    """Return whether another reading changes the spacing along z as one does that changes no more."""
    return how.family == "spacing z" and other.family == "spacing xz" and other.factor == how.factor


def _layered(of: EchoComparison, how: EchoReading) -> bool:
    """Return whether interval velocities from others change in steps, as those of layers do.

    Of velocities that were only smoothed they change over some nodes: the largest change is no larger than its
    neighbours.
    """
    spikes = of.columns.spikes(how)
    if spikes is None:
        return False
    size = np.abs(spikes[1])
    size[spikes[0] + of.wavelet.peak_time < of.after[:, None]] = 0.0
    k = np.clip(size.argmax(axis=1), 2, size.shape[1] - 3)
    rows = np.arange(len(size))
    beside = np.maximum(size[rows, k - 2], size[rows, k + 2])
    return bool(
        np.median(size[rows, k]) >= SHARP and np.median(size[rows, k] / np.maximum(beside, 1e-9)) >= 3.0
    )


def _strange(of: EchoComparison, agreement: EchoAgreement) -> EchoAgreement:
    """Return the same with the reason why low correlations say nothing, if there is one."""
    if agreement.inexact >= agreement.surely:
        return _beyond(of, agreement)
    strongest = of.strongest(EchoReading())
    if strongest < FAINT:
        return replace(
            agreement, why=f"the model has none after the direct wave: its strongest reflects {strongest:.1%}"
        )
    if of.alike() < CLEAR:
        return replace(agreement, why="neighbouring traces are unlike each other: noise, or too far apart")
    if agreement.inexact > STRANGE * agreement.least:
        why = (
            f"a correlation of {agreement.inexact:.2f} with those of the model says neither yes nor no, "
            f"{agreement.surely:.2f} would"
        )
    elif strongest < SHARP:
        why = f"layers of the model are smooth: its strongest reflects {strongest:.1%}"
    elif of.heard() < HEARD:
        why = "most echoes of the model come with the direct wave"
    elif of.steady(EchoReading()) < STEADY:
        why = "layers of the model change too fast along the line for columns to stand for them"
    else:
        model, data = of.along()
        why = (
            "those of the data change along the line, those of the model do not"
            if model > SAME > data
            else ""
        )
    return replace(agreement, why=why)


def _beyond(of: EchoComparison, agreement: EchoAgreement) -> EchoAgreement:
    """Return the same, unless velocities that are further off than ordinary ones fit better."""
    if agreement.speed not in (INEXACT[0], INEXACT[-1]):
        return agreement
    wider, speed = of.best_speed(EchoReading(), tuple(f for f in BEYOND if (f > 1) == (agreement.speed > 1)))
    if wider <= agreement.inexact:
        return agreement
    side = "higher" if speed > 1 else "lower"
    why = f"they fit those of a model whose velocities are {abs(speed - 1):.0%} {side} ({wider:.2f})"
    if agreement.best > agreement.inexact:
        why += f", or if {agreement.tried} ({agreement.best:.2f}): they do not tell which"
    return replace(agreement, why=why)


def likeness(data: Array, made: Array, lags: int) -> float:
    """Return the largest correlation of traces, of either sign, over shifts common to all."""
    return _shifted(_unit(data), _unit(made), lags)


def _shifted(one: Array, other: Array, lags: int) -> float:
    """Return the largest mean product of traces, of either sign, over shifts common to all."""
    # zeros behind each trace keep a shift from reaching the next one, and make of all traces one vector
    rows, nt = one.shape
    padded = np.zeros((2, rows, nt + lags))
    padded[0, :, :nt], padded[1, :, :nt] = one, other
    a, b = padded.reshape(2, -1)
    n = len(a)
    products = [abs(float(np.dot(x[k:], y[: n - k]))) for k in range(lags + 1) for x, y in ((a, b), (b, a))]
    return max(products) / len(one)


def _unit(x: Array) -> Array:
    size = np.sqrt((x**2).sum(axis=1, keepdims=True))
    return np.divide(x, size, out=np.zeros_like(x), where=size > 0)
