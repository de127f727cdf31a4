"""Shots recorded on every node of a plane: a file of time slices each, read as traces of some of the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey
from subsalt.earth.grid import Frame
from subsalt.errors import GeometryError
from subsalt.io.time_slices import TimeSlices
from subsalt.io.traffic import TRACES

#: bytes of slices that are held while they are turned into traces
BLOCK_BYTES = 32 << 20


@dataclass(frozen=True)
class SliceReader:
    """Reads traces of a shot from its slices; opens the file for that long only.

    Parameters
    ----------
    files : dict of int to Path
        By shot id.
    """

    files: dict[int, Path]

    def __call__(self, shot: Shot, rows: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Return the traces (len(rows), nt) of a shot, of all nodes when `rows` is None.

        Of every slice the x positions from the first to the last node are read, and nothing else.
        """
        with TimeSlices(self.files[shot.id]) as slices:
            each = slices.shape[1] if len(slices.shape) == 2 else 1
            some = np.arange(len(shot.rcv)) if rows is None else np.asarray(rows)
            nt = slices.time.nt
            out = np.empty((len(some), nt), np.float32)
            if not len(some):
                return out
            lo, hi = int(some.min()) // each, int(some.max()) // each + 1
            count = max(1, BLOCK_BYTES // (4 * each * (hi - lo)))
            block = np.empty((count, hi - lo, *slices.shape[1:]), np.float32)
            for first in range(0, nt, count):
                last = min(nt, first + count)
                for k in range(first, last):
                    slices.read(k, lo, hi, block[k - first])
                out[:, first:last] = block[: last - first].reshape(last - first, -1)[:, some - lo * each].T
            TRACES.add(wanted=out.nbytes, read=nt * (hi - lo) * each * 4)
        return out


def slice_survey(
    files: Sequence[Path], sources: Sequence[Sequence[float]], depth: float, frame: Frame | None = None
) -> Survey:
    """Return the survey of shots recorded on planes; the samples stay in the files.

    Parameters
    ----------
    files : sequence of Path
        One file of time slices per shot; shots are numbered from 1.
    sources : sequence of (x, y, z) or (x, z)
        Where each shot was, m.
    depth : float
        Of the nodes, m.
    frame : Frame, optional
        Where the local coordinates of the slices lie on the map: those of the model.

    Raises
    ------
    GeometryError
        When there is not one source per file, or the files differ in dimension or time axis.
    """
    if len(sources) != len(files):
        raise GeometryError(
            f"{len(files)} files of time slices, {len(sources)} sources",
            "give one source per file: [data.slices] sources = [[x, y, z], ...]",
            code="E776",
        )
    shots: list[Shot] = []
    first: TimeSlices | None = None
    for number, (path, source) in enumerate(zip(files, sources, strict=True), 1):
        with TimeSlices(path) as slices:
            first = first or slices
            ndim = len(slices.shape) + 1
            if (slices.time, len(slices.shape)) != (first.time, len(first.shape)) or len(source) != ndim:
                raise GeometryError(
                    f"{path}: {ndim}-D slices with {slices.time}, source {list(source)}; "
                    f"{first.path}: {len(first.shape) + 1}-D with {first.time}",
                    "shots of one survey have one time axis and dimension; a source has (x, y, z), in 2-D (x, z)",
                    code="E776",
                )
            shots.append(Shot(number, np.asarray(source, dtype=np.float64), slices.positions(depth)))
    assert first is not None
    reader = SliceReader({s.id: Path(p) for s, p in zip(shots, files, strict=True)})
    names = [str(p) for p in files]
    return Survey(shots, first.time, len(first.shape) + 1, frame or Frame(), reader, names)
