"""Findings on first breaks that a model does not allow: one for each mistake, with its cure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from subsalt.acquisition.first_breaks import ShotBreaks
from subsalt.check.break_fits import Verdict, judge, measure, onset
from subsalt.check.channel_fits import one_sided
from subsalt.check.context import Context, error, leave_out, named, warning
from subsalt.check.looked_at import moved_by, wavelet_of
from subsalt.check.near_source import lateness
from subsalt.check.picked import breaks, expected, measured, seen, starts
from subsalt.check.waveforms import bias_of
from subsalt.earth.planes import Parameter
from subsalt.errors import Finding
from subsalt.io.scan.cures import UNUSUAL

#: shift of time zero, in periods, from which an image is certainly wrong; below it the phase of the wavelet may be
CERTAIN = 1.5
#: factor of a near-surface velocity from which no smoothing of a model explains it
WRONG_VELOCITY = 1.25
#: share of the shots that must be left for others to be left out
LEFT = 0.5
#: m; sources that lie deeper may have the wrong scalar
DEEP = 50.0
#: m/s; velocities of sound in water, with room for the fit
WATER = (1420.0, 1570.0)


def how_many(context: Context, shots: Sequence[ShotBreaks], total: int) -> str:
    """Return how many shots of so many, and which, for a message."""
    return f"in {len(shots)} of {total} shots looked at ({named(context, shots)})"


def _say_interval(
    context: Context, shots: list[ShotBreaks], verdicts: list[Verdict], every: bool, total: int
) -> Iterator[Finding]:
    assert context.survey is not None
    assert context.wavelet is not None
    factor, dt = float(np.median([v.value for v in verdicts])), context.survey.time.dt
    peak = 1.0 / float(np.median([b.period for b in shots]))
    cure = f"[data.fix] dt = {dt * factor:.10g}" if every else leave_out(context, shots)
    yield error(
        "E345",
        f"first breaks {how_many(context, shots, total)}: {seen(shots)}; the model allows "
        f"{expected(context, shots)}: "
        f"all times are {_times(1 / factor)} long. The sampling interval of {1e3 * dt:g} ms is likely "
        f"{1e3 * dt * factor:g} ms "
        f"(the data peak at {peak:.3g} Hz with {1e3 * dt:g} ms, the wavelet at {context.wavelet.f0:.3g} Hz)",
        cure,
        factor=factor,
        shots=[b.shot.id for b in shots],
    )


def interval_by_moveout(context: Context, factor: float, flat: float, bent: float) -> Iterator[Finding]:
    """Yield the finding of an interval with which events have the moveout and the period of model and wavelet.

    Parameters
    ----------
    factor : float
        Factor of the sampling interval.
    flat, bent : float
        Semblance at equal times, and along the hyperbolas of the model with the other interval.
    """
    assert context.survey is not None
    dt = context.survey.time.dt
    yield warning(
        "W345",
        f"events follow the hyperbolas of the model with a sampling interval of {1e3 * dt * factor:g} ms (semblance "
        f"{bent:.2f}; {flat:.2f} at equal times), and have the period of the wavelet then; with {1e3 * dt:g} ms, as "
        "the headers say, they have neither",
        f"[data.fix] dt = {dt * factor:.10g}",
        factor=factor,
    )


def _times(factor: float) -> str:
    return (
        "twice as"
        if abs(factor - 2) < 0.01
        else "half as"
        if abs(factor - 0.5) < 0.01
        else f"{factor:.3g} times as"
    )


def without(context: Context, shots: Sequence[ShotBreaks], first: str) -> str:
    """Return what is to be done about shots: `first`, or leave them out where most of the survey is left then."""
    assert context.survey is not None
    left = 1.0 - len(shots) / max(1, len(context.survey.shots))
    key = re.search(r"\[data\] shots = .*", leave_out(context, shots)) if left > LEFT else None
    return f"{first}; or leave these shots out: {key[0]}" if key else f"{first} in the files"


def say_shift(
    context: Context, shots: list[ShotBreaks], verdicts: list[Verdict], every: bool, total: int
) -> Iterator[Finding]:
    """Yield the finding of times that are all too late or too early."""
    assert context.wavelet is not None
    assert context.survey is not None
    shift = float(np.median([v.value for v in verdicts]))
    period = float(np.median([b.period for b in shots]))
    bias = bias_of(context, whenever=True)
    direct_times = [c.time for b in shots if (c := lateness(measured(context, b))) is not None and c.direct]
    if (
        bias is not None
        and len(direct_times) >= 0.5 * len(shots)
        and abs(shift + float(np.median(direct_times))) < 0.5 * period
    ):
        # to the millisecond where the waveform is known
        shift = bias - float(np.median(direct_times))
    say = (error, "E346") if abs(shift) > CERTAIN * period else (warning, "W346")
    pulse = onset(wavelet_of(context), shots[0].cut)
    cure, text = shift_cure(context, shots, shift, every), ""
    if every and abs(shift) <= CERTAIN * period and not any(_all_around(context, b) for b in shots):
        # a time of more than that is none of the usual mistakes of distance
        far = abs(shift) * _surface_speed(context, shots)
        text = (
            f", or sources and receivers {far:.0f} m {'farther apart' if shift < 0 else 'closer'} than the coordinates "
            "say: on one side of the sources the two look alike"
        )
        cure = (
            "compare the near offset and the recording delay (byte 109) with the observer's log, and the time at which "
            "the wavelet of [source] peaks with that of the data"
        )
    yield say[0](
        say[1],
        f"first breaks {how_many(context, shots, total)}: {seen(shots)}; the model and the wavelet (onset at "
        f"{1e3 * pulse:.0f} ms) allow {expected(context, shots)}: all times are {abs(1e3 * shift):.0f} ms too "
        f"{'late' if shift < 0 else 'early'}{text}",
        cure,
        shift_s=shift,
        shots=[b.shot.id for b in shots],
    )


def _all_around(context: Context, shot: ShotBreaks) -> bool:
    """Return whether the receivers of a shot tell a time from the place of their source."""
    late = lateness(measured(context, shot))
    return not one_sided(shot) if late is None else late.placed


def _surface_speed(context: Context, shots: list[ShotBreaks]) -> float:
    """Return the velocity of the latest first arrivals of the model, m/s."""
    speeds = []
    for b in shots[:5]:
        m = measured(context, b)
        speeds += (m.distance / np.maximum(m.late, 1e-6))[m.late > 0].tolist()
    return float(np.median(speeds)) if speeds else 0.0


def shift_cure(context: Context, shots: list[ShotBreaks], shift: float, every: bool) -> str:
    """Return the delay that puts all shots right, or what else can be done."""
    assert context.survey is not None
    assert context.wavelet is not None
    first = np.concatenate([starts(context, b) for b in shots])
    moved = np.concatenate([moved_by(context, b.shot)[b.rows] for b in shots])
    here = float(np.median(first))
    others = [b for b in breaks(context) if b.good and b.shot.id not in {f.shot.id for f in shots}]
    rest = np.concatenate([starts(context, b) for b in others]) if others else np.empty(0)
    if every:
        if np.ptp(first) > 1e-6:
            return "the delays (byte 109) of the traces differ: correct them in the files"
        delay, why = _likely_delay(context, float(first[0] - moved[0]), shift, 0.25 * shots[0].period)
        twice = (
            np.ptp(moved) < 1e-6 and abs(moved[0] + shift) < 0.25 * shots[0].period and abs(moved[0]) > 1e-6
        )
        step = f"leave out the shift by {1e3 * moved[0]:.0f} ms of [[signal]]; or " if twice else ""
        return (
            f"{step}[data.fix] delay = {delay:.4g}{why}; or, where the wavelet of the job is wrong: "
            f"[source] t0 = {context.wavelet.peak_time - shift:.4g}"
        )
    # a delay that stands in the headers of these shots alone, and not in the others
    if (
        len(rest)
        and np.ptp(rest) < 1e-6
        and abs(here - float(rest[0])) > 1e-6
        and abs(here + shift - float(rest[0])) < 0.25 * shots[0].period
    ):
        return f"[data.fix] delay = {float(rest[0]):.4g} (byte 109 is {1e3 * here:.0f} ms in these shots)"
    return leave_out(context, shots)


def _likely_delay(context: Context, given: float, shift: float, room: float) -> tuple[float, str]:
    """Return the delay that puts times right, s, and what the headers mean by theirs.

    Zero is what is right most often, then a delay of another unit, within the `room` that picks have; else that of the
    picks, to the sample.
    """
    assert context.survey is not None
    exact, dt = given + shift, context.survey.time.dt
    if abs(given) > 1e-6:
        if abs(exact) < room:
            return 0.0, ""
        for part, unit in ((0.1, "tenths of ms"), (0.01, "hundredths of ms"), (0.001, "microseconds")):
            if abs(part * given - exact) < room:
                return part * given, f" (byte 109 holds {unit})"
    return dt * round(exact / dt), ""


def _say_velocity(
    context: Context, shots: list[ShotBreaks], verdicts: list[Verdict], every: bool, total: int
) -> Iterator[Finding]:
    # one shot in another place of the model may well meet a velocity that is wrong there
    if not every:
        return
    factor = float(np.median([v.value for v in verdicts]))
    # of the direct wave, not of head waves beyond it
    own = [line[0] for b in shots if (line := measured(context, b).near_lines()) is not None]
    lines = own or [b.line for b in shots if b.line is not None]
    slowness = float(np.median([line.slowness for line in lines]))
    speed = 1 / slowness if slowness else np.inf
    certain = max(factor, 1 / factor) > WRONG_VELOCITY
    say = (error, "E349") if certain else (warning, "W349")
    if context.facts.get("_axes_wrong"):
        cure = "correct the axes of the model first (E426, W426 or W443)"
    elif WATER[0] <= speed <= WATER[1] and factor > 1 and not context.facts.get("_perhaps_feet"):
        cure = (
            "first breaks travel at the speed of sound in water: begin the model with its water layer "
            "([model] vp, origin)"
        )
    elif 1 / 2.6 <= factor <= 1 / 1.35:
        cure = (
            f"the model is {1 / factor:.2f} times too slow, as S-wave velocities are: give P velocities in [model] vp; "
            "a model in time must be converted to depth"
        )
    elif 3.0 <= factor <= 3.6:
        vp = context.parameters.get("vp") or Parameter("vp", 0.0, source="...")
        cure = f"the model is 3.28 times too fast: [model] {vp.table(unit='ft/s')}"
    else:
        cure = (
            "check unit and depth axis of [model] vp (a model in time must be converted), and the coordinates of "
            "stations"
        )
    yield say[0](
        say[1],
        f"first breaks {how_many(context, shots, total)}: {seen(shots)}; the model allows "
        f"{expected(context, shots)}: "
        f"near the surface the model is {max(factor, 1 / factor):.3g} times too {'fast' if factor > 1 else 'slow'}",
        cure,
        factor=factor,
    )


def _say_early(
    context: Context, shots: list[ShotBreaks], verdicts: list[Verdict], every: bool, total: int
) -> Iterator[Finding]:
    factor = _depth_factor(context, shots)
    if factor is not None:
        yield _deep(context, shots, factor, every, total)
        return
    yield warning(
        "W358",
        f"first breaks {how_many(context, shots, total)} come up to {-1e3 * min(v.value for v in verdicts):.0f} ms "
        "before "
        f"the model lets anything arrive: {seen(shots)}; the model allows {expected(context, shots)}",
        "check depths of sources and receivers, coordinates, time zero ([data.fix] delay), and the velocity model near "
        "the surface",
        shots=[b.shot.id for b in shots],
    )


def _depth_factor(context: Context, shots: list[ShotBreaks]) -> float | None:
    """Return the power of ten of the sources' depth with which the first breaks fit; None when none does."""
    model, wavelet = context.model, wavelet_of(context)
    assert model is not None
    if float(np.median([b.shot.src[2] for b in shots])) < DEEP:
        return None
    fits = []
    for factor in (0.1, 0.01, 0.001):
        raised = [replace(b, shot=replace(b.shot, src=b.shot.src * [1.0, 1.0, factor])) for b in shots[:5]]
        # not `measured`: what is kept there is of the depth that the headers say
        if all(judge(measure(b, model, wavelet, starts(context, b))).name == "fits" for b in raised):
            fits.append(factor)
    # times hardly tell ten metres from one; what sources are fired at does
    deep = float(np.median([b.shot.src[2] for b in shots]))
    usual = [f for f in fits if 1.0 <= f * deep <= UNUSUAL]
    return next(iter([*usual, *fits]), None)


def _deep(context: Context, shots: list[ShotBreaks], factor: float, every: bool, total: int) -> Finding:
    """Return the finding of sources whose depth has the wrong scalar."""
    assert context.survey is not None
    depths = {round(float(b.shot.src[2]) * factor, 6) for b in shots}
    wrong = {b.shot.id for b in shots}
    if not every:
        depths |= {round(float(s.src[2]), 6) for s in context.survey.shots if s.id not in wrong}
    deep = float(np.median([b.shot.src[2] for b in shots]))
    if len(depths) == 1:
        cure = f"[data.fix] source_depth = {depths.pop():g}; or elevation_scalar (byte 69)"
    else:
        cure = (
            f"correct the scalar of elevations and depths (byte 69), {1 / factor:g} times; or "
            + leave_out(context, shots)
        )
    return error(
        "E350",
        f"sources lie {deep:g} m deep {how_many(context, shots, total)}, but first breaks ({seen(shots)}) come "
        "before the "
        f"model lets waves of that depth arrive ({expected(context, shots)}); at {deep * factor:g} m they fit",
        cure,
        factor=factor,
        shots=sorted(wrong),
    )


def _say_moveout(
    context: Context, shots: list[ShotBreaks], verdicts: list[Verdict], every: bool, total: int
) -> Iterator[Finding]:
    v = [v.value for v in verdicts if v.value > 0]
    known = bool(v) and bool(np.isfinite(np.median(v)))
    undone = f"; once a correction with {np.median(v):.0f} m/s is undone, they fit" if known else ""
    yield warning(
        "W354",
        f"{'first breaks' if v else 'what is left below the mute'} come before the model lets anything arrive "
        f"{how_many(context, shots, total)}: {seen(shots)}; the model allows {expected(context, shots)}{undone}: the "
        "data may be corrected for moveout (NMO)",
        "use the data before the correction; if they are not corrected, check unit and depth axis of [model] vp",
        shots=[b.shot.id for b in shots],
    )


SAY = {
    "moveout": _say_moveout,
    "interval": _say_interval,
    "shift": say_shift,
    "velocity": _say_velocity,
    "early": _say_early,
}
