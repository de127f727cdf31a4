"""Forward modelling: one shot through the model, recorded at its receivers on the survey's time axis."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, TimeAxis, shot_window
from subsalt.acquisition.timemap import TraceMap
from subsalt.acquisition.wavelet import Wavelet
from subsalt.earth.grid import Box
from subsalt.earth.model_like import ModelLike
from subsalt.kernels.sizes import DOUBLE, FLOAT
from subsalt.methods.rtm.setup import gate
from subsalt.methods.rtm.traces import highest_frequency, propagation_axis, source_samples, to_record
from subsalt.parallel.comm import Comm
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.propagator import Propagator


@dataclass(frozen=True)
class ModellingSetup:
    """Setup that all shots share: gated model, time axes, wavelet on the propagation axis."""

    model: ModelLike
    repaired: int
    propagation: PropagationOptions
    wavelet: Wavelet
    record: TimeAxis
    axis: TimeAxis
    aperture: float | None
    signature: NDArray[np.float64]

    @classmethod
    def build(
        cls,
        model: ModelLike,
        wavelet: Wavelet,
        record: TimeAxis,
        propagation: PropagationOptions,
        aperture: float | None = None,
    ) -> ModellingSetup:
        """Choose time step and axes.

        Notes
        -----
        With the time-dispersion transform the propagation runs 2 / f0 longer than the record: the inverse
        transform of a trace cut in the middle of an event would smear the cut.
        """
        gated, repaired = gate(model, propagation)
        dt = gated.choose_dt(propagation.weights, propagation.dt, propagation.dt_reserve)
        extra = 2.0 / wavelet.f0 if propagation.time_dispersion else 0.0
        axis = propagation_axis(record, wavelet, dt, extra)
        signature = source_samples(wavelet, axis, propagation.time_dispersion)
        return cls(gated, repaired, propagation, wavelet, record, axis, aperture, signature)

    @cached_property
    def trace_map(self) -> TraceMap:
        """Map from recorded samples to the record's axis."""
        dispersion, fmax = self.propagation.time_dispersion, highest_frequency(self.wavelet, self.propagation)
        return to_record(self.axis, self.record, time_dispersion=dispersion, fmax=fmax)

    def window(self, shot: Shot) -> Box:
        """Return the part of the model that `shot` propagates in."""
        return shot_window(self.model, shot, self.aperture)


@dataclass(frozen=True)
class ModelledTraces:
    """Recorded traces of a shot.

    Parameters
    ----------
    rows : ndarray, (n,)
        Receivers; of a group every receiver is among those of exactly one rank.
    traces : ndarray, (n, nt), float32
        Their samples on the record axis.
    point_steps : int
        Points computed here, layer included, of all time steps: those that the wave has not reached are not.
    grid_point_steps : int
        Grid points times time steps.
    """

    rows: NDArray[np.intp]
    traces: NDArray[np.float32]
    point_steps: int
    grid_point_steps: int


def model_shot(
    setup: ModellingSetup,
    shot: Shot,
    progress: Callable[[float], None] | None = None,
    *,
    group: Comm | None = None,
) -> ModelledTraces:
    """Return the traces of one shot on the record axis; collective over the group that shares it.

    Parameters
    ----------
    setup : ModellingSetup
        Shared choices.
    shot : Shot
        Positions.
    progress : callable, optional
        Called at intervals with the fraction done.
    group : Comm, optional
        The ranks that share the shot; the traces have the bits of one process.

    Raises
    ------
    GeometryError
        When the window of the shot does not meet the model, or a position lies above a free surface.
    NumericalFailure
        When the wavefield is no longer finite.
    """
    steps = setup.axis.nt - 1
    with nullcontext() if group is None else group.together():
        positions = np.concatenate([shot.src[None], shot.rcv])
        prop = Propagator(
            setup.model,
            setup.propagation,
            setup.axis.dt,
            window=setup.window(shot),
            points=positions,
            taper_at=shot.src[None],  # receivers only listen: they excite no slow mode
            group=group,
        )
        recorder = prop.recorder(shot.rcv, setup.axis.nt)
        source = prop.source(shot.src[None], setup.signature[None])
    every, reported = max(1, steps // 50), 0

    def report(it: int) -> None:
        nonlocal reported
        if progress is not None and it - reported >= every:
            reported = it
            progress(it / steps)

    with prop:
        prop.advance(prop.new_state(), steps, sources=[source], recorders=[recorder], progress=report)
        rows, samples = prop.recorded(recorder)
    traces = setup.trace_map.apply(samples.astype(np.float64))
    return ModelledTraces(rows, traces.astype(np.float32), prop.points_advanced, steps * prop.point_count)


def mapping_bytes(traces: int, written: int, stepped: int) -> int:
    """Return the bytes of mapping so many recorded traces: in double precision before and after, then in single.

    Parameters
    ----------
    traces : int
        Traces of the rank.
    written, stepped : int
        Samples of a trace on the record axis, and of every time step.
    """
    return traces * (DOUBLE * stepped + (DOUBLE + FLOAT) * written)
