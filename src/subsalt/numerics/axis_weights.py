"""Sparse weights applied along one axis of an array, for volumes on their way to another grid.

The same bits as the sparse product of SciPy (``native/signal/axis_weights.hpp``), without transposed copies, for any
number of threads and any cut of the array.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt import _native
from subsalt.numerics.side_by_side import cuts, each


class AxisWeights:
    """A sparse matrix (points of the result, points of the array) for one axis.

    Parameters
    ----------
    rows : sequence of dict
        Weights of every point of the result, by the point of the array; a sum takes its terms in their order.
    points : int
        Number of points of the array.

    Attributes
    ----------
    weights, columns, starts : ndarray
        The same by rows, as a matrix of SciPy has them: ``csr_array((weights, columns, starts), shape)``.
    """

    def __init__(self, rows: Sequence[Mapping[int, float]], points: int) -> None:
        self.shape = (len(rows), points)
        self.weights = np.array([w for row in rows for w in row.values()], np.float64)
        self.columns = np.array([i for row in rows for i in row], np.int32)
        self.starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        self._native = _native.AxisWeights(self.weights, self.columns, self.starts, points)

    def needed(self, lo: int, hi: int) -> tuple[int, int]:
        """Return the points (first, end) of the array that the points `lo` to `hi` of the result take."""
        columns = self.columns[self.starts[lo] : self.starts[hi]]
        return (int(columns.min()), int(columns.max()) + 1) if len(columns) else (0, 0)

    def most(self, points: int) -> int:
        """Return how many points of the array at most so many neighbouring points of the result take."""
        rows = self.shape[0]
        spans = (self.needed(lo, min(rows, lo + points)) for lo in range(max(1, rows - points + 1)))
        return max((end - first for first, end in spans), default=0)

    def into(
        self, out: NDArray[np.float64], values: NDArray[Any], lo: int, first: int, ring: bool = False
    ) -> None:
        """Write points of the result from `lo` on, (outer, points, inner), as many as `out` has.

        Parameters
        ----------
        values : ndarray, (outer, points, inner), float32 or float64
            Points of the array from `first` on, the last axis contiguous; with inner = 1 the axis itself.
        ring : bool
            Point j of the array is at j modulo the number of those in `values`, and `first` a multiple of that number.
        """
        self._native.apply(values, out, lo, lo + out.shape[1], first, ring)

    def applied(
        self, values: NDArray[Any], axis: int, lo: int = 0, hi: int | None = None, first: int = 0
    ) -> NDArray[np.float64]:
        """Return the points `lo` to `hi` of the result, all when left out; `values` have those from `first` on."""
        x = np.ascontiguousarray(values, dtype=None if values.dtype == np.float32 else np.float64)
        rows = (self.shape[0] if hi is None else hi) - lo
        outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
        out = np.empty((*x.shape[:axis], rows, *x.shape[axis + 1 :]))
        x, y = x.reshape(outer, x.shape[axis], inner), out.reshape(outer, rows, inner)
        size = max(x.size, y.size)
        if outer > 1:
            each(lambda cut: self.into(y[cut], x[cut], lo, first), cuts(outer, size))
        else:
            each(lambda cut: self.into(y[:, :, cut], x[:, :, cut], lo, first), cuts(inner, size))
        return out
