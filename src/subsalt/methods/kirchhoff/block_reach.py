"""The traces whose midpoints lie within the aperture of a block, by the convex hull of its locations."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from subsalt.io.prestack.table import TraceTable

#: traces looked at in one piece: temporaries stay within a few MB
_PIECE = 1 << 17


#: m and share by which the aperture is widened: no rounding may lose a trace that the sum would take
_SLACK = (1e-6, 1e-9)


#: m; a corner that sticks out less is none: rounding would leave hundreds along the side of a turned grid
_STRAIGHT = 1e-8


def reach(table: TraceTable, points: NDArray[np.float64], aperture: float | None) -> NDArray[np.int64]:
    """Return the rows of the traces within reach of some locations, ascending.

    Parameters
    ----------
    table : TraceTable
        All traces.
    points : ndarray, (n, 2)
        Map positions of the locations, or of the corners of their outline, m.
    aperture : float or None
        Largest distance of midpoint and location, m; None: there is no limit, and every trace is within reach.

    Returns
    -------
    ndarray, (m,), int64
        Every trace with a midpoint within `aperture` of the convex hull of `points`. It holds every trace that is
        within reach of one of them; those that lie between locations and within reach of none are the only others.
        More points never give fewer traces.
    """
    if aperture is None:
        return np.arange(len(table), dtype=np.int64)
    hull = convex_hull(points)
    limit = aperture * (1.0 + _SLACK[1]) + _SLACK[0]
    low, high = hull.min(axis=0) - limit, hull.max(axis=0) + limit
    pieces = []
    for start in range(0, len(table), _PIECE):
        part = slice(start, start + _PIECE)
        middle = 0.5 * (table.src[part] + table.rcv[part])
        near = np.flatnonzero(((middle >= low) & (middle <= high)).all(axis=1))
        near = near[distance_to_hull(middle[near], hull) <= limit]
        pieces.append(near + start)
    return np.concatenate([np.empty(0, np.int64), *pieces])


def convex_hull(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the corners of the convex hull, counter-clockwise: one for a point, two for points on a line.

    Notes
    -----
    The monotone chain of Andrew (1979).
    """
    ordered = np.unique(np.asarray(points, np.float64).reshape(-1, 2), axis=0).tolist()
    if len(ordered) <= 2:
        return np.array(ordered)

    def chain(sequence: list[list[float]]) -> list[list[float]]:
        out: list[list[float]] = []
        for p in sequence:
            while len(out) >= 2 and _bulge(out[-2], out[-1], p) <= _STRAIGHT:
                out.pop()
            out.append(p)
        return out[:-1]

    return np.array(chain(ordered) + chain(ordered[::-1]))


def _bulge(a: list[float], b: list[float], c: list[float]) -> float:
    """Return how far b lies to the right of the way from a to c, m; 0 where a and c are one."""
    x, y = c[0] - a[0], c[1] - a[1]
    length = math.hypot(x, y)
    return ((b[0] - a[0]) * y - (b[1] - a[1]) * x) / length if length > 0 else 0.0


def distance_to_hull(points: NDArray[np.float64], hull: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return distances of points (n, 2) from a convex hull as `convex_hull` gives it; 0 inside, m."""
    nearest = np.full(len(points), np.inf)
    inside = np.full(len(points), len(hull) > 2)
    for a, b in zip(hull, np.roll(hull, -1, axis=0), strict=True):
        along, d = b - a, points - a
        square = float(along[0] * along[0] + along[1] * along[1])
        share = (d[:, 0] * along[0] + d[:, 1] * along[1]) / (square if square > 0 else 1.0)
        share = np.clip(share, 0.0, 1.0)
        x, y = d[:, 0] - share * along[0], d[:, 1] - share * along[1]
        np.minimum(nearest, np.sqrt(x * x + y * y), out=nearest)
        inside &= along[0] * d[:, 1] - along[1] * d[:, 0] >= 0
    nearest[inside] = 0.0
    return nearest
