"""Positions in metres from header values: scalars, units, signs, and which traces count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import SegyError
from subsalt.io.input_file import InputFile
from subsalt.io.segy.exclude import excluded
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.headers import FileLayout, HeaderBytes, apply_scalar, read_headers, save_index, wide
from subsalt.io.segy.interval import settle_dt
from subsalt.io.segy.layout import find_layout
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


def source_depths(values: dict[str, NDArray], layout: FileLayout, fix: Fix) -> NDArray[np.float64]:
    """Return the depths of sources below the surface (byte 49), (n,), m, whatever its elevation."""
    n = layout.n_traces
    if fix.source_depth is not None:
        return np.full(n, fix.source_depth)
    scalar = (
        column(values, "elevation_scalar", n)
        if fix.elevation_scalar is None
        else np.int32(fix.elevation_scalar)
    )
    return lengths(values, "source_depth", scalar, n) * unit_factor(layout, fix) + 0.0


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
    # rev 0 leaves byte 215 free: only the values of the standard count
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
