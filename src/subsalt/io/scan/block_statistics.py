"""Statistics and measures of the samples of several files of one layout, whose traces lie in one array."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.io.scan.groups import Groups
from subsalt.io.scan.sample_format import LOOKED_AT, as_declared, spot_of, suspect
from subsalt.io.scan.statistics import (
    PIECE,
    SampleStatistics,
    TraceMeasures,
    evenly,
    measure,
    statistics_of,
)
from subsalt.io.segy.headers import FileLayout
from subsalt.io.segy.samples import decode


def block_statistics(
    traces: NDArray[np.uint8], layout: FileLayout, groups: Groups, budget: int
) -> list[tuple[SampleStatistics, TraceMeasures]]:
    """Return statistics and measures of each file, as `statistics.sample_statistics` does of one.

    Parameters
    ----------
    traces : ndarray, (n traces, bytes), uint8
        All traces with their headers, one file after the other.
    layout : FileLayout
        Layout of the files.
    groups : Groups
        The traces of each file; all of them count.
    budget : int
        Bytes of a file whose samples are looked at; at least one trace.
    """
    most = max(1, budget // layout.trace_bytes)
    complete = groups.sizes <= most
    number = groups.number()
    if not complete.all():
        picks = [evenly(n, most) for n in groups.sizes.tolist()]
        begins = (part.start for part in groups.slices)
        rows = np.concatenate([a + own for a, own in zip(begins, picks, strict=True)])
        traces, number, groups = traces[rows], number[rows], Groups([len(own) for own in picks])
    measures, low, high = _measured(traces, layout, number)
    low, high = groups.min(low), groups.max(high)
    suspicions = _suspicions(traces, layout, groups)
    out = []
    for i, part in enumerate(groups.slices):
        own = measures.take(part)
        extremes = (float(low[i]), float(high[i]))
        out.append((statistics_of(own, extremes, layout.ns, bool(complete[i]), suspicions[i]), own))
    return out


def _measured(
    traces: NDArray[np.uint8], layout: FileLayout, number: NDArray[np.int64]
) -> tuple[TraceMeasures, NDArray[np.float32], NDArray[np.float32]]:
    """Return the measures of traces, and the smallest and the largest finite sample of each."""
    parts: list[TraceMeasures] = []
    low, high = (np.empty(len(traces), np.float32) for _ in range(2))
    step = max(1, PIECE // layout.trace_bytes)
    for a in range(0, len(traces), step):
        b = min(a + step, len(traces))
        x = decode(traces[a:b, layout.header_bytes :], layout.format, layout.sample_order)
        parts.append(measure(x, number[a:b], layout.dt))
        if parts[-1].bad.any():
            finite = np.isfinite(x)
            low[a:b] = np.where(finite, x, np.inf).min(axis=1)
            high[a:b] = np.where(finite, x, -np.inf).max(axis=1)
        else:
            low[a:b], high[a:b] = x.min(axis=1), x.max(axis=1)
    return TraceMeasures.joined(parts), low, high


def _suspicions(traces: NDArray[np.uint8], layout: FileLayout, groups: Groups) -> list[tuple[str, str]]:
    """Return of each file what `sample_format.suspect` says of its first traces."""
    # those that are the first piece of a file that is read by itself
    first = np.minimum(groups.sizes, min(LOOKED_AT, max(1, PIECE // layout.trace_bytes)))
    begins = np.array([part.start for part in groups.slices])
    sure = np.zeros(len(groups), bool)
    for n in np.unique(first).tolist():
        files = np.flatnonzero(first == n)
        rows, samples = spot_of(n, layout.ns, layout.format)
        there = slice(layout.header_bytes + samples.start, layout.header_bytes + samples.stop)
        spots = traces[begins[files][:, None] + rows, there]
        sure[files] = as_declared(spots, layout.format, layout.sample_order)
    out = [("", "")] * len(groups)
    for i in np.flatnonzero(~sure).tolist():
        begin = int(begins[i])
        out[i] = suspect(traces[begin : begin + int(first[i]), layout.header_bytes :], layout)
    return out
