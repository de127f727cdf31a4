"""What the shots of a job share: its recorded survey, and the setup of their migration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from subsalt.acquisition.survey import Survey
from subsalt.earth.grid import Frame
from subsalt.earth.model_like import ModelLike
from subsalt.job.data import open_survey
from subsalt.methods.rtm.setup import MigrationSetup, gate
from subsalt.parallel.comm import world

if TYPE_CHECKING:
    from subsalt.job.job import Job


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
