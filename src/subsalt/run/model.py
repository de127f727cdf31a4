"""Model the survey of a job to SEG-Y; shots that are already there are kept, so that a stopped run goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import kernels
from subsalt.errors import ConfigError, MemoryPlanError, raise_on_errors
from subsalt.imaging.memory import available_memory, propagation_memory
from subsalt.imaging.setup import gate, shot_window
from subsalt.io.publish import make_folder, publish_text, remove_leftovers
from subsalt.modelling import ModellingSetup, model_shot
from subsalt.run.identity import numerics_of
from subsalt.run.lock import RunLock
from subsalt.survey import Survey
from subsalt.timing import Phases

if TYPE_CHECKING:
    from subsalt.job.job import Job

NOTE = "modelling.json"


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
        Grid points times time steps computed in this call.
    dt : float
        Time step, s.
    """

    shots_dir: Path
    files: list[Path]
    phases: dict[str, float]
    point_steps: int
    dt: float

    def to_dict(self) -> dict[str, Any]:
        """Return the result for ``--json``."""
        return {
            "shots_dir": str(self.shots_dir),
            "files": [str(f) for f in self.files],
            "phases": self.phases,
            "point_steps": self.point_steps,
            "dt": self.dt,
        }


def model_job(
    job: Job, out_dir: Path, progress: Callable[..., None] | None = None, *, checked: bool = False
) -> ModelResult:
    """Model every shot of `[acquisition]` and write it as SEG-Y with full geometry headers.

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

    clock = Phases()
    if not checked:
        with clock("check"):
            raise_on_errors(check_job(job).findings)
    with clock("model input"):
        model = job.open_model()
    with clock("setup"):
        survey = replace(job.acquisition_survey(), frame=model.frame)
        options, aperture = job.propagation_options, job.imaging_options.aperture
        device = kernels.prepare(options.device, options.threads)
        gated, _ = gate(model, options)
        dt = gated.choose_dt(options.order, options.dt, options.dt_reserve)
        setup = ModellingSetup.build(model, job.wavelet(dt), survey.time, options, aperture)
        need = max(
            sum(propagation_memory(gated, options, shot_window(gated, s, aperture), s).values())
            for s in survey.shots
        )
        if need > available_memory():
            raise MemoryPlanError(
                f"a shot needs {need / 1e9:.2f} GB, {available_memory() / 1e9:.2f} GB are available",
                "set [imaging] aperture, or use a coarser grid",
                code="E610",
            )
        run_id = job.run_id()
    folder = make_folder(out_dir)
    mine = {"run_id": run_id, "numerics": str(numerics_of(device.describe(), options)["class"])}
    _is_ours(folder, mine)  # before anything is written, the lock included
    with RunLock(folder, "--out", ".model.lock"):
        if not _is_ours(folder, mine):
            publish_text(folder / NOTE, json.dumps(mine) + "\n")
        remove_leftovers(folder)
        files, point_steps = _shots(setup, survey, folder, run_id, clock, progress)
    return ModelResult(folder, files, clock.table(), point_steps, dt)


def _shots(
    setup: ModellingSetup,
    survey: Survey,
    folder: Path,
    run_id: str,
    clock: Phases,
    progress: Callable[..., None] | None,
) -> tuple[list[Path], int]:
    """Model every shot whose file is not there; return all files, and the point-steps computed."""
    from subsalt.io.segy import write_survey

    files: list[Path] = []
    point_steps, total = 0, len(survey)
    for i, shot in enumerate(survey.shots):
        path = folder / f"shot_{shot.id:06d}.sgy"
        files.append(path)
        if path.exists():
            continue

        def report(fraction: float, i: int = i, shot_id: int = shot.id) -> None:
            if progress is not None:
                progress(i + fraction, total, f"shot {shot_id}")

        report(0.0)
        with clock("propagation"):
            modelled = model_shot(setup, shot, report)
        point_steps += modelled.point_steps
        with clock("trace output"):
            write_survey(
                path, replace(survey, shots=[replace(shot, data=modelled.traces)]), text=_text(setup, run_id)
            )
        report(1.0)
    return files, point_steps


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
    return [
        f"subsalt {__version__}  forward modelling  run {run_id[:24]}",
        f"medium {setup.model.medium}  order {p.order}  dt {setup.axis.dt * 1e3:.6f} ms  boundary {p.boundary}",
        f"wavelet {setup.wavelet.name}  free surface {'yes' if p.free_surface else 'no'}",
        "amplitude: p of (1/v^2) p_tt - lap p = f(t) delta(x - xs)",
    ]
