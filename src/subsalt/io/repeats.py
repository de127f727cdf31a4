"""Traces that are there twice: the same field record and channel, at the same place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.io.shots import SAME_PLACE


@dataclass(frozen=True)
class Repeats:
    """Traces whose field record and channel were met before.

    Parameters
    ----------
    same : ndarray, int64
        Rows, ascending, of traces at the source and receiver of an earlier one of the same numbers.
    other : ndarray, int64
        Rows of traces that lie elsewhere than the first one of the same numbers.
    first : ndarray, int64
        For the rows `same` and then `other`: the first row of the same numbers.
    """

    same: NDArray[np.int64]
    other: NDArray[np.int64]
    first: NDArray[np.int64]


class Numbered(Protocol):
    """Traces with field records and channels, (n,) int32, and positions of sources and receivers, (n, 2+), m."""

    ffid: NDArray
    channel: NDArray
    src: NDArray[np.float64]
    rcv: NDArray[np.float64]


def find_repeats(table: Numbered) -> Repeats:
    """Return the traces whose numbers repeat; none when field records or channels are not numbered."""
    none = np.empty(0, np.int64)
    ffid, channel = table.ffid, table.channel
    if not (ffid.any() and channel.any()):
        return Repeats(none, none, none)
    # one number of 64 bits sorts ten times faster than two columns
    key = (ffid.astype(np.int64) << 32) | np.ascontiguousarray(channel, np.int32).view(np.uint32).astype(
        np.int64
    )
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    if new.all():
        return Repeats(none, none, none)
    starts = np.flatnonzero(new)
    first = order[starts][np.cumsum(new) - 1]
    row, first = order[~new], first[~new]
    near = np.ones(len(row), bool)
    for points in (table.src, table.rcv):
        near &= (np.abs(points[row] - points[first]) <= SAME_PLACE).all(axis=1)
    rows = []
    firsts = []
    for part in (near, ~near):
        by_row = np.argsort(row[part])
        rows.append(row[part][by_row])
        firsts.append(first[part][by_row])
    return Repeats(rows[0], rows[1], np.concatenate(firsts))


def first_of_repeats(table: Numbered) -> NDArray[np.int64]:
    """Return the rows of all traces but those that are there a second time."""
    keep = np.ones(len(table.ffid), bool)
    keep[find_repeats(table).same] = False
    return np.flatnonzero(keep)
