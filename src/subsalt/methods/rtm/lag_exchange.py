"""Gathers of a shot that ranks share: the rows of both wavefields that a rank's columns read come from their owners.

Half offsets reach over the cuts between ranks. The columns along x are shared out evenly among the ranks, whatever
their parts of the window; before products are added, every rank sends the others those of its rows that these read. A
column is summed by one rank, with the operations and in the order of a rank alone: its bits do not depend on the ranks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box
from subsalt.methods.rtm.conditions import FLOAT, TRIPLE, Lags
from subsalt.parallel.comm import Comm
from subsalt.propagation.domain import Domain
from subsalt.propagation.halo import swap


class RowExchange:
    """Rows of a shot's wavefields, brought to the ranks that read them.

    Parameters
    ----------
    lags : Lags
        Gathers of the survey.
    domain : Domain
        Domain of this rank.
    group : Comm
        The ranks that share the shot, two or more.

    Attributes
    ----------
    box : LagBox
        The sums of this rank.
    shape : tuple of int
        Shape of the fields that this rank has.
    rows : ndarray, (n, 3), int64
        As `LagBox.rows`, with the rows of wavefields counted as `brought` returns them.
    """

    def __init__(self, lags: Lags, domain: Domain, group: Comm) -> None:
        self.group, self.shape = group, domain.interior.shape
        whole = lags.inside(domain.window)
        self.box = whole.share(domain.rank, group.size)
        read = [np.unique(whole.share(rank, group.size).rows[:, 1:]) for rank in range(group.size)]
        owned = [_rows_in(part.image_box, domain.window) for part in domain.everybody()]
        own, self._read = owned[domain.rank], read[domain.rank]
        rows = self.box.rows
        self.rows = np.concatenate([rows[:, :1], np.searchsorted(self._read, rows[:, 1:])], axis=1)
        #: by rank: which of the rows here it reads, and where its rows go among those that are read here
        self._sent = {
            r: some for r, needs in enumerate(read) if len(some := np.flatnonzero(np.isin(own, needs)))
        }
        self._got = {
            r: np.searchsorted(self._read, theirs[here])
            for r, theirs in enumerate(owned)
            if (here := np.isin(theirs, self._read)).any()
        }

    def brought(self, fields: Sequence[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
        """Return the rows that the columns of this rank read, (rows, nz), of every sample; collective.

        Parameters
        ----------
        fields : sequence of ndarray, (rows, nz)
            The part of a wavefield that this rank has, at the same samples on all ranks.
        """
        nz, here = self.box.box.shape[2], self.group.rank
        out = np.empty((len(fields), len(self._read), nz), np.float32)
        sent = {r: np.stack([f[some] for f in fields]) for r, some in self._sent.items() if r != here}
        got = {
            r: np.empty((len(fields), len(there), nz), np.float32)
            for r, there in self._got.items()
            if r != here
        }
        swap(self.group, sent, got)
        for r, there in self._got.items():
            out[:, there] = np.stack([f[self._sent[r]] for f in fields]) if r == here else got[r]
        return list(out)


def _rows_in(part: Box, window: Box) -> NDArray[np.int64]:
    """Return the numbers of the rows of a part among those of a window, ascending."""
    if not part.size:
        return np.zeros(0, np.int64)
    x, y = (np.arange(part.lo[i], part.hi[i], dtype=np.int64) - window.lo[i] for i in (0, 1))
    return (x[:, None] * window.shape[1] + y).ravel()


def gathers_memory(lags: Lags, domain: Domain) -> int:
    """Return the bytes that a rank takes for the gathers of a shot: sums, samples, triples, and rows of other ranks."""
    whole, ranks = lags.inside(domain.window), math.prod(domain.counts)
    if ranks == 1:
        return whole.bytes + whole.held
    own = whole.share(domain.rank, ranks)
    pairs = math.prod(whole.shape[:2])
    # both fields as they came, those that are sent, and those that are read; of an axis a span of rows at most
    farthest = max(max(a.cells) for a in lags.axes)
    planes = min(domain.window.shape[0], own.span + 2 * farthest)
    brought = 4 * planes * domain.window.shape[1] * domain.window.shape[2]
    held = whole.at_once * FLOAT * (domain.interior.size + brought)
    return own.bytes + held + 2 * TRIPLE * pairs
