"""Records on their way between buffers and files: the face of the compiled threads (native/snapshot).

The files of a store: one per directory, records distributed in turn, at offsets that follow from their number.

The buffers of a store, and the transfers that use them.
"""

from __future__ import annotations

import errno
import heapq
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subsalt import _native
from subsalt.checkpoint.storage.record import PAGE, Identity, RecordLayout
from subsalt.checkpoint.storage.store import StoreCounts
from subsalt.errors import SubsaltError
from subsalt.host import human
from subsalt.io import scratch
from subsalt.io.faults import ask
from subsalt.io.publish import explain_os_error, remove

#: seconds of one wait, before signals are looked at
PATIENCE = 0.1

#: whether blocks get checksums: only to measure what they cost is this ever false, and only for pools made then
CHECKSUMS = True

#: handle of a transfer in flight, for those who only wait for it
Ticket = Any


class Buffer:
    """Memory of one record: header page, payload, trailer; page-aligned.

    Parameters
    ----------
    layout : RecordLayout
        Layout of the largest record that has to fit.
    record : int
        Floats of it.
    lock : callable, optional
        Makes memory known to a device, as long as what it returns lives.
    """

    def __init__(
        self, layout: RecordLayout, record: int, lock: Callable[[NDArray], object] | None = None
    ) -> None:
        try:
            self.native = _native.scratch.Buffer(layout.total)
        except MemoryError as e:
            raise MemoryError(f"no memory for a buffer of {layout.total} bytes for snapshots") from e
        self.bytes: NDArray[np.uint8] = self.native.bytes
        self._lock = None if lock is None else lock(self.bytes)
        self.floats: NDArray[np.float32] = self.bytes[PAGE : PAGE + 4 * record].view(np.float32)

    @property
    def address(self) -> int:
        """Where the payload starts: by it an array is known again."""
        return int(self.floats.ctypes.data)


@dataclass
class Buffers:
    """The buffers that a store may have.

    Parameters
    ----------
    limit : int
        Records in memory at most.
    spare : list of Buffer
        Buffers of this size that an earlier store left; those of this one are added when it ends, so that memory that
        was touched once serves the next shot.
    lock : callable, optional
        Makes the memory of a buffer known to a device, as long as what it returns lives.
    """

    limit: int
    spare: list[Buffer] = field(default_factory=list)
    lock: Callable[[NDArray], object] | None = None


class SlotInFile(NamedTuple):
    """Where a slot lies; the descriptor is -1 where its file is missing."""

    fd: int
    offset: int
    path: Path
    direct: bool


@dataclass(frozen=True)
class Outcome:
    """Outcome of a transfer: bytes moved, busy seconds, the system's error and its place, or what is damaged."""

    moved: int
    seconds: float
    error: int
    offset: int
    damage: str


class Pool:
    """Threads that write and read records at positions; they serve any number of stores.

    Parameters
    ----------
    threads : int
        Threads of the pool.
    """

    def __init__(self, threads: int) -> None:
        self._native = _native.scratch.Pool(threads, CHECKSUMS)

    def write(self, where: SlotInFile, buffer: Buffer, layout: RecordLayout, sequence: int) -> Ticket:
        """Write the record in a buffer."""
        fd, offset, _, direct = where
        return self._native.submit(
            fd, offset, buffer.native, layout.payload, layout.block, True, direct, sequence, False
        )

    def read(
        self, where: SlotInFile, buffer: Buffer, layout: RecordLayout, sequence: int, urgent: bool = False
    ) -> Ticket:
        """Read a record into a buffer and compare its checksums; an urgent one goes before all that wait."""
        fd, offset, _, direct = where
        return self._native.submit(
            fd, offset, buffer.native, layout.payload, layout.block, False, direct, sequence, urgent
        )

    def is_over(self, ticket: Ticket) -> bool:
        """Say whether a transfer is over."""
        return bool(self._native.wait(ticket, 0.0))

    def wait(self, ticket: Ticket) -> None:
        """Wait until a transfer is over; signals are taken meanwhile."""
        while not self._native.wait(ticket, PATIENCE):
            pass

    def outcome(self, ticket: Ticket) -> Outcome:
        """Return what became of a transfer that is over."""
        o = ticket.outcome
        return Outcome(o.moved, o.seconds, o.error, o.offset, _damage(o))

    def stop(self) -> None:
        """End the threads; what has begun is finished, what has not is left (ECANCELED)."""
        self._native.stop()


def _damage(outcome: Any) -> str:
    """Return what is wrong with a record that was read, in words."""
    return (
        "",
        f"the file ends in its header, at byte {outcome.offset}",
        f"the file ends at byte {outcome.offset}, before its end",
        "the header fails its checksum",
        "the trailer fails its checksum",
        f"block {outcome.block} fails its checksum",
    )[outcome.damage]


def sealed(page: bytes | bytearray | memoryview) -> bool:
    """Say whether the bytes of a header or trailer end in their checksum."""
    data = np.frombuffer(page, np.uint8)
    return int(_native.scratch.crc32c(data[:-4])) == int.from_bytes(bytes(page[-4:]), "little")


#: room is asked for in pieces of at least this many bytes
PIECE = 64 << 20


class Stripes:
    """Files over which the slots of a store are distributed: slot i is the (i // n)-th of file i mod n.

    Parameters
    ----------
    paths : list of Path
        One per directory; the folders exist.
    slot : int
        Bytes of a slot.
    direct : bool
        Past the page cache, where the file system can.
    resume : bool
        Open what an earlier process left, as far as it is there.
    writing : bool
        Whether records will be written.
    """

    def __init__(
        self, paths: list[Path], slot: int, *, direct: bool, resume: bool = False, writing: bool = True
    ) -> None:
        self.paths, self.slot = paths, slot
        self._fds: list[int] = []
        self._direct: list[bool] = []
        self._room = [0] * len(paths)
        self._removed = False
        try:
            for path in paths:
                fd, works = -1, direct
                if resume:
                    with suppress(FileNotFoundError):
                        fd, works = scratch.reopen(path, direct, writing)
                if fd < 0 and writing:
                    fd, works = scratch.create(path, direct)
                self._fds.append(fd)
                self._direct.append(works)
        except BaseException as e:
            self.close()
            if isinstance(e, OSError) and e.filename is not None:
                raise explain_os_error(e, e.filename) from e
            raise

    @property
    def direct(self) -> bool:
        """Whether all files are direct."""
        return all(self._direct)

    def place(self, slot: int) -> SlotInFile:
        """Return where a slot lies."""
        i = slot % len(self.paths)
        return SlotInFile(self._fds[i], slot // len(self.paths) * self.slot, self.paths[i], self._direct[i])

    def sizes(self) -> list[int]:
        """Return the bytes of each file; 0 where one is missing."""
        return [os.fstat(fd).st_size if fd >= 0 else 0 for fd in self._fds]

    def slots(self) -> list[int]:
        """Return the numbers of the slots that the files have at least a part of."""
        n = len(self._fds)
        return sorted(i + k * n for i, size in enumerate(self.sizes()) for k in range(-(-size // self.slot)))

    def has_room(self, slot: int) -> bool:
        """Say whether room for a slot was reserved."""
        n = len(self.paths)
        return (slot // n + 1) * self.slot <= self._room[slot % n]

    def reserve(self, slot: int, slots: int = 1) -> None:
        """Ask for room for `slots` slots from `slot` on.

        Raises
        ------
        DiskError
            ``need X, have Y at PATH``.
        """
        n = len(self._fds)
        ends: dict[int, int] = {}
        for i in range(slot, slot + slots):
            ends[i % n] = (i // n + 1) * self.slot
        for i, end in ends.items():
            have = self._room[i]
            if end <= have:
                continue
            path = self.paths[i]
            try:
                scratch.allocate(self._fds[i], path, have, end - have)
            except OSError as e:
                raise explain_os_error(e, path, end - have) from e
            self._room[i] = end

    def sync(self) -> None:
        """Wait until what was written is on the device."""
        for fd, path in zip(self._fds, self.paths, strict=True):
            try:
                if fd >= 0:
                    scratch.sync_data(fd, path)
            except OSError as e:
                raise explain_os_error(e, path) from e

    def close(self) -> None:
        """Close the files; more than once is fine. Those that were removed are closed in the background."""
        close = scratch.close_removed if self._removed else os.close
        while self._fds:
            fd = self._fds.pop()
            if fd >= 0:
                close(fd)

    def remove(self) -> None:
        """Remove the files."""
        self._removed = True
        for path in self.paths:
            remove(path)

    def __str__(self) -> str:
        """Return the files for people."""
        return ", ".join(f"{p} ({human(s)})" for p, s in zip(self.paths, self.sizes(), strict=True))


@dataclass(frozen=True)
class Slot:
    """Where a record lies, and what its header must say."""

    number: int
    sequence: int
    payload: int


@dataclass
class Moving:
    """A transfer in flight; `frees` is a slot that becomes free with it."""

    ticket: Ticket
    buffer: Buffer
    slot: Slot
    frees: int | None = None


class Flight:
    """Transfers in flight between the buffers of a store and its files.

    Parameters
    ----------
    pool : Pool
        Threads.
    files : Stripes
        Files.
    identity : Identity
        Identity of the records.
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
        self.layout = RecordLayout.of(identity.record, identity.block)
        self._made = 0
        self.free: list[Buffer] = []
        self.free_slots: list[int] = []
        self.writing: dict[int, Moving] = {}
        self.reading: dict[int, Moving] = {}
        #: transfers whose outcome is not needed: buffer and slot come free when they are over
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
        layout = RecordLayout(slot.payload, self.layout.block)
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
        layout = RecordLayout(slot.payload, self.layout.block)
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
        """Wait for all transfers in flight, whatever their outcome, and leave all buffers to the next store."""
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
