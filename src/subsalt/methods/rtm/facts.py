"""Facts in run.json about a migration before its first shot: grids, frame, time axes, and the model past its gate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from subsalt import physics
from subsalt.acquisition.survey import Survey
from subsalt.earth.grid import Box, Grid
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.physics.storage import storage_error


def beginning_facts(setup: MigrationSetup, survey: Survey) -> dict[str, Any]:
    """Return what is known of grid, time axes and model before the first shot."""
    grid, frame = setup.model.grid, setup.model.frame
    line = survey.notes.get("line")
    return {
        "grid": grid_facts(grid),
        "image_grid": grid_facts(setup.image_grid),
        "frame": {**asdict(frame), "azimuth_deg": math.degrees(frame.azimuth)},
        **({"line": line} if line else {}),
        **topography_facts(setup, survey),
        **gathers_facts(setup),
        "dt": setup.axis.dt,
        "t0": setup.axis.t0,
        "nt": setup.axis.nt,
        "image_step": setup.image_step,
        "stable_dt": setup.model.stable_dt(setup.propagation.weights),
        "repaired_nodes": setup.repaired,
        "model_error": vars(
            storage_error(setup.model, physics.medium_of(setup.model, setup.propagation.medium))
        )
        if setup.propagation.model_storage == "u16"
        else None,
    }


def gathers_facts(setup: MigrationSetup, region: Box | None = None) -> dict[str, Any]:
    """Return traces and columns of the gathers beside an image, or a part of it; empty without any."""
    lags, options = setup.gathers, setup.imaging.gathers
    if lags is None or options is None:
        return {}
    part = region or Box((0, 0, 0), setup.image_grid.shape3)
    columns = [
        [c - lo for c in some if lo <= c < hi]
        for some, lo, hi in zip(lags.columns, part.lo, part.hi, strict=False)
    ]
    facts: dict[str, Any] = {"kind": options.kind, "columns": columns}
    if setup.offsets is not None:
        return {"gathers": facts | {"offsets_m": list(setup.offsets.centres)}}
    facts["half_offsets_m"] = {axis.name: list(axis.lags) for axis in lags.axes}
    if options.kind == "angle":
        facts["angles_deg"] = [math.degrees(a) for a in options.angles]
    return {"gathers": facts}


def flatness_facts(folder: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the flatness of the gathers by angle or offset of a run, over all depths, by place; empty without any.

    Parameters
    ----------
    folder : Path
        Run directory.
    facts : mapping
        Facts of the run: its grid, and its gathers.
    """
    from subsalt.io.volumes.segy_image import map_image
    from subsalt.methods.rtm.stored_gathers import gathers_of_run

    for one in gathers_of_run(folder, facts):
        if one.shows_moveout:
            image, lines = map_image(folder / "image.sgy", one.grid), range(len(one.y))
            measured = np.stack([one.flatness(image, row).overall for row in lines], axis=1)
            semblance = [None if math.isnan(v) else float(v) for v in measured.ravel()]
            if one.grid.ndim == 2:
                return {"flatness": {"x_m": one.x.tolist(), "semblance": semblance}}
            x, y = (a.ravel().tolist() for a in np.meshgrid(one.x, one.y, indexing="ij"))
            return {"flatness": {"x_m": x, "y_m": y, "semblance": semblance}}
    return {}


def topography_facts(setup: MigrationSetup, survey: Survey) -> dict[str, Any]:
    """Return where the free surface inside the model lies, and what was brought below it; empty without one."""
    surface = setup.propagation.topography
    if surface is None:
        return {}
    notes = survey.notes.get("topography", {})
    assert isinstance(notes, dict)
    return {"topography": surface.facts(setup.image_grid) | notes}


def grid_facts(grid: Grid) -> dict[str, Any]:
    """Return a grid as plain values."""
    facts = {"shape": grid.shape, "spacing": grid.spacing, "origin": grid.origin}
    return facts if grid.depth_axis is None else facts | {"depth_axis": grid.depth_axis.to_json()}
