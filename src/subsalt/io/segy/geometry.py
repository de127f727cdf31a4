"""From header values to positions in metres: scalars, units, signs, and which traces count.

Which traces belong to one shot: by field record number, or by source position when the numbers are missing; and
traces that are there twice.

Layout, header values and positions of one SEG-Y or SU file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError, SegyError
from subsalt.io.input_file import InputFile
from subsalt.io.segy.exclude import excluded
from subsalt.io.segy.headers import (
    FileLayout,
    Fix,
    HeaderBytes,
    apply_scalar,
    read_headers,
    save_index,
    wide,
)
from subsalt.io.segy.layout import find_layout
from subsalt.io.segy.sampling import settle_dt
from subsalt.io.segy.words import PRESETS

#: header values that positions are made of
POSITION_NAMES = (
    "ffid",
    "channel",
    "source_point",
    "source_line",
    "cdp",
    "trace_id",
    "offset",
    "receiver_elevation",
    "source_elevation",
    "source_depth",
    "elevation_scalar",
    "coordinate_scalar",
    "source_x",
    "source_y",
    "receiver_x",
    "receiver_y",
    "coordinate_units",
    "delay",
    "time_scalar",
    "dt",
    "ns",
)

FOOT = 0.3048
#: trace identifications (byte 29)
LIVE, DEAD, PRESSURE, VERTICAL = 1, 2, 11, 12
#: those that rev 1 gives to sensors of one kind
SENSORS = {
    11: "pressure",
    12: "vertical",
    13: "crossline",
    14: "inline",
    15: "rotated vertical",
    16: "rotated transverse",
    17: "rotated radial",
}


@dataclass
class TracePositions:
    """Map positions of the traces of one file, z positive down, m."""

    src: NDArray[np.float64]
    rcv: NDArray[np.float64]
    offset: NDArray[np.float64]
    delay: NDArray[np.float64]


def column(values: dict[str, NDArray], name: str, n: int) -> NDArray:
    """Return a header value of all traces; zeros when the file has none."""
    return values[name] if name in values else np.zeros(n, np.int32)


def unit_factor(layout: FileLayout, fix: Fix) -> float:
    """Return metres per unit of length of the file."""
    unit = fix.unit or ("ft" if layout.kind == "segy" and layout.measurement == 2 else "m")
    return FOOT if unit == "ft" else 1.0


def trace_kinds(values: dict[str, NDArray], n: int, fix: Fix) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which traces are dead (identification 2) and which are auxiliary.

    Data are traces of identification 1, 0 (which many writers leave), and since rev 1 those of pressure sensors (11)
    and of vertical components (12), unless the user names others.
    """
    kind = column(values, "trace_id", n)
    dead = kind == DEAD
    if fix.trace_ids is not None:
        aux = ~np.isin(kind, fix.trace_ids)
    elif fix.all_traces:
        aux = np.zeros(n, bool)
    else:
        aux = ~np.isin(kind, (0, LIVE, PRESSURE, VERTICAL))
    return dead, aux & ~dead


def positions(
    values: dict[str, NDArray], layout: FileLayout, fix: Fix, scaled: bool = True
) -> TracePositions:
    """Return positions of all traces of a file.

    Parameters
    ----------
    values : dict of ndarray, (n,)
        Header values as read.
    scaled : bool
        Apply the scalars (bytes 69, 71); False shows what the raw numbers would say.

    Notes
    -----
    Source depth below the surface (49) counts downward from the source elevation (45): z = depth - elevation.
    A receiver lies at z = -elevation (41), and deeper where an extension of the header (rev 2) has its depth. Lengths
    in extensions have no scalar.
    """
    n = layout.n_traces
    length = unit_factor(layout, fix)
    xy = _scalar(values, n, fix)
    zz = (
        column(values, "elevation_scalar", n)
        if fix.elevation_scalar is None
        else np.int32(fix.elevation_scalar)
    )
    if not scaled:
        xy = zz = np.int32(1)

    def get(name: str, scalar: NDArray | np.int32) -> NDArray[np.float64]:
        return lengths(values, name, scalar, n) * length

    sx, sy = get("source_x", xy), get("source_y", xy)
    gx, gy = get("receiver_x", xy), get("receiver_y", xy)
    if fix.swap_xy:
        sx, sy, gx, gy = sy, sx, gy, gx
    sz = get("source_depth", zz) - fix.z_sign * get("source_elevation", zz)
    gz = -fix.z_sign * get("receiver_elevation", zz) + get("receiver_depth", zz)
    if fix.source_depth is not None:
        sz = np.full(n, fix.source_depth)
    if fix.receiver_depth is not None:
        gz = np.full(n, fix.receiver_depth)
    # -0.0 would print and compare oddly
    src = np.stack([sx, sy, sz], axis=1) + 0.0
    rcv = np.stack([gx, gy, gz], axis=1) + 0.0
    if fix.delay is not None:
        delay = np.full(n, fix.delay)
    else:
        delay = milliseconds(values, "delay", n, fix) / 1000.0
    return TracePositions(src, rcv, get("offset", np.int32(1)), delay)


def lengths(values: dict[str, NDArray], name: str, scalar: NDArray | np.int32, n: int) -> NDArray[np.float64]:
    """Return a length (n,) in units of the file: that of the extension where it has one, else scaled."""
    plain = apply_scalar(values[name], scalar) if name in values else np.zeros(n)
    exact = values.get(wide(name))
    return plain if exact is None else np.where(exact != 0, exact, plain)


def milliseconds(values: dict[str, NDArray], name: str, n: int, fix: Fix) -> NDArray[np.float64]:
    """Return a time of the headers (n,), ms, its scalar (byte 215) applied."""
    if name not in values or not values[name].any():
        return np.zeros(n)
    ts = column(values, "time_scalar", n) if fix.time_scalar is None else np.int32(fix.time_scalar)
    # rev 0 leaves byte 215 to anybody's use: only the values of the standard count
    ts = np.where(np.isin(np.abs(ts), (1, 10, 100, 1000, 10000)), ts, 1)
    return apply_scalar(column(values, name, n), ts)


#: column of the static corrections in files of positions, s
GEOMETRY_STATIC = "geometry_static"
#: corrections of times in the trace headers
STATICS = ("source_static", "receiver_static", "total_static")


def header_column(name: str, scanned: ScannedFile, fix: Fix) -> NDArray[np.float64]:
    """Return one value of every trace of a file, (n,), as steps on traces use it.

    Parameters
    ----------
    name : str
        A header value as it stands in the file; one of `STATICS`, in s; ``source_z`` or ``receiver_z``, m, positive
        down.
    scanned : ScannedFile
        Read with the names of `needed_for`.
    """
    if name in ("source_z", "receiver_z"):
        return (scanned.positions.src if name == "source_z" else scanned.positions.rcv)[:, 2]
    if name == GEOMETRY_STATIC:
        # of files of positions, which are joined with all traces later
        return np.zeros(scanned.layout.n_traces)
    if name in STATICS:
        return milliseconds(scanned.values, name, scanned.layout.n_traces, fix) / 1000.0
    return column(scanned.values, name, scanned.layout.n_traces).astype(np.float64)


def needed_for(columns: Iterable[str]) -> tuple[str, ...]:
    """Return the header values to read so that `header_column` knows these columns."""
    more = [name for name in columns if name not in ("source_z", "receiver_z", GEOMETRY_STATIC)]
    return tuple(dict.fromkeys([*POSITION_NAMES, *more]))


def bin_positions(
    values: dict[str, NDArray], layout: FileLayout, fix: Fix
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return map x and y of the bin (CDP) of all traces, (n,) each, m; zeros when the file has none."""
    n = layout.n_traces
    scalar, length = _scalar(values, n, fix), unit_factor(layout, fix)
    x, y = (lengths(values, name, scalar, n) * length for name in ("cdp_x", "cdp_y"))
    return (y, x) if fix.swap_xy else (x, y)


def _scalar(values: dict[str, NDArray], n: int, fix: Fix) -> NDArray | np.int32:
    """Return the scalar of coordinates."""
    return column(values, "coordinate_scalar", n) if fix.scalar is None else np.int32(fix.scalar)


#: sources closer than this are the same, m: coordinates are stored to a centimetre or worse
SAME_PLACE = 0.05


@dataclass(frozen=True)
class ShotTable:
    """Shots of a set of traces.

    Parameters
    ----------
    key : {"ffid", "source"}
        What tells the shots apart.
    ids : ndarray, (n shots,), int64
        Number of each shot; the field record number, or 1, 2, ... in order of first appearance.
    member : ndarray, (n traces,), int64
        Index into `ids` for each trace.
    spread : float
        Largest distance of sources within one field record, m.
    """

    key: str
    ids: NDArray[np.int64]
    member: NDArray[np.int64]
    spread: float


def _group(values: NDArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (index of the first trace of each group, group of each trace), groups in order of first
    appearance.
    """
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse.reshape(-1)]


def shot_table(ffid: NDArray, src: NDArray[np.float64], key: str) -> ShotTable:
    """Return the shots of traces.

    Parameters
    ----------
    ffid : ndarray, (n,), int
        Field record numbers.
    src : ndarray, (n, 3)
        Source positions, m.
    key : {"auto", "ffid", "source"}
        ``auto`` takes the field record number unless one number stands for sources in several places, or one
        number for all traces while sources move, or it is absent.
    """
    if key not in ("auto", "ffid", "source"):
        raise ConfigError(f"shot_key = {key!r}", "use auto, ffid or source")
    first, member = _group(ffid)
    d = src[:, :2] - src[first[member], :2]
    spread = float(np.sqrt((d**2).sum(axis=1)).max()) if len(src) else 0.0
    if key == "ffid" or (key == "auto" and spread <= SAME_PLACE and (ffid.any() or not src.any())):
        return ShotTable("ffid", ffid[first].astype(np.int64), member, spread)
    # one 64-bit number per place; a centimetre over +-20,000 km leaves no collision
    place = np.round(src[:, :2] / SAME_PLACE).astype(np.int64)
    code = place[:, 0] * np.int64(1 << 31) + place[:, 1]
    first, member = _group(code)
    return ShotTable("source", np.arange(1, len(first) + 1, dtype=np.int64), member, spread)


@dataclass(frozen=True)
class Repeats:
    """Traces whose field record and channel were met before.

    Parameters
    ----------
    same : ndarray, int64
        Rows, ascending, of traces at the source and receiver of an earlier one of the same numbers.
    other : ndarray, int64
        Rows of traces that lie elsewhere than the first one of the same numbers.
    first : ndarray, int64
        For the rows `same` and then `other`: the first row of the same numbers.
    """

    same: NDArray[np.int64]
    other: NDArray[np.int64]
    first: NDArray[np.int64]


class Numbered(Protocol):
    """Traces with field records and channels, (n,) int32, and positions of sources and receivers, (n, 2+), m."""

    ffid: NDArray
    channel: NDArray
    src: NDArray[np.float64]
    rcv: NDArray[np.float64]


def find_repeats(table: Numbered) -> Repeats:
    """Return the traces whose numbers repeat; none when field records or channels are not numbered."""
    none = np.empty(0, np.int64)
    ffid, channel = table.ffid, table.channel
    if not (ffid.any() and channel.any()):
        return Repeats(none, none, none)
    # one number of 64 bits sorts ten times faster than two columns
    key = (ffid.astype(np.int64) << 32) | np.ascontiguousarray(channel, np.int32).view(np.uint32).astype(
        np.int64
    )
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    if new.all():
        return Repeats(none, none, none)
    starts = np.flatnonzero(new)
    first = order[starts][np.cumsum(new) - 1]
    row, first = order[~new], first[~new]
    near = np.ones(len(row), bool)
    for points in (table.src, table.rcv):
        near &= (np.abs(points[row] - points[first]) <= SAME_PLACE).all(axis=1)
    rows = []
    firsts = []
    for part in (near, ~near):
        by_row = np.argsort(row[part])
        rows.append(row[part][by_row])
        firsts.append(first[part][by_row])
    return Repeats(rows[0], rows[1], np.concatenate(firsts))


def first_of_repeats(table: Numbered) -> NDArray[np.int64]:
    """Return the rows of all traces but those that are there a second time."""
    keep = np.ones(len(table.ffid), bool)
    keep[find_repeats(table).same] = False
    return np.flatnonzero(keep)


@dataclass
class ScannedFile:
    """Layout and header values of one file, or of some of its traces.

    `matched` are the exclusions that apply here, `number` the traces in the file, from 0; all when None.
    """

    layout: FileLayout
    values: dict[str, NDArray]
    positions: TracePositions
    dead: NDArray[np.bool_]
    auxiliary: NDArray[np.bool_]
    excluded: NDArray[np.bool_]
    matched: NDArray[np.bool_]
    header: HeaderBytes = field(default_factory=HeaderBytes)
    number: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls,
        layout: FileLayout,
        values: dict[str, NDArray],
        header: HeaderBytes,
        fix: Fix,
        number: NDArray[np.int64] | None = None,
    ) -> ScannedFile:
        """Return what header values say under `fix`; `number` are the traces in the file, all when left out."""
        n = layout.n_traces
        dead, auxiliary = trace_kinds(values, n, fix)
        out, matched = excluded(
            fix.exclude,
            layout.path,
            np.arange(n) if number is None else number,
            column(values, "ffid", n),
            column(values, "channel", n),
        )
        return cls(
            layout, values, positions(values, layout, fix), dead, auxiliary, out, matched, header, number
        )

    def numbered(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers in the file, from 1, of some rows."""
        return 1 + (rows if self.number is None else self.number[rows])

    @cached_property
    def live(self) -> NDArray[np.bool_]:
        """Traces that are neither dead nor auxiliary, and not left out."""
        return ~(self.dead | self.auxiliary | self.excluded)


def open_headers(
    file: InputFile, header: HeaderBytes, fix: Fix, names: Iterable[str] = POSITION_NAMES
) -> ScannedFile:
    """Read layout and the named header values of one file."""
    layout = find_layout(file, header, fix)
    header = header_for(layout, header)
    if fix.index is not None:
        save_index(file, layout, header, fix.index)
    values = read_headers(file, layout, header, list(names), index=fix.index)
    settle_dt(layout, header, [int(v) for v in np.unique(column(values, "dt", layout.n_traces))[:1000]])
    return ScannedFile.of(layout, values, header, fix)


def header_for(layout: FileLayout, header: HeaderBytes) -> HeaderBytes:
    """Return the bytes that fit the kind of file: SU has no rev 1 fields after byte 180, unless told
    otherwise.
    """
    return PRESETS["su"] if layout.kind == "su" and header == HeaderBytes() else header


def refuse_depth(file: InputFile) -> None:
    """Raise `SegyError` for a store whose samples are over depth: records are over time."""
    if file.over == "depth":
        raise SegyError(
            f"{file.path}: its samples are over depth, recorded traces are over time",
            "a model in depth is named in [model]",
            code="E264",
        )
