"""What is injected: wavelets and recorded traces mapped to the time axis of the propagation.

Whether a survey lies on a model: what `forward` and `migrate` refuse before they compute anything.

A position beside the model would widen the grid with made-up medium, by kilometres if a coordinate is wrong; one on a
free surface hears and sends nothing. `subsalt check` says the same of a job with more evidence.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.acquisition.timemap import TraceMap
from subsalt.acquisition.wavelet import Wavelet
from subsalt.earth.grid import Grid
from subsalt.earth.model_like import ModelLike
from subsalt.earth.topography import Topography
from subsalt.errors import ConfigError, GeometryError
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


#: positions this far outside, in cells, count as on the edge: coordinates are rounded to centimetres
EDGE = 1e-3

#: depth below a free surface, in cells, that still counts as on it
ON_SURFACE = 1e-2


def check_survey(model: ModelLike, survey: Survey, options: PropagationOptions) -> None:
    """Refuse a survey that does not lie on the model.

    Parameters
    ----------
    model : ModelLike
        Its grid rules.
    survey : Survey
        Sources and receivers, local coordinates.
    options : PropagationOptions
        Whether there is a free surface, and where.

    Raises
    ------
    GeometryError
        For no shots, a line on a volume or the reverse, positions outside the model, and shots of which nothing would
        be heard.
    """
    grid = model.grid
    if not survey.shots:
        raise GeometryError("the survey has no shots", "check the selection of shots", code="E304")
    if grid.ndim == 3 and survey.ndim == 2:
        raise GeometryError("the model is 3-D, the survey is 2-D", "give positions as (x, y, z)", code="E329")
    for shot in survey.shots:
        _on_the_grid(grid, shot, "source", shot.src[None])
        _on_the_grid(grid, shot, "receiver", shot.rcv)
        if options.topography is not None:
            _below_topography(options.topography, shot)
        elif options.free_surface:
            _below_the_surface(grid, shot)


def _on_the_grid(grid: Grid, shot: Shot, name: str, points: NDArray[np.float64]) -> None:
    """Refuse points of one shot that lie outside the grid."""
    if not len(points):
        return
    if grid.ndim == 2 and points[:, 1].any():
        raise GeometryError(
            f"shot {shot.id}: a {name} has y = {points[:, 1][np.nonzero(points[:, 1])[0][0]]:g} m, the model is 2-D",
            "project the survey on the line of the model, with y = 0",
            code="E329",
        )
    index, last = grid.to_index(points), np.array(grid.shape3) - 1
    out = (index < -EDGE) | (index > last + EDGE)
    if not out.any():
        return
    i, axis = (int(v) for v in np.argwhere(out)[0])
    first, end = grid.origin3[axis], grid.origin3[axis] + last[axis] * grid.spacing3[axis]
    beside = "E331" if name == "source" else "E332"
    above = "E333" if name == "source" else "E334"
    code = beside if axis < 2 else (above if index[i, axis] < 0 else "E335")
    raise GeometryError(
        f"shot {shot.id}: {int(out.any(axis=1).sum())} of {len(points)} {name}s lie outside the model, the first at "
        f"{'xyz'[axis]} = {points[i, axis]:.6g} m (the model goes from {first:.6g} to {end:.6g})",
        "correct the positions, leave the shot out, or extend the model",
        code=code,
    )


def _below_topography(surface: Topography, shot: Shot) -> None:
    """Refuse a shot with its source or receivers above a free surface inside the model."""
    for name, points in (("source", shot.src[None]), ("receivers", shot.rcv)):
        above = surface.depth(points[:, :2]) - points[:, 2]
        if len(points) and above.max() >= 0:
            raise GeometryError(
                f"shot {shot.id}: of its {name} {int((above >= 0).sum())} lie on or above the topography, by up to "
                f"{above.max():.4g} m",
                "give depths below the surface",
                code="E755",
            )


def _below_the_surface(grid: Grid, shot: Shot) -> None:
    """Refuse a shot whose source, or whose every receiver, lies on the free surface."""
    for name, points in (("source lies", shot.src[None]), ("receivers all lie", shot.rcv)):
        depth = grid.to_index(points)[:, 2]
        if len(depth) and (depth < ON_SURFACE).all():
            raise GeometryError(
                f"shot {shot.id}: its {name} on the free surface, where pressure is always zero",
                "give a depth, or set free_surface = False",
                code="E336",
            )
