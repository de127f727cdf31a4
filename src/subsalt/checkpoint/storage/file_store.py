"""A store in scratch files: records move in the background, through buffers that limit how much is on its way."""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from subsalt.checkpoint.storage.record import PAGE, PLAIN, Identity, header_numbers
from subsalt.checkpoint.storage.store import StoreCounts
from subsalt.checkpoint.storage.transfers import (
    PIECE,
    Buffer,
    Buffers,
    Flight,
    Outcome,
    Pool,
    Slot,
    Stripes,
    sealed,
)
from subsalt.errors import DiskError, SnapshotDamaged, SubsaltError


class FileStore:
    """Records in files, by key; used by one thread.

    Parameters
    ----------
    pool : Pool
        Threads that move the records; may serve several stores.
    files : Stripes
        Where they go.
    identity : Identity
        Whose they are.
    buffers : Buffers
        Records in memory: on their way, read ahead, or in the hands of the caller. Two or more overlap with what the
        caller does.
    records : int
        Records that will be held at a time, if known: a disk that is too small shows at once.
    keep : callable, optional
        Called with the store when it is closed and its files stay, all written: completes them.

    Raises
    ------
    DiskError
        From any method: disk full (``need X, have Y at PATH``), or failing. The store is then of no use any more.
    SnapshotDamaged
        From `get`.
    """

    def __init__(
        self,
        pool: Pool,
        files: Stripes,
        identity: Identity,
        buffers: Buffers,
        *,
        records: int = 0,
        keep: Callable[[FileStore], None] | None = None,
    ) -> None:
        self.record = identity.record
        self.counts = StoreCounts()
        self.files, self.identity = files, identity
        self._keep = keep
        #: checksum of the index that makes a kept wavefield complete, once it is published
        self.index_sha256 = ""
        self._flight = Flight(pool, files, identity, buffers, self.counts)
        self.layout = self._flight.layout
        self._handed: dict[int, Buffer] = {}
        self._slots: dict[int, Slot] = {}
        self._next_slot, self._sequence = 0, 0
        self._expected: list[int] = []
        self._open = True
        if records:
            files.reserve(0, records)

    def __contains__(self, key: int) -> bool:
        """Say whether a record is held."""
        return key in self._slots

    @property
    def keys(self) -> list[int]:
        """Keys of the records that are held, ascending."""
        return sorted(self._slots)

    @property
    def slots(self) -> dict[int, Slot]:
        """Where the records lie, by key."""
        return dict(sorted(self._slots.items()))

    def adopt(self, slots: dict[int, Slot]) -> None:
        """Take over records that lie in the files already."""
        self._slots = dict(slots)
        taken = {s.number for s in slots.values()}
        self._next_slot = max(taken, default=-1) + 1
        self._flight.free_slots = sorted(set(range(self._next_slot)) - taken)
        self._sequence = max((s.sequence for s in slots.values()), default=0)

    def room(self) -> NDArray[np.float32]:
        """Return a buffer of `record` floats to fill; waits while all are on their way."""
        self._check()
        return self._hand(self._spare())

    def put(self, key: int, buffer: NDArray[np.float32], payload: int | None = None) -> None:
        """Write a buffer of `room` or `get` as the record `key`, in place of an older one; returns at once.

        Parameters
        ----------
        key : int
            Number of the record.
        buffer : ndarray
            Buffer that `room` or `get` returned; it belongs to the store from now on.
        payload : int, optional
            Bytes of it that count, when they are fewer than a record has.
        """
        self._check()
        mine = self._handed.pop(buffer.ctypes.data)
        old = self._slots.get(key)
        if old is not None:
            self._settle(key)
        slot = self._new_slot() if old is None else old.number
        self._sequence += 1
        nbytes = self.layout.payload if payload is None else payload
        header = self.identity.header(key, self._sequence, nbytes)
        mine.bytes[: PAGE - 4] = np.frombuffer(header, dtype=np.uint8)
        self._slots[key] = Slot(slot, self._sequence, nbytes)
        self._flight.write(key, mine, self._slots[key])
        self._check()
        self.counts.puts += 1
        self.counts.bytes_written += 4 * self.record

    def expect(self, keys: Sequence[int]) -> None:
        """Say in which order records will be asked for: they are read ahead as buffers come free."""
        self._check()
        self._expected = list(keys)
        wanted = set(keys)
        for key in [k for k in self._flight.reading if k not in wanted]:
            self._flight.discard(key)
        self._read_ahead()

    def get(self, key: int) -> NDArray[np.float32]:
        """Return a record, to be given back.

        Raises
        ------
        SnapshotDamaged
            When it is missing, cut short, changed, or another one.
        """
        self._check()
        if key in self._expected:
            del self._expected[: self._expected.index(key) + 1]
        if key not in self._slots:
            self._damaged(key, "it is missing")
        while key in self._flight.writing:
            self._flight.wait(self._flight.writing[key].ticket)
            self._check()
        if key not in self._flight.reading:
            buffer = self._spare()
            try:
                self._flight.read(key, buffer, self._slots[key], urgent=True)
            except OSError as e:
                self._damaged(key, f"it cannot be read: {e.strerror}")
        buffer, outcome = self._flight.arrived(key)
        damage = self._verify(key, buffer, outcome)
        if damage:
            self._flight.free.append(buffer)
            self._damaged(key, damage)
        self.counts.gets += 1
        self.counts.bytes_read += 4 * self.record
        field = self._hand(buffer)
        self._read_ahead()
        return field

    def give_back(self, buffer: NDArray[np.float32]) -> None:
        """Return a buffer that `get` or `room` gave and that was not put."""
        self._flight.free.append(self._handed.pop(buffer.ctypes.data))
        if self._open:
            self._read_ahead()

    def drop(self, key: int) -> None:
        """Forget a record; its place in the file is used again."""
        self._flight.discard(key, frees=self._slots.pop(key).number)

    def payload(self, key: int) -> int:
        """Return the bytes of a record that count."""
        return self._slots[key].payload

    def flush(self, durable: bool = False) -> None:
        """Wait until everything that was put is in the files; on request also on the device."""
        self._check()
        while self._flight.writing:
            self._flight.wait(next(iter(self._flight.writing.values())).ticket)
            self._check()
        if durable:
            self.files.sync()

    def close(self, remove: bool | None = None) -> None:
        """End the store; more than once is fine.

        Parameters
        ----------
        remove : bool, optional
            Whether its files go; those that are to be kept stay by default, scratch does not.
        """
        if not self._open:
            return
        if remove is None:
            remove = self._keep is None
        try:
            if not remove:
                self.flush(durable=self._keep is not None)
                if self._keep is not None:
                    self._keep(self)
        finally:
            self._open = False
            self._flight.drain()
            self._handed.clear()
            if remove:
                self.files.remove()
            self.files.close()

    def abandon(self) -> None:
        """End the store as a kill would: the files stay as they are, nothing is completed."""
        self._keep = None
        with suppress(SubsaltError):
            self.close(remove=False)

    def _check(self) -> None:
        if not self._open:
            raise RuntimeError("the store is closed")
        if self._flight.failure is not None:
            raise self._flight.failure

    def _spare(self) -> Buffer:
        """Return a buffer: one that a transfer in flight frees, else one of a record that was read ahead."""
        while (buffer := self._flight.take()) is None:
            if not self._flight.wait_for_any():
                if not self._flight.reading:
                    raise RuntimeError(
                        f"all {self._flight.buffers.limit} buffers of the store are in the caller's hands"
                    )
                self._flight.discard(last_wanted(self._flight.reading, self._expected))
            self._check()
        return buffer

    def _hand(self, buffer: Buffer) -> NDArray[np.float32]:
        self._handed[buffer.address] = buffer
        return buffer.floats

    def _settle(self, key: int) -> None:
        """Wait until nothing moves to or from the place of a record."""
        while key in self._flight.writing:
            self._flight.wait(self._flight.writing[key].ticket)
        if key in self._flight.reading:
            self._flight.free.append(self._flight.arrived(key)[0])
        self._check()

    def _new_slot(self) -> int:
        self._flight.reap()
        if self._flight.free_slots:
            return heapq.heappop(self._flight.free_slots)
        slot = self._next_slot
        if self.identity.codec in PLAIN and not self.files.has_room(slot):
            try:
                self.files.reserve(slot, max(1, PIECE // self.layout.total))
            except DiskError as e:
                if e.code != "E621":
                    raise
                # not a whole piece more, but perhaps the next one
                self.files.reserve(slot)
        self._next_slot += 1
        return slot

    def _read_ahead(self) -> None:
        for key in self._expected:
            if key in self._flight.reading:
                continue
            self._flight.reap()
            if key not in self._slots:
                continue
            if key in self._flight.writing:
                break
            buffer = self._flight.take()
            if buffer is None:
                break
            try:
                self._flight.read(key, buffer, self._slots[key])
            except OSError:
                break  # get will tell

    def _verify(self, key: int, buffer: Buffer, outcome: Outcome) -> str:
        """Return what is wrong with a record that was read; empty when it is as it was put."""
        slot = self._slots[key]
        if outcome.error:
            return f"it cannot be read: {os.strerror(outcome.error)} at byte {outcome.offset}"
        header = buffer.bytes[:PAGE].tobytes()
        if outcome.damage and not sealed(header):
            return outcome.damage
        wrong = self.identity.differs(header, key, slot.payload)
        if not wrong and header_numbers(header)[0] != slot.sequence:
            wrong = f"it is put number {header_numbers(header)[0]} in place of {slot.sequence}"
        return wrong or outcome.damage

    def _damaged(self, key: int, reason: str) -> None:
        self.counts.damaged += 1
        where = f" ({self.files.place(self._slots[key].number).path})" if key in self._slots else ""
        raise SnapshotDamaged(key, reason + where)


def last_wanted(keys: Iterable[int], expected: Sequence[int]) -> int:
    """Return the key that will be asked for last, or not at all."""
    place = {key: i for i, key in enumerate(expected)}
    return max(keys, key=lambda key: place.get(key, len(expected)))
