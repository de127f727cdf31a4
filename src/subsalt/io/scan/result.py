"""Result of a scan of SEG-Y and SU files: facts per file, totals over all, findings; and its text."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.line import MAP_X, described
from subsalt.errors import Finding
from subsalt.host import human
from subsalt.io.scan.statistics import SampleStatistics
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import ScannedFile
from subsalt.io.segy.headers import FileLayout


@dataclass(frozen=True)
class Bounds:
    """Smallest and largest value."""

    low: float
    high: float

    @classmethod
    def of(cls, values: NDArray) -> Bounds:
        """Return the bounds of an array; NaN when it is empty."""
        return cls(float(values.min()), float(values.max())) if values.size else cls(math.nan, math.nan)


def warn(code: str, message: str, fix: str = "", **evidence: object) -> Finding:
    """Return a finding that is shown."""
    return Finding(code, "warning", message, fix, dict(evidence))


@dataclass
class FileFacts:
    """Facts of one file.

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

    @classmethod
    def of(
        cls, layout: FileLayout, headers: dict[str, tuple[int, int, int]], statistics: SampleStatistics
    ) -> FileFacts:
        """Return the facts of a file but for those of its positions and of traces that do not count."""
        ni, nj = (headers.get(n, (0, 0, 1))[2] for n in ("inline", "crossline"))
        return cls(
            **{name: getattr(layout, name) for name in _OF_LAYOUT},
            bytes=layout.size,
            lines=(ni, nj) if ni * nj == layout.n_traces and layout.n_traces > 1 else None,
            headers=headers,
            statistics=statistics,
        )


#: facts that a layout has under the same name
_OF_LAYOUT = [
    f.name for f in fields(FileFacts) if f.name in {g.name for g in fields(FileLayout)} | {"format_name"}
]


@dataclass
class ScanResult:
    """Facts of a set of files together; `kind` is ``shots``, ``volume`` or ``stack``.

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
    #: bins (bytes 181, 185) lie where the coordinates are, and not where they are with x and y exchanged
    bins_confirm: bool = field(default=False, repr=False, compare=False)

    def to_dict(self) -> dict[str, object]:
        """Return plain values for ``--json``; numbers that are not finite become None."""
        names = [f.name for f in fields(self) if f.name not in ("stations", "fix", "bins_confirm")]
        # `asdict` would copy every line of every text header once more
        files = [vars(f) | {"statistics": f.statistics and f.statistics.to_dict()} for f in self.files]
        more = {"files": files, "findings": [asdict(f) for f in self.findings]}
        return _plain({name: getattr(self, name) for name in names} | more)  # type: ignore[return-value]

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
        said = "x of the model is map x, since the line runs along it"
    else:
        said = (
            f"local x = 0 lies at its end ({x0:.2f}, {y0:.2f}), azimuth {line['azimuth_deg']:.6g} degrees from map x; "
            "for a model that varies along x, give the place of x = 0 in the job or in the model file"
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
            lines.append(f"{f.level:<7} {f.code}  {f.message}" + (f". fix: {f.short_fix}" if f.fix else ""))
    lines += [f"        {code}  and {n - _SHOWN} more like it" for code, n in counts.items() if n > _SHOWN]
    return lines
