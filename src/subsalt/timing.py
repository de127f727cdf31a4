"""Named phases of a run: nested, exclusive, summing to wall time with an `unexplained` row."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from subsalt.parallel.mpi_library import END, OUTSIDE, START, WAITING, tell_phase
from subsalt.parallel.notes import note_phase

#: the phases of our runs; their numbers, counted from `OUTSIDE`, go to `MPI_Pcontrol`, so that a profile of MPI calls
#: can tell them apart. Profiles are kept: names are appended, never moved
NAMES = (
    "unexplained",
    "start",
    "end",
    "other phases",
    "profile",
    # migration and modelling of shots
    "check",
    "model input",
    "survey",
    "setup",
    "provenance",
    "ledger",
    "waiting for a shot",
    "trace input",
    "traces",
    "source",
    "receivers",
    "snapshots",
    "states",
    "restart points",
    "scratch",
    "computing damaged data again",
    "partial image",
    "kept wavefields",
    "waiting for other groups",
    "image sum",
    "output",
    "pictures",
    "report",
    "propagation",
    "trace output",
    # time migration
    "trace headers",
    "waiting for a block",
    "velocity",
    "selection",
    "prepare",
    "sum",
    "restart",
    "save",
    "block output",
    "stack",
    # of all runs again
    "facts",
    "schedule",
    "taper",
    "progress",
)
_NUMBERS = {name: OUTSIDE + i for i, name in enumerate(NAMES)}
_OTHER = _NUMBERS["other phases"]

assert (_NUMBERS["start"], _NUMBERS["end"]) == (START, END)
assert len(NAMES) <= WAITING


def number_of(name: str) -> int:
    """Return the number of a phase, that of ``"unexplained"`` for none."""
    return _NUMBERS.get(name, _OTHER) if name else OUTSIDE


def phase_of(number: int) -> tuple[str, bool] | None:
    """Return the phase that a level of `MPI_Pcontrol` stands for, and whether the rank waits; None for none of ours.

    Parameters
    ----------
    number : int
        Number that a program gave `MPI_Pcontrol`.
    """
    place, waits = number - OUTSIDE, number - OUTSIDE >= WAITING
    place -= WAITING * waits
    if not 0 <= place < len(NAMES):
        return None
    return NAMES[place], waits


def phase_label(number: int) -> str:
    """Return the name in tables of the phase of a level of `MPI_Pcontrol`.

    Such as ``"source"``, ``"source, waiting"``, and of another program ``"phase 3"``.

    Parameters
    ----------
    number : int
        Number that a program gave `MPI_Pcontrol`.
    """
    if (known := phase_of(number)) is None:
        return f"phase {number}"
    name, waits = known
    return f"{name}, waiting" if waits else name


class _Names(threading.local):
    """Names of the phases in which a thread is, the outermost first."""

    def __init__(self) -> None:
        self.names: list[str] = []


class Phases:
    """Seconds by named phase.

    Phases may nest: the time of an inner phase is not counted in the outer one, so that the rows of `table` sum to the
    wall time since construction (or since `restart`). Other ranks and profilers of MPI (`MPI_Pcontrol`)
    learn which phase this one is in.

    The seconds are those of the thread that made the clock. Other threads, which work beside it, may use it too: their
    phases are known while they last, and counted nowhere, since they would make more than the wall time.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stack: list[tuple[str, float]] = []
        self._thread, self._beside = threading.get_ident(), _Names()
        self._begin = time.perf_counter()

    def restart(self) -> None:
        """Forget all phases and start the wall clock again."""
        self.seconds.clear()
        self._begin = time.perf_counter()

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Count the time inside the ``with`` block under `name`."""
        if threading.get_ident() != self._thread:
            self._beside.names.append(name)
            try:
                yield
            finally:
                self._beside.names.pop()
            return
        start = time.perf_counter()
        if self._stack:
            outer, since = self._stack[-1]
            self.seconds[outer] = self.seconds.get(outer, 0.0) + start - since
        self._stack.append((name, start))
        self._tell()
        try:
            yield
        finally:
            name_, since = self._stack.pop()
            now = time.perf_counter()
            self.seconds[name_] = self.seconds.get(name_, 0.0) + now - since
            if self._stack:
                self._stack[-1] = (self._stack[-1][0], now)
            self._tell()

    def _tell(self) -> None:
        """Tell other ranks, and MPI, which phase this is."""
        name = self.current
        note_phase(name)
        tell_phase(number_of(name))

    @property
    def current(self) -> str:
        """The innermost phase of the thread that asks, or of the one whose clock it is; empty outside of all."""
        if self._beside.names:
            return self._beside.names[-1]
        stack = self._stack[-1:]
        return stack[0][0] if stack else ""

    @property
    def wall(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._begin

    def table(self) -> dict[str, float]:
        """Return seconds by phase, then `unexplained` and `wall`; the phases and `unexplained` sum to `wall`.

        The phase that is open counts as far as it has come.
        """
        wall = self.wall
        rows = dict(self.seconds)
        if self._stack:
            name, since = self._stack[-1]
            rows[name] = rows.get(name, 0.0) + self._begin + wall - since
        rows["unexplained"] = wall - sum(rows.values())
        rows["wall"] = wall
        return rows
