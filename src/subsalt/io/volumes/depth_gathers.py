"""Gathers of a depth image in SEG-Y rev 1, sorted by place: a trace of each half offset or angle at every column."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Frame, Grid
from subsalt.earth.line_numbers import LineNumbers
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.segy.rev1 import Expectation, binary_header, trace_rows
from subsalt.io.segy.samples import encode_text
from subsalt.io.shared_file import write_together
from subsalt.io.volumes.planes import OwnPlanes
from subsalt.io.volumes.segy_image import ImageRows

SIGNATURE = "DEPTH GATHERS WRITTEN BY SUBSALT"


@dataclass(frozen=True)
class GatherColumns:
    """Which columns of an image have gathers, and what the traces of each are.

    Parameters
    ----------
    along_x, along_y : sequence of int
        Numbers of the columns along x and along y on the grid of the image; (0,) along y in 2-D.
    values : sequence of float
        Half offsets in m, or angles in degrees, of the traces of a column.
    meaning : str
        That in words, for the textual header.
    """

    along_x: Sequence[int]
    along_y: Sequence[int]
    values: Sequence[float]
    meaning: str


def write_gathers(
    path: str | os.PathLike[str],
    gathers: OwnPlanes,
    grid: Grid,
    columns: GatherColumns,
    frame: Frame | None = None,
    text: Sequence[str] = (),
    lines: LineNumbers | None = None,
) -> None:
    """Write gathers as SEG-Y rev 1, IEEE float. Collective over the ranks of `gathers`.

    Parameters
    ----------
    path : path-like
        The file.
    gathers : OwnPlanes
        Gathers (columns along x, columns along y, traces of each, nz) from one of the columns along x on.
    grid : Grid
        Grid of the whole image.
    columns : GatherColumns
        Where all of them lie.
    frame : Frame, optional
        Where the grid lies on the map.
    text : sequence of str
        Provenance for the textual header.
    lines : LineNumbers, optional
        Numbers of inlines and crosslines of the image; 1, 2, ... when left out.

    Raises
    ------
    DataError
        When SEG-Y cannot say the depth step.

    Notes
    -----
    Places, lines and depths stand where an image has them (`segy_image.write_image`). The half offset or angle,
    rounded, is in the offset word (byte 37), its number among the traces of the column, from 1, in byte 25.
    """
    own, ranks, first = gathers.values, gathers.comm, gathers.first
    rows = GatherRows(grid, columns, frame or Frame(), text, lines)
    n = len(columns.along_x)
    expected = Expectation(False, rows.traces, grid.shape3[2], rows.image.interval)
    expected.gather(
        rows.of(0, own[:1])[0] if len(own) and first == 0 else None,
        rows.of(n - 1, own[-1:])[-1] if len(own) and first + len(own) == n else None,
        ranks,
    )
    with write_together(path, ranks, rows.size, verify=expected.check) as f:
        if ranks.is_root:
            f.write_at(0, rows.head)
        for i in range(len(own)):
            f.write_at(rows.offset(first + i), raw_bytes(rows.of(first + i, own[i : i + 1])))


class GatherRows:
    """The content of a file of gathers: its head, and the traces of any columns.

    Parameters
    ----------
    grid, columns, frame, text, lines
        As of `write_gathers`.
    """

    def __init__(
        self,
        grid: Grid,
        columns: GatherColumns,
        frame: Frame,
        text: Sequence[str],
        lines: LineNumbers | None,
    ) -> None:
        self.grid, self.columns = grid, columns
        self.image = ImageRows(grid, frame, text, lines)
        n, m = len(columns.along_x) * len(columns.along_y), len(columns.values)
        first, last = columns.values[0], columns.values[-1]
        nz = grid.shape3[2]
        dz, z0 = grid.spacing3[2], grid.origin3[2]
        head = encode_text(
            [
                f"{SIGNATURE}. SEG-Y REV 1, IEEE FLOAT (FORMAT 5), METRES",
                f"DEPTH STEP {dz!r} M, FIRST DEPTH {z0!r} M, {nz} SAMPLES, DOWN",
                "INTERVAL FIELDS (BYTES 3217, 117) HOLD THE DEPTH STEP IN MILLIMETRES",
                "DELAY FIELD (BYTE 109, SCALAR 215) HOLDS THE FIRST DEPTH IN METRES",
                f"{n} PLACES, {m} TRACES EACH; INLINE 189, CROSSLINE 193, CDP X 181, CDP Y 185",
                f"OFFSET 37: {columns.meaning.upper()}, {first:g} TO {last:g}, ROUNDED; NUMBER 25",
                *text,
            ]
        )
        self.head = head + binary_header(nz, self.image.interval, m, sorting=2)
        self.column_bytes = len(columns.along_y) * m * (240 + 4 * nz)
        self.traces = n * m
        self.size = len(self.head) + len(columns.along_x) * self.column_bytes

    def offset(self, column: int) -> int:
        """Return where the gathers of a column along x begin in the file."""
        return len(self.head) + column * self.column_bytes

    def of(self, first: int, values: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Return the traces of columns along x from `first`, as bytes (n ny m, 240 + 4 nz).

        Parameters
        ----------
        first : int
            The first of them.
        values : ndarray, (n, columns along y, m, nz), float32
            Samples.
        """
        n, ny, m, nz = values.shape
        raw, t = trace_rows(n * ny * m, nz)
        ys = list(self.columns.along_y)
        plane = np.zeros((1, self.grid.shape3[1], nz), np.float32)
        # a place has the header of its trace in the image
        heads = []
        for column in self.columns.along_x[first : first + n]:
            of_plane = self.image.traces(column, plane).reshape(self.grid.shape3[1], -1)
            heads.append(of_plane[ys, :240])
        raw[:, :240] = np.repeat(np.concatenate(heads), m, axis=0)
        at = first * ny * m
        t["line_sequence"] = t["file_sequence"] = at + np.arange(1, n * ny * m + 1)
        t["ensemble_sequence"] = np.tile(np.arange(1, m + 1), n * ny)
        t["offset"] = np.tile(np.round(self.columns.values).astype(np.int32), n * ny)
        t["samples"] = values.reshape(-1, nz)
        return raw
