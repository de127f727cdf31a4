"""Dense traces in time slices: one plane (nx, ny) of samples per time sample, as a wavefield on a plane is kept; and
surveys read from them.

Time slices brought while a wavefield is stepped: read ahead by a thread, or read by one rank and sent to all.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.earth.grid import Frame
from subsalt.errors import DataError, GeometryError
from subsalt.host import human
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.broadcast import InputReading
from subsalt.io.input_file import InputFile
from subsalt.io.input_traffic import COUNTED, TRACES
from subsalt.io.publish import atomic_write, publish_text
from subsalt.io.read_ahead import ReadAhead
from subsalt.io.volumes.rsf import LENGTHS, RsfAxis, axes_of, data_of, header_text, read_header

_LENGTHS = {"": 1.0, **LENGTHS}
_TIMES = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}


def _wrong(message: str, fix: str) -> DataError:
    return DataError(message, fix, code="E771")


class TimeSlices:
    """Samples on the nodes of a horizontal plane, slice after slice in a file.

    Parameters
    ----------
    path : path-like
        The ``.rsf`` header.
    rsf_outside : bool
        Let the header name data outside its folder.

    Attributes
    ----------
    time : TimeAxis
        The samples.
    shape : tuple of int
        (nx, ny), or (nx,) in 2-D.
    spacing, origin : tuple of float
        Spacing and origin of the nodes, m, in the same order.

    Raises
    ------
    DataError
        When the axes are not y, x, t, or the file has not exactly the size they need.
    """

    def __init__(self, path: str | os.PathLike[str], *, rsf_outside: bool = False) -> None:
        self.path = Path(path)
        header = read_header(path, allow_outside=rsf_outside)
        # one time sample, or one line, is a size like any other
        axes = header.all_axes
        labels = [a.label.lower() for a in axes]
        if (
            len(axes) not in (2, 3)
            or labels[-1] not in ("t", "time")
            or labels[-2] not in ("", "x", "inline")
        ):
            said = ", ".join(f"n{i + 1}={a.n} {a.label or 'without label'}" for i, a in enumerate(axes))
            raise _wrong(
                f"{path} has the axes {said}: not slices of time",
                'order the samples as n1 = y, n2 = x, n3 = time (2-D: n1 = x, n2 = time), with label3="t"',
            )
        form = header.keys.get("data_format", "native_float")
        if form not in ("native_float", "xdr_float") or header.keys.get("esize", "4") != "4":
            raise _wrong(
                f"{path}: data_format = {form!r}, esize = {header.keys.get('esize', '4')}",
                "time slices are 4-byte floats, native_float or xdr_float",
            )
        self._stored = np.dtype("<f4" if form == "native_float" else ">f4")
        self.time = _time(path, axes[-1])
        across = axes[-2::-1]
        self.shape = tuple(a.n for a in across)
        unknown = [a.unit for a in across if a.unit not in _LENGTHS]
        if unknown or any(a.d <= 0 for a in across if a.n > 1):
            raise _wrong(
                f"{path}: steps {[a.d for a in across]} in {[a.unit for a in across]}",
                "give steps above 0 in m, km or ft",
            )
        self.spacing = tuple(a.d * _LENGTHS[a.unit] for a in across)
        self.origin = tuple(a.o * _LENGTHS[a.unit] for a in across)
        self._offset = header.offset
        self._file = InputFile(header.data, DataError)
        need = self.time.nt * self.slice_bytes
        if self._file.size - self._offset != need:
            held = self._file.size - self._offset
            self.close()
            raise _wrong(
                f"{header.data} holds {held} bytes of samples, {self.time.nt} slices of "
                f"{' x '.join(map(str, self.shape))} need {need} ({human(need)})",
                "check n1, n2, n3, and that the copy is complete",
            )

    @property
    def slice_bytes(self) -> int:
        """Bytes of one slice."""
        return 4 * math.prod(self.shape)

    def read(self, it: int, lo: int, hi: int, out: NDArray[np.float32]) -> None:
        """Fill `out` (hi - lo, ...) with sample `it` at the x positions lo ... hi - 1.

        Raises
        ------
        DataError
            When a sample is not finite.
        ResourceError, SegyError
            When the file cannot be read, or ends early.
        """
        COUNTED.add(wanted=out.nbytes)
        self._fill(it, lo, hi, out)

    def _fill(self, it: int, lo: int, hi: int, out: NDArray[np.float32]) -> None:
        """Return what `read` returns, without counting the bytes that were wanted."""
        if not (0 <= it < self.time.nt and 0 <= lo <= hi <= self.shape[0]):
            raise IndexError(f"sample {it}, x {lo} ... {hi} of {self.time.nt} slices of {self.shape}")
        each = self.slice_bytes // self.shape[0]
        self._file.read_into(self._offset + it * self.slice_bytes + lo * each, raw_bytes(out))
        if not self._stored.isnative:
            out.byteswap(inplace=True)
        good = np.isfinite(out)
        if not good.all():
            first = [int(v[0]) for v in np.nonzero(~good)]
            raise DataError(
                f"{self.path}: {int((~good).sum())} samples of slice {it} are not finite, the first at x position "
                f"{lo + first[0]}" + (f", y position {first[1]}" if len(first) > 1 else ""),
                "correct the data",
                code="E250",
            )

    def slice(self, it: int) -> Slice:
        """Return sample `it` as planes along x, for `subsalt.io.broadcast`."""
        return Slice(self, it)

    def positions(self, depth: float, lo: int = 0, hi: int | None = None) -> NDArray[np.float64]:
        """Return the nodes at the x positions lo ... hi - 1, (n, 3), m; x slowest, as in a slice.

        Parameters
        ----------
        depth : float
            Their z, m.
        lo, hi : int
            Range of x positions; all when left out.
        """
        x = self.origin[0] + self.spacing[0] * np.arange(lo, self.shape[0] if hi is None else hi)
        y = (
            self.origin[1] + self.spacing[1] * np.arange(self.shape[1])
            if len(self.shape) == 2
            else np.zeros(1)
        )
        out = np.empty((len(x), len(y), 3))
        out[..., 0], out[..., 1], out[..., 2] = x[:, None], y[None, :], depth
        return out.reshape(-1, 3)

    def close(self) -> None:
        """Close the file; more than once is fine."""
        self._file.close()

    def __enter__(self) -> TimeSlices:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Slice:
    """One sample of a `TimeSlices`, as planes along x; `InputReading.planes` counts what was wanted."""

    dtype = np.dtype(np.float32)

    def __init__(self, slices: TimeSlices, it: int) -> None:
        self.slices, self.it, self.shape = slices, it, slices.shape

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the x positions lo ... hi - 1."""
        out = np.empty((hi - lo, *self.shape[1:]), np.float32)
        self.slices._fill(self.it, lo, hi, out)
        return out


def _time(path: object, axis: RsfAxis) -> TimeAxis:
    if axis.unit not in _TIMES or not axis.d > 0:
        raise _wrong(
            f"{path}: the step of time is {axis.d:g} {axis.unit}", "give one above 0, in s, ms or us"
        )
    return TimeAxis(axis.n, axis.d * _TIMES[axis.unit], axis.o * _TIMES[axis.unit])


def write_slices(
    path: str | os.PathLike[str],
    slices: Iterable[NDArray],
    time: TimeAxis,
    shape: Sequence[int],
    spacing: Sequence[float],
    origin: Sequence[float] | None = None,
) -> None:
    """Write time slices: the header, and the samples next to it as ``NAME.rsf@``; one slice in memory at a time.

    Parameters
    ----------
    slices : iterable of ndarray, shape
        `time.nt` of them, in order of time.
    time : TimeAxis
        The samples, s.
    shape : sequence of int
        (nx, ny), or (nx,) in 2-D.
    spacing, origin : sequence of float
        Spacing and origin of the nodes, m; the origin is 0 when left out.

    Raises
    ------
    DataError
        When a slice has another shape, or there are fewer or more.
    """
    target = Path(path)
    data = data_of(target)
    shape = tuple(shape)
    origin = (0.0,) * len(shape) if origin is None else tuple(origin)
    axes = [
        *axes_of(shape, spacing, origin, "xy"[: len(shape)]),
        RsfAxis(time.nt, time.dt, time.t0, "t", "s"),
    ]
    count = 0
    with atomic_write(data, size=time.nt * 4 * math.prod(shape)) as f:
        for values in slices:
            if np.shape(values) != shape or count == time.nt:
                raise _wrong(
                    f"{path}: slice {count} has shape {np.shape(values)}, {time.nt} of {shape} were announced",
                    "give one slice of that shape per time sample",
                )
            f.write(raw_bytes(np.ascontiguousarray(values, dtype="<f4")))
            count += 1
        if count != time.nt:
            raise _wrong(f"{path}: {count} slices came, {time.nt} were announced", "give one per time sample")
    publish_text(target, header_text(data, axes, title="written by subsalt: one slice per time sample"))


#: bytes of slices that are held while they are turned into traces
BLOCK_BYTES = 32 << 20


@dataclass(frozen=True)
class SliceReader:
    """Reads traces of a shot from its slices; opens the file for that long only.

    Parameters
    ----------
    files : dict of int to Path
        By shot id.
    """

    files: dict[int, Path]

    def __call__(self, shot: Shot, rows: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Return the traces (len(rows), nt) of a shot, of all nodes when `rows` is None.

        Of every slice the x positions from the first to the last node are read, and nothing else.
        """
        with TimeSlices(self.files[shot.id]) as slices:
            each = slices.shape[1] if len(slices.shape) == 2 else 1
            some = np.arange(len(shot.rcv)) if rows is None else np.asarray(rows)
            nt = slices.time.nt
            out = np.empty((len(some), nt), np.float32)
            if not len(some):
                return out
            lo, hi = int(some.min()) // each, int(some.max()) // each + 1
            count = max(1, BLOCK_BYTES // (4 * each * (hi - lo)))
            block = np.empty((count, hi - lo, *slices.shape[1:]), np.float32)
            for first in range(0, nt, count):
                last = min(nt, first + count)
                for k in range(first, last):
                    slices.read(k, lo, hi, block[k - first])
                out[:, first:last] = block[: last - first].reshape(last - first, -1)[:, some - lo * each].T
            TRACES.add(wanted=out.nbytes, read=nt * (hi - lo) * each * 4)
        return out


def slice_survey(
    files: Sequence[Path], sources: Sequence[Sequence[float]], depth: float, frame: Frame | None = None
) -> Survey:
    """Return the survey of shots recorded on planes; the samples stay in the files.

    Parameters
    ----------
    files : sequence of Path
        One file of time slices per shot; shots are numbered from 1.
    sources : sequence of (x, y, z) or (x, z)
        Where each shot was, m.
    depth : float
        Depth of the nodes, m.
    frame : Frame, optional
        Where the local coordinates of the slices lie on the map: those of the model.

    Raises
    ------
    GeometryError
        When there is not one source per file, or the files differ in dimension or time axis.
    """
    if len(sources) != len(files):
        raise GeometryError(
            f"{len(files)} files of time slices, {len(sources)} sources",
            "give one source per file: [data.slices] sources = [[x, y, z], ...]",
            code="E776",
        )
    shots: list[Shot] = []
    first: TimeSlices | None = None
    for number, (path, source) in enumerate(zip(files, sources, strict=True), 1):
        with TimeSlices(path) as slices:
            first = first or slices
            ndim = len(slices.shape) + 1
            if (slices.time, len(slices.shape)) != (first.time, len(first.shape)) or len(source) != ndim:
                raise GeometryError(
                    f"{path}: {ndim}-D slices with {slices.time}, source {list(source)}; "
                    f"{first.path}: {len(first.shape) + 1}-D with {first.time}",
                    "shots of one survey have one time axis and dimension; a source has (x, y, z), in 2-D (x, z)",
                    code="E776",
                )
            shots.append(Shot(number, np.asarray(source, dtype=np.float64), slices.positions(depth)))
    assert first is not None
    reader = SliceReader({s.id: Path(p) for s, p in zip(shots, files, strict=True)})
    names = [str(p) for p in files]
    return Survey(shots, first.time, len(first.shape) + 1, frame or Frame(), reader, names)


class SliceStream(Protocol):
    """Slices in a fixed order, one at a time."""

    waited: float
    read_seconds: float

    def next_slice(self) -> NDArray[np.float32]:
        """Return the next slice at this rank's x positions; valid until the next call."""

    def close(self) -> None:
        """Stop reading."""


class Ahead(ReadAhead[int]):
    """The slices of some x positions, read by a thread.

    Parameters
    ----------
    slices : TimeSlices
        The file; only this thread reads it until `close`.
    lo, hi : int
        x positions lo ... hi - 1.
    order : sequence of int
        Numbers of the slices.
    """

    def __init__(self, slices: TimeSlices, lo: int, hi: int, order: Sequence[int]) -> None:
        def read(it: int, buffer: NDArray[np.float32]) -> None:
            if hi > lo:
                slices.read(it, lo, hi, buffer)

        super().__init__(order, read, (hi - lo, *slices.shape[1:]), name="slices")

    def next_slice(self) -> NDArray[np.float32]:
        """Return the next slice; valid until the next call; errors as of `next`."""
        return self.next()[1]


class Together:
    """The same slices by an `InputReading` in the thread that steps: for `broadcast`, where everybody waits.

    Parameters
    ----------
    slices : TimeSlices
        The file; needed on the rank that reads.
    lo, hi, order
        See `Ahead`.
    reading : InputReading
        How the planes come.
    """

    def __init__(
        self, slices: TimeSlices, lo: int, hi: int, order: Sequence[int], reading: InputReading
    ) -> None:
        self.waited = self.read_seconds = 0.0
        self._slices, self._lo, self._hi, self._reading = slices, lo, hi, reading
        self._order = list(order)[::-1]

    def next_slice(self) -> NDArray[np.float32]:
        """Return the next slice; valid until the next call. Collective."""
        if not self._order:
            raise IndexError("no slice is left")
        it = self._order.pop()
        begin = time.perf_counter()
        values: NDArray[np.float32] = self._reading.planes(self._slices.slice(it), self._lo, self._hi)
        self.waited += time.perf_counter() - begin
        self.read_seconds = self.waited
        return values

    def close(self) -> None:
        """Nothing to stop."""


def stream_slices(
    slices: TimeSlices, lo: int, hi: int, order: Sequence[int], reading: InputReading
) -> SliceStream:
    """Return the slices `order`: read ahead by every rank, or together where `reading` is collective."""
    if reading.collective:
        return Together(slices, lo, hi, order, reading)
    return Ahead(slices, lo, hi, order)
