"""Bytes that input moves, counted where they move: requested, read from files, received from other ranks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock, local


@dataclass(frozen=True)
class InputTraffic:
    """Bytes of input.

    Parameters
    ----------
    wanted : int
        Bytes of the planes or traces that were requested and are used.
    read : int
        Bytes that came from files.
    received : int
        Bytes that another rank read and sent.
    """

    wanted: int = 0
    read: int = 0
    received: int = 0

    @property
    def moved(self) -> int:
        """Bytes read or received."""
        return self.read + self.received

    @property
    def redundancy(self) -> float:
        """Bytes moved per byte wanted; NaN when nothing was."""
        return self.moved / self.wanted if self.wanted else float("nan")

    def __add__(self, other: InputTraffic) -> InputTraffic:
        return InputTraffic(
            self.wanted + other.wanted, self.read + other.read, self.received + other.received
        )

    def __sub__(self, other: InputTraffic) -> InputTraffic:
        return InputTraffic(
            self.wanted - other.wanted, self.read - other.read, self.received - other.received
        )


_thread = local()


@contextmanager
def for_others() -> Iterator[None]:
    """Read in the block what others asked for: they count it as wanted when it was sent to them."""
    _thread.for_others = True
    try:
        yield
    finally:
        _thread.for_others = False


class Counter:
    """Counts traffic; several threads may add."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._total = InputTraffic()

    def add(self, *, wanted: int = 0, read: int = 0, received: int = 0) -> None:
        """Count bytes; none as wanted within `for_others`."""
        if getattr(_thread, "for_others", False):
            wanted = 0
        with self._lock:
            self._total += InputTraffic(wanted, read, received)

    def now(self) -> InputTraffic:
        """Return what was counted since the process began; a phase is the difference of two calls."""
        with self._lock:
            return self._total


#: of this process; `InputFile` counts what it reads here
COUNTED = Counter()

#: of the samples of recorded traces alone
TRACES = Counter()
