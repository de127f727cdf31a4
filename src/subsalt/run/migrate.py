"""Runs of a job: migrate a survey into a run directory, or model one to SEG-Y; stoppable at any time, resumable.

The unit of work is the shot. Its partial image is published before the ledger calls it done, and the image is
the sum of the partial images in survey order, so that neither a stop nor the order of work changes a byte of it.
"""

from __future__ import annotations

import json
import resource
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import __version__, kernels, physics
from subsalt.errors import (
    CorruptionError,
    DataError,
    Finding,
    NumericalFailure,
    SubsaltError,
    raise_on_errors,
)
from subsalt.grid import Frame
from subsalt.imaging.memory import check_memory
from subsalt.imaging.rtm import ImageSum, SnapshotPool, migrate_shot
from subsalt.imaging.setup import MigrationSetup
from subsalt.io.publish import append_line, make_folder, publish_text
from subsalt.model import ModelLike
from subsalt.physics.storage import storage_error
from subsalt.run.identity import begin_run, numerics_of
from subsalt.run.ledger import Ledger
from subsalt.run.model import ModelResult, model_job
from subsalt.run.outputs import write_outputs
from subsalt.run.partial import read_partial, write_partial
from subsalt.survey import Shot, Survey
from subsalt.timing import Phases

if TYPE_CHECKING:
    from subsalt.job.job import Job

__all__ = ["ModelResult", "RunResult", "migrate_job", "model_job"]

#: ``progress(done, total, message)``: `done` of `total` shots, fractions included
Progress = Callable[..., None]


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
        Computed in this call.
    peak_memory : int
        Largest resident size of the process, bytes.
    shots_done, shots_failed : list of int
        Ids.
    report : Path or None
        HTML report.
    findings : list of Finding
        Of the checks, warnings included.
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

    def to_dict(self) -> dict[str, Any]:
        """Return the result for ``--json``."""
        return {
            "run": str(self.run_dir),
            "image": str(self.image),
            "sha256": self.sha256,
            "phases": self.phases,
            "point_steps": self.point_steps,
            "peak_memory_bytes": self.peak_memory,
            "shots_done": self.shots_done,
            "shots_failed": self.shots_failed,
            "report": None if self.report is None else str(self.report),
            "files": [str(f) for f in self.files],
        }


def migrate_job(job: Job, run_dir: Path, progress: Progress | None = None, strict: bool = False) -> RunResult:
    """Migrate the shots of a job into `run_dir`; a run that was stopped goes on there.

    Parameters
    ----------
    job : Job
        With `[data]`.
    run_dir : Path
        Made when missing; refused when it belongs to another job.
    progress : callable, optional
        ``progress(done, total, message)``.
    strict : bool
        Warnings of the checks stop the run too.

    Raises
    ------
    FindingsError
        When a check finds an error; nothing was started.
    MemoryPlanError
        When the job does not fit; nothing was started.
    """
    from subsalt.job.checking import check_job

    clock = Phases()
    with clock("check"):
        findings = raise_on_errors(check_job(job).findings, strict)
    with clock("model input"):
        model = job.open_model()
    with clock("survey"):
        survey = survey_of(job, model)
    with clock("setup"):
        options = job.propagation_options
        device = kernels.prepare(options.device, options.threads)
        setup = migration_setup(job, model, survey)
        plan = check_memory(setup, survey.shots)
    with clock("provenance"):
        inputs = job.inputs()
        run_id = job.run_id(inputs)
        numerics = numerics_of(device.describe(), options)
    folder = make_folder(run_dir, 0o700)  # on shared scratch a run is its owner's
    with Ledger(folder) as ledger:
        with clock("ledger"):
            begin_run(ledger, job, run_id, inputs, numerics)
            ledger.plan([s.id for s in survey.shots])
            publish_text(folder / "job.resolved.toml", job.resolved_toml())
            images = make_folder(folder / "images")
            facts = run_facts(job, setup, run_id, inputs, findings, plan, numerics)
            write_facts(folder, facts | {"state": "running"})
        point_steps = _shots(setup, survey, ledger, images, clock, progress)
        with clock("image sum"):
            total = sum_partial_images(setup, survey, ledger, images)
            image, illumination = total.finish(), total.illumination()
        written = write_outputs(job, setup, survey, folder, run_id, image, illumination, clock)
        done, failed = ledger.done(), ledger.failed()
        facts |= {
            "shots": ledger.rows(),
            "point_steps": point_steps,
            "image": {"path": written.image.name, "sha256": written.sha256},
            "files": [str(f.relative_to(folder)) for f in written.files],
            "peak_memory_bytes": peak_memory(),
            "phases": clock.table(),
            "state": "finished" if not failed else "finished with holes",
        }
        write_facts(folder, facts)
    from subsalt.report import write as write_report

    with clock("report"):
        report = write_report(folder)
    return RunResult(
        folder,
        written.image,
        written.sha256,
        clock.table(),
        point_steps,
        peak_memory(),
        done,
        failed,
        report,
        written.files,
        findings,
    )


def survey_of(job: Job, model: ModelLike) -> Survey:
    """Return the recorded survey of a job in the local frame of its model.

    A 2-D model without a place on the map lies along the line of the survey itself.
    """
    from subsalt.job.data import open_survey

    on_line = model.grid.ndim == 2 and model.frame == Frame()
    return open_survey(job, None if on_line else model.frame)


def migration_setup(job: Job, model: ModelLike, survey: Survey) -> MigrationSetup:
    """Return the setup of a job's migration: the wavelet is sampled at the time step of the propagation."""
    from subsalt.imaging.setup import gate

    options = job.propagation_options
    gated, _ = gate(model, options)
    dt = gated.choose_dt(options.order, options.dt, options.dt_reserve)
    return MigrationSetup.build(model, job.wavelet(dt), survey.time, options, job.imaging_options)


def _shots(
    setup: MigrationSetup,
    survey: Survey,
    ledger: Ledger,
    images: Path,
    clock: Phases,
    progress: Progress | None,
) -> int:
    """Migrate every shot that is not done; return the point-steps."""
    pool, point_steps, total = SnapshotPool(), 0, len(survey)
    with clock("ledger"):
        done = ledger.verified(images)
    finished = len(done)
    for shot in survey.shots:
        if shot.id in done:
            continue

        def report(fraction: float, shot: Shot = shot, before: int = finished) -> None:
            if progress is not None:
                progress(before + fraction, total, f"shot {shot.id}")

        report(0.0)
        ledger.start(shot.id)
        try:
            with clock("trace input"):
                traces = survey.traces(shot)
            part = migrate_shot(setup, shot, traces, pool=pool, phases=clock, progress=report)
        except (DataError, NumericalFailure) as error:
            # the next attempt would fail the same way: set the shot aside, the survey goes on
            ledger.quarantine(shot.id, str(error))
            _event(ledger.folder, event="quarantined", shot=shot.id, reason=str(error))
            finished += 1
            continue
        except BaseException:
            with suppress(SubsaltError):  # what happened first is what to tell; the next run plans it anyway
                ledger.release(shot.id)
            raise
        with clock("partial image"):
            sha = write_partial(images, part)
            ledger.finish(shot.id, sha, part.seconds)
            _event(ledger.folder, event="done", shot=shot.id, seconds=round(part.seconds, 3), sha256=sha)
        point_steps += part.point_steps
        finished += 1
        report(0.0, before=finished)
    return point_steps


def sum_partial_images(setup: MigrationSetup, survey: Survey, ledger: Ledger, images: Path) -> ImageSum:
    """Return the partial images of all finished shots summed in survey order.

    Raises
    ------
    CorruptionError
        When a partial image does not have the checksum that the ledger knows; that shot is done again by the next run.
    DataError
        When no shot succeeded.
    """
    hashes = ledger.hashes()
    if not hashes:
        reasons = [str(r.get("reason", "")) for r in ledger.rows()]
        raise DataError(
            f"no shot could be migrated; the first failed with: {reasons[0]}", "see events.jsonl", "E820"
        )
    total = ImageSum(setup)
    for shot in survey.shots:
        if shot.id in hashes:
            try:
                total.add(read_partial(images, shot.id, hashes[shot.id]))
            except CorruptionError:
                ledger.release(shot.id)
                raise
    return total


def run_facts(
    job: Job,
    setup: MigrationSetup,
    run_id: str,
    inputs: list[dict[str, object]],
    findings: list[Finding],
    plan: dict[str, int],
    numerics: dict[str, object],
) -> dict[str, Any]:
    """Return what is known of a run before its first shot."""
    from subsalt.run.provenance import code_facts, machine_facts

    grid = setup.model.grid
    return {
        "version": __version__,
        "run_id": run_id,
        "title": job.title or job.name,
        "job": job.resolved(),
        "job_given": job.model_dump(mode="json", exclude_unset=True),
        "grid": {"shape": grid.shape, "spacing": grid.spacing, "origin": grid.origin},
        "dt": setup.axis.dt,
        "nt": setup.axis.nt,
        "image_step": setup.image_step,
        "stable_dt": setup.model.stable_dt(setup.propagation.order),
        "repaired_nodes": setup.repaired,
        "memory_plan": plan,
        "findings": [vars(f) for f in findings],
        "inputs": inputs,
        "model_error": vars(
            storage_error(setup.model, physics.medium_of(setup.model, setup.propagation.medium))
        )
        if setup.propagation.model_storage == "u16"
        else None,
        "numerics": numerics,
        "code": code_facts(),
        "machine": machine_facts(),
    }


def write_facts(folder: Path, facts: dict[str, Any]) -> None:
    """Publish run.json: what a report, a picture or another program may want to know of the run."""
    publish_text(folder / "run.json", json.dumps(facts, indent=1, sort_keys=True, default=str) + "\n")


def _event(folder: Path, **what: object) -> None:
    """Append one line to the log of events; the time is a label for people, nothing depends on it."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    append_line(folder / "events.jsonl", json.dumps({"time": now, **what}))


def peak_memory() -> int:
    """Return the largest resident size of this process so far, bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
