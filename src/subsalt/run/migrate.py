"""Migrating the traces of a job into a run directory; stoppable at any time, resumable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from subsalt.errors import ConfigError, raise_on_errors
from subsalt.io.run_folder import claim_run, own_run
from subsalt.methods import method_of
from subsalt.run.engine import Engine
from subsalt.run.identity import pin_to_started_job
from subsalt.run.method_run import ImagingRun, RunRequest, RunState
from subsalt.run.result import RunResult
from subsalt.run.resume import DEFAULT_RESUME, ResumeOptions
from subsalt.run.run_directory import RunDirectory
from subsalt.run.units import Progress

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob
    from subsalt.run.engines.farm import FarmUnits


def migrate_job(
    job: BaseJob,
    run_dir: str | Path | None = None,
    progress: Progress | None = None,
    strict: bool = False,
    resume: ResumeOptions = DEFAULT_RESUME,
    say: Callable[[str], None] = lambda text: None,
    recompute: bool = False,
) -> RunResult:
    """Migrate the traces of a job into `run_dir` by its method; a run that was stopped is resumed there.

    Started by mpiexec or srun, all ranks work on it together, and all return the result.

    Parameters
    ----------
    job : Job or KirchhoffJob
        The job; it must have `[data]`.
    run_dir : str or Path, optional
        The run directory, made when missing and refused when it belongs to another job; `NAME.run` next to the job file
        when None. All ranks must see it.
    progress : callable, optional
        ``progress(done, total, message)``; called on rank 0.
    strict : bool
        Whether warnings of the checks stop the run, too.
    resume : ResumeOptions, optional
        Whether to retry quarantined shots and to accept changed inputs, and when to stop.
    say : callable, optional
        Callback for progress text: before the first shot, which earlier results are used.
    recompute : bool
        Whether the result of another job in the directory is moved to ``previous`` instead of refused.

    Raises
    ------
    RunStopped
        When a stop was requested, or its time is over; the same call resumes it.
    FindingsError
        When a check finds an error; nothing was started.
    MemoryPlanError
        When the job does not fit; nothing was started.
    """
    from subsalt.job.checking import check_before_run

    folder = job.default_run_dir if run_dir is None else Path(run_dir)
    state = RunState.of(RunRequest(folder, progress, strict, resume, say, recompute))
    with state.clock("check"):
        job = pinned_job(job, state)
        state.findings = raise_on_errors(check_before_run(job, strict).findings, strict)
    return migrate_checked(job, state)


def pinned_job(job: BaseJob, state: RunState) -> BaseJob:
    """Return the job with the choices of its run directory, which must not be a link from now on. Collective."""
    request = state.request
    with state.world.together():
        claim_run(state.folder)
        if state.world.is_root:
            own_run(state.folder, writing=True)
    return pin_to_started_job(job, state.folder, state.world, request.say, request.recompute)


def migrate_checked(job: BaseJob, state: RunState) -> RunResult:
    """Migrate a job whose checks have passed. Collective."""
    run: ImagingRun = method_of(job.method).open_run(job, state)
    return Engine(run, RunDirectory(run)).carry()


def migrate_on_farm(job: BaseJob, state: RunState, units: FarmUnits) -> RunResult:
    """Migrate a job whose checks have passed, its units computed by the workers of an engine."""
    run: ImagingRun = method_of(job.method).open_run(job, state)
    state.world.agree(run.only_here())
    _refuse_running_sum(run)
    return Engine(run, RunDirectory(run), units).carry()


def prepare_checked(job: BaseJob, state: RunState) -> list[int]:
    """Begin the run of a job whose checks have passed, and return its units that are left, uncomputed. Collective."""
    run: ImagingRun = method_of(job.method).open_run(job, state)
    _refuse_running_sum(run)
    return Engine(run, RunDirectory(run)).plan()


def _refuse_running_sum(run: ImagingRun) -> None:
    """Refuse to add partial results while units are computed where a method or a job needs them one by one. Collective.

    Raises
    ------
    ConfigError
        E881.
    """
    why = run.without_running_sum() if run.state.request.running_sum else ""
    if why:
        error = ConfigError(
            f"--running-sum: {why}",
            "leave --running-sum out: the partial results are added at the end",
            code="E881",
        )
        run.state.world.agree(error)
