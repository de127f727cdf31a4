"""What each test takes of the processors: `pytest --cpu build/cpu.jsonl`, a line of JSON each, and a table by folder.

Counted are the process of the test, the programs that it started and has waited for, and ranks that were forked for it
(`mpi/rank_server.py`). Seconds of CPU, unlike those of the clock beside them, are much the
same on a busy machine.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest


def spent() -> tuple[float, float]:
    """Return the CPU seconds of this process so far, and those of the programs below it."""
    mine, below = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    launch = sys.modules.get("launch")
    ranks = launch.seconds_of_ranks() if launch is not None else 0.0
    return mine.ru_utime + mine.ru_stime, below.ru_utime + below.ru_stime + ranks


class CpuRecord:
    """A plugin that writes down what tests take; the one that starts the workers tells the sums."""

    def __init__(self, path: Path, tells: bool) -> None:
        self.path, self.tells = path, tells
        if tells:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")

    def _write(self, name: str, own: float, below: float, clock: float = 0.0) -> None:
        row = {"test": name, "own": round(own, 3), "below": round(below, 3), "clock": round(clock, 3)}
        line = json.dumps(row)
        with open(self.path, "a") as out:
            out.write(line + "\n")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> object:
        """Count one test with its fixtures."""
        begin, started = spent(), time.perf_counter()
        try:
            return (yield)
        finally:
            own, below = (after - before for before, after in zip(begin, spent(), strict=True))
            self._write(item.nodeid, own, below, time.perf_counter() - started)

    def pytest_collection_finish(self) -> None:
        """Count what comes before the first test."""
        self._write("collection", *spent())

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Tell the sums by folder, the dearest first."""
        if not self.tells:
            return
        sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0])
        for line in self.path.read_text().splitlines():
            row = json.loads(line)
            folder = os.path.dirname(row["test"].split("::")[0]) or row["test"]
            for name in (folder, "all"):
                for i, more in enumerate((row["own"], row["below"], 1)):
                    sums[name][i] += more
        terminalreporter.section("seconds of CPU: tests, programs below them, number")
        for name, (own, below, count) in sorted(sums.items(), key=lambda s: -s[1][0] - s[1][1]):
            terminalreporter.line(f"{own:8.1f} {below:8.1f} {count:6d}  {name}")
