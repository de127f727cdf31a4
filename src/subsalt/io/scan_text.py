"""The text of `subsalt scan`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from subsalt.io.publish import human

if TYPE_CHECKING:
    from subsalt.io.scan import ScanResult


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
        key = "FFID" if result.shot_key == "ffid" else "source position"
        low, high = result.channels
        out.append(
            f"traces {result.n_traces:,}  shots {result.n_shots} ({key})  channels "
            f"{low if low == high else f'{low}..{high}'}  offset {_span(*result.offsets)} m"
        )
        for name, box, known in (
            ("source  ", result.source_box, result.has_sources),
            ("receiver", result.receiver_box, result.has_receivers),
        ):
            if known and box:
                x, y, z = (_span(*b) for b in box)
                out.append(f"  {name} x {x} m   y {y} m   depth {z} m")
            elif box:
                out.append(f"  {name} coordinates are all zero")
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
    for f in result.findings:
        out.append(f"{f.level:<7} {f.code}  {f.message}" + (f". fix: {f.fix}" if f.fix else ""))
    return "\n".join(out)
