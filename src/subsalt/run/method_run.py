"""The contract between the engine and a method of imaging: `MethodRun`, and the state of a run that both share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from subsalt.errors import Finding
from subsalt.io.stored_marks import StoredMarks
from subsalt.kernels.device import Device
from subsalt.parallel.comm import Comm
from subsalt.propagation.halo import HaloTraffic
from subsalt.run.ledger import Ledger
from subsalt.run.live import Live
from subsalt.run.result import Written
from subsalt.run.resume import CrashNote, ResumeOptions
from subsalt.run.scheduler import Groups, Outcome
from subsalt.run.units import Progress, Report
from subsalt.timing import Phases


@dataclass(frozen=True)
class RunRequest:
    """Options of a run; fields as the parameters of `migrate_job`."""

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
    request : RunRequest
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


class MethodRun(ABC):
    """One run of a method, on one rank. The engine calls these functions in this order; all ranks call them.

    Parameters
    ----------
    state : RunState
        Of the engine.
    """

    #: predicate of the units in hand when the run stops at once, for people
    stop_message = "were given back"
    #: what the exchanges of ghost planes took on this rank, where there are some
    halo: HaloTraffic | None = None

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

    def identity_extras(self, ledger: Ledger) -> dict[str, Any]:
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
        """Return a context in which a function does one unit: ``process(unit, next_unit, report)``.

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
