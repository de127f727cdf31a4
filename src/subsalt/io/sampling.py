"""Samples per trace and sample interval: several headers say them, the length of the file decides."""

from __future__ import annotations

import struct

from subsalt.errors import Finding, SegyError
from subsalt.io.file_layout import FileLayout
from subsalt.io.files import InputFile
from subsalt.io.headers import Fix, HeaderBytes
from subsalt.io.samples import FORMATS


def _trace_value(file: InputFile, layout: FileLayout, byte: int, trace: int, kind: str = "H") -> int:
    at = layout.first_trace + trace * layout.trace_bytes + byte - 1
    order = ">" if layout.endian == "big" else "<"
    return int(struct.unpack(order + kind, file.read_at(at, struct.calcsize(kind)))[0])


def agreement(file: InputFile, layout: FileLayout, header: HeaderBytes, expected: int) -> float:
    """Return the share of up to eight traces whose header gives `expected` samples."""
    if not header.ns:
        return 1.0
    n = layout.n_traces
    picks = sorted({i * (n - 1) // 7 for i in range(8)})
    return sum(_trace_value(file, layout, header.ns, t) == expected for t in picks) / len(picks)


def find_ns(
    file: InputFile, layout: FileLayout, header: HeaderBytes, fix: Fix, candidates: dict[str, int], end: int
) -> None:
    """Set ns, trace_bytes and n_traces from the candidate that the length of the file confirms."""
    width = FORMATS[layout.format].size
    available = end - layout.first_trace
    layout.ns_trace = _trace_value(file, layout, header.ns, 0) if header.ns else 0
    named = dict(candidates)
    if header.ns:
        named[f"the first trace (byte {header.ns})"] = layout.ns_trace
    if fix.ns is not None:
        named = {"the fix": fix.ns}
    named = {k: v for k, v in named.items() if v > 0}
    if not named:
        raise SegyError(
            f"{layout.path}: no header says how many samples a trace has",
            "give it: [data.fix] ns = ...",
            code="E217",
        )

    def place(ns: int) -> int:
        layout.ns, layout.trace_bytes = ns, layout.header_bytes + ns * width
        layout.n_traces = available // layout.trace_bytes
        return available % layout.trace_bytes

    fitting = []
    for ns in dict.fromkeys(named.values()):
        if place(ns) == 0 and layout.n_traces > 0:
            fitting.append((agreement(file, layout, header, layout.ns_trace), ns))
    if fitting:
        # the first candidate wins unless the trace headers line up clearly better with another
        best = fitting[0]
        for other in fitting[1:]:
            best = other if other[0] > best[0] else best
        place(best[1])
        _say_ns(layout, named)
        return
    first = next(iter(named.values()))
    rest = place(first)
    said = ", ".join(f"{v} by {k}" for k, v in named.items())
    if fix.truncated == "drop" and layout.n_traces > 0:
        layout.findings.append(
            Finding(
                "W213",
                "warning",
                f"{layout.path} ends inside trace {layout.n_traces + 1}; {rest} bytes are left out",
                "copy the file anew if it should be complete",
                {"bytes_left_out": rest},
            )
        )
        return
    raise SegyError(
        f"{layout.path}: {available} bytes of traces do not divide into traces of {layout.trace_bytes} bytes "
        f"(samples per trace: {said}): {layout.n_traces} whole traces and {rest} bytes more",
        "copy the file anew if it is truncated, or say how many samples a trace has: [data.fix] ns = ...",
        code="E213",
    )


def _say_ns(layout: FileLayout, named: dict[str, int]) -> None:
    """Record a warning when headers disagree about the number of samples."""
    if len(set(named.values())) < 2:
        return
    said = ", ".join(f"{v} by {k}" for k, v in named.items())
    layout.findings.append(
        Finding(
            "W211",
            "warning",
            f"{layout.path}: samples per trace are {said}; the file's length fits {layout.ns}, which is used",
            f"if that is wrong: [data.fix] ns = ...; it silences this too: ns = {layout.ns}",
            {"ns": layout.ns, **named},
        )
    )


def find_dt(layout: FileLayout, fix: Fix, extended_us: float) -> None:
    """Set dt from the headers; findings when they disagree or are silent. `dt_trace_us` must be set by the
    scan.
    """
    if fix.dt is not None:
        layout.dt, layout.dt_source = fix.dt, "fix"
    elif extended_us > 0:
        layout.dt, layout.dt_source = extended_us / 1e6, "extended binary header (byte 3273)"
    elif layout.dt_binary_us > 0:
        layout.dt, layout.dt_source = layout.dt_binary_us / 1e6, "binary header (byte 3217)"


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
    positive = sorted({v for v in signed if v > 0})
    if layout.dt_source == "fix":
        return
    where = f"{layout.path}: sample interval"
    if _CLIPPED in (layout.dt_binary_us, *positive) and not layout.dt_source.startswith("extended"):
        layout.findings.append(
            Finding(
                "E238",
                "error",
                f"{where} is 32767 microseconds, the largest number that its header holds: it was clipped",
                "give it: [data.fix] dt = 0.004 (seconds)",
                {"dt_us": _CLIPPED},
            )
        )
        return
    if len(positive) > 1:
        layout.findings.append(
            Finding(
                "E214",
                "error",
                f"{where} varies between traces: {', '.join(map(str, positive[:5]))} microseconds (byte "
                f"{header.dt})",
                "if one is right for all: "
                + " or ".join(f"[data.fix] dt = {v / 1e6:g}" for v in positive[:3])
                + "; else split the file by interval",
                {"dt_us": positive[:100]},
            )
        )
        return
    trace = positive[0] if positive else 0
    if not layout.dt_source:
        if trace:
            layout.dt, layout.dt_source = trace / 1e6, f"trace header (byte {header.dt})"
            if layout.kind == "segy":
                layout.findings.append(
                    Finding(
                        "W214",
                        "warning",
                        f"{where} is {layout.dt_binary_us} in the binary header (byte 3217); "
                        f"{trace} microseconds from the trace headers is used",
                        f"if that is wrong: [data.fix] dt = ...; dt = {trace / 1e6:g} silences this",
                    )
                )
        else:
            raw, byte = layout.dt_binary_us, 3217
            if raw >= 0 and signed and min(signed) < 0:
                raw, byte = min(signed), header.dt
            if raw < 0:
                # a volume may have steps of 50 m or 50 ms in a field without a sign; no record of shots has them
                layout.dt, layout.dt_source = (raw + 65536) / 1e6, f"header (byte {byte}, unsigned)"
                layout.findings.append(_negative(where, raw, byte))
                return
            layout.findings.append(
                Finding(
                    "E215",
                    "error",
                    f"{where} is 0 in every header",
                    "give it: [data.fix] dt = 0.004 (seconds)",
                )
            )
    elif trace and layout.dt_source.startswith("binary") and trace != layout.dt_binary_us:
        layout.findings.append(
            Finding(
                "E214",
                "error",
                f"{where} is {layout.dt_binary_us} microseconds in the binary header (byte 3217), "
                f"{trace} in the trace headers (byte {header.dt})",
                f"say which is right: [data.fix] dt = {layout.dt_binary_us / 1e6:g} or dt = {trace / 1e6:g}",
                {"binary_us": layout.dt_binary_us, "trace_us": trace},
            )
        )
