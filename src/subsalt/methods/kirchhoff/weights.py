"""The area that a trace stands for, dA: midpoint area per trace of its class.

The migration sum is an integral over midpoints, class by class. Where the midpoints of a class repeat, each of the
traces takes its part; where a class has no trace in every bin, as the offsets of a marine line that are seen in every
second or fourth CDP, its traces stand for several bins.

From the image traces of the classes to one image: the mean over the classes that are live at a sample.

A class counts with the weight that the stretch mute leaves it over a flat reflector, and not at all where no trace of
it reaches the location or where its reflection lies outside the record. A flat reflector therefore keeps its amplitude
through the taper of the mute, where a count of live classes would lose some of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.numerics import fixedmath

if TYPE_CHECKING:
    from subsalt.acquisition.image_grid import ImageGrid
    from subsalt.acquisition.survey import TimeAxis
    from subsalt.io.prestack.table import TraceTable
    from subsalt.kernels.kirchhoff_arguments import Below
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


#: bytes of one temporary array: they stay in the caches
_BYTES = 512 << 10


def live_classes(
    classes: Classes,
    fold: NDArray[np.int32],
    v: NDArray[np.float32],
    eta: NDArray[np.float32] | None,
    time: TimeAxis,
    record: TimeAxis,
    options: KirchhoffOptions,
    below: Below | None = None,
) -> NDArray[np.float32]:
    """Return the number of live classes of every output sample, those in the taper of the stretch mute in part.

    Parameters
    ----------
    classes : Classes
        Whose centres are the offsets.
    fold : ndarray, (n, groups), int32
        Traces that reach a location, by class.
    v : ndarray, (n, nt), float32
        Rms velocity, m/s.
    eta : ndarray or None, (n, nt), float32
        Anellipticity.
    time : TimeAxis
        Of the image.
    record : TimeAxis
        Of the traces.
    options : KirchhoffOptions
        With the stretch mute.
    below : Below, optional
        Heights of the traces, where the acquisition is on a surface: times count from there.

    Returns
    -------
    ndarray, (n, nt), float32

    Notes
    -----
    At offset X over a flat reflector ts = tr = t/2 with the leg of the operator for x = X/2; the stretch is t/t0 - 1.
    """
    n, nt = v.shape
    down = time.values()[None] if below is None else below.t0(time)
    out = np.empty((n, nt), np.float32)
    offset, of_class = np.unique(classes.centres, return_inverse=True)
    # classes of one offset, its sectors, are live together: how many of them have traces
    present = np.zeros((n, len(offset)), np.float64)
    np.add.at(present.T, of_class, (fold > 0).T.astype(np.float64))
    step = max(1, _BYTES // (8 * nt * len(offset)))

    def weights(some: NDArray[np.float64], rows: slice, k: slice | NDArray[np.bool_]) -> NDArray[np.float64]:
        vv = v[rows, k].astype(np.float64)[:, None, :]
        e = None if eta is None else eta[rows, k].astype(np.float64)[:, None, :]
        t0 = down[rows if len(down) > 1 else slice(None), k][:, None, :]
        t = 2.0 * leg(0.5 * t0, 0.5 * some[:, None], vv, e)
        weight = mute_weight(t, t0, options)
        weight *= (t >= record.t0) & (t <= record.duration)
        return weight

    for a in range(0, n, step):
        rows = slice(a, a + step)
        # sums of whole numbers, exact in any order
        out[rows] = present[rows].sum(axis=1)[:, None]
        k: NDArray[np.bool_] = np.ones(nt, bool)
        if eta is None:
            # times grow with offset: where nearest and farthest count in full, all do
            ends = weights(offset[[0, -1]], rows, slice(None))
            k = np.asarray((ends < 1.0).any(axis=(0, 1)))
        weight = weights(offset, rows, k)
        weight *= present[rows][:, :, None]
        total = np.zeros((weight.shape[0], weight.shape[2]))
        # one order of additions, whatever NumPy does with more than eight terms
        for c in range(len(offset)):
            total += weight[:, c]
        out[rows, k] = total
    return out


def leg(
    half_t0: NDArray[np.float64],
    x: NDArray[np.float64],
    v: NDArray[np.float64],
    eta: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return the time of one leg, s, for half the two-way time t0 and a lateral distance x, as the sum has it."""
    squared = half_t0 * half_t0 + (x * x) / (v * v)
    if eta is not None:
        x2, v2 = x * x, v * v
        squared = squared - 2.0 * eta * x2 * x2 / (
            v2 * np.maximum(half_t0 * half_t0 * v2 + (1 + 2 * eta) * x2, 1e-30)
        )
    return np.sqrt(np.maximum(squared, 0.0))


def mute_weight(
    t: NDArray[np.float64], t0: NDArray[np.float64], options: KirchhoffOptions
) -> NDArray[np.float64]:
    """Return the weight of the stretch mute where a flat event is stretched from t0 to t; 0 at time zero."""
    weight = np.broadcast_to(t0 > 0, t.shape).astype(np.float64)
    if options.stretch_mute is None:
        return weight
    stretch = t / np.where(t0 > 0, t0, 1.0) - 1.0
    first = options.stretch_mute * (1.0 - options.stretch_taper)
    weight[stretch > options.stretch_mute] = 0.0
    between = (stretch > first) & (weight > 0)
    part = (stretch[between] - first) / (options.stretch_mute - first)
    weight[between] = 0.5 + 0.5 * fixedmath.cos(fixedmath.PI * part)
    return weight


def stack(summed: NDArray[np.float32], live: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the image: the sum over classes divided by the live classes, by 1 where less than one of them is live.

    Parameters
    ----------
    summed : ndarray, (n, classes, nt), float32
        Image traces of all classes, or of all in one.
    live : ndarray, (n, nt), float32
        `live_classes`.

    Returns
    -------
    ndarray, (n, nt), float32
    """
    total = np.zeros((summed.shape[0], summed.shape[2]), np.float64)
    for c in range(summed.shape[1]):
        total += summed[:, c]
    return (total / np.maximum(live, 1.0)).astype(np.float32)
