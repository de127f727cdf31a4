"""The text of `subsalt scan`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from subsalt.io.line import MAP_X, described
from subsalt.io.publish import human

if TYPE_CHECKING:
    from subsalt.io.scan import ScanResult


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
            out += _line(result.line)
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


def _line(line: dict[str, Any]) -> list[str]:
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
