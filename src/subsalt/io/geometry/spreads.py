"""Which receiver a channel of a shot is: relations of ranges, as SPS has them, or a list of channels for every shot.

Shots are known by a number of their own here, `shot`; who asks has turned field records or shot points into it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import Finding
from subsalt.io.geometry.stations import Names, Stations, find_sorted, point_text
from subsalt.io.segy.exclude import spans

#: messages list so many lines, shots or points
LISTED = 5


class Spread(Protocol):
    """Finds the receiver of a channel."""

    def rows(self, shot: NDArray[np.int64], channel: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return rows of the receivers, (n,); -1 where the shot has no such channel."""

    def has(self, shot: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which shots have any receiver."""

    def channels(self, shot: int) -> str:
        """Return the channels of a shot in words."""


@dataclass
class Relations:
    """Relation records: ranges of channels recorded by ranges of receivers, one row a record.

    Parameters
    ----------
    record : ndarray, (n,), int64
        Field record number.
    tape : ndarray, (n,), S6
        Field tape.
    source_line, source_point, source_index : ndarray, (n,)
        The shot, as in `Stations`.
    first, last, step : ndarray, (n,), int64
        Channels `first`, `first` + `step`, ... `last`; or, where `last` - `first` + 1 is a multiple of `step`, groups
        of `step` channels at one receiver each (components).
    line, from_point, to_point, index : ndarray, (n,)
        The receivers.
    number, file : ndarray, (n,)
        Line of the file, and which file.

    Notes
    -----
    The receivers of a record are `from_point`, ... `to_point` in equal steps, as many as it has channels or groups of
    channels; to_point < from_point is a reversed spread.
    """

    record: NDArray[np.int64]
    tape: NDArray[np.bytes_]
    source_line: NDArray[np.int32]
    source_point: NDArray[np.int64]
    source_index: NDArray[np.int8]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    step: NDArray[np.int64]
    line: NDArray[np.int32]
    from_point: NDArray[np.int64]
    to_point: NDArray[np.int64]
    index: NDArray[np.int8]
    number: NDArray[np.int64]
    file: NDArray[np.int16]

    def __len__(self) -> int:
        return len(self.record)

    @classmethod
    def join(cls, parts: list[Relations]) -> Relations:
        """Return the records of several tables, in order."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))

    def take(self, rows: NDArray) -> Relations:
        """Return some of the records."""
        return Relations(*(getattr(self, f.name)[rows] for f in fields(self)))

    @property
    def channels_of_one(self) -> NDArray[np.int64]:
        """Channels at one receiver: 1, or the step where records hold groups of components; (n,)."""
        groups = (self.step > 1) & ((self.last - self.first + 1) % self.step == 0)
        return np.where(groups, self.step, 1)

    @property
    def receivers(self) -> NDArray[np.int64]:
        """Receivers of each record, (n,)."""
        return (self.last - self.first) // self.step + 1

    def where(self, row: int, files: list[str]) -> str:
        """Return the file and line of a record."""
        return f"{files[self.file[row]]} line {self.number[row]}"

    def faults(self, files: list[str]) -> Iterator[Finding]:
        """Yield an error for records whose ranges make no sense by themselves."""
        odd = np.full(len(self), "", object)
        n = self.receivers
        span = self.to_point - self.from_point
        parts = np.maximum(n - 1, 1)
        for bad, why in (
            (span % parts != 0, "channels do not go evenly over the receivers"),
            ((n == 1) & (span != 0), "one channel, several receivers"),
            ((n > 1) & (span == 0), "several channels, one receiver"),
            (
                (self.last - self.first) % self.step * (self.channels_of_one == 1) != 0,
                "the channel increment does not lead from the first channel to the last",
            ),
            (self.last < self.first, "the last channel comes before the first"),
            (self.step < 1, "channel increment below 1"),
        ):
            odd[bad] = why
        rows = np.flatnonzero(odd != "")
        if len(rows):
            listed = "; ".join(
                f"{self.where(r, files)}: record {self.record[r]}, channels {self.first[r]}-{self.last[r]} step "
                f"{self.step[r]}, receivers {point_text(int(self.from_point[r]))}-{point_text(int(self.to_point[r]))}: "
                f"{odd[r]}"
                for r in rows[:LISTED]
            )
            more = f"; and {len(rows) - LISTED} more" if len(rows) > LISTED else ""
            yield Finding(
                "E365",
                "error",
                f"ranges of relations do not fit: {listed}{more}",
                "correct them; a gap of the spread begins a relation of its own",
                {"count": len(rows)},
            )


class RelationSpread:
    """Finds receivers by relation records.

    Parameters
    ----------
    relations : Relations
        Without faults, receivers all known.
    shot : ndarray, (n,), int64
        The shot that each belongs to.
    receivers : Stations
        Sorted.
    """

    def __init__(self, relations: Relations, shot: NDArray[np.int64], receivers: Stations) -> None:
        order = np.lexsort((relations.last, relations.first, shot))
        self.relations, self.shot, self.receivers = relations.take(order), shot[order], receivers

    def without_repeats(self) -> RelationSpread:
        """Return the spread with records that say the same kept once."""
        r = self.relations
        same = np.diff(self.shot) == 0
        for f in fields(r):
            if f.name not in ("number", "file", "tape", "record"):
                values = getattr(r, f.name)
                same &= values[1:] == values[:-1]
        keep = np.concatenate([[True], ~same]) if len(r) else np.empty(0, bool)
        return RelationSpread(r.take(keep), self.shot[keep], self.receivers)

    def overlaps(self) -> Iterator[tuple[int, int, int]]:
        """Yield (row, row, channel) of pairs of records that give one channel of a shot."""
        r, k = self.relations, 1
        while k < len(r):
            a = np.flatnonzero((self.shot[k:] == self.shot[:-k]) & (r.first[k:] <= r.last[:-k]))
            if not len(a):
                return
            b = a + k
            # the first channels of the later one, one period of both steps, that the earlier one may have
            step = np.where(r.channels_of_one > 1, 1, r.step)
            open_ = np.ones(len(a), bool)
            for m in range(int(step[a].max())):
                channel = r.first[b] + m * step[b]
                hit = open_ & (channel <= np.minimum(r.last[a], r.last[b]))
                hit &= (channel - r.first[a]) % step[a] == 0
                for i in np.flatnonzero(hit):
                    yield int(a[i]), int(b[i]), int(channel[i])
                open_ &= ~hit
            k += 1

    def overlap_findings(self, files: list[str]) -> Iterator[Finding]:
        """Yield an error for relations that overlap."""
        r = self.relations
        overlaps = list(self.overlaps())
        if overlaps:
            listed = "; ".join(
                f"record {r.record[b]}: channels {r.first[a]}-{r.last[a]} ({r.where(a, files)}) and "
                f"{r.first[b]}-{r.last[b]} ({r.where(b, files)}), first channel {channel}"
                for a, b, channel in overlaps[:LISTED]
            )
            more = f"; and {len(overlaps) - LISTED} more pairs" if len(overlaps) > LISTED else ""
            yield Finding(
                "E363",
                "error",
                f"relations overlap: {listed}{more}",
                "correct the ranges of channels; of a record that was repeated keep the relation that holds",
                {"pairs": len(overlaps)},
            )

    def rows(self, shot: NDArray[np.int64], channel: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return rows of the receivers, (n,); -1 where the shot has no such channel."""
        r = self.relations
        line, point, index = (np.zeros(len(shot), k) for k in (np.int32, np.int64, np.int8))
        there = np.zeros(len(shot), bool)
        if len(r):
            at = self._before(shot, channel)
            left = np.arange(len(shot))
            # records that begin later are tried first; interleaved ones (components) lie close together
            while len(left):
                row = at[left]
                left, row = left[row >= 0], row[row >= 0]
                same = self.shot[row] == shot[left]
                left, row = left[same], row[same]
                c, one = channel[left], r.channels_of_one[row]
                place = (c - r.first[row]) // r.step[row]
                hit = (c <= r.last[row]) & ((one > 1) | ((c - r.first[row]) % r.step[row] == 0))
                to, n = left[hit], r.receivers[row]
                pace = (r.to_point[row] - r.from_point[row]) // np.maximum(n - 1, 1)
                line[to], index[to] = r.line[row][hit], r.index[row][hit]
                point[to] = (r.from_point[row] + place * pace)[hit]
                there[to] = True
                left = left[~hit]
                at[left] -= 1
        rows = np.full(len(shot), -1, np.int64)
        rows[there] = self.receivers.find(line[there], point[there], index[there])
        return rows

    def _before(self, shot: NDArray[np.int64], channel: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the last record of a shot that begins at a channel or before, -1 for none; (n,)."""
        both = np.concatenate([self.shot, shot])
        order = np.lexsort(
            (np.arange(len(both)), np.concatenate([self.relations.first, channel]), both)
        )  # records stand before traces of the same channel
        is_record = order < len(self.shot)
        before = np.cumsum(is_record) - 1
        out = np.empty(len(both), np.int64)
        out[order] = before
        return out[len(self.shot) :]

    def has(self, shot: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which shots have any relation."""
        return np.isin(shot, self.shot)

    def channels(self, shot: int) -> str:
        """Return the channels of a shot in words."""
        r, rows = self.relations, np.flatnonzero(self.shot == shot)
        parts = (
            f"{r.first[k]}-{r.last[k]}"
            + (f" step {r.step[k]}" if r.step[k] > 1 and r.channels_of_one[k] == 1 else "")
            for k in rows[:4]
        )
        return ", ".join(parts) + (" ..." if len(rows) > 4 else "")

    def missing_points(self, names: Names, files: list[str]) -> Iterator[Finding]:
        """Yield an error for records whose receivers are not among the points."""
        r = self.relations
        lost: list[tuple[int, list[int]]] = []
        # records of one spread are alike: each range of receivers is looked up once
        ranges = np.stack([r.line, r.from_point, r.to_point, r.index, r.receivers], axis=1)
        for first in np.unique(ranges, axis=0, return_index=True)[1]:
            n = int(r.receivers[first])
            pace = int(r.to_point[first] - r.from_point[first]) // max(n - 1, 1)
            points = r.from_point[first] + pace * np.arange(n)
            rows = self.receivers.find(np.full(n, r.line[first]), points, np.full(n, r.index[first]))
            if (rows < 0).any():
                lost.append((int(first), [int(p) for p in points[rows < 0]]))
        if lost:
            listed = "; ".join(
                f"{self.where(first, files)} names receivers of line {names[r.line[first]]}"
                f"{_index(int(r.index[first]))} that no R record has: {_points(points)}"
                for first, points in lost[:LISTED]
            )
            more = f"; and {len(lost) - LISTED} more ranges" if len(lost) > LISTED else ""
            yield Finding(
                "E366",
                "error",
                f"receivers of relations are missing: {listed}{more}",
                "add their R records, or correct line, points or index of the relations; a gap of the spread begins a "
                "relation of its own",
                {"ranges": len(lost)},
            )

    def where(self, row: int, files: list[str]) -> str:
        """Return the file and line of a record."""
        return self.relations.where(row, files)


def _index(index: int) -> str:
    return f", index {index}," if index != 1 else ""


def _points(points: list[int]) -> str:
    if all(p % 100 == 0 for p in points):
        return spans(p // 100 for p in points)
    return ", ".join(point_text(p) for p in points[:LISTED]) + (" ..." if len(points) > LISTED else "")


class ListedSpread:
    """Finds receivers in a list of channels of every shot, sorted by shot and channel.

    Parameters
    ----------
    shot, channel : ndarray, (n,), int64
        Shot and channel of each receiver.
    """

    def __init__(self, shot: NDArray[np.int64], channel: NDArray[np.int64]) -> None:
        key = _key(shot, channel)
        self.order = np.argsort(key, kind="stable")
        self.key = key[self.order]

    def rows(self, shot: NDArray[np.int64], channel: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return rows of the receivers, (n,); -1 where the shot has no such channel."""
        at = find_sorted(self.key, _key(shot, channel))
        return np.where(at >= 0, self.order[at], -1) if len(self.key) else at

    def repeats(self) -> NDArray[np.int64]:
        """Return (first, other) rows of channels that a shot has twice, (n, 2)."""
        again = np.flatnonzero(np.diff(self.key) == 0) + 1
        return np.stack([self.order[again - 1], self.order[again]], axis=1)

    def has(self, shot: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which shots have any receiver."""
        return np.isin(shot, self.key >> 32)

    def channels(self, shot: int) -> str:
        """Return the channels of a shot in words."""
        lo, hi = np.searchsorted(self.key, [np.int64(shot) << 32, np.int64(shot + 1) << 32])
        return spans((self.key[lo:hi] & 0xFFFFFFFF).tolist())


def _key(shot: NDArray[np.int64], channel: NDArray[np.int64]) -> NDArray[np.int64]:
    return (np.asarray(shot, np.int64) << 32) | (np.asarray(channel, np.int64) & 0xFFFFFFFF)
