"""When a model lets the first wave arrive: a lower and an upper bound of the traveltime, without solving for rays.

The lower bound takes the model between source and receiver as layered, at each depth with its fastest velocity in any
direction, and finds the first of the direct, diving and head waves in closed form: with ``u`` the slowness of depth z
and ``p`` the slowness of the depth r at which a wave turns::

    t(x) = p x + integral of sqrt(u^2 - p^2) from source to r, and from receiver to r
    for x at least the integral of p / sqrt(u^2 - p^2) over the same ways

The upper bound is the straight line with, at each of its points, the slowest velocity in any direction from the top of
the model down to there: by Fermat's principle the first arrival is not later, and what travels in a slow layer above
may be the strongest. A direct wave of a uniform medium has both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.earth.model_like import ModelLike

#: columns of the model between a source and a receiver, points of the straight line and above each, and most depths
COLUMNS, POINTS, ABOVE, DEPTHS = 5, 17, 5, 100

Times = NDArray[np.float64]


def bounds(model: ModelLike, src: NDArray[np.float64], rcv: NDArray[np.float64]) -> tuple[Times, Times]:
    """Return the earliest and the latest time of the first arrival at receivers (n, 3), s.

    Parameters
    ----------
    model : ModelLike
        Before the anisotropy gate; outside its grid the edge is continued.
    src : ndarray, (3,)
        Source, m.
    rcv : ndarray, (n, 3)
        Receivers, m.
    """
    early = _earliest(model, src, rcv)
    share = (np.arange(POINTS) + 0.5) / POINTS
    line = src + share[None, :, None] * (rcv - src)[:, None, :]
    up = np.repeat(line[:, :, None, :], ABOVE, axis=2)
    top = model.grid.origin[-1]
    up[..., 2] = top + (up[..., 2] - top) * np.linspace(0.0, 1.0, ABOVE)
    slow = velocity(model, up.reshape(-1, 3), fast=False).reshape(len(rcv), POINTS, ABOVE).min(axis=2)
    distance = np.sqrt(((rcv - src) ** 2).sum(axis=1))
    late = distance * (1.0 / slow).mean(axis=1)
    # the sum over nodes may be off by half a cell, in favour of neither
    return np.minimum(early, late), late


def velocity(model: ModelLike, positions: NDArray[np.float64], fast: bool) -> NDArray[np.float64]:
    """Return the fastest or the slowest P velocity in any direction at positions (n, 3), m/s."""
    v = model.at(positions).astype(np.float64)
    factor = np.ones(len(v))
    for name in ("epsilon", "delta"):
        if name in model.volumes:
            root = np.sqrt(1 + 2 * model.at(positions, name).astype(np.float64))
            factor = np.maximum(factor, root) if fast else np.minimum(factor, root)
    return v * factor


def _earliest(model: ModelLike, src: NDArray[np.float64], rcv: NDArray[np.float64]) -> Times:
    """Return the lower bounds for receivers (n, 3); the model is asked once for the columns of all of them."""
    depths = [_depths(model.grid, src, r) for r in rcv]
    places = [_columns(src, r, z) for r, z in zip(rcv, depths, strict=True)]
    if not places:
        return np.zeros(0)
    v = np.split(velocity(model, np.concatenate(places), fast=True), np.cumsum([len(p) for p in places])[:-1])
    return np.array([_of_one(src, r, z, w) for r, z, w in zip(rcv, depths, v, strict=True)])


def _depths(grid: Grid, src: NDArray[np.float64], rcv: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the depths down to which a wave to a receiver may dive, evenly spaced."""
    x = float(np.hypot(*(rcv[:2] - src[:2])))
    dz, top = grid.spacing[-1], grid.origin[-1]
    shallow, deep = sorted((float(src[2]), float(rcv[2])))
    # a wave that turns deeper than its offset is rare, and later than the limit on its velocity allows
    last = min(top + (grid.shape[-1] - 1) * dz, deep + max(x, 10 * dz))
    count = min(DEPTHS, max(3, round((last - shallow) / dz) + 1))
    return np.linspace(min(shallow, top), max(last, deep + dz), count)


def _columns(
    src: NDArray[np.float64], rcv: NDArray[np.float64], z: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return positions at depths z between source and receiver, column by column, (n, 3)."""
    along = np.linspace(0.0, 1.0, COLUMNS)[:, None] * (rcv - src)[None, :]
    where = np.repeat((src + along)[:, None, :], len(z), axis=1)
    where[:, :, 2] = z
    return where.reshape(-1, 3)


def _of_one(
    src: NDArray[np.float64], rcv: NDArray[np.float64], z: NDArray[np.float64], v: NDArray[np.float64]
) -> float:
    """Return the lower bound for one receiver, with the velocities of its columns."""
    x = float(np.hypot(*(rcv[:2] - src[:2])))
    shallow, deep = sorted((float(src[2]), float(rcv[2])))
    step = float(z[1] - z[0])
    u = 1.0 / v.reshape(COLUMNS, len(z)).max(axis=0)
    # share of each cell that lies below the shallower point, and below the deeper one
    lower = np.clip((z + 0.5 * step - shallow) / step, 0.0, 1.0)
    both = np.clip((z + 0.5 * step - deep) / step, 0.0, 1.0)
    level = int(np.argmax(lower > 0))
    direct = _direct(x, u, (lower - both) * step, float(u[level]))
    # turning at depth r: all cells above it, twice below the deeper point
    turns = np.flatnonzero((z > deep) & (_fastest_above(u) > u))
    if not len(turns):
        return direct
    passes = (lower + both) * step
    p = u[turns, None]
    root = np.sqrt(np.maximum(u[None, :] ** 2 - p**2, 0.0))
    above = np.where(np.arange(len(z)) < turns[:, None], passes, 0.0)
    time = p[:, 0] * x + (root * above).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(above > 0, above * p / root, 0.0).sum(axis=1)
    return float(min(direct, time[reach <= x].min(initial=np.inf)))


def _fastest_above(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the smallest slowness above each depth: nothing turns below a layer that is faster."""
    return np.concatenate([[np.inf], np.minimum.accumulate(u)[:-1]])


def _direct(x: float, u: NDArray[np.float64], between: NDArray[np.float64], level: float) -> float:
    """Return the time of the ray that turns nowhere, through cells of height `between`, or along one `level`."""
    own = between > 0
    if not own.any():
        return x * level
    p = np.linspace(0.0, float(u[own].min()), 65)[:, None]
    return float(
        (p[:, 0] * x + (between[own] * np.sqrt(np.maximum(u[own] ** 2 - p**2, 0.0))).sum(axis=1)).max()
    )
