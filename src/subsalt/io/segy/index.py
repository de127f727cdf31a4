"""Header values of a file of traces, saved next to it or in a folder: what a scan reads once, checks, plans and runs
take from there.

An index holds numbers as they stand in the headers, by byte and type, so that it serves whatever the job calls them.
In blocks of traces every value is kept as its difference to the smallest one of the block, in as few bytes as that
takes: 30 to 40 bytes a trace where 80 stand in the headers. It counts only as long as size and time of change of the
file, its layout, its file header and headers spread over it are as they were; otherwise it is as if it were not there.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError, SubsaltError
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.input_file import InputFile
from subsalt.io.objects import is_url
from subsalt.io.publish import atomic_write, make_folder

#: traces of a block
BLOCK = 1 << 16
#: headers that tell whether a file is still the same, and bytes of its header that do
SPREAD, HEAD = 64, 1 << 16
#: the word for an index beside its file, and how names of indexes end
BESIDE, SUFFIX = "beside", ".subsalt-index"
MAGIC = b"subsalt header index 1\n"
#: at the end of an index: bytes of the table and of the facts, checksum of both, and what ends it
_FOOT = struct.Struct("<QQQ8s")
_END = b"INDEXEND"
#: of every column in every block: smallest value, bytes of a difference, where they begin; of the block: checksum
_CELL = np.dtype([("base", "<i8"), ("width", "<u8"), ("at", "<u8")])


def index_path(path: Path, folder: str | None) -> Path:
    """Return where the index of a file is: next to it, or in a folder under a name that identifies its place."""
    if folder in (None, BESIDE) and is_url(path):
        raise ConfigError(
            f"{path} is an object in a store: its index cannot be saved in the same folder",
            'name a folder: [data] index = "...", or --index-folder',
            code="E117",
        )
    if folder is None or folder == BESIDE:
        return path.with_name(f"{path.name}{SUFFIX}")
    place = hashlib.sha256(str(path.resolve().parent).encode()).hexdigest()[:12]
    return Path(folder) / f"{path.name}.{place}{SUFFIX}"


@dataclass(frozen=True)
class HeaderPlace:
    """Where the headers of a file lie; part of what an index must agree with."""

    size: int
    first_trace: int
    trace_bytes: int
    n_traces: int
    endian: str


def _facts(file: InputFile, place: HeaderPlace, header_bytes: int) -> dict[str, Any]:
    """Return what a file must be for an index of it to count."""
    digest = hashlib.sha256(file.read_at(0, min(place.first_trace, HEAD)) if place.first_trace else b"")
    picks = np.unique(np.linspace(0, place.n_traces - 1, min(SPREAD, place.n_traces)).astype(np.int64))
    heads = np.empty((len(picks), header_bytes), np.uint8)
    file.read_rows((place.first_trace + picks * place.trace_bytes).tolist(), heads)
    digest.update(raw_bytes(heads))
    return {
        "size": place.size,
        "changed_ns": file.stamp,
        "first_trace": place.first_trace,
        "trace_bytes": place.trace_bytes,
        "traces": place.n_traces,
        "endian": place.endian,
        "headers": digest.hexdigest(),
    }


def columns_of(kind: np.dtype) -> dict[str, tuple[int, str]]:
    """Return byte (from 0) and type of the values of a structured type, by name."""
    fields: Any = kind.fields
    return {name: (fields[name][1], fields[name][0].str[1:]) for name in kind.names or ()}


class IndexWriter:
    """Writes the index of a file block by block; complete, or not at all.

    Parameters
    ----------
    file : InputFile
        File of traces.
    place : HeaderPlace
        Where its headers lie.
    kind : numpy.dtype
        Structured, over the bytes of a trace header: the values to keep.
    target : Path
        The index.
    """

    def __init__(self, file: InputFile, place: HeaderPlace, kind: np.dtype, target: Path) -> None:
        self.facts = _facts(file, place, kind.itemsize)
        # two names for the same bytes are one value
        self._names = {column: name for name, column in columns_of(kind).items()}
        self.columns = sorted(self._names)
        self.target = target
        self._cells: list[NDArray] = []
        self._sums: list[int] = []
        self._at = len(MAGIC)

    def packed(self, headers: NDArray) -> bytes:
        """Return the values of a block of headers, (n,) of the structured type, in as few bytes as they take."""
        cells, at = np.zeros(len(self.columns), _CELL), self._at
        parts: list[bytes] = []
        for cell, column in zip(cells, self.columns, strict=True):
            values = headers[self._names[column]]
            # of a floating-point number its bits
            values = values.astype("f8").view("i8") if values.dtype.kind == "f" else values.astype(np.int64)
            base = int(values.min())
            span = int(values.max()) - base
            width = next(w for w in (0, 1, 2, 4, 8) if span < 1 << 8 * w)
            cell["base"], cell["width"], cell["at"] = base, width, at
            if width:
                parts.append((values - base).astype(f"<u{width}").tobytes())
                at += len(parts[-1])
        out = b"".join(parts)
        self._cells.append(cells)
        self._sums.append(zlib.crc32(out))
        self._at = at
        return out

    def trailer(self) -> bytes:
        """Return the end of the index: where everything is, and what it is of."""
        table = np.stack(self._cells).tobytes() + np.array(self._sums, "<u8").tobytes()
        facts = {**self.facts, "columns": [list(c) for c in self.columns], "block": BLOCK}
        text = json.dumps(facts).encode()
        return table + text + _FOOT.pack(len(table), len(text), zlib.crc32(table + text), _END)


def write_index(file: InputFile, place: HeaderPlace, kind: np.dtype, folder: str | None, blocks: Any) -> Path:
    """Write the index of a file and return its path.

    Parameters
    ----------
    file, place, kind
        See `IndexWriter`.
    folder : str, optional
        Where it goes; beside the file when left out.
    blocks : iterable of ndarray
        Structured headers of all traces in order, at most `BLOCK` at a time, all but the last of that many.

    Raises
    ------
    DiskError, CannotCreateError
        It cannot be written there.
    """
    target = index_path(file.path, folder)
    if folder not in (None, BESIDE):
        make_folder(target.parent)
    writer = IndexWriter(file, place, kind, target)
    with atomic_write(target) as out:
        out.write(MAGIC)
        for headers in blocks:
            out.write(writer.packed(headers))
        out.write(writer.trailer())
    return target


class HeaderIndex:
    """A saved index that agrees with its file, see `open_index`."""

    def __init__(self, path: Path, facts: dict[str, Any], cells: NDArray, sums: NDArray) -> None:
        self.path, self.facts, self._cells, self._sums = path, facts, cells, sums
        self._column = {tuple(c): k for k, c in enumerate(facts["columns"])}

    def values(self, first: int, n: int, kind: np.dtype, names: list[str]) -> dict[str, NDArray] | None:
        """Return the named values of traces `first` to `first + n`; None when one of them was not kept, or is damaged.

        Parameters
        ----------
        kind : numpy.dtype
            Structured, over the bytes of a trace header.
        """
        wanted = columns_of(kind)
        columns = [self._column[wanted[name]] for name in names if wanted[name] in self._column]
        if len(columns) < len(names):
            return None
        out = {name: np.empty(n, kind[name].newbyteorder("=")) for name in names}
        block = self.facts["block"]
        with InputFile(self.path) as file:
            for b in range(first // block, (first + n - 1) // block + 1):
                lo, hi = b * block, min((b + 1) * block, self.facts["traces"])
                data = self._read_block(file, b)
                if data is None:
                    return None
                part = slice(max(lo, first) - first, min(hi, first + n) - first)
                some = slice(max(lo, first) - lo, min(hi, first + n) - lo)
                for name, c in zip(names, columns, strict=True):
                    cell = self._cells[b, c]
                    width, at = int(cell["width"]), int(cell["at"]) - self._begin(b)
                    values = np.full(hi - lo, cell["base"])
                    if width:
                        values += np.frombuffer(data, f"<u{width}", hi - lo, at).astype(np.int64)
                    out[name][part] = values[some].view("f8") if out[name].dtype.kind == "f" else values[some]
        return out

    def _begin(self, b: int) -> int:
        return int(self._cells[b, 0]["at"])

    def _read_block(self, file: InputFile, b: int) -> NDArray[np.uint8] | None:
        last = b + 1 == len(self._cells)
        end = int(self.facts["end"]) if last else self._begin(b + 1)
        data = np.empty(end - self._begin(b), np.uint8)
        file.read_into(self._begin(b), raw_bytes(data))
        return data if zlib.crc32(raw_bytes(data)) == int(self._sums[b]) else None


def open_index(
    file: InputFile, place: HeaderPlace, header_bytes: int, folder: str | None
) -> HeaderIndex | None:
    """Return the index of a file; None when there is none, it is of another state of the file, or is damaged."""
    if folder is None and is_url(file.path):
        return None
    path = index_path(file.path, folder)
    if not path.is_file():
        return None
    try:
        with InputFile(path) as saved:
            if saved.read_at(0, len(MAGIC)) != MAGIC:
                return None
            n_table, n_text, total, end = _FOOT.unpack(saved.read_at(saved.size - _FOOT.size, _FOOT.size))
            begin = saved.size - _FOOT.size - n_text - n_table
            if end != _END or begin < len(MAGIC):
                return None
            table, text = saved.read_at(begin, n_table), saved.read_at(begin + n_table, n_text)
        if zlib.crc32(table + text) != total:
            return None
        facts = json.loads(text)
        agrees = {k: facts.get(k) for k in _AGREE} == _facts(file, place, header_bytes)
        if not agrees:
            return None
        blocks = -(-place.n_traces // facts["block"])
        cells = np.frombuffer(table, _CELL, blocks * len(facts["columns"])).reshape(blocks, -1)
        sums = np.frombuffer(table, "<u8", blocks, cells.nbytes)
    except (SubsaltError, ValueError, KeyError, TypeError, struct.error):
        return None
    return HeaderIndex(path, facts | {"end": begin}, cells, sums)


_AGREE = ("size", "changed_ns", "first_trace", "trace_bytes", "traces", "endian", "headers")
