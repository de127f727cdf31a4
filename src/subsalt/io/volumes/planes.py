"""Volumes in files: grid and frame as formats store them, and planes by positioned reads, of only the bytes asked for
where the format allows it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Frame, Grid
from subsalt.earth.line_numbers import LineNumbers
from subsalt.earth.planes import Moved, Planes
from subsalt.errors import DataError, Finding, ModelError
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.input_file import InputFile
from subsalt.io.objects import as_path
from subsalt.parallel.comm import Comm, single

#: what the map coordinates of columns are called where a file has room for them
MAP_NAMES = ("map_x", "map_y")


def map_axes(grid: Grid, frame: Frame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return map x and map y of the columns of a grid, each (nx,) in 2-D or (nx, ny) in 3-D, m."""
    nx, ny, _ = grid.shape3
    points = np.zeros((nx, ny, 3))
    points[..., 0] = grid.axis(0)[:, None]
    points[..., 1] = (grid.axis(1) if grid.ndim == 3 else np.zeros(1))[None, :]
    world = frame.to_world(points)
    shape = grid.shape[:-1]
    return world[..., 0].reshape(shape), world[..., 1].reshape(shape)


def frame_from(values: Sequence[float], path: object) -> Frame:
    """Return the frame that a file describes; refuse numbers that are not finite."""
    x0, y0, azimuth, flip = (float(v) for v in values)
    if not all(math.isfinite(v) and abs(v) < 1e12 for v in (x0, y0, azimuth, flip)):
        raise ModelError(f"{path}: the frame {x0}, {y0}, {azimuth} is not finite", "correct it", code="E230")
    return Frame(x0, y0, azimuth, bool(flip))


@dataclass
class OpenVolume:
    """A volume in a file whose values are read by planes.

    Parameters
    ----------
    grid : Grid
        Local coordinates, m.
    frame : Frame
        Where they lie on the map.
    planes : Planes
        The values as they are stored.
    unit : str
        Their unit; empty when the file does not say.
    source : str
        File name, with the key for NPZ.
    findings : list of Finding
        Oddities; of SEG-Y, how the depth step was taken.
    lines : LineNumbers, optional
        Numbers of inlines and crosslines of SEG-Y in 3-D.
    misfit : float, optional
        For SEG-Y with coordinates in 3-D: how far a trace lies beside the grid fitted to all of them, at most, m.
    """

    grid: Grid
    frame: Frame
    planes: Planes
    unit: str = ""
    source: str = ""
    findings: list[Finding] = field(default_factory=list)
    lines: LineNumbers | None = None
    misfit: float | None = None

    @property
    def place(self) -> str:
        """Description of the lines of the file, in words; empty when it numbers none."""
        if self.lines is None:
            return ""
        said = self.lines.described(*self.grid.shape[:2])
        return (
            said
            if self.misfit is None
            else f"{said}, traces at most {self.misfit:.3f} m beside the grid of them all"
        )


@dataclass(frozen=True)
class OwnPlanes:
    """The part of a volume that this rank has, when several write it together.

    Parameters
    ----------
    first : int
        The plane along x with which `values` begin.
    values : ndarray, (planes, ...), float32
        It may be empty.
    comm : Comm
        The ranks that write.
    """

    first: int
    values: NDArray
    comm: Comm

    @classmethod
    def of(cls, values: NDArray | OwnPlanes) -> OwnPlanes:
        """Return a whole array as the part of the only rank."""
        return values if isinstance(values, OwnPlanes) else cls(0, np.asarray(values), single())


@dataclass(frozen=True)
class VolumeLabel:
    """Label written beside the values of a volume: its place, provenance, name of its array, numbers of its lines."""

    frame: Frame = field(default_factory=Frame)
    text: Sequence[str] = ()
    name: str = "values"
    lines: LineNumbers | None = None


#: bytes in another form (byte order, type, order of axes) that are held beside the result at one time
BLOCK = 16 << 20

#: points up to which each is read by itself rather than the plane it lies in
FEW = 4096


class Bytes(Protocol):
    """Bytes at offsets: a file, or what stands for one."""

    def fetch(self, offset: int, out: memoryview) -> int:
        """Fill `out` with the bytes from `offset`; return how many bytes were read for that."""


class FileBytes:
    """The bytes of a regular file, opened for each read: nothing is held open over a survey of days.

    Parameters
    ----------
    path : path-like
        The file.
    error : type
        Class of the error when it cannot hold data.
    """

    def __init__(self, path: str | os.PathLike[str], error: type[DataError] = ModelError) -> None:
        self.path, self._error = as_path(path), error

    def fetch(self, offset: int, out: memoryview) -> int:
        """Fill `out` with the bytes from `offset`; return how many bytes were read for that."""
        with InputFile(self.path, self._error) as file:
            file.read_into(offset, out)
        return len(out)


def to_float32(values: NDArray) -> NDArray[np.float32]:
    """Return numbers as native float32; those too large become infinite, which the check of the values finds."""
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(np.float32, copy=False)


class FilePlanes(Planes):
    """A volume in a file; counts its bytes.

    Parameters
    ----------
    shape : tuple of int
        Shape of the volume, x first.
    itemsize : int
        Bytes of a value in the file.
    """

    def __init__(self, shape: tuple[int, ...], itemsize: int) -> None:
        super().__init__(shape)
        self.itemsize = itemsize
        self._traffic = Moved()

    @property
    def traffic(self) -> Moved:
        """Bytes wanted of, and moved from, the file so far."""
        return self._traffic

    def _count(self, values: int, moved: int) -> None:
        self._traffic.wanted += values * self.itemsize
        self._traffic.moved += moved


class RawPlanes(FilePlanes):
    """Planes one after the other, z fastest, in any number type and byte order.

    Parameters
    ----------
    data : Bytes
        Where they lie.
    offset : int
        Byte of the first plane.
    shape : tuple of int
        Shape of the volume, x first.
    dtype : dtype
        In the file.
    stride : int, optional
        Bytes from a plane to the next; those of a plane when left out.
    """

    def __init__(
        self, data: Bytes, offset: int, shape: tuple[int, ...], dtype: np.dtype, stride: int | None = None
    ) -> None:
        super().__init__(shape, dtype.itemsize)
        self.data, self.offset, self.stored = data, offset, dtype
        self.plane = math.prod(shape[1:]) * dtype.itemsize
        self.stride = self.plane if stride is None else stride

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the planes ``lo <= ix < hi``, read straight into the result when they are native float32."""
        out = np.empty((hi - lo, *self.shape[1:]), np.float32)
        most = max(1, BLOCK // self.plane) if self.stride == self.plane else 1
        straight = self.stored.isnative and self.stored == np.float32
        moved = 0
        if straight and self.stride == self.plane:
            most = max(1, hi - lo)
        for a in range(lo, hi, most):
            part = out[a - lo : min(hi, a + most) - lo]
            at = self.offset + a * self.stride
            if straight:
                moved += self.data.fetch(at, raw_bytes(part))
                continue
            raw = np.empty(part.shape, self.stored)
            moved += self.data.fetch(at, raw_bytes(raw))
            part[...] = to_float32(raw)
        self._count(out.size, moved)
        return out

    def take(self, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the values at the nodes `index` (n, ndim): few of them by one read each."""
        if len(index) > FEW or not isinstance(self.data, FileBytes):
            return super().take(index)
        inside = np.ravel_multi_index(tuple(index[:, 1:].T), self.shape[1:]) * self.itemsize
        raw = np.empty(len(index), self.stored)
        with InputFile(self.data.path, ModelError) as file:
            places = (self.offset + index[:, 0] * self.stride + inside).tolist()
            file.read_rows(places, raw.view(np.uint8).reshape(len(index), self.itemsize))
        self._count(len(index), raw.nbytes)
        return to_float32(raw)

    def columns(self, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the columns along z (n, nz) at the indices (n, ndim - 1), by one read for each run of neighbours."""
        nz = self.shape[-1]
        place = np.ravel_multi_index(tuple(index[:, 1:].T), self.shape[1:-1]) if self.ndim > 2 else 0
        at = index[:, 0] * self.stride + place * (nz * self.itemsize)
        once, which = np.unique(at, return_inverse=True)
        raw = np.empty((len(once), nz), self.stored)
        moved = 0
        for run in np.split(np.arange(len(once)), np.nonzero(np.diff(once) != nz * self.itemsize)[0] + 1):
            if len(run):
                moved += self.data.fetch(
                    self.offset + int(once[run[0]]), raw_bytes(raw[run[0] : run[-1] + 1])
                )
        self._count(raw.size, moved)
        return to_float32(raw)[which]


class AcrossPlanes(FilePlanes):
    """A volume stored with x fastest: no plane of constant x lies together, every read goes through all of it.

    Parameters
    ----------
    data : Bytes
        Where it lies.
    offset : int
        Byte of its first value.
    shape : tuple of int
        Shape of the volume, x first.
    dtype : dtype
        In the file.
    upward : bool
        The last axis runs the other way in the file.
    """

    def __init__(
        self, data: Bytes, offset: int, shape: tuple[int, ...], dtype: np.dtype, upward: bool = False
    ) -> None:
        super().__init__(shape, dtype.itemsize)
        self.data, self.offset, self.stored, self.upward = data, offset, dtype, upward

    @property
    def step(self) -> int:
        """Sixteen times more planes at once than of other files: each read costs the whole file."""
        return 16 * super().step

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the planes ``lo <= ix < hi``; reads the file slice by slice along the slowest stored axis."""
        out = np.empty((hi - lo, *self.shape[1:]), np.float32)
        layer = math.prod(self.shape[:-1])
        nz, moved = self.shape[-1], 0
        most = max(1, BLOCK // (layer * self.itemsize))
        for k in range(0, nz if hi > lo else 0, most):
            n = min(most, nz - k)
            raw = np.empty((n, *self.shape[-2::-1]), self.stored)
            moved += self.data.fetch(self.offset + k * layer * self.itemsize, raw_bytes(raw))
            part = to_float32(raw[..., lo:hi]).transpose()
            if self.upward:
                out[..., nz - k - n : nz - k] = part[..., ::-1]
            else:
                out[..., k : k + n] = part
        self._count(out.size, moved)
        return out

    def take(self, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the values at the nodes `index` (n, ndim), with one pass through the file for all."""
        lo, out = int(index[:, 0].min(initial=self.shape[0])), np.empty(len(index), np.float32)
        end = int(index[:, 0].max(initial=-1)) + 1
        for first in range(lo, end, self.step):
            rows = np.nonzero((index[:, 0] >= first) & (index[:, 0] < first + self.step))[0]
            if len(rows):
                near = index[rows] - np.array([first, *(0 for _ in self.shape[1:])])
                out[rows] = self.read(first, min(end, first + self.step))[tuple(near.T)]
        return out
