"""A sign of life on standard error of commands that usually end at once: nothing for two seconds, then a bar.

Where standard error is no terminal, a line comes after as long as one of a run does, and then ever more rarely.
Standard output stays as it is.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from subsalt.run.progress import Bar

#: seconds without a sign that nobody minds
SOON = 2.0


class Waiting:
    """Shows how far a command is once it has taken longer than `soon` seconds; a `Listener` (`io.reading_progress`)."""

    def __init__(self, label: str, stream: TextIO | None = None, soon: float = SOON) -> None:
        self.label, self.stream = label, stream or sys.stderr
        self._lock = threading.Lock()
        self._latest: tuple[float, float, str, str] | None = None
        self._bar: Bar | None = None
        self._begin = self._last = time.monotonic()
        self._timer = threading.Timer(soon, self._start) if self.stream.isatty() else None

    def __enter__(self) -> Waiting:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._timer, bar, self._bar = None, self._bar, None
        if bar is not None:
            bar.__exit__(kind, error, trace)

    def __call__(self, done: float, total: float, units: str, doing: str) -> None:
        """Show that `done` of `total` units are finished."""
        with self._lock:
            self._latest = (done, total, units, doing)
            if self._bar is not None:
                self._move()
            elif self._timer is None:
                self._line()

    def _start(self) -> None:
        """Begin the bar: the timer calls it, in a thread of its own, so that one long step shows it, too."""
        from subsalt.run.progress import Bar

        with self._lock:
            if self._timer is None:  # the command has just ended
                return
            self._bar = Bar(self.label)
            self._bar.__enter__()
            self._move()

    def _move(self) -> None:
        assert self._bar is not None
        done, total, self._bar.units, doing = self._latest or (0.0, 0.0, "", "")
        self._bar(done, total, doing)

    def _line(self) -> None:
        now = time.monotonic()
        if now - self._last < SOON:  # lines are further apart: the modules of runs need not be read yet
            return
        from subsalt.run.progress import LINE_INTERVAL, LINE_SHARE, duration, far

        if self._latest is None or now - self._last < max(LINE_INTERVAL, LINE_SHARE * (now - self._begin)):
            return
        self._last = now
        done, total, units, doing = self._latest
        print(
            f"{self.label} {far(done, total, units)} {doing}  {duration(now - self._begin)}",
            file=self.stream,
            flush=True,
        )


@contextmanager
def waiting(label: str, quiet: bool = False) -> Iterator[None]:
    """Show the progress of the block when it takes long; nothing when `quiet`."""
    from subsalt.io.reading_progress import listening
    from subsalt.parallel.comm import speaks

    if quiet or not speaks():
        yield
        return
    with Waiting(label) as shown, listening(shown):
        yield
