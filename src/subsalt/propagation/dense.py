"""A source on every node of a horizontal plane, fed from time slices while the wavefield is stepped.

The traces of such a source are as large as the history of the wavefield on that plane; only two slices of it, and of
those what touches this rank's slab, are ever in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import GeometryError
from subsalt.io.broadcast import InputReading, PerRank
from subsalt.io.prestack.time_slices import SliceStream, TimeSlices, stream_slices
from subsalt.kernels.work import Source
from subsalt.propagation.propagator import Propagator


class SliceSamples:
    """Samples of a `Source`, (n, nt), of which a step takes the column that comes next.

    Parameters
    ----------
    slices : SliceStream
        Brings them, in the order of the steps.
    rows : ndarray, (n,)
        Indices of the values of a slice that belong to the points of the source.
    nt : int
        Steps that have a sample.
    cell_volume : float
        Volume by which samples are divided, as in `Propagator.source`.
    """

    def __init__(self, slices: SliceStream, rows: NDArray[np.intp], nt: int, cell_volume: float) -> None:
        self.slices, self.shape, self._volume, self._rows = slices, (len(rows), nt), cell_volume, rows
        self._at = -1
        self._column: NDArray[np.float32] = np.empty(len(rows), np.float32)

    def __getitem__(self, where: tuple[slice, int]) -> NDArray[np.float32]:
        """Return column `it` of all points: the one of the last call, or the one after it."""
        everyone, it = where
        if everyone != slice(None) or it not in (self._at, self._at + 1):
            raise IndexError(f"slices come in the order of the steps: {where} after step {self._at}")
        if it > self._at:
            values = self.slices.next_slice().reshape(-1)[self._rows]
            self._column = (values.astype(np.float64) / self._volume).astype(np.float32)
            self._at = it
        return self._column


def touching(slices: TimeSlices, propagator: Propagator) -> tuple[int, int]:
    """Return the x positions lo ... hi - 1 of a slice that can touch the planes that `propagator` owns.

    Those are the nodes at most the reach of an off-grid point away from an owned plane: with one x position per plane,
    nx / n + 8 of them (order 8) on each of n ranks.
    """
    slab = propagator.domain.slab
    each = slices.shape[1] if len(slices.shape) == 2 else 1
    along = propagator.comp_grid.to_index(slices.positions(0.0)[::each])[:, 0]
    reach = propagator.options.support + 0.5
    near = np.flatnonzero((along > slab.lo - reach) & (along < slab.hi - 1 + reach))
    return (int(near[0]), int(near[-1]) + 1) if len(near) else (0, 0)


def attach(
    propagator: Propagator,
    slices: TimeSlices,
    planes: tuple[int, int],
    brought: SliceStream,
    nt: int,
    depth: float,
) -> Source:
    """Return the source whose samples are the slices of a file.

    Parameters
    ----------
    planes : tuple of int
        Range of x positions that `brought` brings.
    nt : int
        Slices that it brings.
    depth : float
        Depth of the plane, m.

    Raises
    ------
    GeometryError
        When slices of a plane meet a grid of a line, or reach out of the grid.
    """
    if len(slices.shape) != propagator.model_grid.ndim - 1:
        raise GeometryError(
            f"{slices.path} has slices of {len(slices.shape)} axes, the grid has {propagator.model_grid.ndim}",
            "a 3-D grid takes slices of x and y, a 2-D grid slices of x",
            code="E772",
        )
    points = propagator.domain.sources(slices.positions(depth, *planes))
    rows = np.arange(len(points))
    if propagator.slab is not None:
        points, rows = propagator.domain.mine(points)
    samples = SliceSamples(brought, rows, nt, propagator.comp_grid.cell_volume)
    return Source(points, samples)  # type: ignore[arg-type]


@contextmanager
def dense_source(
    propagator: Propagator,
    slices: TimeSlices,
    depth: float,
    *,
    order: Sequence[int] | None = None,
    reading: InputReading | None = None,
) -> Iterator[Source]:
    """Yield a source that injects one slice per time step, read ahead while the step before it is computed.

    Parameters
    ----------
    propagator : Propagator
        Steps the wavefield; its time step is taken as that of the slices.
    slices : TimeSlices
        The samples, on nodes anywhere in the propagator's grid.
    depth : float
        Depth of the plane, m.
    order : sequence of int, optional
        Which slice each step takes; all in order of time when left out, ``range(nt - 1, -1, -1)`` runs backwards.
    reading : InputReading, optional
        The way to read slices; each rank reads its part when left out.

    Notes
    -----
    The steps run one at a time, by the loop in Python: a dense plane costs little beside a step of the volume below it.
    """
    steps = list(range(slices.time.nt) if order is None else order)
    planes = touching(slices, propagator)
    brought = stream_slices(slices, *planes, steps, reading or PerRank())
    try:
        yield attach(propagator, slices, planes, brought, len(steps), depth)
    finally:
        brought.close()
