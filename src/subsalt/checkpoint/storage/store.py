"""Where the states and snapshots of a shot are kept: in memory, or in scratch files behind threads of their own.

A store holds records of one size by an integer key (a time step, or the number of a sample). It is used by one thread:
what it writes and reads moves in the background, through a few buffers::

    buffer = store.room()          # waits while all buffers are on their way
    buffer[:] = ...
    store.put(7, buffer)           # returns at once
    store.expect([9, 8, 7])        # is read ahead, in this order
    field = store.get(9)           # waits
    store.give_back(field)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.checkpoint.storage.record import RecordLayout
from subsalt.errors import SnapshotDamaged

#: records in memory beside the buffers where they are compressed: two on their way to and from the files, one
#: compressed twice over while it is packed, and one decompressed to be compared
PACKING = 5


@dataclass
class StoreCounts:
    """Records, bytes and seconds of a store so far."""

    #: records given to it, and taken from it
    puts: int = 0
    gets: int = 0
    #: their bytes, before compression
    bytes_written: int = 0
    bytes_read: int = 0
    #: bytes moved to and from files, headers and what was read ahead in vain included
    disk_written: int = 0
    disk_read: int = 0
    #: seconds the threads behind it were busy, summed over threads
    put_seconds: float = 0.0
    get_seconds: float = 0.0
    #: seconds the caller waited
    stall_seconds: float = 0.0
    #: records that were asked for and could not be read back as they were written
    damaged: int = 0

    def __add__(self, other: StoreCounts) -> StoreCounts:
        """Return the sum of two."""
        return StoreCounts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def as_dict(self) -> dict[str, int | float]:
        """Return the numbers by name."""
        return asdict(self)


class Store(Protocol):
    """Records of one size, by key; used by one thread."""

    record: int

    @property
    def counts(self) -> StoreCounts:
        """Counts of its transfers so far."""

    @property
    def keys(self) -> list[int]:
        """Keys of the records that are held, ascending."""

    def room(self) -> NDArray[np.float32]:
        """Return a buffer of `record` floats to fill; waits while all are on their way."""

    def put(self, key: int, buffer: NDArray[np.float32]) -> None:
        """Keep a buffer that `room` gave as the record `key`; it belongs to the store from now on."""

    def expect(self, keys: Sequence[int]) -> None:
        """Say in which order records will be asked for; replaces what was said before."""

    def get(self, key: int) -> NDArray[np.float32]:
        """Return a record, to be given back; raises `SnapshotDamaged` when it is not what was put."""

    def give_back(self, buffer: NDArray[np.float32]) -> None:
        """Return a buffer that `get` or `room` gave and that was not put."""

    def drop(self, key: int) -> None:
        """Forget a record; its place is used again."""

    def flush(self, durable: bool = False) -> None:
        """Wait until everything that was put is written, and on request on the device."""

    def close(self, remove: bool | None = None) -> None:
        """End; scratch is removed unless it is kept."""

    def abandon(self) -> None:
        """End as a kill would: what is in files stays as it is, nothing is completed."""


class MemoryStore:
    """Records in memory: nothing is copied, nothing is read.

    Parameters
    ----------
    record : int
        Floats per record.
    slots : int
        Records that are held at most, those in the hands of the caller included; 0: no limit.
    """

    def __init__(self, record: int, slots: int = 0) -> None:
        self.record = record
        self.counts = StoreCounts()
        self._slots = slots
        self._kept: dict[int, NDArray[np.float32]] = {}
        self._free: list[NDArray[np.float32]] = []
        self._made = 0

    def __contains__(self, key: int) -> bool:
        """Say whether a record is held."""
        return key in self._kept

    @property
    def keys(self) -> list[int]:
        """Keys of the records that are held, ascending."""
        return sorted(self._kept)

    def room(self) -> NDArray[np.float32]:
        """Return a buffer of `record` floats."""
        if self._free:
            return self._free.pop()
        if self._slots and self._made == self._slots:
            raise RuntimeError(f"all {self._slots} slots of the store are taken")
        self._made += 1
        return np.empty(self.record, dtype=np.float32)

    def put(self, key: int, buffer: NDArray[np.float32]) -> None:
        """Hold a buffer as the record `key`."""
        if key in self._kept:
            self.drop(key)
        self._kept[key] = buffer
        self.counts.puts += 1
        self.counts.bytes_written += 4 * self.record

    def expect(self, keys: Sequence[int]) -> None:
        """Need nothing: all is there."""

    def get(self, key: int) -> NDArray[np.float32]:
        """Return the record itself, which must not be changed."""
        if key not in self._kept:
            self.counts.damaged += 1
            raise SnapshotDamaged(key, "it was never stored, or dropped")
        self.counts.gets += 1
        self.counts.bytes_read += 4 * self.record
        return self._kept[key]

    def give_back(self, buffer: NDArray[np.float32]) -> None:
        """Take back a buffer of `room` that was not put."""
        if not any(buffer is held for held in self._kept.values()):
            self._free.append(buffer)

    def drop(self, key: int) -> None:
        """Forget a record."""
        self._free.append(self._kept.pop(key))

    def flush(self, durable: bool = False) -> None:
        """Do nothing: no transfer is in flight."""

    def close(self, remove: bool | None = None) -> None:
        """Give the memory back."""
        self._kept.clear()
        self._free.clear()
        self._made = 0

    def abandon(self) -> None:
        """Give the memory back."""
        self.close()


def store_memory(record: int, buffers: int, compression: str = "none") -> int:
    """Return the bytes that a `FileStore` takes.

    Parameters
    ----------
    record : int
        Floats per record.
    buffers : int
        Records that are in flight, read ahead, or in the hands of the caller.
    compression : {"none", "zfp", "f16"}
        With zfp five more records pass through memory.
    """
    return (buffers + (PACKING if compression == "zfp" else 0)) * RecordLayout.of(record).total


def file_bytes(record: int, records: int) -> int:
    """Return the bytes of scratch files that hold `records` records at a time, of `record` floats each."""
    return records * RecordLayout.of(record).total


def record_of(shapes: Sequence[Sequence[int]]) -> int:
    """Return the floats of a record that holds arrays of these shapes one behind the other."""
    return sum(math.prod(shape) for shape in shapes)
