"""Polarity of first arrivals: traces against their neighbours, shots against each other, all against the wavelet.

Picks are made on absolute values, so windows around them are aligned whatever the sign. Neighbouring traces are
compared one by one, in the order of their offsets: a waveform that changes slowly along the spread is no change of
sign, and where neighbours are unlike each other nothing is concluded across.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.first_breaks import FEWEST, ShotBreaks, fit
from subsalt.check.context import Context, error, file_of, leave_out, named, rule, unchecked, warning
from subsalt.check.picked import breaks
from subsalt.check.waveforms import Likeness, against_the_wavelet, correlations
from subsalt.errors import Finding

#: correlation from which two arrivals are of one waveform, of either sign, and from which that is certain
ALIKE, CERTAIN = 0.6, 0.85
#: part of a period by which the picks of two traces of opposite sign may be apart, their moveout taken off: a pick on
#: the next lobe looks like the opposite sign, too, but comes a third to half a period late
IN_TIME = 0.15
#: share of the traces of a shot that must be the opposite of the others' traces at their offsets
MOST = 0.8
#: share of shots up to which those of the rarer sign are the wrong ones
RARER = 0.4
#: correlation with the expected arrival from which the sign of all is wrong, and below which the right one must stay
OPPOSITE, RIGHT = 0.9, 0.6
#: by how much more the opposite sign must be like it where a low cut makes waveforms ring
MORE = 0.1


def signs(picks: ShotBreaks) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int64]]:
    """Return traces in the order of their offsets (numbers into `found.rows`), their signs, and the run of each.

    Within a run neighbours are alike, or of opposite sign for certain; the sign of most traces of a run is +1.
    """
    order = np.argsort(picks.offset, kind="stable")
    order = order[picks.picked[order]]
    if not len(order):
        return order, np.ones(0, np.int8), np.zeros(0, np.int64)
    before, after = order[:-1], order[1:]
    alike = correlations(picks.windows[before], picks.windows[after])
    opposite = (alike <= -CERTAIN) & _in_time(picks, before, after)
    new = ~opposite & (alike < ALIKE)
    run = np.r_[0, np.cumsum(new)]
    # changes of sign along all runs; the rarer sign of a run is the wrong one
    sign = np.where(np.r_[0, np.cumsum(opposite)] % 2 == 0, 1, -1)
    most = np.sign(np.bincount(run, weights=sign))
    first = np.flatnonzero(np.r_[True, new])
    most = np.where(most == 0, sign[first], most)
    return order, (sign * most[run]).astype(np.int8), run


def _in_time(picks: ShotBreaks, before: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether the picks of neighbouring traces are as far apart as a change of the sign alone leaves them."""
    offset = np.abs(picks.offset)
    slowness = picks.line.slowness if picks.line is not None else 0.0
    moveout = slowness * (offset[after] - offset[before])
    return np.asarray(np.abs(picks.time[after] - picks.time[before] - moveout) <= IN_TIME * picks.period)


def arrival(picks: ShotBreaks) -> NDArray[np.float64]:
    """Return the mean first arrival of a shot, (WINDOW,), of unit energy, in the sign of most of its traces."""
    order, sign, run = signs(picks)
    longest = np.bincount(run).argmax() if len(run) else 0
    own = order[(run == longest) & (sign > 0)]
    mean = picks.windows[own].sum(axis=0)
    size = float(np.sqrt((mean**2).sum()))
    return mean / size if size > 0 else mean


@rule("polarity", "survey")
def traces_of_a_shot(context: Context) -> Iterator[Finding]:
    """Traces whose first arrival has the opposite sign of their neighbours'."""
    if context.modelling:
        return
    wrong: list[tuple[ShotBreaks, int]] = []
    total = 0
    for b in breaks(context):
        if not b.good or b.coherence < ALIKE:
            continue
        order, sign, run = signs(b)
        for r in np.unique(run):
            own = run == r
            if own.sum() < FEWEST:
                continue
            total += int(own.sum())
            wrong += [(b, int(i)) for i in order[own & (sign < 0)]]
    if not wrong:
        return
    shots = list(dict.fromkeys(b.shot.id for b, _ in wrong))
    names = [f"shot {b.shot.id} trace {int(b.rows[i]) + 1}{_where(context, b, i)}" for b, i in wrong[:3]]
    yield warning(
        "W353",
        f"{len(wrong)} of {total} traces looked at have a first arrival of the opposite sign of their neighbours', in "
        f"{len(shots)} shots: {', '.join(names)}{', ...' * (len(wrong) > 3)}",
        'correct their sign in the job, for each shot: [[signal]] step = "edit", where = "ffid = F and channel = C", '
        'do = "reverse"; or mark them as dead in the files (trace id 2, byte 29)',
        count=len(wrong),
        looked_at=total,
        traces=[[b.shot.id, int(b.rows[i]) + 1] for b, i in wrong[:200]],
    )


def _where(context: Context, picks: ShotBreaks, i: int) -> str:
    place = file_of(context, picks.shot, int(picks.rows[i]))
    return "" if place is None else f" ({place[0]} trace {place[1]})"


@rule("polarity", "survey")
def shots_of_a_survey(context: Context) -> Iterator[Finding]:
    """Shots whose first arrivals have the opposite sign of the others'."""
    if context.modelling:
        return
    odd = opposite(breaks(context))
    if odd is None:
        return
    yield error(
        "E352",
        f"first arrivals of {len(odd.wrong)} of {odd.judged} shots looked at have the opposite sign of the others' "
        f"({named(context, odd.wrong)}; correlation with the others {odd.correlation:.2f})",
        leave_out(context, odd.wrong),
        shots=[b.shot.id for b in odd.wrong],
        correlation=odd.correlation,
    )


@dataclass(frozen=True)
class Opposite:
    """Shots of the opposite sign: which, of how many, and their mean correlation with the others."""

    wrong: list[ShotBreaks]
    judged: int
    correlation: float


def nearest(picks: ShotBreaks) -> ShotBreaks | None:
    """Return the shot with the picks nearest to its source alone, as many as have one waveform; None for few."""
    order = np.argsort(np.abs(picks.offset), kind="stable")
    order = order[picks.picked[order]]
    while len(order) >= 2 * FEWEST:
        use = np.sort(order)
        few = replace(
            picks,
            rows=picks.rows[use],
            offset=picks.offset[use],
            time=picks.time[use],
            windows=picks.windows[use],
            amplitude=picks.amplitude[use],
        )
        fit(few)
        if few.good and few.coherence >= ALIKE:
            return few
        order = order[: len(order) // 2]
    return None


def opposite(shots: list[ShotBreaks]) -> Opposite | None:
    """Return the shots whose first arrivals have the opposite sign of the others'; None where there are none."""
    good = [b for b in shots if b.good and b.coherence >= ALIKE]
    if len(good) < 0.5 * len(shots):
        # direct and refracted waves are unlike each other: the direct one, nearest to the source, is compared
        good = [n for b in shots if (n := nearest(b)) is not None]
    if len(good) < 3:
        return None
    waves = np.stack([arrival(b) for b in good])
    # the waveform that most shots share, of either sign
    common = np.linalg.svd(waves, full_matrices=False)[2][0]
    c = correlations(waves, np.broadcast_to(common, waves.shape))
    if np.median(np.sign(c)) < 0:
        c = -c
    judged = np.abs(c) >= ALIKE
    # a survey picked on other lobes in some shots has other times there
    level = np.array([b.line.intercept if b.line else np.inf for b in good])
    in_time = np.abs(level - np.median(level)) <= 2 * IN_TIME * np.median([b.period for b in good])
    rare = in_time & (c <= -CERTAIN)
    if not rare.any() or rare.sum() > RARER * judged.sum() or not (judged & ~rare).any():
        return None
    if np.median(c[judged & ~rare]) < CERTAIN:
        return None  # the others are not alike enough to say whose sign is wrong
    others = [good[i] for i in np.flatnonzero(judged & ~rare)]
    rare[[i for i in np.flatnonzero(rare) if not _opposite_everywhere(good[i], others)]] = False
    if not rare.any():
        return None
    return Opposite([good[i] for i in np.flatnonzero(rare)], int(judged.sum()), float(c[rare].mean()))


def _opposite_everywhere(picks: ShotBreaks, others: list[ShotBreaks]) -> bool:
    """Return whether the traces of a shot are the opposite of those of the others at their offsets.

    Where picks are on another lobe at some offsets only, the waveform that most traces of a shot share depends on which
    offsets these are: a shot can look reversed as a whole although no trace of it is.
    """
    offset = np.concatenate([np.abs(b.offset[b.picked]) for b in others])
    windows = np.concatenate([b.windows[b.picked] for b in others])
    own = np.abs(picks.offset)
    apart = np.diff(np.unique(np.round(own, 3)))
    near = 0.6 * float(np.median(apart)) if len(apart) else 0.0
    alike = []
    for i in np.flatnonzero(picks.picked):
        there = windows[np.abs(offset - own[i]) <= near]
        if len(there):
            alike.append(float(correlations(picks.windows[i][None], there.sum(axis=0)[None])[0]))
    return not alike or float(np.mean(np.array(alike) < 0)) >= MOST


@rule("polarity", "survey", "wavelet", "velocity")
def all_shots(context: Context) -> Iterator[Finding]:
    """First arrivals of the whole survey that have the opposite sign of what the wavelet makes of a direct wave."""
    if context.modelling or context.facts.get("_reversed"):
        return
    alike = against_the_wavelet(context)
    if not alike:
        return
    worst, best = np.array([c.low for c in alike]), np.array([c.high for c in alike])
    opposite = (worst <= -OPPOSITE) & ((best < RIGHT) | _in_swell(context, alike))
    if opposite.mean() < 0.8:
        if max(b.cut for b in breaks(context)) > 0 and not (best > np.maximum(RIGHT, -worst)).mean() >= 0.8:
            yield unchecked(
                "polarity",
                "after the low cut that noise of low frequencies needs, direct waves are as much like the wavelet as "
                f"like its opposite (correlations {float(np.median(best)):.2f} and {float(np.median(worst)):.2f})",
            )
        return
    if context.propagation.topography is not None:
        yield unchecked(
            "polarity",
            "below a topography, the ghost of the free surface decides the sign of direct waves near the source",
        )
        return
    yield warning(
        "W351",
        f"direct waves have the opposite sign of the wavelet's in {int(opposite.sum())} of {len(alike)} shots looked "
        "at "
        f"(correlation {float(np.median(worst)):.2f} with what the wavelet gives at these offsets): the image has the "
        "wrong sign",
        "[data.fix] polarity = -1; if the wavelet of the job is the wrong one, give it with its sign: [source] file",
        correlation=float(np.median(worst)),
        shots=len(alike),
    )


def _in_swell(context: Context, alike: list[Likeness]) -> NDArray[np.bool_]:
    """Return which direct waves are the opposite of the wavelet's by their times, too, where noise was cut off.

    A low cut makes waveforms ring, and the next lobe looks like the opposite sign; but it is picked at another time.
    """
    out = np.zeros(len(alike), bool)
    late = context.facts.get("first_breaks", {}).get("constant_s")
    if late is None or not any(b.cut > 0 for b in breaks(context)):
        return out
    room = IN_TIME * float(np.median([b.period for b in breaks(context)]))
    for i, c in enumerate(alike):
        out[i] = c.high < -c.low - MORE and abs(late - c.bias_low) <= room < abs(late - c.bias)
    return out
