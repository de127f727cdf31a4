"""SEG-Y and SU files of a survey in any layout, written without subsalt, and opened to be spoiled."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from segy_maker import PLACES

#: first byte and kind of header values, those of the tests' own writer and a few more
FIELDS = PLACES | {"uphole": (95, "i2"), "static": (103, "i2"), "shot_point": (197, "i4")}
#: bytes of a sample by format code
WIDTH = {1: 4, 2: 4, 3: 2, 5: 4, 6: 8, 8: 1}


@dataclass(frozen=True)
class Layout:
    """How a survey is written; the defaults are rev 1, big endian, IEEE, decimetres, one file per shot."""

    kind: str = "segy"
    endian: str = "big"
    code: int = 5
    revision: int = 0x0100
    scalar: int = -10
    depth_scalar: int = -10
    unit: str = "m"
    files: str = "shots"  # "shots": a file each; "one": one for all; "lines": three files
    order: str = "shot"  # or "receiver"
    texts: int = 0
    delay: int = 0
    ids: int = 1
    preset: str = "rev1"
    depths_down: bool = False  # receiver elevations are written as depths
    cdp: bool = False
    sample_scale: float = 1.0
    surface: float = 0.0  # elevation of the ground, m
    origin: tuple[float, float] = (0.0, 0.0)
    azimuth: float = 0.0


def ibm(values: np.ndarray) -> np.ndarray:
    """Return IBM floats as 32-bit words, truncated as the format has it."""
    v = np.asarray(values, np.float64)
    fraction, two = np.frexp(np.abs(v))
    sixteen = -(-two // 4)
    whole = np.floor(np.ldexp(fraction, two - 4 * sixteen + 24)).astype(np.uint32)
    word = (
        (np.where(v < 0, 0x80000000, 0).astype(np.uint32)) | ((sixteen + 64).astype(np.uint32) << 24) | whole
    )
    return np.where(v == 0, np.uint32(0), word).astype(np.uint32)


def from_ibm(words: np.ndarray) -> np.ndarray:
    """Return the values of IBM floats."""
    w = words.astype(np.uint32)
    value = (w & 0xFFFFFF) / 2.0**24 * 16.0 ** (((w >> 24) & 0x7F).astype(np.float64) - 64)
    return np.where(w >> 31, -value, value)


def encode(samples: np.ndarray, code: int, order: str) -> np.ndarray:
    """Return samples (n, nt) as bytes (n, nt * width)."""
    kinds = {2: "i4", 3: "i2", 5: "f4", 6: "f8", 8: "i1"}
    if code == 1:
        raw = ibm(samples).astype(order + "u4")
    else:
        raw = (samples if code in (5, 6) else np.round(samples)).astype(order + kinds[code])
    return np.ascontiguousarray(raw).view(np.uint8).reshape(len(samples), -1)


def decode(raw: np.ndarray, code: int, order: str) -> np.ndarray:
    """Return bytes (n, nt * width) as samples (n, nt), float64."""
    kinds = {2: "i4", 3: "i2", 5: "f4", 6: "f8", 8: "i1"}
    whole = np.ascontiguousarray(raw)
    if code == 1:
        return from_ibm(whole.view(order + "u4"))
    return whole.view(order + kinds[code]).astype(np.float64)


def on_map(points: np.ndarray, layout: Layout) -> np.ndarray:
    """Return positions on the map of the layout."""
    c, s = np.cos(np.radians(layout.azimuth)), np.sin(np.radians(layout.azimuth))
    x, y = points[..., 0], points[..., 1]
    return np.stack(
        [layout.origin[0] + c * x - s * y, layout.origin[1] + s * x + c * y, points[..., 2]], axis=-1
    )


def _rows(world, layout: Layout):
    """Return (columns of header values, samples) of all traces, in the order of recording."""
    foot = 0.3048 if layout.unit == "ft" else 1.0
    src = np.concatenate([np.broadcast_to(s.src, s.rcv.shape) for s in world.shots])
    rcv = np.concatenate([s.rcv for s in world.shots])
    counts = [len(s.rcv) for s in world.shots]
    shot = np.repeat([s.id for s in world.shots], counts)
    channel = np.concatenate([np.arange(1, n + 1) for n in counts])
    data = np.concatenate([s.data for s in world.shots])
    signed = np.hypot(*(rcv - src)[:, :2].T)
    if world.ndim == 2:
        signed = np.where((rcv - src)[:, 0] < 0, -signed, signed)
    where, there = on_map(src, layout) / foot, on_map(rcv, layout) / foot

    def whole(values, scalar):
        s = float(scalar or 1)
        return np.round(values * (-s if s < 0 else 1.0 / s)).astype(np.int64)

    xy, z = layout.scalar, layout.depth_scalar
    up = 1 if layout.depths_down else -1
    head = {
        "ffid": shot,
        "channel": channel,
        "source_point": shot,
        "trace_id": np.full(len(shot), layout.ids),
        "offset": np.round(signed / foot).astype(np.int64),
        "receiver_elevation": up * whole(there[:, 2], z),
        "source_elevation": whole(np.full(len(shot), layout.surface / foot), z),
        "source_depth": whole(where[:, 2] + layout.surface / foot, z),
        "elevation_scalar": np.full(len(shot), z),
        "coordinate_scalar": np.full(len(shot), xy),
        "source_x": whole(where[:, 0], xy),
        "source_y": whole(where[:, 1], xy),
        "receiver_x": whole(there[:, 0], xy),
        "receiver_y": whole(there[:, 1], xy),
        "coordinate_units": np.ones(len(shot), int),
        "delay": np.full(len(shot), layout.delay),
        "ns": np.full(len(shot), world.time.nt),
        "dt": np.full(len(shot), round(world.time.dt * 1e6)),
        "cdp": np.zeros(len(shot), int),
    }
    if layout.kind == "segy" and layout.revision >= 0x0100:
        middle = 0.5 * (where + there)
        head |= {"cdp_x": whole(middle[:, 0], xy), "cdp_y": whole(middle[:, 1], xy)}
    if layout.cdp:
        head["cdp"] = 1 + np.round((0.5 * (src + rcv)[:, 0]) / 6.25).astype(np.int64)
    if layout.preset == "obn":
        stations = np.unique(np.round(rcv, 2), axis=0, return_inverse=True)[1].reshape(-1)
        head |= {"ffid": 1 + stations, "source_point": shot}
    return head, data * layout.sample_scale, shot


def header_row(head, columns, order, n):
    """Write header columns into rows of 240 bytes."""
    for name, value in columns.items():
        byte, kind = FIELDS[name]
        column = np.broadcast_to(np.asarray(value), (n,)).astype(order + kind)
        head[:, byte - 1 : byte - 1 + int(kind[1])] = column.view(np.uint8).reshape(n, -1)


def text_header(lines=("SEG-Y",)) -> bytes:
    """Return a textual header in EBCDIC."""
    cards = [f"C{i + 1:2d} {lines[i] if i < len(lines) else ''}".ljust(80)[:80] for i in range(40)]
    return "".join(cards).encode("cp037")


def binary_header(world, layout: Layout, channels: int, sorting: int) -> bytes:
    """Return a binary header."""
    order = ">" if layout.endian == "big" else "<"
    head = bytearray(400)
    for byte, kind, value in (
        (3213, "h", channels),
        (3217, "H", round(world.time.dt * 1e6)),
        (3221, "H", world.time.nt),
        (3225, "h", layout.code),
        (3229, "h", sorting),
        (3255, "h", 2 if layout.unit == "ft" else 1),
        (3501, "H", layout.revision),
        (3503, "h", 1 if layout.revision >= 0x0100 else 0),
        (3505, "h", layout.texts),
    ):
        struct.pack_into(order + kind, head, byte - 3201, value)
    if layout.revision >= 0x0200:
        struct.pack_into(order + "I", head, 3297 - 3201, 0x01020304)
        head[300], head[301] = layout.revision >> 8, layout.revision & 255
    return bytes(head)


def write(world, folder: Path, layout: Layout) -> list[Path]:
    """Write the survey of `world` into `folder`; return the files."""
    columns, data, shot = _rows(world, layout)
    order = ">" if layout.endian == "big" else "<"
    by = np.argsort(columns["ffid"], kind="stable") if layout.preset == "obn" else np.arange(len(shot))
    key = {"one": 0 * shot, "lines": (shot - shot.min()) * 3 // (int(np.ptp(shot)) + 1), "shots": shot}[
        layout.files
    ]
    suffix = ".su" if layout.kind == "su" else ".sgy"
    out = []
    for k in np.unique(key):
        use = by[key[by] == k]
        n = len(use)
        head = np.zeros((n, 240), np.uint8)
        header_row(head, {name: v[use] for name, v in columns.items()}, order, n)
        rows = np.concatenate([head, encode(data[use], layout.code, order)], axis=1)
        name = {"one": "shots", "lines": f"line_{k + 1}", "shots": f"shot_{k:04d}"}[layout.files]
        path = folder / f"{name}{suffix}"
        before = b""
        if layout.kind == "segy":
            sorting = 5 if layout.preset == "obn" else 1
            before = (
                text_header()
                + binary_header(world, layout, n, sorting)
                + layout.texts * text_header(("MORE",))
            )
        path.write_bytes(before + rows.tobytes())
        out.append(path)
    return out


class TraceFile:
    """A file of traces opened to be spoiled: header columns and samples as arrays, written back by `save`."""

    def __init__(self, path: Path, world, layout: Layout):
        self.path, self.layout, self.dt = path, layout, world.time.dt
        self.order = ">" if layout.endian == "big" else "<"
        raw = np.frombuffer(path.read_bytes(), np.uint8).copy()
        self.first = 3600 + 3200 * layout.texts if layout.kind == "segy" else 0
        self.file_head = raw[: self.first]
        self.rows = raw[self.first :].reshape(-1, 240 + WIDTH[layout.code] * world.time.nt)

    def __len__(self) -> int:
        return len(self.rows)

    def get(self, name: str) -> np.ndarray:
        """Return a header value of all traces."""
        byte, kind = FIELDS[name]
        part = np.ascontiguousarray(self.rows[:, byte - 1 : byte - 1 + int(kind[1])])
        return part.view(self.order + kind)[:, 0].astype(np.int64)

    def put(self, **columns) -> TraceFile:
        """Set header values of all traces."""
        header_row(self.rows, columns, self.order, len(self.rows))
        return self

    def binary(self, byte: int, kind: str, value) -> TraceFile:
        """Set a value of the binary header."""
        head = bytearray(self.file_head.tobytes())
        struct.pack_into(self.order + kind, head, byte - 1, value)
        self.file_head = np.frombuffer(bytes(head), np.uint8).copy()
        return self

    @property
    def samples(self) -> np.ndarray:
        """Samples (n, nt), a copy."""
        return decode(self.rows[:, 240:], self.layout.code, self.order)

    @samples.setter
    def samples(self, values) -> None:
        self.rows = np.concatenate([self.rows[:, :240], encode(values, self.layout.code, self.order)], axis=1)

    def save(self) -> None:
        """Write the file back."""
        self.path.write_bytes(self.file_head.tobytes() + np.ascontiguousarray(self.rows).tobytes())
