"""First breaks and moveout of prestack traces for time migration: order of channels, polarity, interval, correction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.band import cut_low, low_cut
from subsalt.acquisition.first_breaks import (
    FEWEST,
    MOST_TRACES,
    OF_CUT,
    BreakLine,
    ShotBreaks,
    breaks_of,
    near_line,
    spread,
)
from subsalt.acquisition.survey import Shot, TimeAxis
from subsalt.check.channel_fits import reversed_order
from subsalt.check.context import error, ok, warning
from subsalt.check.first_breaks import WATER
from subsalt.check.moveout import INTERVALS, WINDOWS, Velocity, corrected_findings, flatness
from subsalt.check.polarity import opposite
from subsalt.errors import Finding, SubsaltError
from subsalt.io.segy.exclude import Exclusion, runs
from subsalt.io.segy.geometry import FOOT

if TYPE_CHECKING:
    from subsalt.io.prestack.table import TraceTable
    from subsalt.methods.kirchhoff.velocity.time_velocity import FieldVelocity

#: field records and gathers that are looked at
RECORDS, GATHERS = 60, 5
#: first-break velocity over the velocities of the job at early times, beyond which the interval or they are wrong:
#: first breaks are at most as fast as the fastest layer, the direct wave is as slow as the surface
TOO_SLOW, TOO_FAST, TOO_FAST_DIRECT = 0.6, 1.9, 1.6
#: m; sources of one field record further apart are those of several shots
ONE_PLACE = 1.0
#: surveys in order in which a record is found at another time by chance
ALARM = 0.01


def break_findings(table: TraceTable, velocity: FieldVelocity | None = None) -> Iterator[Finding]:
    """Yield what first breaks and moveout say of prestack traces.

    Parameters
    ----------
    table : TraceTable
        The traces; of at most `RECORDS` field records `MOST_TRACES` each are read, and of `GATHERS` gathers.
    velocity : FieldVelocity, optional
        Rms velocity of the job.
    """
    if not table.offset.any():
        return
    early = None if velocity is None else _beneath_the_middle(table, velocity)
    records = _records(table)
    if early is not None:
        moveouts = _moveouts(table, early)
        corrected = list(corrected_findings(moveouts, "gathers"))
        if corrected and not _interval_bends(table, early, moveouts, records):
            yield from corrected
            return
    backwards = [b for b in records if reversed_order(b)]
    yield from _order(records, backwards)
    if backwards:
        return
    good = [b for b in records if b.good]
    yield from _polarity(good)
    odd = list(_time_zero(good))
    yield from odd
    if early is not None and not odd:
        yield from _water_break(good, early, table.files.time.t0)
    if early is not None and good:
        yield from _speed(good, early, table.files.time.dt)


def _groups(keys: NDArray[np.int32], most: int) -> Iterator[NDArray[np.int64]]:
    """Yield the rows of traces of some values of a header word, evenly spread; none where all have one value."""
    order = np.argsort(keys, kind="stable")
    values, first = np.unique(keys[order], return_index=True)
    ends = np.append(first[1:], len(order))
    if len(values) > 1 or values[0] != 0:
        for i in spread(len(values), most):
            yield order[first[i] : ends[i]]


def _records(table: TraceTable) -> list[ShotBreaks]:
    """Return the first breaks of some field records, after the steps of the job that move times or change the band."""
    dt, t0 = table.files.time.dt, table.files.time.t0
    parts = [p for rows in _groups(table.ffid, RECORDS) if (p := _record(table, rows)) is not None]
    cut = low_cut([parts[int(i)][2] for i in spread(len(parts), OF_CUT)], dt)
    return [breaks_of(*part, dt, t0, cut) for part in parts]


def _record(
    table: TraceTable, rows: NDArray[np.int64]
) -> tuple[Shot, NDArray[np.int64], NDArray[np.float32]] | None:
    """Return some traces of one field record; None where they are few, of several shots, or unreadable."""
    src = table.src[rows]
    if len(rows) < 2 * FEWEST or np.abs(src - src[0]).max() > ONE_PLACE:
        return None
    pick = spread(len(rows), MOST_TRACES)
    flat = np.zeros(len(rows))
    shot = Shot(int(table.ffid[rows[0]]), [*src[0], 0.0], np.column_stack([table.rcv[rows], flat]))  # type: ignore[arg-type]
    data = _read(table, rows[pick])
    return None if data is None else (shot, pick, data)


def _read(table: TraceTable, rows: NDArray[np.int64]) -> NDArray[np.float32] | None:
    """Return the traces of some rows after the steps that move times or change the band; None for unreadable ones."""
    try:
        data: NDArray[np.float32] = table.files.read(table.number[rows])
    except SubsaltError:
        return None  # another rule reports it
    treat = getattr(table.treatment, "picked", None)
    return data if treat is None else treat(rows, data)


def _interval_bends(
    table: TraceTable,
    early: Velocity,
    seen: list[tuple[float, float, int]],
    records: list[ShotBreaks],
) -> bool:
    """Return whether another sampling interval explains events without moveout, and first breaks that are too fast.

    Halved times bend hyperbolas a quarter as much: that looks like a correction for moveout.
    """
    lines = [line for b in records if b.good and (line := _near(b)) is not None]
    if not lines:
        return False
    v = early(np.linspace(0.0, max(float(np.nanmax(b.time)) for b in records if b.good), 50))
    speed = 1.0 / float(np.median([line.slowness for line in lines]))
    flat = float(np.median([s[0] for s in seen]))
    for factor in INTERVALS:
        bent = [s[1] for s in _moveouts(table, early, factor) if s[2] >= WINDOWS]
        fits = TOO_SLOW * float(v.min()) <= speed / factor <= TOO_FAST * float(v.max())
        as_is = TOO_SLOW * float(v.min()) <= speed <= TOO_FAST_DIRECT * float(v.min())
        if bent and float(np.median(bent)) >= flat and fits and not as_is:
            return True
    return False


def _near(breaks: ShotBreaks) -> BreakLine | None:
    """Return the line of the direct wave: of the first breaks nearest to the source; None where there is none."""
    line = near_line(np.abs(breaks.offset), breaks.time, breaks.period)
    return line if line is not None and line.slowness > 0 else None


def _named(breaks: list[ShotBreaks]) -> str:
    return ", ".join(str(b.shot.id) for b in breaks[:6]) + ", ..." * (len(breaks) > 6)


def _without(breaks: list[ShotBreaks]) -> str:
    """Return the key that leaves out field records."""
    return f"[data] exclude = [{Exclusion(shots=runs(b.shot.id for b in breaks))}]"


def _order(records: list[ShotBreaks], backwards: list[ShotBreaks]) -> Iterator[Finding]:
    """Yield an error for field records whose channels stand in the reverse order of their places."""
    judged = [b for b in records if b.line is not None and b.picked.mean() >= 0.6]
    if not backwards:
        return
    every = len(backwards) >= 2 / 3 * len(judged)
    yield error(
        "E347",
        f"channels stand in the reverse order of their places in {len(backwards)} of {len(judged)} field records "
        "looked "
        f"at (shots {_named(backwards)}): first breaks fall with offset",
        '[data.fix] channels = "reversed"'
        if every
        else f"reverse the channels of these records in the files, or leave them out: {_without(backwards)}",
        records=[b.shot.id for b in backwards],
    )


def _polarity(good: list[ShotBreaks]) -> Iterator[Finding]:
    """Yield what is to be said of field records of the opposite sign."""
    other = opposite(good)
    if other is None:
        return
    yield error(
        "E352",
        f"first arrivals of {len(other.wrong)} of {other.judged} field records looked at have the opposite sign of the "
        f"others' (shots {_named(other.wrong)}; correlation {other.correlation:.2f})",
        f"change the sign of these records in the files, or leave them out: {_without(other.wrong)}",
        records=[b.shot.id for b in other.wrong],
    )


def _time_zero(good: list[ShotBreaks]) -> Iterator[Finding]:
    """Yield a warning for field records whose first breaks come earlier or later than all others by far."""
    known = [b for b in good if b.line is not None and b.line.slowness > 0]
    if len(known) < 5:
        return
    slowness, intercept = (np.array([getattr(b.line, n) for b in known]) for n in ("slowness", "intercept"))
    off, bend = intercept - np.median(intercept), slowness - np.median(slowness)
    period = float(np.median([b.period for b in known]))
    # Intercepts scatter by the near surface, with long tails: as a Laplace distribution does, of which 2**-k lies
    # beyond k times the median deviation. k is such that one survey in `1 / ALARM` has such a record by chance. Picks
    # of a whole record may be on the next cycle: a period more.
    k = np.log2(len(known) / ALARM)
    limit = period + k * float(np.median(np.abs(off)))
    # near-surface layers change intercepts and velocities along a line; time zero changes intercepts alone: the lines
    # are apart by less than a period over the spread, or by what those of the others are
    extent = np.array([np.ptp(np.abs(b.offset[b.picked])) for b in known])
    alike = np.abs(bend) * extent < period + k * float(np.median(np.abs(bend) * extent))
    odd = (np.abs(off) > limit) & alike
    if not odd.any() or odd.sum() > 0.25 * len(known):
        return
    late = [b for b, is_odd in zip(known, odd, strict=True) if is_odd]
    shifts = ", ".join(f"{1e3 * v:+.0f}" for v in off[odd][:6])
    yield warning(
        "W361",
        f"first breaks of {len(late)} of {len(known)} field records looked at (shots {_named(late)}) have the "
        f"velocity of the others but come {shifts} ms off their times: the recording delay (byte 109) or time zero is "
        "wrong there",
        f"correct byte 109 in these records, or leave them out: {_without(late)}",
        records=[b.shot.id for b in late],
        shifts_s=[float(v) for v in off[odd]],
    )


def _water_break(good: list[ShotBreaks], early: Velocity, t0: float) -> Iterator[Finding]:
    """Yield a warning when the direct wave through water does not start at time zero."""
    # a mute of the direct wave leaves a line of its velocity, later
    # and one line through direct and head waves would start at neither's time
    lines = [line for b in good if b.muted <= 0.5 and (line := _near(b)) is not None]
    surface = float(early(np.zeros(1))[0])
    # only of water is it known that nothing slower lies above, which would delay first breaks
    if not (lines and WATER[0] <= surface <= WATER[1]):
        return
    v = float(np.median([line.velocity for line in lines]))
    start = np.array([line.intercept for line in lines])
    period, first = float(np.median([b.period for b in good])), float(np.median(start))
    # picks may be on another cycle, and the onset of a pulse with its peak at time zero comes before it, both within a
    # period; that of a pulse which begins at time zero, and is picked as it grows, comes up to a period after
    wrong = (start < -period) | (start > 2 * period)
    if not WATER[0] <= v <= WATER[1] or wrong.mean() < 2 / 3 or -period <= first <= 2 * period:
        return
    yield warning(
        "W392",
        f"first breaks of {int(wrong.sum())} of {len(lines)} field records have the velocity of water ({v:.0f} m/s) "
        f"but start at {1e3 * first:+.0f} ms at offset 0 (period {1e3 * period:.0f} ms): time zero is wrong by about "
        f"as much, all times are too {'late' if first > 0 else 'early'}",
        # without the wavelet it is known to a cycle or two: enough to tell that a delay was none, and no more
        "[data.fix] delay = 0: the delay in the headers is none of the data"
        if abs(t0) > 1e-6 and -period <= first - t0 <= 2 * period
        else f"the time of the first sample is {1e3 * t0:g} ms now (byte 109): give the recording delay of the "
        "observer's log, in s: [data.fix] delay = ...; first breaks tell it to a cycle or two only, which is too "
        "little for an image",
        intercept_s=first,
    )


def _speed(good: list[ShotBreaks], early: Velocity, dt: float) -> Iterator[Finding]:
    """Yield a warning for first breaks that are twice too slow or too fast for the velocity of the job."""
    lines = [b.line for b in good if b.line is not None and b.line.slowness > 0]
    if not lines:
        return
    slowness = float(np.median([line.slowness for line in lines]))
    intercept = float(np.median([line.intercept for line in lines]))
    latest = max(float(np.nanmax(b.time)) for b in good)
    v = early(np.linspace(0.0, max(latest, dt), 50))
    seen, low, high = 1.0 / slowness, float(v.min()), float(v.max())
    text = f"first breaks of {len(lines)} field records: {seen:.0f} m/s, intercept {1e3 * intercept:.0f} ms"
    # a refraction is late at offset zero; what is not is the direct wave
    direct = intercept <= float(np.median([b.period for b in good]))
    if TOO_SLOW * low <= seen <= (TOO_FAST_DIRECT * low if direct else TOO_FAST * high):
        yield ok(f"{text}; rms velocity {low:.0f} to {high:.0f} m/s to that time")
        return
    slow = seen < low
    yield warning(
        "W345",
        f"{text}; the rms velocity of the job to that time is {low:.0f} to {high:.0f} m/s: either the sampling "
        "interval of "
        f"{1e3 * dt:g} ms is {'too long' if slow else 'too short'}, or the velocity is too {'high' if slow else 'low'}",
        (
            f"{_interval(seen, dt * (0.5 if slow else 2.0))}{_unit(seen, low)}else check unit and values of [velocity]"
        ).removeprefix("else "),
        first_break_velocity=seen,
    )


def _interval(seen: float, dt: float) -> str:
    """Return the cure of a wrong interval; empty where first breaks have the velocity of water as it is."""
    return "" if WATER[0] <= seen <= WATER[1] else f"if the interval is wrong: [data.fix] dt = {dt:.10g}; "


def _unit(seen: float, low: float) -> str:
    """Return the cure of coordinates in feet where that explains a velocity of first breaks."""
    for unit, factor in (("ft", FOOT), ("m", 1 / FOOT)):
        if 0.85 <= factor * seen / low <= 1.2:
            given = "feet" if unit == "ft" else "metres"
            return f'if coordinates are in {given} ({factor * seen:.0f} m/s): [data.fix] unit = "{unit}"; '
    return ""


def _beneath_the_middle(table: TraceTable, velocity: FieldVelocity) -> Velocity | None:
    """Return the rms velocity at the median midpoint, by time; None where it cannot be had."""
    middle = np.median(table.midpoint, axis=0)[None]
    axis = TimeAxis(200, max(table.files.time.duration, table.files.time.dt) / 199)
    try:
        v = np.asarray(velocity.at(middle, axis)[0], dtype=np.float64).reshape(-1)
    except SubsaltError:
        return None
    t = axis.values()
    return lambda when: np.interp(when, t, v)


def _moveouts(table: TraceTable, velocity: Velocity, factor: float = 1.0) -> list[tuple[float, float, int]]:
    """Return the flatness of some gathers: of CDPs, or of field records where there are no CDP numbers.

    With another sampling interval, `factor` times as long.
    """
    keys = table.cdp if len(np.unique(table.cdp)) > 1 else table.ffid
    parts, dt = [], table.files.time.dt
    for rows in _groups(keys, GATHERS):
        few = rows[spread(len(rows), 48)]
        if len(few) < FEWEST or np.ptp(table.offset[few]) == 0:
            continue
        data = _read(table, few)
        if data is not None:
            parts.append((data, table.offset[few]))
    cut = low_cut([data for data, _ in parts], dt)
    t0 = table.files.time.t0
    return [flatness(cut_low(data, dt, cut), x, factor * dt, t0, velocity) for data, x in parts]
