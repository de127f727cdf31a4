"""Scan of a set of SEG-Y and SU files: facts per file, totals over all, and findings with evidence and
cure.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.line import fit_stations, line_facts, settled
from subsalt.errors import Finding, ResourceError, SubsaltError
from subsalt.io.input_file import InputFile
from subsalt.io.objects import as_paths
from subsalt.io.reading_progress import Listener, each, listening
from subsalt.io.scan.amplitudes import MeasuredFile, amplitude_findings
from subsalt.io.scan.cures import thinned
from subsalt.io.scan.findings import file_findings, said_once
from subsalt.io.scan.recording import ShotTimes, recording_findings, shot_times
from subsalt.io.scan.result import FileFacts, ScanResult
from subsalt.io.scan.set_findings import set_findings
from subsalt.io.scan.statistics import SampleStatistics, TraceMeasures, sample_statistics
from subsalt.io.scan.witnesses import sides_with_coordinates
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import POSITION_NAMES, ScannedFile, column, open_headers, positions
from subsalt.io.segy.headers import FileLayout, HeaderBytes
from subsalt.io.segy.shot_table import ShotTable, shot_table

#: bytes of traces read for statistics, over all files: all traces of smaller surveys, a sample of larger ones
_STATISTICS_TOTAL = 1 << 30

#: bytes of files that are read in one piece
_SMALL = 4 << 20

SCAN_NAMES = (*POSITION_NAMES, "cdp_x", "cdp_y", "inline", "crossline", "shot_point")


#: what a file holds that its layout says under the same name
_SAME = [
    f.name for f in fields(FileFacts) if f.name in {g.name for g in fields(FileLayout)} | {"format_name"}
]


#: findings that do not matter when positions are from files of their own
OF_HEADER_POSITIONS = {
    *("E235", "E236", "E240", "E243", "E380", "W381", "W216", "W240", "W241", "W242", "W243", "W263"),
    *(f"W{n}" for n in range(220, 228)),
}


def scan(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    header: HeaderBytes | None = None,
    fix: Fix | None = None,
    *,
    placed: bool = False,
    progress: Listener | None = None,
) -> ScanResult:
    """Say what SEG-Y and SU files hold.

    Parameters
    ----------
    paths : path-like or iterable of path-like
        The files.
    header : HeaderBytes, optional
        Where header values lie; rev 1 when left out.
    fix : Fix, optional
        Values that replace those of the headers.
    placed : bool
        Positions are from files of their own: nothing is said of those in the headers.
    progress : callable, optional
        Called with done, total, what is counted and what is done with it, as files are read; who listens already
        (`subsalt.io.reading_progress`) when left out.

    Returns
    -------
    ScanResult
        Facts and findings. A file that cannot be read among others is a finding of level error.

    Raises
    ------
    SubsaltError
        When the only file cannot be read: the reason, as a `SegyError` or `MissingInputError`.

    Notes
    -----
    Reads all trace headers, and the samples of all traces up to 1 GB, of larger surveys an even sample of that size.
    Memory: about 420 bytes per trace (4.2 GB for 10^7, `benchmarks/many_traces.py`).
    """
    header, fix = header or HeaderBytes(), fix or Fix()
    names = as_paths(paths)
    with listening(progress):
        return _scan(names, header, fix, placed)


def _scan(names: list[Path], header: HeaderBytes, fix: Fix, placed: bool) -> ScanResult:
    memory = bytearray(_SMALL)
    budget = max(1 << 16, _STATISTICS_TOTAL // len(names))
    facts: list[FileFacts] = []
    scanned: list[ScannedFile] = []
    findings: list[Finding] = []
    measured: list[MeasuredFile] = []
    times: list[ShotTimes] = []
    sides: list[bool | None] = []
    for path in each(names, "files", "scanned"):
        try:
            with InputFile(path) as file:
                file.hold(memory)
                one = open_headers(file, header, fix, SCAN_NAMES)
                statistics, measures = sample_statistics(file, one.layout, budget, ~one.excluded)
                fired = shot_times(file, one)
        except SubsaltError as e:
            if len(names) == 1 or isinstance(e, ResourceError):
                raise
            findings.append(Finding(e.code, "error", e.message, e.fix, {"file": str(path)}))
            continue
        facts.append(_facts(one, statistics, fix))
        findings += one.layout.findings
        findings += file_findings(one, statistics, fix)
        sides.append(sides_with_coordinates(one, fix))
        measured.append(_measured(one, measures))
        times += [fired] if fired is not None else []
        for name in ("inline", "crossline", "cdp_x", "cdp_y", "shot_point", "cdp", "source_point"):
            one.values.pop(name, None)
        scanned.append(one)
    result = ScanResult(facts, findings)
    if scanned:
        _totals(result, scanned)
        result.stations, result.fix = thinned(scanned), fix
        result.bins_confirm = any(sides) and False not in sides
        result.findings += set_findings(result, scanned, fix)
        result.findings += amplitude_findings(measured, fix, shots=result.kind == "shots")
        if result.kind == "shots":
            result.findings += recording_findings(scanned, measured, times, fix)
            if any(f.code == "W297" for f in result.findings):
                result.findings = [f for f in result.findings if f.code != "W217"]
    if result.kind != "shots":
        result.findings = [f for f in result.findings if f.code != "E238"]
    if placed:
        result.findings = [f for f in result.findings if f.code not in OF_HEADER_POSITIONS]
    result.findings = said_once(result.findings, map(str, names))
    return result


def _measured(one: ScannedFile, measures: TraceMeasures) -> MeasuredFile:
    """Return measures of live traces with what names and compares them."""
    measures = measures.take(one.live[measures.number])
    n, rows = one.layout.n_traces, measures.number
    d = one.positions.rcv[rows] - one.positions.src[rows]
    distance = np.sqrt((d * d).sum(axis=1))
    if not distance.any():
        distance = np.abs(one.positions.offset[rows])
    ffid, channel = (column(one.values, name, n)[rows] for name in ("ffid", "channel"))
    return MeasuredFile(one.layout.path, measures, distance, ffid, channel)


def _facts(one: ScannedFile, statistics: SampleStatistics, fix: Fix) -> FileFacts:
    lay, pos = one.layout, one.positions
    raw = positions(one.values, lay, fix, scaled=False)
    headers = {}
    for name, v in one.values.items():
        if v.any():
            low, high = int(v.min()), int(v.max())
            headers[name] = (low, high, 1 if low == high else len(np.unique(v)))
    ni, nj = (headers.get(n, (0, 0, 1))[2] for n in ("inline", "crossline"))
    use = one.live if one.live.any() else np.ones(lay.n_traces, bool)

    def box(points: NDArray[np.float64]) -> tuple[tuple[float, float], ...]:
        part = points[use]
        return tuple(zip(part.min(axis=0).tolist(), part.max(axis=0).tolist(), strict=True))

    return FileFacts(
        **{name: getattr(lay, name) for name in _SAME},
        bytes=lay.size,
        lines=(ni, nj) if ni * nj == lay.n_traces and lay.n_traces > 1 else None,
        headers=headers,
        boxes={
            "source": box(pos.src),
            "receiver": box(pos.rcv),
            "source_raw": box(raw.src),
            "receiver_raw": box(raw.rcv),
        },
        delays=(float(pos.delay.min()), float(pos.delay.max())),
        dead=int(one.dead.sum()),
        auxiliary=int(one.auxiliary.sum()),
        statistics=statistics,
    )


def _totals(result: ScanResult, scanned: list[ScannedFile]) -> None:
    result.n_traces = sum(s.layout.n_traces for s in scanned)
    src = np.concatenate([s.positions.src[s.live] for s in scanned])
    rcv = np.concatenate([s.positions.rcv[s.live] for s in scanned])
    if not len(src):
        return
    result.has_sources = bool(src[:, :2].any())
    result.has_receivers = bool(rcv[:, :2].any())
    offsets = any(s.positions.offset[s.live].any() for s in scanned)
    if not result.has_receivers and all(f.lines for f in result.files):
        result.kind = "volume"
    elif not result.has_receivers and all(f.sorting == 4 for f in result.files):
        result.kind = "stack"
    elif len(src) > 1 and np.array_equal(src[:, :2], rcv[:, :2]) and (result.has_sources or not offsets):
        # every receiver at its source: a section or model, not shots; without coordinates the offsets tell
        result.kind = "stack"
    table: ShotTable = shot_table(
        np.concatenate([column(s.values, "ffid", s.layout.n_traces)[s.live] for s in scanned]), src, "auto"
    )
    result.n_shots, result.shot_key = len(table.ids), table.key
    counts = np.bincount(table.member)
    result.channels = (int(counts.min()), int(counts.max()))
    result.source_box = tuple((float(src[:, i].min()), float(src[:, i].max())) for i in range(3))
    result.receiver_box = tuple((float(rcv[:, i].min()), float(rcv[:, i].max())) for i in range(3))
    if result.has_sources and result.has_receivers:
        d = rcv[:, :2] - src[:, :2]
        offset = np.sqrt(d[:, 0] ** 2 + d[:, 1] ** 2)
    else:
        offset = np.abs(np.concatenate([s.positions.offset[s.live] for s in scanned]))
    result.offsets = (float(offset.min()), float(offset.max()))
    if result.kind == "shots" and result.has_sources and result.has_receivers:
        result.line = _line(src, rcv)


def _line(src: NDArray[np.float64], rcv: NDArray[np.float64]) -> dict[str, Any] | None:
    """Return where the line of 2-D shots lies on the map; None of a survey that has an area."""
    fit = fit_stations(src, rcv)
    ndim, frame, says = settled(src, fit, None, "project", None)
    if ndim == 3 or fit.length == 0:
        return None
    return {k: v for k, v in line_facts(src, rcv, fit, frame, says).items() if k != "stations"}
