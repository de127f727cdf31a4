"""The edge of a mute of kind ``first-breaks``: one line behind the first arrivals of a survey, measured on its traces.

First breaks of a sample of the shots are fitted by lines (`subsalt.acquisition.first_breaks`); their medians are the
line of the survey, and the edge comes some periods later, when the direct wave has passed. Its velocity is rounded to
1 m/s and its time to 1 ms, so that the last bits of a measurement, which differ from one machine to another, do not
reach the image. Where first breaks do not say where the direct wave is, there is no edge, and a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from subsalt.acquisition.first_breaks import ShotBreaks, first_breaks
from subsalt.acquisition.survey import Survey
from subsalt.job.signal.mute import FIRST_BREAKS, Mute
from subsalt.job.signal.step import Step

#: examined shots, and traces of each
SHOTS, TRACES = 40, 48
#: share of these shots whose first breaks have to be clear
CLEAR = 0.6
#: m/s: first arrivals are no slower, nor faster; others show coordinates or times that are wrong
SLOWEST, FASTEST = 200.0, 10_000.0
#: dominant periods from a first break to the end of its wave
PERIODS = 2.0


@dataclass(frozen=True)
class BreakEdge:
    """A line ``delay + |x| / velocity`` behind the first breaks, or why there is none.

    Parameters
    ----------
    velocity, delay : float
        m/s and s.
    clear, looked : int
        Shots with clear first breaks, and examined shots.
    reason : str
        Why first breaks are not used; empty when they are.
    """

    velocity: float
    delay: float
    clear: int
    looked: int
    reason: str = ""


def edge_of(survey: Survey) -> BreakEdge:
    """Return the edge behind the first breaks of a survey, of its traces as they are in the files."""
    breaks = first_breaks(survey, SHOTS, TRACES)
    good = [b for b in breaks if b.good and b.line is not None]
    counts = len(good), len(breaks)

    def poor(reason: str) -> BreakEdge:
        return BreakEdge(0.0, 0.0, *counts, reason)

    if not good or len(good) < CLEAR * len(breaks):
        return poor(f"first breaks are clear in {counts[0]} of {counts[1]} shots")
    if np.median([b.muted for b in good]) > 0.5:
        return poor("the records are muted already")
    slowness = float(np.median([b.line.slowness for b in good if b.line]))
    intercept = float(np.median([b.line.intercept for b in good if b.line]))
    period = float(np.median([b.period for b in good]))
    if slowness <= 0:
        return poor("first breaks do not come later with offset")
    if not SLOWEST <= 1.0 / slowness <= FASTEST:
        return poor(f"first breaks move at {1.0 / slowness:.3g} m/s: coordinates or times are wrong")
    off = float(np.median([_off(b, intercept, slowness) for b in good]))
    spread = float(np.median([np.ptp(np.nanpercentile(b.time, [5, 95])) for b in good]))
    if off > max(period, 0.1 * spread):
        return poor(f"first breaks are {1e3 * off:.0f} ms off one line for all shots, in the median")
    return BreakEdge(float(round(1.0 / slowness)), round(intercept + PERIODS * period, 3), *counts)


def _off(breaks: ShotBreaks, intercept: float, slowness: float) -> float:
    """Return the median distance of the first breaks of a shot from a line, s."""
    return float(np.nanmedian(np.abs(breaks.time - intercept - slowness * np.abs(breaks.offset))))


def asks(steps: Sequence[Step]) -> bool:
    """Return whether a step asks for the edge behind the first breaks."""
    return any(isinstance(step, Mute) and step.kind == FIRST_BREAKS for step in steps)


def measured(steps: Sequence[Step], edge: BreakEdge) -> list[Step]:
    """Return the steps, those that ask for the edge behind the first breaks with it."""
    return [
        step.behind(edge) if isinstance(step, Mute) and step.kind == FIRST_BREAKS else step for step in steps
    ]
