"""What one rank counts of its own MPI calls in Python, in the words in which the interposer writes it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

#: probes that say something together; s of one that was interrupted and says nothing
ENOUGH, INTERRUPTED = 8, 50e-6


@dataclass(slots=True)
class Row:
    """Calls of one function on one communicator in one phase."""

    calls: int = 0
    seconds: float = 0.0
    bytes: int = 0
    least: float = float("inf")
    most: float = 0.0
    #: by length of their bytes in bits: calls, seconds, bytes
    sizes: dict[int, list[Any]] = field(default_factory=dict)
    #: calls with a probe before them, and what the probes took beyond what was allowed for
    probes: int = 0
    beyond: float = 0.0

    @property
    def net(self) -> float:
        """Seconds less what the calls took around MPI as the probes found it: caches are colder than in a trial.

        A call with a probe before it is warm, and owes nothing beyond what was allowed for.
        """
        owed = (self.calls - self.probes) * self.beyond / self.probes if self.probes >= ENOUGH else 0.0
        return max(0.0, self.seconds - owed)

    def add(self, seconds: float, size: int | None) -> None:
        """Count one call of `size` bytes, None where the function carries none."""
        self.calls += 1
        self.seconds += seconds
        self.least, self.most = min(self.least, max(0.0, seconds)), max(self.most, seconds)
        if size is not None:
            self.bytes += size
            bin_ = self.sizes.setdefault(size.bit_length(), [0, 0.0, 0])
            bin_[0] += 1
            bin_[1] += seconds
            bin_[2] += size


class Counts:
    """The calls of this rank, by thread, function, communicator and phase, and the seconds of its phases.

    Parameters
    ----------
    clock : callable
        Returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.began = self._since = clock()
        self.phase, self._phases = 0, dict[int, float]()
        # every thread has rows of its own: nothing is locked
        self._main = threading.main_thread().ident
        self._rows: dict[int | None, dict[tuple[str, str, int, int], Row]] = {self._main: {}}

    def tell(self, number: int) -> None:
        """Begin a phase, as `MPI_Pcontrol` does; of the main thread."""
        if number != self.phase:
            self._leave(self.clock())
            self.phase = number

    def _leave(self, now: float) -> None:
        self._phases[self.phase] = self._phases.get(self.phase, 0.0) + now - self._since
        self._since = now

    def add(self, call: str, comm: tuple[str, int], seconds: float, size: int | None = None) -> None:
        """Count one call.

        Parameters
        ----------
        call : str
            Such as ``"MPI_Bcast"``.
        comm : (str, int)
            Name and ranks of its communicator; empty and 0 without one.
        seconds : float
            That it took.
        size : int, optional
            Bytes, of functions that carry some.
        """
        self._row(call, comm).add(seconds, size)

    def probed(self, call: str, comm: tuple[str, int], beyond: float) -> None:
        """Note what a call that does nothing took, just before one that does, beyond what is allowed for.

        Parameters
        ----------
        call, comm
            As in `add`.
        beyond : float
            Seconds; may be negative.
        """
        if beyond < INTERRUPTED:
            row = self._row(call, comm)
            row.probes += 1
            row.beyond += beyond

    def _row(self, call: str, comm: tuple[str, int]) -> Row:
        thread = threading.get_ident()
        rows = self._rows.setdefault(thread, {})
        key = (call, *comm, self.phase if thread == self._main else 0)
        row = rows.get(key)
        if row is None:
            row = rows[key] = Row()
        return row

    def raw(self, rank: int, host: str) -> dict[str, Any]:
        """Return all of it, as the interposer writes the part of a rank; the time ends here."""
        now = self.clock()
        self._leave(now)
        calls = [
            {
                "call": call,
                "main": int(thread == self._main),
                "phase": phase,
                "site": "",
                "comm": comm,
                "size": ranks,
                "calls": row.calls,
                "seconds": row.net,
                "least": row.least,
                "most": row.most,
                "bytes": row.bytes,
                "sizes": [[bits, *values] for bits, values in sorted(row.sizes.items())],
            }
            for thread, rows in list(self._rows.items())
            for (call, comm, ranks, phase), row in rows.items()
        ]
        return {
            "rank": rank,
            "host": host,
            "wall": now - self.began,
            "init": 0.0,
            "phases": [[number, seconds] for number, seconds in self._phases.items()],
            "objects": [],
            "calls": calls,
        }
