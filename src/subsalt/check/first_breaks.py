"""First breaks against geometry and model: order of channels, sampling interval, time zero, near-surface velocity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.band import low_cut
from subsalt.acquisition.first_breaks import FEWEST, MOST_TRACES, ShotBreaks, breaks_of, first_breaks, spread
from subsalt.check.break_fits import Measured, Verdict, centre, judge, measure, onset, reversed_order, wrapped
from subsalt.check.context import Context, Layout, error, leave_out, named, ok, rule, unchecked, warning
from subsalt.check.looked_at import moved_by, samples
from subsalt.check.moveout import energy_before
from subsalt.earth.planes import Parameter
from subsalt.errors import Finding
from subsalt.io.scan.cures import UNUSUAL

#: shots that are compared with the model; all others are compared with them
MODEL_SHOTS = 40
#: share of the shots that are judged from which a fault is one of the survey, and shots that make it one
MOST, ENOUGH = 2 / 3, 2
#: shift of time zero, in periods, from which an image is certainly wrong; below it the phase of the wavelet may be
CERTAIN = 1.5
#: factor of a near-surface velocity from which no smoothing of a model explains it
WRONG_VELOCITY = 1.25
#: m; sources that lie deeper may have the wrong scalar
DEEP = 50.0
#: m/s; velocities of sound in water, with room for the fit
WATER = (1420.0, 1570.0)


def breaks(context: Context) -> list[ShotBreaks]:
    """Return the first breaks of the context's survey, picked once for all rules; none where they are not judged.

    Dense records of time slices are not read anew: there the shots that were read to be looked at have to do.
    """
    if not context.judge_breaks:
        return []
    if "_breaks" not in context.facts:
        survey = context.survey
        assert survey is not None
        reader = getattr(survey.reader, "inner", survey.reader)
        if hasattr(reader, "layouts") or any(s.data is not None for s in survey.shots):
            found = first_breaks(survey)
        else:
            parts = [
                (i.shot, rows := spread(len(i.data), MOST_TRACES), i.data[rows]) for i in samples(context)
            ]
            parts = [p for p in parts if np.isfinite(p[2]).all() and p[2].shape[1] == survey.time.nt]
            cut = low_cut([p[2] for p in parts], survey.time.dt)
            found = [breaks_of(*p, survey.time.dt, survey.time.t0, cut) for p in parts]
        context.facts["_breaks"] = found
    picked: list[ShotBreaks] = context.facts["_breaks"]
    return picked


@rule("first_breaks", "survey")
def channel_order(context: Context) -> Iterator[Finding]:
    """Channels in the reverse order of their places: times fall with offset."""
    if context.modelling:
        return
    judged = [b for b in breaks(context) if b.line is not None and b.picked.mean() >= 0.6]
    wrong = [b for b in judged if reversed_order(b)]
    if not wrong:
        return
    context.facts["_reversed"] = {b.shot.id for b in wrong}
    one = wrong[0]
    assert one.line is not None
    x = np.abs(one.offset[one.picked])
    t = one.time[one.picked]
    near, far = int(np.argmin(x)), int(np.argmax(x))
    text = (
        f"channels stand in the reverse order of their places in {len(wrong)} of {len(judged)} shots "
        f"({named(context, wrong)}): first breaks of shot {one.shot.id} at {1e3 * t[near]:.0f} ms at offset "
        f"{x[near]:.0f} m, "
        f"at {1e3 * t[far]:.0f} ms at {x[far]:.0f} m; in the reverse order they lie on one line"
    )
    if len(wrong) >= MOST * len(judged):
        cure = '[data.fix] channels = "reversed"'
    else:
        cure = leave_out(context, wrong)
    yield error("E347", text, cure, shots=[b.shot.id for b in wrong])


@rule("first_breaks", "survey")
def channel_ring(context: Context) -> Iterator[Finding]:
    """Channels shifted against their places, those past the end standing at the beginning."""
    if context.modelling or context.facts.get("_reversed"):
        return
    judged = [b for b in breaks(context) if b.line is not None]
    found = [(b, k) for b in judged if (k := wrapped(b))]
    if not found:
        return
    by = Counter(k for _, k in found).most_common(1)[0][0]
    wrong = [b for b, k in found if k == by]
    yield error(
        "E348",
        f"channels are shifted by {abs(by)} against the places of their receivers in {len(wrong)} of {len(judged)} "
        f"shots ({named(context, wrong)}), in a ring: first breaks of the {abs(by)} channels at one end belong to the "
        "other; shifted back, all lie on one line",
        "correct the channel numbers (byte 13), or those of the tables of [data.geometry]"
        + (f"; else {leave_out(context, wrong)}" if len(wrong) < MOST * len(judged) else ""),
        channels=by,
        shots=[b.shot.id for b in wrong],
    )


@rule("first_breaks", "survey")
def channel_shift(context: Context) -> Iterator[Finding]:
    """Split spreads whose earliest time is not at the source: channels are shifted against their places."""
    if context.modelling or context.facts.get("_reversed"):
        return
    found = [(b, c) for b in breaks(context) if b.good and (c := centre(b)) is not None]
    if len(found) < ENOUGH:
        return
    places = np.array([c for _, c in found])
    step = float(np.median([_station(b) for b, _ in found]))
    middle = float(np.median(places))
    # one shift of all shots: a dipping or changing near-surface moves the minimum here one way and there another
    alike = np.abs(places - middle) <= max(0.25 * step, 0.3 * abs(middle))
    if abs(middle) < 0.7 * step or alike.mean() < MOST:
        return
    stations = middle / step
    say = (error, "E348") if abs(stations) > 1.5 else (warning, "W348")
    yield say[0](
        say[1],
        f"first breaks of {int(alike.sum())} of {len(found)} split spreads are earliest {middle:+.0f} m from the "
        "source, "
        f"{abs(stations):.1f} stations of {step:g} m: channels are shifted against the places of their receivers "
        f"({named(context, [b for b, _ in found])})",
        f"check which channel stands at which station (byte 13; bytes 81, 85); places by channel: [data] geometry; "
        f"moving all receivers by {-middle:+.0f} m mends it",
        shift_m=middle,
    )


def _station(found: ShotBreaks) -> float:
    """Return the median distance of neighbouring receivers along the spread, m."""
    x = np.unique(np.round(found.shot.rcv[:, :2], 2), axis=0)
    d = np.sqrt((np.diff(x, axis=0) ** 2).sum(axis=1))
    return float(np.median(d)) if len(d) else 1.0


@rule("first_breaks", "survey", "velocity", "wavelet")
def arrivals(context: Context) -> Iterator[Finding]:
    """First breaks that the model does not allow: interval, time zero, or velocity are wrong."""
    # times of data that are corrected for moveout are those of no wave
    if context.modelling or context.facts.get("_corrected") or not placed(context):
        return
    assert context.wavelet is not None
    wrong_order = context.facts.get("_reversed", set())
    candidates = [b for b in breaks(context) if b.shot.id not in wrong_order]
    good = _chosen([b for b in candidates if b.good])
    if not good:
        begun = [] if wrong_order else list(_begun(context))
        yield from begun
        if candidates and not wrong_order and not begun:
            yield unchecked("first breaks", _unclear(candidates))
        return
    verdicts = [_verdict(context, b) for b in good]
    _keep_facts(context, good, verdicts)
    names = Counter(v.name for v in verdicts if v.name != "unclear")
    faults = [n for n in names if n != "fits"]
    if not faults:
        yield _in_order(context, good, verdicts)
        return
    if names["moveout"] >= MOST * names.total():
        faults = ["moveout"]  # what else times of no wave seem to say is nothing
    for name in faults:
        shots = [(b, v) for b, v in zip(good, verdicts, strict=True) if v.name == name]
        every = len(shots) >= MOST * names.total() and not names["fits"] > 0.2 * names.total()
        yield from SAY[name](context, [b for b, _ in shots], [v for _, v in shots], every, names.total())


def _unclear(found: Sequence[ShotBreaks]) -> str:
    """Return why the first breaks of shots are not compared with a model."""
    few = sum(b.picked.mean() < 0.6 for b in found)
    unlike = sum(b.picked.mean() >= 0.6 and b.coherence < 0.4 for b in found)
    rest = len(found) - few - unlike
    parts = [
        f"in {n} of {len(found)} shots {what}"
        for n, what in (
            (few, "fewer than 60 % of the traces rise clearly above their noise"),
            (unlike, "traces begin with different waveforms"),
            (rest, "they lie near no line"),
        )
        if n
    ]
    return f"none are clear enough to be compared with the model: {'; '.join(parts)}"


def _begun(context: Context) -> Iterator[Finding]:
    """Yield a warning for shots without first breaks whose far traces begin within their arrivals."""
    assert context.survey is not None
    assert context.model is not None
    time = context.survey.time
    seen = [(i, energy_before(i, context.model, time.nt, time.dt, time.t0)) for i in samples(context)]
    judged = [(i, count) for i, count in seen if count[1] >= FEWEST]
    wrong = [(i, count) for i, count in judged if count[0] > 0.5 * count[1]]
    if not wrong or len(wrong) < MOST * len(judged):
        return
    shots, (n, of) = [i for i, _ in wrong], np.sum([count for _, count in wrong], axis=0)
    yield warning(
        "W393",
        f"no first breaks, and energy before the model lets anything arrive in {n} of {of} far traces of "
        f"{len(wrong)} of {len(judged)} shots looked at ({named(context, shots)}): the data may be "
        "corrected for moveout (NMO), or begin after time zero",
        "use the data before the correction; if they are not corrected, check the recording delay (byte 109; "
        "[data.fix] delay) and unit and depth axis of [model] vp",
        shots=[s.shot.id for s in shots],
    )


def placed(context: Context) -> bool:
    """Return whether most stations lie on the model; else another rule has said what is wrong."""
    assert context.survey is not None
    assert context.model is not None
    if context.model.grid.ndim != context.survey.ndim or context.facts.get("_line_unplaced"):
        return False
    lay = Layout.of(context.survey, context.model.grid)
    both = np.concatenate([lay.src, lay.rcv])
    deep = (both[:, 2] < lay.low[2] - lay.slack[2]) | (both[:, 2] > lay.high[2] + lay.slack[2])
    return bool((lay.outside(both) | deep).mean() < 0.5)


def _chosen(good: list[ShotBreaks]) -> list[ShotBreaks]:
    """Return the shots that are compared with the model: evenly spread, and those whose line is unlike the others'."""
    if len(good) <= MODEL_SHOTS:
        return good
    value = np.array([b.line.intercept if b.line else 0.0 for b in good])
    unlike = np.argsort(-np.abs(value - np.median(value)), kind="stable")[: MODEL_SHOTS // 4]
    few = np.union1d(spread(len(good), MODEL_SHOTS - len(unlike)), unlike)
    return [good[int(i)] for i in few]


def _verdict(context: Context, found: ShotBreaks) -> Verdict:
    return judge(measured(context, found))


def measured(context: Context, found: ShotBreaks) -> Measured:
    """Return the picks of a shot with what the model allows, computed once for all rules."""
    assert context.model is not None
    assert context.wavelet is not None
    kept: dict[int, Measured] = context.facts.setdefault("_measured", {})
    if found.shot.id not in kept:
        kept[found.shot.id] = measure(found, context.model, context.wavelet, starts(context, found))
    return kept[found.shot.id]


def starts(context: Context, found: ShotBreaks) -> NDArray[np.float64]:
    """Return the time of the first sample of each trace that was looked at, as its header says it, s."""
    assert context.survey is not None
    reader = getattr(context.survey.reader, "inner", context.survey.reader)
    shift, index = getattr(reader, "shift", None), found.shot.trace_index
    late = np.zeros(len(found.rows)) if shift is None or index is None else shift[index[found.rows]]
    time = context.survey.time
    return np.asarray(time.t0 + time.dt * late + moved_by(context, found.shot)[found.rows], dtype=np.float64)


def seen(found: Sequence[ShotBreaks]) -> str:
    """Return velocity and intercept of the lines of shots, as medians, for a message."""
    lines = [b.line for b in found if b.line is not None]
    slowness = float(np.median([line.slowness for line in lines]))
    intercept = float(np.median([line.intercept for line in lines]))
    speed = f"{1 / slowness:.0f} m/s" if abs(slowness) > 1e-5 else "no moveout"
    return f"{speed}, intercept {1e3 * intercept:.0f} ms"


def _expected(context: Context, found: Sequence[ShotBreaks]) -> str:
    """Return what the model and the wavelet let the lines be, for a message."""
    from subsalt.acquisition.first_breaks import fit_line

    lines = []
    for b in found[:5]:
        m = measured(context, b)
        lines += [line for t in (m.early, m.late) if (line := fit_line(m.distance, t + m.pulse)) is not None]
    if not lines:
        return "unknown"
    speeds = sorted(line.velocity for line in lines)
    middle = float(np.median([line.intercept for line in lines]))
    low, high = f"{speeds[0]:.0f}", f"{speeds[-1]:.0f}"
    return f"{low if low == high else f'{low} to {high}'} m/s, intercept {1e3 * middle:.0f} ms"


def _keep_facts(context: Context, good: list[ShotBreaks], verdicts: list[Verdict]) -> None:
    lines = [b.line for b in good if b.line is not None]
    context.facts["first_breaks"] = {
        "shots": len(good),
        "slowness_s_per_m": float(np.median([line.slowness for line in lines])),
        "intercept_s": float(np.median([line.intercept for line in lines])),
        "period_s": float(np.median([b.period for b in good])),
        "verdicts": dict(Counter(v.name for v in verdicts)),
    }


def _in_order(context: Context, good: list[ShotBreaks], verdicts: list[Verdict]) -> Finding:
    fits = [b for b, v in zip(good, verdicts, strict=True) if v.name == "fits"]
    if not fits:
        return unchecked(
            "first breaks",
            f"{seen(good)}; they are late and no direct wave, so that they say nothing of the model",
        )
    return ok(
        f"first breaks  {seen(fits)} in {len(fits)} shots; the model allows {_expected(context, fits)}",
        shots=len(fits),
    )


def _how_many(context: Context, found: Sequence[ShotBreaks], total: int) -> str:
    return f"in {len(found)} of {total} shots looked at ({named(context, found)})"


def _say_interval(
    context: Context, found: list[ShotBreaks], verdicts: list[Verdict], every: bool, total: int
) -> Iterator[Finding]:
    assert context.survey is not None
    assert context.wavelet is not None
    factor, dt = float(np.median([v.value for v in verdicts])), context.survey.time.dt
    peak = 1.0 / float(np.median([b.period for b in found]))
    cure = f"[data.fix] dt = {dt * factor:.10g}" if every else leave_out(context, found)
    yield error(
        "E345",
        f"first breaks {_how_many(context, found, total)}: {seen(found)}; the model allows "
        f"{_expected(context, found)}: "
        f"all times are {_times(1 / factor)} long. The sampling interval of {1e3 * dt:g} ms is likely "
        f"{1e3 * dt * factor:g} ms "
        f"(the data peak at {peak:.3g} Hz with {1e3 * dt:g} ms, the wavelet at {context.wavelet.f0:.3g} Hz)",
        cure,
        factor=factor,
        shots=[b.shot.id for b in found],
    )


def _times(factor: float) -> str:
    return (
        "twice as"
        if abs(factor - 2) < 0.01
        else "half as"
        if abs(factor - 0.5) < 0.01
        else f"{factor:.3g} times as"
    )


def _say_shift(
    context: Context, found: list[ShotBreaks], verdicts: list[Verdict], every: bool, total: int
) -> Iterator[Finding]:
    assert context.wavelet is not None
    assert context.survey is not None
    shift = float(np.median([v.value for v in verdicts]))
    period = float(np.median([b.period for b in found]))
    say = (error, "E346") if abs(shift) > CERTAIN * period else (warning, "W346")
    pulse = onset(context.wavelet)
    yield say[0](
        say[1],
        f"first breaks {_how_many(context, found, total)}: {seen(found)}; the model and the wavelet (onset at "
        f"{1e3 * pulse:.0f} ms) allow {_expected(context, found)}: all times are {abs(1e3 * shift):.0f} ms too "
        f"{'late' if shift < 0 else 'early'}",
        _shift_cure(context, found, shift, every),
        shift_s=shift,
        shots=[b.shot.id for b in found],
    )


def _shift_cure(context: Context, found: list[ShotBreaks], shift: float, every: bool) -> str:
    """Return the delay that puts all shots right, or what else can be done."""
    assert context.survey is not None
    assert context.wavelet is not None
    first = np.concatenate([starts(context, b) for b in found])
    here = float(np.median(first))
    others = [b for b in breaks(context) if b.good and b.shot.id not in {f.shot.id for f in found}]
    rest = np.concatenate([starts(context, b) for b in others]) if others else np.empty(0)
    if every:
        if np.ptp(first) > 1e-6:
            return "the delays (byte 109) of the traces differ: correct them in the files"
        # zero is what is right most often; else to the sample
        exact, dt = float(first[0]) + shift, context.survey.time.dt
        delay = (
            0.0 if abs(exact) < 0.25 * found[0].period and abs(first[0]) > 1e-6 else dt * round(exact / dt)
        )
        return (
            f"[data.fix] delay = {delay:.4g}; or, where the wavelet of the job is wrong: "
            f"[source] t0 = {context.wavelet.peak_time - shift:.4g}"
        )
    # a delay that stands in the headers of these shots alone, and not in the others
    if (
        len(rest)
        and np.ptp(rest) < 1e-6
        and abs(here - float(rest[0])) > 1e-6
        and abs(here + shift - float(rest[0])) < 0.25 * found[0].period
    ):
        return f"[data.fix] delay = {float(rest[0]):.4g} (byte 109 is {1e3 * here:.0f} ms in these shots)"
    return leave_out(context, found)


def _say_velocity(
    context: Context, found: list[ShotBreaks], verdicts: list[Verdict], every: bool, total: int
) -> Iterator[Finding]:
    # one shot in another place of the model may well meet a velocity that is wrong there
    if not every:
        return
    factor = float(np.median([v.value for v in verdicts]))
    slowness = float(np.median([b.line.slowness for b in found if b.line is not None]))
    speed = 1 / slowness
    certain = max(factor, 1 / factor) > WRONG_VELOCITY
    say = (error, "E349") if certain else (warning, "W349")
    if context.facts.get("_axes_wrong"):
        cure = "mend the axes of the model first, as W426 or W443 says"
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
        f"first breaks {_how_many(context, found, total)}: {seen(found)}; the model allows "
        f"{_expected(context, found)}: "
        f"near the surface the model is {max(factor, 1 / factor):.3g} times too {'fast' if factor > 1 else 'slow'}",
        cure,
        factor=factor,
    )


def _say_early(
    context: Context, found: list[ShotBreaks], verdicts: list[Verdict], every: bool, total: int
) -> Iterator[Finding]:
    factor = _depth_factor(context, found)
    if factor is not None:
        yield _deep(context, found, factor, every, total)
        return
    yield warning(
        "W358",
        f"first breaks {_how_many(context, found, total)} come up to {-1e3 * min(v.value for v in verdicts):.0f} ms "
        "before "
        f"the model lets anything arrive: {seen(found)}; the model allows {_expected(context, found)}",
        "check depths of sources and receivers, coordinates, time zero ([data.fix] delay), and the velocity model near "
        "the surface",
        shots=[b.shot.id for b in found],
    )


def _depth_factor(context: Context, found: list[ShotBreaks]) -> float | None:
    """Return the power of ten of the sources' depth with which the first breaks fit; None when none does."""
    model, wavelet = context.model, context.wavelet
    assert model is not None
    assert wavelet is not None
    if float(np.median([b.shot.src[2] for b in found])) < DEEP:
        return None
    fits = []
    for factor in (0.1, 0.01, 0.001):
        raised = [replace(b, shot=replace(b.shot, src=b.shot.src * [1.0, 1.0, factor])) for b in found[:5]]
        # not `measured`: what is kept there is of the depth that the headers say
        if all(judge(measure(b, model, wavelet, starts(context, b))).name == "fits" for b in raised):
            fits.append(factor)
    # times hardly tell ten metres from one; what sources are fired at does
    deep = float(np.median([b.shot.src[2] for b in found]))
    usual = [f for f in fits if 1.0 <= f * deep <= UNUSUAL]
    return next(iter([*usual, *fits]), None)


def _deep(context: Context, found: list[ShotBreaks], factor: float, every: bool, total: int) -> Finding:
    """Return the finding of sources whose depth has the wrong scalar."""
    assert context.survey is not None
    depths = {round(float(b.shot.src[2]) * factor, 6) for b in found}
    wrong = {b.shot.id for b in found}
    if not every:
        depths |= {round(float(s.src[2]), 6) for s in context.survey.shots if s.id not in wrong}
    deep = float(np.median([b.shot.src[2] for b in found]))
    if len(depths) == 1:
        cure = f"[data.fix] source_depth = {depths.pop():g}; or elevation_scalar (byte 69)"
    else:
        cure = (
            f"correct the scalar of elevations and depths (byte 69), {1 / factor:g} times; or "
            + leave_out(context, found)
        )
    return error(
        "E350",
        f"sources lie {deep:g} m deep {_how_many(context, found, total)}, but first breaks ({seen(found)}) come "
        "before the "
        f"model lets waves of that depth arrive ({_expected(context, found)}); at {deep * factor:g} m they fit",
        cure,
        factor=factor,
        shots=sorted(wrong),
    )


def _say_moveout(
    context: Context, found: list[ShotBreaks], verdicts: list[Verdict], every: bool, total: int
) -> Iterator[Finding]:
    v = [v.value for v in verdicts if v.value > 0]
    known = bool(v) and bool(np.isfinite(np.median(v)))
    undone = f"; once a correction with {np.median(v):.0f} m/s is undone, they fit" if known else ""
    yield warning(
        "W354",
        f"{'first breaks' if v else 'what is left below the mute'} come before the model lets anything arrive "
        f"{_how_many(context, found, total)}: {seen(found)}; the model allows {_expected(context, found)}{undone}: the "
        "data may be corrected for moveout (NMO)",
        "use the data before the correction; if they are not corrected, check unit and depth axis of [model] vp",
        shots=[b.shot.id for b in found],
    )


SAY = {
    "moveout": _say_moveout,
    "interval": _say_interval,
    "shift": _say_shift,
    "velocity": _say_velocity,
    "early": _say_early,
}
