"""The setup of a job's migration, from its files: recorded survey, the options that fit it, sampled wavelet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from subsalt.acquisition.survey import Survey
from subsalt.earth.grid import Frame
from subsalt.earth.model_like import ModelLike
from subsalt.job.signal.traces import flow_of
from subsalt.methods.rtm.data import open_survey
from subsalt.methods.rtm.gather_choice import with_gathers
from subsalt.methods.rtm.setup import MigrationSetup, gate
from subsalt.parallel.comm import Comm, world
from subsalt.propagation.options import PropagationOptions
from subsalt.timing import Phases

if TYPE_CHECKING:
    from subsalt.methods.rtm.job import Job


def survey_of(job: Job, model: ModelLike) -> Survey:
    """Return the recorded survey of a job in the local frame of its model; rank 0 reads its headers. Collective.

    A model without a place on the map lies along the line of the survey itself, or in map coordinates.
    """
    return open_survey(job, None if model.frame == Frame() else model.frame, world())


def model_and_survey(job: Job, clock: Phases, comm: Comm) -> tuple[ModelLike, Survey]:
    """Return the model of a job, read or its files opened, and the survey from its headers; collective."""
    with clock("model input"):
        model = job.open_propagation_model()
    with clock("survey"), comm.together():
        return model, survey_of(job, model)


def options_of(job: Job, survey: Survey) -> PropagationOptions:
    """Return the options of a job's propagation, with the topography on which its survey lies."""
    return replace(job.propagation_options, topography=survey.surface)


def migration_setup(job: Job, model: ModelLike, survey: Survey) -> MigrationSetup:
    """Return the setup of a job's migration: the wavelet is sampled at the time step of the propagation.

    The model lies where the survey has it: their local coordinates are the same.
    """
    options, model = options_of(job, survey), model.moved_to(survey.frame)
    gated, _ = gate(model, options)
    dt = gated.choose_dt(options.weights, options.dt, options.dt_reserve)
    setup = MigrationSetup.build(
        model, job.wavelet(dt), survey.time, options, job.imaging_options, job.open_model().grid
    )
    return replace(with_gathers(setup, survey.shots), flow=flow_of(survey))
