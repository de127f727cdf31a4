"""Input of a shot on a group of ranks: traces that each rank reads ahead, or what rank 0 reads and sends to all.

Each rank reads its traces ahead in a thread of its own while a shot is computed; by `[parallel] io = "broadcast"`
rank 0 of a group reads traces and windows of the model.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey
from subsalt.io import broadcast
from subsalt.io.broadcast import Broadcast, SharedModel
from subsalt.methods.rtm.modelling import ModellingSetup
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.parallel.comm import Comm

#: receivers of a shot that a rank needs: None for all
Rows = NDArray[np.int64] | None


@dataclass(frozen=True)
class Traces:
    """Traces of some receivers of a shot: `data` (len(rows), nt)."""

    rows: Rows
    data: NDArray[np.float32]


class TracePrefetcher:
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

    def __enter__(self) -> TracePrefetcher:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> None:
        # an error need not wait for a slow file server before it is reported
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


Setup = TypeVar("Setup", MigrationSetup, ModellingSetup)


def reading_of(io: str, group: Comm) -> Broadcast | None:
    """Return what reads for a group by `[parallel] io`; None where every rank reads for itself, or is alone."""
    reading = broadcast.of(io, group)
    return reading if isinstance(reading, Broadcast) and group.size > 1 else None


def with_input(setup: Setup, reading: Broadcast | None) -> Setup:
    """Return the setup with a model whose windows come by `reading`."""
    return setup if reading is None else replace(setup, model=SharedModel(setup.model, reading))


class BroadcastTraceReader(TracePrefetcher):
    """Traces that rank 0 of a group reads when a shot begins; nothing is read ahead, for sending is collective.

    Parameters
    ----------
    survey : Survey
        Whose reader is called, on rank 0.
    rows_of : callable
        As of `TracePrefetcher`.
    reading : Broadcast
        Broadcasts of the group.
    """

    def __init__(self, survey: Survey, rows_of: Callable[[Shot], Rows], reading: Broadcast) -> None:
        super().__init__(survey, rows_of)
        self._reading = reading

    def prepare(self, shot: Shot) -> None:
        """Do nothing: the traces come with `take`."""

    def take(self, shot: Shot) -> Traces:
        """Return the traces of a shot; collective over the group."""

        def read(some: NDArray[np.int64], out: NDArray) -> None:
            out[:] = self._survey.traces(shot, some)

        rows = self._rows_of(shot)
        mine = np.arange(len(shot.rcv)) if rows is None else rows
        data = np.empty((len(mine), self._survey.time.nt), np.float32)
        self._reading.rows(read, len(shot.rcv), mine, data)
        return Traces(rows, data)
