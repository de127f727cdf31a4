"""How the ranks of a group get their input: each reads its part, or one reads everything and sends it to all.

`PerRank` is how subsalt reads. `Broadcast` is what the first parallel codes did and many still do: the first rank
reads, sends all of it to everybody, and all wait. It is kept so that the difference can be measured on any machine, and
for file systems that cannot take many readers. Results do not depend on the choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from subsalt.earth.grid import Box
from subsalt.earth.model import EarthModel
from subsalt.earth.model_like import ModelLike
from subsalt.errors import ConfigError
from subsalt.io.input_traffic import COUNTED, TRACES, for_others

if TYPE_CHECKING:
    from subsalt.parallel.comm import Comm


#: the names of `[parallel] io`
NAMES = ("per-rank", "broadcast")

#: bytes that `Broadcast` sends at a time: enough to hide latencies, little beside a slab
PIECE_BYTES = 32 << 20

#: fills an array (n, ...) with the given rows of a file
RowReader = Callable[[NDArray[np.int64], NDArray], None]


class PlaneSource(Protocol):
    """An array (nx, ...) in a file, of which any x planes can be read."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along x and the other axes."""

    @property
    def dtype(self) -> DTypeLike:
        """Type of the values that `read` delivers."""

    def read(self, lo: int, hi: int) -> NDArray:
        """Return the planes lo ... hi - 1."""


class InputReading(Protocol):
    """The way to read; both calls are collective over the group where `collective` is true.

    Bytes wanted (`subsalt.io.input_traffic`) are counted here for planes, and by what reads rows for rows: a row may
    need more of a file than itself.
    """

    name: str
    collective: bool

    def planes(self, source: PlaneSource, lo: int, hi: int) -> NDArray:
        """Return the planes lo ... hi - 1 of `source`."""

    def rows(self, read: RowReader, count: int, rows: NDArray[np.int64], out: NDArray) -> None:
        """Fill `out` (len(rows), ...) with those rows, ascending, of the `count` that `read` can deliver."""


class PerRank:
    """Every rank reads its own part, whenever it likes."""

    name = "per-rank"
    collective = False

    def planes(self, source: PlaneSource, lo: int, hi: int) -> NDArray:
        """Return the planes lo ... hi - 1 of `source`."""
        out = source.read(lo, hi)
        COUNTED.add(wanted=out.nbytes)
        return out

    def rows(self, read: RowReader, count: int, rows: NDArray[np.int64], out: NDArray) -> None:
        """Fill `out` (len(rows), ...) with those rows."""
        if len(rows):
            read(rows, out)


class Broadcast:
    """Reading by the first rank, which sends everything, piece by piece, to all; returns once every rank has it.

    Parameters
    ----------
    comm : Comm
        The group. Both calls are collective: every rank makes them in the same order with the same source.
    piece_bytes : int
        Bytes sent at a time; the memory this costs on every rank.
    """

    name = "broadcast"
    collective = True

    def __init__(self, comm: Comm, piece_bytes: int = PIECE_BYTES) -> None:
        self.comm = comm
        self.piece_bytes = piece_bytes
        self._buffer: NDArray[np.uint8] = np.empty(0, np.uint8)

    def planes(self, source: PlaneSource, lo: int, hi: int) -> NDArray:
        """Return the planes lo ... hi - 1 of `source`; all of its planes are read and sent."""
        nx, rest, dtype = source.shape[0], tuple(source.shape[1:]), np.dtype(source.dtype)
        out: NDArray = np.empty((hi - lo, *rest), dtype)
        COUNTED.add(wanted=out.nbytes)
        for first, last in self._pieces(nx, math.prod(rest) * dtype.itemsize):

            def fill(into: NDArray, first: int = first, last: int = last) -> None:
                into[...] = source.read(first, last)

            piece = self._shared((last - first, *rest), dtype, fill)
            self._count(received=piece.nbytes)
            begin, end = max(first, lo), min(last, hi)
            if begin < end:
                out[begin - lo : end - lo] = piece[begin - first : end - first]
        return out

    def rows(self, read: RowReader, count: int, rows: NDArray[np.int64], out: NDArray) -> None:
        """Fill `out` (len(rows), ...) with those rows; all `count` are read and sent."""
        for counter in (COUNTED, TRACES):
            counter.add(wanted=out.nbytes)
        rest = out.shape[1:]
        for first, last in self._pieces(count, math.prod(rest) * out.dtype.itemsize):

            def fill(into: NDArray, first: int = first, last: int = last) -> None:
                read(np.arange(first, last, dtype=np.int64), into)

            piece = self._shared((last - first, *rest), out.dtype, fill)
            self._count(received=piece.nbytes, traces=True)
            begin, end = np.searchsorted(rows, (first, last))
            out[begin:end] = piece[rows[begin:end] - first]

    def _count(self, received: int, traces: bool = False) -> None:
        """Count what came from the rank that reads."""
        for counter in (COUNTED, TRACES) if traces else (COUNTED,):
            if not self.comm.is_root:
                counter.add(received=received)

    def _pieces(self, count: int, each: int) -> list[tuple[int, int]]:
        """Return ranges of `count` things of `each` bytes that go out together."""
        step = max(1, self.piece_bytes // max(1, each))
        return [(a, min(a + step, count)) for a in range(0, count, step)]

    def _shared(self, shape: tuple[int, ...], dtype: np.dtype, fill: Callable[[NDArray], None]) -> NDArray:
        """Return an array that the first rank filled, valid until the next call; its error is raised on all."""
        nbytes = math.prod(shape) * dtype.itemsize
        if len(self._buffer) < 8 + nbytes:
            self._buffer = np.empty(8 + nbytes, np.uint8)
        # eight bytes before the data say whether they are good: one message, and no rank waits for one that failed
        message = self._buffer[: 8 + nbytes]
        values = message[8:].view(dtype).reshape(shape)
        failure: Exception | None = None
        if self.comm.is_root:
            message[:8] = 0
            try:
                with for_others():
                    fill(values)
            except Exception as e:  # raised on all ranks below
                failure = e
                message[0] = 1
        self.comm.bcast_array(message)
        if message[0]:
            self.comm.agree(failure)
        if self.comm.mpi is not None:
            self.comm.mpi.Barrier()  # as in the codes this stands for: the slowest rank sets the pace
        return values


def of(name: str, comm: Comm) -> InputReading:
    """Return the way to read that `[parallel] io` names.

    Raises
    ------
    ConfigError
        When there is no such way.
    """
    if name not in NAMES:
        raise ConfigError(f"io = {name!r} is not known", f"choose from {', '.join(NAMES)}", code="E770")
    return Broadcast(comm) if name == "broadcast" else PerRank()


@dataclass(frozen=True)
class _Values:
    """All parameters of some planes of a model, (planes, parameters, ny, nz), for `Broadcast.planes`."""

    model: ModelLike
    first: int
    last: int

    dtype = np.dtype(np.float32)

    @property
    def shape(self) -> tuple[int, ...]:
        _, ny, nz = self.model.grid.shape3
        return self.last - self.first, len(self.model.volumes), ny, nz

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the planes lo ... hi - 1, counted from the first."""
        _, ny, nz = self.model.grid.shape3
        box = Box((self.first + lo, 0, 0), (self.first + hi, ny, nz))
        return np.stack([self.model.values(name, box) for name in self.model.volumes], axis=1)


class SharedModel:
    """A model whose windows one rank of a group reads for all; everything else is the model's own.

    Parameters
    ----------
    model : ModelLike
        Past `anisotropy_gate` and `as_medium`: what those return is not shared.
    reading : Broadcast
        Reading of the group that makes the windows.
    """

    def __init__(self, model: ModelLike, reading: Broadcast) -> None:
        self._model, self._reading = model, reading

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def window(self, box: Box) -> EarthModel:
        """Return the model in `box`; outside the grid the nearest value is continued. Collective over the group."""
        grid = self._model.grid
        nx, ny, nz = grid.shape3
        # what lies outside continues the first or last plane: at least that one is needed
        lo = min(max(box.lo[0], 0), nx - 1)
        hi = max(min(box.hi[0], nx), lo + 1)
        # everything that the windows of the group hold is sent to all of it
        group = self._reading.comm
        first, last = group.min(lo), group.max(hi)
        values = _Values(self._model, first, last)
        planes = self._reading.planes(values, lo - first, hi - first)
        held = grid.window(Box((lo, 0, 0), (hi, ny, nz)))
        parts = {
            name: np.ascontiguousarray(planes[:, k]).reshape(held.shape)
            for k, name in enumerate(self._model.volumes)
        }
        whole = EarthModel(held, **parts, frame=self._model.frame)  # type: ignore[arg-type]
        return whole.window(Box((box.lo[0] - lo, *box.lo[1:]), (box.hi[0] - lo, *box.hi[1:])))
