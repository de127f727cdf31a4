"""What a set of SEG-Y and SU files holds: facts per file, totals over all, and findings with evidence and
cure.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.line import MAP_X, described, fit_stations, line_facts, settled
from subsalt.errors import Finding, ResourceError, SubsaltError
from subsalt.io.files import InputFile, as_paths
from subsalt.io.publish import human
from subsalt.io.scan.amplitudes import MeasuredFile, amplitude_findings
from subsalt.io.scan.cures import thinned
from subsalt.io.scan.findings import file_findings, said_once, set_findings
from subsalt.io.scan.statistics import SampleStatistics, TraceMeasures, sample_statistics
from subsalt.io.segy.exclude import excluded
from subsalt.io.segy.geometry import POSITION_NAMES, TracePositions, column, positions, trace_kinds
from subsalt.io.segy.headers import PRESETS, FileLayout, Fix, HeaderBytes
from subsalt.io.segy.layout import find_layout
from subsalt.io.segy.sampling import settle_dt
from subsalt.io.segy.shots import ShotTable, shot_table
from subsalt.io.segy.trace_headers import read_headers

#: bytes of traces read for statistics, over all files: all traces of smaller surveys, a sample of larger ones
_STATISTICS_TOTAL = 1 << 30

SCAN_NAMES = (*POSITION_NAMES, "cdp_x", "cdp_y", "inline", "crossline", "shot_point")


@dataclass(frozen=True)
class Bounds:
    """Smallest and largest value."""

    low: float
    high: float

    @classmethod
    def of(cls, values: NDArray) -> Bounds:
        """Return the bounds of an array; NaN when it is empty."""
        return cls(float(values.min()), float(values.max())) if values.size else cls(math.nan, math.nan)


@dataclass
class FileFacts:
    """What one file holds.

    Parameters
    ----------
    lines : tuple of int or None
        Inlines and crosslines when the traces fill a rectangle of lines.
    headers : dict
        Header value -> (smallest, largest, number of distinct values), unscaled, for values that are not all
        zero.
    boxes : dict
        ``source``, ``receiver`` and the same with ``_raw`` (no scalar applied) -> ((x, x), (y, y), (z, z)),
        m.
    """

    path: str
    bytes: int
    kind: str
    endian: str
    format: int
    format_name: str
    ns: int
    dt: float
    dt_source: str
    n_traces: int
    revision: tuple[int, int]
    ext_text: int
    sorting: int
    measurement: int
    text_encoding: str
    text: list[str]
    ns_binary: int
    ns_trace: int
    dt_binary_us: int
    dt_trace_us: int
    lines: tuple[int, int] | None = None
    headers: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    boxes: dict[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    delays: tuple[float, float] = (0.0, 0.0)
    dead: int = 0
    auxiliary: int = 0
    statistics: SampleStatistics | None = None


#: what a file holds that its layout says under the same name
_SAME = [
    f.name for f in fields(FileFacts) if f.name in {g.name for g in fields(FileLayout)} | {"format_name"}
]


@dataclass
class ScanResult:
    """What a set of files holds together; `kind` is ``shots``, ``volume`` or ``stack``.

    Shots along a line have `line`: where it lies on the map, see `subsalt.acquisition.line.line_facts`.
    """

    files: list[FileFacts]
    findings: list[Finding]
    kind: str = "shots"
    n_traces: int = 0
    n_shots: int = 0
    shot_key: str = "ffid"
    channels: tuple[int, int] = (0, 0)
    source_box: tuple[tuple[float, float], ...] = ()
    receiver_box: tuple[tuple[float, float], ...] = ()
    offsets: tuple[float, float] = (0.0, 0.0)
    has_sources: bool = False
    has_receivers: bool = False
    line: dict[str, Any] | None = None
    #: headers of some traces of all files and how they were read, on which corrections are tried
    stations: list[ScannedFile] = field(default_factory=list, repr=False, compare=False)
    fix: Fix = field(default_factory=Fix, repr=False, compare=False)

    def to_dict(self) -> dict[str, object]:
        """Return plain values for ``--json``; numbers that are not finite become None."""
        found = asdict(replace(self, stations=[], fix=Fix()))
        del found["stations"], found["fix"]
        return _plain(found)  # type: ignore[return-value]

    def describe(self) -> str:
        """Return the text `subsalt scan` prints."""
        return describe(self)


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass
class ScannedFile:
    """Layout and header values of one file, or of some of its traces; `matched` are the exclusions that apply here."""

    layout: FileLayout
    values: dict[str, NDArray]
    positions: TracePositions
    dead: NDArray[np.bool_]
    auxiliary: NDArray[np.bool_]
    excluded: NDArray[np.bool_]
    matched: NDArray[np.bool_]
    header: HeaderBytes = field(default_factory=HeaderBytes)

    @classmethod
    def of(
        cls,
        layout: FileLayout,
        values: dict[str, NDArray],
        header: HeaderBytes,
        fix: Fix,
        number: NDArray[np.int64] | None = None,
    ) -> ScannedFile:
        """Return what header values say under `fix`; `number` are the traces in the file, all when left out."""
        n = layout.n_traces
        dead, auxiliary = trace_kinds(values, n, fix)
        out, matched = excluded(
            fix.exclude,
            layout.path,
            np.arange(n) if number is None else number,
            column(values, "ffid", n),
            column(values, "channel", n),
        )
        return cls(layout, values, positions(values, layout, fix), dead, auxiliary, out, matched, header)

    @property
    def live(self) -> NDArray[np.bool_]:
        """Traces that are neither dead nor auxiliary, and not left out."""
        return ~(self.dead | self.auxiliary | self.excluded)


def open_headers(
    file: InputFile, header: HeaderBytes, fix: Fix, names: Iterable[str] = POSITION_NAMES
) -> ScannedFile:
    """Read layout and the named header values of one file."""
    layout = find_layout(file, header, fix)
    header = header_for(layout, header)
    values = read_headers(file, layout, header, list(names))
    settle_dt(layout, header, [int(v) for v in np.unique(column(values, "dt", layout.n_traces))[:1000]])
    return ScannedFile.of(layout, values, header, fix)


def header_for(layout: FileLayout, header: HeaderBytes) -> HeaderBytes:
    """Return the bytes that fit the kind of file: SU has no rev 1 fields after byte 180, unless told
    otherwise.
    """
    return PRESETS["su"] if layout.kind == "su" and header == HeaderBytes() else header


def scan(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    header: HeaderBytes | None = None,
    fix: Fix | None = None,
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
    Memory: about 130 bytes per trace.
    """
    header, fix = header or HeaderBytes(), fix or Fix()
    names = as_paths(paths)
    budget = max(1 << 16, _STATISTICS_TOTAL // len(names))
    facts: list[FileFacts] = []
    scanned: list[ScannedFile] = []
    findings: list[Finding] = []
    measured: list[MeasuredFile] = []
    for path in names:
        try:
            with InputFile(path) as file:
                one = open_headers(file, header, fix, SCAN_NAMES)
                statistics, measures = sample_statistics(file, one.layout, budget, ~one.excluded)
        except SubsaltError as e:
            if len(names) == 1 or isinstance(e, ResourceError):
                raise
            findings.append(Finding(e.code, "error", e.message, e.fix, {"file": str(path)}))
            continue
        facts.append(_facts(one, statistics, fix))
        findings += one.layout.findings
        findings += file_findings(one, statistics, fix)
        measured.append(_measured(one, measures))
        for name in ("inline", "crossline", "cdp_x", "cdp_y", "shot_point", "cdp", "source_point"):
            one.values.pop(name, None)
        scanned.append(one)
    result = ScanResult(facts, findings)
    if scanned:
        _totals(result, scanned)
        result.stations, result.fix = thinned(scanned), fix
        result.findings += set_findings(result, scanned, fix)
        result.findings += amplitude_findings(measured, fix, shots=result.kind == "shots")
    if result.kind != "shots":
        result.findings = [f for f in result.findings if f.code != "E238"]
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
            headers[name] = (int(v.min()), int(v.max()), len(np.unique(v)))
    ni, nj = (headers.get(n, (0, 0, 1))[2] for n in ("inline", "crossline"))
    use = one.live if one.live.any() else np.ones(lay.n_traces, bool)

    def box(points: NDArray[np.float64]) -> tuple[tuple[float, float], ...]:
        part = points[use]
        return tuple((float(part[:, i].min()), float(part[:, i].max())) for i in range(3))

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


#: findings of one kind that are shown
_SHOWN = 3


def _span(low: float, high: float) -> str:
    return f"{low:,.2f}" if low == high else f"{low:,.2f} .. {high:,.2f}"


def _join(values: list[str]) -> str:
    """Return the distinct values with their counts when there is more than one."""
    counts = Counter(values)
    if len(counts) == 1:
        return values[0]
    return " / ".join(f"{v} ({n} files)" for v, n in counts.items())


def describe(result: ScanResult) -> str:
    """Return what files hold, as lines: files, shots, positions, samples, findings."""
    files = result.files
    out: list[str] = []
    if files:
        n = f"{len(files)} files" if len(files) > 1 else files[0].path
        kinds = _join(["SU" if f.kind == "su" else f"SEG-Y rev {f.revision[0]}" for f in files])
        interval = _join([f"{f.ns} samples x {f.dt * 1e3:g} ms" for f in files])
        out.append(
            f"{n}, {human(sum(f.bytes for f in files))}, {kinds}, {_join([f.format_name for f in files])}, "
            f"{_join([f'{f.endian}-endian' for f in files])}, {interval}"
        )
        out.append(_content(result))
        for name, box, known in (
            ("source  " if result.kind == "shots" else "trace   ", result.source_box, result.has_sources),
            ("receiver", result.receiver_box, result.has_receivers),
        ):
            if name == "receiver" and result.kind != "shots":
                continue
            if known and box:
                x, y, z = (_span(*b) for b in box)
                out.append(f"  {name} x {x} m   y {y} m   depth {z} m")
            elif box:
                out.append(f"  {name} coordinates are all zero")
        if result.line is not None:
            out += _line_text(result.line)
        scalars = [f.headers.get("coordinate_scalar", (0, 0, 1))[:2] for f in files]
        out.append(f"  scalar (byte 71) {_join([str(a) if a == b else f'{a}..{b}' for a, b in scalars])}")
        stats = [
            f.statistics for f in files if f.statistics is not None and f.statistics.rms == f.statistics.rms
        ]
        if stats:
            part = (
                "all traces"
                if all(s.complete for s in stats)
                else f"{sum(s.traces for s in stats)} traces sampled"
            )
            out.append(
                f"amplitudes {min(s.minimum for s in stats):.4g} .. {max(s.maximum for s in stats):.4g}, "
                f"rms {max(s.rms for s in stats):.4g} ({part})"
            )
    out += _findings(result)
    return "\n".join(out)


def _line_text(line: dict[str, Any]) -> list[str]:
    """Return where a 2-D line lies, and what a job has to say of it."""
    x0, y0 = line["origin"]
    if line["says"] == MAP_X:
        said = "it runs along map x, which is local x"
    else:
        said = (
            f"local x = 0 is put at its end ({x0:.2f}, {y0:.2f}), azimuth {line['azimuth_deg']:.6g} degrees; for a "
            "model that varies along x the job or the model has to say where it is"
        )
    return [f"  line     {described(line)}", f"           {said}"]


def _content(result: ScanResult) -> str:
    """Return the line on traces, shots, channels and offsets, or on the lines of a volume."""
    traces = f"traces {result.n_traces:,}"
    if result.kind == "volume":
        lines = _join([f"{f.lines[0]} inlines x {f.lines[1]} crosslines" for f in result.files if f.lines])
        return f"{traces}  volume of {lines}"
    if result.kind == "stack":
        return f"{traces}  stacked section"
    key = "FFID, byte 9" if result.shot_key == "ffid" else "source position"
    low, high = result.channels
    channels = str(low) if low == high else f"{low}..{high}"
    cdps = [f.headers["cdp"][:2] for f in result.files if f.headers.get("cdp", (0, 0, 1))[2] > 1]
    cdp = f"  CDP {min(a for a, _ in cdps)}..{max(b for _, b in cdps)}" if cdps else ""
    return f"{traces}  shots {result.n_shots} ({key})  channels {channels}  offset {_span(*result.offsets)} m{cdp}"


def _findings(result: ScanResult) -> list[str]:
    """Return one line per finding, errors first; of a kind that many files share, the first three."""
    lines = []
    counts: Counter[str] = Counter()
    for f in sorted(result.findings, key=lambda f: f.level != "error"):
        counts[f.code] += 1
        if counts[f.code] <= _SHOWN:
            lines.append(f"{f.level:<7} {f.code}  {f.message}" + (f". fix: {f.fix}" if f.fix else ""))
    lines += [f"        {code}  and {n - _SHOWN} more like it" for code, n in counts.items() if n > _SHOWN]
    return lines
