"""Files whose traces do not divide by their headers: what would make them fit, tried before it is offered."""

from __future__ import annotations

import struct
from dataclasses import replace

from subsalt.errors import SegyError
from subsalt.io.file_layout import FileLayout
from subsalt.io.files import InputFile
from subsalt.io.headers import TRACE_HEADER, Fix, HeaderBytes, fix_text
from subsalt.io.samples import FORMATS, READABLE
from subsalt.io.sampling import agreement, find_ns
from subsalt.io.text_header import TEXT_HEADER

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
        cure = f"copy the file anew; {fix_text({'truncated': 'drop'})} uses the complete traces"
        return SegyError(f"{error.message}: it ends inside a trace", cure, code="E213")
    return SegyError(
        f"{error.message}; their headers do not follow one another at that distance: bytes are missing, or too many, "
        "somewhere inside",
        "copy the file anew, or say how many samples a trace has: [data.fix] ns = ...",
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
