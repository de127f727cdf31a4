"""What the shots of a job share: its survey, the setup of their migration, and what run.json says of both."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from subsalt import physics
from subsalt.acquisition.survey import Survey
from subsalt.earth.grid import Frame
from subsalt.earth.model_like import ModelLike
from subsalt.job.data import open_survey
from subsalt.methods.rtm.setup import MigrationSetup, gate
from subsalt.parallel.comm import world
from subsalt.physics.storage import storage_error

if TYPE_CHECKING:
    from subsalt.acquisition.survey import Survey
    from subsalt.job.job import Job


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


def survey_of(job: Job, model: ModelLike) -> Survey:
    """Return the recorded survey of a job in the local frame of its model; rank 0 reads its headers. Collective.

    A model without a place on the map lies along the line of the survey itself, or in map coordinates.
    """
    return open_survey(job, None if model.frame == Frame() else model.frame, world())


def migration_setup(job: Job, model: ModelLike, survey: Survey) -> MigrationSetup:
    """Return the setup of a job's migration: the wavelet is sampled at the time step of the propagation.

    The model lies where the survey has it: their local coordinates are the same.
    """
    options, model = job.propagation_options, model.moved_to(survey.frame)
    gated, _ = gate(model, options)
    dt = gated.choose_dt(options.order, options.dt, options.dt_reserve)
    return MigrationSetup.build(model, job.wavelet(dt), survey.time, options, job.imaging_options)
