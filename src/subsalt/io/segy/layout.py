"""The layout of a SEG-Y or SU file: byte order, sample format, samples per trace, where the traces begin.

Headers contradict each other in the wild; the length of the file is the evidence that decides. Nothing here trusts a
header value: each is tried against the length, and the file is refused with the numbers when nothing fits.

Files of rev 2 may describe the layout of their trace headers themselves; what they say otherwise than the job is
refused by name, never read wrongly.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from subsalt.errors import Finding, SegyError
from subsalt.io.input_file import InputFile
from subsalt.io.scan.sample_format import USUAL_FORMATS
from subsalt.io.scan.statistics import likeliest_format
from subsalt.io.segy.copied import refuse_text_copy
from subsalt.io.segy.extension import extended_ns, take_extensions
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.headers import TRACE_HEADER, Endian, FileLayout, HeaderBytes, fix_text
from subsalt.io.segy.samples import FORMATS, READABLE, TEXT_HEADER, decode_text
from subsalt.io.segy.sampling import agreement, explained, find_dt, find_ns, text_headers

#: name of the first extension of the standard, in its last eight bytes
#: names of values in a layout, and ours
_NAMES = {
    "ffid": "ffid", "chan": "channel", "espnum": "source_point", "cdp": "cdp", "trctype": "trace_id",
    "offset": "offset", "relev": "receiver_elevation", "selev": "source_elevation", "sdepth": "source_depth",
    "ed_scal": "elevation_scalar", "elevscal": "elevation_scalar", "co_scal": "coordinate_scalar",
    "coordscal": "coordinate_scalar", "sx": "source_x", "sy": "source_y", "rx": "receiver_x", "ry": "receiver_y",
    "gx": "receiver_x", "gy": "receiver_y", "counits": "coordinate_units", "delay": "delay", "ns": "ns",
    "nsamps": "ns", "dt": "dt", "cdpx": "cdp_x", "cdpy": "cdp_y", "cdp_x": "cdp_x", "cdp_y": "cdp_y",
    "iline": "inline", "xline": "crossline", "sp": "shot_point", "sp_scal": "shot_point_scalar",
    "tm_scal": "time_scalar",
}  # fmt: skip


def mapping_findings(file: InputFile, layout: FileLayout, header: HeaderBytes) -> list[Finding]:
    """Return an error when a file says itself that header values lie elsewhere than where they are read."""
    moved = {}
    for name, byte in _entries(file, layout):
        ours = _NAMES.get(name.lower())
        if ours is not None and getattr(header, ours) != byte:
            moved[ours] = byte
    if not moved:
        return []
    said = ", ".join(f"{n} at byte {b} (read from {getattr(header, n)})" for n, b in moved.items())
    return [
        Finding(
            "E259",
            "error",
            f"{layout.path} describes its trace headers itself (stanza SEG:Layout of the extended text): {said}",
            f"[data] bytes = {{{', '.join(f'{n} = {b}' for n, b in moved.items())}}}",
            {"bytes": moved},
        )
    ]


def _entries(file: InputFile, layout: FileLayout) -> list[tuple[str, int]]:
    """Return names and bytes of the entries of the first 240 bytes that a layout stanza of the file has."""
    n = min(layout.ext_text, 64)
    if not n:
        return []
    raw = file.read_at(3600, n * TEXT_HEADER)
    for text in (raw.decode("latin-1"), raw.decode("cp037")):
        at = text.lower().find("((seg:layout")
        if at >= 0:
            plain = text[at:].split("((", 2)[1]
            plain = plain.split("<extension", 1)[0]
            entries = re.findall(r"<entry\b([^>]*)>", plain)
            out = []
            for attributes in entries:
                name = re.search(r'\bname="([^"]{1,40})"', attributes)
                byte = re.search(r'\bbyte="(\d{1,4})"', attributes)
                if name and byte:
                    out.append((name[1], int(byte[1])))
            return out
    return []


#: format codes of SEG-D (bytes 3 and 4 of its first general header), as hexadecimal digits
_SEGD_CODES = {
    "0015", "0022", "0024", "8015", "8022", "8024", "8036", "8038", "8042", "8044", "8048", "8058", "8080",
}  # fmt: skip
_CONVERT = "convert it to SEG-Y first, with the contractor's software, SU (segdread), or another reader of the format"


def refuse_foreign(path: Path, head: bytes) -> None:
    """Raise `SegyError` when the first bytes of a file are those of SEG-D or SEG-2."""
    name = _segd(head) or _seg2(head)
    if name:
        raise SegyError(f"{path} is {name}, not SEG-Y or SU", _CONVERT, code="E248")


def _seg2(head: bytes) -> str:
    """Return the name of SEG-2 when its file descriptor block begins here."""
    if head[:2] not in (b"\x55\x3a", b"\x3a\x55") or len(head) < 8:
        return ""
    order: Literal["little", "big"] = "little" if head[:2] == b"\x55\x3a" else "big"
    revision, size, traces = (int.from_bytes(head[i : i + 2], order) for i in (2, 4, 6))
    return "SEG-2" if revision <= 2 and 0 < traces <= size else ""


def _segd(head: bytes) -> str:
    """Return the name of SEG-D when a storage label or its first general header begins here."""
    label = head[:128].decode("latin-1")
    if label[4:7] in ("SD1", "SD2", "SD3") and label[:4].strip().isdigit():
        return f"SEG-D (rev {label[6]}, with a storage label)"
    if len(head) < 32:
        return ""
    digits = head[:32].hex()
    if digits[4:8] not in _SEGD_CODES:
        return ""
    # file number and time of the shot are digits, or all ones where the extended header says them
    number, year, day = digits[0:4], digits[20:22], digits[23:26]
    plain = (number.isdigit() or number == "ffff") and year.isdigit() and day.isdigit()
    return f"SEG-D (format code {digits[4:8]})" if plain and 1 <= int(day) <= 366 else ""


BINARY_HEADER = 400
FIRST_TRACE = TEXT_HEADER + BINARY_HEADER


_COMPRESSED = {
    b"\x1f\x8b": "gunzip",
    b"BZh": "bunzip2",
    b"\xfd7zXZ": "unxz",
    b"(\xb5/\xfd": "unzstd",
    b"PK\3\4": "unzip",
}


def find_layout(file: InputFile, header: HeaderBytes, fix: Fix) -> FileLayout:
    """Return the layout of an open file.

    Raises
    ------
    SegyError
        With the reason, when it is not SEG-Y or SU that we can read.
    """
    file.name_fields(dict(fix.fields))
    refuse_foreign(file.path, file.read_at(0, min(file.size, 128)))
    if not file.over:
        refuse_text_copy(file)
    su = file.path.suffix.lower() == ".su" if fix.kind is None else fix.kind == "su"
    if su and fix.kind is None and _looks_like_segy(file, header, fix):
        raise _misnamed(file, "SEG-Y", "SU", "segy")
    if su:
        layout = _su_layout(file, header, fix)
    else:
        try:
            layout = _segy_layout(file, header, fix)
        except SegyError:
            if fix.kind is None and _looks_like_su(file, header):
                raise _misnamed(file, "SU", "SEG-Y", "su") from None
            raise
        take_extensions(file, layout, fix)
        layout.findings += mapping_findings(file, layout, header)
    layout.sample_endian, layout.fields = fix.sample_endian, dict(fix.fields)
    return layout


def is_plain(layout: FileLayout) -> bool:
    """Return whether a file is SEG-Y before rev 2 without anything odd in its layout.

    The layout of another file that divides into such traces, with the same binary header and with the same number and
    interval of samples in all trace headers, is the same.
    """
    return (
        layout.kind == "segy"
        and layout.revision[0] < 2
        and layout.header_bytes == TRACE_HEADER
        and layout.first_trace == FIRST_TRACE
        and layout.ns_trace == layout.ns
        and not layout.findings
    )


def with_same_header(file: InputFile, head: bytes, plain: FileLayout) -> FileLayout | None:
    """Return the layout of a file with another text before the binary header of a plain one; None where it may differ.

    `head` are its first 3600 bytes. What its trace headers say is left to the caller.
    """
    left = file.size - FIRST_TRACE
    if left <= 0 or left % plain.trace_bytes:
        return None
    try:
        refuse_foreign(file.path, head[:128])
        refuse_text_copy(file)
        _refuse_compressed(file, head)
    except SegyError:
        return None
    text, encoding = decode_text(head[:TEXT_HEADER])
    return replace(
        plain,
        path=str(file.path),
        size=file.size,
        n_traces=left // plain.trace_bytes,
        text=text,
        text_encoding=encoding,
        findings=[],
    )


def _misnamed(file: InputFile, is_: str, named: str, kind: str) -> SegyError:
    """Return the error for a file of one kind under the name of the other."""
    suffix = ".su" if kind == "su" else ".sgy"
    return SegyError(
        f"{file.path} is {is_}, but named as {named}",
        f'[data.fix] kind = "{kind}", or rename it to {file.path.stem}{suffix}',
        code="E247",
    )


def _looks_like_segy(file: InputFile, header: HeaderBytes, fix: Fix) -> bool:
    """Return whether a file has the text and the binary header of SEG-Y, and traces that fit them."""
    if file.size < FIRST_TRACE + TRACE_HEADER:
        return False
    if decode_text(file.read_at(0, TEXT_HEADER))[1] == "unreadable":
        return False
    try:
        layout = _segy_layout(file, header, fix)
    except SegyError:
        return False
    return agreement(file, layout, header, layout.ns) == 1.0


def _looks_like_su(file: InputFile, header: HeaderBytes) -> bool:
    """Return whether a file is nothing but traces whose headers follow one another to its end."""
    try:
        layout = _su_layout(file, header, Fix())
    except SegyError:
        return False
    return layout.n_traces > 1 and agreement(file, layout, header, layout.ns) == 1.0


def _segy_layout(file: InputFile, header: HeaderBytes, fix: Fix) -> FileLayout:
    if file.size < FIRST_TRACE + TRACE_HEADER:
        raise SegyError(
            f"{file.path} has {file.size} bytes; SEG-Y needs {FIRST_TRACE} bytes of file header and at least "
            "one trace",
            "check how the file was copied; name SU files .su",
            code="E212",
        )
    head = file.read_at(0, FIRST_TRACE)
    _refuse_compressed(file, head)
    binary = head[TEXT_HEADER:]
    lines, encoding = decode_text(head[:TEXT_HEADER])
    if binary[96:100] == b"\x02\x01\x04\x03":
        raise SegyError(
            f"{file.path}: its byte-order constant (byte 3297) says that the bytes of each pair are exchanged; such "
            "files are not read",
            "exchange them first, for example with dd conv=swab",
            code="E258",
        )
    endian, code = _format(binary, fix)
    if code not in READABLE:
        raise _unreadable(file, code, header, fix)
    said = _BinaryHeader(binary, ">" if endian == "big" else "<")
    first, n_ext, end = _traces(file, said, fix)
    layout = FileLayout(
        path=str(file.path),
        kind="segy",
        size=file.size,
        endian=fix.endian or endian,
        format=code,
        ns=0,
        dt=0.0,
        first_trace=first,
        trace_bytes=0,
        n_traces=0,
        header_bytes=said.trace_header_bytes,
        ns_binary=said.value(3221, "H"),
        dt_binary_us=said.value(3217, "h"),
        revision=said.revision,
        ext_text=n_ext,
        sorting=said.value(3229, "h"),
        measurement=said.value(3255, "h"),
        text=lines,
        text_encoding=encoding,
    )
    candidates = {
        "the extended binary header (byte 3269)": said.of_rev2(3269, "i"),
        "the trace header extension (byte 137)": extended_ns(file, layout, first),
        "the binary header (byte 3221)": layout.ns_binary,
    }
    try:
        find_ns(file, layout, header, fix, candidates, end)
    except SegyError as e:
        raise explained(e, file, layout, header, candidates, end) from None
    if fix.endian is None and _other_order(file, layout, header):
        _say_order(layout)
        find_ns(file, layout, header, fix, candidates, end)
    if fix.text_headers is None:
        _refuse_miscounted(file, layout, header, candidates, end)
    ext_dt = said.of_rev2(3273, "d")
    find_dt(layout, fix, ext_dt if 0 < ext_dt < 1e7 else 0.0)
    return layout


@dataclass(frozen=True)
class _BinaryHeader:
    """The 400 bytes of the binary header, in a byte order (``>`` or ``<``)."""

    data: bytes
    order: str

    def value(self, byte: int, kind: str) -> Any:
        """Return the value at a byte of the file (from 3201), of a kind of `struct`."""
        return struct.unpack_from(self.order + kind, self.data, byte - 3201)[0]

    @property
    def revision(self) -> tuple[int, int]:
        """Major and minor revision."""
        # two bytes since rev 2, one 16-bit number 0x0100 before: writers of little-endian files swap either or neither
        number = self.value(3501, "H")
        return (self.data[300], self.data[301]) if self.data[300] == 2 else (number >> 8, number & 255)

    def of_rev2(self, byte: int, kind: str) -> Any:
        """Return a value that rev 2 has brought; 0 before."""
        return self.value(byte, kind) if self.revision[0] == 2 else 0

    @property
    def trace_header_bytes(self) -> int:
        """Bytes of the headers of a trace, with its extensions."""
        return TRACE_HEADER * (1 + max(0, self.of_rev2(3507, "h")))


def _traces(file: InputFile, said: _BinaryHeader, fix: Fix) -> tuple[int, int, int]:
    """Return where traces begin, the number of extended text headers, and where traces end."""
    if fix.text_headers is not None:
        first, n_ext = FIRST_TRACE + fix.text_headers * TEXT_HEADER, fix.text_headers
    else:
        first, n_ext = _first_trace(file, said.value(3505, "h"), said.of_rev2(3521, "Q"))
    end = file.size - TEXT_HEADER * _trailers(file, said, first)
    if end - first < said.trace_header_bytes:
        raise SegyError(
            f"{file.path} has no traces: headers take {first} of its {file.size} bytes",
            "check the number of extended text headers (byte 3505) and how the file was copied",
            code="E212",
        )
    return first, n_ext, end


def _trailers(file: InputFile, said: _BinaryHeader, first: int) -> int:
    """Return how many records of 3200 bytes follow the traces (byte 3529); -1 there leaves their number open."""
    n: int = said.of_rev2(3529, "i")
    if n >= 0:
        return n
    # a record of text is printable in one of the encodings; samples are not
    records = 0
    while n == -1 and file.size - (records + 1) * TEXT_HEADER > first:
        record = file.read_at(file.size - (records + 1) * TEXT_HEADER, TEXT_HEADER)
        if decode_text(record)[1] == "unreadable" or record.count(0) > TEXT_HEADER // 4:
            break
        records += 1
    return records


def _refuse_miscounted(
    file: InputFile, layout: FileLayout, header: HeaderBytes, candidates: dict[str, int], end: int
) -> None:
    """Raise `SegyError` when traces divide by accident, and another number of extended text headers fits them all."""
    if layout.ns_trace == layout.ns or agreement(file, layout, header, layout.ns) > 0.95:
        return
    texts = text_headers(file, layout, header, candidates, end)
    if texts is not None:
        raise SegyError(
            f"{layout.path}: the first trace header is none (it says {layout.ns_trace} samples, {layout.ns} fit); with "
            f"{texts} extended text headers instead of {layout.ext_text} (byte 3505) all traces follow one another",
            fix_text({"text_headers": texts}),
            code="E213",
        )


def _refuse_compressed(file: InputFile, head: bytes) -> None:
    for magic, name in _COMPRESSED.items():
        if head.startswith(magic):
            raise SegyError(
                f"{file.path} is compressed ({name})",
                f"decompress it first, for example with {name}",
                code="E219",
            )


def _format(binary: bytes, fix: Fix) -> tuple[Endian, int]:
    """Return byte order and sample format of the binary header; that of the traces may be another order."""
    codes: dict[Endian, int] = {
        "big": struct.unpack_from(">h", binary, 3225 - 3201)[0],
        "little": struct.unpack_from("<h", binary, 3225 - 3201)[0],
    }
    constant = {b"\x01\x02\x03\x04": "big", b"\x04\x03\x02\x01": "little"}.get(binary[96:100])
    known: list[Endian] = [e for e, c in codes.items() if c in FORMATS]
    endian: Endian
    if constant is not None:
        endian = "big" if constant == "big" else "little"
    elif fix.endian is not None:
        # files are known whose file header alone is in the other order
        endian = fix.endian if fix.endian in known or fix.format or not known else known[0]
    elif known:
        endian = known[0]
    else:
        endian = "little" if fix.format and _little_ns(binary) else "big"
    return endian, fix.format if fix.format is not None else codes[endian]


def _unreadable(file: InputFile, code: int, header: HeaderBytes, fix: Fix) -> SegyError:
    """Return the error for a format that is none or is not read, with the one that the samples look like."""
    trials = []
    for other in USUAL_FORMATS:
        try:
            trials.append(_segy_layout(file, header, replace(fix, format=other)))
        except SegyError:
            continue
    likely = likeliest_format(file, trials)
    name = f" ({FORMATS[code].name})" if code in FORMATS else ""
    text = f"{file.path}: sample format {code}{name} (byte 3225) is not one that can be read"
    if likely is None:
        cure = "if the file is SEG-Y, say which format it has: [data.fix] format = 1 (IBM) or 5 (IEEE)"
        return SegyError(text, cure, code="E211")
    looks = f"; samples look like those of format {likely} ({FORMATS[likely].name})"
    return SegyError(text + looks, fix_text({"format": likely}), code="E211")


def _other_order(file: InputFile, layout: FileLayout, header: HeaderBytes) -> bool:
    """Return whether trace headers confirm the number of samples in the other byte order alone."""
    other = replace(layout, endian="little" if layout.endian == "big" else "big")
    return (
        header.ns > 0
        and agreement(file, layout, header, layout.ns) == 0.0
        and agreement(file, other, header, layout.ns) == 1.0
    )


def _say_order(layout: FileLayout) -> None:
    """Take the traces in the other byte order than the file header, and say so."""
    head, layout.endian = layout.endian, "little" if layout.endian == "big" else "big"
    # what was said of their number came from a header that was misread
    layout.findings = [
        Finding(
            "W380",
            "warning",
            f"{layout.path}: the file header is {head}-endian, the trace headers are {layout.endian}-endian (all that "
            f"were looked at say {layout.ns} samples in that byte order alone); traces are read as "
            f"{layout.endian}-endian",
            "other programs may refuse the file: write it again in one byte order; if all files are so, "
            f"{fix_text({'endian': layout.endian})} says it",
            {"file_header": head, "traces": layout.endian},
        )
    ]


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
            "if there are none: [data.fix] text_headers = 0; else their number; a count of -1 needs a last stanza "
            "((SEG: EndText))",
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
            find_ns(file, layout, header, fix, {}, file.size)
        except SegyError as e:
            e = explained(e, file, layout, header, {}, file.size)
            # the order that gives the smaller number of samples is the more telling one to report
            problem = e if problem is None or endian == "big" else problem
            continue
        same = agreement(file, layout, header, layout.ns_trace)
        if best is None or same > agreement(file, best, header, best.ns_trace):
            best = layout
    if best is None:
        assert problem is not None
        raise problem
    find_dt(best, fix, 0.0)
    return best
