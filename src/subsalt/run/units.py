"""Units of work, shots or blocks of an image: each group of ranks takes the next one that is not done.

What a method of imaging does within a run; what is the same for all methods is the engine's, `run.migrate`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from subsalt.errors import Finding
from subsalt.io.event_log import log_event
from subsalt.io.stored_marks import StoredMarks
from subsalt.kernels.device import Device
from subsalt.parallel.comm import Comm
from subsalt.parallel.watchdog import note
from subsalt.propagation.halo import Traffic
from subsalt.run import resume
from subsalt.run.ledger import Ledger, Wavefield
from subsalt.run.live import Live
from subsalt.run.resume import CrashNote, ResumeOptions
from subsalt.run.scheduler import Groups, Outcome, Scheduler, UnitQueue, Worker
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
    """Where a run writes down what becomes of its units, and tells how far it is.

    Parameters
    ----------
    clock : Phases
        Takes the seconds of waiting.
    ledger : Ledger, optional
        On rank 0.
    progress : callable, optional
        Called on rank 0.
    live : Live, optional
        On rank 0.
    unit : str
        What a unit is called where people see it.
    """

    clock: Phases
    ledger: Ledger | None = None
    progress: Progress | None = None
    live: Live | None = None
    unit: str = "shot"

    def queue(self, left: Sequence[HasId], groups: int, total: int) -> UnitQueue:
        """Return the queue of the units that are left of `total`; on rank 0 it writes into the ledger."""
        queue = UnitQueue([s.id for s in left], groups)
        if self.ledger is not None:
            queue.on_start, queue.on_outcome = self._start, self._record
        if self.live is not None:
            queue.on_heard = self.live.at
            self.live.shots(queue, len(left), total)
        return queue

    def _start(self, unit: int, rank: int) -> None:
        """Write into the ledger that a group has begun with a unit."""
        assert self.ledger is not None
        self.ledger.start(unit)
        if self.live is not None:
            self.live.started(unit, rank)

    def _record(self, outcome: Outcome) -> bool:
        """Write into the ledger and the log of events what became of a unit; return whether it is tried again."""
        ledger, number = self.ledger, outcome["shot"]
        assert ledger is not None
        unit = {ledger.unit: number}
        aside = "reason" in outcome and resume.fail(ledger, number, outcome["reason"])
        if self.live is not None:
            self.live.over(number, outcome.get("counted"))
        if "reason" in outcome:
            what = "quarantined" if aside else "failed"
            log_event(ledger.folder, event=what, **unit, reason=outcome["reason"])
            return not aside
        resume.forget(ledger.folder, number)
        if "damaged" in outcome:
            log_event(ledger.folder, event="damaged", **unit, reason=outcome["damaged"])
        if "wavefields" in outcome:
            wavefields = [
                Wavefield.of(number, w | {"folders": ledger.scratch}) for w in outcome["wavefields"]
            ]
            ledger.keep_wavefields(number, wavefields)
            log_event(ledger.folder, event="kept", shot=number, wavefields=[vars(w) for w in wavefields])
        ledger.finish(number, outcome["sha256"], outcome["seconds"])
        done = {"seconds": round(outcome["seconds"], 3), "sha256": outcome["sha256"]}
        done |= {k: outcome[k] for k in ("checkpoint", "facts", "by") if outcome.get(k)}
        log_event(ledger.folder, event="done", **unit, **done)
        return False


def run_units(
    groups: Groups,
    one: Callable[[Unit, Unit | None, Report], Outcome],
    left: Sequence[Unit],
    total: int,
    books: Bookkeeping,
) -> None:
    """Let every group take the next of the units that are left, until there are none; collective over all ranks.

    Parameters
    ----------
    groups : Groups
        This rank's group.
    one : callable
        ``one(unit, ahead, report)`` does a unit and returns its outcome; `ahead`: the next one, where known.
    left : sequence of units
        To be done, in this order.
    total : int
        Units of the run, those done before included.
    books : Bookkeeping
        Where it is written down.
    """
    queue = books.queue(left, len(groups.sizes), total)
    source: Scheduler | Worker
    if groups.world.is_root:
        source, progress = Scheduler(queue, groups.channel, len(groups.sizes) - 1), books.progress
    else:
        source, progress = Worker(groups.channel), None

    def report(work: HasId | None, fraction: float, count: int = 0) -> None:
        source.poll()
        if work is not None:
            note(f"{books.unit} {work.id}, {fraction:.0%}")
            if groups.group.is_root:
                source.tell(work.id, fraction, books.clock.current, count)
        if progress is not None:
            message = "waiting for other groups" if work is None else f"{books.unit} {work.id}"
            progress(total - len(left) + queue.finished + fraction, total, message)

    with source:
        if not groups.idle:
            _take(groups.group, source, left, one, report, books)
            note("")
        with books.clock("waiting for other groups"):
            source.wait(lambda: report(None, 0.0))
            groups.rest()
    if progress is not None and left and queue.finished == len(left):
        progress(total, total, "")


def _take(
    group: Comm,
    source: Scheduler | Worker,
    left: Sequence[Unit],
    one: Callable[[Unit, Unit | None, Report], Outcome],
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
        if task["shot"] is None:
            return
        ready = task["ahead"]
        outcome = one(units[task["shot"]], None if ready is None else units[ready], report)


@dataclass(frozen=True)
class MigrationRequest:
    """What a migration is asked for; fields as the parameters of `migrate_job`."""

    run_dir: Path
    progress: Progress | None
    strict: bool
    resume: ResumeOptions
    say: Callable[[str], None]
    recompute: bool


@dataclass
class RunState:
    """A migration on one rank, as far as it has come; the engine fills it in the order of the fields.

    Parameters
    ----------
    request : MigrationRequest
    world : Comm
        All ranks.
    clock : Phases
        Takes the seconds.
    findings : list of Finding
        Of the checks.
    device : Device
        What computes.
    threads : int or None
        Of this rank, as the kernels take them.
    inputs : list of dict
        Path, size and hash of every input file.
    run_id : str
        Hash of job and inputs; stands in the headers of outputs.
    numerics : dict
        What computes, with its class of arithmetic.
    by : str
        The same in words.
    ledger : Ledger or None
        On rank 0.
    live : Live or None
        On rank 0: tells of the run, and stops it when asked.
    """

    request: MigrationRequest
    world: Comm
    clock: Phases
    findings: list[Finding] = field(default_factory=list)
    device: Device = field(init=False)
    threads: int | None = None
    inputs: list[dict[str, object]] = field(default_factory=list)
    run_id: str = ""
    numerics: dict[str, object] = field(default_factory=dict)
    by: str = ""
    ledger: Ledger | None = None
    live: Live | None = None

    @property
    def folder(self) -> Path:
        """The run directory."""
        return self.request.run_dir

    def stored_marks(self) -> StoredMarks | None:
        """Return where marks of traces by their samples are kept; None on other ranks than the first."""
        if self.ledger is None:
            return None
        get, put = partial(self.ledger.get, "signal_marks"), partial(self.ledger.set, "signal_marks")
        return StoredMarks(self.folder, self.run_id, get, put)

    @property
    def images(self) -> Path:
        """Folder of the partial results."""
        return self.folder / "images"

    def hashes(self) -> dict[int, str]:
        """Return the checksums of the finished units, by id, on all ranks. Collective."""
        mine = list(self.ledger.hashes().items()) if self.ledger else None
        return {int(unit): str(sha) for unit, sha in self.world.bcast(mine)}


@dataclass
class Written:
    """Files of a finished run: the image in SEG-Y, its hash, and all of them."""

    image: Path
    sha256: str
    files: list[Path] = field(default_factory=list)


class MethodRun(ABC):
    """One run of a method, on one rank. The engine calls these functions in this order; all ranks call them.

    Parameters
    ----------
    state : RunState
        Of the engine.
    """

    #: what becomes of units in hand when the run stops at once
    given_back = "were given back"
    #: what the exchanges of ghost planes took on this rank, where there are some
    halo: Traffic | None = None

    def __init__(self, state: RunState) -> None:
        self.state = state

    @abstractmethod
    def load(self) -> None:
        """Read what stands before the traces: the model, the headers."""

    @abstractmethod
    def prepare(self) -> None:
        """Set up what all units share, and refuse what does not fit in memory or on disk."""

    def numerics(self) -> dict[str, object]:
        """Return what computes, with a class that names all that bits depend on."""
        described: dict[str, object] = self.state.device.describe()
        return described

    def ties(self, ledger: Ledger) -> dict[str, Any]:
        """Return what ties the run directory to the job beside inputs and numerics, for `begin_run`. On rank 0."""
        return {}

    @abstractmethod
    def units(self) -> Sequence[Any]:
        """Enter the units of the run into the ledger and return them; damaged ones are planned again."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Return what run.json says before the first unit, beside what it says of every run. On rank 0."""

    @abstractmethod
    def predict(self, left: Sequence[Any]) -> dict[str, Any]:
        """Return what the units that are left are predicted to take: seconds by phase, rates, notes."""

    def group_sizes(self) -> tuple[int, int | None]:
        """Return the ranks that share a unit, and the most that can."""
        return 1, 1

    @abstractmethod
    def work(
        self, stack: ExitStack, groups: Groups, crash: CrashNote
    ) -> AbstractContextManager[Callable[[Any, Any, Report], Outcome]]:
        """Return a context in which a function does one unit: ``one(unit, ahead, report)``.

        Parameters
        ----------
        stack : ExitStack
            Closes at the end of the run what is needed beyond the last unit.
        groups : Groups
            The group of this rank.
        crash : CrashNote
            Takes which unit this rank begins.
        """

    @abstractmethod
    def assemble(self) -> Written:
        """Make the image of the partial results and write the outputs."""

    @abstractmethod
    def totals(self) -> dict[str, Any]:
        """Return what was computed, over all ranks: `contributions`, or `point_steps` and `grid_point_steps`."""

    def parallel_facts(self) -> dict[str, Any]:
        """Return what run.json says of this method's division of the work."""
        return {}

    @abstractmethod
    def ending_facts(self, rows: Sequence[Mapping[str, Any]], spent: Mapping[str, Any]) -> dict[str, Any]:
        """Return what run.json says behind the last file, beside what it says of every run. On rank 0.

        Parameters
        ----------
        rows : sequence of mapping
            What the ledger says of the units.
        spent : mapping
            By `over_ranks`.
        """

    def finish(self) -> list[Path]:
        """Return the files that are made of the finished run: pictures. What only a stopped run needs is removed."""
        return []
