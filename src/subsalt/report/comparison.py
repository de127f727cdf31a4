"""Predicted against measured times of a run, phase by phase, at the rate of its own time steps.

A prediction is not wrong because the speed of the machine drifts. Phases that compute are therefore rescaled to the
measured rate of the phase that only computes; errors in the prediction of the other phases remain visible.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: phases that compute, by the one whose rate is taken
KERNELS: dict[str, tuple[str, ...]] = {
    "source": ("source", "receivers"),
    "propagation": ("propagation",),
    "sum": ("sum", "prepare"),
}
#: phases that a run ends or begins with outside of its own clock
OUTSIDE = ("start", "check", "report")
#: a phase shorter than this part of the wall time is named, but is not the largest miss
MATTERS = 0.05
#: a phase shorter than this part is not shown to people
SHOWN = 0.001
UNEXPLAINED, WALL = "unexplained", "wall"


@dataclass(frozen=True)
class PhaseTimes:
    """Predicted and measured time of one phase.

    Parameters
    ----------
    phase : str
        Name of the phase in the run.
    predicted, measured : float or None
        Seconds; None where the model, or the clock of the run, has no such phase.
    rescaled : float or None
        `predicted` at the rate of the run's own time steps.
    share : float
        Measured share of the wall time; of the longer of both walls where only one time is known.
    """

    phase: str
    predicted: float | None
    measured: float | None
    rescaled: float | None
    share: float

    @property
    def ratio(self) -> float | None:
        """Predicted over measured, rescaled; None where one is missing or next to nothing."""
        if self.rescaled is None or not self.measured or self.measured < 1e-3:
            return None
        return self.rescaled / self.measured

    @property
    def miss(self) -> float:
        """Seconds that the prediction is off."""
        return abs((self.rescaled or 0.0) - (self.measured or 0.0))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "phase": self.phase,
            "predicted": self.predicted,
            "rescaled": self.rescaled,
            "measured": self.measured,
            "ratio": self.ratio,
            "share": self.share,
        }


@dataclass(frozen=True)
class TimeComparison:
    """A run against its prediction.

    Parameters
    ----------
    rows : list of PhaseTimes
        Longest first, `unexplained` last.
    wall : PhaseTimes
        All phases together.
    rate_ratio : float or None
        Measured over predicted seconds of the phase whose rate is taken; None without it.
    rate_of : str
        Name of that phase.
    """

    rows: list[PhaseTimes]
    wall: PhaseTimes
    rate_ratio: float | None
    rate_of: str

    @property
    def shown(self) -> list[PhaseTimes]:
        """The rows that people are shown: all but the shortest, and `unexplained`."""
        return [r for r in self.rows if r.phase == UNEXPLAINED or r.share >= SHOWN]

    @property
    def largest_miss(self) -> PhaseTimes | None:
        """The phase with the most seconds between prediction and run, of those that matter; None when none does."""
        some = [r for r in self.rows if r.share >= MATTERS and r.phase != UNEXPLAINED]
        return max(some, key=lambda r: r.miss, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        miss = self.largest_miss
        return {
            "phases": [r.to_dict() for r in self.rows],
            "wall": self.wall.to_dict(),
            "kernel_rate_ratio": self.rate_ratio,
            "kernel_rate_of": self.rate_of,
            "largest_miss": None if miss is None else miss.phase,
            "text": self.text(),
        }

    def text(self) -> str:
        """Return one line: the wall time, and the largest miss."""
        wall, miss = self.wall, self.largest_miss
        own = "" if self.rate_ratio is None else f" ({wall.rescaled:.2f} s at the run's own rate)"
        most = "" if miss is None else f"; largest miss {miss.phase}"
        return f"{wall.predicted:.2f} s predicted{own}, {wall.measured:.2f} s measured{most}"

    def lines(self) -> list[str]:
        """Return the table as text, and the largest miss."""
        from subsalt.report.table import Column, render

        columns = (
            Column("phase", "phase"),
            Column("predicted", "model s", ".2f"),
            Column("rescaled", "rescaled", ".2f"),
            Column("measured", "measured", ".2f"),
            Column("ratio", "ratio", ".2f"),
            Column("share", "of wall %", ".1f", 100),
        )
        rows = [r.to_dict() for r in (*self.shown, self.wall)]
        return [*render(rows, columns).splitlines(), *self.notes()]

    def notes(self) -> list[str]:
        """Return the notes that the table needs."""
        out = []
        if self.rate_ratio is not None:
            out.append(
                f"rescaled: phases that compute at the run's own rate, {1 / self.rate_ratio:.2f} times the model's "
                f"(from {self.rate_of!r}, whose ratio is 1 by that)"
            )
        miss = self.largest_miss
        if miss is not None:
            prediction = "no prediction" if miss.rescaled is None else f"{miss.rescaled:.2f} s predicted"
            out.append(f"largest miss: {miss.phase}, {prediction}, {miss.measured or 0.0:.2f} s measured")
        return out


def compare(predicted: Mapping[str, float], measured: Mapping[str, float]) -> TimeComparison:
    """Return a run against its prediction.

    Parameters
    ----------
    predicted : mapping of str to float
        Seconds by phase; phases outside of the run's clock are left out.
    measured : mapping of str to float
        Seconds by phase with `unexplained` and `wall`, as `timing.Phases.table` gives them.
    """
    spent = {k: float(v) for k, v in measured.items() if k not in (UNEXPLAINED, WALL)}
    rest = float(measured.get(UNEXPLAINED, 0.0))
    wall = float(measured.get(WALL, sum(spent.values()) + rest))
    said = {k: float(v) for k, v in predicted.items() if k not in OUTSIDE}
    rate_of = next((k for k in KERNELS if said.get(k) and spent.get(k)), "")
    ratio = spent[rate_of] / said[rate_of] if rate_of else None
    computing = KERNELS.get(rate_of, ())

    def row(phase: str) -> PhaseTimes:
        p, m = said.get(phase), spent.get(phase)
        scaled = p if p is None or ratio is None or phase not in computing else ratio * p
        longest = m if m is not None else scaled or 0.0
        return PhaseTimes(phase, p, m, scaled, longest / wall if wall > 0 else 0.0)

    # what a run of so few ranks and files does not spend and the model does not name says nothing
    names = [n for n in dict.fromkeys([*spent, *said]) if spent.get(n) or said.get(n)]
    rows = sorted(map(row, names), key=lambda r: -max(r.measured or 0.0, r.rescaled or 0.0))
    rows.append(PhaseTimes(UNEXPLAINED, None, rest, None, rest / wall if wall > 0 else 0.0))
    total = sum(r.predicted or 0.0 for r in rows)
    scaled = sum(r.rescaled or 0.0 for r in rows)
    return TimeComparison(rows, PhaseTimes(WALL, total, wall, scaled, 1.0), ratio, rate_of)
