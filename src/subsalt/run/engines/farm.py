"""The units of a round on workers of an engine: assigned, entered, and assigned again when a worker is lost.

A worker has one task in hand and one that waits, so that it never idles and little is lost with it. Every task is tied
to one worker: when that is gone, its units that are not published become tasks of another one, as further attempts.
Nothing depends on whether the worker is really dead, since attempts have equal bytes. Only what the unit itself has
brought about, bad data or a crash of its program, counts as its failure.

Units that take less than `JOIN` seconds are joined into one task: a program reads the headers of the survey, and tries
the tiles of its kernels, once. It publishes its units one by one: with a worker only the unit in hand is lost.
"""

from __future__ import annotations

import math
import signal
import statistics
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from subsalt.errors import ParallelError, SubsaltError
from subsalt.io.event_log import log_event
from subsalt.run import quarantine
from subsalt.run.attempts import complete_attempt, forget, identity_of, next_attempt, take, unit_folder
from subsalt.run.crash_evidence import collect_crash_stacks
from subsalt.run.method_run import RunState
from subsalt.run.scheduler import RankGroups, UnitQueue
from subsalt.run.units import Bookkeeping, HasId

#: tasks of a worker, the one in hand included
DEPTH = 2
#: seconds up to which units are joined into one task, and the most of them: a program takes some 5 to 10 s beside its
#: units, a twentieth of this; a run that is told to stop after its tasks waits as long
JOIN, MOST = 180.0, 64
#: seconds between two looks at the workers, and for which news is waited
LOOK = 0.1
#: attempts at one unit in a start that may be lost with their workers
LOST = 20
#: exit codes of `subsalt unit`: bad data; codes after which another attempt may succeed
BAD_DATA = 65
AGAIN = {75, 130, 143, 128 + signal.SIGKILL, 128 + signal.SIGTERM, 128 + signal.SIGINT, 128 + signal.SIGUSR1}
#: signals that a program sends itself when it crashes
CRASHES = {128 + s for s in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)}


@dataclass(frozen=True)
class Task:
    """Units that one program computes.

    Parameters
    ----------
    number : int
        Number of the task in this start.
    units : tuple of int
        Its units.
    round, attempt : int
        Round of the units, and number of the attempt at them.
    threads : int
        Threads of the program.
    """

    number: int
    units: tuple[int, ...]
    round: int
    attempt: int
    threads: int


@dataclass(frozen=True)
class Ended:
    """The end of a task.

    Parameters
    ----------
    task : int
        Its number.
    code : int or None
        Exit code of its program; None when the engine has lost it.
    errors : str
        Last words of the program, or of the engine.
    """

    task: int
    code: int | None
    errors: str = ""


@dataclass(frozen=True)
class WorkerFacts:
    """A worker that may compute units of the run.

    Parameters
    ----------
    name : str
        Its address.
    host : str
        Its machine.
    cores : int
        Cores that it may use; shared with the other workers of its machine.
    """

    name: str
    host: str
    cores: int


class Farm(Protocol):
    """Workers of an engine, as the client of a run sees them."""

    def with_device(self, device: str) -> None:
        """Compare the numerics class of a device from now on."""

    def workers(self) -> Sequence[WorkerFacts]:
        """Return the workers that are there and may compute units of the run.

        Raises
        ------
        ParallelError
            When the engine does not answer (E879).
        """

    def start(self, worker: str, task: Task) -> None:
        """Start a task on a worker, after those that it has."""

    def ended(self, wait: float) -> Sequence[Ended]:
        """Return tasks that have ended since the last call; wait up to so many seconds for one."""

    def give_up(self, tasks: Sequence[int]) -> None:
        """Forget tasks; their programs may go on."""


@dataclass
class FarmUnits:
    """Computes the units of a round on a farm; what `run_units` is for ranks.

    Parameters
    ----------
    farm : Farm
        The workers.
    state : RunState
        State of the run, whose ledger this process writes.
    threads : int, optional
        Threads of each program; the cores of a machine shared by its workers when None.
    join : float
        Seconds up to which units are joined into one task.
    """

    farm: Farm
    state: RunState
    threads: int | None = None
    join: float = JOIN
    #: tasks in hand, by number, and the worker of each
    _tasks: dict[int, Task] = field(default_factory=dict)
    _at: dict[int, str] = field(default_factory=dict)
    #: number of a worker, in the order in which they came
    _ranks: dict[str, int] = field(default_factory=dict)
    #: units that were lost with a worker, and how often
    _again: deque[int] = field(default_factory=deque)
    _losses: dict[int, int] = field(default_factory=dict)
    _seconds: list[float] = field(default_factory=list)
    _number: int = 0
    #: attempts that were lost in this start
    lost: int = 0

    def __call__(
        self,
        groups: RankGroups,
        process: Callable[..., Any],
        left: Sequence[HasId],
        total: int,
        books: Bookkeeping,
        at_once: int = 1,
    ) -> None:
        """Compute the units that are left; see `run_units`."""
        queue = books.queue(left, 1, total)
        self.farm.with_device(self.state.device.NAME)
        identity = identity_of(self._ledger)
        self._again.clear()
        before, of_all = books.earlier + total - len(left), books.earlier + total + books.ahead
        try:
            while True:
                workers = self.farm.workers()
                self._give_up_lost({w.name for w in workers}, queue, identity)
                self._hand_out(workers, queue, identity)
                if not self._tasks and (queue.halted or queue.finished == len(left)):
                    return
                for end in self.farm.ended(LOOK):
                    self._end(end, queue, identity)
                books.between()
                if books.progress is not None:
                    what = f"{len(workers)} workers" if workers else "waiting for workers"
                    books.progress(min(of_all, before + queue.finished), of_all, what)
        finally:
            self.farm.give_up(list(self._tasks))
            self._tasks.clear()
            self._at.clear()

    @property
    def _ledger(self) -> Any:
        assert self.state.ledger is not None
        return self.state.ledger

    # -- tasks

    def _hand_out(self, workers: Sequence[WorkerFacts], queue: UnitQueue, identity: str) -> None:
        """Give every worker its tasks, each one first before any has a second."""
        for depth in range(1, DEPTH + 1):
            for worker in workers:
                rank = self._ranks.setdefault(worker.name, len(self._ranks))
                if list(self._at.values()).count(worker.name) >= depth:
                    continue
                units = self._next(queue, rank, len(workers), identity)
                if not units:
                    return
                self._number += 1
                folder, number = self.state.folder, self.state.round
                # beyond those of the ledger, and of processes that it does not know
                attempt = max(
                    max(self._ledger.attempt(unit), next_attempt(folder, number, unit)) for unit in units
                )
                task = Task(
                    self._number, tuple(units), self.state.round, attempt, self._threads(worker, workers)
                )
                self._tasks[task.number], self._at[task.number] = task, worker.name
                for unit in units:
                    queue.on_heard(unit, 0.0, "", worker.host, 0)
                self.farm.start(worker.name, task)

    def _next(self, queue: UnitQueue, rank: int, workers: int, identity: str) -> list[int]:
        """Return the units of the next task; what was published meanwhile is entered instead."""
        units: list[int] = []
        while len(units) < self._joined(queue.waiting + len(self._again) + len(units), workers):
            if self._again and not queue.halted:
                unit = self._again.popleft()
                queue.on_start(unit, rank)
            elif (number := queue.take(rank)) is not None:
                unit = number
            else:
                break
            if not self._enter(unit, queue, identity):
                units.append(unit)
        return units

    def _joined(self, left: int, workers: int) -> int:
        """Return how many units make a task: of short ones several, fewer towards the end."""
        if not self._seconds or self.join <= 0:
            return 1
        each = max(1e-3, statistics.median(self._seconds[-100:]))
        return max(1, min(MOST, math.ceil(self.join / each), left // (DEPTH * max(1, workers))))

    def _threads(self, worker: WorkerFacts, workers: Sequence[WorkerFacts]) -> int:
        return self.threads or max(1, worker.cores // sum(w.host == worker.host for w in workers))

    # -- ends

    def _end(self, end: Ended, queue: UnitQueue, identity: str) -> None:
        """Enter what a task has published; what its exit code says of the rest."""
        task = self._tasks.pop(end.task, None)
        if task is None:
            return  # given up before
        self._at.pop(end.task)
        missing = [unit for unit in task.units if not self._enter(unit, queue, identity)]
        if not missing:
            return
        if end.code in CRASHES:
            self._crashed(task, missing, end, queue)
        elif end.code == 0:
            # the folder of a network file system may show a file later than the message comes
            self._lose(missing, "published, but not seen here", queue, len(missing))
        elif (
            end.code is None or end.code in AGAIN or (end.code == BAD_DATA and len(missing) < len(task.units))
        ):
            self._lose(missing, end.errors, queue)
        else:
            raise _fatal(missing[0], end)

    def _enter(self, unit: int, queue: UnitQueue, identity: str) -> bool:
        """Enter a unit that is published; return whether it is."""
        attempt = complete_attempt(self._ledger, unit, identity)
        if attempt is None:
            return False
        with suppress(FileNotFoundError):
            outcome = take(self.state, attempt)
            queue.over(outcome)
            if "reason" not in outcome:
                self._seconds.append(outcome["seconds"])
            forget(self.state.folder, self.state.round, unit)
            return True
        forget(self.state.folder, self.state.round, unit)
        return False

    def _give_up_lost(self, there: set[str], queue: UnitQueue, identity: str) -> None:
        """Give up the tasks of workers that are not there any more."""
        gone = [number for number, worker in self._at.items() if worker not in there]
        if not gone:
            return
        self.farm.give_up(gone)
        for number in gone:
            self._end(Ended(number, None, "its worker is gone"), queue, identity)

    def _lose(self, units: Sequence[int], why: str, queue: UnitQueue, in_hand: int = 1) -> None:
        """Let units of a task be tried again, in their order; those that were lost several times come last.

        The first `in_hand` are lost. The others waited behind them in the program, which computes them in order.
        """
        ledger = self._ledger
        for unit in reversed(units[in_hand:]):
            self._again.appendleft(unit)
            self._release(unit)
        for unit in reversed(units[:in_hand]):
            self.lost += 1
            losses = self._losses[unit] = self._losses.get(unit, 0) + 1
            log_event(ledger.folder, event="lost", **ledger.named(unit), reason=why[-300:])
            if losses >= LOST:
                error = ParallelError(
                    f"{ledger.unit} {unit} was lost {losses} times with its worker, at last: {why[-300:] or 'killed'}",
                    f"compute it alone and look: subsalt unit {ledger.folder} --unit {unit}",
                    code="E880",
                )
                error.exit_code = 75
                raise error
            (self._again.appendleft if losses == 1 else self._again.append)(unit)
            self._release(unit)

    def _release(self, unit: int) -> None:
        """Say that nobody has a unit in hand."""
        if self.state.live is not None:
            self.state.live.over(unit)
        self._ledger.release(unit)

    def _crashed(self, task: Task, missing: Sequence[int], end: Ended, queue: UnitQueue) -> None:
        """Count a crash as a failure of the unit in which it happened, and try the others again."""
        ledger, unit, stack = self._ledger, missing[0], ""
        for one in missing:
            left = collect_crash_stacks(unit_folder(ledger.folder, task.round, one) / str(task.attempt))
            if left:
                unit, stack = one, next(iter(left.values()))
        first = stack.splitlines()[0] if stack else signal.Signals((end.code or 128) - 128).name
        reason = f"the program crashed in this {ledger.unit}: {first}"
        failure: dict[str, object] = {"reason": reason, "stack": stack.splitlines()}
        quarantine.add_failure(ledger.folder, unit, failure, number=task.round)
        queue.over({"unit": unit, "reason": reason})
        self._lose([one for one in missing if one != unit], "a crash in another unit of the task", queue, 0)


def _fatal(unit: int, end: Ended) -> SubsaltError:
    """Return the error of a program that no further attempt helps."""
    said = end.errors.splitlines()
    error = ParallelError(
        f"unit {unit} ended with exit code {end.code}: {' | '.join(said[-4:]) or 'without a word'}",
        "the same holds for every other attempt: correct it, then start the same command again",
        code="E880",
    )
    error.exit_code = end.code or 70
    return error
