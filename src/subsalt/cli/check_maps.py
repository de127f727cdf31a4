"""The maps of `subsalt check`: the survey on the model, and what the anisotropy gate would change."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from subsalt.check.tilt import STEEPEST_TURN
from subsalt.earth.model import EarthModel
from subsalt.io.publish import make_folder
from subsalt.job.base import BaseJob
from subsalt.job.checking import CheckResult
from subsalt.methods import method_of


def draw_map(job: BaseJob, result: CheckResult, folder: Path | None) -> Path | None:
    """Draw the survey on its model or its image grid into ``FOLDER/map.png``; None when one could not be had."""
    return method_of(job.method).draw_map(job, result, lambda: _map_folder(job, folder) / "map.png")


def draw_gate(job: BaseJob, result: CheckResult, folder: Path | None) -> Path | None:
    """Draw where the anisotropy cannot be propagated as it is, and the axis, into ``FOLDER/anisotropy.png``.

    None when the model has no tilt and nothing to repair, could not be had, or stays in its files.
    """
    from subsalt import view

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
    return Path(
        view.gate_map(model, _map_folder(job, folder) / "anisotropy.png", flags, about=about, title=title)
    )


def _map_folder(job: BaseJob, folder: Path | None) -> Path:
    return make_folder(folder if folder is not None else job.base / f"{job.name}.check")
