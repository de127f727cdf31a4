"""Input by `[parallel] io = "broadcast"`: rank 0 of a group reads model windows and traces and sends them to all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey
from subsalt.io import broadcast
from subsalt.io.broadcast import Broadcast, SharedModel
from subsalt.methods.rtm.modelling import ModellingSetup
from subsalt.methods.rtm.read_ahead import Rows, TraceReader, Traces
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.parallel.comm import Comm

Setup = TypeVar("Setup", MigrationSetup, ModellingSetup)


def reading_of(io: str, group: Comm) -> Broadcast | None:
    """Return what reads for a group by `[parallel] io`; None where every rank reads for itself, or is alone."""
    reading = broadcast.of(io, group)
    return reading if isinstance(reading, Broadcast) and group.size > 1 else None


def with_input(setup: Setup, reading: Broadcast | None) -> Setup:
    """Return the setup with a model whose windows come by `reading`."""
    return setup if reading is None else replace(setup, model=SharedModel(setup.model, reading))


class TracesTogether(TraceReader):
    """Traces that rank 0 of a group reads when a shot begins; nothing is read ahead, for sending is collective.

    Parameters
    ----------
    survey : Survey
        Whose reader is called, on rank 0.
    rows_of : callable
        As of `TraceReader`.
    reading : Broadcast
        Of the group.
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
