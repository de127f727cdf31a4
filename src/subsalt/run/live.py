"""Rank 0's thread beside the computation: it publishes the progress of the run, and stops it on request.

`progress.json` in the run directory is replaced about once a second, for `subsalt watch` and other readers. It is not
synced and nothing depends on it. The same thread looks for a request of `subsalt stop` and at the time limit.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from subsalt.io.publish import show_text
from subsalt.io.regular_files import read_json
from subsalt.run.scheduler import UnitQueue
from subsalt.run.stop_request import RunStopped, StopRequest, forget_request, read_request
from subsalt.timing import Phases

NAME = "progress.json"
#: seconds between two looks for a stop request, and between two writes of the file
LOOK, WRITE = 0.5, 1.0


@dataclass
class InHand:
    """A unit that a group is computing, as rank 0 knows it."""

    rank: int
    since: float
    fraction: float = 0.0
    phase: str = ""
    host: str = ""
    count: int = 0


@dataclass
class Live:
    """Publishes the progress of a run and stops it on request; on rank 0. A context manager, inside that of the ledger.

    Parameters
    ----------
    folder : Path
        The run directory, whose lock this process holds.
    lease : dict
        Lease of that lock.
    clock : Phases
        Clock of the run, whose innermost phase is published.
    limit : float, optional
        Seconds from `begin` after which the run stops by itself.
    begin : float
        When the command began, by `time.monotonic`.
    facts : dict
        Further facts for the file: ranks, directories of scratch.
    unit : str
        Name of a unit: shot, or block of an image.
    stop_message : str
        Predicate of the unfinished units in the message when the run stops at once.
    """

    folder: Path
    lease: dict[str, object]
    clock: Phases
    limit: float | None = None
    begin: float = field(default_factory=time.monotonic)
    facts: dict[str, Any] = field(default_factory=dict)
    unit: str = "shot"
    stop_message: str = "were given back"

    def __post_init__(self) -> None:
        self.request: StopRequest | None = None
        #: whether this start only plans the units
        self.prepared = False
        self._queue: UnitQueue | None = None
        self._in_hand: dict[int, InHand] = {}
        self._total = self._before = self._counted = 0
        self._finished_before = 0
        self._units_begin: float | None = None
        self._lock, self._end = threading.Lock(), threading.Event()
        #: held while a signal is sent, so that none is sent after the end
        self._ending = threading.Lock()
        self._thread = threading.Thread(target=self._look, name="live", daemon=True)
        self._handler: Any = None

    # -- events of the scheduling of units

    def begin_round(self, queue: UnitQueue, left: int, total: int, done: int) -> None:
        """Begin with the units of a round: `left` of them are not done, `done` of the `total` of all rounds are."""
        with self._lock:
            self._finished_before += self._queue.finished if self._queue is not None else 0
            self._queue, self._total, self._before = queue, total, done - self._finished_before
            if self._units_begin is None:
                self._units_begin = time.monotonic()
            if self.request is not None and self.request.finish:
                queue.halt()

    def started(self, unit: int, rank: int) -> None:
        """Note that the group whose first rank is `rank` has started a unit."""
        with self._lock:
            self._in_hand[unit] = InHand(rank, time.monotonic())

    def at(self, unit: int, fraction: float, phase: str = "", host: str = "", count: int = 0) -> None:
        """Note how much of a unit is done, and its contributions so far in this start."""
        with self._lock:
            if (known := self._in_hand.get(unit)) is not None:
                known.fraction, known.phase, known.host = fraction, phase, host or known.host
                known.count = count

    def over(self, unit: int, count: int | None = None) -> None:
        """Note that a group has ended a unit, and its contributions in this start."""
        with self._lock:
            known = self._in_hand.pop(unit, None)
            if known is not None:
                self._counted += known.count if count is None else count

    # -- the end

    def __enter__(self) -> Live:
        forget_request(self.folder)
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGUSR1)
            if before in (signal.SIG_DFL, signal.SIG_IGN):
                # a program that uses the package has no handler of its own, and the default is death
                self._handler = before
                signal.signal(signal.SIGUSR1, _interrupt)
        self._write("running")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._quiet()
        if self._handler is not None:
            signal.signal(signal.SIGUSR1, self._handler)
        forget_request(self.folder)
        if error is None:
            self._write("stopped" if self.prepared else "finished", "prepared" * self.prepared)
            return
        stopped = isinstance(error, RunStopped) or not isinstance(error, Exception)
        why = self.request.why if self.request is not None else str(error) or type(error).__name__
        self._write("stopped" if stopped else "failed", "a signal" if why in _SIGNALS else why)
        if stopped and self.request is not None and not isinstance(error, RunStopped):
            raise self._stopped(self.request, f"the {self.unit}s in hand {self.stop_message}") from error

    def _quiet(self) -> None:
        """End the thread, and swallow the signal of a request that came too late to stop anything."""
        while True:
            try:
                with self._ending:
                    self._end.set()
                self._thread.join()
                time.sleep(0)  # a handler that waits runs now
                return
            except BaseException:
                if self.request is None:
                    raise  # from another source, such as Ctrl-C

    def unfinished(self, left: bool) -> RunStopped | None:
        """Return the exception of a run that ends with units left; None when none are left or no stop was requested."""
        if self.request is None or not left:
            return None
        return self._stopped(self.request, f"the {self.unit}s in hand were finished first")

    def _stopped(self, request: StopRequest, how: str) -> RunStopped:
        return RunStopped(
            f"stopped ({request.why}): {how}; what was finished is kept",
            f"the same command, or subsalt resume {self.folder}, resumes from there",
        )

    # -- the thread

    def _look(self) -> None:
        written = time.monotonic()
        while not self._end.wait(LOOK):
            now = time.monotonic()
            if self.request is None:
                request = read_request(self.folder, self.lease)
                if request is None and self.limit is not None and now - self.begin >= self.limit:
                    request = StopRequest(False, f"the time limit of {self.limit:g} s is over")
                if request is not None:
                    self._obey(request)
            if now - written >= WRITE:
                written = now
                self._write("stopping" if self.request is not None else "running")

    def _obey(self, request: StopRequest) -> None:
        with self._lock:
            self.request = request
            if request.finish:
                if self._queue is not None:
                    self._queue.halt()
                return
        with self._ending:
            if not self._end.is_set():
                # a signal, since the main thread may sit in a long call; its handler raises between two calls
                os.kill(os.getpid(), signal.SIGUSR1)

    def _write(self, state: str, why: str = "") -> None:
        now = time.monotonic()
        with self._lock:
            finished = self._finished_before + (0 if self._queue is None else self._queue.finished)
            content = {
                "state": state,
                "why": why,
                "now": datetime.now(UTC).isoformat(timespec="seconds"),
                "elapsed": round(now - self.begin, 3),
                "phase": self.clock.current,
                "total": self._total,
                "before": self._before,
                "finished": finished,
                "unit": self.unit,
                "counted": self._counted + sum(s.count for s in self._in_hand.values()),
                "shots_seconds": None if self._units_begin is None else round(now - self._units_begin, 3),
                "in_hand": [
                    {
                        "shot": unit,
                        "rank": s.rank,
                        "host": s.host,
                        "fraction": round(s.fraction, 4),
                        "phase": s.phase,
                        "seconds": round(now - s.since, 3),
                    }
                    for unit, s in self._in_hand.items()
                ],
                "lease": dict(self.lease),
                **self.facts,
            }
        show_text(self.folder / NAME, json.dumps(content) + "\n")


_SIGNALS = ("Terminated", "KeyboardInterrupt", str(int(signal.SIGTERM)), str(int(signal.SIGUSR1)))


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def read_progress(folder: Path) -> Mapping[str, Any]:
    """Return the last published progress of a run, empty when there is none; writes nothing."""
    try:
        content = read_json(folder / NAME)
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
