"""What all shots of a migration share: model past the gate, time axes, image step, and the window of each shot."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt import physics
from subsalt.acquisition.survey import Shot, TimeAxis
from subsalt.acquisition.wavelet import Wavelet
from subsalt.earth.grid import Box
from subsalt.earth.model import ModelLike
from subsalt.errors import ConfigError, GeometryError
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


def shot_window(model: ModelLike, shot: Shot, aperture: float | None) -> Box:
    """Return the model window of a shot: its sources and receivers plus the aperture on both sides in x and y.

    Parameters
    ----------
    aperture : float or None
        m; None takes the whole model.

    Raises
    ------
    GeometryError
        When the window does not meet the model.
    """
    shape = model.grid.shape3
    if aperture is None:
        return Box((0, 0, 0), shape)
    index = model.grid.to_index(np.concatenate([shot.src[None], shot.rcv]))
    lo, hi = [0, 0, 0], list(shape)
    for axis in (0, 1):
        if axis == 1 and model.grid.ndim == 2:
            continue
        reach = aperture / model.grid.spacing3[axis]
        lo[axis] = max(0, math.floor(float(index[:, axis].min()) - reach))
        hi[axis] = min(shape[axis], math.ceil(float(index[:, axis].max()) + reach) + 1)
        if hi[axis] <= lo[axis]:
            raise GeometryError(
                f"shot {shot.id} lies outside the model by more than the aperture of {aperture:g} m",
                "correct the coordinates, or leave the shot out",
                code="E320",
            )
    return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))
