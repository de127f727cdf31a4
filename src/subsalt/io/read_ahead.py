"""Reading by a thread into two buffers: one is used while the other is filled."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Piece = TypeVar("Piece")


class ReadAhead(Generic[Piece]):
    """Pieces of a file in a fixed order, read ahead by a thread; a context manager.

    Parameters
    ----------
    pieces : sequence
        Pieces to read, in this order.
    read : callable
        ``read(piece, buffer)`` fills a buffer; called in the thread alone until `close`.
    shape : tuple of int
        Shape of a buffer, float32.
    name : str
        Name of the thread.

    Attributes
    ----------
    waited : float
        Seconds that `next` waited for the thread.
    read_seconds : float
        Seconds that the thread read.
    """

    def __init__(
        self,
        pieces: Sequence[Piece],
        read: Callable[[Piece, NDArray[np.float32]], None],
        shape: tuple[int, ...],
        name: str,
    ) -> None:
        self.waited = self.read_seconds = 0.0
        self._pieces, self._read, self._left = pieces, read, len(pieces)
        self._free: SimpleQueue[NDArray[np.float32] | None] = SimpleQueue()
        self._full: SimpleQueue[tuple[Piece, NDArray[np.float32]] | BaseException] = SimpleQueue()
        for _ in range(min(2, len(pieces))):
            self._free.put(np.empty(shape, np.float32))
        self._used: NDArray[np.float32] | None = None
        self._failure: BaseException | None = None
        self._stopped = False
        self._thread: Thread | None = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for piece in self._pieces:
                buffer = self._free.get()
                if buffer is None or self._stopped:
                    return
                begin = time.perf_counter()
                self._read(piece, buffer)
                self.read_seconds += time.perf_counter() - begin
                self._full.put((piece, buffer))
        except BaseException as e:  # raised where the piece is asked for
            self._full.put(e)

    def next(self) -> tuple[Piece, NDArray[np.float32]]:
        """Return the next piece and the buffer with its values, valid until the next call.

        Raises
        ------
        IndexError
            When there is none left.
        DataError, ResourceError
            Error that reading it met.
        """
        if self._failure is not None:
            raise self._failure
        if self._left == 0 or self._thread is None:
            raise IndexError("nothing is left to read")
        if self._used is not None:
            self._free.put(self._used)
            self._used = None
        begin = time.perf_counter()
        ready = self._full.get()
        self.waited += time.perf_counter() - begin
        if isinstance(ready, BaseException):
            self._failure = ready
            raise ready
        self._left -= 1
        self._used = ready[1]
        return ready

    def close(self) -> None:
        """Stop the thread; the buffers are no longer valid. More than once is fine."""
        if self._thread is not None:
            self._stopped = True
            self._free.put(None)
            self._thread.join()
            self._thread = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
