"""What all shots of a migration share: model past the gate, time axes, image step, and the window of each shot.

What the shots of a job share: its survey, the setup of their migration, and what run.json says of both.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt import physics
from subsalt.acquisition.survey import Shot, Survey, TimeAxis, shot_window
from subsalt.acquisition.timemap import TraceMap
from subsalt.acquisition.wavelet import Wavelet
from subsalt.earth.grid import Box, Frame, Grid
from subsalt.earth.model_like import ModelLike
from subsalt.earth.regrid import Regridder
from subsalt.errors import ConfigError
from subsalt.job.data import open_survey
from subsalt.job.signal.bandpass import Bandpass
from subsalt.job.signal.traces import flow_of
from subsalt.methods.rtm.traces import highest_frequency, propagation_axis, source_samples, to_propagation
from subsalt.parallel.comm import world
from subsalt.physics import storage
from subsalt.physics.storage import storage_error
from subsalt.propagation.options import ImagingOptions, PropagationOptions

if TYPE_CHECKING:
    from subsalt.job.job import Job
    from subsalt.job.signal.flow import Flow


@dataclass(frozen=True)
class MigrationSetup:
    """Everything that is chosen once per survey.

    Parameters
    ----------
    model : ModelLike
        Past the anisotropy gate.
    repaired : int
        Nodes the gate changed.
    propagation, imaging : options
        As asked for.
    wavelet : Wavelet
        Source signature.
    record : TimeAxis
        Of the traces.
    axis : TimeAxis
        Of the propagation; the same dt for all shots.
    image_step : int
        Time steps between imaged samples.
    signature : ndarray, (nt,), float64
        Wavelet on the propagation axis, dispersed beforehand.
    image_grid : Grid
        Of the image. Sums over shots stand on the grid of the model, where waves are computed.
    flow : Flow, optional
        The steps that traces go through before they are injected.
    """

    model: ModelLike
    repaired: int
    propagation: PropagationOptions
    imaging: ImagingOptions
    wavelet: Wavelet
    record: TimeAxis
    axis: TimeAxis
    image_step: int
    signature: NDArray[np.float64]
    image_grid: Grid
    flow: Flow | None = None

    @classmethod
    def build(
        cls,
        model: ModelLike,
        wavelet: Wavelet,
        record: TimeAxis,
        propagation: PropagationOptions,
        imaging: ImagingOptions,
        image_grid: Grid | None = None,
    ) -> MigrationSetup:
        """Choose time step, axes and image step.

        Parameters
        ----------
        model : ModelLike
            On the grid on which waves are computed.
        image_grid : Grid, optional
            Of the image, which is summed on the grid of the model and carried to this one; that of the model when None.

        Raises
        ------
        StabilityError
            When the asked-for dt is above the bound.
        ModelError
            When delta > epsilon and the job says ``reject``.
        """
        gated, repaired = gate(model, propagation)
        dt = gated.choose_dt(propagation.weights, propagation.dt, propagation.dt_reserve)
        axis = propagation_axis(record, wavelet, dt)
        step = imaging.image_step or image_step(wavelet.fmax, dt)
        if step >= axis.nt:
            raise ConfigError(
                f"image_step = {step}: none of the {axis.nt - 1} time steps would be imaged",
                "use a smaller image_step, or a longer record",
                code="E104",
            )
        signature = source_samples(wavelet, axis, propagation.time_dispersion)
        grid = image_grid or model.grid
        return cls(gated, repaired, propagation, imaging, wavelet, record, axis, step, signature, grid)

    @cached_property
    def carried(self) -> Regridder | None:
        """What carries sums over shots to the grid of the image; None when they stand there."""
        own = self.model.grid
        return None if self.image_grid == own else Regridder(own, self.image_grid, "mirror")

    @cached_property
    def trace_map(self) -> TraceMap:
        """What carries traces to the propagation axis."""
        return to_propagation(
            self.record,
            self.axis,
            time_dispersion=self.propagation.time_dispersion,
            derivative=self.imaging.mode == "reflectivity",
            fmax=self.highest,
        )

    @property
    def highest(self) -> float | None:
        """Frequency above which nothing is injected at the receivers, Hz; None: everything is.

        The end of the wavelet's band on a chosen grid, and the last corner of a band-pass, which the wavelet went
        through, too: what steps behind it add above, such as the edges of mutes, images nothing.
        """
        steps = () if self.flow is None else self.flow.steps
        tops = [step.corners[3] for step in steps if isinstance(step, Bandpass) and step.corners is not None]
        end = highest_frequency(self.wavelet, self.propagation)
        return min(tops if end is None else [*tops, end], default=None)

    @property
    def imaged_samples(self) -> list[int]:
        """Time indices of the imaged samples, from the first after 0."""
        return list(range(self.image_step, self.axis.nt, self.image_step))

    def window(self, shot: Shot) -> Box:
        """Return the part of the model that `shot` propagates and images in."""
        return shot_window(self.model, shot, self.imaging.aperture)


def gate(model: ModelLike, propagation: PropagationOptions) -> tuple[ModelLike, int]:
    """Return the model as it will be propagated, delta <= epsilon everywhere, and the number of nodes changed."""
    medium = physics.medium_of(model, propagation.medium)
    storage.refuse_tti(medium, propagation.model_storage)
    used = model.as_medium(medium)
    return used.anisotropy_gate(propagation.anisotropy)


def image_step(fmax: float, dt: float) -> int:
    """Return k = max(1, floor(0.8 / (2 fmax dt))): the product u w has twice the band of the fields."""
    return max(1, math.floor(0.8 / (2.0 * fmax * dt)))


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
    return {"shape": grid.shape, "spacing": grid.spacing, "origin": grid.origin}


def survey_of(job: Job, model: ModelLike) -> Survey:
    """Return the recorded survey of a job in the local frame of its model; rank 0 reads its headers. Collective.

    A model without a place on the map lies along the line of the survey itself, or in map coordinates.
    """
    return open_survey(job, None if model.frame == Frame() else model.frame, world())


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
    return replace(setup, flow=flow_of(survey))
