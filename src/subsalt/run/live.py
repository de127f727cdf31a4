"""What rank 0 does beside computing: it tells how far the run is, and looks for a wish that it ends.

`progress.json` in the run directory is replaced about once a second, for `subsalt watch` and anyone who looks. It is
not synced and nothing depends on it. The same thread looks for a request of `subsalt stop` and at the time limit.

Stopping a run from outside: `subsalt stop RUN` leaves a request in the run directory, rank 0 finds it.

A request names the start of the run that it is for (the token of its lease), so that one which came too late stops
nothing later.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from subsalt.errors import ConfigError, MissingInputError, ParallelError, SubsaltError
from subsalt.io.publish import publish_text, show_text
from subsalt.io.regular_files import read_json
from subsalt.io.run_folder import own_run
from subsalt.run.lock import is_alive, read_lease
from subsalt.run.scheduler import UnitQueue
from subsalt.run.settings import NAME as LEDGER
from subsalt.timing import Phases

STOP_FILE = "stop.json"
#: seconds between two looks of `ask`
EVERY = 0.1


class RunStopped(SubsaltError):
    """A run was stopped on request; the same command resumes it."""

    exit_code = 75
    default_code = "E801"


@dataclass(frozen=True)
class Request:
    """A wish that a run ends.

    Parameters
    ----------
    finish : bool
        The shots in hand are finished first.
    why : str
        Who asked, for people.
    """

    finish: bool
    why: str


def read_request(folder: Path, lease: dict[str, object]) -> Request | None:
    """Return the request that is meant for the start of the run with this lease, None when there is none."""
    try:
        values = read_json(folder / STOP_FILE)
    except (OSError, ValueError):
        return None
    if not isinstance(values, dict) or not lease or values.get("token") != lease.get("token"):
        return None
    return Request(values.get("finish") is True, str(values.get("why", "subsalt stop"))[:200])


def forget_request(folder: Path) -> None:
    """Remove a request; what is left of an older one stops nothing, and need not lie about."""
    (folder / STOP_FILE).unlink(missing_ok=True)


@dataclass(frozen=True)
class Answer:
    """What became of a request.

    Parameters
    ----------
    running : bool
        Whether a process worked in the directory at all.
    stopped : bool
        Whether nobody works there now.
    owner : str
        Who works or worked there.
    seconds : float
        How long it took.
    """

    running: bool
    stopped: bool
    owner: str
    seconds: float


def ask(
    folder: Path,
    finish: bool = False,
    patience: float = 60.0,
    report: Callable[[str], None] = lambda text: None,
) -> Answer:
    """Ask the run in a directory to stop, and wait until it has.

    Parameters
    ----------
    folder : Path
        The run directory.
    finish : bool
        Let the shots in hand be finished.
    patience : float
        Seconds to wait; 0 returns as soon as the request lies there.
    report : callable, optional
        Gets a line for people when the request has been left.

    Raises
    ------
    MissingInputError
        When it is no run directory.
    ParallelError
        When the run has not stopped in time.
    """
    known_run(folder)
    own_run(folder)
    lease = read_lease(folder)
    owner = f"process {lease.get('pid')} on {lease.get('host', '?')}" if lease else ""
    if not lease or is_alive(lease) is False:
        return Answer(False, True, owner, 0.0)
    why = f"subsalt stop, by process {os.getpid()} on {platform.node()}"
    content = {"token": lease.get("token"), "finish": finish, "why": why}
    publish_text(folder / STOP_FILE, json.dumps(content) + "\n")
    report(f"asked {owner} to stop")
    begin = time.monotonic()
    while True:
        now = read_lease(folder)
        seconds = time.monotonic() - begin
        # a start that followed has another token
        if now.get("token") != lease.get("token") or is_alive(now) is False:
            return Answer(True, True, owner, seconds)
        if seconds >= patience:
            break
        time.sleep(EVERY)
    if patience <= 0:
        return Answer(True, False, owner, 0.0)
    raise ParallelError(
        f"{owner} was asked to stop, and still works in {folder} after {patience:g} s",
        "look with subsalt watch; it may be finishing a shot, a block or a file, or end it with kill",
        code="E840",
    )


def known_run(folder: Path) -> None:
    """Refuse what is no run directory.

    Raises
    ------
    MissingInputError
        When it does not exist, or no run ever began in it.
    ConfigError
        When it is a file.
    """
    if not folder.exists():
        raise MissingInputError(
            f"{folder} does not exist", "give the directory that subsalt migrate made", code="E110"
        )
    if not folder.is_dir():
        raise ConfigError(
            f"{folder} is a file, not a run directory",
            "give the directory that subsalt migrate made",
            code="E842",
        )
    if not any((folder / name).exists() for name in (LEDGER, "run.lock", "job.resolved.toml")):
        raise MissingInputError(
            f"{folder} holds no run: neither {LEDGER} nor job.resolved.toml is in it",
            "give the directory that subsalt migrate made",
            code="E841",
        )


NAME = "progress.json"
#: seconds between two looks for a request, and between two writings of the file
LOOK, WRITE = 0.5, 1.0


@dataclass
class InHand:
    """A unit that a group works on, as rank 0 knows it."""

    rank: int
    since: float
    fraction: float = 0.0
    phase: str = ""
    host: str = ""
    count: int = 0


@dataclass
class Live:
    """Tells of a run and stops it when asked; lives on rank 0. A context manager, inside that of the ledger.

    Parameters
    ----------
    folder : Path
        The run directory, whose lock this process holds.
    lease : dict
        Of that lock.
    clock : Phases
        Whose innermost phase is told.
    limit : float, optional
        Seconds from `begin` after which the run stops by itself.
    begin : float
        When the command began, by `time.monotonic`.
    facts : dict
        What else the file says: ranks, directories of scratch.
    unit : str
        What is handed out: shots, or blocks of an image.
    stop_message : str
        Predicate of the units in hand when the run stops at once, for people.
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
        self.request: Request | None = None
        self._queue: UnitQueue | None = None
        self._in_hand: dict[int, InHand] = {}
        self._total = self._before = self._counted = 0
        self._finished_before = 0
        self._units_begin: float | None = None
        self._lock, self._end = threading.Lock(), threading.Event()
        #: held while a signal is sent: none is behind the end
        self._ending = threading.Lock()
        self._thread = threading.Thread(target=self._look, name="live", daemon=True)
        self._handler: Any = None

    # -- what the scheduling of units tells

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
        """Note that a group, whose first rank this is, has got a unit."""
        with self._lock:
            self._in_hand[unit] = InHand(rank, time.monotonic())

    def at(self, unit: int, fraction: float, phase: str = "", host: str = "", count: int = 0) -> None:
        """Note how much of a unit is done, and what was counted for it in this start."""
        with self._lock:
            if (known := self._in_hand.get(unit)) is not None:
                known.fraction, known.phase, known.host = fraction, phase, host or known.host
                known.count = count

    def over(self, unit: int, count: int | None = None) -> None:
        """Note that a group is through with a unit, and what was counted for it in this start."""
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
            self._write("finished")
            return
        stopped = isinstance(error, RunStopped) or not isinstance(error, Exception)
        why = self.request.why if self.request is not None else str(error) or type(error).__name__
        self._write("stopped" if stopped else "failed", "a signal" if why in _SIGNALS else why)
        if stopped and self.request is not None and not isinstance(error, RunStopped):
            raise self._stopped(self.request, f"the {self.unit}s in hand {self.stop_message}") from error

    def _quiet(self) -> None:
        """End the thread. The signal of a request that came too late to stop anything ends here as well."""
        while True:
            try:
                with self._ending:
                    self._end.set()
                self._thread.join()
                time.sleep(0)  # a handler that waits runs now
                return
            except BaseException:
                if self.request is None:
                    raise  # somebody else's, such as Ctrl-C

    def unfinished(self, left: bool) -> RunStopped | None:
        """Return why a run ends with something left to do, None when nothing is left or nobody asked."""
        if self.request is None or not left:
            return None
        return self._stopped(self.request, f"the {self.unit}s in hand were finished first")

    def _stopped(self, request: Request, how: str) -> RunStopped:
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
                    request = Request(False, f"the time limit of {self.limit:g} s is over")
                if request is not None:
                    self._obey(request)
            if now - written >= WRITE:
                written = now
                self._write("stopping" if self.request is not None else "running")

    def _obey(self, request: Request) -> None:
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
    """Return what a run said last of itself, empty when it said nothing; writes nothing."""
    try:
        content = read_json(folder / NAME)
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
