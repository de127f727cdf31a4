"""Traces grouped by shot, and shots or traces that are in files twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError

#: sources closer than this are the same, m: coordinates are stored to a centimetre or worse
SAME_PLACE = 0.05


@dataclass(frozen=True)
class ShotTable:
    """Shots of a set of traces.

    Parameters
    ----------
    key : {"ffid", "source"}
        Key of the shots.
    ids : ndarray, (n shots,), int64
        Number of each shot; the field record number, or 1, 2, ... in order of first appearance.
    member : ndarray, (n traces,), int64
        Index into `ids` for each trace.
    spread : float
        Largest distance of sources within one field record, m.
    """

    key: str
    ids: NDArray[np.int64]
    member: NDArray[np.int64]
    spread: float


def _group(values: NDArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (index of the first trace of each group, group of each trace), groups in order of first
    appearance.
    """
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse.reshape(-1)]


def shot_table(ffid: NDArray, src: NDArray[np.float64], key: str) -> ShotTable:
    """Return the shots of traces.

    Parameters
    ----------
    ffid : ndarray, (n,), int
        Field record numbers.
    src : ndarray, (n, 3)
        Source positions, m.
    key : {"auto", "ffid", "source"}
        ``auto`` takes the field record number unless one number stands for sources in several places, or one
        number for all traces while sources move, or it is absent.
    """
    if key not in ("auto", "ffid", "source"):
        raise ConfigError(f"shot_key = {key!r}", "use auto, ffid or source")
    first, member = _group(ffid)
    d = src[:, :2] - src[first[member], :2]
    spread = float(np.sqrt((d**2).sum(axis=1)).max()) if len(src) else 0.0
    if key == "ffid" or (key == "auto" and spread <= SAME_PLACE and (ffid.any() or not src.any())):
        return ShotTable("ffid", ffid[first].astype(np.int64), member, spread)
    # one 64-bit number per place; a centimetre over +-20,000 km leaves no collision
    place = np.round(src[:, :2] / SAME_PLACE).astype(np.int64)
    code = place[:, 0] * np.int64(1 << 31) + place[:, 1]
    first, member = _group(code)
    return ShotTable("source", np.arange(1, len(first) + 1, dtype=np.int64), member, spread)


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
