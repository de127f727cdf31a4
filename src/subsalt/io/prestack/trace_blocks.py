"""Traces in blocks, read by a thread while whoever asked works on the block before."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from subsalt.io.prestack.table import TraceTable
from subsalt.io.read_ahead import ReadAhead
from subsalt.io.segy.trace_files import GAP, PIECE


def stream_bytes(size: int, nt: int, trace_bytes: int) -> int:
    """Return the most memory that `TraceBlocks` takes: two blocks, and the piece of a file that is being converted."""
    return 2 * size * nt * 4 + min(PIECE + GAP + trace_bytes, size * (trace_bytes + GAP))


class TraceBlocks(ReadAhead[int]):
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
        self._begun = False
        self.bytes_read = 0
        first_rows = range(start * size, len(self._index), size)
        super().__init__(
            first_rows, self._read_block, (min(size, len(self._index)), table.time.nt), name="traces"
        )

    def __len__(self) -> int:
        """Number of blocks to come, from `start`."""
        return len(self._pieces)

    def _rows(self, first: int) -> NDArray[np.int64]:
        return self._index[first : first + self._size]

    def _read_block(self, first: int, buffer: NDArray[np.float32]) -> None:
        rows = self._rows(first)
        self.bytes_read += self._table.files.read_into(self._table.number[rows], buffer[: len(rows)])

    def __iter__(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Yield (rows of the table, their traces (m, nt)); what reading met is raised here."""
        if self._begun or self._thread is None:
            raise RuntimeError("blocks of traces are gone through once, before they are closed")
        self._begun = True
        for _ in range(len(self)):
            first, buffer = self.next()
            rows = self._rows(first)
            yield rows, buffer[: len(rows)]
