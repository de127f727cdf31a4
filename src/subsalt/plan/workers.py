"""Time of a survey on workers that come and go, and the work that is lost with them.

A worker that is lost takes the unit with it that it computes. With lambda losses of a worker per second, at random
times, a unit of s seconds takes on average E = (exp(lambda s) - 1) / lambda of a worker until one attempt ends before
the worker does; E - s of it is lost. The time until another worker comes is not in it: `workers` are those that are
there on average.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from subsalt.errors import ConfigError
from subsalt.plan.plan import duration

#: phases of a run that its client does alone, before or after the units
ALONE = {"start", "check", "image sum", "output", "pictures", "report"}
HOURS = {"h": 1.0, "d": 24.0}


@dataclass(frozen=True)
class WorkersTime:
    """Expected time of a run on workers.

    Parameters
    ----------
    workers : int
        Workers, on average.
    loss : float
        Losses of a worker per hour.
    units : int
        Units of the run.
    unit : float
        Seconds of a unit on a worker.
    alone : float
        Seconds of the client alone.
    """

    workers: int
    loss: float
    units: int
    unit: float
    alone: float

    @classmethod
    def of(cls, phases: Mapping[str, float], units: int, workers: int, loss: float) -> WorkersTime:
        """Return the time of a run of which one process would take `phases`, seconds by phase."""
        alone = sum(seconds for name, seconds in phases.items() if name in ALONE)
        return cls(workers, loss, units, (sum(phases.values()) - alone) / max(1, units), alone)

    @property
    def attempts(self) -> float:
        """Expected attempts at a unit."""
        return _exp(self.loss / 3600 * self.unit)

    @property
    def each(self) -> float:
        """Expected seconds of a worker for a unit, those of attempts that are lost included."""
        rate = self.loss / 3600
        return self.unit if rate == 0 else (self.attempts - 1) / rate

    @property
    def lost(self) -> float:
        """Expected share of the seconds of all workers that is lost."""
        return 1 - self.unit / self.each if self.unit else 0.0

    @property
    def wall(self) -> float:
        """Expected seconds of the run."""
        return self.alone + math.ceil(self.units / self.workers) * self.each

    def lines(self) -> list[str]:
        """Return it as lines that people read."""
        losses = f"{self.loss:g} losses of a worker per hour: {self.lost:.1%} of the work is computed again"
        return [
            f"workers  {self.workers}: {duration(self.wall)} expected, {duration(self.each)} for each of "
            f"{self.units} units, {duration(self.alone)} of the client alone",
            f"         {losses}",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        expected = {
            "expected_wall_seconds": self.wall,
            "expected_attempts": self.attempts,
            "lost_share": self.lost,
        }
        return {**vars(self), **{name: None if math.isinf(x) else x for name, x in expected.items()}}


def _exp(x: float) -> float:
    """Return the exponential, infinite where it overflows."""
    return math.exp(x) if x < 700 else math.inf


def losses_per_hour(text: str) -> float:
    """Return the losses per hour of a text such as ``0.05/h`` or ``1/d``.

    Raises
    ------
    ConfigError
        When it is none (E971).
    """
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*/\s*([hd])\s*", text)
    if match is None:
        raise ConfigError(
            f"--spot-loss {text!r} is not a number of losses of a worker by time",
            "write 0.05/h (one in twenty hours) or 1/d",
            code="E971",
        )
    return float(match[1]) / HOURS[match[2]]
