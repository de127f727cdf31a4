"""Migration of a job of any method into a run directory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.errors import Finding
from subsalt.methods import method_of
from subsalt.parallel.comm import world
from subsalt.run.dealing import Progress
from subsalt.run.going_on import AS_IT_IS, GoingOn
from subsalt.timing import Phases

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob


@dataclass(frozen=True)
class MigrationRequest:
    """What a migration is asked for; fields as the parameters of `migrate_job`."""

    run_dir: Path
    progress: Progress | None
    strict: bool
    going_on: GoingOn
    say: Callable[[str], None]
    recompute: bool


@dataclass
class RunResult:
    """What a finished migration leaves behind.

    Parameters
    ----------
    run_dir : Path
        The run directory.
    image : Path
        SEG-Y image.
    sha256 : str
        Of that file; depends on job and inputs alone.
    phases : dict
        Seconds by phase, with `unexplained` and `wall`.
    point_steps : int
        Points computed in this call, of all time steps of reverse time migration: those that a wave has not reached are
        not.
    peak_memory : int
        Largest resident size of the process, bytes.
    shots_done, shots_failed : list of int
        Ids; of blocks of a time migration.
    report : Path or None
        HTML report.
    findings : list of Finding
        Of the checks, warnings included.
    contributions : int
        Samples that were added; of time migration.
    unit : {"shot", "block"}
        What `shots_done` and `shots_failed` count.
    predicted : dict
        What it was predicted to take, on rank 0 (`subsalt.methods.rtm.prediction`).
    grid_point_steps : int
        Grid points times time steps of this call.
    """

    run_dir: Path
    image: Path
    sha256: str
    phases: dict[str, float]
    point_steps: int
    peak_memory: int
    shots_done: list[int]
    shots_failed: list[int]
    report: Path | None = None
    files: list[Path] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    contributions: int = 0
    unit: str = "shot"
    predicted: dict[str, Any] = field(default_factory=dict)
    grid_point_steps: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the result for ``--json``."""
        return {
            "run": str(self.run_dir),
            "image": str(self.image),
            "sha256": self.sha256,
            "phases": self.phases,
            **(
                {"point_steps": self.point_steps, "grid_point_steps": self.grid_point_steps}
                if self.unit == "shot"
                else {"contributions": self.contributions}
            ),
            "peak_memory_bytes": self.peak_memory,
            f"{self.unit}s_done": self.shots_done,
            f"{self.unit}s_failed": self.shots_failed,
            "report": None if self.report is None else str(self.report),
            "files": [str(f) for f in self.files],
            "model": self.comparison(),
        }

    def comparison(self) -> dict[str, Any] | None:
        """Return the run against what it was predicted to take, phase by phase; None when nothing was predicted."""
        from subsalt.report.model import comparison_of

        found = comparison_of({"predicted": self.predicted, "phases": self.phases})
        return None if found is None else found.to_dict()


def migrate_job(
    job: BaseJob,
    run_dir: str | Path | None = None,
    progress: Progress | None = None,
    strict: bool = False,
    going_on: GoingOn = AS_IT_IS,
    say: Callable[[str], None] = lambda text: None,
    recompute: bool = False,
) -> RunResult:
    """Migrate the traces of a job into `run_dir` by its method; a run that was stopped goes on there.

    Started by mpiexec or srun, all ranks work on it together, and all return the result.

    Parameters
    ----------
    job : Job or KirchhoffJob
        With `[data]`.
    run_dir : str or Path, optional
        Made when missing; refused when it belongs to another job; `NAME.run` beside the job file when None. All ranks
        must see it.
    progress : callable, optional
        ``progress(done, total, message)``; called on rank 0.
    strict : bool
        Warnings of the checks stop the run too.
    going_on : GoingOn, optional
        What to do with shots that were set aside and inputs that have changed, and when to stop.
    say : callable, optional
        Told what is used again of what the directory holds, before the first shot.
    recompute : bool
        The result of another job in the directory is set aside, in ``previous``, instead of refused.

    Raises
    ------
    RunStopped
        When it was asked to stop, or its time is over; the same call goes on.
    FindingsError
        When a check finds an error; nothing was started.
    MemoryPlanError
        When the job does not fit; nothing was started.
    """
    folder = job.default_run_dir if run_dir is None else Path(run_dir)
    request = MigrationRequest(folder, progress, strict, going_on, say, recompute)
    result: RunResult = method_of(job.method).migrate(job, request)
    return result


def write_report(folder: Path, clock: Phases) -> Path:
    """Write the HTML report on rank 0; return its path on all. Collective."""
    from subsalt import report

    everybody, path = world(), ""
    with clock("report"):
        with everybody.together():
            if everybody.is_root:
                path = str(report.write(folder))
        return Path(everybody.bcast(path))
