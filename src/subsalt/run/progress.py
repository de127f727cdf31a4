"""How far a computation is: the callback that runners call, and its two shapes for people.

A runner calls ``progress(done, total, message)`` as often as it likes: `done` of `total` shots or blocks, fractions
included. On a terminal that moves a bar; elsewhere it prints a line after 30 seconds and then ever more rarely, so
that the log of a batch job of days has about a hundred. Under mpiexec rank 0 alone shows anything.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Protocol, TextIO

from subsalt.parallel.comm import speaks

#: seconds between the first lines where no terminal is
LINE_INTERVAL = 30.0
#: later a line comes when this part of the time so far has passed since the last: ten days make 85 lines more
LINE_SHARE = 0.1


class Progress(Protocol):
    """What a runner calls."""

    def __call__(self, done: float, total: float, message: str = "") -> None:
        """Tell that `done` of `total` shots are finished."""


def silent(done: float, total: float, message: str = "") -> None:
    """Show nothing."""


def duration(seconds: float) -> str:
    """Return h:mm:ss, or m:ss below an hour."""
    s = round(max(0.0, seconds))
    h, m = divmod(s // 60, 60)
    return f"{h}:{m:02d}:{s % 60:02d}" if h else f"{m}:{s % 60:02d}"


#: fewer units than these take long each: parts of them are told in percent of all
FEW = 10


def far(done: float, total: float, units: str) -> str:
    """Return how far `done` of `total` is: ``37 % of 2 blocks``, or ``12.5/80 blocks``."""
    if not 0 < total < FEW:
        return f"{done:.4g}/{total:g} {units}"
    return f"{100 * done / total:.0f} % of {total:g} {units.removesuffix('s') if total == 1 else units}"


class Lines:
    """One line per `interval` seconds at first, later more rarely, and one at the end."""

    def __init__(
        self,
        label: str,
        stream: TextIO | None = None,
        interval: float = LINE_INTERVAL,
        units: str = "shots",
    ) -> None:
        self.label, self.stream, self.interval, self.units = label, stream or sys.stderr, interval, units
        self.begin = self.last = time.monotonic()
        self.first_done: float | None = None
        self.before = 0.0
        self.finished = False

    def __call__(self, done: float, total: float, message: str = "") -> None:
        """Show that `done` of `total` shots are finished."""
        now = time.monotonic()
        if (
            self.first_done is None or done < self.before
        ):  # the first call, or a new stage of the same command
            self.first_done, self.begin, self.last, self.finished = done, now, now, False
        self.before = done
        at_end = done >= total and not self.finished
        if now - self.last < max(self.interval, LINE_SHARE * (now - self.begin)) and not at_end:
            return
        self.last, self.finished = now, done >= total
        made = done - self.first_done
        eta = (
            f"  eta {duration((now - self.begin) * (total - done) / made)}"
            if made > 0 and done < total
            else ""
        )
        text = f"{self.label} {far(done, total, self.units)}  {duration(now - self.begin)}{eta}  {message}".rstrip()
        print(text, file=self.stream, flush=True)

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *error: object) -> None:
        return None


class Silent:
    """Nothing, on all ranks but the first."""

    def __call__(self, done: float, total: float, message: str = "") -> None:
        """Show nothing."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *error: object) -> None:
        return None


class Bar:
    """A moving bar on a terminal."""

    def __init__(self, label: str, units: str = "shots") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self.bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[shown]}"),
            TextColumn("elapsed"),
            TimeElapsedColumn(),
            TextColumn("eta"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.label, self.units = label, units
        self.task: Any = None

    def __call__(self, done: float, total: float, message: str = "") -> None:
        """Show that `done` of `total` shots are finished."""
        if self.task is None:
            self.task = self.bar.add_task(self.label, total=total, shown="")
        shown = f"{far(done, total, self.units)} {message}"
        self.bar.update(self.task, completed=done, total=total, shown=shown)

    def __enter__(self) -> Bar:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()


def for_stream(label: str, stream: TextIO | None = None, units: str = "shots") -> Bar | Lines | Silent:
    """Return a bar when standard error is a terminal, else lines; nothing on all ranks but the first."""
    if not speaks():
        return Silent()
    stream = stream or sys.stderr
    return Bar(label, units) if stream.isatty() else Lines(label, stream, units=units)
