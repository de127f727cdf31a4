"""Time slices brought while a wavefield is stepped: read ahead by a thread, or read by one rank and sent to all."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.io.broadcast import Reading
from subsalt.io.prestack.time_slices import TimeSlices
from subsalt.io.read_ahead import ReadAhead


class SliceStream(Protocol):
    """Slices in a fixed order, one at a time."""

    waited: float
    read_seconds: float

    def next_slice(self) -> NDArray[np.float32]:
        """Return the next slice at this rank's x positions; valid until the next call."""

    def close(self) -> None:
        """Stop reading."""


class Ahead(ReadAhead[int]):
    """The slices of some x positions, read by a thread.

    Parameters
    ----------
    slices : TimeSlices
        The file; only this thread reads it until `close`.
    lo, hi : int
        x positions lo ... hi - 1.
    order : sequence of int
        Numbers of the slices.
    """

    def __init__(self, slices: TimeSlices, lo: int, hi: int, order: Sequence[int]) -> None:
        def read(it: int, buffer: NDArray[np.float32]) -> None:
            if hi > lo:
                slices.read(it, lo, hi, buffer)

        super().__init__(order, read, (hi - lo, *slices.shape[1:]), name="slices")

    def next_slice(self) -> NDArray[np.float32]:
        """Return the next slice; valid until the next call; errors as of `next`."""
        return self.next()[1]


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

    def next_slice(self) -> NDArray[np.float32]:
        """Return the next slice; valid until the next call. Collective."""
        if not self._order:
            raise IndexError("no slice is left")
        it = self._order.pop()
        begin = time.perf_counter()
        values: NDArray[np.float32] = self._reading.planes(self._slices.slice(it), self._lo, self._hi)
        self.waited += time.perf_counter() - begin
        self.read_seconds = self.waited
        return values

    def close(self) -> None:
        """Nothing to stop."""


def stream_slices(
    slices: TimeSlices, lo: int, hi: int, order: Sequence[int], reading: Reading
) -> SliceStream:
    """Return the slices `order`: read ahead by every rank, or together where `reading` is collective."""
    if reading.collective:
        return Together(slices, lo, hi, order, reading)
    return Ahead(slices, lo, hi, order)
