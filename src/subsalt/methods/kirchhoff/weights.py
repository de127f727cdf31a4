"""The area that a trace stands for, dA: midpoint area per trace of its class.

The migration sum is an integral over midpoints, class by class. Where the midpoints of a class repeat, each of the
traces takes its part; where a class has no trace in every bin, as the offsets of a marine line that are seen in every
second or fourth CDP, its traces stand for several bins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from subsalt.acquisition.image_grid import ImageGrid
    from subsalt.io.prestack.table import TraceTable
    from subsalt.methods.kirchhoff.classes import Classes
    from subsalt.methods.kirchhoff.options import KirchhoffOptions

Weighting = Literal["bin", "uniform"]

#: m by which coordinates in decimetres move a midpoint at most; centimetres of noise move it less
EDGE = 0.05
#: share of midpoints on edges from which on it is no chance
MANY = 0.05
#: distances between bins, in medians of their class, from which on they are a hole in the survey
HOLE = 5


def trace_weights(
    table: TraceTable,
    classes: Classes,
    grid: ImageGrid,
    options: KirchhoffOptions,
    weighting: Weighting = "bin",
) -> NDArray[np.float32]:
    """Return the midpoint area (m^2), or length along the line (m), that each trace stands for.

    Parameters
    ----------
    table : TraceTable
        All traces.
    classes : Classes
        To one of which a trace belongs; others weigh nothing.
    grid : ImageGrid
        Whose numbering of inlines and crosslines gives the bins, whatever its increments.
    options : KirchhoffOptions
        ``amplitude``: ``"3d"`` counts areas, ``"2.5d"`` lengths, ``"none"`` bins.
    weighting : {"bin", "uniform"}
        ``"bin"``: the traces of a class that share a bin share its area; ``"uniform"``: the area of a class is divided
        among its traces.

    Returns
    -------
    ndarray, (n,), float32

    Notes
    -----
    ``dA = A_bin g / m``: A_bin the area of a bin, m the traces of the class in this bin, g the bins that each occupied
    one stands for: the mean distance between neighbouring occupied bins of the class along the rows, times that
    between its rows. Distances beyond `HOLE` medians are holes in the survey and do not count.
    """
    n = len(table.offset)
    group = classes.group_of(table.offset, table.azimuth)
    used = np.flatnonzero(group >= 0)
    out = np.zeros(n, np.float32)
    if not len(used):
        return out
    row, col = bins_of(table.midpoint[used], grid)
    if options.amplitude == "2.5d":
        row = np.zeros_like(row)
    rows, cols = int(row.max()) + 1, int(col.max()) + 1
    key = (group[used].astype(np.int64) * rows + row) * cols + col
    bins, where, count = np.unique(key, return_inverse=True, return_counts=True)
    of_class = bins // (rows * cols)
    share = np.zeros(classes.groups)
    limits = np.searchsorted(of_class, np.arange(classes.groups + 1))
    for c in np.flatnonzero(np.diff(limits)):
        mine = slice(limits[c], limits[c + 1])
        some = bins[mine] % (rows * cols)
        along, across = some // cols, some % cols
        step = _distance(np.diff(across)[np.diff(along) == 0])
        step *= _distance(np.diff(np.unique(along)))
        # uniform: the same area in all, however many traces there are in a bin
        share[c] = step * (1.0 if weighting == "bin" else len(some) / float(count[mine].sum()))
    per_bin = np.ones(len(bins)) if weighting == "uniform" else 1.0 / count
    inline, crossline = (
        float(np.sqrt(v[0] * v[0] + v[1] * v[1])) for v in (grid.per_inline, grid.per_crossline)
    )
    unit = {"3d": inline * crossline, "2.5d": crossline, "none": 1.0}[options.amplitude]
    out[used] = (unit * share[of_class] * per_bin)[where].astype(np.float32)
    return out


def bins_of(points: NDArray[np.float64], grid: ImageGrid) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return row (inline) and column (crossline) of the bins of midpoints (n, 2), both counted from the lowest.

    Notes
    -----
    A midpoint on the edge of two bins belongs to the upper one. Where a survey puts many midpoints on edges, those that
    rounding or noise of coordinates left up to `EDGE` below one belong there too: else neighbours would fall on either
    side by chance, some bins hold two traces and others none, and the weights of both would be wrong.
    """
    row, col = fractional_bins(points, grid)
    inline, crossline = grid.numbered_spacing
    rows, cols = _cells(row, inline), _cells(col, crossline)
    return rows - rows.min(), cols - cols.min()


def fractional_bins(
    points: NDArray[np.float64], grid: ImageGrid
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return row and column of midpoints (n, 2) as fractions, counted from the corner: edges at halves."""
    (ax, ay), (bx, by) = grid.per_inline, grid.per_crossline
    x, y = points[:, 0] - grid.corner[0], points[:, 1] - grid.corner[1]
    det = ax * by - ay * bx
    return (x * by - y * bx) / det, (y * ax - x * ay) / det


def on_edges(at: NDArray[np.float64], within: float) -> tuple[float, float]:
    """Return the shares of fractional bins that lie less than `within` bins below an edge, and at or above one."""
    f = at + 0.5
    part = f - np.floor(f)
    return float((part > 1.0 - within).mean()), float((part < within).mean())


def many_on_edges(below: float, above: float, within: float) -> bool:
    """Return whether midpoints lie on edges more often than evenly spread ones, and fall on both sides of them."""
    return below > 0 and below + above > max(MANY, 3 * 2 * within)


def _cells(at: NDArray[np.float64], spacing: float) -> NDArray[np.int64]:
    """Return the bins of fractional ones, those of them that were meant for an edge in the upper bin."""
    within = min(EDGE / spacing, 0.25)
    snap = within if many_on_edges(*on_edges(at, within), within) else 0.0
    return np.floor(at + 0.5 + snap).astype(np.int64)


def _distance(steps: NDArray[np.int64]) -> float:
    """Return the mean distance between neighbouring bins, holes left out; 1 where there is none."""
    if not len(steps):
        return 1.0
    steps = steps[steps <= HOLE * np.median(steps)]
    return float(steps.sum()) / len(steps)
