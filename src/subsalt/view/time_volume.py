"""Time images and gathers in SEG-Y files as volumes by line numbers, whose sections are read when they are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.earth.planes import Planes
from subsalt.errors import SegyError
from subsalt.io.volumes.image_traces import ImageTraces


class TraceVolume(Planes):
    """A time image (ni, nj, nt) in a file of one trace, or the mean of a gather, per location.

    Locations that the file lacks are zero.

    Parameters
    ----------
    traces : ImageTraces
        The file.
    grid : ImageGrid
        Locations of the volume.
    """

    def __init__(self, traces: ImageTraces, grid: ImageGrid) -> None:
        super().__init__((*grid.shape, grid.time.nt))
        self.traces = traces
        i, j = (
            _index(numbers, lines, n)
            for numbers, lines, n in zip(
                (traces.inline, traces.crossline), (grid.inlines, grid.crosslines), grid.shape, strict=True
            )
        )
        self._place = np.where((i >= 0) & (j >= 0), i * self.shape[1] + j, -1)

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the inlines ``lo <= i < hi``, (hi - lo, nj, nt)."""
        _, nj, nt = self.shape
        return self._stacked(np.arange(lo * nj, hi * nj)).reshape(hi - lo, nj, nt)

    def section(self, axis: int, index: int) -> NDArray[np.float32]:
        """Return the values at one index along an axis, without that axis; only their traces are read."""
        ni, nj, _ = self.shape
        if axis == 1:
            return self._stacked(np.arange(ni) * nj + index)
        return super().section(axis, index)

    def _stacked(self, places: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return one trace per place: of a gather, the mean over the traces that are live at a sample."""
        row = {int(p): k for k, p in enumerate(places)}
        rows = np.flatnonzero(np.isin(self._place, places))
        total = np.zeros((len(places), self.shape[2]))
        live = np.zeros((len(places), self.shape[2]), np.int32)
        target = np.array([row[int(p)] for p in self._place[rows]], np.int64)
        # gathers are many times the image: a few megabytes of them at a time
        step = max(1, (16 << 20) // (4 * self.shape[2]))
        for a in range(0, len(rows), step):
            part = self.traces.read(rows[a : a + step])
            np.add.at(total, target[a : a + step], part)
            np.add.at(live, target[a : a + step], part != 0)
        return (total / np.maximum(live, 1)).astype(np.float32)


def _index(numbers: NDArray[np.int64], lines: tuple[int, int, int], n: int) -> NDArray[np.int64]:
    """Return the indices of line numbers in a range, -1 for numbers that are not of it."""
    first, _, step = lines
    k = (numbers - first) // step
    return np.where(((numbers - first) % step == 0) & (k >= 0) & (k < n), k, -1)


def grid_of_traces(traces: ImageTraces) -> ImageGrid:
    """Return the image grid in the headers of a file.

    The vectors of the lines come from the coordinates of the outermost locations; without coordinates the locations
    stand one metre apart.

    Raises
    ------
    SegyError
        When the line numbers are no range with a step.
    """
    lines = []
    for name, numbers in (("inline", traces.inline), ("crossline", traces.crossline)):
        known = np.unique(numbers)
        step = math.gcd(*(int(d) for d in np.diff(known))) if len(known) > 1 else 1
        if (known[-1] - known[0]) // step >= 100 * max(len(known), 10):
            raise SegyError(
                f"{traces.layout.path}: {name} numbers from {known[0]} to {known[-1]} are no range of lines",
                "give the file of one image, or say where its numbers are with a header preset",
                code="E832",
            )
        lines.append((int(known[0]), int(known[-1]), step))
    corner, per_inline, per_crossline = _vectors(traces, lines)
    return ImageGrid(lines[0], lines[1], corner, per_inline, per_crossline, traces.time)


def _vectors(
    traces: ImageTraces, lines: list[tuple[int, int, int]]
) -> tuple[tuple[float, float], tuple[float, float], tuple[float, float]]:
    """Return the corner and the map vectors per inline and per crossline number, by least squares."""
    i, j = (traces.inline - lines[0][0]).astype(float), (traces.crossline - lines[1][0]).astype(float)
    columns = [np.ones_like(i)] + [
        c for c, (first, last, _) in zip((i, j), lines, strict=True) if last > first
    ]
    solved = np.linalg.lstsq(np.stack(columns, axis=1), traces.xy, rcond=None)[0]
    rest = [(float(v[0]), float(v[1])) for v in solved[1:]]
    along_i = rest.pop(0) if lines[0][1] > lines[0][0] else None
    along_j = rest.pop(0) if lines[1][1] > lines[1][0] else None
    # one direction alone: the other is normal to it, and what it is worth does not matter
    if along_j is None or not any(along_j):
        along_j = (1.0, 0.0) if along_i is None or not any(along_i) else (along_i[1], -along_i[0])
    if along_i is None or not any(along_i):
        along_i = (-along_j[1], along_j[0])
    return (float(solved[0, 0]), float(solved[0, 1])), along_i, along_j


#: from inline and crossline index to offsets (n,) and image traces (n, nt) of a location
Gathers = Callable[[int, int], tuple[NDArray[np.float64], NDArray[np.float32]]]


def gathers_of(traces: ImageTraces, grid: ImageGrid) -> Gathers:
    """Return a reader of the gather at a location, given by its indices, from a file."""

    def read(i: int, j: int) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        inline = grid.inlines[0] + i * grid.inlines[2]
        return traces.gather(inline, grid.crosslines[0] + j * grid.crosslines[2])

    return read
