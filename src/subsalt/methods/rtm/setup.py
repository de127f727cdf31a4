"""What all shots of a migration share: model past the gate, time axes, image step, and the window of each shot."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt import physics
from subsalt.acquisition.survey import Shot, TimeAxis
from subsalt.acquisition.wavelet import Wavelet
from subsalt.acquisition.window import shot_window
from subsalt.earth.grid import Box
from subsalt.earth.model_like import ModelLike
from subsalt.errors import ConfigError
from subsalt.methods.rtm.traces import propagation_axis, source_samples
from subsalt.physics import storage
from subsalt.propagation.options import ImagingOptions, PropagationOptions


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

    @classmethod
    def build(
        cls,
        model: ModelLike,
        wavelet: Wavelet,
        record: TimeAxis,
        propagation: PropagationOptions,
        imaging: ImagingOptions,
    ) -> MigrationSetup:
        """Choose time step, axes and image step.

        Raises
        ------
        StabilityError
            When the asked-for dt is above the bound.
        ModelError
            When delta > epsilon and the job says ``reject``.
        """
        gated, repaired = gate(model, propagation)
        dt = gated.choose_dt(propagation.order, propagation.dt, propagation.dt_reserve)
        axis = propagation_axis(record, wavelet, dt)
        step = imaging.image_step or image_step(wavelet.fmax, dt)
        if step >= axis.nt:
            raise ConfigError(
                f"image_step = {step}: none of the {axis.nt - 1} time steps would be imaged",
                "use a smaller image_step, or a longer record",
                code="E104",
            )
        signature = source_samples(wavelet, axis, propagation.time_dispersion)
        return cls(gated, repaired, propagation, imaging, wavelet, record, axis, step, signature)

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
