"""Values of a volume in two-way time anywhere on the map: linear in time and between the four traces around a point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.line_numbers import numbers_of, snapped
from subsalt.acquisition.survey import TimeAxis
from subsalt.io.volumes.in_time import TimeVolume
from subsalt.methods.kirchhoff.velocity.fields import Array, Field
from subsalt.methods.kirchhoff.velocity.rms import CONVERSIONS

#: samples of traces that are converted at one time
_SAMPLES = 1 << 21


class VolumeField(Field):
    """A volume as a field; outside its lines and times the nearest values continue.

    Parameters
    ----------
    volume : TimeVolume
        Opened; traces are read when points near them are asked for.
    grid : ImageGrid
        Of the image: places the lines of the volume by their numbers.
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
