"""Records on their way between buffers and files: the face of the compiled threads (native/snapshot)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subsalt import _native
from subsalt.checkpoint.storage.record import PAGE, Layout

#: seconds of one wait, before signals are looked at
PATIENCE = 0.1

#: whether blocks get checksums: only to measure what they cost is this ever false, and only for pools made then
CHECKSUMS = True

#: what a transfer in flight is called by those who only wait for it
Ticket = Any


class Buffer:
    """Memory of one record: header page, payload, trailer; page-aligned.

    Parameters
    ----------
    layout : Layout
        Of the largest record that is to fit.
    record : int
        Floats of it.
    lock : callable, optional
        Makes memory known to a device, as long as what it returns lives.
    """

    def __init__(self, layout: Layout, record: int, lock: Callable[[NDArray], object] | None = None) -> None:
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


class Where(NamedTuple):
    """Where a slot lies; the descriptor is -1 where its file is missing."""

    fd: int
    offset: int
    path: Path
    direct: bool


@dataclass(frozen=True)
class Outcome:
    """What became of a transfer: bytes moved, busy seconds, the system's error and where, or what is damaged."""

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
        Of the pool.
    """

    def __init__(self, threads: int) -> None:
        self._native = _native.scratch.Pool(threads, CHECKSUMS)

    def write(self, where: Where, buffer: Buffer, layout: Layout, sequence: int) -> Ticket:
        """Write the record in a buffer."""
        fd, offset, _, direct = where
        return self._native.submit(
            fd, offset, buffer.native, layout.payload, layout.block, True, direct, sequence, False
        )

    def read(
        self, where: Where, buffer: Buffer, layout: Layout, sequence: int, urgent: bool = False
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
