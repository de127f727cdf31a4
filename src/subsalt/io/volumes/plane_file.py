"""Fields on a box, stored plane by plane along x: what the partial image of a shot is kept in.

One file holds a header of one block (text), a table with the SHA-256 of every plane, and the planes, each with all its
fields one after the other. A slab is one contiguous piece, a rank that writes or reads its slab computes the hashes of
its own planes, and the hash of the whole is that of header and table: the same for any way of cutting the box.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box
from subsalt.errors import CorruptionError, SubsaltError
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.input_file import InputFile
from subsalt.io.publish import sha256_file
from subsalt.io.shared_file import write_together
from subsalt.io.volumes.npy import NpzFile
from subsalt.numerics.side_by_side import each

if TYPE_CHECKING:
    from subsalt.parallel.comm import Comm


MAGIC = b"subsalt planes 1\n"
#: bytes of the header, and of one entry of the table
BLOCK, ENTRY = 1024, 32
#: bytes that are written in one piece, and held while a file is verified
_BLOCK_BYTES, _PIECE = 4 << 20, 32 << 20


@dataclass(frozen=True)
class PlaneLayout:
    """Where the planes of a file lie.

    Parameters
    ----------
    box : Box
        The box of the fields.
    names : tuple of str
        Names of the fields, in their order within a plane.
    facts : mapping
        Further entries of the header: plain numbers and texts.
    """

    box: Box
    names: tuple[str, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def planes(self) -> int:
        """Number of planes."""
        return self.box.shape[0]

    @property
    def plane_shape(self) -> tuple[int, int, int]:
        """Shape (fields, ny, nz) of one plane."""
        return len(self.names), self.box.shape[1], self.box.shape[2]

    @property
    def plane_bytes(self) -> int:
        """Bytes of one plane, all fields."""
        f, ny, nz = self.plane_shape
        return 4 * f * ny * nz

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.offset(self.planes)

    def offset(self, plane: int) -> int:
        """Return where a plane (from 0) begins."""
        return BLOCK + ENTRY * self.planes + plane * self.plane_bytes

    def span(self, lo: int, hi: int) -> tuple[int, int]:
        """Return the planes from `lo` to `hi` that the box has, as numbers of the grid."""
        first = max(lo, self.box.lo[0])
        return first, max(first, min(hi, self.box.hi[0]))

    def header(self) -> bytes:
        """Return the block of text that says all this."""
        facts = {**self.facts, "fields": list(self.names), "hi": self.box.hi, "lo": self.box.lo}
        return (MAGIC + json.dumps(facts, sort_keys=True).encode()).ljust(BLOCK - 1) + b"\n"


def write_planes(
    path: str | os.PathLike[str], layout: PlaneLayout, own: Box, fields: Mapping[str, NDArray], comm: Comm
) -> str:
    """Publish a file of planes, every rank of `comm` its own; return the hash of the whole. Collective.

    Parameters
    ----------
    layout : PlaneLayout
        Layout of the whole file.
    own : Box
        The part of `layout.box` this rank has: whole planes; it may be empty.
    fields : mapping of str to ndarray, shape of `own`
        Stored as float32.
    """
    first, count = own.lo[0] - layout.box.lo[0], own.shape[0]
    step = max(1, _BLOCK_BYTES // max(1, layout.plane_bytes))

    def block(at: int) -> NDArray:
        """Return up to `step` planes as they stand in the file."""
        cut = slice(at, min(at + step, count))
        return np.stack([np.asarray(fields[n][cut], dtype="<f4") for n in layout.names], axis=1)

    # first the hashes: nothing collective may stand where a disk can fail on one rank alone
    def hashes(at: int) -> list[str]:
        return [hashlib.sha256(raw_bytes(plane)).hexdigest() for plane in block(at)]

    own_hashes = [h for some in each(hashes, range(0, count, step)) for h in some]
    gathered = comm.gather([first, own_hashes])
    head = layout.header() + _table(path, layout, gathered) if gathered is not None else b""
    sha = comm.bcast(hashlib.sha256(head).hexdigest())
    with write_together(path, comm, layout.size) as part:
        if comm.is_root:
            part.write_at(0, head)
        for at in range(0, count, step):
            part.write_at(layout.offset(first + at), raw_bytes(block(at)))
    return str(sha)


def _table(path: str | os.PathLike[str], layout: PlaneLayout, gathered: list) -> bytes:
    """Return the hashes of all planes from what the ranks have."""
    table: list[str] = [""] * layout.planes
    for start, hashes in gathered:
        table[start : start + len(hashes)] = hashes
    if "" in table:
        raise AssertionError(f"{path}: plane {table.index('')} has no owner")
    return b"".join(bytes.fromhex(h) for h in table)


class PlaneFile:
    """A file of planes, open for reading; a context manager.

    Parameters
    ----------
    path : path-like
        The file.
    sha256 : str, optional
        Hash that `write_planes` returned; the table must have this hash.

    Raises
    ------
    CorruptionError
        When the file is missing, cut short, damaged in its head, or another one.
    """

    def __init__(self, path: str | os.PathLike[str], sha256: str | None = None) -> None:
        self.path = Path(path)
        try:
            self._file = InputFile(self.path)
        except SubsaltError as error:
            raise unreadable(self.path, error.message) from error
        try:
            self.layout, self._table = self._head(sha256)
        except (ValueError, KeyError, TypeError, SubsaltError) as error:
            self._file.close()
            if isinstance(error, CorruptionError):
                raise
            raise unreadable(self.path, getattr(error, "message", str(error))) from error

    def _head(self, sha256: str | None) -> tuple[PlaneLayout, bytes]:
        block = self._file.read_at(0, BLOCK)
        if not block.startswith(MAGIC):
            raise unreadable(self.path, "it does not begin as a file of planes")
        facts = json.loads(block[len(MAGIC) :])
        lo, hi = (tuple(int(v) for v in facts[k]) for k in ("lo", "hi"))
        names = tuple(str(n) for n in facts["fields"])
        more = {k: v for k, v in facts.items() if k not in ("fields", "hi", "lo")}
        layout = PlaneLayout(Box(lo, hi), names, more)  # type: ignore[arg-type]
        if len(lo) != 3 or len(hi) != 3 or self._file.size != layout.size:
            raise unreadable(self.path, f"it has {self._file.size} bytes, its head says {layout.size}")
        table = self._file.read_at(BLOCK, ENTRY * layout.planes)
        if sha256 is not None and hashlib.sha256(block + table).hexdigest() != sha256:
            raise CorruptionError(
                f"{self.path} does not have the checksum of the ledger", "run the same command again", "E641"
            )
        return layout, table

    def read(self, lo: int, hi: int) -> dict[str, NDArray[np.float32]]:
        """Return the fields of the planes `lo` to `hi` (numbers of the grid), each checked against its hash.

        Planes outside the box are left out: the arrays cover the common part of both.
        """
        first, last = self.span(lo, hi)
        planes = np.empty((last - first, *self.layout.plane_shape), dtype="<f4")
        if not last > first:
            return {name: planes[:, k] for k, name in enumerate(self.layout.names)}
        start = first - self.layout.box.lo[0]
        try:
            self._file.read_into(self.layout.offset(start), raw_bytes(planes))
        except SubsaltError as error:
            raise unreadable(self.path, error.message) from error

        def damaged(i: int) -> bool:
            entry = self._table[ENTRY * (start + i) : ENTRY * (start + i + 1)]
            return hashlib.sha256(raw_bytes(planes[i])).digest() != entry

        if True in (is_damaged := each(damaged, range(len(planes)))):
            raise CorruptionError(
                f"{self.path}: plane {first + is_damaged.index(True)} does not have its checksum",
                "run the same command again",
                "E641",
            )
        return {name: planes[:, k] for k, name in enumerate(self.layout.names)}

    def span(self, lo: int, hi: int) -> tuple[int, int]:
        """Return the planes from `lo` to `hi` that the file has, as numbers of the grid."""
        return self.layout.span(lo, hi)

    def verify(self) -> None:
        """Read all planes once; raise `CorruptionError` on damage."""
        lo, hi = self.layout.box.lo[0], self.layout.box.hi[0]
        step = max(1, _PIECE // max(1, self.layout.plane_bytes))
        for first in range(lo, hi, step):
            self.read(first, min(first + step, hi))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> PlaneFile:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def unreadable(path: Path, why: str) -> CorruptionError:
    """Return the error for a partial image that cannot be read."""
    return CorruptionError(f"{path} cannot be read: {why}", "run the same command again", code="E641")


class PlaneNpz:
    """An old partial image, read like a `PlaneFile`; it holds the whole window in memory.

    Parameters
    ----------
    path : path-like
        The ``.npz`` file.
    sha256 : str, optional
        Hash of the file.

    Raises
    ------
    CorruptionError
        When the file is missing, damaged, or another one.
    """

    def __init__(self, path: str | os.PathLike[str], sha256: str | None = None) -> None:
        self.path, self._sha256 = Path(path), sha256
        try:
            if sha256 is not None and sha256_file(self.path) != sha256:
                raise CorruptionError(
                    f"{path} does not have the checksum of the ledger", "run the same command again", "E641"
                )
            with NpzFile(self.path) as stored:
                box = Box(*(tuple(int(v) for v in stored[k]) for k in ("lo", "hi")))  # type: ignore[arg-type]
                self._fields = {k: stored[k] for k in stored.keys if k not in ("lo", "hi")}
        except CorruptionError:
            raise
        except (SubsaltError, OSError, ValueError, KeyError) as error:
            raise unreadable(self.path, str(error)) from error
        if any(a.shape != box.shape for a in self._fields.values()):
            raise unreadable(self.path, f"its fields do not have the shape {box.shape} of its box")
        self.layout = PlaneLayout(box, tuple(self._fields))

    def span(self, lo: int, hi: int) -> tuple[int, int]:
        """Return the planes from `lo` to `hi` that the file has, as numbers of the grid."""
        return self.layout.span(lo, hi)

    def read(self, lo: int, hi: int) -> dict[str, NDArray[np.float32]]:
        """Return the fields of the planes `lo` to `hi` (numbers of the grid), as far as the file has them."""
        first, last = self.layout.span(lo, hi)
        start = self.layout.box.lo[0]
        return {name: a[first - start : last - start] for name, a in self._fields.items()}

    def verify(self) -> None:
        """Do nothing: the whole file was read and checked."""

    def close(self) -> None:
        """Let go of the fields."""
        self._fields = {}

    def __enter__(self) -> PlaneNpz:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def open_planes(path: str | os.PathLike[str], sha256: str | None = None) -> PlaneFile | PlaneNpz:
    """Open a partial image of this version or an older one."""
    return PlaneNpz(path, sha256) if Path(path).suffix == ".npz" else PlaneFile(path, sha256)
