"""Volumes that are read plane by plane of constant x, on demand, so that no volume need be in memory as a whole.

`Parameter` is one parameter of an earth model as the job gives it, before it is on the grid of the model.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.extremes import finite_range
from subsalt.earth.grid import Frame, Grid
from subsalt.errors import Finding

#: values of a slab that are in memory at once
SLAB_VALUES = 1 << 18


@dataclass
class Moved:
    """Bytes of requested samples, and bytes that were read for them."""

    wanted: int = 0
    moved: int = 0


class Planes(ABC):
    """A volume (nx, nz) or (nx, ny, nz) of float32 that gives its planes on demand.

    It looks like an array as far as ``shape``, ``len`` and slices along x go; turning it into one is refused.

    Parameters
    ----------
    shape : tuple of int
        Shape of the volume, x first.
    """

    dtype = np.dtype(np.float32)

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    @property
    def ndim(self) -> int:
        """2 or 3."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of values."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all values."""
        return self.size * self.dtype.itemsize

    @property
    def step(self) -> int:
        """Planes that are best read together: about `SLAB_VALUES` values; a source may ask for more."""
        return max(1, SLAB_VALUES // math.prod(self.shape[1:]))

    @abstractmethod
    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the planes ``lo <= ix < hi``, C-ordered; ``0 <= lo <= hi <= nx``."""

    @property
    def cached_bytes(self) -> int:
        """Bytes of values that stay in memory once they have been read."""
        return 0

    def sources(self) -> list[Planes]:
        """Return the volumes that are read for this one: itself when it reads a file."""
        return [self]

    @property
    def traffic(self) -> Moved:
        """Bytes requested and read of all `sources` so far."""
        parts = [s.traffic for s in self.sources() if s is not self]
        return Moved(sum(t.wanted for t in parts), sum(t.moved for t in parts))

    def slabs(self, lo: int = 0, hi: int | None = None) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield (first plane, planes) from `lo` to `hi`, `step` planes at a time."""
        end = self.shape[0] if hi is None else hi
        for first in range(lo, end, self.step):
            yield first, self.read(first, min(end, first + self.step))

    def limits(self) -> tuple[float, float]:
        """Return the smallest and the largest finite value; goes through all planes. NaN where there is none."""
        low, high = np.inf, -np.inf
        for _, part in self.slabs():
            span = finite_range(part)
            low, high = min(low, span.low), max(high, span.high)
        return (low, high) if low <= high else (math.nan, math.nan)

    def section(self, axis: int, index: int) -> NDArray[np.float32]:
        """Return the values at one index along an axis, without that axis."""
        if axis == 0:
            return self.read(index, index + 1)[0]
        return np.concatenate([np.take(part, index, axis) for _, part in self.slabs()])

    def take(self, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the values at the nodes `index` (n, ndim), none outside the volume; a plane at a time."""
        out = np.empty(len(index), np.float32)
        for ix in np.unique(index[:, 0]):
            rows = np.nonzero(index[:, 0] == ix)[0]
            out[rows] = self.read(int(ix), int(ix) + 1)[0][tuple(index[rows, 1:].T)]
        return out

    def columns(self, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the columns along z (n, nz) at the indices (n, ndim - 1); a plane at a time."""
        out = np.empty((len(index), self.shape[-1]), np.float32)
        for ix in np.unique(index[:, 0]):
            rows = np.nonzero(index[:, 0] == ix)[0]
            out[rows] = self.read(int(ix), int(ix) + 1)[0][tuple(index[rows, 1:].T)]
        return out

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: slice | tuple[Any, ...]) -> NDArray[np.float32]:
        """Return the planes of a slice along x, cut further by the rest of a tuple; other indices are refused."""
        first, rest = (key[0], key[1:]) if isinstance(key, tuple) else (key, ())
        if not isinstance(first, slice) or first.step not in (None, 1):
            raise TypeError(f"planes are cut by slices along x without a step, not by {first!r}")
        lo, hi, _ = first.indices(self.shape[0])
        part = self.read(lo, max(lo, hi))
        return part[(slice(None), *rest)] if rest else part

    def __array__(self, *_: Any, **__: Any) -> NDArray[np.float32]:
        raise TypeError(f"a volume {self.shape} that is read by planes is never held whole")


class ConstantPlanes(Planes):
    """One value everywhere, or a function of depth: the same in all planes."""

    def __init__(self, shape: tuple[int, ...], values: NDArray[np.float32] | float) -> None:
        super().__init__(shape)
        self._plane = np.broadcast_to(np.asarray(values, dtype=np.float32), shape[1:])

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the planes ``lo <= ix < hi``."""
        return np.ascontiguousarray(np.broadcast_to(self._plane, (hi - lo, *self.shape[1:])))

    def sources(self) -> list[Planes]:
        """Return nothing: no file is read."""
        return []


class MappedPlanes(Planes):
    """A function of every value of another volume.

    Parameters
    ----------
    source : Planes
        The other volume.
    function : callable
        From an array to one of the same shape; a value of the result depends on that value alone.
    """

    def __init__(self, source: Planes, function: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
        super().__init__(source.shape)
        self._source, self._function = source, function

    @property
    def step(self) -> int:
        """Step of the other volume."""
        return self._source.step

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the planes ``lo <= ix < hi``."""
        return self._function(self._source.read(lo, hi))

    def take(self, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the values at the nodes `index` (n, ndim)."""
        return self._function(self._source.take(index))

    def sources(self) -> list[Planes]:
        """Return the sources of the other volume."""
        return self._source.sources()


class CachedPlanes(Planes):
    """Another volume of which every plane is made once and kept.

    For a volume that costs more to make than to hold: a model on a coarser grid is gone through for its extremes, and
    then asked for the windows of all shots.
    """

    def __init__(self, source: Planes) -> None:
        super().__init__(source.shape)
        self._source = source
        # memory is taken plane by plane, as they are written
        self._values = np.empty(source.shape, np.float32)
        self._made = np.zeros(len(source), bool)

    @property
    def step(self) -> int:
        """Step of the other volume."""
        return self._source.step

    @property
    def cached_bytes(self) -> int:
        """Bytes of all values."""
        return self.nbytes

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the planes ``lo <= ix < hi``, no copy and not to be written to."""
        missing = np.flatnonzero(~self._made[lo:hi]) + lo
        if len(missing):
            # what was made in between is made again: neighbours are read together anyway
            first, end = int(missing[0]), int(missing[-1]) + 1
            self._values[first:end] = self._source.read(first, end)
            self._made[first:end] = True
        planes = self._values[lo:hi]
        planes.flags.writeable = False
        return planes

    def sources(self) -> list[Planes]:
        """Return the sources of the other volume."""
        return self._source.sources()


class InMemoryPlanes(Planes):
    """A volume that is in memory already."""

    def __init__(self, values: NDArray[np.float32]) -> None:
        super().__init__(values.shape)
        self._values = values

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the planes ``lo <= ix < hi``, no copy."""
        return self._values[lo:hi]

    def sources(self) -> list[Planes]:
        """Return nothing: no file is read."""
        return []


def slabs(
    values: NDArray[Any] | Planes, most: int = 1 << 24, lo: int = 0, hi: int | None = None
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield (first index along axis 0, part) of a volume, so that no copy of all of it is ever made.

    Parameters
    ----------
    most : int
        Values of a part of an array in memory; planes in files know best how many to read at a time.
    lo, hi : int
        First plane and end; all when left out.
    """
    end = len(values) if hi is None else hi
    if isinstance(values, Planes):
        yield from values.slabs(lo, end)
        return
    step = max(1, most // max(1, values[:1].size))
    for start in range(lo, end, step):
        yield start, values[start : min(end, start + step)]


def first_index(mask: NDArray[np.bool_], start: int) -> tuple[int, ...]:
    """Return the index of the first True in a slab that begins at `start`."""
    where = np.unravel_index(int(np.argmax(mask)), mask.shape)
    return (int(where[0]) + start, *(int(i) for i in where[1:]))


#: values a median is taken of, spread over the volume
MEDIAN_OF = 2_000_000


@dataclass(frozen=True)
class VolumeSummary:
    """Statistics of a volume.

    Parameters
    ----------
    size, bad : int
        Number of values, and of those that are not finite.
    first_bad : tuple of int or None
        Index of the first value that is not finite.
    low, high, median : float
        Statistics of the finite values; NaN when there is none. The median is that of an evenly spread sample.
    """

    size: int
    bad: int
    first_bad: tuple[int, ...] | None
    low: float
    high: float
    median: float


@dataclass(frozen=True)
class PartSummary:
    """Statistics of some planes of a volume, as in `VolumeSummary`, and their share of the sampled values."""

    bad: int
    first_bad: tuple[int, ...] | None
    low: float
    high: float
    sample: NDArray[Any]


def summarise_part(values: NDArray[Any] | Planes, lo: int, hi: int) -> PartSummary:
    """Return the summary of the planes `lo` to `hi` of a volume, in one pass slab by slab."""
    bad, first, low, high = 0, None, np.inf, -np.inf
    every, row = max(1, values.size // MEDIAN_OF), math.prod(values.shape[1:])
    sampled = [np.empty(0, values.dtype)]
    for start, part in slabs(values, lo=lo, hi=hi):
        span = finite_range(np.asarray(part, np.float32))
        if span.bad and first is None:
            first = first_index(~np.isfinite(part), start)
        bad += span.bad
        low, high = min(low, span.low), max(high, span.high)
        # the values of the whole that stand at multiples of `every`
        sampled.append(part.reshape(-1)[-start * row % every :: every].copy())
    return PartSummary(bad, first, low, high, np.concatenate(sampled))


def combine(size: int, parts: Sequence[PartSummary]) -> VolumeSummary:
    """Return the summary of a volume of `size` values from those of its parts, in their order."""
    bad = sum(p.bad for p in parts)
    first = next((p.first_bad for p in parts if p.first_bad is not None), None)
    low, high = min(p.low for p in parts), max(p.high for p in parts)
    sample = np.concatenate([p.sample for p in parts])
    sample = sample[np.isfinite(sample)]
    median = float(np.median(sample)) if sample.size else float("nan")
    if bad == size:
        low = high = float("nan")
    return VolumeSummary(size, bad, first, low, high, median)


def summarise(values: NDArray[Any] | Planes) -> VolumeSummary:
    """Return the summary of a volume."""
    return combine(values.size, [summarise_part(values, 0, len(values))])


@dataclass
class Parameter:
    """One model parameter as the job gives it, in SI, before anything is checked.

    Parameters
    ----------
    name : str
        vp, epsilon, delta, theta or phi.
    values : ndarray, Planes or float
        Volume of a file on `grid`, in memory or yet to be read; a function of depth, or a constant; angles in degrees.
    grid, frame : Grid, Frame, optional
        Grid and frame of the file.
    depths : ndarray, optional
        Depths of `values` when it is a function of depth, m.
    source : str
        Origin of the values, for messages.
    unit : str, optional
        Unit that the job or the file declares for the values of a file.
    findings : list of Finding
        Findings of the reader of the file.
    given : dict
        The keys of its table in the job, for cures that can be pasted.
    place : str
        Place of its lines on the map, in words.
    """

    name: str
    values: NDArray[Any] | Planes | float
    grid: Grid | None = None
    frame: Frame | None = None
    depths: NDArray[np.float64] | None = None
    source: str = ""
    unit: str | None = None
    findings: list[Finding] = field(default_factory=list)
    given: dict[str, Any] = field(default_factory=dict)
    place: str = ""

    def table(self, **changes: object) -> str:
        """Return the parameter as the job would give it with other keys: ``vp = {file = "vp.rsf", unit = "ft/s"}``."""
        keys = {"file": self.source} | self.given | changes
        # a JSON text or number is one of TOML, too
        inside = ", ".join(f"{k} = {json.dumps(v)}" for k, v in keys.items() if v is not None)
        return f"{self.name} = {{{inside}}}"

    @property
    def volume(self) -> NDArray[Any] | Planes:
        """The values as a volume for `slabs`."""
        return self.values if isinstance(self.values, Planes) else np.atleast_1d(np.asarray(self.values))

    @cached_property
    def summary(self) -> VolumeSummary:
        """Range, median and number of values that are not finite, computed once."""
        return summarise(self.volume)
