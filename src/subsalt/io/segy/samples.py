"""Sample formats of SEG-Y: from the bytes of a trace to float32.

The conversion is ours because segyio 1.9.14 decodes IBM numbers with leading zero digits wrongly (0x4700374C,
which is 226496, comes out as 8501856) and turns an overflow into NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
