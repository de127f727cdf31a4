"""Which mistake explains the first breaks of a survey: shots are judged alone, and one mistake was made for all.

A shift and a wrong velocity are alike over a short spread, and picks of a direct wave and of head waves lie near one
line. What explains the picks of most shots with one value is taken for all of them, and the velocity first: a time zero
does not change how times grow with offset.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from subsalt.acquisition.first_breaks import ShotBreaks
from subsalt.check.break_fits import EXPLAINED, FACTOR, STRICT, Measured, Verdict
from subsalt.check.context import Context
from subsalt.check.near_source import BETWEEN, KNOWN, lateness
from subsalt.check.picked import measured

#: semblance along hyperbolas over that at equal times from which data are not corrected for moveout
BENT = 1.3
#: picks of a direct wave that say which velocity it has
BRANCH = 8


def ranked(context: Context, good: list[ShotBreaks], verdicts: list[Verdict]) -> list[Verdict]:
    """Return the verdicts of shots, those replaced that one mistake of all, or other evidence, explains better."""
    verdicts = _not_corrected(context, good, verdicts)
    own = [measured(context, b) for b in good]
    verdicts = [_of_the_near_branch(m, v) for m, v in zip(own, verdicts, strict=True)]
    verdicts = _one_time(own, verdicts)
    names = [v.name for v in verdicts]
    if "shift" not in names:
        return verdicts
    factors = [
        f
        for m, n in zip(own, names, strict=True)
        if n in ("shift", "velocity") and (f := slope(m)) is not None
    ]
    if not factors:
        return verdicts
    factor = float(np.median(factors))
    if 1 / FACTOR < factor < FACTOR:
        return verdicts
    out = []
    for m, v in zip(own, verdicts, strict=True):
        if v.name == "shift" and (f := slope(m)) is not None and not 1 / FACTOR < f < FACTOR:
            # how times grow shows another velocity: that explains them, or else nothing does
            after = replace(m, early=factor * m.early, late=factor * m.late).outside(STRICT)
            ahead = float(np.median(m.excess())) < 0
            explained = after <= max(EXPLAINED, v.after)
            v = replace(
                v,
                name="velocity" if explained else "early" if ahead else "unclear",
                value=factor,
                after=after,
            )
            if v.name == "early":
                v = replace(v, value=float(m.excess().min()))
        out.append(v)
    return out


def _of_the_near_branch(m: Measured, v: Verdict) -> Verdict:
    """Return that the velocity is wrong where the direct wave says so, whatever head waves beyond it seem to say.

    It starts with the wavelet, which neither another interval nor another time zero would leave there, and grows with
    offset at another velocity than the model's, by half a period and more over its own spread.
    """
    lines, factor = m.near_lines(), slope(m)
    if v.name == "velocity" or m.muted or lines is None or factor is None or 1 / FACTOR < factor < FACTOR:
        return v
    seen = lines[0]
    extent = float(np.ptp(np.sort(m.distance)[: seen.n]))
    apart = abs(1.0 - 1.0 / factor) * seen.slowness * extent
    # the model's starts at the source, too: stations at wrong depths bend its curve
    starts = max(abs(seen.intercept - m.pulse), abs(lines[2].intercept)) <= KNOWN * m.period
    if not starts or seen.n < BRANCH or apart < 0.5 * m.period:
        return v
    return replace(v, name="velocity", value=factor)


def _one_time(own: list[Measured], verdicts: list[Verdict]) -> list[Verdict]:
    """Return the verdicts with one shift for all where the shots that seemed to fit are off by the same time."""
    shifts = [v.value for v in verdicts if v.name == "shift"]
    fits = [i for i, v in enumerate(verdicts) if v.name == "fits"]
    if not shifts or not fits:
        return verdicts
    latenesses = {i: c for i in fits if (c := lateness(own[i])) is not None and c.direct}
    shift = float(np.median(shifts))
    alike = [i for i, c in latenesses.items() if abs(c.time + shift) <= BETWEEN * c.period + c.error]
    if len(alike) < 0.5 * len(fits):
        return verdicts
    return [
        replace(v, name="shift", value=-latenesses[i].time) if i in alike else v
        for i, v in enumerate(verdicts)
    ]


def slope(m: Measured) -> float | None:
    """Return the slowness of the picks over that of the model's arrivals, 1 between these; None where there is none.

    Of the picks nearest to the source, which are those of the direct wave.
    """
    lines = m.near_lines()
    if lines is None or min(line.slowness for line in lines) <= 0:
        return None
    seen, early, late = (line.slowness for line in lines)
    return seen / float(np.clip(seen, min(early, late), max(early, late)))


def _not_corrected(context: Context, good: list[ShotBreaks], verdicts: list[Verdict]) -> list[Verdict]:
    """Return verdicts without corrections for moveout where events have moveout."""
    flat, bent = context.facts.get("_semblance", (1.0, 0.0))
    if bent < BENT * flat:
        return verdicts
    return [
        replace(v, name="early", value=float(measured(context, b).excess().min()))
        if v.name == "moveout"
        else v
        for b, v in zip(good, verdicts, strict=True)
    ]
