"""Scan of a set of SEG-Y and SU files: facts per file, totals over all, and findings with evidence and
cure.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.line import fit_stations, line_facts, settled
from subsalt.errors import Finding, ResourceError, SubsaltError
from subsalt.io.input_file import InputFile
from subsalt.io.objects import as_paths
from subsalt.io.reading_progress import Listener, each, listening
from subsalt.io.scan.amplitudes import amplitude_findings
from subsalt.io.scan.cures import thinned
from subsalt.io.scan.file_blocks import FileBlocks
from subsalt.io.scan.findings import said_once
from subsalt.io.scan.one_file import FileScan, scan_file
from subsalt.io.scan.recording import recording_findings
from subsalt.io.scan.result import ScanResult
from subsalt.io.scan.set_findings import set_findings
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import ScannedFile, column
from subsalt.io.segy.headers import HeaderBytes
from subsalt.io.segy.kept_headers import KeptHeaders
from subsalt.io.segy.shot_table import ShotTable, shot_table

#: bytes of traces read for statistics, over all files: all traces of smaller surveys, a sample of larger ones
_STATISTICS_TOTAL = 1 << 30
#: bytes of traces of a file that are read for them, however many files there are
LEAST = 1 << 16

#: bytes of files that are read in one piece
_SMALL = 4 << 20

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
    headers: KeptHeaders | None = None,
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
    headers : KeptHeaders, optional
        Gets the headers of every file, for `read_survey`: made for the same `header` and `fix`.

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
        return _judged(_read(names, header, fix, headers), names, fix, placed)


def _judged(read: list[FileScan | Finding], names: list[Path], fix: Fix, placed: bool) -> ScanResult:
    """Return totals and findings over all files."""
    scans = [one for one in read if isinstance(one, FileScan)]
    findings = [f for one in read for f in (one.findings if isinstance(one, FileScan) else [one])]
    scanned, measured = [s.one for s in scans], [s.measured for s in scans]
    result = ScanResult([s.facts for s in scans], findings)
    if scanned:
        _totals(result, scanned)
        result.stations, result.fix = thinned(scanned), fix
        sides = [s.sides for s in scans]
        result.bins_confirm = any(sides) and False not in sides
        result.findings += set_findings(result, scanned, fix)
        result.findings += amplitude_findings(measured, fix, shots=result.kind == "shots")
        if result.kind == "shots":
            times = [s.times for s in scans if s.times is not None]
            result.findings += recording_findings(scanned, measured, times, fix)
            if any(f.code == "W297" for f in result.findings):
                result.findings = [f for f in result.findings if f.code != "W217"]
    if result.kind != "shots":
        result.findings = [f for f in result.findings if f.code != "E238"]
    if placed:
        result.findings = [f for f in result.findings if f.code not in OF_HEADER_POSITIONS]
    result.findings = said_once(result.findings, map(str, names))
    return result


def _read(
    names: list[Path], header: HeaderBytes, fix: Fix, headers: KeptHeaders | None
) -> list[FileScan | Finding]:
    """Return what each file holds, or why it cannot be read, in the order of the files."""
    memory = bytearray(_SMALL)
    budget = max(LEAST, _STATISTICS_TOTAL // len(names))
    blocks = FileBlocks(header, fix, budget, headers)
    read: dict[int, FileScan | Finding] = {}
    for place, path in enumerate(each(names, "files", "scanned")):
        try:
            with InputFile(path) as file:
                file.hold(memory)
                if blocks.take(place, file):
                    continue
                read[place] = one = scan_file(file, header, fix, budget, headers)
                if len(names) > 1:
                    blocks.learn(file, one.one)
        except SubsaltError as e:
            if len(names) == 1 or isinstance(e, ResourceError):
                raise
            read[place] = Finding(e.code, "error", e.message, e.fix, {"file": str(path)})
    read.update(blocks.judged())
    return [read[place] for place in range(len(names))]


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
