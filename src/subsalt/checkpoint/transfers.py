"""Records on their way between buffers and files: threads, buffers, and what became of each transfer."""

from __future__ import annotations

import os
import time
import zlib
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.checkpoint.record import PAGE, TAIL_HEAD, Layout, trailer_head


class Buffer:
    """Memory of one record: header page, payload, trailer; page-aligned."""

    def __init__(self, record: int) -> None:
        layout = Layout(4 * record)
        raw = np.zeros(layout.total + PAGE, dtype=np.uint8)
        first = -raw.ctypes.data % PAGE
        self.bytes: NDArray[np.uint8] = raw[first : first + layout.total]
        self.floats: NDArray[np.float32] = self.bytes[PAGE : PAGE + 4 * record].view(np.float32)


@dataclass
class Outcome:
    """What became of a transfer: bytes moved, busy seconds, the system's error and where, or what is damaged."""

    moved: int = 0
    seconds: float = 0.0
    error: int = 0
    offset: int = 0
    damage: str = ""


class Pool:
    """Threads that write and read records at positions.

    Parameters
    ----------
    threads : int
        Of the pool.
    """

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="subsalt-snapshot")

    def write(self, fd: int, offset: int, buffer: Buffer, payload: int, sequence: int) -> Future[Outcome]:
        """Write the record in a buffer."""
        return self._threads.submit(_write, fd, offset, buffer, Layout(payload), sequence)

    def read(
        self, fd: int, offset: int, buffer: Buffer, payload: int, urgent: bool = False
    ) -> Future[Outcome]:
        """Read a record into a buffer."""
        return self._threads.submit(_read, fd, offset, buffer, Layout(payload))

    def wait(self, ticket: Future[Outcome], seconds: float) -> bool:
        """Wait for a transfer, at most so long; say whether it is over."""
        return bool(wait([ticket], seconds).done)

    def stop(self) -> None:
        """End the threads; what has not begun is left."""
        self._threads.shutdown(wait=True, cancel_futures=True)


def _sum(data: NDArray[np.uint8]) -> bytes:
    return zlib.crc32(data.tobytes()).to_bytes(4, "little")


def _seal(buffer: Buffer, layout: Layout, sequence: int) -> NDArray[np.uint8]:
    """Return the trailer of a record; pads the payload and seals the header."""
    data = buffer.bytes
    data[PAGE + layout.payload : PAGE + layout.padded] = 0
    data[PAGE - 4 : PAGE] = np.frombuffer(_sum(data[: PAGE - 4]), np.uint8)
    blocks = data[PAGE : PAGE + layout.padded]
    sums = [_sum(blocks[i : i + layout.block]) for i in range(0, layout.padded, layout.block)]
    text = (trailer_head(sequence, layout) + b"".join(sums)).ljust(layout.trailer - 4, b"\0")
    trailer = np.frombuffer(text + zlib.crc32(text).to_bytes(4, "little"), np.uint8)
    return trailer


def _write(fd: int, offset: int, buffer: Buffer, layout: Layout, sequence: int) -> Outcome:
    begin = time.perf_counter()
    end = PAGE + layout.padded
    buffer.bytes[end : end + layout.trailer] = _seal(buffer, layout, sequence)
    done = 0
    try:
        while done < layout.total:
            done += os.pwrite(fd, buffer.bytes[done : layout.total], offset + done)  # type: ignore[arg-type]
    except OSError as e:
        return Outcome(done, time.perf_counter() - begin, e.errno or 5, offset + done)
    return Outcome(done, time.perf_counter() - begin)


def _read(fd: int, offset: int, buffer: Buffer, layout: Layout) -> Outcome:
    begin = time.perf_counter()
    data, done = buffer.bytes, 0
    try:
        while done < layout.total:
            n = os.preadv(fd, [data[done : layout.total]], offset + done)  # type: ignore[list-item]
            if n == 0:
                return Outcome(
                    done, time.perf_counter() - begin, 0, offset + done, f"it ends at byte {offset + done}"
                )
            done += n
    except OSError as e:
        return Outcome(done, time.perf_counter() - begin, e.errno or 5, offset + done)
    damage = ""
    if data[PAGE - 4 : PAGE].tobytes() != _sum(data[: PAGE - 4]):
        damage = "its header fails its checksum"
    else:
        found = data[PAGE + layout.padded : layout.total]
        sequence = int.from_bytes(found[8:16].tobytes(), "little")
        expected = _seal(buffer, layout, sequence)
        if (found != expected).any():
            at = int(np.flatnonzero(found != expected)[0])
            block = (at - TAIL_HEAD.size) // 4
            damage = f"block {block} of {layout.blocks} fails its checksum"
    return Outcome(done, time.perf_counter() - begin, 0, 0, damage)
