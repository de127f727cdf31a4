"""Scan of one file: its facts, what is odd about it, and measures of its traces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import Finding
from subsalt.io.input_file import InputFile
from subsalt.io.scan.amplitudes import MeasuredFile
from subsalt.io.scan.findings import file_findings
from subsalt.io.scan.recording import ShotTimes, shot_times
from subsalt.io.scan.result import FileFacts
from subsalt.io.scan.statistics import SampleStatistics, TraceMeasures, sample_statistics
from subsalt.io.scan.witnesses import sides_with_coordinates
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import POSITION_NAMES, ScannedFile, column, open_headers, positions
from subsalt.io.segy.headers import HeaderBytes
from subsalt.io.segy.kept_headers import KeptHeaders
from subsalt.io.segy.words import wide

#: header values that a scan reads
SCAN_NAMES = (*POSITION_NAMES, "cdp_x", "cdp_y", "inline", "crossline", "shot_point")
#: those of them that no rule on several files needs
_OF_ONE_FILE = ("inline", "crossline", "cdp_x", "cdp_y", "shot_point", "cdp", "source_point")


@dataclass
class FileScan:
    """Headers, facts, findings and measures of one file of a scan.

    Parameters
    ----------
    one : ScannedFile
        Its headers; those that only rules on one file need are left out.
    facts : FileFacts
        Facts for the result.
    findings : list of Finding
        Oddities of its headers and samples.
    sides : bool or None
        Whether its bins side with its coordinates, see `sides_with_coordinates`.
    measured : MeasuredFile
        Measures of its live traces.
    times : ShotTimes or None
        When its shots were fired; None where that is not known.
    """

    one: ScannedFile
    facts: FileFacts
    findings: list[Finding]
    sides: bool | None
    measured: MeasuredFile
    times: ShotTimes | None

    def __post_init__(self) -> None:
        for name in _OF_ONE_FILE:
            self.one.values.pop(name, None)


def names_to_read(headers: KeptHeaders | None) -> tuple[str, ...]:
    """Return the header values of a scan, with those that are to be kept."""
    return tuple(dict.fromkeys([*SCAN_NAMES, *(() if headers is None else headers.names)]))


def without_others(one: ScannedFile, headers: KeptHeaders) -> None:
    """Drop the values that were read to be kept alone: a scan says nothing of them."""
    for name in set(headers.names) - set(SCAN_NAMES):
        one.values.pop(name, None)
        one.values.pop(wide(name), None)


def scan_file(
    file: InputFile, header: HeaderBytes, fix: Fix, budget: int, headers: KeptHeaders | None = None
) -> FileScan:
    """Read headers and traces of an open file; of its samples at most `budget` bytes. Its headers go to `headers`."""
    one = open_headers(file, header, fix, names_to_read(headers))
    if headers is not None:
        headers.keep(one, file.stamp)
        without_others(one, headers)
    statistics, measures = sample_statistics(file, one.layout, budget, ~one.excluded)
    return FileScan(
        one,
        facts_of(one, statistics, fix),
        [*one.layout.findings, *file_findings(one, statistics, fix)],
        sides_with_coordinates(one, fix),
        measured_file(one, measures),
        shot_times(file, one),
    )


def measured_file(one: ScannedFile, measures: TraceMeasures) -> MeasuredFile:
    """Return measures of live traces with what names and compares them."""
    measures = measures.take(one.live[measures.number])
    n, rows = one.layout.n_traces, measures.number
    d = one.positions.rcv[rows] - one.positions.src[rows]
    distance = np.sqrt((d * d).sum(axis=1))
    if not distance.any():
        distance = np.abs(one.positions.offset[rows])
    ffid, channel = (column(one.values, name, n)[rows] for name in ("ffid", "channel"))
    return MeasuredFile(one.layout.path, measures, distance, ffid, channel)


def facts_of(one: ScannedFile, statistics: SampleStatistics, fix: Fix) -> FileFacts:
    """Return the facts of a file; of its positions those of live traces, of all where none is."""
    lay, pos = one.layout, one.positions
    raw = positions(one.values, lay, fix, scaled=False)
    headers = {}
    for name, v in one.values.items():
        if v.any():
            low, high = int(v.min()), int(v.max())
            headers[name] = (low, high, 1 if low == high else len(np.unique(v)))
    use = one.live if one.live.any() else np.ones(lay.n_traces, bool)

    def box(points: NDArray[np.float64]) -> tuple[tuple[float, float], ...]:
        part = points[use]
        return tuple(zip(part.min(axis=0).tolist(), part.max(axis=0).tolist(), strict=True))

    facts = FileFacts.of(lay, headers, statistics)
    facts.boxes = {
        "source": box(pos.src),
        "receiver": box(pos.rcv),
        "source_raw": box(raw.src),
        "receiver_raw": box(raw.rcv),
    }
    facts.delays = (float(pos.delay.min()), float(pos.delay.max()))
    facts.dead, facts.auxiliary = int(one.dead.sum()), int(one.auxiliary.sum())
    return facts
