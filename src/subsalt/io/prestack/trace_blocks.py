"""Traces in blocks, read by a thread while whoever asked works on the block before."""

from __future__ import annotations

import time
from collections.abc import Iterator
from queue import SimpleQueue
from threading import Thread
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from subsalt.io.prestack.table import TraceTable
from subsalt.io.segy.trace_files import GAP, PIECE

_Block = tuple[NDArray[np.int64], NDArray[np.float32]]


def stream_bytes(size: int, nt: int, trace_bytes: int) -> int:
    """Return the most memory that `TraceBlocks` takes: two blocks, and the piece of a file that is being converted."""
    return 2 * size * nt * 4 + min(PIECE + GAP + trace_bytes, size * (trace_bytes + GAP))


class TraceBlocks:
    """Blocks of a selection of traces in table order, read ahead by a thread.

    Parameters
    ----------
    table : TraceTable
        The traces.
    index : ndarray, (m,), int64
        Rows of the table, ascending.
    size : int
        Traces of a block; the last one may have fewer.
    start : int
        First block, to go on where another run stopped.

    Attributes
    ----------
    stall_seconds : float
        Time that the caller waited for the thread.
    read_seconds : float
        Time that the thread read.
    bytes_read : int
        Bytes of traces that were read, with headers and gaps.

    Notes
    -----
    Iterate once, within ``with``, or call `close` after: the thread holds two blocks. A block that was yielded is
    overwritten when the next one is asked for.
    """

    def __init__(self, table: TraceTable, index: NDArray[np.int64], size: int, *, start: int = 0) -> None:
        if size < 1:
            raise ValueError(f"a block of {size} traces")
        self._table, self._index, self._size = table, np.asarray(index, np.int64), size
        self._todo = range(start * size, len(self._index), size)
        self.stall_seconds = self.read_seconds = 0.0
        self.bytes_read = 0
        self._stopped = self._begun = False
        self._free: SimpleQueue[NDArray[np.float32] | None] = SimpleQueue()
        self._full: SimpleQueue[_Block | BaseException] = SimpleQueue()
        rows = min(size, len(self._index))
        for _ in range(min(2, len(self._todo))):
            self._free.put(np.empty((rows, table.time.nt), np.float32))
        self._thread: Thread | None = Thread(target=self._run, name="traces", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """Number of blocks to come, from `start`."""
        return len(self._todo)

    def _run(self) -> None:
        try:
            for lo in self._todo:
                buffer = self._free.get()
                if buffer is None or self._stopped:
                    return
                begin = time.perf_counter()
                rows = self._index[lo : lo + self._size]
                self.bytes_read += self._table.files.read_into(self._table.number[rows], buffer[: len(rows)])
                self.read_seconds += time.perf_counter() - begin
                self._full.put((rows, buffer))
        except BaseException as e:  # raised where the block is asked for
            self._full.put(e)

    def __iter__(self) -> Iterator[_Block]:
        """Yield (rows of the table, their traces (m, nt)); what reading met is raised here."""
        if self._begun or self._thread is None:
            raise RuntimeError("blocks of traces are gone through once, before they are closed")
        self._begun = True
        for _ in self._todo:
            begin = time.perf_counter()
            found = self._full.get()
            self.stall_seconds += time.perf_counter() - begin
            if isinstance(found, BaseException):
                raise found
            rows, buffer = found
            yield rows, buffer[: len(rows)]
            self._free.put(buffer)

    def close(self) -> None:
        """Stop the thread; more than once is fine."""
        if self._thread is not None:
            self._stopped = True
            self._free.put(None)
            self._thread.join()
            self._thread = None

    def __enter__(self) -> TraceBlocks:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
