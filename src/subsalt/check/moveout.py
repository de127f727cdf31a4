"""Moveout of the recorded events: data that are stacked, or corrected for moveout, are no shot records.

Semblance of a window along the hyperbola that the model's rms velocity gives, and along no moveout at all. Only times
are compared at which the two differ by more than a period and a half at the far offset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.band import cut_low, dominant_period, finite
from subsalt.acquisition.first_breaks import FEWEST, spread
from subsalt.check.context import Context, SampledShot, error, rule, warning
from subsalt.check.looked_at import cut_of, samples
from subsalt.check.travel_bounds import bounds
from subsalt.earth.model_like import ModelLike
from subsalt.errors import Finding

#: factors of the rms velocity that are tried: structure and wrong velocities bend events
FACTORS = np.array([0.75, 0.85, 1.0, 1.15, 1.3])
#: windows that must differ, their mean semblance without moveout (incoherent traces have 1 over their number), and by
#: which factor it must be the larger; field gathers have about half, and corrected ones four times
WINDOWS, FLAT, MORE = 3, 0.15, 2.0
#: semblance without moveout, and how much must be left of it over the other, from which that is certain
SURE, OVER = 0.4, 0.3
#: periods without a wave at the start of a trace that are enough to be judged; amplitude there over that of the
#: strongest arrival, and over that at the end of the trace, from which it is no noise
QUIET, LOUD, DECAY = 3, 0.1, 3.0
#: factors of the sampling interval that are tried
INTERVALS = (0.5, 2.0)
#: m; receivers closer to their source are at it
AT_THE_SOURCE = 1.0

Velocity = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def flatness(
    data: NDArray[np.float32], offset: NDArray[np.float64], dt: float, t0: float, velocity: Velocity
) -> tuple[float, float, int]:
    """Return mean semblance without moveout, with the best hyperbola, and the number of windows.

    Parameters
    ----------
    data : ndarray, (n, nt)
        Traces.
    offset : ndarray, (n,)
        Offsets, m.
    dt, t0 : float
        Sampling interval and time of the first sample, s.
    velocity : callable
        rms velocity (m/s) at two-way times (s).
    """
    period = dominant_period(data, dt)
    x = finite(data)
    # every trace counts alike in every window of a few periods, as gain control does it
    # no longer than the record, which would come out as long as the window
    width = min(max(3, round(4 * period / dt)), x.shape[1])
    power = np.apply_along_axis(np.convolve, 1, x**2, np.ones(width) / width, "same")
    level = np.sqrt(power)
    x = np.divide(x, level, out=np.zeros_like(x), where=level > 1e-3 * level.max())
    half = max(1, round(period / dt))
    flat, bent = [], []
    windows = _Windows(x, half)
    for t in t0 + dt * np.arange(2 * half, x.shape[1] - 2 * half, half):
        if t <= 0:
            continue
        v = float(velocity(np.array([t]))[0])
        here = windows.about(np.full(len(x), (t - t0) / dt))
        there = windows.about((np.hypot(t, offset / (FACTORS[:, None] * v)) - t0) / dt)
        # what a mute or the end of the record leaves of both
        live = here.any(axis=1) & there.any(axis=2).all(axis=0)
        far = float(offset[live].max(initial=0.0))
        if live.sum() < FEWEST or np.hypot(t, far / (FACTORS[-1] * v)) - t < 1.5 * period:
            continue
        flat.append(_semblance(here[live]))
        bent.append(max(_semblance(c[live]) for c in there))
    if not flat:
        return 0.0, 0.0, 0
    # windows without an event say nothing: those of the highest semblance of either kind do
    strong = np.argsort(-np.maximum(flat, bent), kind="stable")[: max(WINDOWS, len(flat) // 4)]
    return float(np.mean(np.array(flat)[strong])), float(np.mean(np.array(bent)[strong])), len(flat)


class _Windows:
    """Windows of traces (n, nt), `half` samples to either side of their middles; zeros beyond the record."""

    def __init__(self, x: NDArray[np.float64], half: int) -> None:
        self.nt, self.half = x.shape[1], half
        # room for a window that lies beyond either end
        self.padded = np.pad(x, ((0, 0), (2 * half + 1, 2 * half + 1)))
        self.begins = np.arange(len(x)) * self.padded.shape[1]
        self.places = np.arange(2 * half + 1)

    def about(self, middle: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return windows (..., n, 2 half + 1) about samples (..., n), which are rounded."""
        width = 2 * self.half + 1
        first = np.clip(np.round(middle).astype(np.int64) - self.half, -width, self.nt) + width
        return self.padded.ravel()[(self.begins + first)[..., None] + self.places]


def _semblance(part: NDArray[np.float64]) -> float:
    whole = float((part**2).sum())
    return float((part.sum(axis=0) ** 2).sum() / (len(part) * whole)) if whole > 0 else 0.0


def rms_velocity(context: Context) -> Velocity:
    """Return the rms velocity beneath the middle of the survey, by two-way time."""
    assert context.model is not None
    assert context.survey is not None
    grid = context.model.grid
    low, high = context.survey.bounds
    z = grid.axis(-1)
    where = np.repeat(((low + high) / 2)[None], len(z), axis=0)
    where[:, 2] = z
    v = context.model.at(where).astype(np.float64)
    step = 2 * grid.spacing[-1] / v
    time = np.cumsum(step)
    rms = np.sqrt(np.cumsum(v**2 * step) / time)
    return lambda t: np.interp(t, time, rms)


@rule("moveout", "survey")
def stacked(context: Context) -> Iterator[Finding]:
    """Every receiver stands at its source: a zero-offset or a stacked section."""
    if context.modelling or context.facts.get("_stacked"):
        return
    assert context.survey is not None
    shots = context.survey.shots
    if len(shots) < 2 or any(len(s.rcv) and s.offset.max() > AT_THE_SOURCE for s in shots):
        return
    traces = sum(len(s.rcv) for s in shots)
    yield warning(
        "W355",
        f"all {traces} traces of {len(shots)} shots have their receiver at the source: a zero-offset or a stacked "
        "section, which is imaged trace by trace as shots of one receiver",
        'give the shots before stacking; zero-offset data are migrated in time as they are: method = "kirchhoff"; if '
        "these are shots: [data.bytes] receiver_x = ..., receiver_y = ... where the receivers stand",
        shots=len(shots),
    )


@rule("moveout", "survey", "samples", "velocity")
def corrected(context: Context) -> Iterator[Finding]:
    """Events without moveout: the data are corrected for it."""
    if context.modelling or not context.judge_breaks:
        return
    assert context.survey is not None
    time, velocity, cut = context.survey.time, rms_velocity(context), cut_of(context)

    def flatnesses(factor: float) -> list[tuple[float, float, int]]:
        every = [_of_shot(i, time.nt, time.dt, time.t0, velocity, cut, factor) for i in samples(context)]
        return [f for f in every if f is not None]

    seen = flatnesses(1.0)
    if judged := [s for s in seen if s[2] >= WINDOWS]:
        context.facts["_semblance"] = tuple(float(np.median([s[i] for s in judged])) for i in (0, 1))
    findings = list(corrected_findings(seen, "shots"))
    if findings and (other := _other_interval(context, seen, flatnesses)) is not None:
        # an interval that is wrong bends hyperbolas, and explains the period of the data, too
        context.facts["_interval"] = other
        return
    context.facts["_corrected"] = bool(findings)
    yield from findings


def _other_interval(
    context: Context,
    seen: list[tuple[float, float, int]],
    flatnesses: Callable[[float], list[tuple[float, float, int]]],
) -> tuple[float, float, float] | None:
    """Return the factor of the sampling interval with which events have moveout, and both semblances; None for none.

    Their semblance along hyperbolas is then that at equal times or more, and their period nearer to the wavelet's.
    """
    if context.wavelet is None or context.survey is None:
        return None
    own = samples(context)
    period = float(
        np.median(
            [
                dominant_period(
                    cut_low(i.data, context.survey.time.dt, cut_of(context)), context.survey.time.dt
                )
                for i in own
            ]
        )
    )
    expected, flat = 1.0 / context.wavelet.f0, float(np.median([s[0] for s in seen]))
    best = None
    for factor in INTERVALS:
        bent = [s[1] for s in flatnesses(factor) if s[2] >= WINDOWS]
        nearer = abs(np.log(factor * period / expected)) < abs(np.log(period / expected))
        if bent and nearer and float(np.median(bent)) >= flat and (best is None or np.median(bent) > best[2]):
            best = factor, flat, float(np.median(bent))
    return best


def _of_shot(
    item: SampledShot,
    nt: int,
    dt: float,
    t0: float,
    velocity: Velocity,
    cut: float = 0.0,
    factor: float = 1.0,
) -> tuple[float, float, int] | None:
    """Return the flatness of a shot after a low cut, with another sampling interval; None for too few traces."""
    rows = spread(len(item.data), 48)
    if len(rows) < 6 or item.data.shape[1] != nt:
        return None
    # of equal offsets events are flat whatever the data
    if float(np.ptp(item.shot.offset[rows])) <= 0:
        return None
    return flatness(cut_low(item.data[rows], dt, cut), item.shot.offset[rows], factor * dt, t0, velocity)


def energy_before(item: SampledShot, model: ModelLike, nt: int, dt: float, t0: float) -> tuple[int, int]:
    """Return in how many traces there is energy before anything can arrive, and how many can tell.

    Those can whose first arrival comes `QUIET` periods after their start, and later. Noise is as strong at the end of
    a trace as at its start, a recorded wave decays; and noise that is weak is none.
    """
    rows = spread(len(item.data), 48)
    if item.data.shape[1] != nt or len(rows) < FEWEST:
        return 0, 0
    x = finite(item.data[rows])
    period = dominant_period(item.data[rows], dt)
    early, _ = bounds(model, item.shot.src, item.shot.rcv[rows])
    end = np.floor((early - t0 - period) / dt).astype(int)
    width = max(2, round(period / dt))
    loud = judged = 0
    for trace, stop in zip(x, end, strict=True):
        if not (QUIET - 1) * width <= stop < nt // 2 or not trace.any():
            continue
        judged += 1
        power = np.convolve(trace**2, np.ones(width) / width, "valid")
        before, after = (trace[:stop] ** 2).mean(), (trace[-(nt // 4) :] ** 2).mean()
        loud += bool(before > LOUD**2 * power.max() and before > DECAY**2 * after)
    return loud, judged


def corrected_findings(seen: list[tuple[float, float, int]], what: str) -> Iterator[Finding]:
    """Yield the finding of gathers without moveout; `seen` are those of `flatness`."""
    judged = [s for s in seen if s[2] >= WINDOWS]
    wrong = [s for s in judged if s[0] >= max(FLAT, MORE * s[1])]
    if not wrong or len(wrong) < 2 / 3 * len(judged):
        return
    flat, bent = (float(np.mean([s[i] for s in wrong])) for i in (0, 1))
    say = (error, "E354") if flat >= max(SURE, bent + OVER) else (warning, "W354")
    yield say[0](
        say[1],
        f"events have no moveout in {len(wrong)} of {len(judged)} {what} looked at: semblance {flat:.2f} at equal "
        "times, "
        f"{bent:.2f} along the hyperbolas of the velocity: the data are corrected for moveout (NMO)",
        "use the data before the correction, or undo it with the velocity it was made with (SU: sunmo invert=1)",
        flat=flat,
        hyperbolic=bent,
    )
