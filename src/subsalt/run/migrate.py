"""Runs of a job: migrate a survey into a run directory, or model one to SEG-Y; stoppable at any time, resumable.

The unit of work is the shot. Its partial image is published before the ledger calls it done, and the image is
the sum of the partial images in survey order, so that neither a stop nor the order of work changes a byte of it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import kernels
from subsalt.errors import Finding, raise_on_errors
from subsalt.io.publish import make_folder, publish_text
from subsalt.io.traffic import TRACES
from subsalt.job.setup import migration_setup, survey_of
from subsalt.parallel.comm import world
from subsalt.parallel.watchdog import watch
from subsalt.plan.prediction import of_shots
from subsalt.propagation import devices
from subsalt.run import gpu_work
from subsalt.run import groups as ranks
from subsalt.run.crashes import CrashNote
from subsalt.run.dealing import Progress
from subsalt.run.facts import computed_by, ending_facts, over_ranks, run_facts, write_facts
from subsalt.run.going_on import AS_IT_IS, GoingOn, look_back, shots_left, shots_to_do
from subsalt.run.identity import begin_run, keep_place, numerics_of, wavefield_id
from subsalt.run.image import sum_image
from subsalt.run.ledger import Ledger
from subsalt.run.live import Live
from subsalt.run.model import ModelResult, model_job
from subsalt.run.opening import open_run
from subsalt.run.outputs import write_outputs
from subsalt.run.reuse import Reuse, unserved
from subsalt.run.shared import check_formats, check_shared, inputs_of
from subsalt.run.shots import ShotRunner, migrate_shots
from subsalt.run.strategies import Strategies, facts_of, findings_of, told_of_shots
from subsalt.run.wavefields import facts_of as facts_of_wavefields
from subsalt.run.wavefields import places
from subsalt.timing import Phases

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob
    from subsalt.job.job import Job

__all__ = ["ModelResult", "RunResult", "migrate_job", "model_job"]


#: what runs the jobs of a method: functions with the arguments of `migrate_job`
RUNNERS = {
    "rtm": ("subsalt.run.migrate", "migrate_shots_job"),
    "kirchhoff": ("subsalt.run.kirchhoff.migrate", "migrate_time_job"),
}


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
        What it was predicted to take, on rank 0 (`subsalt.plan.prediction`).
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
    module, name = RUNNERS[job.method]
    run: Callable[..., RunResult] = getattr(import_module(module), name)
    folder = job.default_run_dir if run_dir is None else Path(run_dir)
    return run(job, folder, progress, strict, going_on, say, recompute)


def migrate_shots_job(
    job: Job,
    run_dir: Path,
    progress: Progress | None,
    strict: bool,
    going_on: GoingOn,
    say: Callable[[str], None],
    recompute: bool,
) -> RunResult:
    """Migrate the shots of a job by reverse time migration, see `migrate_job`, by which it is called."""
    from subsalt.plan.checking import check_job

    clock, everybody, folder = Phases(), world(), Path(run_dir)
    with clock("check"):
        keep_place(job, folder, everybody)
        findings = raise_on_errors(check_job(job).findings, strict)
    with clock("model input"):
        model = job.open_model()
    with clock("survey"), everybody.together():
        survey = survey_of(job, model)
    with clock("setup"):
        options = job.propagation_options
        threads = ranks.threads_for(everybody, options.threads)
        device = devices.prepare(everybody, options.device, threads)
        setup = migration_setup(job, model, survey)
        plan = ranks.plan(job, setup, survey.shots, everybody, folder)
        with everybody.together():
            check_formats(job, model.grid, everybody, survey.frame)
    with clock("provenance"):
        inputs = inputs_of(job, everybody)
        run_id = job.run_id(inputs)
        numerics = numerics_of(
            device.describe(), options, plan.choice.scheme.strategy if plan.choice else "store"
        )
        by = kernels.label(numerics)
        if device.OWN_MEMORY:
            say(f"computing on {by}")
    with ExitStack() as stack:
        # for programs: around the command the watch began before the job was checked
        stack.enter_context(watch(everybody, job.parallel.patience))
        ledger, live, facts, images = None, None, {}, folder / "images"
        with clock("ledger"):
            with everybody.together():
                if everybody.is_root:

                    def begin(ledger: Ledger) -> None:
                        begin_run(
                            ledger,
                            job,
                            run_id,
                            inputs,
                            numerics,
                            accept_changed_inputs=going_on.accept_changed_inputs,
                            place=survey.frame,
                            unserved=partial(unserved, setup, folder, ledger),
                        )

                    ledger = open_run(stack, folder, begin, recompute, say)
                    ledger.plan([s.id for s in survey.shots])
                    look_back(ledger, going_on)
                    live = stack.enter_context(Live(folder, ledger.lock.lease, clock, going_on.limit))
                    publish_text(folder / "job.resolved.toml", job.resolved_toml())
                    make_folder(images)
                    facts = run_facts(
                        job, setup, run_id, inputs, findings, plan.need.arrays, numerics, survey
                    )
                    facts["plan"] = plan.to_dict()
                    write_facts(folder, facts | {"state": "running"})
            check_shared(folder, everybody)
            hashes = dict(everybody.bcast(list(ledger.hashes().items()) if ledger else None))
            reuse = Reuse.of_run(setup, folder, ledger, everybody)
            done = {shot for shot in hashes if not reuse.missing(shot)}
            if ledger is not None:
                ledger.keep(set(reuse.names))
                ledger.again(set(reuse.names) - done)
            left = shots_left(survey, ledger, everybody)
            with everybody.together():
                to_do = [s for s in left if not reuse.source_of(s.id)]
                predicted = of_shots(job, plan, to_do, folder, is_root=everybody.is_root)
                facts |= {"predicted": predicted} if everybody.is_root else {}
        if text := reuse.said([s.id for s in survey.shots], done):
            say(text)
        with clock("setup"):
            parts = ranks.form(everybody, plan.group_size, plan.largest, max(1, len(left)))
        crash = stack.enter_context(CrashNote(folder, everybody.rank))
        fields_id = everybody.bcast(wavefield_id(job, inputs, numerics))
        strategies = stack.enter_context(
            Strategies.of_run(setup, plan, parts.group, job.checkpoint_options, folder, fields_id)
        )
        if ledger is not None:
            ledger.scratch = places(strategies.scratch.directories, folder)
        if live is not None:
            live.facts["by"] = by
            live.facts["scratch"] = [str(d.resolve()) for d in strategies.scratch.directories]
        with clock("ledger"), everybody.together():
            # all ranks: directories may be of one host alone
            strategies.scratch.remove_strays(restart=bool(job.checkpoint_options.restart_every))
        runner = ShotRunner(
            setup, survey, images, parts, clock, job.parallel.io, crash, reuse, strategies, by
        )
        before, idle = TRACES.now(), gpu_work.counted(device)
        migrate_shots(runner, ledger, left, progress if everybody.is_root else None, live)
        runner.give_back()
        everybody.agree(live.unfinished(len(shots_to_do(ledger))) if live and ledger else None)
        with clock("image sum"):
            planes = sum_image(setup, survey, ledger, images, everybody)
        written = write_outputs(job, setup, survey, folder, run_id, planes, clock, everybody)
        with clock("facts"):
            point_steps, whole = everybody.sum(runner.point_steps), everybody.sum(runner.grid_point_steps)
            done_there = gpu_work.since(device, idle)
            spent = over_ranks(everybody, clock.table(), TRACES.now() - before, runner.halo, done_there)
            parallel = parts.facts()
            parts.free()
            rows = everybody.bcast(ledger.rows() if ledger else None)
            failed = [r["id"] for r in rows if r["state"] == "quarantined"]
            peak = spent["peak_memory_bytes"]["max"]
            with everybody.together():
                if everybody.is_root:
                    finished = [r["id"] for r in rows if r["state"] == "done"]
                    told = told_of_shots(folder, finished)
                    findings += findings_of(told)
                    facts |= {
                        "checkpoint": facts_of(plan, told),
                        "computed_by": computed_by(folder, finished),
                        "findings": [vars(f) for f in findings],
                        "wavefields": facts_of_wavefields(ledger.wavefields()) if ledger else {},
                        "point_steps": point_steps,
                        "grid_point_steps": whole,
                        "parallel": parallel
                        | {"threads": kernels.threads_to_use(threads), "io": job.parallel.io},
                    }
                    facts |= ending_facts(folder, rows, written, spent, clock.table())
                    write_facts(folder, facts)
    return RunResult(
        folder,
        written.image,
        written.sha256,
        clock.table(),
        point_steps,
        peak,
        [r["id"] for r in rows if r["state"] == "done"],
        failed,
        write_report(folder, clock),
        written.files,
        findings,
        predicted=facts.get("predicted", {}),
        grid_point_steps=whole,
    )


def write_report(folder: Path, clock: Phases) -> Path:
    """Write the HTML report on rank 0; return its path on all. Collective."""
    from subsalt import report

    everybody, path = world(), ""
    with clock("report"):
        with everybody.together():
            if everybody.is_root:
                path = str(report.write(folder))
        return Path(everybody.bcast(path))
