"""Forward modelling: one shot through the model, recorded at its receivers on the survey's time axis.

How a group of ranks gets model windows and traces.

Each rank reads its traces ahead in a thread of its own while a shot is computed; by `[parallel] io = "broadcast"`
rank 0 of a group reads and sends them to all.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey, TimeAxis, shot_window
from subsalt.acquisition.timemap import TraceMap
from subsalt.acquisition.wavelet import Wavelet
from subsalt.earth.grid import Box
from subsalt.earth.model_like import ModelLike
from subsalt.io import broadcast
from subsalt.io.broadcast import Broadcast, SharedModel
from subsalt.methods.rtm.setup import MigrationSetup, gate
from subsalt.methods.rtm.traces import highest_frequency, propagation_axis, source_samples, to_record
from subsalt.parallel.comm import Comm
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.propagator import Propagator


@dataclass(frozen=True)
class ModellingSetup:
    """What all shots share: gated model, time axes, wavelet on the propagation axis."""

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
        """What carries recorded samples to the record's axis."""
        dispersion, fmax = self.propagation.time_dispersion, highest_frequency(self.wavelet, self.propagation)
        return to_record(self.axis, self.record, time_dispersion=dispersion, fmax=fmax)

    def window(self, shot: Shot) -> Box:
        """Return the part of the model that `shot` propagates in."""
        return shot_window(self.model, shot, self.aperture)


@dataclass(frozen=True)
class ModelledTraces:
    """What was recorded of a shot.

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
        Called now and then with the fraction done.
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
    every, told = max(1, steps // 50), 0

    def report(it: int) -> None:
        nonlocal told
        if progress is not None and it - told >= every:
            told = it
            progress(it / steps)

    with prop:
        prop.advance(prop.new_state(), steps, sources=[source], recorders=[recorder], progress=report)
        rows, samples = prop.recorded(recorder)
    traces = setup.trace_map.apply(samples.astype(np.float64))
    return ModelledTraces(rows, traces.astype(np.float32), prop.points_advanced, steps * prop.point_count)


#: receivers of a shot that a rank needs: None for all
Rows = NDArray[np.int64] | None


@dataclass(frozen=True)
class Traces:
    """Traces of some receivers of a shot: `data` (len(rows), nt)."""

    rows: Rows
    data: NDArray[np.float32]


class TraceReader:
    """Reads traces ahead, one shot at most; a context manager.

    Parameters
    ----------
    survey : Survey
        Whose reader is called, from one thread.
    rows_of : callable
        ``rows_of(shot)``: the receivers whose traces this rank needs; None for all. Called from that thread too.
    """

    def __init__(self, survey: Survey, rows_of: Callable[[Shot], Rows] = lambda shot: None) -> None:
        self._survey, self._rows_of = survey, rows_of
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="traces")
        self._ahead: dict[int, Future[Traces]] = {}

    def __enter__(self) -> TraceReader:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> None:
        # an error need not wait for a slow file server before it is told
        self._pool.shutdown(wait=kind is None, cancel_futures=True)

    def prepare(self, shot: Shot) -> None:
        """Begin to read the traces of a shot; returns at once."""
        if shot.id not in self._ahead:
            self._ahead[shot.id] = self._pool.submit(self._read, shot)

    def take(self, shot: Shot) -> Traces:
        """Return the traces of a shot; waits where they are not there yet, and raises what their reading raised."""
        self.prepare(shot)
        return self._ahead.pop(shot.id).result()

    def _read(self, shot: Shot) -> Traces:
        rows = self._rows_of(shot)
        return Traces(rows, self._survey.traces(shot, rows))


Setup = TypeVar("Setup", MigrationSetup, ModellingSetup)


def reading_of(io: str, group: Comm) -> Broadcast | None:
    """Return what reads for a group by `[parallel] io`; None where every rank reads for itself, or is alone."""
    reading = broadcast.of(io, group)
    return reading if isinstance(reading, Broadcast) and group.size > 1 else None


def with_input(setup: Setup, reading: Broadcast | None) -> Setup:
    """Return the setup with a model whose windows come by `reading`."""
    return setup if reading is None else replace(setup, model=SharedModel(setup.model, reading))


class TracesTogether(TraceReader):
    """Traces that rank 0 of a group reads when a shot begins; nothing is read ahead, for sending is collective.

    Parameters
    ----------
    survey : Survey
        Whose reader is called, on rank 0.
    rows_of : callable
        As of `TraceReader`.
    reading : Broadcast
        Of the group.
    """

    def __init__(self, survey: Survey, rows_of: Callable[[Shot], Rows], reading: Broadcast) -> None:
        super().__init__(survey, rows_of)
        self._reading = reading

    def prepare(self, shot: Shot) -> None:
        """Do nothing: the traces come with `take`."""

    def take(self, shot: Shot) -> Traces:
        """Return the traces of a shot; collective over the group."""

        def read(some: NDArray[np.int64], out: NDArray) -> None:
            out[:] = self._survey.traces(shot, some)

        rows = self._rows_of(shot)
        mine = np.arange(len(shot.rcv)) if rows is None else rows
        data = np.empty((len(mine), self._survey.time.nt), np.float32)
        self._reading.rows(read, len(shot.rcv), mine, data)
        return Traces(rows, data)
