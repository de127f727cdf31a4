"""Reading files safely: regular files only, whole reads at positions, errors that name the path."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import (
    CannotCreateError,
    ConfigError,
    DataError,
    MissingInputError,
    ResourceError,
    SegyError,
)
from subsalt.io import own
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.faults import ask, is_fault_set
from subsalt.io.input_traffic import COUNTED
from subsalt.io.objects import StoredObject, as_path, is_url
from subsalt.io.trace_store import StoreFile, is_store
from subsalt.missing_files import missing_file


def _object(path: Path) -> StoredObject | StoreFile | None:
    """Return what reads a store of traces or an object; None for a file."""
    if is_store(path):
        return StoreFile(path)
    return StoredObject(path) if is_url(path) else None


class InputFile:
    """A regular file, an object in a store, or a store of traces, opened for positioned reads.

    Parameters
    ----------
    path : path-like
        The file, the name of an object (`subsalt.io.objects`), or a store of traces, which is presented as a SEG-Y file
        (`subsalt.io.trace_store`). Other folders, pipes, devices and empty files are refused
        with a clear reason.
    error : type, optional
        Class of that refusal.

    Attributes
    ----------
    size : int
        Bytes.
    stamp : int
        When it was changed last, ns; of an object, a number that changes with its version.

    Raises
    ------
    MissingInputError
        When it is not there.
    DataError
        When it cannot hold data; of class `error`.
    ConfigError, ResourceError
        When a store cannot be reached, see `subsalt.io.objects.StoredObject`.
    """

    def __init__(self, path: str | os.PathLike[str], error: type[DataError] = SegyError) -> None:
        self.path = as_path(path)
        self.fd, self._object = -1, _object(self.path)
        self._held: memoryview | None = None
        problem: tuple[str, str] | None = None
        if self._object is not None:
            self.size, self.stamp = self._object.size, self._object.stamp
        else:
            problem = self._open()
        if problem is None and self.size == 0:
            problem = f"{self.path} is empty (0 bytes)", "check how it was copied or written"
        if problem:
            self.close()
            raise error(problem[0], problem[1], code="E210")

    def _open(self) -> tuple[str, str] | None:
        """Open a file; return what is wrong and the cure when it is no regular one."""
        try:
            # O_NONBLOCK: opening a pipe that nobody writes must not hang
            self.fd = own.open_file(self.path, os.O_RDONLY | os.O_NONBLOCK)
        except CannotCreateError:
            raise  # a link in a run directory
        except (FileNotFoundError, NotADirectoryError) as e:
            raise missing_file(self.path, "check the name and the folder") from e
        except (OSError, ValueError) as e:
            why = getattr(e, "strerror", None) or str(e)
            raise MissingInputError(
                f"{self.path} cannot be opened: {why}", "check its permissions", code="E111"
            ) from e
        info = os.fstat(self.fd)
        self.size, self.stamp = info.st_size, info.st_mtime_ns
        if stat.S_ISDIR(info.st_mode):
            return f"{self.path} is a folder, not a file", "name the files in it"
        if not stat.S_ISREG(info.st_mode):
            return f"{self.path} is a pipe or device, not a file", "copy the data to a file first"
        return None

    @property
    def is_remote(self) -> bool:
        """Whether it is an object or a store: many ranges are best asked for at the same time."""
        return self._object is not None

    @property
    def over(self) -> str:
        """Axis of the samples of a store of traces, ``time`` or ``depth``; empty for anything else."""
        return self._object.kind if isinstance(self._object, StoreFile) else ""

    def name_fields(self, named: dict[str, str]) -> None:
        """Say which names a store of traces uses for header values.

        Raises
        ------
        ConfigError
            It has no such name, or this is no store, but a file, whose header values have bytes.
        """
        if isinstance(self._object, StoreFile):
            self._object.name(named)
        elif named:
            name, field = next(iter(named.items()))
            raise ConfigError(
                f"[data] bytes: {name} = {field!r}, and {self.path} is a file, whose header values have no names",
                "give the byte, from 1; names are for stores (.mdio, .zarr)",
                code="E265",
            )

    def hold(self, memory: bytearray) -> None:
        """Read a file that fits into `memory` once, and not in twenty pieces; nothing else may use it meanwhile."""
        if self._object is None and self.size <= len(memory):
            held = memoryview(memory)[: self.size]
            self.read_into(0, held)
            self._held = held

    def read_at(self, offset: int, nbytes: int) -> bytes:
        """Return `nbytes` bytes from `offset`; an error when the file ends before."""
        buffer = bytearray(nbytes)
        self.read_into(offset, memoryview(buffer))
        return bytes(buffer)

    def read_ranges(self, offsets: Sequence[int], outs: Sequence[memoryview]) -> None:
        """Fill each of `outs` with the bytes from its offset, ascending; of an object, many at the same time."""
        if self._object is None:
            for offset, out in zip(offsets, outs, strict=True):
                self.read_into(offset, out)
            return
        try:
            COUNTED.add(read=self._object.read_ranges(offsets, outs))
        except EOFError:
            raise self._ends(self.size, max(map(int, offsets)) - self.size) from None

    def read_rows(self, offsets: Iterable[int], rows: NDArray[np.uint8]) -> None:
        """Fill each row of an array (n, bytes) with the bytes from its offset, ascending."""
        flat, width = raw_bytes(rows), rows.shape[1]
        outs = [flat[i : i + width] for i in range(0, len(flat), width)]
        if self._object is not None or is_fault_set():
            self.read_ranges(list(offsets), outs)
            return
        if self._held is not None:
            for offset, out in zip(offsets, outs, strict=True):
                self.read_into(offset, out)
            return
        # a call each and no more: headers of a million traces
        for offset, out in zip(offsets, outs, strict=True):
            try:
                whole = os.preadv(self.fd, [out], offset) == width
            except OSError:
                whole = False
            if not whole:  # once more, with every failure explained
                self.read_into(offset, out)
        COUNTED.add(read=len(flat))

    def read_into(self, offset: int, out: memoryview) -> None:
        """Fill `out` with the bytes from `offset`; they are counted (`input_traffic.COUNTED`)."""
        view = out.cast("B")
        if self._object is not None:
            try:
                COUNTED.add(read=self._object.read_into(offset, view))
            except EOFError:
                raise self._ends(self.size, offset + len(view) - self.size) from None
            return
        if self._held is not None:
            if offset + len(view) > len(self._held):
                raise self._ends(self.size, offset + len(view) - self.size)
            view[:] = self._held[offset : offset + len(view)]
            return
        done = 0
        while done < len(view):
            try:
                allowed = ask("read", str(self.path), min(len(view) - done, 1 << 30))
                n = os.preadv(self.fd, [view[done : done + allowed]], offset + done)
            except InterruptedError:
                continue
            except OSError as e:
                raise ResourceError(
                    f"cannot read {self.path} at byte {offset + done}: {e.strerror} (errno {e.errno})",
                    "check the disk, or copy the file again",
                    code="E601",
                ) from e
            if n == 0:
                raise self._ends(offset + done, len(view) - done)
            done += n
        COUNTED.add(read=done)

    def _ends(self, byte: int, early: int) -> SegyError:
        """Return the error for a file that is too short."""
        return SegyError(
            f"{self.path} ends at byte {byte}, {early} bytes early",
            "copy the file again; it is shorter than when it was opened",
            code="E213",
        )

    def close(self) -> None:
        """Close the file; more than once is fine."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> InputFile:
        return self

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
