"""The buffers of a store, and the transfers that use them."""

from __future__ import annotations

import errno
import heapq
import os
import time
from dataclasses import dataclass
from pathlib import Path

from subsalt.checkpoint.storage.record import Identity, Layout
from subsalt.checkpoint.storage.store import StoreCounts
from subsalt.checkpoint.storage.stripes import Stripes
from subsalt.checkpoint.storage.transfers import Buffer, Buffers, Outcome, Pool, Ticket
from subsalt.errors import SubsaltError
from subsalt.io.faults import ask
from subsalt.io.publish import explain_os_error


@dataclass(frozen=True)
class Slot:
    """Where a record lies, and what its header must say."""

    number: int
    sequence: int
    payload: int


@dataclass
class Moving:
    """A transfer under way; `frees` is a slot that comes free with it."""

    ticket: Ticket
    buffer: Buffer
    slot: Slot
    frees: int | None = None


class Flight:
    """What is on its way between the buffers of a store and its files.

    Parameters
    ----------
    pool : Pool
        Threads.
    files : Stripes
        Files.
    identity : Identity
        Of the records.
    buffers : Buffers
        That there may be.
    counts : StoreCounts
        Takes bytes and seconds.
    """

    def __init__(
        self, pool: Pool, files: Stripes, identity: Identity, buffers: Buffers, counts: StoreCounts
    ) -> None:
        self.pool, self.files, self.buffers, self.counts = pool, files, buffers, counts
        self.record = identity.record
        self.layout = Layout.of(identity.record, identity.block)
        self._made = 0
        self.free: list[Buffer] = []
        self.free_slots: list[int] = []
        self.writing: dict[int, Moving] = {}
        self.reading: dict[int, Moving] = {}
        #: transfers whose outcome nobody wants: buffer and slot come free when they are over
        self._left: list[Moving] = []
        self.failure: SubsaltError | None = None

    def take(self) -> Buffer | None:
        """Return a buffer if one is free now."""
        self.reap()
        if self.free:
            return self.free.pop()
        if self._made < self.buffers.limit:
            spare = self.buffers.spare
            buffer = spare.pop() if spare else Buffer(self.layout, self.record, self.buffers.lock)
            self._made += 1
            return buffer
        return None

    def wait_for_any(self) -> bool:
        """Wait for the oldest transfer that brings a buffer back; say whether there is one."""
        oldest = self._left[0] if self._left else next(iter(self.writing.values()), None)
        if oldest is None:
            return False
        self.wait(oldest.ticket)
        return True

    def wait(self, ticket: Ticket) -> None:
        """Wait for a transfer; the time counts as stalled."""
        begin = time.perf_counter()
        self.pool.wait(ticket)
        self.counts.stall_seconds += time.perf_counter() - begin
        self.reap()

    def write(self, key: int, buffer: Buffer, slot: Slot) -> None:
        """Send a buffer to its slot."""
        where = self.files.place(slot.number)
        layout = Layout(slot.payload, self.layout.block)
        try:
            ask("pwrite", str(where.path), layout.total)
        except OSError as e:
            self.free.append(buffer)
            self._fail(e, where.path)
            return
        ticket = self.pool.write(where, buffer, layout, slot.sequence)
        self.writing[key] = Moving(ticket, buffer, slot)

    def read(self, key: int, buffer: Buffer, slot: Slot, urgent: bool = False) -> None:
        """Fetch a slot into a buffer; OSError when it cannot even begin."""
        where = self.files.place(slot.number)
        layout = Layout(slot.payload, self.layout.block)
        try:
            if where.fd < 0:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(where.path))
            ask("pread", str(where.path), layout.total)
        except OSError:
            self.free.append(buffer)
            raise
        ticket = self.pool.read(where, buffer, layout, slot.sequence, urgent)
        self.reading[key] = Moving(ticket, buffer, slot)

    def arrived(self, key: int) -> tuple[Buffer, Outcome]:
        """Wait for a record that is being read."""
        moving = self.reading[key]
        self.wait(moving.ticket)
        del self.reading[key]
        return moving.buffer, self._outcome(moving, reading=True)

    def discard(self, key: int, frees: int | None = None) -> None:
        """Let go of what is on its way for `key`; its slot may come free with it."""
        for where in (self.writing, self.reading):
            moving = where.pop(key, None)
            if moving is not None:
                moving.frees, frees = frees, None
                self._left.append(moving)
        if frees is not None:
            heapq.heappush(self.free_slots, frees)
        self.reap()

    def reap(self) -> None:
        """Take back the buffers of transfers that are over."""
        for key in [k for k, m in self.writing.items() if self.pool.is_over(m.ticket)]:
            self._landed(self.writing.pop(key))
        for moving in [m for m in self._left if self.pool.is_over(m.ticket)]:
            self._left.remove(moving)
            self._landed(moving)

    def drain(self) -> None:
        """Wait for everything under way, whatever becomes of it, and leave all buffers to the next store."""
        for moving in [*self.writing.values(), *self.reading.values(), *self._left]:
            self.pool.wait(moving.ticket)
        self.reap()
        self.buffers.spare += [*self.free, *(moving.buffer for moving in self.reading.values())]
        self.reading.clear()
        self.free.clear()
        self._made = self.buffers.limit

    def _landed(self, moving: Moving) -> None:
        outcome = self._outcome(moving, reading=not moving.ticket.writes)
        self.free.append(moving.buffer)
        if moving.frees is not None:
            heapq.heappush(self.free_slots, moving.frees)
        if moving.ticket.writes and outcome.error:
            path = self.files.place(moving.slot.number).path
            self._fail(OSError(outcome.error, os.strerror(outcome.error)), path, outcome.offset)

    def _outcome(self, moving: Moving, reading: bool) -> Outcome:
        outcome = self.pool.outcome(moving.ticket)
        if reading:
            self.counts.disk_read += outcome.moved
            self.counts.get_seconds += outcome.seconds
        else:
            self.counts.disk_written += outcome.moved
            self.counts.put_seconds += outcome.seconds
        return outcome

    def _fail(self, error: OSError, path: Path, offset: int = 0) -> None:
        if self.failure is not None:
            return
        self.failure = explain_os_error(error, path, self.layout.total * (len(self.writing) + 1))
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) and offset:
            self.failure.message += f" at byte {offset}"
