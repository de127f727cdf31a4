"""Migrating the traces of a job into a run directory; stoppable at any time, resumable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from subsalt.run.engine import Engine
from subsalt.run.method_run import RunRequest
from subsalt.run.result import RunResult
from subsalt.run.resume import AS_IT_IS, ResumeOptions
from subsalt.run.units import Progress

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob


def migrate_job(
    job: BaseJob,
    run_dir: str | Path | None = None,
    progress: Progress | None = None,
    strict: bool = False,
    resume: ResumeOptions = AS_IT_IS,
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
    resume : ResumeOptions, optional
        What to do with quarantined shots and inputs that have changed, and when to stop.
    say : callable, optional
        Callback for progress text: before the first shot, what is used again of what the directory holds.
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
    request = RunRequest(folder, progress, strict, resume, say, recompute)
    return Engine(job, request).run()
