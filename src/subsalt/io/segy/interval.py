"""The sampling interval of a file: from its headers, from those of its traces, or from a correction."""

from __future__ import annotations

from collections.abc import Iterator

from subsalt.errors import Finding
from subsalt.io.segy.headers import FileLayout, HeaderBytes

#: what a number becomes that is too large for its two bytes
_CLIPPED = 32767


def _negative(where: str, raw: int, byte: int) -> Finding:
    """Return the error for an interval whose sign is wrong, or that is too large for its two bytes."""
    return Finding(
        "E238",
        "error",
        f"{where} is {raw} microseconds (byte {byte}); without a sign that would be {(raw + 65536) / 1000:g} ms, which "
        "no reflection survey has",
        f"if only the sign is wrong: [data.fix] dt = {-raw / 1e6:g}; else give the interval there, in seconds",
        {"dt_us": raw},
    )


def settle_dt(layout: FileLayout, header: HeaderBytes, dt_us: list[int]) -> None:
    """Compare the interval of the trace headers (unsigned, distinct values) with the file header's.

    Adds findings: an error when two headers give different positive values or none gives one.
    """
    signed = [v - 65536 if v > 32767 else v for v in dt_us]
    layout.dt_trace_us = signed[0] if signed else 0
    if layout.dt_source != "fix":
        layout.findings += _interval_findings(layout, header, signed)


def _interval_findings(layout: FileLayout, header: HeaderBytes, signed: list[int]) -> Iterator[Finding]:
    """Yield what is odd about the interval; set it where only the trace headers have one."""
    positive = sorted({v for v in signed if v > 0})
    where = f"{layout.path}: sample interval"
    if _CLIPPED in (layout.dt_binary_us, *positive) and not layout.dt_source.startswith("extended"):
        yield Finding(
            "E238",
            "error",
            f"{where} is 32767 microseconds, the largest number that its header holds: it was clipped",
            "give it: [data.fix] dt = ... (seconds)",
            {"dt_us": _CLIPPED},
        )
    elif len(positive) > 1:
        yield Finding(
            "E214",
            "error",
            f"{where} varies between traces: {', '.join(map(str, positive[:5]))} microseconds (byte {header.dt})",
            "if one is right for all: "
            + " or ".join(f"[data.fix] dt = {v / 1e6:g}" for v in positive[:3])
            + "; else split the file by interval",
            {"dt_us": positive[:100]},
        )
    elif not layout.dt_source:
        yield from _interval_of_traces(layout, header, signed)
    elif positive and layout.dt_source.startswith("binary") and positive[0] != layout.dt_binary_us:
        trace = positive[0]
        yield Finding(
            "E214",
            "error",
            f"{where} is {layout.dt_binary_us} microseconds in the binary header (byte 3217), "
            f"{trace} in the trace headers (byte {header.dt})",
            f"say which is right: [data.fix] dt = {layout.dt_binary_us / 1e6:g} or dt = {trace / 1e6:g}",
            {"binary_us": layout.dt_binary_us, "trace_us": trace},
        )


def _interval_of_traces(layout: FileLayout, header: HeaderBytes, signed: list[int]) -> Iterator[Finding]:
    """Set the interval of a file whose binary header has none; at most one of the trace headers is positive."""
    where = f"{layout.path}: sample interval"
    trace = max(signed, default=0)
    if trace > 0:
        layout.dt, layout.dt_source = trace / 1e6, f"trace header (byte {header.dt})"
        if layout.kind == "segy":
            yield Finding(
                "W214",
                "warning",
                f"{where} is {layout.dt_binary_us} in the binary header (byte 3217); "
                f"{trace} microseconds from the trace headers is used",
                f"if that is wrong: [data.fix] dt = ...; dt = {trace / 1e6:g} silences this",
            )
        return
    raw, byte = layout.dt_binary_us, 3217
    if raw >= 0 and signed and min(signed) < 0:
        raw, byte = min(signed), header.dt
    if raw < 0:
        # a volume may have steps of 50 m or 50 ms in a field without a sign; no record of shots has them
        layout.dt, layout.dt_source = (raw + 65536) / 1e6, f"header (byte {byte}, unsigned)"
        yield _negative(where, raw, byte)
        return
    yield Finding("E215", "error", f"{where} is 0 in every header", "give it: [data.fix] dt = ... (seconds)")
