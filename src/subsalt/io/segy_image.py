"""Images in SEG-Y rev 1: the depth step in the interval field, and said in the text."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import DataError
from subsalt.grid import Frame, Grid
from subsalt.io.publish import atomic_write
from subsalt.io.raw import raw_bytes
from subsalt.io.rev1 import binary_header, choose_scalar, trace_rows
from subsalt.io.second_reader import Expectation
from subsalt.io.text_header import encode_text

SIGNATURE = "DEPTH VOLUME WRITTEN BY SUBSALT"
#: beginnings of the lines of the textual header that describe the file rather than its origin
DESCRIPTION = (
    SIGNATURE,
    "DEPTH STEP",
    "INTERVAL FIELDS",
    "DELAY FIELD",
    "INLINE 189",
    "CDP X 181",
    "THE DEPTH STEP IS",
)


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
            f"{SIGNATURE}. SEG-Y REV 1, IEEE FLOAT (FORMAT 5), METRES",
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
