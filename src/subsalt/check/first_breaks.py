"""First breaks against geometry and model: order of channels, sampling interval, time zero, near-surface velocity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from subsalt.acquisition.first_breaks import FEWEST, ShotBreaks, spread
from subsalt.check.break_agreement import in_order
from subsalt.check.break_findings import SAY, interval_by_moveout
from subsalt.check.break_findings import WATER as WATER
from subsalt.check.break_fits import Verdict, judge
from subsalt.check.break_ranks import ranked
from subsalt.check.channel_fits import centre, reversed_order, wrapped
from subsalt.check.context import Context, error, leave_out, named, rule, unchecked, warning
from subsalt.check.looked_at import samples
from subsalt.check.moveout import energy_before
from subsalt.check.near_findings import phase_or_time, single_shots, time_of_all
from subsalt.check.near_source import KNOWN, THREE, UNKNOWN, compare_shots, lateness
from subsalt.check.picked import breaks as breaks
from subsalt.check.picked import measured as measured
from subsalt.check.picked import placed as placed
from subsalt.check.picked import seen
from subsalt.check.waveforms import bias_of
from subsalt.errors import Finding

#: shots that are compared with the model; all others are compared with them
MODEL_SHOTS = 40
#: share of the shots that are judged from which a fault is one of the survey, and shots that make it one
MOST, ENOUGH = 2 / 3, 2


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
    shifted = [(b, k) for b in judged if (k := wrapped(b))]
    if not shifted:
        return
    context.facts["_channels"] = True
    by = Counter(k for _, k in shifted).most_common(1)[0][0]
    wrong = [b for b, k in shifted if k == by]
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
    centred = [(b, c) for b in breaks(context) if b.good and (c := centre(b)) is not None]
    if len(centred) < ENOUGH:
        return
    places = np.array([c for _, c in centred])
    step = float(np.median([_station(b) for b, _ in centred]))
    middle = float(np.median(places))
    # one shift of all shots: a dipping or changing near-surface moves the minimum here one way and there another
    alike = np.abs(places - middle) <= max(0.25 * step, 0.3 * abs(middle))
    if abs(middle) < 0.7 * step or alike.mean() < MOST:
        return
    context.facts["_channels"] = True
    stations = middle / step
    say = (error, "E348") if abs(stations) > 1.5 else (warning, "W348")
    yield say[0](
        say[1],
        f"first breaks of {int(alike.sum())} of {len(centred)} split spreads are earliest {middle:+.0f} m from the "
        "source, "
        f"{abs(stations):.1f} stations of {step:g} m: channels are shifted against the places of their receivers "
        f"({named(context, [b for b, _ in centred])})",
        f"check which channel stands at which station (byte 13; bytes 81, 85); places by channel: [data] geometry; "
        f"moving all receivers by {-middle:+.0f} m repairs it",
        shift_m=middle,
    )


def _station(picks: ShotBreaks) -> float:
    """Return the median distance of neighbouring receivers along the spread, m."""
    x = np.unique(np.round(picks.shot.rcv[:, :2], 2), axis=0)
    d = np.sqrt((np.diff(x, axis=0) ** 2).sum(axis=1))
    return float(np.median(d)) if len(d) else 1.0


@rule("first_breaks", "survey", "velocity", "wavelet")
def arrivals(context: Context) -> Iterator[Finding]:
    """First breaks that the model does not allow: interval, time zero, or velocity are wrong."""
    if context.modelling or not placed(context):
        return
    if context.facts.get("_corrected"):
        # times of data that are corrected for moveout are those of no wave: the finding above explains them
        return
    interval = context.facts.get("_interval")
    findings = list(_against_the_model(context))
    if interval is None:
        yield from findings
    elif any(f.code == "E345" for f in findings):
        yield from (f for f in findings if f.code == "E345")
    else:
        # moveout and period of the events: what first breaks say besides is of times that are not theirs
        yield from interval_by_moveout(context, *interval)


def _against_the_model(context: Context) -> Iterator[Finding]:
    """Yield what first breaks say of the model, and the model of them."""
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
    verdicts = ranked(context, good, [_verdict(context, b) for b in good])
    _keep_facts(context, good, verdicts)
    names = Counter(v.name for v in verdicts if v.name != "unclear")
    faults = [n for n in names if n != "fits"]
    if faults and names["moveout"] >= MOST * names.total():
        faults = ["moveout"]  # what else times of no wave seem to say is nothing
    said = False
    for name in faults:
        shots = [(b, v) for b, v in zip(good, verdicts, strict=True) if v.name == name]
        every = len(shots) >= MOST * names.total() and not names["fits"] > 0.2 * names.total()
        for finding in SAY[name](context, [b for b, _ in shots], [v for _, v in shots], every, names.total()):
            said = True
            yield finding
    fits = [b for b, v in zip(good, verdicts, strict=True) if v.name == "fits"]
    # channels at wrong places have wrong distances
    odd = list(_near_the_source(context, fits)) if fits and not context.facts.get("_channels") else []
    yield from odd
    if not faults and not odd:
        yield in_order(context, good, fits)
    elif not said and not odd:
        yield unchecked(
            "first breaks",
            f"{seen(good)}; in {len(good) - len(fits)} of {len(good)} shots they grow with offset unlike the model, "
            "and not in enough of them to be the model's fault alone: check the velocities near the surface there, and "
            "the coordinates",
        )


def _near_the_source(context: Context, fits: list[ShotBreaks]) -> Iterator[Finding]:
    """Yield single shots whose direct waves are late, or sources elsewhere, and a time zero that is off in all."""
    pairs = [(b, c) for b in fits if (c := lateness(measured(context, b))) is not None]
    if not pairs:
        return
    shots, latenesses = [b for b, _ in pairs], [c for _, c in pairs]
    all_of = compare_shots(latenesses)
    context.facts["first_breaks"] |= {"constant_s": all_of.time, "scatter_s": all_of.scatter}
    yield from single_shots(context, shots, latenesses, all_of)
    bias = bias_of(context)
    late = all_of.time - (bias or 0.0)
    period = float(np.median([c.period for c in latenesses]))
    limit = (UNKNOWN if bias is None else KNOWN) * period + all_of.error + THREE * all_of.scatter
    if sum(c.direct for c in latenesses) >= 0.5 * len(fits) and abs(late) > limit:
        yield from (phase_or_time if bias is None else time_of_all)(context, shots, late)


def _unclear(shots: Sequence[ShotBreaks]) -> str:
    """Return why the first breaks of shots are not compared with a model."""
    few = sum(b.picked.mean() < 0.6 for b in shots)
    unlike = sum(b.picked.mean() >= 0.6 and b.coherence < 0.4 for b in shots)
    rest = len(shots) - few - unlike
    parts = [
        f"in {n} of {len(shots)} shots {what}"
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


def _chosen(good: list[ShotBreaks]) -> list[ShotBreaks]:
    """Return the shots that are compared with the model: evenly spread, and those whose line is unlike the others'."""
    if len(good) <= MODEL_SHOTS:
        return good
    value = np.array([b.line.intercept if b.line else 0.0 for b in good])
    unlike = np.argsort(-np.abs(value - np.median(value)), kind="stable")[: MODEL_SHOTS // 4]
    few = np.union1d(spread(len(good), MODEL_SHOTS - len(unlike)), unlike)
    return [good[int(i)] for i in few]


def _verdict(context: Context, picks: ShotBreaks) -> Verdict:
    return judge(measured(context, picks))


def _keep_facts(context: Context, good: list[ShotBreaks], verdicts: list[Verdict]) -> None:
    lines = [b.line for b in good if b.line is not None]
    context.facts["first_breaks"] = {
        "shots": len(good),
        "slowness_s_per_m": float(np.median([line.slowness for line in lines])),
        "intercept_s": float(np.median([line.intercept for line in lines])),
        "period_s": float(np.median([b.period for b in good])),
        "verdicts": dict(Counter(v.name for v in verdicts)),
    }
