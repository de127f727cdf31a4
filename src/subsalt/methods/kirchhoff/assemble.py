"""From the sums of finished blocks to gathers, image, hits and fold of any locations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from subsalt.methods.kirchhoff.cutting import Block
from subsalt.methods.kirchhoff.engine import velocities
from subsalt.methods.kirchhoff.partial_image import SumsFile
from subsalt.methods.kirchhoff.setup import KirchhoffSetup
from subsalt.methods.kirchhoff.stacking import live_classes, stack

#: bytes of image traces that are held at one time
PIECE = 16 << 20


@dataclass(frozen=True)
class Piece:
    """Sums that a run has of the locations ``lo <= location < hi``, in their order on the grid.

    Parameters
    ----------
    lo, hi : int
        Locations, crossline fastest.
    gathers : ndarray, (n, classes, nt), float32
        Image traces; of one class for a single image: their sum before it is divided.
    image : ndarray, (n, nt), float32
        The mean over the live classes.
    hits : ndarray, (n, nt), int32
        Traces that were added, by sample.
    fold : ndarray, (n, groups), int32
        Traces that reach a location, by class.
    """

    lo: int
    hi: int
    gathers: NDArray[np.float32]
    image: NDArray[np.float32]
    hits: NDArray[np.int32]
    fold: NDArray[np.int32]


def block_path(images: Path, block: int) -> Path:
    """Return the file of the sums of a finished block."""
    return images / f"block_{block:06d}.sums"


class Assembly:
    """Reads the sums of finished blocks; a context manager.

    Parameters
    ----------
    setup : KirchhoffSetup
        Setup of the run.
    images : Path
        Folder of the sums.
    blocks : list of Block
        All blocks of the run, that cover every image trace once.
    hashes : dict
        Checksums of their files, by number.
    """

    def __init__(
        self, setup: KirchhoffSetup, images: Path, blocks: list[Block], hashes: dict[int, str]
    ) -> None:
        self.setup, self._images, self._blocks, self._hashes = setup, images, blocks, hashes
        self._open: dict[int, SumsFile] = {}
        self._points = setup.grid.positions()

    @property
    def step(self) -> int:
        """Locations of a piece."""
        return max(1, PIECE // (4 * self.setup.nt * self.setup.classes.count))

    def piece(self, lo: int, hi: int) -> Piece:
        """Return what the run has of some locations.

        Raises
        ------
        CorruptionError
            When the file of a block is damaged; that block is done again by the next start.
        """
        setup, nt = self.setup, self.setup.nt
        n, crosslines = hi - lo, setup.grid.shape[1]
        gathers = np.zeros((n, setup.classes.count, nt), np.float32)
        hits = np.zeros((n, nt + 1), np.int64)
        fold = np.zeros((n, setup.classes.groups), np.int32)
        for i in range(lo // crosslines, (hi - 1) // crosslines + 1 if n else 0):
            a, b = max(lo, i * crosslines), min(hi, (i + 1) * crosslines)
            for block in self._blocks:
                self._add(block, i, a - i * crosslines, b - i * crosslines, a - lo, gathers, hits, fold)
        points = self._points[lo:hi]
        v, eta = velocities(setup, points)
        time, record = setup.grid.time, setup.table.time
        live = live_classes(setup.classes, fold, v, eta, time, record, setup.options, setup.below(points))
        counts = np.cumsum(hits[:, :-1], axis=1).astype(np.int32)
        return Piece(lo, hi, gathers, stack(gathers, live), counts, fold)

    def _add(
        self,
        block: Block,
        i: int,
        j0: int,
        j1: int,
        row: int,
        gathers: NDArray[np.float32],
        hits: NDArray[np.int64],
        fold: NDArray[np.int32],
    ) -> None:
        """Add what a block has of the crosslines `j0` to `j1` of inline `i`, which begin at `row`."""
        box = block.box
        first, last = max(j0, box.j0), min(j1, box.j1)
        if not box.i0 <= i < box.i1 or first >= last:
            return
        start = (i - box.i0) * (box.j1 - box.j0) + first - box.j0
        part = self._file(block).read(start, start + last - first)
        rows = slice(row + first - j0, row + last - j0)
        gathers[rows, block.c0 : block.c1] = part.image
        hits[rows] += part.hits
        if self.setup.classes.kind == "image":
            fold[rows] += part.fold
        else:
            fold[rows, block.c0 : block.c1] = part.fold

    def _file(self, block: Block) -> SumsFile:
        # blocks are many, files open at one time few
        if block.id not in self._open:
            while len(self._open) >= 64:
                self._open.pop(next(iter(self._open))).close()
            self._open[block.id] = SumsFile(block_path(self._images, block.id), self._hashes[block.id])
        return self._open[block.id]

    def __enter__(self) -> Assembly:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._open.values():
            file.close()
        self._open.clear()
