"""The contract between the engine and a method: `MethodRun`, `ImagingRun`, and the state of a run that they share.

A method that iterates sets `MethodRun.several_rounds`. Its rounds are numbered from 0; the engine takes them in order,
in this and in later starts, and calls for each of them `units`, `work` and `close_round`::

    class LeastSquares(ImagingRun):
        several_rounds = True

        def units(self):                    # the shots of round k = self.state.round
            before = self.state.results     # of rounds 0 to k-1; their files are whole
            self.model = read(self.state.folder / f"rounds/model_{k:03d}.npz") if before else first_guess
            if self.state.ledger is not None:
                self.state.ledger.plan(ids)
                self.state.ledger.keep(those whose partial results in self.state.images are whole)
            return shots

        def close_round(self):              # all units of round k are done or quarantined
            gradient = sum of partial results, in survey order
            ... publish rounds/model_{k+1:03d}.npz ...
            return RoundEnd(files, last=converged, facts={"misfit": misfit})

The inputs of a round are read from published files, never kept in memory from the round before, since a resumed run has
nothing else. Partial results of a round are in a separate folder, which is removed when the round is closed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import kernels
from subsalt.errors import ConfigError, Finding
from subsalt.io.stored_marks import StoredMarks
from subsalt.kernels.device import Device
from subsalt.parallel.comm import Comm, world
from subsalt.propagation.halo import HaloTraffic
from subsalt.run.crash_evidence import CrashNote
from subsalt.run.ledger import Ledger
from subsalt.run.live import Live
from subsalt.run.lock import inputs_of
from subsalt.run.result import Written
from subsalt.run.resume import DEFAULT_RESUME, ResumeOptions
from subsalt.run.rounds import RoundEnd, RoundResult
from subsalt.run.scheduler import Outcome, RankGroups
from subsalt.run.units import Progress, Report
from subsalt.timing import Phases

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob


@dataclass(frozen=True)
class RunRequest:
    """Options of a run; fields as the parameters of `migrate_job`, `stored` and `running_sum`.

    `running_sum` asks that partial results are added while others are computed, and removed. `stored` is the job that
    the run directory keeps for later starts, where it is another than the one that this start computes: with the
    threads and ranks of the job file.
    """

    run_dir: Path
    progress: Progress | None = None
    strict: bool = False
    resume: ResumeOptions = DEFAULT_RESUME
    say: Callable[[str], None] = lambda text: None
    recompute: bool = False
    stored: BaseJob | None = None
    running_sum: bool = False


@dataclass
class RunState:
    """The state of a run on one rank; the engine fills it in the order of the fields.

    Parameters
    ----------
    request : RunRequest
        Options of the run.
    world : Comm
        All ranks.
    clock : Phases
        Clock of the phases.
    findings : list of Finding
        Findings of the checks.
    device : Device
        Device that computes.
    threads : int or None
        Threads of this rank; the kernels choose when None.
    inputs : list of dict
        Path, size and hash of every input file.
    run_id : str
        Hash of job and inputs, written into the headers of outputs.
    numerics : dict
        Facts of the device, with its numerics class.
    by : str
        The device in words.
    ledger : Ledger or None
        Ledger of the run; None on other ranks than 0.
    live : Live or None
        Publishes progress and stops the run on request; None on other ranks than 0.
    round : int
        Number of the current round.
    several_rounds : bool
        Whether the method has several rounds.
    results : list of RoundResult
        Results of the rounds before the current one.
    attempt : Path or None
        Folder into which this process writes when it computes single units for the owner of the run directory.
    entered : Counter
        Work of units that other processes have computed and this start has entered, by the names of `totals`.
    """

    request: RunRequest
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
    round: int = 0
    several_rounds: bool = False
    results: list[RoundResult] = field(default_factory=list)
    attempt: Path | None = None
    entered: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, request: RunRequest) -> RunState:
        """Return the state of a run that begins now, on all ranks of this program."""
        return cls(request, world(), Phases())

    @property
    def folder(self) -> Path:
        """The run directory."""
        return self.request.run_dir

    @property
    def work_folder(self) -> Path:
        """Folder for what the units write: the run directory, or that of an attempt at one of them."""
        return self.attempt or self.folder

    def stored_marks(self) -> StoredMarks | None:
        """Return where marks of traces by their samples are kept; None on other ranks than the first."""
        if self.ledger is None:
            return None
        get, put = partial(self.ledger.get, "signal_marks"), partial(self.ledger.set, "signal_marks")
        return StoredMarks(self.folder, self.run_id, get, put)

    @property
    def images(self) -> Path:
        """Folder of the partial results of the current round."""
        images = self.work_folder / "images"
        return images / f"round_{self.round:03d}" if self.several_rounds else images

    def hashes(self) -> dict[int, str]:
        """Return the checksums of the finished units of the round, by id, on all ranks. Collective."""
        mine = list(self.ledger.hashes().items()) if self.ledger else None
        return {int(unit): str(sha) for unit, sha in self.world.bcast(mine)}


class MethodRun(ABC):
    """One run of a method, on one rank. The engine calls these functions in this order; all ranks call them.

    Parameters
    ----------
    job : BaseJob
        The checked job.
    state : RunState
        State of the run, kept by the engine.
    """

    #: name of a unit
    unit = "shot"
    #: whether the run has several rounds, each closed by `close_round`
    several_rounds = False
    #: predicate of the unfinished units in the message when the run stops at once
    stop_message = "were given back"
    #: cost of the exchanges of ghost planes on this rank, where there are any
    halo: HaloTraffic | None = None

    def __init__(self, job: BaseJob, state: RunState) -> None:
        self.job: Any = job
        self.state = state

    @abstractmethod
    def load(self) -> None:
        """Read the inputs that precede the traces: the model, the headers."""

    @abstractmethod
    def prepare(self) -> None:
        """Set up the objects that all units share; refuse a job that does not fit in memory or on disk."""

    def identify(self) -> None:
        """Set inputs, id and numerics of the run in the state."""
        state = self.state
        with state.clock("provenance"):
            state.inputs = inputs_of(self.job, state.world)
            state.run_id = self.job.run_id(state.inputs)
            state.numerics = self.numerics()
            state.by = kernels.label(state.numerics)
            if state.device.OWN_MEMORY:
                state.request.say(f"computing on {state.by}")

    def numerics(self) -> dict[str, object]:
        """Return the facts of the device, with a numerics class that names everything that bits depend on."""
        described: dict[str, object] = self.state.device.describe()
        return described

    @abstractmethod
    def units(self) -> Sequence[Any]:
        """Enter the units of the current round into the ledger and return them; damaged ones are planned again."""

    def planned_units(self) -> Sequence[Any]:
        """Return the units of the current round as the ledger has them, for a process that computes one of them."""
        return self.units()

    def only_here(self) -> ConfigError | None:
        """Return why units cannot be computed by processes that do not own the run directory; None when they can."""
        return None

    def without_running_sum(self) -> str:
        """Return why partial results cannot be added while units are computed, in words; empty when they can."""
        return f"the partial results of {self.unit}s are not added to each other"

    def between_units(self) -> bool:
        """Use the time between two looks at workers; return whether more is to be done at once.

        Called on the owner of the run, a process alone that computes no unit itself.
        """
        return False

    def units_ahead(self) -> int:
        """Return the number of units in rounds after the current one, as far as it is known."""
        return 0

    def group_sizes(self) -> tuple[int, int | None]:
        """Return the ranks that share a unit, and the most that can."""
        return 1, 1

    def units_at_once(self) -> int:
        """Return how many units this rank computes side by side, each in a thread of this process."""
        return 1

    @abstractmethod
    def work(
        self, stack: ExitStack, groups: RankGroups, crash: CrashNote | None
    ) -> AbstractContextManager[Callable[[Any, Any, Report], Outcome]]:
        """Return a context in which a function does one unit of the round: ``process(unit, next_unit, report)``.

        `units_at_once` threads call it at the same time.

        Parameters
        ----------
        stack : ExitStack
            Closes, at the end of the run, resources that are needed beyond the last unit.
        groups : RankGroups
            The group of this rank.
        crash : CrashNote, optional
            Note of the unit that this rank computes.
        """

    def close_round(self) -> RoundEnd:
        """Assemble and publish the result of the current round, once it has no unit left.

        Called again, in this or a later start, it writes the same bytes. The result is that of all units that are not
        quarantined; a method that cannot do without one raises.
        """
        raise NotImplementedError(f"{type(self).__name__} has several rounds and does not close them")

    def work_done(self) -> dict[str, int]:
        """Return what of `totals` the units of the last `work` took, where files do not say it. Collective."""
        return {}

    @abstractmethod
    def totals(self) -> dict[str, Any]:
        """Return the computed work over all ranks: `contributions`, or `point_steps` and `grid_point_steps`."""


class ImagingRun(MethodRun):
    """A run that makes an image in a run directory, with ledger, run.json and report."""

    def identity_extras(self, ledger: Ledger) -> dict[str, Any]:
        """Return the facts besides inputs and numerics that tie the run directory to the job. On rank 0."""
        return {}

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Return the facts of this method that run.json records before the first unit. On rank 0."""

    def predict(self, left: Sequence[Any]) -> dict[str, Any] | None:
        """Return the predicted cost of this start: seconds by phase, rates, notes; None where nothing is computed.

        Parameters
        ----------
        left : sequence of units
            Units left in the current round; the method adds the cost of later rounds.
        """
        return None

    @abstractmethod
    def assemble(self) -> Written:
        """Make the image of the partial results, or of the result of the last round, and write the outputs."""

    def parallel_facts(self) -> dict[str, Any]:
        """Return the facts of the division of the work among ranks, for run.json."""
        return {}

    @abstractmethod
    def ending_facts(self, rows: Sequence[Mapping[str, Any]], spent: Mapping[str, Any]) -> dict[str, Any]:
        """Return the facts of this method that run.json records after the last file. On rank 0.

        Parameters
        ----------
        rows : sequence of mapping
            Rows of the ledger, one per unit.
        spent : mapping
            Result of `over_ranks`.
        """

    def finish(self) -> list[Path]:
        """Make pictures of the finished run and return them; files that only a stopped run needs are removed."""
        return []
