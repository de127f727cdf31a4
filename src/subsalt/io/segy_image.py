"""Volumes in SEG-Y: images out (rev 1, depth step in the interval field and said in the text), models in."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import DataError, Finding, ModelError
from subsalt.grid import Frame, Grid
from subsalt.io.file_layout import FileLayout
from subsalt.io.files import InputFile
from subsalt.io.geometry import column, unit_factor
from subsalt.io.headers import Fix, HeaderBytes
from subsalt.io.lattice import Lattice, fit_lattice
from subsalt.io.publish import atomic_write
from subsalt.io.raw import raw_bytes
from subsalt.io.rev1 import binary_header, choose_scalar, trace_rows
from subsalt.io.scan import open_headers
from subsalt.io.second_reader import Expectation
from subsalt.io.text_header import encode_text
from subsalt.io.trace_headers import read_traces

_SIGNATURE = "DEPTH VOLUME WRITTEN BY SUBSALT"
#: beginnings of the lines of the textual header that describe the file rather than its origin
DESCRIPTION = (
    _SIGNATURE,
    "DEPTH STEP",
    "INTERVAL FIELDS",
    "DELAY FIELD",
    "INLINE 189",
    "CDP X 181",
    "THE DEPTH STEP IS",
)
_DEPTHS = re.compile(r"DEPTH STEP (\S+) M, FIRST DEPTH (\S+) M")
_NAMES = (
    "ffid",
    "cdp",
    "inline",
    "crossline",
    "cdp_x",
    "cdp_y",
    "source_x",
    "source_y",
    "coordinate_scalar",
    "delay",
    "time_scalar",
    "dt",
    "ns",
    "trace_id",
)


@dataclass
class SegyVolume:
    """A volume read from SEG-Y.

    Parameters
    ----------
    lines : tuple of int
        First inline, inline step, first crossline, crossline step, as numbered in the file.
    findings : list of Finding
        How the depth step was taken, and oddities.
    """

    grid: Grid
    frame: Frame
    values: NDArray[np.float32]
    lines: tuple[int, int, int, int]
    findings: list[Finding] = field(default_factory=list)


def _first_depth(z0: float) -> tuple[int, int]:
    """Return delay and time scalar for the first depth (metres stand where milliseconds would), as near as
    it goes.
    """
    for scalar in (1, -10, -100, -1000):
        value = z0 * (-scalar if scalar < 0 else 1)
        if abs(value) < 32768 and abs(value - round(value)) < 1e-6 * max(1.0, abs(value)):
            return round(value), scalar
    return round(max(-32768.0, min(32767.0, z0))), 1


def write_image(
    path: str | os.PathLike[str],
    image: NDArray[np.float32],
    grid: Grid,
    frame: Frame | None = None,
    text: Sequence[str] = (),
) -> None:
    """Write a depth image as SEG-Y rev 1, IEEE float.

    Parameters
    ----------
    path : path-like
        The file.
    image : ndarray, (nx, nz) or (nx, ny, nz), float32
        Values on `grid`.
    frame : Frame, optional
        Where the grid lies on the map.
    text : sequence of str
        Provenance for the textual header; keep time, host and path out of it, so that equal images are equal
        files.

    Raises
    ------
    DataError
        When the shape is not the grid's, values are not finite, or SEG-Y cannot say the depth step.

    Notes
    -----
    Inline numbers 1, 2, ... follow x (byte 189), crossline numbers y (byte 193), coordinates stand in 181/185
    (and 73/77) with their scalar in 71. A 2-D image is inline 1. The interval field holds the depth step in
    millimetres, the delay field (109, with 215) the first depth in metres; the textual header says both.
    """
    frame = frame or Frame()
    a = np.asarray(image)
    if a.shape != grid.shape:
        raise DataError(f"image has shape {a.shape}, the grid has {grid.shape}", "pass the grid of the image")
    nx, ny, nz = grid.shape3
    dz, z0 = grid.spacing3[2], grid.origin3[2]
    interval = round(dz * 1000)
    if not 1 <= interval <= 65535 or nz > 65535:
        raise DataError(
            f"depth step {dz:g} m or {nz} samples do not fit SEG-Y (1 mm to 65.535 m, 65535 samples)",
            "write RSF, or choose another spacing",
            code="E274",
        )
    if not all(np.isfinite(plane).all() for plane in a):
        raise DataError("the image has values that are not finite", "look for what made them", code="E250")
    x, y = grid.axis(0), (grid.axis(1) if grid.ndim == 3 else np.zeros(1))
    nodes = np.zeros((nx, ny, 3))
    nodes[..., 0], nodes[..., 1] = x[:, None], y[None, :]
    world = frame.to_world(nodes)
    scalar = choose_scalar(world[..., :2].reshape(-1), "coordinates")
    if abs(interval - dz * 1000) > 1e-6 * interval:
        text = [*text, "THE DEPTH STEP IS NO WHOLE NUMBER OF MILLIMETRES: THE VALUE ABOVE COUNTS"]
    header = encode_text(
        [
            f"{_SIGNATURE}. SEG-Y REV 1, IEEE FLOAT (FORMAT 5), METRES",
            f"DEPTH STEP {dz!r} M, FIRST DEPTH {z0!r} M, {nz} SAMPLES, DOWN",
            "INTERVAL FIELDS (BYTES 3217, 117) HOLD THE DEPTH STEP IN MILLIMETRES",
            "DELAY FIELD (BYTE 109, SCALAR 215) HOLDS THE FIRST DEPTH IN METRES",
            f"INLINE 189: 1..{nx if grid.ndim == 3 else 1}, CROSSLINE 193: 1..{ny if grid.ndim == 3 else nx}",
            f"CDP X 181, CDP Y 185, SCALAR (71) {scalar}",
            *text,
        ]
    )
    a3 = a.reshape(nx, ny, nz)
    delay, time_scalar = _first_depth(z0)
    size = 3600 + nx * ny * (240 + 4 * nz)
    expected = Expectation(False, nx * ny, nz, interval)
    with atomic_write(path, size=size, verify=expected.check) as f:
        f.write(header)
        f.write(binary_header(nz, interval, 1, sorting=4))
        for ix in range(nx):
            raw, t = trace_rows(ny, nz)
            number = ix * ny + np.arange(1, ny + 1)
            t["line_sequence"] = t["file_sequence"] = t["cdp"] = number
            t["inline"] = ix + 1 if grid.ndim == 3 else 1
            t["crossline"] = np.arange(1, ny + 1) if grid.ndim == 3 else ix + 1
            t["ffid"], t["channel"] = t["inline"], t["crossline"]
            t["ensemble_sequence"] = t["trace_id"] = t["use"] = t["coordinate_units"] = 1
            xy = np.round(world[ix, :, :2] * -scalar).astype(np.int32)
            t["cdp_x"], t["cdp_y"] = xy[:, 0], xy[:, 1]
            t["source_x"], t["source_y"] = xy[:, 0], xy[:, 1]
            t["coordinate_scalar"], t["elevation_scalar"] = scalar, 1
            t["delay"], t["time_scalar"] = delay, time_scalar
            t["ns"], t["dt"] = nz, interval
            t["samples"] = a3[ix]
            expected.note(raw)
            f.write(raw_bytes(raw))


def read_volume(
    path: str | os.PathLike[str],
    header: HeaderBytes | None = None,
    fix: Fix | None = None,
    *,
    spacing: Sequence[float] | None = None,
    origin: Sequence[float] | None = None,
) -> tuple[Grid, Frame, NDArray[np.float32]]:
    """Read a SEG-Y volume: grid, frame and values (nx, ny, nz), or (nx, nz) for a single line.

    See `read_segy_volume`, which also returns line numbers and findings.
    """
    v = read_segy_volume(path, header, fix, spacing=spacing, origin=origin)
    return v.grid, v.frame, v.values


def read_segy_volume(
    path: str | os.PathLike[str],
    header: HeaderBytes | None = None,
    fix: Fix | None = None,
    *,
    spacing: Sequence[float] | None = None,
    origin: Sequence[float] | None = None,
) -> SegyVolume:
    """Read a SEG-Y volume.

    Parameters
    ----------
    path : path-like
        The file.
    header, fix : HeaderBytes, Fix, optional
        Where inline, crossline and coordinates lie; what is wrong with them.
    spacing, origin : sequence of float, optional
        Replace what the headers say, m, in the order of the grid's axes; needed where coordinates are
        missing.

    Returns
    -------
    SegyVolume
        An unrotated volume keeps map coordinates as local ones; a rotated one starts at local (0, 0).

    Raises
    ------
    SegyError, ModelError
        When traces do not fill a regular grid, or the spacing cannot be known.

    Notes
    -----
    SEG-Y has no field for a depth step: the interval field is taken as millimetres (20000 means 20 m), which
    is what most programs write.
    """
    header, fix = header or HeaderBytes(), fix or Fix()
    with InputFile(path) as file:
        one = open_headers(file, header, fix, _NAMES)
        lay = one.layout
        length = unit_factor(lay, fix)
        lattice = fit_lattice(one.values, lay, fix, length, spacing is not None)
        values = np.empty((lay.n_traces, lay.ns), np.float32)
        step = max(1, (64 << 20) // lay.trace_bytes)
        for a in range(0, lay.n_traces, step):
            part = lattice.order[a : a + step]
            values[a : a + len(part)] = read_traces(file, lay, part)
    findings = [f for f in lay.findings if f.code not in ("E214", "E215", "W214")] + lattice.findings
    dz, z0 = _depths(lay, one.values, fix, length, spacing, findings)
    return _assemble(path, lattice, values, dz, z0, spacing, origin, findings)


def _depths(
    lay: FileLayout,
    values: dict[str, NDArray],
    fix: Fix,
    length: float,
    spacing: Sequence[float] | None,
    findings: list[Finding],
) -> tuple[float, float]:
    """Return depth step and first depth, m."""
    delay = float(column(values, "delay", lay.n_traces)[0])
    scalar = int(column(values, "time_scalar", lay.n_traces)[0])
    if abs(scalar) in (10, 100, 1000, 10000):
        delay = delay / -scalar if scalar < 0 else delay * scalar
    z0 = delay * length
    if spacing is not None:
        return float(spacing[-1]), z0
    # what we write ourselves says its depths in full
    text = " ".join(lay.text)
    found = _DEPTHS.search(text)
    if lay.text and _SIGNATURE in text and found:
        try:
            dz, first = float(found.group(1)), float(found.group(2))
        except ValueError:
            dz = first = math.nan
        if dz > 0 and abs(dz - lay.dt * 1e3) < 1e-3 and math.isfinite(first):
            return dz, first
    dz = round(lay.dt * 1e3, 6) * length
    if dz <= 0:
        raise ModelError(
            f"{lay.path}: no header gives a depth step", "give it: spacing = [dx, dy, dz]", code="E225"
        )
    if dz < 0.5 or dz > 50:
        findings.append(
            Finding(
                "W235",
                "warning",
                f"{lay.path}: the interval field {round(lay.dt * 1e6)} taken as millimetres gives a depth "
                "step of "
                f"{dz:g} m",
                "if that is wrong: spacing = [dx, dy, dz]",
                {"dz": dz},
            )
        )
    return dz, z0


def _assemble(
    path: str | os.PathLike[str],
    lattice: Lattice,
    values: NDArray[np.float32],
    dz: float,
    z0: float,
    spacing: Sequence[float] | None,
    origin: Sequence[float] | None,
    findings: list[Finding],
) -> SegyVolume:
    ni, nj = lattice.shape
    flat = ni == 1 or nj == 1
    shape = (max(ni, nj), values.shape[1]) if flat else (ni, nj, values.shape[1])
    hx, hy = lattice.spacing
    along = (hx if nj == 1 else hy) if flat else None
    found: tuple[float | None, ...] = (along, dz) if flat else (hx, hy, dz)
    if spacing is not None:
        if len(spacing) != len(shape):
            raise ModelError(
                f"{path} holds a grid of {len(shape)} axes {shape}, spacing has {len(spacing)} values",
                "give one value per axis",
                code="E225",
            )
        steps = tuple(float(v) for v in spacing)
    elif any(v is None for v in found):
        raise ModelError(
            f"{path}: no coordinates (bytes 181/185 or 73/77) from which to know the spacing of its {shape} "
            "points",
            "give it: spacing = [dx, dz] or [dx, dy, dz]",
            code="E225",
        )
    else:
        steps = tuple(float(v) for v in found if v is not None)
    if origin is not None and len(origin) != len(shape):
        raise ModelError(
            f"{path}: origin has {len(origin)} values for {len(shape)} axes", "give one per axis"
        )
    first = (*((lattice.origin[0],) if flat else lattice.origin), z0) if origin is None else tuple(origin)
    grid = Grid(shape, steps, first)
    return SegyVolume(grid, lattice.frame, values.reshape(shape), lattice.lines, findings)
