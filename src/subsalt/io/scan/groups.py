"""Reductions of the traces of many files side by side, one result per file.

A call of NumPy costs some microseconds, however few values it is given: of 400 files of 48 traces the calls would cost
more than their work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


def different(values: NDArray) -> NDArray:
    """Return the different ones of some values, ascending; most files have one of each kind."""
    return values[:1] if len(values) and (values == values[0]).all() else np.unique(values)


class Groups:
    """The traces of several files, one file after the other.

    Parameters
    ----------
    sizes : sequence of int
        Traces of each file, 1 or more.
    """

    def __init__(self, sizes: Sequence[int] | NDArray[np.int64]) -> None:
        self.sizes = np.asarray(sizes, np.int64)
        self._ends = np.cumsum(self.sizes)
        self._begins = self._ends - self.sizes
        self.slices = [slice(a, b) for a, b in zip(self._begins.tolist(), self._ends.tolist(), strict=True)]

    def __len__(self) -> int:
        return len(self.sizes)

    def any(self, flags: NDArray) -> NDArray[np.bool_]:
        """Return whether a flag of a file is set, or a value is not zero."""
        return np.logical_or.reduceat(flags, self._begins)

    def all(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return whether all flags of a file are set."""
        return np.logical_and.reduceat(flags, self._begins)

    def count(self, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return how many flags of a file are set."""
        return np.add.reduceat(flags, self._begins, dtype=np.int64)

    def min(self, values: NDArray) -> NDArray:
        """Return the smallest value of each file; of rows of values, of each column."""
        return np.minimum.reduceat(values, self._begins, axis=0)

    def max(self, values: NDArray) -> NDArray:
        """Return the largest value of each file; of rows of values, of each column."""
        return np.maximum.reduceat(values, self._begins, axis=0)

    def spread(self, per_file: NDArray) -> NDArray:
        """Return the value of its file for each trace."""
        return np.repeat(per_file, self.sizes, axis=0)

    def number(self) -> NDArray[np.int64]:
        """Return the number of each trace in its file, from 0."""
        return np.arange(int(self.sizes.sum())) - self.spread(self._begins)

    def medians(self, values: NDArray) -> NDArray[np.float64]:
        """Return the median of each file, to the last bit that of `numpy.median`; no value may be NaN."""
        low, high = (self.sizes - 1) // 2, self.sizes // 2
        ordered = self._sorted(values)
        two = np.stack([ordered[self._begins + low], ordered[self._begins + high]], axis=1)
        return np.where(low == high, two[:, 0], two.sum(axis=1) / 2.0)

    def distinct(self, values: NDArray) -> NDArray[np.int64]:
        """Return how many different values each file has."""
        ordered = self._sorted(values)
        new = np.ones(len(ordered), bool)
        new[1:] = ordered[1:] != ordered[:-1]
        new[self._begins] = True
        return self.count(new)

    def _sorted(self, values: NDArray) -> NDArray:
        """Return the values, ascending within each file."""
        if (self.sizes == self.sizes[0]).all():
            return np.sort(values.reshape(len(self), -1), axis=1).reshape(-1)
        out = values.copy()
        for part in self.parts(out):
            part.sort()
        return out

    def parts(self, values: NDArray) -> Iterator[NDArray]:
        """Yield the values of each file, as views."""
        return (values[part] for part in self.slices)
