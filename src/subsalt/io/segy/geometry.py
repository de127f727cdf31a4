"""From header values to positions in metres: scalars, units, signs, and which traces count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.io.segy.headers import FileLayout, Fix, apply_scalar

#: header values that positions are made of
POSITION_NAMES = (
    "ffid",
    "channel",
    "source_point",
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
    A receiver lies at z = -elevation (41).
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
        return apply_scalar(column(values, name, n), scalar) * length

    sx, sy = get("source_x", xy), get("source_y", xy)
    gx, gy = get("receiver_x", xy), get("receiver_y", xy)
    if fix.swap_xy:
        sx, sy, gx, gy = sy, sx, gy, gx
    sz = get("source_depth", zz) - fix.z_sign * get("source_elevation", zz)
    gz = -fix.z_sign * get("receiver_elevation", zz)
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
        ts = column(values, "time_scalar", n) if fix.time_scalar is None else np.int32(fix.time_scalar)
        # rev 0 leaves byte 215 to anybody's use: only the values of the standard count
        ts = np.where(np.isin(np.abs(ts), (1, 10, 100, 1000, 10000)), ts, 1)
        delay = apply_scalar(column(values, "delay", n), ts) / 1000.0
    return TracePositions(src, rcv, column(values, "offset", n) * length, delay)


def bin_positions(
    values: dict[str, NDArray], layout: FileLayout, fix: Fix
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return map x and y of the bin (CDP) of all traces, (n,) each, m; zeros when the file has none."""
    n = layout.n_traces
    scalar, length = _scalar(values, n, fix), unit_factor(layout, fix)
    x, y = (apply_scalar(column(values, name, n), scalar) * length for name in ("cdp_x", "cdp_y"))
    return (y, x) if fix.swap_xy else (x, y)


def _scalar(values: dict[str, NDArray], n: int, fix: Fix) -> NDArray | np.int32:
    """Return the scalar of coordinates."""
    return column(values, "coordinate_scalar", n) if fix.scalar is None else np.int32(fix.scalar)
