"""Traces in Zarr stores, MDIO v1 or plain, presented as the bytes of a SEG-Y file.

A store holds an array of samples over dimensions of traces and time (or depth), and what SEG-Y keeps in trace headers:
as fields of one array ``headers``, or as arrays over some of the dimensions of traces. Both are known by name
(`FIELDS`) and stand at the bytes of the standard, so that everything that reads SEG-Y reads stores as well. Grid
points where ``trace_mask`` is false are no traces.
"""

from __future__ import annotations

import math
import os
import struct
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.memory import require
from subsalt.errors import ConfigError, MissingInputError, SegyError, SubsaltError
from subsalt.io.objects import StoredObject, as_path, is_url, web_options

#: folders that are stores
SUFFIXES = (".mdio", ".zarr")
#: files of which a store has one at its root
_ROOTS = ("zarr.json", ".zmetadata", ".zgroup")
HEAD, HEADER = 3600, 240
#: bytes of decoded chunks kept of all stores together, and of traces made at one time
KEPT, BLOCK = 96 << 20, 8 << 20

#: name of a header value -> its first byte and type in a SEG-Y trace header; names of the standard come first, then
#: those of `[data.bytes]`
FIELDS: dict[str, tuple[int, str]] = {
    "orig_field_record_num": (9, "i4"), "trace_num_orig_record": (13, "i4"),
    "energy_source_point_num": (17, "i4"), "ensemble_num": (21, "i4"), "trace_id_code": (29, "i2"),
    "source_to_receiver_distance": (37, "i4"), "receiver_group_elevation": (41, "i4"),
    "source_surface_elevation": (45, "i4"), "source_depth_below_surface": (49, "i4"),
    "elevation_depth_scalar": (69, "i2"), "coordinate_scalar": (71, "i2"), "source_coord_x": (73, "i4"),
    "source_coord_y": (77, "i4"), "group_coord_x": (81, "i4"), "group_coord_y": (85, "i4"),
    "coordinate_unit": (89, "i2"), "source_static_correction": (99, "i2"),
    "receiver_static_correction": (101, "i2"), "total_static_applied": (103, "i2"),
    "delay_recording_time": (109, "i2"), "cdp_x": (181, "i4"), "cdp_y": (185, "i4"), "inline": (189, "i4"),
    "crossline": (193, "i4"), "shot_point": (197, "i4"), "shot_point_scalar": (201, "i2"), "times_scalar": (215, "i2"),
    "ffid": (9, "i4"), "channel": (13, "i4"), "source_point": (17, "i4"), "cdp": (21, "i4"), "trace_id": (29, "i2"),
    "offset": (37, "i4"), "receiver_elevation": (41, "i4"), "source_elevation": (45, "i4"), "source_depth": (49, "i4"),
    "elevation_scalar": (69, "i2"), "source_x": (73, "i4"), "source_y": (77, "i4"), "receiver_x": (81, "i4"),
    "receiver_y": (85, "i4"), "coordinate_units": (89, "i2"), "source_static": (99, "i2"),
    "receiver_static": (101, "i2"), "total_static": (103, "i2"), "delay": (109, "i2"), "time_scalar": (215, "i2"),
}  # fmt: skip
#: lengths that the extension of a header (SEG00001, rev 2) holds in 64 bits: byte in the header -> byte in it, and byte
#: of their scalar
_WIDE = {
    37: (129, 0), 41: (33, 69), 45: (49, 69), 49: (57, 69), 73: (97, 71), 77: (105, 71), 81: (113, 71), 85: (121, 71),
    181: (161, 71), 185: (169, 71),
}  # fmt: skip
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
METRES = {"m": 1.0, "km": 1000.0, "cm": 0.01, "ft": 0.3048}


def zarr_package() -> Any:
    """Return the package zarr.

    Raises
    ------
    ConfigError
        It is not installed.
    """
    try:
        import zarr
    except ImportError as e:
        raise ConfigError(
            "Zarr needs the package zarr, which is not installed", "pip install 'zarr>=3'", code="E113"
        ) from e
    return zarr


def is_store(path: Path) -> bool:
    """Return whether a path names a store of arrays: a folder, or objects, of such a suffix."""
    return path.suffix.lower() in SUFFIXES and (is_url(path) or path.is_dir())


def dimensions(array: Any) -> tuple[str, ...]:
    """Return the names of the dimensions of a Zarr array, of format 3 or as xarray writes them in format 2; or none."""
    names = getattr(array.metadata, "dimension_names", None) or array.attrs.get("_ARRAY_DIMENSIONS") or ()
    return tuple(str(n) for n in names)


def unit_of(array: Any) -> str:
    """Return the unit that an array says it has, as MDIO or CF writes it; empty when it says none."""
    said = array.attrs.get("unitsV1")
    if isinstance(said, dict) and said:
        return str(next(iter(said.values())))
    return str(array.attrs.get("units") or "")


def _refused(path: object, what: str, cure: str) -> SegyError:
    return SegyError(f"{path}: {what}", cure, code="E264")


@dataclass(frozen=True)
class _Value:
    """Where a header value is: an array over some of the dimensions of traces, and its field when it has several."""

    array: Any
    axes: tuple[int, ...]
    field: str = ""

    @property
    def is_float(self) -> bool:
        """Whether its values are floating-point numbers."""
        kind: np.dtype = self.array.dtype[self.field] if self.field else self.array.dtype
        return kind.kind == "f"


@dataclass
class _Axis:
    """The samples of a store: time, ms, or depth, m, of the first one, and their distance."""

    kind: str
    first: float
    step: float


class _Chunks:
    """Decoded chunks that were used last, of all stores together at most `KEPT` bytes."""

    def __init__(self) -> None:
        self._lock, self._kept, self._bytes = Lock(), OrderedDict[tuple[Any, ...], NDArray[Any]](), 0

    def get(self, key: tuple[Any, ...], array: Any, part: tuple[slice, ...]) -> tuple[NDArray[Any], int]:
        """Return a chunk of an array, and how many bytes were decoded for that."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key], 0
        chunk = np.asarray(array[part])
        with self._lock:
            if key not in self._kept:
                self._kept[key] = chunk
                self._bytes += chunk.nbytes
            while self._bytes > KEPT and len(self._kept) > 1:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes
        return chunk, chunk.nbytes


_CHUNKS = _Chunks()


class _Store:
    """The arrays of a store, what they are, and which grid points are traces; shared by all that have it open."""

    def __init__(self, path: Path, stamp: int) -> None:
        self.path, self.stamp = path, stamp
        zarr = zarr_package()
        from subsalt.io.zarr_chunks import bounded

        try:
            self._group = zarr.open_group(str(path), mode="r", storage_options=web_options(path) or None)
            self._arrays = {n: bounded(a, f"{path}[{n}]") for n, a in self._group.arrays()}
            self.samples = self._pick()
            self._describe()
        except SubsaltError:
            raise
        except Exception as e:  # the codecs and stores behind zarr raise many unrelated types
            raise damaged(path, e) from e

    def _pick(self) -> Any:
        """Return the array of samples: the one the store names, or the only one of numbers with the most dimensions."""
        said = self._group.attrs.get("attributes")
        name = said.get("defaultVariableName") if isinstance(said, dict) else None
        if name in self._arrays:
            return self._arrays[name]
        numbers = {n: a for n, a in self._arrays.items() if a.dtype.kind in "fi" and len(a.shape) >= 2}
        most = max((len(a.shape) for a in numbers.values()), default=0)
        largest = [n for n, a in numbers.items() if len(a.shape) == most]
        sampled = [n for n in largest if dimensions(numbers[n])[-1:] and _kind(dimensions(numbers[n])[-1])]
        if len(sampled) != 1:
            raise _refused(
                self.path,
                f"which array holds the samples is not said; there are {', '.join(sorted(self._arrays)) or 'none'}",
                "name it in the attributes of the group: attributes = {defaultVariableName = ...}, and its dimensions, "
                "the last of them time or depth",
            )
        return numbers[sampled[0]]

    def _describe(self) -> None:
        """Find the time axis, the traces, and where header values are."""
        a, dims = self.samples, dimensions(self.samples)
        if a.dtype.kind not in "fi" or a.dtype.itemsize > 8 or not 2 <= len(a.shape) <= 8 or 0 in a.shape:
            raise _refused(
                self.path, f"samples are {a.dtype} of {a.shape}", "store float32 over traces and time"
            )
        if len(dims) != len(a.shape):
            raise _refused(
                self.path, "the array of samples does not name its dimensions", "write dimension_names"
            )
        self.grid, self.ns = tuple(a.shape[:-1]), int(a.shape[-1])
        self.axis = self._axis(dims[-1])
        traces = dims[:-1]
        self.values: dict[str, _Value] = {}
        for name, array in self._arrays.items():
            named = dimensions(array)
            axes = tuple(traces.index(d) for d in named if d in traces)
            if array is a or not named or len(axes) != len(named) or list(axes) != sorted(axes):
                continue
            if tuple(array.shape) != tuple(self.grid[i] for i in axes):
                raise _refused(
                    self.path,
                    f"{name} is {array.shape}, its dimensions are {tuple(self.grid[i] for i in axes)}",
                    "write the store again",
                )
            if array.dtype.names and name == "headers":
                for part in array.dtype.names:
                    if array.dtype[part].kind in "iuf":
                        self.values[part] = _Value(array, axes, part)
            elif array.dtype.kind in "iuf" and name not in self.values:
                self.values.setdefault(name, _Value(array, axes))
        self.live = self._live(traces)

    def _axis(self, name: str) -> _Axis:
        """Return the samples along the last dimension."""
        kind = _kind(name)
        places = self._arrays.get(name)
        if not kind or places is None or tuple(places.shape) != (self.ns,):
            raise _refused(
                self.path,
                f"the last dimension is {name!r}" + (", and no array says its values" if kind else ""),
                "traces have samples over time, volumes over depth: an array of that name with a unit",
            )
        from subsalt.io.zarr_chunks import whole

        unit = unit_of(places)
        factor = (_SECONDS if kind == "time" else METRES).get(unit or ("ms" if kind == "time" else "m"))
        x = whole(places, f"{self.path}[{name}]").astype(np.float64) * (factor or 1.0)
        step = (x[-1] - x[0]) / (self.ns - 1) if self.ns > 1 else 0.0
        # what single precision leaves of a coordinate
        even = self.ns > 1 and step > 0 and np.abs(np.diff(x) - step).max() <= 1e-3 * step
        if factor is None or not even:
            raise _refused(
                self.path,
                f"{name} has the unit {unit!r}" if factor is None else f"{name} does not grow in even steps",
                "write it in ms or s, m or ft, in even steps",
            )
        return _Axis(kind, float(x[0]), float(step))

    def _live(self, traces: tuple[str, ...]) -> NDArray[np.integer]:
        """Return the numbers, in the grid, of the points that are traces."""
        from subsalt.io.zarr_chunks import whole

        size = math.prod(self.grid)
        # the numbers of the points, beside a mask of them
        require(16 * size, f"{self.path}: the list of {size} traces", "split the store", "E611")
        mask = self._arrays.get("trace_mask")
        if mask is None:
            live = np.arange(size)
        elif dimensions(mask) != traces or mask.dtype.kind != "b":
            raise _refused(
                self.path,
                f"trace_mask is {mask.dtype} over {dimensions(mask)}",
                f"write it as bool over {traces}",
            )
        else:
            live = np.flatnonzero(whole(mask, f"{self.path}[trace_mask]"))
        if not len(live):
            raise _refused(
                self.path, "trace_mask is false everywhere: there is no trace", "check how it was written"
            )
        return live.astype(np.uint32) if size < 1 << 32 else live

    def take(self, array: Any, index: Sequence[NDArray[np.int64]]) -> tuple[NDArray[Any], int]:
        """Return the values of an array at indices of its leading axes, and the bytes decoded; chunk by chunk."""
        shape, chunks = array.shape, array.chunks
        k, n = len(index), len(index[0]) if len(index) else 1
        counts = [-(-s // c) for s, c in zip(shape[:k], chunks[:k], strict=True)]
        which = np.ravel_multi_index([i // c for i, c in zip(index, chunks[:k], strict=True)], counts)
        out, moved = np.empty((n, *shape[k:]), array.dtype), 0
        order = np.argsort(which, kind="stable")
        ends = np.flatnonzero(np.diff(which[order])) + 1
        for rows in np.split(order, ends):
            at = np.unravel_index(int(which[rows[0]]), counts)
            begin = [int(p) * c for p, c in zip(at, chunks[:k], strict=True)]
            near: tuple[Any, ...] = tuple(i[rows] - b for i, b in zip(index, begin, strict=True))
            lead = [slice(b, min(b + c, s)) for b, c, s in zip(begin, chunks[:k], shape[:k], strict=True)]
            for tail in product(*(range(0, s, c) for s, c in zip(shape[k:], chunks[k:], strict=True))):
                last = [slice(t, min(t + c, s)) for t, c, s in zip(tail, chunks[k:], shape[k:], strict=True)]
                key = (str(self.path), self.stamp, array.name, *begin, *tail)
                block, read = _CHUNKS.get(key, array, (*lead, *last))
                place: Any = (rows, *last)
                out[place] = block[near]
                moved += read
        return out, moved


def _kind(name: str) -> str:
    """Return what a dimension of samples is: ``time``, ``depth``, or nothing."""
    low = name.lower()
    return "time" if low in ("time", "t", "twt") else "depth" if low in ("depth", "z") else ""


def damaged(path: object, error: Exception) -> SegyError:
    """Return the error for a store that zarr cannot read."""
    if isinstance(error, FileNotFoundError):
        return SegyError(f"{path} is no Zarr store: {str(error)[:200]}", "check the name", code="E264")
    return SegyError(
        f"{path} cannot be read: {type(error).__name__} {str(error)[:200]}",
        "copy the store again",
        code="E234",
    )


@lru_cache(maxsize=4)
def _opened(path: str, stamp: int) -> _Store:
    return _Store(as_path(path), stamp)


def _stamp(path: Path) -> int:
    """Return a number that changes when a store is written again."""
    for name in _ROOTS:
        root = path / name
        if is_url(path):
            try:
                return StoredObject(root).stamp
            except MissingInputError:
                continue
        if root.is_file():
            return os.stat(root).st_mtime_ns
    raise MissingInputError(
        f"{path} is no Zarr store: {', '.join(_ROOTS)} are missing", "check the name", code="E110"
    )


@dataclass
class StoreFile:
    """A store of traces as a SEG-Y file of revision 2, IEEE samples, whose traces are those of the grid in C order.

    Parameters
    ----------
    path : Path
        The store.
    named : dict of str to str
        Names that the store uses for values of `FIELDS`, as a job says them.

    Attributes
    ----------
    size, stamp : int
        Bytes of the file that is presented; a number that changes when the store is written again.
    kind : str
        ``time`` or ``depth``: what the samples are over.

    Raises
    ------
    ConfigError, MissingInputError, SegyError
        The package zarr or the store is missing; it holds something else than traces, named in the message.
    """

    path: Path
    named: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.stamp = _stamp(self.path)
        self._store = _opened(str(self.path), self.stamp)
        self.kind = self._store.axis.kind
        # the same for any names: an extension of the headers has room for floating-point numbers
        self._header = HEADER * (1 + any(v.is_float for v in self._store.values.values()))
        self._trace = self._header + 4 * self._store.ns
        self.size = HEAD + len(self._store.live) * self._trace
        self.name(self.named)

    def name(self, named: dict[str, str]) -> None:
        """Say which names the store uses for header values.

        Raises
        ------
        ConfigError
            The store has no such name.
        """
        known = self._store.values
        wrong = sorted(n for n in named.values() if n not in known)
        if wrong:
            raise ConfigError(
                f"[data] bytes: {self.path} has no {', '.join(wrong)}; it has {', '.join(sorted(known))}",
                "use names of these",
                code="E265",
            )
        self.named = named
        self._values: dict[int, tuple[str, _Value]] = {}
        for ours in named:
            if ours not in FIELDS:
                raise ConfigError(
                    f"[data] bytes: {ours} has no name in a store of traces",
                    f"use a byte of the headers, or names for {', '.join(FIELDS)}",
                    code="E265",
                )
            byte, kind = FIELDS[ours]
            self._values[byte] = kind, known[named[ours]]
        for name, (byte, kind) in FIELDS.items():
            if name in known and byte not in self._values:
                self._values[byte] = kind, known[name]
        self._wide = [b for b, (_, v) in self._values.items() if b in _WIDE and v.is_float]

    def read_into(self, offset: int, out: memoryview) -> int:
        """Fill `out` with the bytes from `offset`; return how many bytes of chunks were decoded.

        Raises
        ------
        EOFError
            The file ends before.
        """
        return self.read_ranges([offset], [out])

    def read_ranges(self, offsets: Iterable[int], outs: Iterable[memoryview]) -> int:
        """Fill each of `outs` with the bytes from its offset; return how many bytes of chunks were decoded."""
        pieces = list(zip(map(int, offsets), outs, strict=True))
        if any(at + len(out) > self.size for at, out in pieces):
            raise EOFError
        try:
            places = [divmod(at - HEAD, self._trace) for at, _ in pieces]
            if all(
                t >= 0 and b + len(out) <= self._header
                for (t, b), (_, out) in zip(places, pieces, strict=True)
            ):
                return self._headers_alone(places, [out for _, out in pieces])
            return sum(self._read(at, out) for at, out in pieces)
        except SubsaltError:
            raise
        except Exception as e:  # the codecs and stores behind zarr raise many unrelated types
            raise damaged(self.path, e) from e

    def _headers_alone(self, places: list[tuple[int, int]], outs: list[memoryview]) -> int:
        heads, moved = self._headers(np.array([t for t, _ in places]))
        for row, (_, b), out in zip(heads, places, outs, strict=True):
            out[:] = memoryview(row)[b : b + len(out)]
        return moved

    def _read(self, at: int, out: memoryview) -> int:
        """Fill `out` with any bytes of the file."""
        moved = done = 0
        if at < HEAD:
            done = min(HEAD - at, len(out))
            out[:done] = self._file_header()[at : at + done]
        step = max(1, BLOCK // self._trace)
        while done < len(out):
            first, inside = divmod(at + done - HEAD, self._trace)
            last = min(first + step, -(-(at + len(out) - HEAD) // self._trace))
            rows = np.empty((last - first, self._trace), np.uint8)
            traces = np.arange(first, last)
            rows[:, : self._header], some = self._headers(traces)
            samples, more = self._store.take(self._store.samples, self._index(traces))
            rows[:, self._header :] = samples.astype(">f4").view(np.uint8)
            flat = memoryview(rows.reshape(-1))[inside : inside + len(out) - done]  # type: ignore[arg-type]
            out[done : done + len(flat)] = flat
            done, moved = done + len(flat), moved + some + more
        return moved

    def _index(self, traces: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """Return where traces stand in the grid, by axis."""
        return np.unravel_index(self._store.live[traces].astype(np.int64), self._store.grid)

    def _file_header(self) -> bytes:
        """Return the textual and the binary header."""
        axis, ns = self._store.axis, self._store.ns
        lines = ["C 1 TRACES OF A ZARR STORE", "C 2 PRESENTED AS SEG-Y BY SUBSALT"]
        text = "".join(line.ljust(80) for line in lines).ljust(3200).encode("cp037")
        head = bytearray(400)
        step = axis.step * (1e6 if axis.kind == "time" else 1e3)
        whole = round(step) if abs(step - round(step)) < 1e-6 * step and round(step) < 1 << 15 else 0
        for byte, kind, value in (
            (17, "H", whole),
            (21, "H", ns if ns < 1 << 15 else 0),
            (25, "h", 5),
            (55, "h", 2 if self._feet() else 1),
            (69, "i", ns),
            (73, "d", whole or step),
            (97, "i", 0x01020304),
            (301, "B", 2),
            (303, "h", 1),
            (307, "h", self._header // HEADER - 1),
        ):
            struct.pack_into(f">{kind}", head, byte - 1, value)
        return text + bytes(head)

    def _feet(self) -> bool:
        units = {unit_of(v.array) for _, v in self._values.values() if not v.field}
        return "ft" in units

    def _headers(self, traces: NDArray[np.int64]) -> tuple[NDArray[np.uint8], int]:
        """Return the trace headers, (n, 240 or 480), and how many bytes of chunks were decoded."""
        index, n, moved = self._index(traces), len(traces), 0
        arrays: dict[tuple[str, tuple[int, ...]], NDArray[Any]] = {}
        columns: dict[int, NDArray[Any]] = {}
        for byte, (_, value) in self._values.items():
            key = value.array.name, value.axes
            if key not in arrays:
                arrays[key], more = self._store.take(value.array, [index[i] for i in value.axes])
                moved += more
            columns[byte] = np.broadcast_to(arrays[key][value.field] if value.field else arrays[key], (n,))
        self._begin(columns, n)
        if 29 not in columns:
            columns[29] = np.ones(n, np.int16)
        kinds = dict(FIELDS.values())
        out = np.zeros((n, self._header), np.uint8)
        self._lengths(columns, out)
        head = self._file_header()
        # samples and their distance as the file header has them
        out[:, 114:116], out[:, 116:118] = np.frombuffer(head[3220:3222] + head[3216:3218], np.uint8).reshape(
            2, 2
        )
        for byte, column in columns.items():
            whole = self._whole(byte, column, kinds[byte])
            out[:, byte - 1 : byte - 1 + whole.dtype.itemsize] = whole.view(np.uint8).reshape(n, -1)
        return out, moved

    def _whole(self, byte: int, column: NDArray[Any], kind: str) -> NDArray[Any]:
        """Return header values as the integers of their bytes."""
        limits = np.iinfo(kind)
        rounded = np.rint(column.astype(np.float64))
        if not ((rounded >= limits.min) & (rounded <= limits.max)).all() or (rounded != column).any():
            value = self._values[byte][1]
            where = value.field or value.array.name.strip("/")
            name = next(n for n, (b, _) in reversed(FIELDS.items()) if b == byte)
            raise _refused(
                self.path,
                f"{where} holds values that are no {limits.bits}-bit integers, such as "
                f"{float(column[np.argmax(~(rounded == column) | (np.abs(rounded) > limits.max))]):.10g}",
                "store integers, or say which name holds it: [data] bytes = {" + name + ' = "..."}',
            )
        return np.ascontiguousarray(rounded.astype(f">{kind}"))

    def _lengths(self, columns: dict[int, NDArray[Any]], out: NDArray[np.uint8]) -> None:
        """Put floating-point lengths into the extensions of the headers, and take them out of `columns`."""
        for byte in self._wide:
            at, scalar = _WIDE[byte]
            column, value = columns.pop(byte), self._values[byte][1]
            if value.field and scalar in columns and not np.isin(columns[scalar], (0, 1)).all():
                raise _refused(
                    self.path,
                    f"the header value {value.field} is a floating-point number, and there is a scalar for it",
                    "store it as an integer, or without scalar",
                )
            wide = column.astype(">f8").view(np.uint8).reshape(len(column), 8)
            out[:, HEADER + at - 1 : HEADER + at + 7] = wide
        if self._header > HEADER:
            out[:, 2 * HEADER - 8 :] = np.frombuffer(b"SEG00001", np.uint8)

    def _begin(self, columns: dict[int, NDArray[Any]], n: int) -> None:
        """Put the first time, ms, or depth, m, into the headers, where the axis does not begin at 0."""
        axis = self._store.axis
        first, unit = (axis.first * 1e3, "ms") if axis.kind == "time" else (axis.first, "m")
        if first == 0:
            return
        if 109 in columns and columns[109].any():
            raise _refused(
                self.path,
                f"{axis.kind} begins at {first:g} {unit}, and headers have delays",
                "let one of them be zero",
            )
        by = next((s for s in (1, 10, 100, 1000) if abs(first * s - round(first * s)) < 1e-6), 0)
        if not by or abs(first * by) >= 1 << 15:
            raise _refused(
                self.path,
                f"{axis.kind} begins at {first:.10g} {unit}",
                f"let it begin at a multiple of 0.001 {unit}",
            )
        if by > 1 and any(b in columns for b in (99, 101, 103)):
            raise _refused(
                self.path,
                f"time begins at {first:.10g} ms, and there are statics",
                "let it begin at a full ms",
            )
        columns[109] = np.full(n, round(first * by), np.int16)
        if by > 1:
            columns[215] = np.full(n, -by, np.int16)
