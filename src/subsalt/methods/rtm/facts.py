"""What a reverse time migration says of itself in run.json."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from subsalt import physics
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.physics.storage import storage_error

if TYPE_CHECKING:
    from subsalt.acquisition.survey import Survey


def beginning_facts(setup: MigrationSetup, survey: Survey) -> dict[str, Any]:
    """Return what is known of grid, time axes and model before the first shot."""
    grid, frame = setup.model.grid, setup.model.frame
    line = survey.notes.get("line")
    return {
        "grid": {"shape": grid.shape, "spacing": grid.spacing, "origin": grid.origin},
        "frame": {**asdict(frame), "azimuth_deg": math.degrees(frame.azimuth)},
        **({"line": line} if line else {}),
        "dt": setup.axis.dt,
        "t0": setup.axis.t0,
        "nt": setup.axis.nt,
        "image_step": setup.image_step,
        "stable_dt": setup.model.stable_dt(setup.propagation.order),
        "repaired_nodes": setup.repaired,
        "model_error": vars(
            storage_error(setup.model, physics.medium_of(setup.model, setup.propagation.medium))
        )
        if setup.propagation.model_storage == "u16"
        else None,
    }
