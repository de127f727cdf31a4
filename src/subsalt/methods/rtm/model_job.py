"""Model the survey of a job to SEG-Y; shots that are already there are kept, so that a stopped run goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from subsalt import kernels
from subsalt.acquisition.survey import Shot, Survey
from subsalt.errors import ConfigError, raise_on_errors
from subsalt.io import own
from subsalt.io.publish import make_folder, publish_text, remove_leftovers
from subsalt.io.segy.writing import OwnTraces, write_shot
from subsalt.methods.rtm.job_setup import options_of
from subsalt.methods.rtm.modelling import ModellingSetup, model_shot
from subsalt.methods.rtm.ranks import plan_ranks
from subsalt.methods.rtm.setup import gate
from subsalt.methods.rtm.shot_input import reading_of, with_input
from subsalt.parallel.comm import world
from subsalt.parallel.watchdog import watch
from subsalt.propagation import devices
from subsalt.run import scheduler as ranks
from subsalt.run.identity import numerics_of
from subsalt.run.leftovers import noted_memory
from subsalt.run.lock import RunLock, check_shared, inputs_of
from subsalt.run.scheduler import Groups, Outcome
from subsalt.run.units import Bookkeeping, Report, run_units
from subsalt.timing import Phases

if TYPE_CHECKING:
    from subsalt.methods.rtm.job import Job

NOTE, LOCK = "modelling.json", ".model.lock"


@dataclass
class ModelResult:
    """What `model_job` leaves behind.

    Parameters
    ----------
    shots_dir : Path
        Folder of the SEG-Y files.
    files : list of Path
        Shot files.
    phases : dict
        Seconds by phase, with `unexplained` and `wall`.
    point_steps : int
        Points computed in this call, of all time steps: those that a wave has not reached are not.
    dt : float
        Time step, s.
    computed_by : str
        What computed here: a GPU by its name, or the instruction set of the processor.
    grid_point_steps : int
        Grid points times time steps of this call.
    """

    shots_dir: Path
    files: list[Path]
    phases: dict[str, float]
    point_steps: int
    dt: float
    computed_by: str = ""
    grid_point_steps: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the result for ``--json``."""
        return {
            "shots_dir": str(self.shots_dir),
            "files": [str(f) for f in self.files],
            "phases": self.phases,
            "point_steps": self.point_steps,
            "grid_point_steps": self.grid_point_steps,
            "dt": self.dt,
            "computed_by": self.computed_by,
        }


def model_job(
    job: Job, out_dir: Path, progress: Callable[..., None] | None = None, *, checked: bool = False
) -> ModelResult:
    """Model every shot of `[acquisition]` and write it as SEG-Y with full geometry headers.

    Started by mpiexec or srun, all ranks work on it together, and all return the result.

    Parameters
    ----------
    job : Job
        With `[acquisition]`.
    out_dir : Path
        Folder for the shot files; made when missing, refused when it holds shots of another job.
    progress : callable, optional
        ``progress(done, total, message)``.
    checked : bool
        The rules of `subsalt check` were applied already.

    Raises
    ------
    FindingsError
        When a check finds an error; nothing was started.
    """
    from subsalt.job.checking import check_job

    clock, everybody, folder = Phases(), world(), Path(out_dir)
    if not checked:
        with clock("check"):
            raise_on_errors(check_job(job).findings)
    with clock("model input"):
        model = job.open_propagation_model()
    with clock("setup"):
        with everybody.together():
            survey = replace(job.acquisition_survey(), frame=model.frame)
        options, aperture = options_of(job, survey), job.imaging_options.aperture
        threads = ranks.threads_for(everybody, options.threads)
        device = devices.prepare(everybody, options.device, threads)
        gated, _ = gate(model, options)
        dt = gated.choose_dt(options.weights, options.dt, options.dt_reserve)
        setup = ModellingSetup.build(model, job.wavelet(dt), survey.time, options, aperture)
        plan = plan_ranks(job, setup, survey, everybody)
        run_id = job.run_id(inputs_of(job, everybody))
    numerics = numerics_of(device.describe(), options)
    mine, by = {"run_id": run_id, "numerics": str(numerics["class"])}, kernels.label(numerics)
    with ExitStack() as stack:
        stack.enter_context(watch(everybody, job.parallel.patience))
        with everybody.together():
            if everybody.is_root:
                make_folder(folder)
                own.refuse_links(folder, (NOTE, LOCK, "shot_*.sgy"), in_place=(LOCK,))
                _is_ours(folder, mine)  # before anything is written, the lock included
                stack.enter_context(RunLock(folder, "--out", LOCK))
                if not _is_ours(folder, mine):
                    publish_text(folder / NOTE, json.dumps(mine) + "\n")
                remove_leftovers(folder)
        check_shared(folder, everybody, LOCK)
        stack.enter_context(noted_memory(folder, everybody))
        there = [s.id for s in survey.shots if shot_path(folder, s).exists()]
        left = set(everybody.bcast([s.id for s in survey.shots if s.id not in there]))
        parts = ranks.form(everybody, plan.group_size, plan.largest, max(1, len(left)))
        setup = with_input(setup, reading_of(job.parallel.io, parts.group))
        runner = _Runner(setup, survey, folder, _text(setup, run_id), parts, clock)
        to_do = [s for s in survey.shots if s.id in left]
        run_units(parts, runner.process, to_do, len(survey), Bookkeeping(clock, progress=progress))
        point_steps, whole = everybody.sum(runner.point_steps), everybody.sum(runner.grid_point_steps)
        parts.free()
    return ModelResult(
        folder, [shot_path(folder, s) for s in survey.shots], clock.table(), point_steps, dt, by, whole
    )


def shot_path(folder: Path, shot: Shot) -> Path:
    """Return the file of a modelled shot."""
    return folder / f"shot_{shot.id:06d}.sgy"


@dataclass
class _Runner:
    """Models shots on the ranks of one group."""

    setup: ModellingSetup
    survey: Survey
    folder: Path
    text: list[str]
    groups: Groups
    clock: Phases
    point_steps: int = 0
    grid_point_steps: int = 0

    def process(self, shot: Shot, next_shot: Shot | None, report: Report) -> Outcome:
        """Model one shot and write its file; collective over the group."""
        group = self.groups.group
        report(shot, 0.0)
        with self.clock("propagation"):
            modelled = model_shot(
                self.setup,
                shot,
                lambda fraction: report(shot, fraction),
                group=group if group.size > 1 else None,
            )
        self.point_steps += modelled.point_steps
        self.grid_point_steps += modelled.grid_point_steps
        with self.clock("trace output"):
            write_shot(
                shot_path(self.folder, shot),
                self.survey,
                _above_sea_level(self.survey, shot),
                OwnTraces(modelled.rows, modelled.traces, group),
                text=self.text,
            )
        return {"shot": shot.id}


def _above_sea_level(survey: Survey, shot: Shot) -> Shot:
    """Return a shot whose depths count from elevation 0, as headers hold them, not from the datum of a topography."""
    notes = survey.notes.get("topography")
    if not isinstance(notes, dict) or not notes["datum"]:
        return shot
    down = np.array([0.0, 0.0, notes["datum"]])
    return replace(shot, src=shot.src - down, rcv=shot.rcv - down)


def _is_ours(folder: Path, mine: dict[str, str]) -> bool:
    """Return whether the folder is tied to this job, its inputs and numerics; False when it is free.

    Raises
    ------
    ConfigError
        When it holds anything else.
    """
    note = folder / NOTE
    if note.exists():
        try:
            known = json.loads(note.read_text(encoding="utf-8"))
        except ValueError:
            known = None
        if known == mine:
            return True
        if not isinstance(known, dict):
            what = f"{note} is damaged: it does not say whose shots these are"
        elif known.get("run_id") == mine["run_id"]:
            what = (
                f"{folder} holds shots of numerics {known.get('numerics')}, this run has {mine['numerics']}"
            )
        else:
            what = f"{folder} holds shots of another job or model"
        raise ConfigError(what, "choose another folder with --out", code="E811")
    strangers = sorted(p.name for p in folder.glob("*.sgy"))
    if strangers:
        raise ConfigError(
            f"{folder} already holds {len(strangers)} SEG-Y files, the first {strangers[0]}",
            "choose another folder with --out",
            code="E811",
        )
    return False


def _text(setup: ModellingSetup, run_id: str) -> list[str]:
    """Return the lines of the textual header."""
    from subsalt import __version__

    p = setup.propagation
    surface = "on topography" if p.topography is not None else "yes" if p.free_surface else "no"
    return [
        f"subsalt {__version__}  forward modelling  run {run_id[:24]}",
        f"medium {setup.model.medium}  {p.weights}  dt {setup.axis.dt * 1e3:.6f} ms  boundary {p.boundary}",
        f"wavelet {setup.wavelet.name}  free surface {surface}",
        "amplitude: p of (1/v^2) p_tt - lap p = f(t) delta(x - xs)",
    ]
