"""Pictures of reverse time migration: the image of a run, the survey on its model, what the anisotropy gate changes."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from subsalt import view
from subsalt.check.tilt_turn import STEEPEST_TURN
from subsalt.earth.model import EarthModel
from subsalt.view.reading import RunStyle
from subsalt.view.run_image import read_run

if TYPE_CHECKING:
    from subsalt.job.checking import CheckResult
    from subsalt.methods.rtm.job import Job


def view_run(folder: Path, path: Path, how: RunStyle, say: Callable[[str], None]) -> list[Path]:
    """Draw sections of the image of a run directory, or its gathers; see `subsalt.methods.Method.view`."""
    how.refuse_horizon(folder)
    if how.gathers:
        from subsalt.methods.rtm.gather_view import view_gathers

        return view_gathers(folder, path, how)
    at = how.only_of_depth(folder)
    shown = read_run(folder)
    made = view.sections(
        shown.values,
        shown.grid,
        path,
        frame=shown.frame,
        illumination=shown.illumination,
        at=at,
        title=shown.title,
        run_id=shown.run_id,
        **how.image,
    )
    return list(made.values())


def draw_survey(job: Job, result: CheckResult, place: Callable[[str], Path]) -> Path | None:
    """Draw shots and receivers on the model into ``map.png``; None when one could not be had."""
    context = result.context
    if context.survey is None or context.model is None or not context.survey.shots:
        return None
    title = job.title or job.name
    return Path(view.survey_map(context.survey, context.model, place("map.png"), title=title))


def draw_gate(job: Job, result: CheckResult, place: Callable[[str], Path]) -> Path | None:
    """Draw where the anisotropy cannot be propagated as it is, and the axis, into ``anisotropy.png``.

    None when the model has no tilt and nothing to repair, could not be had, or stays in its files.
    """
    model = getattr(result.context, "model", None)
    if model is None:
        return None
    options = result.context.propagation
    if not isinstance(model, EarthModel) or "isotropic" in (model.medium, options.medium):
        return None
    flags, messages = [], {f.code: f.message for f in result.findings}
    over = None
    if model.epsilon is not None and model.delta is not None and {"W521", "E520"} & messages.keys():
        over = model.delta - model.epsilon
        repair = {"lower-delta": "delta is lowered", "raise-epsilon": "epsilon is raised"}.get(
            options.anisotropy, "refused"
        )
        nodes = over > 0
        flags.append(view.Flag(nodes, f"delta > epsilon at {nodes.sum()} nodes: {repair}", over))
    turn = result.context.facts.get("_turn")
    if turn is not None and "W539" in messages:
        nodes = turn > STEEPEST_TURN
        label = f"axis turns by more than {STEEPEST_TURN:g} degrees per cell at {nodes.sum()} nodes: kept"
        flags.append(view.Flag(nodes, label, turn))
    tilted = model.medium == "tti" and options.medium != "vti"
    if not flags and not tilted:
        return None
    about = "nothing to repair" if not flags else ""
    if model.theta is not None and tilted and turn is not None:
        most = math.degrees(float(np.abs(model.theta).max()))
        about += (
            f"{' · ' if about else ''}tilt up to {most:.3g} degrees, at most {float(turn.max()):.3g} per cell"
        )
    title = f"{job.title or job.name}: anisotropy"
    return Path(view.gate_map(model, place("anisotropy.png"), flags, about=about, title=title))
