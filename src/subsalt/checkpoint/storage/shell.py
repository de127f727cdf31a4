"""Boundary saving: what a source wavefield leaves on its way forward so that it can run backwards, and where it lies.

At every time step from the first imaged sample to the last but two, the shell of every field (`kernels.shell`); the
last two levels stay. The steps are cut into chunks of whole samples, a record each, which are used in reverse
order: in memory, or in scratch files that are written behind the forward sweep and read ahead of the backward one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from numpy.typing import NDArray

from subsalt.checkpoint.storage.store import Store, StoreCounts, file_bytes, store_memory

FLOAT = 4

#: bytes of the samples that lie between the two sweeps at a time, when nothing else is asked for: they stay in a cache
CHUNK_BYTES = 8 << 20

#: buffers of shells in files: one is filled, one is on its way, one waits
BUFFERS = 3


@dataclass(frozen=True)
class Chunks:
    """The steps whose shells are kept, in chunks of whole samples.

    Parameters
    ----------
    image_step : int
        k, time steps between two imaged samples.
    samples : int
        S; the wavefield goes forward to step S k.
    chunk : int
        Samples of a chunk; the last one may have fewer.
    """

    image_step: int
    samples: int
    chunk: int

    @property
    def last(self) -> int:
        """Time index of the last sample, S k."""
        return self.samples * self.image_step

    @property
    def rows(self) -> int:
        """Steps whose shells are kept: k to S k - 2; as many steps are run backwards."""
        return max(0, self.last - 1 - self.image_step)

    @property
    def length(self) -> int:
        """Steps of a whole chunk."""
        return self.chunk * self.image_step

    @property
    def count(self) -> int:
        """Chunks."""
        return -(-self.rows // self.length)

    @property
    def buffers(self) -> int:
        """Arrays for samples: of one chunk, or of the two levels at the end, whichever are more."""
        at_end = min(self.samples, 2 if self.image_step == 1 else 1)
        return max(at_end, min(self.chunk, self.samples))

    def steps(self, number: int) -> tuple[int, int]:
        """Return the first and the last time index of a chunk."""
        first = self.image_step + number * self.length
        return first, min(first + self.length, self.last - 1) - 1


def chunk_samples(samples: int, snapshot_bytes: int) -> int:
    """Return how many samples a chunk has when nothing is asked for: as many as fit into a cache, or one."""
    return max(1, min(samples, CHUNK_BYTES // max(1, snapshot_bytes)))


def reversal_memory(
    chunks: Chunks, *, snapshot_bytes: int, row_bytes: int, level_bytes: int, on_disk: bool
) -> dict[str, int]:
    """Return the bytes that reversal holds beside one wavefield, by array.

    Parameters
    ----------
    snapshot_bytes : int
        Bytes of one sample of the window.
    row_bytes : int
        Bytes of the shell of one step, all fields: ``4 F cells``.
    level_bytes : int
        Bytes of one padded time level, all fields.
    on_disk : bool
        Shells lie in files.
    """
    record = chunks.length * row_bytes // FLOAT
    buffers = min(BUFFERS, chunks.count)
    shells = store_memory(record, buffers) if on_disk else chunks.rows * row_bytes
    return {
        "snapshots": chunks.buffers * snapshot_bytes,
        "shells": shells,
        "source wavefield": 2 * level_bytes,
    }


def reversal_disk(chunks: Chunks, row_bytes: int) -> int:
    """Return the bytes of scratch files that hold all shells of a shot."""
    return file_bytes(chunks.length * row_bytes // FLOAT, chunks.count)


class MemoryShelf:
    """Shells in one array.

    Parameters
    ----------
    memory : ndarray, (chunks.rows, fields, cells)
        Room for all.
    chunks : Chunks
        How it is cut.
    """

    def __init__(self, memory: NDArray, chunks: Chunks) -> None:
        self.memory, self.length = memory, chunks.length
        self.counts = StoreCounts()

    @contextmanager
    def writing(self, number: int, rows: int) -> Iterator[NDArray]:
        """Lend the part of the array that the chunk has."""
        part = self._part(number, rows)
        yield part
        self.counts.puts += 1
        self.counts.bytes_written += part.nbytes

    @contextmanager
    def reading(self, number: int, rows: int) -> Iterator[NDArray]:
        """Lend the part of the array that the chunk has."""
        part = self._part(number, rows)
        yield part
        self.counts.gets += 1
        self.counts.bytes_read += part.nbytes

    def _part(self, number: int, rows: int) -> NDArray:
        return self.memory[number * self.length : number * self.length + rows]

    def close(self) -> None:
        """Need nothing."""


class StoreShelf:
    """Shells in the records of a store, one per chunk.

    Parameters
    ----------
    store : Store
        Store with records of ``length * fields * cells`` floats.
    chunks : Chunks
        How the steps are cut.
    shape : tuple of int
        (fields, cells) of the shell of one step.
    """

    def __init__(self, store: Store, chunks: Chunks, shape: tuple[int, int]) -> None:
        self.store, self.chunks, self.shape = store, chunks, shape
        self.reads = False

    @property
    def counts(self) -> StoreCounts:
        """Counts of the store's transfers."""
        return self.store.counts

    def _rows(self, buffer: NDArray, rows: int) -> NDArray:
        return buffer[: rows * math.prod(self.shape)].reshape(rows, *self.shape)

    @contextmanager
    def writing(self, number: int, rows: int) -> Iterator[NDArray]:
        """Lend a buffer of the store, which writes it."""
        buffer = self.store.room()
        buffer[rows * math.prod(self.shape) :] = 0  # the last chunk may be shorter than its record
        yield self._rows(buffer, rows)
        self.store.put(number, buffer)

    @contextmanager
    def reading(self, number: int, rows: int) -> Iterator[NDArray]:
        """Lend what the store has read, the chunks before it being read ahead."""
        if not self.reads:
            self.store.expect(list(range(number, -1, -1)))
            self.reads = True
        buffer = self.store.get(number)
        yield self._rows(buffer, rows)
        self.store.give_back(buffer)
        self.store.drop(number)

    def close(self) -> None:
        """Remove the files."""
        self.store.close()


#: where the shells of the chunks lie
Shelf = MemoryShelf | StoreShelf
