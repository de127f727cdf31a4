"""Reading files safely: regular files only, whole reads at positions, errors that name the path.

Failures on demand: a hook that every write of the package asks first. Always compiled in, for tests.

Bytes that input moves, counted where they move: asked for, read from files, received from other ranks.

Reading by a thread into two buffers: one is used while the other is filled.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread, local
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

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
from subsalt.io.objects import StoredObject, as_path, is_url
from subsalt.io.trace_store import StoreFile, is_store


@dataclass(frozen=True)
class Traffic:
    """Bytes of input.

    Parameters
    ----------
    wanted : int
        What was asked for: the planes or traces that whoever asked goes on to use.
    read : int
        What came from files.
    received : int
        What another rank read and sent.
    """

    wanted: int = 0
    read: int = 0
    received: int = 0

    @property
    def moved(self) -> int:
        """Bytes read or received."""
        return self.read + self.received

    @property
    def redundancy(self) -> float:
        """Bytes moved per byte wanted; NaN when nothing was."""
        return self.moved / self.wanted if self.wanted else float("nan")

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(self.wanted + other.wanted, self.read + other.read, self.received + other.received)

    def __sub__(self, other: Traffic) -> Traffic:
        return Traffic(self.wanted - other.wanted, self.read - other.read, self.received - other.received)


_thread = local()


@contextmanager
def for_others() -> Iterator[None]:
    """Read in the block what others asked for: they count it as wanted when it was sent to them."""
    _thread.for_others = True
    try:
        yield
    finally:
        _thread.for_others = False


class Counter:
    """Counts traffic; several threads may add."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._total = Traffic()

    def add(self, *, wanted: int = 0, read: int = 0, received: int = 0) -> None:
        """Count bytes; none as wanted within `for_others`."""
        if getattr(_thread, "for_others", False):
            wanted = 0
        with self._lock:
            self._total += Traffic(wanted, read, received)

    def now(self) -> Traffic:
        """Return what was counted since the process began; a phase is the difference of two calls."""
        with self._lock:
            return self._total


#: of this process; `InputFile` counts what it reads here
COUNTED = Counter()

#: of the samples of recorded traces alone
TRACES = Counter()


#: asked before each call as hook(operation, path, bytes); returns how many bytes may be written, or None for
#: all
FaultHook = Callable[[str, str, int], int | None]


_fault: FaultHook | None = None


def set_fault(hook: FaultHook | None) -> None:
    """Install a fault hook for tests; None removes it."""
    global _fault
    _fault = hook


class FaultCounter:
    """A fault hook that lets `fail_at - 1` operations pass and fails the next.

    Parameters
    ----------
    fail_at : int
        Number of the first operation that fails, from 1; 0 never fails and only counts.
    error : int
        The errno it fails with.
    forever : bool
        Fail every later operation too (a full disk) rather than one (a hiccup).
    short : int, optional
        At most this many bytes go out per write.
    """

    def __init__(
        self, fail_at: int = 0, error: int = errno.EIO, forever: bool = False, short: int | None = None
    ) -> None:
        self.fail_at, self.error, self.forever, self.short = fail_at, error, forever, short
        self.count = 0
        self.log: list[str] = []

    def __call__(self, operation: str, path: str, nbytes: int) -> int | None:
        """Count one operation; fail when its turn has come."""
        self.count += 1
        self.log.append(operation)
        # clearing up after a failure must work, as it does on a real full disk
        due = self.count == self.fail_at or (self.forever and 0 < self.fail_at < self.count)
        if due and operation != "unlink":
            raise OSError(self.error, os.strerror(self.error), path)
        return self.short


def ask(operation: str, path: str, nbytes: int = 0) -> int:
    """Return how many bytes of `nbytes` may go out now."""
    if _fault is None:
        return nbytes
    allowed = _fault(operation, path, nbytes)
    return nbytes if allowed is None else max(1, min(nbytes, allowed))


def raw_bytes(array: NDArray) -> memoryview:
    """Return the bytes of a C-contiguous array; writing to them changes the array."""
    if not array.flags.c_contiguous:
        raise ValueError("the array is not C-contiguous")
    return memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]


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
            raise MissingInputError(f"{self.path} does not exist", "check the name and the folder") from e
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
        """What the samples of a store of traces are over, ``time`` or ``depth``; empty for anything else."""
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
        if self._object is not None or _fault is not None:
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
        """Fill `out` with the bytes from `offset`; they are counted (`traffic.COUNTED`)."""
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
                    "check the disk, or copy the file anew",
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
            "copy the file anew; it is shorter than when it was opened",
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


def read_regular(path: str | os.PathLike[str], most: int) -> bytes:
    """Return the bytes of a file that must be a regular one; a pipe would wait, and a device never ends.

    Raises
    ------
    OSError
        When it cannot be opened or read.
    ValueError
        When it is a pipe or device, or holds more than `most` bytes; the message goes on a sentence whose subject is
        the file.
    """
    # O_NONBLOCK: opening a pipe that nobody writes must not hang
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise ValueError("is a pipe or device, not a file")
        if info.st_size > most:
            raise ValueError(f"has {info.st_size} bytes, more than the {most} of such a file")
        # files of the kernel say that they are empty, whatever they hold
        parts, left = [], most
        while left >= 0 and (part := file.read(1 << 20)):
            parts.append(part)
            left -= len(part)
    if left < 0:
        raise ValueError(f"has more than the {most} bytes of such a file")
    return b"".join(parts)


#: bytes of a text that a run wrote of itself
MOST_TEXT = 64 << 20


def read_json(path: str | os.PathLike[str]) -> Any:
    """Return what a file of JSON holds; whatever the file is, it neither waits nor fills the memory.

    Raises
    ------
    OSError
        When it cannot be read.
    ValueError
        When it is no regular file, too large, or no JSON.
    """
    try:
        return json.loads(read_regular(path, MOST_TEXT))
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the tables of a file of TOML; errors as of `read_json`."""
    try:
        return tomllib.loads(read_regular(path, MOST_TEXT).decode("utf-8-sig"))
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None


def as_paths(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return one path or many as a list, in the given order."""
    if isinstance(paths, str | os.PathLike):
        return [as_path(paths)]
    found = [as_path(p) for p in paths]
    if not found:
        raise MissingInputError("no file was given", "name at least one SEG-Y or SU file")
    return found


Piece = TypeVar("Piece")


class ReadAhead(Generic[Piece]):
    """Pieces of a file in a fixed order, read ahead by a thread; a context manager.

    Parameters
    ----------
    pieces : sequence
        What is read, in this order.
    read : callable
        ``read(piece, buffer)`` fills a buffer; called in the thread alone until `close`.
    shape : tuple of int
        Of a buffer, float32.
    name : str
        Of the thread.

    Attributes
    ----------
    waited : float
        Seconds that `next` waited for the thread.
    read_seconds : float
        Seconds that the thread read.
    """

    def __init__(
        self,
        pieces: Sequence[Piece],
        read: Callable[[Piece, NDArray[np.float32]], None],
        shape: tuple[int, ...],
        name: str,
    ) -> None:
        self.waited = self.read_seconds = 0.0
        self._pieces, self._read, self._left = pieces, read, len(pieces)
        self._free: SimpleQueue[NDArray[np.float32] | None] = SimpleQueue()
        self._full: SimpleQueue[tuple[Piece, NDArray[np.float32]] | BaseException] = SimpleQueue()
        for _ in range(min(2, len(pieces))):
            self._free.put(np.empty(shape, np.float32))
        self._used: NDArray[np.float32] | None = None
        self._failure: BaseException | None = None
        self._stopped = False
        self._thread: Thread | None = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for piece in self._pieces:
                buffer = self._free.get()
                if buffer is None or self._stopped:
                    return
                begin = time.perf_counter()
                self._read(piece, buffer)
                self.read_seconds += time.perf_counter() - begin
                self._full.put((piece, buffer))
        except BaseException as e:  # raised where the piece is asked for
            self._full.put(e)

    def next(self) -> tuple[Piece, NDArray[np.float32]]:
        """Return the next piece and the buffer with its values, valid until the next call.

        Raises
        ------
        IndexError
            When there is none left.
        DataError, ResourceError
            What reading it met.
        """
        if self._failure is not None:
            raise self._failure
        if self._left == 0 or self._thread is None:
            raise IndexError("nothing is left to read")
        if self._used is not None:
            self._free.put(self._used)
            self._used = None
        begin = time.perf_counter()
        ready = self._full.get()
        self.waited += time.perf_counter() - begin
        if isinstance(ready, BaseException):
            self._failure = ready
            raise ready
        self._left -= 1
        self._used = ready[1]
        return ready

    def close(self) -> None:
        """Stop the thread; the buffers are no longer valid. More than once is fine."""
        if self._thread is not None:
            self._stopped = True
            self._free.put(None)
            self._thread.join()
            self._thread = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
