"""Echoes of the model against those of the data: is the model the right way round, in depth, and in metres.

Near a source the data hold the echoes of the layers below it. Those of the model follow from its columns: at the
two-way time of every change of velocity, ``t^2 = t0^2 + x^2 / v^2`` with the rms velocity down to there, comes the
wavelet with the size of half the relative change. They are compared by a correlation, after the direct wave has passed,
over some traces at small offsets of shots along the survey. The same model read in another way (x backward, depths that
are milliseconds of two-way time, feet) gives other echoes. Where one of those fits and the model as it is does not,
that is the mistake. A smooth model has no echoes; then, in noise and below
topography, nothing is compared, and that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.wavelet import Wavelet
from subsalt.check.context import Context, ok, rule, unchecked, warning
from subsalt.check.first_breaks import placed
from subsalt.check.line import model_axes_key
from subsalt.check.looked_at import samples, traces_of
from subsalt.check.orientation import tables_with
from subsalt.check.units import FOOT, in_feet
from subsalt.earth.grid import Grid
from subsalt.earth.model_like import ModelLike
from subsalt.errors import Finding, SubsaltError

Array = NDArray[np.float64]

#: shots and traces of each that are compared, and most depths of a column
SHOTS, TRACES, DEPTHS = 24, 6, 512
#: shift that is allowed, in periods: the phase of the wavelet is seldom known
LAG = 0.35
#: Smallest correlation that says anything; standard deviations of that of unrelated traces that it must exceed, as some
#: readings, shifts and both signs are tried; and how many times the energy must be explained that the model as given
#: explains.
LEAST, CHANCE, TIMES = 0.25, 4.5, 2.0
#: the same for a model in time against one in depth with other velocities, which is nearly the same
TIMED = 1.25
#: smallest reflection of a model, of the incident wave, that counts; correlation up to which echoes are strange; and
#: correlation of neighbouring traces from which data are clear (right models on clean surveys: 0.32 to 0.57, wrong ones
#: at most 0.15)
FAINT, STRANGE, CLEAR = 0.01, 0.15, 0.5
#: independent samples of the data, below which nothing is said
FEW = 30
#: what others have said, and what makes the comparison meaningless
SAID = ("_axes_wrong", "_mirrored", "_perhaps_feet", "_null_vp", "_corrected", "_reversed")
#: Factors of velocities that are tried before another reading is named: of a model in depth with wrong velocities the
#: echoes come too early or too late, and may by chance be nearer to those of another reading.
STRETCH = (0.75, 0.8, 0.85, 0.9, 0.95, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3)


@dataclass(frozen=True)
class Near:
    """Traces at small offsets.

    Parameters
    ----------
    shot : ndarray, (n,), int
        Which of the shots that were looked at.
    src, rcv : ndarray, (n, 3)
        Where they stand, m.
    data : ndarray, (n, nt)
        Samples.
    """

    shot: NDArray[np.int64]
    src: Array
    rcv: Array
    data: Array

    @property
    def shots(self) -> int:
        """Number of shots."""
        return len(np.unique(self.shot))

    @property
    def offset(self) -> Array:
        """Horizontal distances from the sources, m."""
        return np.asarray(np.hypot(*(self.rcv - self.src)[:, :2].T))

    @property
    def distance(self) -> Array:
        """Distances from the sources, m: receivers may lie on the sea floor."""
        return np.asarray(np.sqrt(((self.rcv - self.src) ** 2).sum(axis=1)))

    @property
    def middle(self) -> Array:
        """Midpoints."""
        return 0.5 * (self.src + self.rcv)


def near_traces(context: Context) -> Near | None:
    """Return the traces nearest to their sources of some shots, before any mute; None where they cannot be had.

    Dense records of time slices are not read anew: there the shots that were read to be looked at have to do.
    """
    survey = context.survey
    assert survey is not None
    if not survey.shots:
        return None
    reader = getattr(survey.reader, "inner", survey.reader)
    cheap = hasattr(reader, "layouts") or any(s.data is not None for s in survey.shots)
    few = np.unique(np.linspace(0, len(survey.shots) - 1, SHOTS).round().astype(int))
    shots = [survey.shots[int(i)] for i in few] if cheap else [s.shot for s in context.samples]
    held = {id(s.shot): s.data for s in samples(context)}
    src, rcv, data = [], [], []
    for shot in shots:
        rows = np.sort(np.argsort(shot.offset, kind="stable")[:TRACES])
        try:
            found = held[id(shot)][rows] if id(shot) in held else traces_of(context, shot, rows)
        except SubsaltError:
            continue  # whoever reads all of the data says so
        if len(rows) and found.shape[1] == survey.time.nt and np.isfinite(found).all():
            src.append(np.broadcast_to(shot.src, (len(rows), 3)))
            rcv.append(shot.rcv[rows])
            data.append(found.astype(np.float64))
    if not data:
        return None
    number = np.repeat(np.arange(len(data)), [len(d) for d in data])
    return Near(number, np.concatenate(src), np.concatenate(rcv), np.concatenate(data))


@dataclass(frozen=True)
class Reading:
    """A way to read a model.

    Parameters
    ----------
    what : str
        What would be wrong, in words.
    place : callable
        Positions on the model as it is given, of those on the survey.
    unit : float
        Metres of a unit of its lengths.
    timed : bool
        Its last axis is two-way time in ms.
    flip, axes : str
        Axes that run backwards, and their order, slowest first.
    """

    what: str = ""
    place: Callable[[Array], Array] = np.array
    unit: float = 1.0
    timed: bool = False
    flip: str = ""
    axes: str = ""


def readings(grid: Grid) -> list[Reading]:
    """Return the ways to read a model, the one that is given first."""
    low = np.array(grid.origin3)
    both = 2 * low + (np.array(grid.shape3) - 1) * np.array(grid.spacing3)

    def turned(letters: str) -> Reading:
        axes = ["xyz".index(x) for x in letters]
        words = " and ".join(letters) + (" axes run" if len(letters) > 1 else " axis runs")
        return Reading(
            f"the {words} backward",
            lambda p: np.where(np.isin(np.arange(3), axes), both - p, p),
            flip=letters,
        )

    out = [
        Reading(),
        turned("x"),
        Reading("its last axis is two-way time in ms, not depth in m", timed=True),
        Reading("its lengths are in feet", lambda p: p / FOOT, FOOT),
    ]
    if grid.ndim == 3:
        exchanged = Reading("its x and y axes are exchanged", lambda p: p[:, [1, 0, 2]], axes="yxz")
        out += [turned("y"), turned("xy"), exchanged]
    return out


def echoes(model: ModelLike, near: Near, time: Array, wavelet: Wavelet, how: Reading) -> Array:
    """Return what a model that is read in some way gives at the traces, (n, nt)."""
    grid, n = model.grid, len(near.data)
    z = grid.axis(-1)[:: -(-grid.shape[-1] // DEPTHS)]
    where = np.repeat(how.place(near.middle)[:, None, :], len(z), axis=1)
    where[:, :, 2] = z
    v = model.at(where.reshape(-1, 3)).astype(np.float64).reshape(n, len(z))
    dz = float(z[1] - z[0])
    step = np.full(v.shape, 1e-3 * dz) if how.timed else 2 * dz * how.unit / v
    t0 = np.cumsum(step, axis=1) - 0.5 * step
    squared = np.cumsum(v * v * step, axis=1) / np.cumsum(step, axis=1)
    # sources and receivers stand below the top of the model, in its first layer
    depth = near.src[:, 2:] + near.rcv[:, 2:] - 2 * how.unit * grid.origin[-1]
    arrival = np.sqrt(np.maximum(t0 - depth / v[:, :1], 0.0) ** 2 + near.offset[:, None] ** 2 / squared)
    size = np.zeros_like(v)
    size[:, 1:] = 0.5 * np.diff(np.log(v), axis=1)
    # what lies above a station sends it nothing back up
    size[t0 <= depth / v[:, :1]] = 0.0
    dt = time[1] - time[0]
    at = (arrival + wavelet.t0 - time[0]) / dt
    first = np.floor(at).astype(np.int64)
    spikes = np.zeros((n, len(time)))
    rows = np.broadcast_to(np.arange(n)[:, None], first.shape)
    for k, weight in ((first, size * (1 - (at - first))), (first + 1, size * (at - first))):
        inside = (k >= 0) & (k < len(time))
        np.add.at(spikes, (rows[inside], k[inside]), weight[inside])
    pulse_time = wavelet.t0 + dt * np.arange(int((wavelet.duration - wavelet.t0) / dt) + 2)
    pulse = np.interp(pulse_time, wavelet.times(), wavelet.samples, 0, 0)
    whole = len(time) + len(pulse)
    found = np.fft.irfft(np.fft.rfft(spikes, whole) * np.fft.rfft(pulse, whole), whole)
    return np.asarray(found[:, : len(time)])


def likeness(data: Array, made: Array, lags: int) -> float:
    """Return the largest correlation of traces, of either sign, over shifts common to all."""
    n = data.shape[1] + lags
    spectrum = np.fft.rfft(_unit(data), n) * np.conj(np.fft.rfft(_unit(made), n))
    c = np.fft.irfft(spectrum.sum(axis=0), n) / len(data)
    return float(np.abs(np.concatenate([c[: lags + 1], c[n - lags :]])).max())


def _unit(x: Array) -> Array:
    size = np.sqrt((x**2).sum(axis=1, keepdims=True))
    return np.divide(x, size, out=np.zeros_like(x), where=size > 0)


@rule("echoes", "survey", "velocity", "wavelet")
def echoes_agree(context: Context) -> Iterator[Finding]:
    """The echoes of the model against those of the data: alike, not comparable, or alike in another reading only."""
    verdicts = context.facts.get("first_breaks", {}).get("verdicts", {})
    if context.modelling or not context.judge_breaks or verdicts.keys() & {"interval", "shift", "early"}:
        return
    if any(context.facts.get(k) for k in SAID) or not placed(context):
        return
    if context.propagation.topography is not None:
        yield unchecked("echoes", "below topography they are not compared with those of the model")
        return
    if (near := near_traces(context)) is None:
        return
    found = _compared(context, near)
    where = f"{len(near.data)} traces of {near.shots} shots at offsets to {near.offset.max():.0f} m"
    if found.why:
        yield unchecked("echoes", f"{found.why} ({where})")
    elif found.how is not None:
        yield warning(
            "W371",
            f"echoes of [model] vp are not those of the data ({where}, correlation {found.given:.2f}), but would be if "
            f"{found.how.what} ({found.best:.2f})",
            _cure(context, found.how),
            given=found.given,
            best=found.best,
        )
    elif found.given >= found.least:
        yield ok(
            f"echoes  correlation {found.given:.2f} with those of the model ({where})", given=found.given
        )
    else:
        yield warning(
            "W372",
            f"echoes of the data ({where}) are not those of [model] vp: correlation {found.given:.2f}, where right "
            f"models have 0.3 and more; no other reading of the model fits, the best, {found.tried}, has "
            f"{found.best:.2f}",
            "check depths and datum of the model, whether its velocities are interval velocities, the places of the "
            "shots, and the side on which receivers stand; a model that is known to be rough is no fault",
            given=found.given,
            best=found.best,
        )


@dataclass(frozen=True)
class Compared:
    """Correlations of the echoes of a model and of the data.

    Parameters
    ----------
    given, best : float
        Of the model as it is, and of the best other reading.
    least : float
        From which a correlation is none of chance.
    tried : str
        What that other reading is.
    how : Reading or None
        The other reading, where it is clearly the right one.
    why : str
        Why nothing can be said; empty when something can.
    """

    given: float = 0.0
    best: float = 0.0
    least: float = 0.0
    tried: str = ""
    how: Reading | None = None
    why: str = ""


def _compared(context: Context, near: Near) -> Compared:
    """Return how the echoes of the data agree with those of the model as given, and read otherwise."""
    assert context.model is not None
    assert context.wavelet is not None
    assert context.survey is not None
    model, wavelet, time = context.model, context.wavelet, context.survey.time.values()
    if len(time) < 2 or model.grid.shape[-1] < 3:
        return Compared(why="the records, or the model, have no depth")
    gain = np.where(time[None, :] > after_direct(context, near)[:, None], np.maximum(time, 0.0), 0.0)
    period, dt = 1.0 / wavelet.f0, context.survey.time.dt
    lags = min(int(LAG * period / dt), len(time) - 1)
    made = echoes(model, near, time, wavelet, Reading())
    strongest = float(np.abs(made * (gain > 0)).max()) / float(np.abs(wavelet.samples).max())

    def score(how: Reading) -> float:
        return likeness(near.data * gain, echoes(model, near, time, wavelet, how) * gain, lags)

    asked = readings(model.grid)
    given, *scores = [score(how) for how in asked]
    best, how = max(zip(scores, asked[1:], strict=True), key=lambda s: s[0])
    # independent samples: two in a period, of each shot, as neighbouring traces are alike
    independent = near.shots * 2 * float((gain > 0).sum(axis=1).mean()) * dt / period
    least = max(LEAST, CHANCE / float(np.sqrt(max(independent, 1.0))))
    clear = alike(near, gain, lags)
    facts = {"given": given, "best": best, "reading": how.what, "alike": clear, "strongest": strongest}
    context.facts["echoes"] = facts
    found = Compared(given, best, least, how.what)
    if best >= least and best**2 >= TIMES * given**2:
        # velocities that are too low or too high are another matter; of times alone a model in time is nearly one
        stretched = max(score(Reading(unit=1 / f)) for f in STRETCH)
        facts["other_velocity"] = stretched
        if best**2 >= (TIMED if how.timed else TIMES) * stretched**2:
            return replace(found, how=how)
    if given >= least:
        return found
    if strongest < FAINT:
        return replace(found, why=f"the model has none: its strongest reflects {strongest:.1%}")
    if clear < CLEAR:
        return replace(found, why="neighbouring traces are unlike each other: noise, or too far apart")
    if independent < FEW or given > STRANGE:
        why = (
            f"a correlation of {given:.2f} with those of the model says neither yes nor no, {least:.2f} would"
        )
        return replace(found, why=why)
    return found


def alike(near: Near, gain: Array, lags: int) -> float:
    """Return the median correlation of neighbouring traces of a shot after the direct wave, over small shifts."""
    found = []
    for shot in np.unique(near.shot):
        rows = np.flatnonzero(near.shot == shot)
        for a, b in pairwise(rows.tolist()):
            found.append(likeness(near.data[[a]] * gain[a], near.data[[b]] * gain[b], lags))
    return float(np.median(found)) if found else 0.0


def after_direct(context: Context, near: Near) -> Array:
    """Return the times at which the direct wave has passed, s."""
    assert context.model is not None
    assert context.wavelet is not None
    v = context.model.at(np.ascontiguousarray(near.src)).astype(np.float64)
    return np.asarray(near.distance / v + context.wavelet.peak_time + 1.5 / context.wavelet.f0)


def _cure(context: Context, how: Reading) -> str:
    """Return how to say that a model is to be read in another way."""
    vp = context.parameters.get("vp")
    if how.timed:
        return (
            "if it is, convert [model] vp from time to depth first; if not, its depths and velocities do not give the "
            "times of the data"
        )
    if vp is None or vp.grid is None or context.resampling:
        return "correct [model]"
    if how.unit != 1.0:
        return in_feet(context) or "give spacing and origin of [model] vp in metres"
    if how.axes:
        cure = model_axes_key(context) or "exchange the axes of [model]"
    else:
        flip = "".join(sorted(set(vp.given.get("flip") or "") ^ set(how.flip))) or None
        cure = f"[model] {tables_with(context, vp, 'flip', flip)}"
    return (
        f"if it is stored so: {cure}; else look for the same in the coordinates of the survey ([data] frame)"
    )
