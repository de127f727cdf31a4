"""Findings on first breaks that fit: which arrival of the model they are, by the same numbers of both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subsalt.acquisition.first_breaks import BreakLine, ShotBreaks, fit_line
from subsalt.check.break_fits import FACTOR
from subsalt.check.context import Context, ok, unchecked
from subsalt.check.picked import measured, seen
from subsalt.check.waveforms import bias_of
from subsalt.errors import Finding

#: part of a period that picks may be off and yet be called those of the model: an eighth each for a wave of a line, and
#: for refractions, which are the integral of the wavelet
ROOM = 0.25


@dataclass(frozen=True)
class Branches:
    """Lines of a shot over the same offsets, with the onset of the wavelet in all: picks, and what the model allows.

    Parameters
    ----------
    seen, early, late : BreakLine
        Through the picks, the earliest and the latest first arrival of the model.
    ends : tuple of float
        Smallest and largest offset, m.
    room : float
        Part of a period that the lines may be apart, s.
    """

    seen: BreakLine
    early: BreakLine
    late: BreakLine
    ends: tuple[float, float]
    room: float

    def apart(self, which: str) -> float:
        """Return by how much the line of the picks is off that of a branch at the worse end, over the room it has."""
        line: BreakLine = getattr(self, which)
        out = 0.0
        for x in self.ends:
            ours, theirs = self.seen.intercept + self.seen.slowness * x, line.intercept + line.slowness * x
            # velocities near the surface may be off by a tenth
            out = max(out, abs(ours - theirs) / (self.room + (FACTOR - 1) * line.slowness * x))
        return out

    def agrees(self, which: str) -> bool:
        """Whether the picks are a branch: their line is near it at both ends, and has its velocity."""
        line: BreakLine = getattr(self, which)
        extent = self.ends[1] - self.ends[0]
        # over a short spread a quarter of a period changes the velocity
        apart = abs(self.seen.slowness - line.slowness) * extent
        return self.apart(which) <= 1 and apart <= (FACTOR - 1) * line.slowness * extent + 0.5 * self.room

    @property
    def between(self) -> bool:
        """Whether the line of the picks lies between those of the model at both ends."""
        for x in self.ends:
            a, b = (line.intercept + line.slowness * x for line in (self.early, self.late))
            ours = self.seen.intercept + self.seen.slowness * x
            slack = self.room + (FACTOR - 1) * self.late.slowness * x
            if not min(a, b) - slack <= ours <= max(a, b) + slack:
                return False
        return True


def branches(context: Context, shot: ShotBreaks) -> Branches | None:
    """Return the lines of a shot; None where it has too few picks for one."""
    m = measured(context, shot)
    begin = m.pulse + (bias_of(context) or 0.0)
    lines = [fit_line(m.distance, t) for t in (m.time, m.early + begin, m.late + begin)]
    picks, early, late = lines
    if picks is None or early is None or late is None:
        return None
    ends = float(m.distance.min()), float(m.distance.max())
    return Branches(picks, early, late, ends, ROOM * m.period)


def in_order(context: Context, good: list[ShotBreaks], fits: list[ShotBreaks]) -> Finding:
    """Return that first breaks fit, with the arrival of the model that they are, or why nothing is said.

    Parameters
    ----------
    good : list of ShotBreaks
        All that were compared with the model.
    fits : list of ShotBreaks
        Those that the model allows.
    """
    if not fits:
        return unchecked(
            "first breaks",
            f"{seen(good)}; they are late and no direct wave, so that they say nothing of the model",
        )
    arrivals = [b for shot in fits if (b := branches(context, shot)) is not None]
    how = {"late": 0, "early": 0, "between": 0, "": 0}
    for b in arrivals:
        nearest = min(("late", "early"), key=b.apart)
        how[nearest if b.agrees(nearest) else "between" if b.between else ""] += 1
    said = max(how, key=lambda k: how[k])
    of = f"{len(fits)} shots" if len(fits) == len(good) else f"{len(fits)} of {len(good)} shots"
    if not said or not arrivals:
        return unchecked(
            "first breaks", f"{seen(fits)} in {of}; the model has {_both(arrivals)}: no one arrival of it"
        )
    own = [b for b in arrivals if said == "between" or b.agrees(said)]
    text = {
        "late": f"so has the direct wave of the model: {_line([b.late for b in own])}",
        "early": f"so has the earliest wave of the model, refracted or turned: {_line([b.early for b in own])}",
        "between": f"between the arrivals that the model allows, {_both(own)}",
    }[said]
    if said != "between" and all(
        abs(b.early.slowness - b.late.slowness) * b.ends[1] < b.room / 3 for b in own
    ):
        text = f"the model has {_line([b.late for b in own])}"
    return ok(f"first breaks  {_line([b.seen for b in own])} in {of}; {text}", shots=len(fits))


def _line(lines: list[BreakLine]) -> str:
    """Return velocity and intercept of lines, as medians."""
    speed = 1.0 / float(np.median([line.slowness for line in lines]))
    return f"{speed:.0f} m/s, intercept {1e3 * float(np.median([line.intercept for line in lines])):.0f} ms"


def _both(arrivals: list[Branches]) -> str:
    """Return the earliest and the latest arrival."""
    if not arrivals:
        return "too few arrivals"
    return f"{_line([b.early for b in arrivals])} at the earliest and {_line([b.late for b in arrivals])} at the latest"
