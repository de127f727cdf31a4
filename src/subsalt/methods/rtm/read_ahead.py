"""The traces of the shots to come: read by a thread of their own while this shot is computed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey

#: receivers of a shot that a rank needs: None for all
Rows = NDArray[np.int64] | None


@dataclass(frozen=True)
class Traces:
    """Traces of some receivers of a shot: `data` (len(rows), nt)."""

    rows: Rows
    data: NDArray[np.float32]


class TraceReader:
    """Reads traces ahead, one shot at most; a context manager.

    Parameters
    ----------
    survey : Survey
        Whose reader is called, from one thread.
    rows_of : callable
        ``rows_of(shot)``: the receivers whose traces this rank needs; None for all. Called from that thread too.
    """

    def __init__(self, survey: Survey, rows_of: Callable[[Shot], Rows] = lambda shot: None) -> None:
        self._survey, self._rows_of = survey, rows_of
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="traces")
        self._ahead: dict[int, Future[Traces]] = {}

    def __enter__(self) -> TraceReader:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> None:
        # an error need not wait for a slow file server before it is told
        self._pool.shutdown(wait=kind is None, cancel_futures=True)

    def prepare(self, shot: Shot) -> None:
        """Begin to read the traces of a shot; returns at once."""
        if shot.id not in self._ahead:
            self._ahead[shot.id] = self._pool.submit(self._read, shot)

    def take(self, shot: Shot) -> Traces:
        """Return the traces of a shot; waits where they are not there yet, and raises what their reading raised."""
        self.prepare(shot)
        return self._ahead.pop(shot.id).result()

    def _read(self, shot: Shot) -> Traces:
        rows = self._rows_of(shot)
        return Traces(rows, self._survey.traces(shot, rows))
