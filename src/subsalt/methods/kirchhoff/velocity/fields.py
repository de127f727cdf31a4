"""A quantity of two-way time anywhere on the map: what velocities and eta are made of.

A field is pure: its value at a point depends on the point and on the time axis alone, not on the other points that are
asked for with it, so that blocks of output of any shape see the same bits. All are float64 and built of ``+ - * /`` and
square roots, which are exactly rounded everywhere.

Values of a volume in two-way time anywhere on the map: linear in time and between the four traces around a point.

Functions of time at scattered places, interpolated over the map.

Along a line, and over functions that stand on lines (several on each inline, or on each crossline, as velocities are
picked), interpolation is linear: along the lines first, then from line to line; a regular set of functions gives the
bilinear interpolation. Beyond the first and last function of a line, and the first and last line, values are constant.
Functions without such an order are weighted by inverse distances, ``((R - d) / (R d))^2`` over the eight nearest with R
the distance of the ninth (Franke and Nielson 1980, Int. J. Numer. Meth. Engng. 15, 1691): continuous, exact at every
function, and never outside the range of the values around. A triangulation would be linear between three functions, but
which triangles it takes hangs on last bits where four functions form a rectangle; these weights do not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid, numbers_of, snapped
from subsalt.acquisition.survey import TimeAxis
from subsalt.io.volumes.in_time import TimeVolume
from subsalt.methods.kirchhoff.velocity.rms import CONVERSIONS

Array = NDArray[np.float64]


class TimeField(ABC):
    """Values by point and two-way time."""

    #: where it comes from, for messages
    source: str = ""

    @abstractmethod
    def sample(self, points: Array, time: TimeAxis) -> Array:
        """Return the values (n, nt) at map positions (n, 2), m, and the times of the axis."""

    def describe(self) -> dict[str, Any]:
        """Return plain values for reports."""
        return {"source": self.source}


class ConstantField(TimeField):
    """One value everywhere.

    Parameters
    ----------
    value : float
        The value.
    """

    def __init__(self, value: float, source: str = "the job") -> None:
        self.value, self.source = float(value), source

    def sample(self, points: Array, time: TimeAxis) -> Array:
        """Return the values (n, nt)."""
        return np.full((len(points), time.nt), self.value)

    def describe(self) -> dict[str, Any]:
        """Return plain values for reports."""
        return {"form": "constant", "value": self.value, "source": self.source}


class Profile(TimeField):
    """One function of time for the whole map.

    Parameters
    ----------
    times : ndarray, (m,)
        Nodes, s, ascending.
    values : ndarray, (m,)
        Values there; linear in between, constant beyond.
    kind : str
        A key of `velocity.rms.CONVERSIONS`: what the values are; "rms" takes them as they are.
    """

    def __init__(self, times: Array, values: Array, kind: str = "rms", source: str = "the job") -> None:
        self.times = np.array(times, dtype=np.float64)
        self.values = np.array(values, dtype=np.float64)
        self.kind, self.source = kind, source

    def sample(self, points: Array, time: TimeAxis) -> Array:
        """Return the values (n, nt)."""
        row = CONVERSIONS[self.kind](self.times, self.values, time.values())
        return np.repeat(row[None], len(points), axis=0)

    def describe(self) -> dict[str, Any]:
        """Return plain values for reports."""
        return {
            "form": "function of time",
            "times": self.times.size,
            "kind": self.kind,
            "source": self.source,
        }


class ScaledField(TimeField):
    """Another field times a number.

    Parameters
    ----------
    field : TimeField
        The other field.
    factor : float
        The number.
    """

    def __init__(self, field: TimeField, factor: float) -> None:
        self.field, self.factor, self.source = field, float(factor), field.source

    def sample(self, points: Array, time: TimeAxis) -> Array:
        """Return the values (n, nt)."""
        return self.field.sample(points, time) * self.factor

    def describe(self) -> dict[str, Any]:
        """Return plain values for reports."""
        return self.field.describe() | {"scale": self.factor}


#: samples of traces that are converted at one time
_SAMPLES = 1 << 21


class VolumeField(TimeField):
    """A volume as a field; outside its lines and times the nearest values continue.

    Parameters
    ----------
    volume : TimeVolume
        Opened; traces are read when points near them are asked for.
    grid : ImageGrid
        Grid of the image: places the lines of the volume by their numbers.
    by_map : bool
        Place the volume by its map coordinates, not by line numbers.
    convert : callable
        From values as stored to SI.
    kind : str
        A key of `subsalt.methods.kirchhoff.velocity.rms.CONVERSIONS`.
    time_factor : float
        Seconds per unit of time of the file.
    """

    def __init__(
        self,
        volume: TimeVolume,
        grid: ImageGrid,
        by_map: bool,
        convert: Callable[[NDArray[Any]], NDArray[Any]] = lambda a: a,
        kind: str = "rms",
        time_factor: float = 1.0,
    ) -> None:
        self.volume, self.grid, self.by_map, self.convert, self.kind = volume, grid, by_map, convert, kind
        self.source = volume.path
        t0, dt = volume.t0 * time_factor, volume.dt * time_factor
        self.times = t0 + dt * np.arange(volume.shape[2], dtype=np.float64)

    def sample(self, points: Array, time: TimeAxis) -> Array:
        """Return the values (n, nt)."""
        at = self.index_of(points)
        ni, nj, _ = self.volume.shape
        i0, si = _node(at[:, 0], ni)
        j0, sj = _node(at[:, 1], nj)
        # a point on a trace is that trace, whatever its neighbours hold
        i1, j1 = np.where(si > 0, i0 + 1, i0), np.where(sj > 0, j0 + 1, j0)
        corners = ((i0, j0), (i0, j1), (i1, j0), (i1, j1))
        once, which = np.unique(np.concatenate([i * nj + j for i, j in corners]), return_inverse=True)
        rows = self._rows(once, time)
        a, b, c, d = (rows[w] for w in which.reshape(4, len(points)))
        si, sj = si[:, None], sj[:, None]
        low = a + (b - a) * sj
        high = c + (d - c) * sj
        return low + (high - low) * si

    def index_of(self, points: Array) -> Array:
        """Return where map points (n, 2) lie in the volume, as fractional indices (n, 2) of inline and crossline."""
        if self.by_map:
            place = self.volume.place
            assert place is not None
            local = snapped(place.frame.to_local(np.column_stack([points, np.zeros(len(points))])))
            if self.volume.shape[0] == 1:
                # a section lies along local x
                return np.stack(
                    [np.zeros(len(points)), (local[:, 0] - place.origin[1]) / place.spacing[1]], axis=-1
                )
            return np.stack([(local[:, k] - place.origin[k]) / place.spacing[k] for k in (0, 1)], axis=-1)
        lines = self.volume.lines
        assert lines is not None
        numbers = numbers_of(self.grid, points)
        return np.stack([(numbers[:, k] - lines[2 * k]) / lines[2 * k + 1] for k in (0, 1)], axis=-1)

    def _rows(self, traces: NDArray[np.int64], time: TimeAxis) -> Array:
        """Return traces by number at the times of an axis, in SI and as rms velocities."""
        ni_nj, at = self.volume.shape[1], time.values()
        out = np.empty((len(traces), time.nt))
        step = max(1, _SAMPLES // max(1, self.times.size + time.nt))
        for k in range(0, len(traces), step):
            some = traces[k : k + step]
            raw = self.volume.traces(some // ni_nj, some % ni_nj)
            out[k : k + step] = CONVERSIONS[self.kind](self.times, self.convert(raw).astype(np.float64), at)
        return out

    def describe(self) -> dict[str, Any]:
        """Return plain values for reports."""
        return {
            "form": "volume",
            "shape": list(self.volume.shape),
            "kind": self.kind,
            "placed_by": "map coordinates" if self.by_map else "line numbers",
            "time_s": [float(self.times[0]), float(self.times[-1])],
            "source": self.source,
        }


def _node(at: Array, n: int) -> tuple[NDArray[np.int64], Array]:
    """Return the node before every fractional index, inside the axis, and the share of the node after it."""
    clipped = np.clip(at, 0.0, n - 1)
    low = np.floor(clipped).astype(np.int64)
    return low, clipped - low


#: functions that a point between scattered ones is made of
NEAREST = 8
#: functions this close across a line, in line numbers, stand on it
ON_LINE = 0.01
#: points whose distances to all functions are held at one time
_POINTS = 512

#: function numbers (n, k) of points, and their weights
Weights = tuple[NDArray[np.int64], Array]


class Functions(TimeField):
    """Functions of time at places.

    Parameters
    ----------
    places : ndarray, (nf, 2), float64
        Inline and crossline numbers.
    times, values : sequence of ndarray
        Nodes of every function: s, ascending, and the values there.
    grid : ImageGrid
        Grid of the image.
    kind : str
        A key of `subsalt.methods.kirchhoff.velocity.rms.CONVERSIONS`.
    axes : tuple of bool
        Which of the two numbers tells places apart: crossline alone on a 2-D line.
    source : str
        For messages.
    """

    def __init__(
        self,
        places: Array,
        times: Sequence[Array],
        values: Sequence[Array],
        grid: ImageGrid,
        kind: str = "rms",
        axes: tuple[bool, bool] = (True, True),
        source: str = "",
    ) -> None:
        self.times, self.values, self.grid, self.kind, self.source = times, values, grid, kind, source
        self.places = np.where(axes, places, [grid.inlines[0], grid.crosslines[0]])
        self._lines, self._across = _lines(self.places)
        self._rows: tuple[TimeAxis, Array] | None = None

    def sample(self, points: Array, time: TimeAxis) -> Array:
        """Return the values (n, nt)."""
        rows = self.rows(time)
        index, weight = self.weights(numbers_of(self.grid, points))
        out = rows[index[:, 0]] * weight[:, :1]
        for k in range(1, index.shape[1]):
            out += rows[index[:, k]] * weight[:, k : k + 1]
        return out

    def rows(self, time: TimeAxis) -> Array:
        """Return every function at the times of an axis, (nf, nt); those of the last axis are kept."""
        if self._rows is None or self._rows[0] != time:
            convert, at = CONVERSIONS[self.kind], time.values()
            made = np.stack([convert(t, v, at) for t, v in zip(self.times, self.values, strict=True)])
            self._rows = time, made
        return self._rows[1]

    def weights(self, at: Array) -> Weights:
        """Return the functions that make up points given by line numbers (n, 2), and their weights."""
        if len(self.times) == 1:
            return np.zeros((len(at), 1), np.int64), np.ones((len(at), 1))
        if self._lines is not None:
            return self._by_lines(at)
        parts = [self._by_distance(at[k : k + _POINTS]) for k in range(0, len(at), _POINTS)]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def _by_lines(self, at: Array) -> Weights:
        """Interpolate along the two lines around every point, then between them."""
        assert self._lines is not None
        line, place = at[:, self._across], at[:, 1 - self._across]
        where = np.array([self.places[m, self._across].min() for m in self._lines])
        before, after, share = _around(where, line)
        index, weight = np.empty((len(at), 4), np.int64), np.empty((len(at), 4))
        for number, members in enumerate(self._lines):
            along = self.places[members, 1 - self._across]
            for column, mine, part in ((0, before, 1.0 - share), (2, after, share)):
                rows = np.nonzero(mine == number)[0]
                a, b, s = _around(along, place[rows])
                index[rows, column], index[rows, column + 1] = members[a], members[b]
                weight[rows, column], weight[rows, column + 1] = part[rows] * (1.0 - s), part[rows] * s
        return index, weight

    def _by_distance(self, at: Array) -> Weights:
        """Weight the nearest functions by inverse distances."""
        si, sj = self.grid.numbered_spacing
        di = (at[:, :1] - self.places[:, 0]) * si
        dj = (at[:, 1:] - self.places[:, 1]) * sj
        distance = np.sqrt(di * di + dj * dj)
        # equal distances in the order of the functions
        order = np.argsort(distance, axis=1, kind="stable")
        index = order[:, :NEAREST]
        d = np.take_along_axis(distance, index, 1)
        weight = 1.0 / np.where(d > 0, d, 1.0)
        if distance.shape[1] > NEAREST:
            reach = np.take_along_axis(distance, order[:, NEAREST : NEAREST + 1], 1)
            inside = (reach - d) / np.where(reach > 0, reach, 1.0)
            # the ninth as near as the first: nothing tells the nearest apart
            weight = np.where(inside[:, :1] > 0, weight * inside, weight)
        weight *= weight
        weight = np.where(d[:, :1] > 0, weight, d == 0.0)
        total = weight[:, :1].copy()
        for k in range(1, weight.shape[1]):
            total += weight[:, k : k + 1]
        return index, weight / total

    def describe(self) -> dict[str, Any]:
        """Return plain values for reports."""
        at = self.places
        return {
            "form": "functions at places",
            "functions": len(self.times),
            "kind": self.kind,
            "between": "linear" if self._lines is not None or len(self.times) == 1 else "inverse distance",
            "inline_range": [float(at[:, 0].min()), float(at[:, 0].max())],
            "crossline_range": [float(at[:, 1].min()), float(at[:, 1].max())],
            "source": self.source,
        }


def _around(nodes: Array, at: Array) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Return the nodes before and after every value, and the share of the second; the end nodes outside."""
    i = np.clip(np.searchsorted(nodes, at, side="right") - 1, 0, max(0, nodes.size - 2))
    j = np.minimum(i + 1, nodes.size - 1)
    width = nodes[j] - nodes[i]
    share = (at - nodes[i]) / np.where(width > 0, width, 1.0)
    return i, j, np.where(width > 0, np.clip(share, 0.0, 1.0), 0.0)


def _lines(places: Array) -> tuple[list[NDArray[np.int64]] | None, int]:
    """Return the lines that functions stand on, each with its functions in order, and the axis across the lines.

    Lines are those of the axis with fewer of them; None where they would hold fewer than two functions on average.
    """
    grouped = [_grouped(places, axis) for axis in (0, 1)]
    across = 0 if len(grouped[0]) <= len(grouped[1]) else 1
    lines = grouped[across]
    return (lines if 2 * len(lines) <= len(places) else None), across


def _grouped(places: Array, axis: int) -> list[NDArray[np.int64]]:
    order = np.lexsort((places[:, 1 - axis], places[:, axis]))
    ends = np.nonzero(np.diff(places[order, axis]) > ON_LINE)[0] + 1
    return [g[np.argsort(places[g, 1 - axis], kind="stable")] for g in np.split(order, ends)]
