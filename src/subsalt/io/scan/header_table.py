"""Header values and positions of the traces of several files of one layout as one table, with what each file holds.

The files of the table are judged by the rules of single files where something may be odd about them (`silent`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from subsalt.io.scan.amplitudes import MeasuredFile
from subsalt.io.scan.groups import Groups
from subsalt.io.scan.result import FileFacts
from subsalt.io.scan.statistics import SampleStatistics, TraceMeasures
from subsalt.io.scan.witnesses import EXCHANGES, EXPLAINED, Ends, misfit
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import ScannedFile, TracePositions, bin_positions, column, positions
from subsalt.io.segy.headers import FileLayout


class HeaderTable:
    """The traces of several files of one layout, side by side.

    Parameters
    ----------
    whole : ScannedFile
        All traces as if they were of one file; none is excluded.
    layouts : list of FileLayout
        The files, in the order of the traces.
    fix : Fix
        How headers are read.
    """

    def __init__(self, whole: ScannedFile, layouts: list[FileLayout], fix: Fix) -> None:
        self.whole, self.layouts, self.fix = whole, layouts, fix
        self.groups = Groups([lay.n_traces for lay in layouts])

    def column(self, name: str) -> NDArray:
        """Return a header value of all traces; zeros where the files have none."""
        return column(self.whole.values, name, self.whole.layout.n_traces)

    @cached_property
    def bounds(self) -> dict[str, tuple[NDArray, NDArray]]:
        """Smallest and largest value of each file, by the name of the header value."""
        return {
            name: (self.groups.min(v), self.groups.max(v)) for name, v in self.whole.values.items() if v.any()
        }

    def bounds_of(self, name: str) -> tuple[NDArray, NDArray]:
        """Return the smallest and the largest value of each file of a header value, zero where it has none."""
        zero = np.zeros(len(self.groups), np.int32)
        return self.bounds.get(name, (zero, zero))

    @cached_property
    def offset(self) -> NDArray[np.float64]:
        """Offsets of the headers without sign, (n traces,), m."""
        return np.abs(self.whole.positions.offset)

    @cached_property
    def apart(self) -> NDArray[np.float64]:
        """Distances along x and y from source to receiver, (n traces, 2), m."""
        return self.whole.positions.rcv[:, :2] - self.whole.positions.src[:, :2]

    @cached_property
    def distance(self) -> NDArray[np.float64]:
        """Horizontal distances of source and receiver, (n traces,), m."""
        return np.hypot(*self.apart.T)

    @cached_property
    def placed(self) -> NDArray[np.bool_]:
        """Whether a file has coordinates of sources and of receivers, (n files,)."""
        places = (self.whole.positions.src, self.whole.positions.rcv)
        src, rcv = (self.groups.any(np.logical_or(*p[:, :2].T)) for p in places)
        return src & rcv

    @cached_property
    def bins(self) -> NDArray[np.float64]:
        """Positions of bins, (n traces, 2), m; zeros where the files name none."""
        one = self.whole
        return np.stack(bin_positions(one.values, one.layout, self.fix), axis=1)

    @cached_property
    def binned(self) -> NDArray[np.bool_]:
        """Whether a file names bins and has coordinates, (n files,)."""
        return self.placed & self.groups.any(np.logical_or(*self.bins.T))

    @cached_property
    def misfits(self) -> dict[Ends, NDArray[np.float64]]:
        """Median distances of bins and midpoints by file, m, by the ends whose x and y are exchanged for it."""
        src, rcv = self.whole.positions.src[:, :2], self.whole.positions.rcv[:, :2]
        return {ends: self.groups.medians(misfit(self.bins, src, rcv, ends)) for ends in EXCHANGES}

    def sides_with_coordinates(self) -> list[bool | None]:
        """Return of each file what `witnesses.sides_with_coordinates` says; every trace counts."""
        if not self.binned.any():
            return [None] * len(self.groups)
        now, other = (self.misfits[ends] for ends in EXCHANGES[:2])
        least, most = np.minimum(now, other), np.maximum(now, other)
        says = self.binned & (least <= EXPLAINED * most) & (EXPLAINED * most > 0)
        sides = zip(says.tolist(), (now < other).tolist(), strict=True)
        return [with_them if known else None for known, with_them in sides]

    def facts(self, statistics: list[SampleStatistics]) -> Iterator[FileFacts]:
        """Yield the facts of the files; every trace counts."""
        one, groups = self.whole, self.groups
        raw = positions(one.values, one.layout, self.fix, scaled=False)
        boxes = {
            name: self._boxes(points)
            for name, points in (
                ("source", one.positions.src),
                ("receiver", one.positions.rcv),
                ("source_raw", raw.src),
                ("receiver_raw", raw.rcv),
            )
        }
        delay = one.positions.delay
        delays = list(zip(groups.min(delay).tolist(), groups.max(delay).tolist(), strict=True))
        headers = self._headers()
        for i, (layout, said) in enumerate(zip(self.layouts, statistics, strict=True)):
            facts = FileFacts.of(layout, headers[i], said)
            facts.boxes, facts.delays = {name: of[i] for name, of in boxes.items()}, delays[i]
            yield facts

    @cached_property
    def _way(self) -> NDArray[np.float64]:
        """Distances of source and receiver, (n traces,), m; offsets in files that have no such distance."""
        d = self.whole.positions.rcv - self.whole.positions.src
        distance = np.sqrt((d * d).sum(axis=1))
        return np.where(self.groups.spread(self.groups.any(distance)), distance, self.offset)

    def measured(self, i: int, measures: TraceMeasures) -> MeasuredFile:
        """Return measures of all traces of file `i` with what names and compares them; every trace counts."""
        part = self.groups.slices[i]
        ffid, channel = (self.column(name)[part] for name in ("ffid", "channel"))
        return MeasuredFile(self.layouts[i].path, measures, self._way[part], ffid, channel)

    def _boxes(self, points: NDArray[np.float64]) -> list[tuple[tuple[float, float], ...]]:
        """Return the smallest and largest x, y and z of each file."""
        both = zip(self.groups.min(points).tolist(), self.groups.max(points).tolist(), strict=True)
        return [tuple(zip(low, high, strict=True)) for low, high in both]

    def _headers(self) -> list[dict[str, tuple[int, int, int]]]:
        """Return smallest, largest and number of values of each file, of header values that are not all zero."""
        out: list[dict[str, tuple[int, int, int]]] = [{} for _ in self.layouts]
        for name, (low, high) in self.bounds.items():
            varies = low != high
            count = self.groups.distinct(self.whole.values[name]) if varies.any() else varies
            rows = zip(low.tolist(), high.tolist(), count.tolist(), strict=True)
            for headers, (a, b, n) in zip(out, rows, strict=True):
                if a or b:
                    headers[name] = (int(a), int(b), 1 if a == b else n)
        return out

    def files(self) -> Iterator[ScannedFile]:
        """Yield the files, their values as views."""
        one, at = self.whole, self.whole.positions
        for layout, part in zip(self.layouts, self.groups.slices, strict=True):
            yield ScannedFile(
                layout,
                {name: v[part] for name, v in one.values.items()},
                TracePositions(at.src[part], at.rcv[part], at.offset[part], at.delay[part]),
                one.dead[part],
                one.auxiliary[part],
                one.excluded[part],
                one.matched,
                one.header,
            )
