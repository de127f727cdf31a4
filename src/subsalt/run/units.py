"""Units of work, shots or blocks of an image: each group of ranks takes the next one that is not done.

The outcome of a unit is recorded at once: in the ledger, in the log of events, in the progress of the run.

A process alone may compute several units side by side, each in a thread: the main thread and some beside it take units
from the same queue. Threads, and not processes: they share the model and the readers of traces, a signal or an error
ends one process with all its units, and the compiled kernels hold no lock of the interpreter while they step.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Generic, Protocol, TypeVar

from subsalt.io.event_log import log_event
from subsalt.parallel.comm import Comm
from subsalt.parallel.notes import note
from subsalt.run import quarantine
from subsalt.run.ledger import Ledger
from subsalt.run.ledger_file import Wavefield
from subsalt.run.live import Live
from subsalt.run.scheduler import LOOK, Outcome, RankGroups, Scheduler, UnitQueue, Worker
from subsalt.timing import Phases


class HasId(Protocol):
    """A unit of work."""

    @property
    def id(self) -> int:
        """Number of the unit in the ledger."""


Unit = TypeVar("Unit", bound=HasId)

#: ``progress(done, total, message)``: `done` of `total` units, fractions included
Progress = Callable[..., None]
#: ``report(unit, fraction)``: how much of a unit is done; a third number may count what was computed for it
Report = Callable[..., None]


@dataclass
class Bookkeeping:
    """The bookkeeping of a round: records outcomes of units, and the progress of the run.

    Parameters
    ----------
    clock : Phases
        Clock of the phases.
    ledger : Ledger, optional
        Ledger of the run, on rank 0.
    progress : callable, optional
        Called on rank 0.
    live : Live, optional
        Publisher of the progress, on rank 0.
    unit : str
        Name of a unit in messages.
    round : int, optional
        The current round; None where a run has only one.
    earlier, ahead : int
        Units of the rounds before, and of those after, as far as they are known.
    between : callable
        Called between two looks at workers, by a process that computes no unit itself.
    """

    clock: Phases
    ledger: Ledger | None = None
    progress: Progress | None = None
    live: Live | None = None
    unit: str = "shot"
    round: int | None = None
    earlier: int = 0
    ahead: int = 0
    between: Callable[[], object] = lambda: None

    def queue(self, left: Sequence[HasId], groups: int, total: int) -> UnitQueue:
        """Return the queue of the units left of `total` in the round; on rank 0 it writes into the ledger."""
        queue = UnitQueue([s.id for s in left], groups)
        if self.ledger is not None:
            queue.on_start, queue.on_outcome = self._start, self._record
        if self.live is not None:
            queue.on_heard = self.live.at
            if self.round is not None:
                self.live.facts |= {"round": self.round, "ahead": self.ahead}
            done = self.earlier + total - len(left)
            self.live.begin_round(queue, len(left), self.earlier + total + self.ahead, done)
        return queue

    def said(self, unit: HasId) -> str:
        """Return the name of a unit in messages."""
        return f"{'' if self.round is None else f'round {self.round}, '}{self.unit} {unit.id}"

    def _start(self, unit: int, rank: int) -> None:
        """Record in the ledger that a group has started a unit."""
        assert self.ledger is not None
        self.ledger.start(unit)
        if self.live is not None:
            self.live.started(unit, rank)

    def _record(self, outcome: Outcome) -> bool:
        """Record the outcome of a unit in the ledger and the log of events; return whether it is tried again."""
        assert self.ledger is not None
        if self.live is not None:
            self.live.over(outcome["unit"], outcome.get("counted"))
        return enter_outcome(self.ledger, outcome)


def enter_outcome(ledger: Ledger, outcome: Outcome) -> bool:
    """Enter the outcome of a unit in the ledger and the log of events; return whether it is tried again."""
    unit = outcome["unit"]
    named = ledger.named(unit)
    if "reason" in outcome:
        aside = quarantine.count_failure(ledger, unit, outcome["reason"])
        what = "quarantined" if aside else "failed"
        log_event(ledger.folder, event=what, **named, reason=outcome["reason"])
        return not aside
    quarantine.forget_failures(ledger.folder, unit, ledger.round)
    if "damaged" in outcome:
        log_event(ledger.folder, event="damaged", **named, reason=outcome["damaged"])
    if "wavefields" in outcome:
        wavefields = [Wavefield.of(unit, w | {"folders": ledger.scratch}) for w in outcome["wavefields"]]
        ledger.keep_wavefields(unit, wavefields)
        log_event(ledger.folder, event="kept", shot=unit, wavefields=[vars(w) for w in wavefields])
    ledger.finish(unit, outcome["sha256"], outcome["seconds"])
    done = {"seconds": round(outcome["seconds"], 3), "sha256": outcome["sha256"]}
    done |= {k: outcome[k] for k in ("checkpoint", "facts", "by", "host") if outcome.get(k)}
    log_event(ledger.folder, event="done", **named, **done)
    return False


def run_units(
    groups: RankGroups,
    process: Callable[[Unit, Unit | None, Report], Outcome],
    left: Sequence[Unit],
    total: int,
    books: Bookkeeping,
    at_once: int = 1,
) -> None:
    """Let every group take the next of the units that are left, until there are none; collective over all ranks.

    Parameters
    ----------
    groups : RankGroups
        Groups, with that of this rank.
    process : callable
        ``process(unit, next_unit, report)`` computes a unit and returns its outcome; `next_unit` is None if unknown.
    left : sequence of units
        Units to compute, in this order.
    total : int
        Units of the round, including those done before.
    books : Bookkeeping
        Bookkeeping of the units.
    at_once : int
        Units that a process alone computes side by side: as many threads call `process`.
    """
    queue = books.queue(left, len(groups.sizes) * at_once, total)
    before, of_all = books.earlier + total - len(left), books.earlier + total + books.ahead
    source: Scheduler | Worker
    if groups.world.is_root:
        source, progress = Scheduler(queue, groups.channel, len(groups.sizes) - 1), books.progress
    else:
        source, progress = Worker(groups.channel), None

    #: how much of the units in hand is done, by thread
    done: dict[int, float] = {}

    def take() -> None:
        _take(groups.group, source, left, process, report, books)
        done.pop(threading.get_ident(), None)

    beside = Beside(at_once - 1, take)

    def report(work: HasId | None, fraction: float, count: int = 0) -> None:
        beside.poll()
        source.poll()
        done[threading.get_ident()] = fraction
        if work is not None:
            note(f"{books.said(work)}, {fraction:.0%}")
            if groups.group.is_root:
                source.tell(work.id, fraction, books.clock.current, count)
        if progress is not None and beside.is_main:
            message = "waiting for other groups" if work is None else books.said(work)
            progress(min(of_all, before + queue.finished + sum(done.values())), of_all, message)

    with source:
        if not groups.idle:
            with beside:
                take()
                with books.clock("waiting for other groups"):
                    beside.wait(lambda: report(None, 0.0))
            note("")
        with books.clock("waiting for other groups"):
            source.wait(lambda: report(None, 0.0))
            groups.rest()
    if progress is not None and left and queue.finished == len(left):
        progress(before + len(left), of_all, "")


class OneOf(Generic[Unit]):
    """A function that computes units for several threads at once, of several that each compute one at a time.

    Parameters
    ----------
    functions : sequence of callable
        ``process(unit, next_unit, report)``, as many as there are threads.
    """

    def __init__(self, functions: Sequence[Callable[[Unit, Unit | None, Report], Outcome]]) -> None:
        self._free = list(functions)

    def __call__(self, unit: Unit, next_unit: Unit | None, report: Report) -> Outcome:
        """Compute a unit by a function that is free."""
        function = self._free.pop()
        try:
            return function(unit, next_unit, report)
        finally:
            self._free.append(function)


class Ended(BaseException):
    """Ends a unit because its run ends; it says nothing about the unit, and no handler of its errors takes it."""


class Beside:
    """Threads that take units beside the main thread of a process. A context manager: it ends them with an error.

    Parameters
    ----------
    count : int
        Threads.
    take : callable
        ``take()`` computes units until there are none, and calls `poll` now and then.
    """

    def __init__(self, count: int, take: Callable[[], None]) -> None:
        self._main = threading.get_ident()
        self._take, self._end = take, threading.Event()
        self._failure: BaseException | None = None
        self._threads = [threading.Thread(target=self._work, name=f"units {i + 1}") for i in range(count)]

    def __enter__(self) -> Beside:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._end.set()
        for thread in self._threads:
            thread.join()

    @property
    def is_main(self) -> bool:
        """Whether the caller is the main thread."""
        return threading.get_ident() == self._main

    def poll(self) -> None:
        """Raise on the main thread what another one could not get over, and on the others that the run ends."""
        if not self._end.is_set():
            return
        if not self.is_main:
            raise Ended
        if self._failure is not None:
            raise self._failure

    def wait(self, meanwhile: Callable[[], None]) -> None:
        """Return when no thread has anything left to do; call `meanwhile` until then."""
        while any(thread.is_alive() for thread in self._threads):
            meanwhile()
            time.sleep(LOOK)
        self.poll()

    def _work(self) -> None:
        try:
            self._take()
        except Ended:
            pass
        except BaseException as error:
            self._failure = self._failure or error
            self._end.set()


def _take(
    group: Comm,
    source: Scheduler | Worker,
    left: Sequence[Unit],
    process: Callable[[Unit, Unit | None, Report], Outcome],
    report: Report,
    books: Bookkeeping,
) -> None:
    """Take units until there are none; collective over the group."""
    units = {unit.id: unit for unit in left}
    outcome: Outcome | None = None
    ready: int | None = None
    while True:
        with books.clock(f"waiting for a {books.unit}"):
            task = group.bcast(source.next(outcome, ready) if group.is_root else None)
        if task["unit"] is None:
            return
        ready = task["next"]
        outcome = process(units[task["unit"]], None if ready is None else units[ready], report)
