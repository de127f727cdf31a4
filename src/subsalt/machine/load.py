"""The load by other programs during a measurement."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from subsalt import __version__
from subsalt.host import usable_cores

#: part of a core that others may use before a result counts as noisy
TOLERATED_CORES = 0.1
#: part of the time that a hypervisor may give to other guests
TOLERATED_STEAL = 0.02


#: first word of the line of all processors together
ALL = "cpu"


@dataclass(frozen=True)
class Usage:
    """Processor time of the whole system since it started, seconds; None where the system does not say."""

    wall: float
    own: float
    busy: float | None
    stolen: float | None

    @classmethod
    def now(cls, stat: Path = Path("/proc/stat")) -> Usage:
        """Read the counters."""
        busy = stolen = None
        try:
            words = stat.read_text().split("\n", 1)[0].split()
        except OSError:
            words = []
        if words[:1] == [ALL] and len(words) > 8:
            user, nice, system, _, _, irq, softirq, steal = (float(w) for w in words[1:9])
            tick = os.sysconf("SC_CLK_TCK")
            busy, stolen = (user + nice + system + irq + softirq) / tick, steal / tick
        # programs that a measurement started and that have ended count as its own
        children = os.times()
        own = time.process_time() + children.children_user + children.children_system
        return cls(time.monotonic(), own, busy, stolen)


def load_average() -> float:
    """Return the load average of the last minute, NaN where the system has none."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return float("nan")


class Watch:
    """Measure how many cores other programs use during a ``with`` block.

    Parameters
    ----------
    threads : int
        Cores the block itself uses at most.
    cores : int
        Cores there are; those this process may use when left out.
    """

    def __init__(self, threads: int, cores: int | None = None) -> None:
        self.threads = threads
        self.cores = cores if cores is not None else usable_cores()
        self.average = load_average()
        self.others: float | None = None
        self.stolen: float | None = None

    def __enter__(self) -> Watch:
        self._begin = Usage.now()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.compare(self._begin, Usage.now())

    def compare(self, begin: Usage, end: Usage) -> None:
        """Compute the load between two readings."""
        wall = max(end.wall - begin.wall, 1e-9)
        if begin.busy is not None and end.busy is not None:
            self.others = max(0.0, (end.busy - begin.busy - (end.own - begin.own)) / wall)
        if begin.stolen is not None and end.stolen is not None:
            self.stolen = max(0.0, (end.stolen - begin.stolen) / wall / self.cores)

    @property
    def noisy(self) -> bool:
        """Whether others used more than the cores that were idle.

        Without counters of the system the load average from before the block decides.
        """
        idle = max(0, self.cores - self.threads)
        others = self.others if self.others is not None else self.average
        return others > idle + TOLERATED_CORES or (self.stolen or 0.0) > TOLERATED_STEAL

    def stamp(self) -> dict[str, Any]:
        """Return the stamp of a row of machine.json: date, version, and whether it was disturbed."""
        return {
            "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "version": __version__,
            "noisy": self.noisy,
        }

    def facts(self) -> dict[str, float | int | bool | None]:
        """Return the facts for the record of a result."""
        return {
            "load_average_before": round(self.average, 2),
            "cores": self.cores,
            "threads": self.threads,
            "cores_used_by_others": None if self.others is None else round(self.others, 2),
            "stolen": None if self.stolen is None else round(self.stolen, 4),
            "noisy": self.noisy,
        }

    def text(self) -> str:
        """Return a line on the disturbance, empty when there was none."""
        if not self.noisy:
            return ""
        if self.others is None:
            return f"noisy: the load average was {self.average:.1f} on {self.cores} cores"
        stolen = f", {100 * self.stolen:.0f} % of the time went to other guests" if self.stolen else ""
        return f"noisy: others used {self.others:.1f} of {self.cores} cores meanwhile{stolen}"
