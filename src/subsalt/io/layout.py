"""What a SEG-Y or SU file is: byte order, sample format, samples per trace, where the traces begin.

Headers contradict each other in the wild; the length of the file is the evidence that decides. Nothing here
trusts a header value: each is tried against the length, and the file is refused with the numbers when nothing
fits.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Literal

from subsalt.errors import Finding, SegyError
from subsalt.io.files import InputFile
from subsalt.io.headers import TRACE_HEADER, Fix, HeaderBytes
from subsalt.io.samples import FORMATS, READABLE
from subsalt.io.text_header import TEXT_HEADER, decode_text

BINARY_HEADER = 400
FIRST_TRACE = TEXT_HEADER + BINARY_HEADER
Endian = Literal["big", "little"]


@dataclass
class FileLayout:
    """The facts needed to find every header and sample of a file.

    Parameters
    ----------
    kind : {"segy", "su"}
        SU is traces alone, always 32-bit IEEE floats.
    first_trace, trace_bytes, n_traces : int
        Byte where traces begin, bytes per trace with headers, number of traces.
    header_bytes : int
        Bytes of trace header(s) in front of the samples: 240, more with rev 2 extensions.
    dt : float
        Sample interval, s; 0 when no header has one.
    dt_source : str
        Which header `dt` is from.
    """

    path: str
    kind: Literal["segy", "su"]
    size: int
    endian: Endian
    format: int
    ns: int
    dt: float
    first_trace: int
    trace_bytes: int
    n_traces: int
    header_bytes: int = TRACE_HEADER
    dt_source: str = ""
    ns_binary: int = 0
    ns_trace: int = 0
    dt_binary_us: int = 0
    dt_trace_us: int = 0
    revision: tuple[int, int] = (0, 0)
    ext_text: int = 0
    sorting: int = 0
    measurement: int = 0
    text: list[str] = field(default_factory=list)
    text_encoding: str = ""
    findings: list[Finding] = field(default_factory=list)

    @property
    def format_name(self) -> str:
        """Name of the sample format."""
        return FORMATS[self.format].name

    @property
    def sample_offset(self) -> int:
        """Bytes from the start of a trace to its first sample."""
        return self.header_bytes


def find_layout(file: InputFile, header: HeaderBytes, fix: Fix) -> FileLayout:
    """Return the layout of an open file.

    Raises
    ------
    SegyError
        With the reason, when it is not SEG-Y or SU that we can read.
    """
    if file.path.suffix.lower() == ".su":
        return _su_layout(file, header, fix)
    return _segy_layout(file, header, fix)


def _segy_layout(file: InputFile, header: HeaderBytes, fix: Fix) -> FileLayout:
    if file.size < FIRST_TRACE + TRACE_HEADER:
        raise SegyError(
            f"{file.path} has {file.size} bytes; SEG-Y needs {FIRST_TRACE} bytes of file header and at least "
            "one trace",
            "check how the file was copied; name SU files .su",
            code="E212",
        )
    head = file.read_at(0, FIRST_TRACE)
    binary = head[TEXT_HEADER:]
    lines, encoding = decode_text(head[:TEXT_HEADER])
    endian, code = _format(file, binary, fix)
    order = ">" if endian == "big" else "<"

    def value(byte: int, kind: str) -> int:
        return int(struct.unpack_from(order + kind, binary, byte - 3201)[0])

    revision = (binary[300], binary[301])
    rev2 = revision[0] >= 2
    extra = max(0, value(3507, "h")) if rev2 else 0
    header_bytes = TRACE_HEADER * (1 + extra)
    first, n_ext = _first_trace(file, value(3505, "h"), value(3521, "Q") if rev2 else 0)
    end = file.size - 3200 * max(0, value(3529, "i") if rev2 else 0)
    if end - first < header_bytes:
        raise SegyError(
            f"{file.path} has no traces: headers take {first} of its {file.size} bytes",
            "check the number of extended text headers (byte 3505) and how the file was copied",
            code="E212",
        )
    layout = FileLayout(
        path=str(file.path),
        kind="segy",
        size=file.size,
        endian=endian,
        format=code,
        ns=0,
        dt=0.0,
        first_trace=first,
        trace_bytes=0,
        n_traces=0,
        header_bytes=header_bytes,
        ns_binary=value(3221, "H"),
        dt_binary_us=value(3217, "h"),
        revision=revision,
        ext_text=n_ext,
        sorting=value(3229, "h"),
        measurement=value(3255, "h"),
        text=lines,
        text_encoding=encoding,
    )
    candidates = {
        "the extended binary header (byte 3269)": value(3269, "i") if rev2 else 0,
        "the binary header (byte 3221)": layout.ns_binary,
    }
    _find_ns(file, layout, header, fix, candidates, end)
    ext_dt = struct.unpack_from(order + "d", binary, 3273 - 3201)[0] if rev2 else 0.0
    _find_dt(layout, fix, ext_dt if 0 < ext_dt < 1e7 else 0.0)
    return layout


def _format(file: InputFile, binary: bytes, fix: Fix) -> tuple[Endian, int]:
    """Return byte order and sample format; refuse what we cannot decode."""
    big, little = (struct.unpack_from(o + "h", binary, 3225 - 3201)[0] for o in "><")
    constant = binary[96:100]
    endian: Endian | None = fix.endian
    if endian is None and constant == b"\x01\x02\x03\x04":
        endian = "big"
    elif endian is None and constant == b"\x04\x03\x02\x01":
        endian = "little"
    elif endian is None:
        known = [e for e, c in (("big", big), ("little", little)) if c in FORMATS]
        endian = known[0] if known else ("little" if fix.format and _little_ns(binary) else "big")  # type: ignore[assignment]
    assert endian is not None
    code = fix.format if fix.format is not None else (big if endian == "big" else little)
    if code not in READABLE:
        name = f" ({FORMATS[code].name})" if code in FORMATS else ""
        raise SegyError(
            f"{file.path}: sample format {code}{name} (byte 3225) is not one that can be read",
            "if the file is SEG-Y, say which format it has: [data.fix] format = 1 (IBM) or 5 (IEEE)",
            code="E211",
        )
    return endian, code


def _little_ns(binary: bytes) -> bool:
    """Say whether samples per trace look like a small number only when read little-endian."""
    big, little = (struct.unpack_from(o + "H", binary, 3221 - 3201)[0] for o in "><")
    return 0 < little < big


def _first_trace(file: InputFile, ext: int, offset: int) -> tuple[int, int]:
    """Return the byte of the first trace and the number of extended text headers."""
    if FIRST_TRACE <= offset < file.size:
        return offset, (offset - FIRST_TRACE) // TEXT_HEADER
    if ext == -1:
        # their number is open: the last one holds the stanza ((SEG: EndText)), in EBCDIC or ASCII
        for i in range(min(1000, (file.size - FIRST_TRACE) // TEXT_HEADER)):
            block = file.read_at(FIRST_TRACE + i * TEXT_HEADER, TEXT_HEADER)
            texts = (block.decode("cp037"), block.decode("latin-1"))
            if any("((seg:endtext))" in t.lower().replace(" ", "") for t in texts):
                return FIRST_TRACE + (i + 1) * TEXT_HEADER, i + 1
        raise SegyError(
            f"{file.path}: byte 3505 announces extended text headers, but none of them ends the text",
            "check the file; a count of -1 needs a last stanza ((SEG: EndText))",
            code="E216",
        )
    n = max(0, ext)
    return FIRST_TRACE + n * TEXT_HEADER, n


def _su_layout(file: InputFile, header: HeaderBytes, fix: Fix) -> FileLayout:
    if file.size < TRACE_HEADER + 4:
        raise SegyError(f"{file.path} has {file.size} bytes; an SU trace needs at least 244", code="E212")
    best: FileLayout | None = None
    problem: SegyError | None = None
    orders: tuple[Endian, ...] = (fix.endian,) if fix.endian else ("little", "big")
    for endian in orders:
        layout = FileLayout(
            path=str(file.path),
            kind="su",
            size=file.size,
            endian=endian,
            format=5,
            ns=0,
            dt=0.0,
            first_trace=0,
            trace_bytes=0,
            n_traces=0,
        )
        try:
            _find_ns(file, layout, header, fix, {}, file.size)
        except SegyError as e:
            # the order that gives the smaller number of samples is the more telling one to report
            problem = e if problem is None or endian == "big" else problem
            continue
        same = _agreement(file, layout, header, layout.ns_trace)
        if best is None or same > _agreement(file, best, header, best.ns_trace):
            best = layout
    if best is None:
        assert problem is not None
        raise problem
    _find_dt(best, fix, 0.0)
    return best


def _trace_value(file: InputFile, layout: FileLayout, byte: int, trace: int, kind: str = "H") -> int:
    at = layout.first_trace + trace * layout.trace_bytes + byte - 1
    order = ">" if layout.endian == "big" else "<"
    return int(struct.unpack(order + kind, file.read_at(at, struct.calcsize(kind)))[0])


def _agreement(file: InputFile, layout: FileLayout, header: HeaderBytes, expected: int) -> float:
    """Return the share of up to eight traces whose header gives `expected` samples."""
    if not header.ns:
        return 1.0
    n = layout.n_traces
    picks = sorted({i * (n - 1) // 7 for i in range(8)})
    return sum(_trace_value(file, layout, header.ns, t) == expected for t in picks) / len(picks)


def _find_ns(
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
            fitting.append((_agreement(file, layout, header, layout.ns_trace), ns))
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
        f"({said} samples): {layout.n_traces} whole traces and {rest} bytes more",
        'copy the file anew if it is truncated, or give [data.fix] ns = ..., or truncated = "drop"',
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


def _find_dt(layout: FileLayout, fix: Fix, extended_us: float) -> None:
    """Set dt from the headers; findings when they disagree or are silent. `dt_trace_us` must be set by the
    scan.
    """
    if fix.dt is not None:
        layout.dt, layout.dt_source = fix.dt, "fix"
    elif extended_us > 0:
        layout.dt, layout.dt_source = extended_us * 1e-6, "extended binary header (byte 3273)"
    elif layout.dt_binary_us > 0:
        layout.dt, layout.dt_source = layout.dt_binary_us * 1e-6, "binary header (byte 3217)"


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
    if len(positive) > 1:
        layout.findings.append(
            Finding(
                "E214",
                "error",
                f"{where} varies between traces: {', '.join(map(str, positive[:5]))} microseconds (byte "
                f"{header.dt})",
                "split the file by interval, or give [data.fix] dt = ...",
                {"dt_us": positive[:100]},
            )
        )
        return
    trace = positive[0] if positive else 0
    if not layout.dt_source:
        if trace:
            layout.dt, layout.dt_source = trace * 1e-6, f"trace header (byte {header.dt})"
            if layout.kind == "segy":
                layout.findings.append(
                    Finding(
                        "W214",
                        "warning",
                        f"{where} is {layout.dt_binary_us} in the binary header (byte 3217); "
                        f"{trace} microseconds from the trace headers is used",
                        f"if that is wrong: [data.fix] dt = ...; dt = {trace * 1e-6:g} silences this",
                    )
                )
        else:
            raw = layout.dt_binary_us
            if raw < 0:
                # more than 32.767 ms: the field is unsigned in later revisions
                layout.dt, layout.dt_source = (raw + 65536) * 1e-6, "binary header (byte 3217, unsigned)"
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
                f"say which is right: [data.fix] dt = {layout.dt_binary_us * 1e-6:g} or dt = "
                f"{trace * 1e-6:g}",
                {"binary_us": layout.dt_binary_us, "trace_us": trace},
            )
        )
