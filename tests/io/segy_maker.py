"""SEG-Y and SU files made byte by byte for the tests, with every lie a header can tell; independent of our
writer.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

# first byte and kind of the header values the tests set
PLACES = {
    "ffid": (9, "i4"),
    "channel": (13, "i4"),
    "source_point": (17, "i4"),
    "cdp": (21, "i4"),
    "trace_id": (29, "i2"),
    "offset": (37, "i4"),
    "receiver_elevation": (41, "i4"),
    "source_elevation": (45, "i4"),
    "source_depth": (49, "i4"),
    "elevation_scalar": (69, "i2"),
    "coordinate_scalar": (71, "i2"),
    "source_x": (73, "i4"),
    "source_y": (77, "i4"),
    "receiver_x": (81, "i4"),
    "receiver_y": (85, "i4"),
    "coordinate_units": (89, "i2"),
    "source_static": (99, "i2"),
    "delay": (109, "i2"),
    "ns": (115, "u2"),
    "dt": (117, "u2"),
    "cdp_x": (181, "i4"),
    "cdp_y": (185, "i4"),
    "inline": (189, "i4"),
    "crossline": (193, "i4"),
    "time_scalar": (215, "i2"),
}


def ibm_words(values: np.ndarray) -> np.ndarray:
    """Return IBM floats as 32-bit words, by the definition and with Python integers."""
    out = np.zeros(values.size, np.uint32)
    for i, v in enumerate(np.asarray(values, dtype=float).reshape(-1)):
        if v == 0:
            continue
        sign, m, e = (0x80000000 if v < 0 else 0), abs(v), 64
        while m >= 1:
            m, e = m / 16, e + 1
        while m < 1 / 16:
            m, e = m * 16, e - 1
        out[i] = sign | (e << 24) | int(m * 2**24)
    return out.reshape(values.shape)


def encode(samples: np.ndarray, code: int, order: str) -> bytes:
    """Return samples as bytes of a sample format."""
    kinds = {2: "i4", 3: "i2", 5: "f4", 6: "f8", 8: "i1", 9: "i8", 10: "u4", 11: "u2", 12: "u8", 16: "u1"}
    if code == 1:
        return ibm_words(samples).astype(order + "u4").tobytes()
    if code in (7, 15):
        whole = samples.astype(np.int64) & 0xFFFFFF
        parts = [(whole >> s) & 0xFF for s in ((16, 8, 0) if order == ">" else (0, 8, 16))]
        return np.stack(parts, axis=-1).astype(np.uint8).tobytes()
    return samples.astype(order + kinds.get(code, "f4")).tobytes()


def make_segy(
    path: Path,
    samples: np.ndarray,
    *,
    code: int = 5,
    endian: str = "big",
    dt: int = 4000,
    binary: dict[int, tuple[str, int | float]] | None = None,
    headers: dict[str, object] | None = None,
    text: bytes = b"C 1 TEST".ljust(3200),
    extended: list[bytes] | None = None,
    extra_headers: int = 0,
    tail: bytes = b"",
    su: bool = False,
) -> Path:
    """Write a file; `binary` maps a byte of the file to (struct kind, value), `headers` names to values or
    arrays.
    """
    order = ">" if endian == "big" else "<"
    n, ns = samples.shape
    head = bytearray(400)
    fields: dict[int, tuple[str, int | float]] = {
        3217: ("H", dt),
        3221: ("H", ns & 0xFFFF),
        3225: ("h", code),
    }
    for byte, (kind, value) in {**fields, **(binary or {})}.items():
        struct.pack_into(order + kind, head, byte - 3201, value)
    rows = np.zeros((n, 240), np.uint8)
    for name, value in {"ns": ns & 0xFFFF, "dt": dt, **(headers or {})}.items():
        byte, kind = PLACES[name]
        column = np.broadcast_to(np.asarray(value), (n,)).astype(order + kind)
        rows[:, byte - 1 : byte - 1 + int(kind[1])] = column.view(np.uint8).reshape(n, -1)
    out = bytearray()
    if not su:
        out += text + head + b"".join(extended or [])
    for row, trace in zip(rows, samples, strict=True):
        out += row.tobytes() + bytes(240 * extra_headers) + encode(trace, code, order)
    path.write_bytes(bytes(out) + tail)
    return path


def line_headers(shots: int, receivers: int) -> dict[str, object]:
    """Return the headers of a 2-D line: sources every 50 m, receivers every 25 m, in centimetres, scalar
    -100.
    """
    shot = np.repeat(np.arange(shots), receivers)
    channel = np.tile(np.arange(receivers), shots)
    return {
        "ffid": shot + 1,
        "channel": channel + 1,
        "source_x": 5000 * shot,
        "receiver_x": 2500 * channel,
        "coordinate_scalar": -100,
        "elevation_scalar": -10,
        "source_depth": 60,
        "receiver_elevation": -100,
        "trace_id": 1,
        "offset": 25 * channel - 50 * shot,
    }
