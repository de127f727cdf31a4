"""Setup that all shots of a migration share: model past the gate, time axes, image step, window of each shot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt import physics
from subsalt.acquisition.survey import Shot, TimeAxis, shot_window
from subsalt.acquisition.timemap import TraceMap
from subsalt.acquisition.wavelet import Wavelet
from subsalt.earth.grid import Box, Grid
from subsalt.earth.model_like import ModelLike
from subsalt.errors import ConfigError
from subsalt.methods.rtm.traces import highest_frequency, propagation_axis, source_samples, to_propagation
from subsalt.physics import storage
from subsalt.propagation.options import ImagingOptions, PropagationOptions

if TYPE_CHECKING:
    from subsalt.methods.rtm.conditions import Lags
    from subsalt.methods.rtm.offset_classes import OffsetClasses


class TraceSteps(Protocol):
    """The steps that traces go through before they are injected, as far as a migration counts with them."""

    @property
    def time(self) -> TimeAxis:
        """The time axis of the traces before the first step."""

    @property
    def band_end(self) -> float | None:
        """Frequency above which they let nothing pass, Hz; None: they cut nothing off."""

    @property
    def of_gathers(self) -> Sequence[object]:
        """Those that look at all shots before a run."""

    @property
    def per_trace(self) -> float:
        """Processor time of all steps per trace, s."""

    @property
    def first_look(self) -> float:
        """Processor time per trace of the look at all shots, s."""

    def scratch(self) -> int:
        """Return the bytes that they take beside the traces that come in and go out."""


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
        Time axis of the traces.
    axis : TimeAxis
        Time axis of the propagation; the same dt for all shots.
    image_step : int
        Time steps between imaged samples.
    signature : ndarray, (nt,), float64
        Wavelet on the propagation axis, dispersed beforehand.
    image_grid : Grid
        Grid of the image. Sums over shots are on the grid of the model, where waves are computed.
    flow : TraceSteps, optional
        The steps that traces go through before they are injected.
    lags : Lags, optional
        The gathers by half offset that are summed beside the image (`image_sum.with_gathers`).
    offsets : OffsetClasses, optional
        The gathers by surface offset.
    scatters : bool
        Shots model what a perturbation scatters, too, beside their source wavefields (`normal.normal_product`).
    pairs : bool
        Samples and products are those of both fields of an anisotropic medium (`field_pair`), not of their mean.
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
    flow: TraceSteps | None = None
    lags: Lags | None = None
    offsets: OffsetClasses | None = None
    scatters: bool = False
    pairs: bool = False

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
            Grid of the image, which is summed on the grid of the model and interpolated; that of the model when None.

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

    @property
    def gathers(self) -> Lags | None:
        """The gathers beside the image, by half offset or by surface offset; None without any."""
        return self.lags if self.offsets is None else self.offsets

    @property
    def carries(self) -> bool:
        """Whether sums over shots are carried to another grid, that of the image."""
        return self.image_grid != self.model.grid

    @cached_property
    def trace_map(self) -> TraceMap:
        """Map from traces to the propagation axis."""
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
        ends = [highest_frequency(self.wavelet, self.propagation)]
        if self.flow is not None:
            ends.append(self.flow.band_end)
        return min((end for end in ends if end is not None), default=None)

    @property
    def fields_of_sample(self) -> int:
        """Fields that a sample of a wavefield has."""
        return 2 if self.pairs else 1

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
