"""A field averaged over two-way time and over the map.

The average is one of values as they are (rms velocities: what velocity tools of the field smooth, too), weighted with a
raised cosine ``(1 + cos(2 pi x / L)) / 2`` of full length L along each direction in turn. On the map it is computed at
nodes that stand at every so many line numbers, an eighth of the length apart, and taken linearly between them; a node
depends on its own surroundings alone, so that any block of points, and an image of any lines, sees the same bits.
Constants and linear trends stay what they are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.line_numbers import numbers_of, positions_of
from subsalt.acquisition.survey import TimeAxis
from subsalt.methods.kirchhoff.velocity.fields import Array, Field
from subsalt.numerics import fixedmath

#: nodes per length of an average
PER_LENGTH = 8
#: nodes along the side of a tile that is averaged at one time
TILE = 16


class Smoothed(Field):
    """The average of another field.

    Parameters
    ----------
    field : Field
        The other field.
    grid : ImageGrid
        Of the image: says where nodes stand.
    time, inline, crossline : float
        Full lengths: s; m in the direction in which inlines, and in which crosslines, follow each other. 0: no average.
    """

    def __init__(
        self, field: Field, grid: ImageGrid, time: float = 0.0, inline: float = 0.0, crossline: float = 0.0
    ) -> None:
        self.field, self.grid, self.source = field, grid, field.source
        self.length, self.lengths = time, (inline, crossline)
        spacing = grid.numbered_spacing
        self.every = tuple(
            max(1, math.floor(length / (PER_LENGTH * h)))
            for length, h in zip(self.lengths, spacing, strict=True)
        )
        self._weights = [
            cosine_weights(length / (h * every))
            for length, h, every in zip(self.lengths, spacing, self.every, strict=True)
        ]

    def sample(self, points: Array, time: TimeAxis) -> Array:
        """Return the values (n, nt)."""
        if all(len(w) == 1 for w in self._weights):
            return self._in_time(points, time)
        at = numbers_of(self.grid, points) / np.array(self.every, dtype=np.float64)
        low = np.floor(at).astype(np.int64)
        share = at - low
        out = np.empty((len(points), time.nt))
        tiles = low // TILE
        for tile in np.unique(tiles, axis=0):
            rows = np.nonzero((tiles == tile).all(axis=1))[0]
            out[rows] = self._tile(low[rows], share[rows], time)
        return out

    def _tile(self, low: NDArray[np.int64], share: Array, time: TimeAxis) -> Array:
        """Return values at points given by the node before them, and the share of the node after it, per axis."""
        first = low.min(axis=0)
        end = (low + (share > 0)).max(axis=0) + 1
        nodes = self._nodes(first, end, time)
        (i0, j0), (ni, nj) = (low - first).T, nodes.shape[:2]
        i1, j1 = np.minimum(i0 + 1, ni - 1), np.minimum(j0 + 1, nj - 1)
        si, sj = share[:, :1], share[:, 1:]
        a, c = nodes[i0, j0], nodes[i1, j0]
        left = a + (nodes[i0, j1] - a) * sj
        right = c + (nodes[i1, j1] - c) * sj
        return left + (right - left) * si

    def _nodes(self, first: NDArray[np.int64], end: NDArray[np.int64], time: TimeAxis) -> Array:
        """Return averages (ni, nj, nt) at the nodes first <= (i, j) < end."""
        reach = [len(w) // 2 for w in self._weights]
        i, j = (np.arange(first[k] - reach[k], end[k] + reach[k]) * self.every[k] for k in (0, 1))
        numbers = np.stack(np.broadcast_arrays(i[:, None], j[None, :]), axis=-1).reshape(-1, 2)
        values = self._in_time(positions_of(self.grid, numbers.astype(np.float64)), time)
        values = values.reshape(len(i), len(j), time.nt)
        for axis in (0, 1):
            values = averaged(values, self._weights[axis], axis)
        return values

    def _in_time(self, points: Array, time: TimeAxis) -> Array:
        weights = cosine_weights(self.length / time.dt)
        reach = len(weights) // 2
        if not reach:
            return self.field.sample(points, time)
        longer = TimeAxis(time.nt + 2 * reach, time.dt, time.t0 - reach * time.dt)
        return averaged(self.field.sample(points, longer), weights, 1)

    def describe(self) -> dict[str, Any]:
        """Return plain values for reports."""
        length = {"time_s": self.length, "inline_m": self.lengths[0], "crossline_m": self.lengths[1]}
        return self.field.describe() | {"smooth": {k: v for k, v in length.items() if v}}


def cosine_weights(length: float) -> Array:
    """Return the normalised raised cosine of a full length in samples; a single 1 where it holds one sample only."""
    reach = max(0, math.ceil(length / 2) - 1)
    if reach == 0:
        return np.ones(1)
    raw = 0.5 * (1.0 + fixedmath.cos(2 * fixedmath.PI * np.arange(-reach, reach + 1) / length))
    return raw / math.fsum(raw)


def averaged(values: Array, weights: Array, axis: int) -> Array:
    """Return weighted sums along an axis, which loses the reach of the weights at both ends."""
    n = values.shape[axis] - len(weights) + 1
    out = np.zeros(1)
    for k, w in enumerate(weights):
        part = values[(slice(None),) * axis + (slice(k, k + n),)] * w
        out = part if k == 0 else out + part
    return out
