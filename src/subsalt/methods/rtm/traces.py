"""Injected samples: wavelets and recorded traces mapped to the time axis of the propagation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, TimeAxis
from subsalt.acquisition.timemap import TraceMap
from subsalt.acquisition.wavelet import Wavelet
from subsalt.earth.model_like import ModelLike
from subsalt.errors import ConfigError
from subsalt.numerics import fixedmath
from subsalt.numerics.fixedmath import ramp
from subsalt.propagation.options import PropagationOptions

#: a spread narrower than this share of its length counts as a line
NARROW = 0.1


def propagation_axis(record: TimeAxis, wavelet: Wavelet, dt: float, extra: float = 0.0) -> TimeAxis:
    """Return the time axis of the propagation: from the earlier of 0 and the wavelet's start to the end of the record.

    Parameters
    ----------
    extra : float
        Time added behind the record, s.

    Raises
    ------
    ConfigError
        When the record has no samples or no interval.
    """
    if not (record.nt >= 1 and 0 < record.dt < math.inf and math.isfinite(record.t0)):
        raise ConfigError(
            f"time axis of {record.nt} samples at {record.dt} s from {record.t0} s",
            "give a positive number of samples and a positive interval in seconds",
            code="E163",
        )
    start = min(0.0, wavelet.t0)
    nt = math.floor((record.duration + extra - start) / dt + 1e-9) + 2
    return TimeAxis(nt, dt, start)


def source_samples(wavelet: Wavelet, axis: TimeAxis, time_dispersion: bool) -> NDArray[np.float64]:
    """Return the wavelet on the propagation axis, (nt,), dispersed beforehand when asked."""
    to_axis = TraceMap(
        len(wavelet.samples),
        wavelet.dt,
        wavelet.t0,
        axis.nt,
        axis.dt,
        axis.t0,
        dispersion=("forward", axis.dt) if time_dispersion else None,
    )
    return to_axis.apply(wavelet.samples[None])[0]


def highest_frequency(wavelet: Wavelet, propagation: PropagationOptions) -> float | None:
    """Return the highest frequency, Hz, that traces keep on their way to and from the time steps; None: all.

    Notes
    -----
    Records are sampled several times finer than a wavelet needs, and on a grid that was chosen for its band higher
    frequencies are wrong: noise of a record would be injected as waves that the grid disperses.
    """
    error = propagation.trace_error
    return None if error is None else wavelet.band_end(error)


def to_propagation(
    record: TimeAxis,
    axis: TimeAxis,
    *,
    time_dispersion: bool,
    derivative: bool,
    fmax: float | None = None,
) -> TraceMap:
    """Return the map of recorded traces to the propagation axis, d/dt included when asked, up to `fmax`, Hz."""
    return TraceMap(
        record.nt,
        record.dt,
        record.t0,
        axis.nt,
        axis.dt,
        axis.t0,
        dispersion=("forward", axis.dt) if time_dispersion else None,
        derivative=1 if derivative else 0,
        fmax=fmax,
    )


def to_record(
    axis: TimeAxis, record: TimeAxis, *, time_dispersion: bool, fmax: float | None = None
) -> TraceMap:
    """Return the map of recorded synthetic samples to the record's axis, up to `fmax`, Hz."""
    return TraceMap(
        axis.nt,
        axis.dt,
        axis.t0,
        record.nt,
        record.dt,
        record.t0,
        dispersion=("inverse", axis.dt) if time_dispersion else None,
        fmax=fmax,
    )


def end_taper(traces: NDArray[np.float32], record: TimeAxis, seconds: float) -> NDArray[np.float32]:
    """Return the traces with their last `seconds` brought smoothly to zero.

    A record that stops while it is still moving acts, when reversed, like a source that starts with a step.
    """
    n = min(record.nt // 10, round(seconds / record.dt))
    if n < 2:
        return traces
    out = traces.copy()
    out[:, -n:] *= ramp(np.arange(n, 0, -1, dtype=np.float64) / (n + 1)).astype(np.float32)
    return out


def receiver_area(shot: Shot, ndim: int) -> NDArray[np.float64]:
    """Return the area (2-D: length) that each receiver stands for, (nr,), m^2 or m.

    Notes
    -----
    2-D and receivers on one line: half the distance to both neighbours along the line. A lattice in x and y: the
    product of both. A narrow spread in any direction, as of a streamer that feathers: a line along it. Else: the area
    of the bounding box over the number of receivers.
    """
    x, y = shot.rcv[:, 0], shot.rcv[:, 1]
    if ndim == 2 or len(np.unique(np.round(y, 3))) == 1:
        return _spacing(x)
    ux, uy = np.unique(np.round(x, 3)), np.unique(np.round(y, 3))
    if len(ux) == 1:
        return _spacing(y)
    if len(ux) * len(uy) == len(x):
        wx, wy = _spacing(ux), _spacing(uy)
        return wx[np.searchsorted(ux, np.round(x, 3))] * wy[np.searchsorted(uy, np.round(y, 3))]
    along, across = _principal(x, y)
    # the box around a line has hardly any area, and how much rests on how straight the line is
    if np.ptp(across) < NARROW * np.ptp(along):
        return _spacing(along)
    return np.full(len(x), (np.ptp(x) * np.ptp(y)) / len(x))


def _principal(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray, NDArray]:
    """Return the coordinates along and across the longest direction of scattered points, from their centre."""
    dx, dy = x - fixedmath.total(x) / len(x), y - fixedmath.total(y) / len(y)
    half = 0.5 * (fixedmath.total(dx * dx) - fixedmath.total(dy * dy))
    both = fixedmath.total(dx * dy)
    root = math.sqrt(half * half + both * both)
    # of the two forms of the eigenvector the one without cancellation
    c, s = (half + root, both) if half >= 0 else (both, root - half)
    norm = math.sqrt(c * c + s * s)
    c, s = (c / norm, s / norm) if norm > 0 else (1.0, 0.0)
    return c * dx + s * dy, c * dy - s * dx


def _spacing(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return half the distance to both neighbours for positions on a line, 1 for a single one."""
    where, index = np.unique(np.round(x, 3), return_inverse=True)
    if len(where) < 2:
        return np.ones(len(x))
    gap = np.diff(where)
    width = np.empty(len(where))
    width[1:-1] = 0.5 * (gap[1:] + gap[:-1])
    width[0], width[-1] = gap[0], gap[-1]
    # a hole in the spread must not make its edges loud
    width = np.minimum(width, 2.0 * float(np.median(gap)))
    count = np.bincount(index, minlength=len(where))
    return (width / count)[index]


def velocity_at(model: ModelLike, positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return vp at the nodes nearest to local positions (n, 3), m/s."""
    return model.at(positions).astype(np.float64)
