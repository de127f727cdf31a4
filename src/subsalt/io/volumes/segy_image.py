"""Images in SEG-Y rev 1: the depth step in the interval field, and said in the text."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Frame, Grid
from subsalt.earth.line_numbers import LineNumbers
from subsalt.errors import DataError
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.segy.rev1 import Expectation, binary_header, choose_scalar, trace_rows
from subsalt.io.segy.samples import encode_text
from subsalt.io.shared_file import write_together
from subsalt.io.volumes.planes import OwnPlanes, map_axes

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
    "FRAME",
)
#: bytes of traces that are made and written at one time
_BLOCK_BYTES = 4 << 20


def _first_depth(z0: float) -> tuple[int, int]:
    """Return delay and time scalar for the first depth (metres stand where milliseconds would), as near as
    it goes.
    """
    for scalar in (1, -10, -100, -1000):
        value = z0 * (-scalar if scalar < 0 else 1)
        if abs(value) < 32768 and abs(value - round(value)) < 1e-6 * max(1.0, abs(value)):
            return round(value), scalar
    return round(max(-32768.0, min(32767.0, z0))), 1


#: lines of the textual header that say where local coordinates lie, beside the map coordinates of the traces
PLACE = (
    "FRAME: LOCAL (0, 0) IS MAP X {} Y {}",
    "FRAME: AZIMUTH {} RADIANS FROM MAP X TO Y, FLIP {}",
    "FRAME: FIRST TRACE AT LOCAL X {} Y {}",
)


def _place(grid: Grid, frame: Frame) -> list[str]:
    """Return the lines that say where local coordinates lie; none where they are map coordinates."""
    if frame == Frame():
        return []
    x, y, _ = grid.origin3
    values = ((frame.x0, frame.y0), (frame.azimuth, int(frame.flip)), (x, y))
    return [line.format(*(repr(v) for v in two)) for line, two in zip(PLACE, values, strict=True)]


class ImageRows:
    """The content of the SEG-Y file of an image on `grid`: its head, and the traces of any planes.

    Parameters
    ----------
    grid : Grid
        Grid of the whole image.
    frame : Frame
        Where the grid lies on the map.
    text : sequence of str
        Provenance for the textual header.
    lines : LineNumbers, optional
        Numbers of inlines and crosslines; the crosslines of a section run along x.

    Raises
    ------
    DataError
        When SEG-Y cannot say the depth step.
    """

    def __init__(
        self, grid: Grid, frame: Frame, text: Sequence[str], lines: LineNumbers | None = None
    ) -> None:
        self.grid, self.lines = grid, lines or LineNumbers()
        nx, ny, nz = grid.shape3
        dz, z0 = grid.spacing3[2], grid.origin3[2]
        self.interval = interval = round(dz * 1000)
        if not 1 <= interval <= 65535 or nz > 65535:
            raise DataError(
                f"depth step {dz:g} m or {nz} samples do not fit SEG-Y (1 mm to 65.535 m, 65535 samples)",
                "write RSF, or choose another spacing",
                code="E274",
            )
        self.world = np.stack(map_axes(grid, frame), axis=-1).reshape(nx, ny, 2)
        self.scalar = scalar = choose_scalar(self.world.reshape(-1), "coordinates")
        if abs(interval - dz * 1000) > 1e-6 * interval:
            text = [*text, "THE DEPTH STEP IS NO WHOLE NUMBER OF MILLIMETRES: THE VALUE ABOVE COUNTS"]
        header = encode_text(
            [
                f"{SIGNATURE}. SEG-Y REV 1, IEEE FLOAT (FORMAT 5), METRES",
                f"DEPTH STEP {dz!r} M, FIRST DEPTH {z0!r} M, {nz} SAMPLES, DOWN",
                "INTERVAL FIELDS (BYTES 3217, 117) HOLD THE DEPTH STEP IN MILLIMETRES",
                "DELAY FIELD (BYTE 109, SCALAR 215) HOLDS THE FIRST DEPTH IN METRES",
                self._numbering(),
                f"CDP X 181, CDP Y 185, SCALAR (71) {scalar}",
                *_place(grid, frame),
                *text,
            ]
        )
        self.head = header + binary_header(nz, interval, 1, sorting=4)
        self.plane_bytes = ny * (240 + 4 * nz)
        self.size = len(self.head) + nx * self.plane_bytes

    def _numbering(self) -> str:
        """Return the line of the textual header on inlines and crosslines."""
        nx, ny, _ = self.grid.shape3
        numbers = self.lines
        ends = numbers.last(nx, ny) if self.grid.ndim == 3 else numbers.last(1, nx)
        firsts, steps = (
            (numbers.first_inline, numbers.first_crossline),
            (numbers.inline_step, numbers.crossline_step),
        )
        inline, crossline = (
            f"{first}..{last}" + f" STEP {step}" * (step != 1)
            for first, last, step in zip(firsts, ends, steps, strict=True)
        )
        return f"INLINE 189: {inline}, CROSSLINE 193: {crossline}"

    def offset(self, plane: int) -> int:
        """Return where a plane begins in the file."""
        return len(self.head) + plane * self.plane_bytes

    def traces(self, first: int, values: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Return the traces of planes (n, ny, nz) from the plane `first`, as bytes (n ny, 240 + 4 nz)."""
        n, ny, nz = values.shape
        raw, t = trace_rows(n * ny, nz)
        ix, iy = np.repeat(np.arange(first + 1, first + n + 1), ny), np.tile(np.arange(1, ny + 1), n)
        t["line_sequence"] = t["file_sequence"] = t["cdp"] = (ix - 1) * ny + iy
        if self.grid.ndim == 3:
            t["inline"] = np.repeat(self.lines.inlines(first, n), ny)
            t["crossline"] = np.tile(self.lines.crosslines(ny), n)
        else:
            t["inline"], t["crossline"] = self.lines.first_inline, self.lines.crosslines(first + n)[first:]
        t["ffid"], t["channel"] = t["inline"], t["crossline"]
        t["ensemble_sequence"] = t["trace_id"] = t["use"] = t["coordinate_units"] = 1
        xy = np.round(self.world[first : first + n].reshape(-1, 2) * -self.scalar).astype(np.int32)
        t["cdp_x"], t["cdp_y"] = xy[:, 0], xy[:, 1]
        t["source_x"], t["source_y"] = xy[:, 0], xy[:, 1]
        t["coordinate_scalar"], t["elevation_scalar"] = self.scalar, 1
        t["delay"], t["time_scalar"] = _first_depth(self.grid.origin3[2])
        t["ns"], t["dt"] = nz, self.interval
        t["samples"] = values.reshape(-1, nz)
        return raw


def write_image(
    path: str | os.PathLike[str],
    image: NDArray[np.float32] | OwnPlanes,
    grid: Grid,
    frame: Frame | None = None,
    text: Sequence[str] = (),
    lines: LineNumbers | None = None,
) -> None:
    """Write a depth image as SEG-Y rev 1, IEEE float.

    Parameters
    ----------
    path : path-like
        The file.
    image : ndarray, (nx, nz) or (nx, ny, nz), float32, or OwnPlanes
        Values on `grid`, or the planes of this rank; then this is collective.
    frame : Frame, optional
        Where the grid lies on the map.
    text : sequence of str
        Provenance for the textual header; keep time, host and path out of it, so that equal images are equal
        files.
    lines : LineNumbers, optional
        Numbers of inlines and crosslines; 1, 2, ... when left out.

    Raises
    ------
    DataError
        When the shape is not the grid's, values are not finite, or SEG-Y cannot say the depth step.

    Notes
    -----
    Inline numbers follow x (byte 189), crossline numbers y (byte 193), coordinates stand in 181/185 (and 73/77) with
    their scalar in 71. A 2-D image is one inline, its crosslines follow x. The interval field holds the depth step in
    millimetres, the delay field (109, with 215) the first depth in metres; the textual header says both.
    """
    own, failure = OwnPlanes.of(image), None
    a, first, ranks = own.values, own.first, own.comm
    if a.shape[1:] != grid.shape[1:] or (own is not image and a.shape != grid.shape):
        failure = DataError(
            f"image has shape {a.shape}, the grid has {grid.shape}", "pass the grid of the image"
        )
    elif not all(np.isfinite(plane).all() for plane in a):
        failure = DataError("the image has values that are not finite", "look for what made them", "E250")
    ranks.agree(failure)
    nx, ny, nz = grid.shape3
    rows, a3 = ImageRows(grid, frame or Frame(), text, lines), a.reshape(len(a), ny, nz)
    expected = Expectation(False, nx * ny, nz, rows.interval)
    expected.gather(
        rows.traces(0, a3[:1])[0] if len(a) and first == 0 else None,
        rows.traces(nx - 1, a3[-1:])[-1] if len(a) and first + len(a) == nx else None,
        ranks,
    )
    step = max(1, _BLOCK_BYTES // rows.plane_bytes)
    with write_together(path, ranks, rows.size, verify=expected.check) as f:
        if ranks.is_root:
            f.write_at(0, rows.head)
        for i in range(0, len(a3), step):
            f.write_at(rows.offset(first + i), raw_bytes(rows.traces(first + i, a3[i : i + step])))


def map_image(path: str | os.PathLike[str], grid: Grid) -> NDArray[np.float32]:
    """Return an image that `write_image` wrote on `grid`; only what is looked at is read (big-endian floats)."""
    nx, ny, nz = grid.shape3
    kind = np.dtype([("head", "V240"), ("samples", ">f4", (nz,))])
    rows = np.memmap(path, kind, mode="r", offset=3600, shape=(nx * ny,))
    return rows["samples"].reshape(grid.shape)
