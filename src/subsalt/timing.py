"""Named phases of a run: nested, exclusive, summing to wall time with an `unexplained` row."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from subsalt.watchdog import note_phase


class Phases:
    """Seconds by named phase.

    Phases may nest: the time of an inner phase is not counted in the outer one, so that the rows of `table` sum to the
    wall time since construction (or since `restart`). Other ranks learn which phase this one is in.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stack: list[tuple[str, float]] = []
        self._begin = time.perf_counter()

    def restart(self) -> None:
        """Forget everything and start the wall clock anew."""
        self.seconds.clear()
        self._begin = time.perf_counter()

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Count the time inside the ``with`` block under `name`."""
        start = time.perf_counter()
        if self._stack:
            outer, since = self._stack[-1]
            self.seconds[outer] = self.seconds.get(outer, 0.0) + start - since
        self._stack.append((name, start))
        note_phase(name)
        try:
            yield
        finally:
            name_, since = self._stack.pop()
            now = time.perf_counter()
            self.seconds[name_] = self.seconds.get(name_, 0.0) + now - since
            if self._stack:
                self._stack[-1] = (self._stack[-1][0], now)
            note_phase(self._stack[-1][0] if self._stack else "")

    @property
    def current(self) -> str:
        """The innermost phase, empty outside of all; other threads may ask."""
        stack = self._stack[-1:]
        return stack[0][0] if stack else ""

    @property
    def wall(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._begin

    def table(self) -> dict[str, float]:
        """Return seconds by phase, then `unexplained` and `wall`; the phases and `unexplained` sum to `wall`."""
        wall = self.wall
        rows = dict(self.seconds)
        rows["unexplained"] = wall - sum(rows.values())
        rows["wall"] = wall
        return rows
