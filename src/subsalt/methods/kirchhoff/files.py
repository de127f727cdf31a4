"""The files of a time migration, each written by all ranks in pieces of locations: SEG-Y and RSF."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.io.files import raw_bytes
from subsalt.io.segy.rev1 import Expectation
from subsalt.io.volumes.rsf import data_of, header_text
from subsalt.io.volumes.time_image import TimeImageFile
from subsalt.methods.kirchhoff.assemble import Piece
from subsalt.methods.kirchhoff.setup import KirchhoffSetup

#: what a file takes of a piece: (n, m, nt) or (n, m), as float32
Values = Callable[[Piece], NDArray[np.float32]]


@dataclass
class OutputFile:
    """A file that is filled piece by piece.

    Parameters
    ----------
    path : Path
        Where it will be.
    size : int
        Bytes of the whole.
    head : bytes
        Its beginning.
    location_bytes : int
        Bytes of a location, one behind the other after the head.
    data : callable
        Bytes of a piece.
    expected : Expectation or None
        What a second reader must find, of SEG-Y.
    header : Path and text, optional
        Published behind the file, of RSF.
    """

    path: Path
    size: int
    head: bytes
    location_bytes: int
    data: Callable[[Piece], memoryview]
    expected: Expectation | None = None
    header: tuple[Path, str] | None = None
    rows: Callable[[Piece], NDArray[np.uint8]] | None = field(default=None, repr=False)

    @property
    def name(self) -> Path:
        """The file that people know: for RSF its header."""
        return self.path if self.header is None else self.header[0]

    def offset(self, location: int) -> int:
        """Return where a location begins."""
        return len(self.head) + location * self.location_bytes

    def verify(self, path: Path) -> None:
        """Raise when the finished file at `path` does not read back."""
        if self.expected is not None:
            self.expected.check(path)


def segy_file(
    path: Path,
    setup: KirchhoffSetup,
    what: str,
    offsets: NDArray[np.float64],
    values: Values,
    text: Sequence[str],
) -> OutputFile:
    """Return a SEG-Y file with the traces of `offsets` for each location."""
    grid = setup.grid
    volume = TimeImageFile(
        grid.time, grid.positions(), grid.numbers(), cdp_numbers(grid), offsets, what, text
    )
    gathers = what == "GATHERS"

    def rows(piece: Piece) -> NDArray[np.uint8]:
        fold: NDArray[Any] = piece.fold if gathers else piece.fold.sum(axis=1, dtype=np.int64)[:, None]
        return volume.rows(piece.lo, values(piece), fold)

    return OutputFile(
        path,
        volume.size,
        volume.head,
        volume.location_bytes,
        lambda piece: raw_bytes(rows(piece)),
        Expectation(False, volume.traces, grid.time.nt, volume.interval),
        rows=rows,
    )


def rsf_file(
    path: Path,
    setup: KirchhoffSetup,
    values: Values,
    text: Sequence[str],
    classes: int | None = None,
    timed: bool = True,
) -> OutputFile:
    """Return an RSF file: (inline, crossline[, class][, time]), time or class fastest.

    Parameters
    ----------
    classes : int, optional
        Length of the axis of classes; it has none when None.
    timed : bool
        It has an axis of time.
    """
    grid, data = setup.grid, data_of(path)
    (i0, _, di), (j0, _, dj) = grid.inlines, grid.crosslines
    ni, nj = grid.shape
    axes: list[tuple[int, float, float, str, str]] = []
    if timed:
        axes.append((grid.time.nt, grid.time.dt, grid.time.t0, "time", "s"))
    if classes is not None:
        axes.append((classes, 1.0, 0.0, "class", ""))
    axes += [(nj, float(dj), float(j0), "crossline", ""), (ni, float(di), float(i0), "inline", "")]
    extra = {
        "corner_m": f"{grid.corner[0]!r} {grid.corner[1]!r}",
        "per_inline_m": f"{grid.per_inline[0]!r} {grid.per_inline[1]!r}",
        "per_crossline_m": f"{grid.per_crossline[0]!r} {grid.per_crossline[1]!r}",
    }
    if classes is not None:
        extra["class_offsets_m"] = " ".join(f"{x:g}" for x in setup.classes.centres)
    one = 4 * (classes or 1) * (grid.time.nt if timed else 1)
    return OutputFile(
        data,
        one * grid.size,
        b"",
        one,
        lambda piece: raw_bytes(np.ascontiguousarray(values(piece), "<f4")),
        header=(path, header_text(data, axes, text, extra)),
    )


def cdp_numbers(grid: ImageGrid) -> NDArray[np.int64]:
    """Return the CDP number of every location: the crossline number of a line, else counted through the grid from 1."""
    return grid.numbers()[:, 1] if grid.is_line else np.arange(1, grid.size + 1, dtype=np.int64)
