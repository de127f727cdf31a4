"""Trace headers of rev 2: further blocks of 240 bytes, and layouts that a file describes itself.

Values come from the first 240 bytes. What the further blocks say otherwise is refused by name, never read wrongly.
"""

from __future__ import annotations

import re
import struct

import numpy as np

from subsalt.errors import Finding, SegyError
from subsalt.io.files import InputFile
from subsalt.io.segy.headers import TRACE_HEADER, FileLayout, Fix, HeaderBytes, apply_scalar
from subsalt.io.segy.text_header import TEXT_HEADER

#: name of the first extension of the standard, in its last eight bytes
_FIRST = "SEG00001"
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
#: traces whose extensions are looked at
_LOOKED_AT = 8


def refuse_extensions(file: InputFile, layout: FileLayout, header: HeaderBytes, fix: Fix) -> None:
    """Raise `SegyError` when the first extension of the trace headers says something else than the header itself."""
    if layout.header_bytes <= TRACE_HEADER:
        return
    order = ">" if layout.endian == "big" else "<"
    for trace in sorted({i * (layout.n_traces - 1) // (_LOOKED_AT - 1) for i in range(_LOOKED_AT)}):
        raw = file.read_at(layout.first_trace + trace * layout.trace_bytes, 2 * TRACE_HEADER)
        more = raw[TRACE_HEADER:]
        if _name(more) != _FIRST:
            continue
        where = f"{layout.path} trace {trace + 1}: its trace header extension ({_FIRST})"
        (blocks,) = struct.unpack_from(order + "H", more, 156)
        # the header itself may or may not be counted
        if blocks and blocks * TRACE_HEADER not in (layout.header_bytes, layout.header_bytes - TRACE_HEADER):
            raise SegyError(
                f"{where} counts {blocks} extensions, byte 3507 says {layout.header_bytes // TRACE_HEADER - 1}: traces "
                "with different numbers of headers are not read",
                "write the file with one number of headers for all traces, such as none",
                code="E258",
            )
        (ns,) = struct.unpack_from(order + "I", more, 136)
        if ns and ns != layout.ns and fix.ns is None:
            raise SegyError(
                f"{where} says {ns} samples, {layout.ns} fit the file",
                f"[data.fix] ns = {layout.ns} if that is right",
                code="E258",
            )
        _refuse_positions(where, raw, more, order, header, fix)


def _refuse_positions(where: str, raw: bytes, more: bytes, order: str, header: HeaderBytes, fix: Fix) -> None:
    """Raise `SegyError` when an extension holds other coordinates than the trace header."""

    def value(byte: int, kind: str) -> int:
        return int(struct.unpack_from(order + kind, raw, byte - 1)[0]) if byte else 0

    scalar = value(header.coordinate_scalar, "h") if fix.scalar is None else fix.scalar
    names = ("source_x", "source_y", "receiver_x", "receiver_y")
    plain = [float(apply_scalar(np.array(value(getattr(header, n), "i")), scalar)) for n in names]
    long = struct.unpack_from(order + "4d", more, 96)
    worst = max(abs(a - b) for a, b in zip(plain, long, strict=True))
    if any(long) and not worst <= 1.0:
        raise SegyError(
            f"{where} holds the coordinates {', '.join(f'{v:.10g}' for v in long)} (source x, y, receiver x, y); its "
            f"header (bytes 73 to 88) says {', '.join(f'{v:.10g}' for v in plain)}; extensions are not read",
            "copy the coordinates into bytes 73 to 88 with a scalar in byte 71, or give the geometry in a CSV",
            code="E258",
        )


def _name(block: bytes) -> str:
    """Return the name in the last eight bytes of a header."""
    for code in ("ascii", "cp037"):
        text = block[-8:].decode(code, errors="replace")
        if text.startswith("SEG"):
            return text
    return ""


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
            found = re.findall(r"<entry\b([^>]*)>", plain)
            out = []
            for attributes in found:
                name = re.search(r'\bname="([^"]{1,40})"', attributes)
                byte = re.search(r'\bbyte="(\d{1,4})"', attributes)
                if name and byte:
                    out.append((name[1], int(byte[1])))
            return out
    return []
