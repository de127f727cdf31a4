"""Time slices brought while a wavefield is stepped: read ahead by a thread, or read by one rank and sent to all."""

from __future__ import annotations

import time
from collections.abc import Sequence
from queue import SimpleQueue
from threading import Thread
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.io.broadcast import Reading
from subsalt.io.prestack.time_slices import TimeSlices


class Feed(Protocol):
    """Slices in a fixed order, one at a time."""

    waited: float
    read_seconds: float

    def next(self) -> NDArray[np.float32]:
        """Return the next slice at this rank's x positions; valid until the next call."""

    def close(self) -> None:
        """Stop reading."""


class Ahead:
    """The slices of some x positions, read by a thread into two buffers: one is used while the other is filled.

    Parameters
    ----------
    slices : TimeSlices
        The file; only this thread reads it until `close`.
    lo, hi : int
        x positions lo ... hi - 1.
    order : sequence of int
        Numbers of the slices.

    Attributes
    ----------
    waited : float
        Seconds that `next` waited for the thread.
    read_seconds : float
        Seconds that the thread read.
    """

    def __init__(self, slices: TimeSlices, lo: int, hi: int, order: Sequence[int]) -> None:
        self.waited = self.read_seconds = 0.0
        self._slices, self._lo, self._hi, self._order = slices, lo, hi, list(order)
        self._free: SimpleQueue[NDArray[np.float32] | None] = SimpleQueue()
        self._full: SimpleQueue[NDArray[np.float32] | BaseException] = SimpleQueue()
        for _ in range(2):
            self._free.put(np.empty((hi - lo, *slices.shape[1:]), np.float32))
        self._used: NDArray[np.float32] | None = None
        self._left = len(self._order)
        self._failure: BaseException | None = None
        self._thread: Thread | None = Thread(target=self._run, name="slices", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for it in self._order:
                buffer = self._free.get()
                if buffer is None:
                    return
                begin = time.perf_counter()
                if self._hi > self._lo:
                    self._slices.read(it, self._lo, self._hi, buffer)
                self.read_seconds += time.perf_counter() - begin
                self._full.put(buffer)
        except BaseException as e:  # raised where the slice is asked for
            self._full.put(e)

    def next(self) -> NDArray[np.float32]:
        """Return the next slice; valid until the next call.

        Raises
        ------
        IndexError
            When there is none left.
        DataError, ResourceError
            What reading it met.
        """
        if self._failure is not None:
            raise self._failure
        if self._left == 0 or self._thread is None:
            raise IndexError("no slice is left")
        if self._used is not None:
            self._free.put(self._used)
            self._used = None
        begin = time.perf_counter()
        found = self._full.get()
        self.waited += time.perf_counter() - begin
        if isinstance(found, BaseException):
            self._failure = found
            raise found
        self._left -= 1
        self._used = found
        return found

    def close(self) -> None:
        """Stop the thread; the buffers are no longer valid. More than once is fine."""
        if self._thread is not None:
            self._free.put(None)
            self._thread.join()
            self._thread = None

    def __enter__(self) -> Ahead:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Together:
    """The same slices by a `Reading` in the thread that steps: for `broadcast`, where everybody waits.

    Parameters
    ----------
    slices : TimeSlices
        The file; needed on the rank that reads.
    lo, hi, order
        As of `Ahead`.
    reading : Reading
        How the planes come.
    """

    def __init__(self, slices: TimeSlices, lo: int, hi: int, order: Sequence[int], reading: Reading) -> None:
        self.waited = self.read_seconds = 0.0
        self._slices, self._lo, self._hi, self._reading = slices, lo, hi, reading
        self._order = list(order)[::-1]

    def next(self) -> NDArray[np.float32]:
        """Return the next slice; valid until the next call. Collective."""
        if not self._order:
            raise IndexError("no slice is left")
        it = self._order.pop()
        begin = time.perf_counter()
        found: NDArray[np.float32] = self._reading.planes(self._slices.slice(it), self._lo, self._hi)
        self.waited += time.perf_counter() - begin
        self.read_seconds = self.waited
        return found

    def close(self) -> None:
        """Nothing to stop."""


def feed(slices: TimeSlices, lo: int, hi: int, order: Sequence[int], reading: Reading) -> Feed:
    """Return what brings slices: read ahead by every rank, or together where `reading` is collective."""
    if reading.collective:
        return Together(slices, lo, hi, order, reading)
    return Ahead(slices, lo, hi, order)
