"""Sample formats of SEG-Y: from the bytes of a trace to float32.

The conversion is ours because segyio 1.9.14 decodes IBM numbers with leading zero digits wrongly (0x4700374C,
which is 226496, comes out as 8501856) and turns an overflow into NaN.

The textual header of SEG-Y: 40 lines of 80 characters, in EBCDIC or ASCII.

Samples of many SEG-Y traces to float32 in one compiled pass; `io.segy.samples.decode` is the same in NumPy.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt import _native


@dataclass(frozen=True)
class SampleFormat:
    """One row of the table of sample formats (byte 3225)."""

    code: int
    name: str
    size: int  # bytes per sample
    dtype: str  # NumPy type without byte order; empty when we do not read it


FORMATS: dict[int, SampleFormat] = {
    f.code: f
    for f in (
        SampleFormat(1, "IBM float", 4, "u4"),
        SampleFormat(2, "32-bit integer", 4, "i4"),
        SampleFormat(3, "16-bit integer", 2, "i2"),
        SampleFormat(4, "fixed point with gain", 4, ""),
        SampleFormat(5, "IEEE float", 4, "f4"),
        SampleFormat(6, "IEEE double", 8, "f8"),
        SampleFormat(7, "24-bit integer", 3, "u1"),
        SampleFormat(8, "8-bit integer", 1, "i1"),
        SampleFormat(9, "64-bit integer", 8, "i8"),
        SampleFormat(10, "32-bit unsigned integer", 4, "u4"),
        SampleFormat(11, "16-bit unsigned integer", 2, "u2"),
        SampleFormat(12, "64-bit unsigned integer", 8, "u8"),
        SampleFormat(15, "24-bit unsigned integer", 3, "u1"),
        SampleFormat(16, "8-bit unsigned integer", 1, "u1"),
    )
}

READABLE = tuple(code for code, f in FORMATS.items() if f.dtype)


def ibm_to_float(words: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Return IBM System/360 floats, given as native 32-bit words, as float32.

    Notes
    -----
    value = (-1)^s 16^(e - 64) f / 2^24 with one sign bit, seven bits of exponent and 24 of fraction. The
    product is exact in double precision and rounded once; what exceeds float32 becomes infinite, so that the
    check for finite samples finds it.
    """
    exponent = ((words >> np.uint32(24)) & np.uint32(0x7F)).astype(np.int32)
    out = (words & np.uint32(0x00FFFFFF)).astype(np.float64)
    out = np.ldexp(out, 4 * exponent - (4 * 64 + 24))
    np.negative(out, out=out, where=words >> np.uint32(31) != 0)
    with np.errstate(over="ignore"):
        return out.astype(np.float32)


def decode(raw: NDArray[np.uint8], code: int, endian: str) -> NDArray[np.float32]:
    """Return samples as float32.

    Parameters
    ----------
    raw : ndarray, (n, bytes), uint8
        The bytes of n traces, C-contiguous along the second axis.
    code : int
        Sample format, one of `READABLE`.
    endian : {"big", "little"}
        Byte order of the file.
    """
    fmt = FORMATS[code]
    order = ">" if endian == "big" else "<"
    if fmt.size == 3:
        return _decode_24_bit(np.ascontiguousarray(raw), signed=code == 7, big=endian == "big")
    values = np.ascontiguousarray(raw).view(order + fmt.dtype)
    if code == 1:
        return ibm_to_float(values.astype(np.uint32))
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(np.float32)


def _decode_24_bit(raw: NDArray[np.uint8], signed: bool, big: bool) -> NDArray[np.float32]:
    """Return three-byte integers as float32 (exact: 24 bits)."""
    b = raw.reshape(len(raw), -1, 3).astype(np.int32)
    high, mid, low = (b[..., 0], b[..., 1], b[..., 2]) if big else (b[..., 2], b[..., 1], b[..., 0])
    value = (high << 16) | (mid << 8) | low
    if signed:
        value -= (value >> 23) << 24
    return value.astype(np.float32)


TEXT_HEADER = 3200
_LINES, _COLUMNS = 40, 80

#: what texts are made of, in the codes of either encoding
_USUAL = {
    name: (string.ascii_letters + string.digits + " .,:;-/()=+").encode(name) for name in ("cp037", "latin-1")
}


def _printable(text: str) -> str:
    """Return text in which nothing can steer a terminal: other characters become a dot."""
    return re.sub(r"[^ -~]", ".", text)


def _usual(raw: bytes, encoding: str) -> int:
    """Return how many characters are what texts are made of."""
    return len(raw) - len(raw.translate(None, _USUAL[encoding]))


def decode_text(raw: bytes) -> tuple[list[str], str]:
    """Return the 40 lines and the encoding, ``"EBCDIC"``, ``"ASCII"`` or ``"unreadable"``."""
    score, name, encoding = max(
        (_usual(raw, "cp037"), "EBCDIC", "cp037"),
        (_usual(raw, "latin-1"), "ASCII", "latin-1"),
        key=lambda s: s[0],
    )
    # NUL pads many headers and says nothing about the encoding
    if score + raw.count(b"\0") < 0.5 * max(len(raw), 1):
        name = "unreadable"
    text = _printable(raw.decode(encoding).replace("\0", " ")).ljust(TEXT_HEADER)
    return [text[i : i + _COLUMNS].rstrip() for i in range(0, TEXT_HEADER, _COLUMNS)], name


def encode_text(lines: Sequence[str]) -> bytes:
    """Return 3200 EBCDIC bytes of up to 39 lines, numbered C01 to C39; line 40 ends the header as rev 1 asks.

    Longer lines are wrapped by words; more than 38 lines of content are cut, and the last one says so.
    """
    out: list[str] = []
    for line in lines:
        words = _printable(line).split(" ")
        row = ""
        for word in words:
            while len(row) + len(word) + 1 > 76:
                if row:
                    out.append(row)
                    row, word = "", "  " + word
                else:
                    out.append(word[:76])
                    word = "  " + word[76:]
            row = f"{row} {word}" if row else word
        out.append(row)
    if len(out) > 38:
        out = [*out[:37], "... (cut: the header has room for 38 lines)"]
    out = out + [""] * (38 - len(out)) + ["SEG Y REV1", "END TEXTUAL HEADER"]
    return "".join(f"C{i + 1:2d} {line}".ljust(_COLUMNS)[:_COLUMNS] for i, line in enumerate(out)).encode(
        "cp037"
    )


def decode_traces(
    raw: NDArray[np.uint8],
    at: NDArray[np.int64],
    ns: int,
    code: int,
    endian: str,
    out: NDArray[np.float32],
    *,
    late: NDArray[np.int32] | None = None,
    zero_bad: bool = False,
) -> NDArray[np.int32]:
    """Fill `out` with the samples of traces, and return how many of each trace are not finite.

    Parameters
    ----------
    raw : ndarray, (bytes,), uint8
        Bytes of a file.
    at : ndarray, (n,), int64
        Byte in `raw` of the first sample of each trace.
    ns, code, endian : int, int, {"big", "little"}
        Samples of a trace in the file, their format (byte 3225), and byte order.
    out : ndarray, (n, nt), float32
        Filled, with zeros outside the samples.
    late : ndarray, (n,), int32, optional
        Samples by which each trace begins after its row.
    zero_bad : bool
        Set samples that are not finite to zero.

    Returns
    -------
    ndarray, (n,), int32
    """
    bad = np.empty(len(out), np.int32)
    native: Any = _native
    native.decode_traces(raw, at, late, ns, code, endian == "big", zero_bad, out, bad)
    return bad
