"""Samples per trace: what the headers say, what the length of the file decides, what would make a file fit whose traces
do not divide by its headers; and one time axis for many files.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import Finding, GeometryError, SegyError
from subsalt.io.input_file import InputFile
from subsalt.io.segy.copied import ends_at_limit
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.headers import TRACE_HEADER, FileLayout, HeaderBytes, fix_text
from subsalt.io.segy.samples import FORMATS, READABLE, TEXT_HEADER


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
        like = next(
            (ns for ns in _counts_like(0, layout, available) if available % _bytes(ns, layout) == 0), 0
        )
        raise SegyError(
            f"{layout.path}: no header says how many samples a trace has"
            + f"; {like}, which its two bytes cannot hold, fits the length of the file" * (like > 0),
            f"give it: [data.fix] ns = {like or '...'}",
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
    if fix.ns is None:
        for ns, low in _wrapped(named.values(), layout, available):
            place(ns)
            # traces that follow one another all hold the same two bytes; one trace alone would prove nothing
            if layout.n_traces > 1 and header.ns and agreement(file, layout, header, low) == 1.0:
                layout.findings.append(_say_wrapped(layout, low))
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
                "copy the file again if it should be complete",
                {"bytes_left_out": rest},
            )
        )
        return
    raise SegyError(
        f"{layout.path}: {available} bytes of traces do not divide into traces of {layout.trace_bytes} bytes "
        f"(samples per trace: {said}): {layout.n_traces} whole traces and {rest} bytes more",
        "copy the file again if it is truncated, or say how many samples a trace has: [data.fix] ns = ...",
        code="E213",
    )


#: numbers that two bytes hold: larger ones begin again at 0
_TWO_BYTES = 1 << 16


def _bytes(ns: int, layout: FileLayout) -> int:
    """Return the bytes of a trace of so many samples, with its headers."""
    return layout.header_bytes + ns * FORMATS[layout.format].size


def _counts_like(low: int, layout: FileLayout, available: int) -> Iterator[int]:
    """Yield the counts of samples whose two lower bytes are `low`, up to one trace in the file."""
    ns = low + _TWO_BYTES
    while _bytes(ns, layout) <= available:
        yield ns
        ns += _TWO_BYTES


def _wrapped(counts: Iterable[int], layout: FileLayout, available: int) -> Iterator[tuple[int, int]]:
    """Yield (samples, what two bytes hold of it) with which the traces of a file divide, for counts of its headers."""
    for low in dict.fromkeys(n for n in counts if n < _TWO_BYTES):
        for ns in _counts_like(low, layout, available):
            if available % _bytes(ns, layout) == 0:
                yield ns, low


def _say_wrapped(layout: FileLayout, low: int) -> Finding:
    return Finding(
        "W212",
        "warning",
        f"{layout.path}: headers say {low} samples per trace, but traces follow one another every {layout.ns}: "
        f"{layout.ns} does not fit into two bytes, and {low} is what is left of it; {layout.ns} is used",
        f"[data.fix] ns = {layout.ns} silences this",
        {"ns": layout.ns, "said": low},
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
            f"if that is wrong: [data.fix] ns = ...; to confirm the number and silence this: ns = {layout.ns}",
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


FIRST_TRACE = 3600
#: extended text headers that are tried, and traces of different lengths that are walked through
_TEXTS, _WALKED = 12, 100_000


def explained(
    error: SegyError,
    file: InputFile,
    layout: FileLayout,
    header: HeaderBytes,
    candidates: dict[str, int],
    end: int,
) -> SegyError:
    """Return the error of a file whose traces do not divide, with the cure under which they do."""
    if error.code != "E213":
        return error
    walked = _of_different_lengths(file, layout, header, end)
    if walked:
        return SegyError(
            f"{layout.path} holds traces of different lengths ({walked}); only files of one length are read",
            "write its traces with one number of samples, or split it by their number",
            code="E239",
        )
    texts = text_headers(file, layout, header, candidates, end)
    if texts is not None:
        return SegyError(
            f"{error.message}; with {texts} extended text headers instead of {layout.ext_text} (byte 3505) all fit",
            fix_text({"text_headers": texts}),
            code="E213",
        )
    for code in READABLE:
        if FORMATS[code].size != FORMATS[layout.format].size:
            other = replace(layout, format=code, findings=[])
            if _fits(file, other, header, candidates, end):
                return SegyError(
                    f"{error.message}; with samples of {FORMATS[code].size} bytes all fit, byte 3225 says format "
                    f"{layout.format} ({layout.format_name}, {FORMATS[layout.format].size} bytes)",
                    fix_text({"format": _usual_format(FORMATS[code].size)}),
                    code="E213",
                )
    if _aligned(file, layout, header, candidates, end):
        cure = f"copy the file again; {fix_text({'truncated': 'drop'})} uses the complete traces"
        at_limit = ends_at_limit(layout.path, file.size, cure)
        return at_limit or SegyError(f"{error.message}: it ends inside a trace", cure, code="E213")
    return SegyError(
        f"{error.message}; their headers do not follow one another at that distance: bytes are missing, or too many, "
        "somewhere inside",
        "copy the file again, or say how many samples a trace has: [data.fix] ns = ...",
        code="E213",
    )


def _usual_format(size: int) -> int:
    """Return the commonest sample format of so many bytes."""
    return {4: 5, 2: 3, 1: 8, 8: 6}.get(size, 5)


def _fits(
    file: InputFile, layout: FileLayout, header: HeaderBytes, candidates: dict[str, int], end: int
) -> bool:
    """Return whether the traces of a layout divide and their headers follow one another."""
    try:
        find_ns(file, layout, header, Fix(), candidates, end)
    except SegyError:
        return False
    return agreement(file, layout, header, layout.ns) == 1.0


def text_headers(
    file: InputFile, layout: FileLayout, header: HeaderBytes, candidates: dict[str, int], end: int
) -> int | None:
    """Return the number of extended text headers under which all traces fit; None when there is none."""
    for n in range(_TEXTS):
        first = FIRST_TRACE + n * TEXT_HEADER
        if first != layout.first_trace and end - first > layout.header_bytes:
            other = replace(layout, first_trace=first, findings=[])
            if _fits(file, other, header, candidates, end):
                return n
    return None


def _aligned(
    file: InputFile, layout: FileLayout, header: HeaderBytes, candidates: dict[str, int], end: int
) -> bool:
    """Return whether the complete traces follow one another, so that only the last one is cut."""
    other = replace(layout, findings=[])
    try:
        find_ns(file, other, header, Fix(truncated="drop"), candidates, end)
    except SegyError:
        return False
    if other.n_traces < 1 or not other.ns_trace:
        return other.n_traces > 0
    return agreement(file, other, header, other.ns_trace) == 1.0


def _of_different_lengths(file: InputFile, layout: FileLayout, header: HeaderBytes, end: int) -> str:
    """Return the lengths of traces that follow one another to the end of the file; empty when they do not."""
    if not header.ns:
        return ""
    order, width = ">" if layout.endian == "big" else "<", FORMATS[layout.format].size
    at, counts = layout.first_trace, dict[int, int]()
    for _ in range(_WALKED):
        if at + TRACE_HEADER > end:
            break
        ns = struct.unpack(order + "H", file.read_at(at + header.ns - 1, 2))[0]
        if not ns:
            return ""
        counts[ns] = counts.get(ns, 0) + 1
        at += layout.header_bytes + ns * width
    if at != end or len(counts) < 2:
        return ""
    return ", ".join(f"{ns} samples in {n} traces" for ns, n in sorted(counts.items())[:5])


def refuse_mixed_samples(layouts: list[FileLayout]) -> None:
    """Raise `GeometryError` when files differ in the number or the interval of samples."""
    held = Counter((lay.ns, round(lay.dt * 1e9)) for lay in layouts)
    (ns, dt), most = held.most_common(1)[0]
    for lay in layouts:
        if (lay.ns, round(lay.dt * 1e9)) == (ns, dt):
            continue
        same = f"if it is that in all: [data.fix] dt = {dt * 1e-9:.10g}; else " if lay.ns == ns else ""
        more = len(layouts) - most - 1
        others = f"{layouts[0].path} has" if len(layouts) == 2 else "most files have"
        raise GeometryError(
            f"{lay.path} has {lay.ns} samples x {lay.dt * 1e3:g} ms (sample interval){f' and {more} more' * (more > 0)}"
            f", {others} {ns} x {dt * 1e-6:g} ms",
            f"{same}migrate them apart, or bring them to one time axis first",
            code="E260" if lay.ns != ns else "E261",
        )


def common_time_axis(
    layouts: list[FileLayout], delay: NDArray[np.float64], use: NDArray[np.bool_]
) -> tuple[TimeAxis, NDArray[np.int32] | None]:
    """Return the common time axis and the samples by which each trace starts late (None when none does).

    Parameters
    ----------
    layouts : list of FileLayout
        Files of equal samples.
    delay : ndarray, (n,)
        Time of the first sample of each trace, s.
    use : ndarray, (n,), bool
        Traces that count.
    """
    ns, dt = layouts[0].ns, layouts[0].dt
    t0, last = float(delay[use].min()), float(delay[use].max())
    if t0 == last:
        return TimeAxis(ns, dt, t0), None
    steps = (delay - t0) / dt
    shift = np.round(steps)
    off = np.abs(steps - shift)[use].max()
    # a thousandth of a sample is below what the interpolation in time resolves
    if off > 1e-3 or (last - t0) / dt > 10 * ns + 10000:
        raise GeometryError(
            f"delays (byte 109) differ by up to {(last - t0) * 1e3:g} ms between traces, which is not a "
            "usable number of "
            f"samples of {dt * 1e3:g} ms",
            "shift the traces to one start first, or set [data.fix] delay = 0",
            code="E262",
        )
    shift[~use] = 0
    return TimeAxis(ns + int(shift.max()), dt, t0), shift.astype(np.int32)
