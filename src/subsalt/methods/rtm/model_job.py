"""Model the survey of a job to SEG-Y; shots that are already there are kept, so that a stopped run can be resumed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
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
from subsalt.methods.rtm.modelling import ModelledTraces, ModellingSetup, model_shot
from subsalt.methods.rtm.ranks import plan_ranks
from subsalt.methods.rtm.setup import gate
from subsalt.methods.rtm.shot_input import reading_of, with_input
from subsalt.parallel.comm import Comm
from subsalt.run.crash_evidence import CrashNote
from subsalt.run.engine import Engine, Meter
from subsalt.run.identity import numerics_of
from subsalt.run.lock import RunLock, inputs_of
from subsalt.run.method_run import MethodRun, RunRequest, RunState
from subsalt.run.scheduler import Outcome, RankGroups
from subsalt.run.units import Bookkeeping, OneOf, Report
from subsalt.timing import Phases

if TYPE_CHECKING:
    from subsalt.methods.rtm.job import Job

NOTE, LOCK = "modelling.json", ".model.lock"

#: from setup, shot, progress and the ranks that share the shot to its traces
TracesOf = Callable[[ModellingSetup, Shot, Callable[[float], None], Comm | None], ModelledTraces]


@dataclass
class ModelResult:
    """Result of `model_job`.

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
        Device that computed: a GPU by its name, or the instruction set of the processor.
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


def model_job(job: Job, out_dir: Path, progress: Callable[..., None] | None = None) -> ModelResult:
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

    Raises
    ------
    FindingsError
        When a check finds an error; nothing was started.
    """
    from subsalt.job.checking import check_before_run

    state = RunState.of(RunRequest(Path(out_dir), progress))
    with state.clock("check"):
        raise_on_errors(check_before_run(job).findings)
    return model_checked(job, state)


def model_checked(job: Job, state: RunState) -> ModelResult:
    """Model a job whose checks have passed. Collective."""
    run = ModelRun(job, state)
    return Engine(run, ShotsFolder(run)).carry()


class ModelRun(MethodRun):
    """See `MethodRun`: its units are the shots that are modelled, each to a file."""

    #: what the textual header calls the traces
    what = "forward modelling"

    def load(self) -> None:
        """Read the model, or open its files."""
        with self.state.clock("model input"):
            self.model = self.job.open_propagation_model()

    def prepare(self) -> None:
        """Place the shots, choose the time step, and the ranks that share a shot."""
        job, state = self.job, self.state
        with state.world.together():
            self.survey = replace(job.acquisition_survey(), frame=self.model.frame)
        self.options, aperture = options_of(job, self.survey), job.imaging_options.aperture
        gated, _ = gate(self.model, self.options)
        self.dt = gated.choose_dt(self.options.weights, self.options.dt, self.options.dt_reserve)
        self.setup = ModellingSetup.build(
            self.model, job.wavelet(self.dt), self.survey.time, self.options, aperture
        )
        self.share_shots()

    def share_shots(self) -> None:
        """Decide which ranks share a shot, before anything is allocated. Collective."""
        self.plan = plan_ranks(self.job, self.setup, self.survey, self.state.world)

    def identify(self) -> None:
        """Set inputs, id and numerics of the run."""
        state = self.state
        with state.clock("setup"):
            state.inputs = inputs_of(self.job, state.world)
            state.run_id = self.job.run_id(state.inputs)
            state.numerics = numerics_of(state.device.describe(), self.options)
            state.by = kernels.label(state.numerics)

    def units(self) -> Sequence[Shot]:
        """Return the shots."""
        return self.survey.shots

    def group_sizes(self) -> tuple[int, int | None]:
        """Return the ranks that share a shot, and among how many the smallest window can be cut."""
        return self.plan.group_size, self.plan.largest

    def units_at_once(self) -> int:
        """Return how many shots this process computes side by side."""
        return self.plan.at_once

    @contextmanager
    def work(
        self, stack: ExitStack, groups: RankGroups, crash: CrashNote | None
    ) -> Iterator[Callable[[Shot, Shot | None, Report], Outcome]]:
        """Model shots."""
        state = self.state
        setup = with_input(self.setup, reading_of(self.job.parallel.io, groups.group))
        text = _text(setup, state.run_id, self.what)
        self.runners = [
            _Runner(setup, self.survey, state.folder, text, groups, state.clock, self.traces_of)
            for _ in range(self.units_at_once())
        ]
        yield OneOf([runner.process for runner in self.runners])

    def traces_of(
        self, setup: ModellingSetup, shot: Shot, progress: Callable[[float], None], group: Comm | None
    ) -> ModelledTraces:
        """Return the traces of a shot; collective over the group that shares it."""
        return model_shot(setup, shot, progress, group=group)

    def totals(self) -> dict[str, Any]:
        """Return the points computed, and those of the grids."""
        total = self.state.world.sum
        return {
            "point_steps": total(sum(r.point_steps for r in self.runners)),
            "grid_point_steps": total(sum(r.grid_point_steps for r in self.runners)),
        }


class ShotsFolder:
    """A folder of modelled shots, on one rank; a `Record` of the engine: a shot whose file is there is done.

    Parameters
    ----------
    run : ModelRun
    """

    lock = LOCK
    phase = "setup"

    def __init__(self, run: ModelRun) -> None:
        self.run, self.state = run, run.state

    def open(self, stack: ExitStack) -> None:
        """Tie the folder to the job, or refuse it."""
        state, folder = self.state, self.state.folder
        mine = {"run_id": state.run_id, "numerics": str(state.numerics["class"])}
        make_folder(folder)
        own.refuse_links(folder, (NOTE, LOCK, "shot_*.sgy"), in_place=(LOCK,))
        _is_ours(folder, mine)  # before anything is written, the lock included
        stack.enter_context(RunLock(folder, "--out", LOCK))
        if not _is_ours(folder, mine):
            publish_text(folder / NOTE, json.dumps(mine) + "\n")
        remove_leftovers(folder)

    def begin(self, stack: ExitStack) -> None:
        """Do nothing: shots that are not there are modelled again."""

    def left(self, units: Sequence[Shot]) -> list[Shot]:
        """Return the shots that have no file."""
        missing = [s.id for s in units if not shot_path(self.state.folder, s).exists()]
        left = set(self.state.world.bcast(missing))
        return [s for s in units if s.id in left]

    def books(self, units: int, left: int) -> Bookkeeping:
        """Return the progress that is shown."""
        return Bookkeeping(self.state.clock, progress=self.state.request.progress)

    def end_of_units(self, more: bool = False) -> None:
        """Do nothing: modelling is stopped by signals alone."""

    def end(self, groups: RankGroups, meter: Meter) -> None:
        """Sum what was computed."""
        self._totals = self.run.totals()
        groups.free()

    def result(self) -> ModelResult:
        """Return files, time and work."""
        run, state = self.run, self.state
        files = [shot_path(state.folder, s) for s in run.survey.shots]
        return ModelResult(
            state.folder,
            files,
            state.clock.table(),
            self._totals["point_steps"],
            run.dt,
            state.by,
            self._totals["grid_point_steps"],
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
    groups: RankGroups
    clock: Phases
    traces_of: TracesOf
    point_steps: int = 0
    grid_point_steps: int = 0

    def process(self, shot: Shot, next_shot: Shot | None, report: Report) -> Outcome:
        """Model one shot and write its file; collective over the group."""
        group = self.groups.group
        report(shot, 0.0)
        with self.clock("propagation"):
            modelled = self.traces_of(
                self.setup,
                shot,
                lambda fraction: report(shot, fraction),
                group if group.size > 1 else None,
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
        return {"unit": shot.id}


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


def _text(setup: ModellingSetup, run_id: str, what: str) -> list[str]:
    """Return the lines of the textual header."""
    from subsalt import __version__

    p = setup.propagation
    surface = "on topography" if p.topography is not None else "yes" if p.free_surface else "no"
    return [
        f"subsalt {__version__}  {what}  run {run_id[:24]}",
        f"medium {setup.model.medium}  {p.weights}  dt {setup.axis.dt * 1e3:.6f} ms  boundary {p.boundary}",
        f"wavelet {setup.wavelet.name}  free surface {surface}",
        "amplitude: p of (1/v^2) p_tt - lap p = f(t) delta(x - xs)",
    ]
