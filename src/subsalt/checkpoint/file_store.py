"""A store in scratch files: records move in the background, through buffers that limit how much is on its way."""

from __future__ import annotations

import errno
import heapq
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.checkpoint.record import PAGE, Identity, Layout, header_numbers
from subsalt.checkpoint.store import StoreCounts
from subsalt.checkpoint.stripes import PIECE, Stripes
from subsalt.checkpoint.transfers import Buffer, Outcome, Pool
from subsalt.errors import SnapshotDamaged, SubsaltError
from subsalt.io.faults import ask
from subsalt.io.os_errors import explain_os_error

#: seconds of one wait for a transfer, before signals are looked at
PATIENCE = 0.1


@dataclass
class Slot:
    """Where a record lies, and what its header must say."""

    number: int
    sequence: int
    payload: int


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
    buffers : int
        Records in memory at most: on their way, read ahead, or in the hands of the caller. Two or more overlap
        with what the caller does.
    records : int
        Records that will be held at a time, if known: a disk that is too small shows at once.
    on_close : callable, optional
        Called with the store when it is closed without being removed, all written.

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
        buffers: int,
        *,
        records: int = 0,
        on_close: Callable[[FileStore], None] | None = None,
    ) -> None:
        self.record = identity.record
        self.layout = Layout(4 * identity.record, identity.block)
        self.counts = StoreCounts()
        self.files, self.identity = files, identity
        self._pool, self._on_close = pool, on_close
        self._limit, self._made = buffers, 0
        self._free: list[Buffer] = []
        self._handed: dict[int, Buffer] = {}
        self._slots: dict[int, Slot] = {}
        self._free_slots: list[int] = []
        self._next_slot, self._sequence = 0, 0
        self._writing: dict[int, tuple[object, Buffer, int]] = {}
        self._reading: dict[int, tuple[object, Buffer]] = {}
        #: transfers whose outcome nobody wants: buffer and slot come free when they are over
        self._left: list[tuple[object, Buffer | None, int | None]] = []
        self._expected: list[int] = []
        self._failure: SubsaltError | None = None
        self._open = True
        if records:
            files.reserve(0, records)

    def __contains__(self, key: int) -> bool:
        """Say whether a record is held."""
        return key in self._slots

    @property
    def keys(self) -> list[int]:
        """Keys of the records that are held."""
        return list(self._slots)

    def room(self) -> NDArray[np.float32]:
        """Return a buffer of `record` floats to fill; waits while all are on their way."""
        self._check()
        buffer = self._take()
        while buffer is None:
            if self._writing or self._left:
                self._wait(next(iter(self._writing.values()))[0] if self._writing else self._left[0][0])
            elif self._reading:
                self._discard(next(k for k in reversed(self._expected) if k in self._reading))
            else:
                raise RuntimeError(f"all {self._limit} buffers of the store are in the caller's hands")
            self._check()
            buffer = self._take()
        return self._hand(buffer)

    def put(self, key: int, buffer: NDArray[np.float32]) -> None:
        """Write a buffer of `room` or `get` as the record `key`; returns at once."""
        self._check()
        mine = self._handed.pop(buffer.ctypes.data)
        if key in self._slots:
            self.drop(key)
        slot = self._new_slot()
        self._sequence += 1
        payload = self.layout.payload
        mine.bytes[: PAGE - 4] = np.frombuffer(
            self.identity.header(key, self._sequence, payload), dtype=np.uint8
        )
        self._slots[key] = Slot(slot, self._sequence, payload)
        fd, offset, path = self.files.place(slot)
        try:
            ask("pwrite", str(path), self.layout.total)
        except OSError as e:
            self._free.append(mine)
            self._fail(e, path)
            self._check()
        self._writing[key] = (
            self._pool.write(fd, offset, mine, payload, self._sequence),
            mine,
            slot,
        )
        self.counts.puts += 1
        self.counts.bytes_written += 4 * self.record

    def expect(self, keys: Sequence[int]) -> None:
        """Say in which order records will be asked for: they are read ahead as buffers come free."""
        self._check()
        self._expected = list(keys)
        wanted = set(keys)
        for key in [k for k in self._reading if k not in wanted]:
            self._discard(key)
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
        while key in self._writing:
            self._wait(self._writing[key][0])
            self._check()
        if key not in self._reading:
            buffer = self._spare()
            try:
                self._read(key, buffer, urgent=True)
            except OSError as e:
                self._free.append(buffer)
                self._damaged(key, f"it cannot be read: {e.strerror}")
        ticket, buffer = self._reading[key]
        self._wait(ticket)
        del self._reading[key]
        damage = self._verify(key, buffer, self._outcome(ticket, reading=True))
        if damage:
            self._free.append(buffer)
            self._damaged(key, damage)
        self.counts.gets += 1
        self.counts.bytes_read += 4 * self.record
        field = self._hand(buffer)
        self._read_ahead()
        return field

    def give_back(self, buffer: NDArray[np.float32]) -> None:
        """Return a buffer that `get` or `room` gave and that was not put."""
        self._free.append(self._handed.pop(buffer.ctypes.data))
        self._read_ahead()

    def drop(self, key: int) -> None:
        """Forget a record; its place in the file is used again."""
        slot = self._slots.pop(key)
        if key in self._writing:
            ticket, buffer, _ = self._writing.pop(key)
            self._left.append((ticket, buffer, slot.number))
        elif key in self._reading:
            ticket, buffer = self._reading.pop(key)
            self._left.append((ticket, buffer, slot.number))
        else:
            heapq.heappush(self._free_slots, slot.number)

    def flush(self, durable: bool = False) -> None:
        """Wait until everything that was put is in the files; on request also on the device."""
        self._check()
        while self._writing:
            self._wait(next(iter(self._writing.values()))[0])
            self._check()
        if durable:
            self.files.sync()

    def close(self, remove: bool = True) -> None:
        """End the store: its files are removed, or completed and left; more than once is fine."""
        if not self._open:
            return
        try:
            if not remove:
                self.flush()
                if self._on_close is not None:
                    self._on_close(self)
        finally:
            self._open = False
            for ticket in [
                *(t for t, _, _ in self._writing.values()),
                *(t for t, _ in self._reading.values()),
                *(t for t, _, _ in self._left),
            ]:
                while not self._pool.wait(ticket, PATIENCE):  # type: ignore[arg-type]
                    pass
            self._writing.clear()
            self._reading.clear()
            self._left.clear()
            self._free.clear()
            if remove:
                self.files.remove()
            self.files.close()

    # what is under way

    def _check(self) -> None:
        if not self._open:
            raise RuntimeError("the store is closed")
        if self._failure is not None:
            raise self._failure

    def _take(self) -> Buffer | None:
        """Return a buffer that is free now, if there is one."""
        self._reap()
        if self._free:
            return self._free.pop()
        if self._made < self._limit:
            self._made += 1
            return Buffer(self.record)
        return None

    def _spare(self) -> Buffer:
        """Return a buffer for a record that is asked for now: what is read ahead makes place."""
        buffer = self._take()
        while buffer is None:
            ahead = next((k for k in reversed(self._expected) if k in self._reading), None)
            if ahead is not None:
                self._discard(ahead)
            if self._left:
                self._wait(self._left[0][0])
            elif self._writing:
                self._wait(next(iter(self._writing.values()))[0])
            else:
                raise RuntimeError(f"all {self._limit} buffers of the store are in the caller's hands")
            self._check()
            buffer = self._take()
        return buffer

    def _hand(self, buffer: Buffer) -> NDArray[np.float32]:
        self._handed[buffer.floats.ctypes.data] = buffer
        return buffer.floats

    def _new_slot(self) -> int:
        if self._free_slots:
            return heapq.heappop(self._free_slots)
        slot = self._next_slot
        try:
            self.files.reserve(slot, max(1, PIECE // self.layout.total))
        except SubsaltError:
            # not even the next one, or only not a whole piece
            self.files.reserve(slot)
        self._next_slot += 1
        return slot

    def _wait(self, ticket: object) -> None:
        begin = time.perf_counter()
        while not self._pool.wait(ticket, PATIENCE):  # type: ignore[arg-type]
            pass
        self.counts.stall_seconds += time.perf_counter() - begin
        self._reap()

    def _outcome(self, ticket: object, reading: bool) -> Outcome:
        outcome: Outcome = ticket.result()  # type: ignore[attr-defined]
        if reading:
            self.counts.disk_read += outcome.moved
            self.counts.get_seconds += outcome.seconds
        else:
            self.counts.disk_written += outcome.moved
            self.counts.put_seconds += outcome.seconds
        return outcome

    def _reap(self) -> None:
        """Take back the buffers of transfers that are over."""
        for key in [k for k, (t, _, _) in self._writing.items() if self._pool.wait(t, 0)]:  # type: ignore[arg-type]
            ticket, buffer, slot = self._writing.pop(key)
            outcome = self._outcome(ticket, reading=False)
            self._free.append(buffer)
            if outcome.error:
                path = self.files.place(slot)[2]
                self._fail(OSError(outcome.error, os.strerror(outcome.error)), path, outcome.offset)
        over = [item for item in self._left if self._pool.wait(item[0], 0)]  # type: ignore[arg-type]
        for item in over:
            self._left.remove(item)
            _, buffer_, slot_ = item
            if buffer_ is not None:
                self._free.append(buffer_)
            if slot_ is not None:
                heapq.heappush(self._free_slots, slot_)

    def _fail(self, error: OSError, path: Path, offset: int = 0) -> None:
        if self._failure is None:
            need = self.layout.total * max(1, len(self._writing) + 1)
            self._failure = explain_os_error(error, path, need)
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) and offset:
                self._failure.message += f" at byte {offset}"

    def _discard(self, key: int) -> None:
        """Let go of a record that was read ahead."""
        ticket, buffer = self._reading.pop(key)
        self._left.append((ticket, buffer, None))
        self._reap()

    def _read(self, key: int, buffer: Buffer, urgent: bool = False) -> None:
        slot = self._slots[key]
        fd, offset, path = self.files.place(slot.number)
        if fd < 0:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        ask("pread", str(path), self.layout.total)
        self._reading[key] = (self._pool.read(fd, offset, buffer, slot.payload, urgent), buffer)

    def _read_ahead(self) -> None:
        for key in self._expected:
            if key in self._reading:
                continue
            if key in self._writing or key not in self._slots:
                break
            buffer = self._take()
            if buffer is None:
                break
            try:
                self._read(key, buffer)
            except OSError:
                # get will tell
                self._free.append(buffer)
                break

    def _verify(self, key: int, buffer: Buffer, outcome: Outcome) -> str:
        """Return what is wrong with a record that was read; empty when it is as it was put."""
        slot = self._slots[key]
        if outcome.error:
            return f"it cannot be read: {os.strerror(outcome.error)} at byte {outcome.offset}"
        if outcome.damage:
            return outcome.damage
        header = buffer.bytes[:PAGE].tobytes()
        wrong = self.identity.differs(header, key, slot.payload)
        if not wrong and header_numbers(header)[0] != slot.sequence:
            wrong = f"it is put number {header_numbers(header)[0]} in place of {slot.sequence}"
        return wrong

    def _damaged(self, key: int, reason: str) -> None:
        self.counts.damaged += 1
        where = f" ({self.files.place(self._slots[key].number)[2]})" if key in self._slots else ""
        raise SnapshotDamaged(key, reason + where)
