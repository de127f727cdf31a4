"""What a velocity is like over an image: its range and where, from locations spread over the grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid, LocationBox, TimeVelocity
from subsalt.acquisition.survey import TimeAxis

#: locations along an axis of a large grid, and samples of time, that are looked at
LOCATIONS, SAMPLES = 20, 400
#: samples of all locations up to which a grid is looked at as a whole
WHOLE = 2_000_000


def spread(grid: ImageGrid) -> NDArray[np.int64]:
    """Return indices (n, 2) of at most `LOCATIONS` by `LOCATIONS` locations, the corners of the grid among them."""
    i, j = (np.unique(np.linspace(0, n - 1, min(n, LOCATIONS)).round().astype(np.int64)) for n in grid.shape)
    return np.stack(np.meshgrid(i, j, indexing="ij"), axis=-1).reshape(-1, 2)


def spread_positions(grid: ImageGrid) -> NDArray[np.float64]:
    """Return the map positions (n, 2) of `spread`, m."""
    return np.concatenate([grid.positions(LocationBox(i, i + 1, j, j + 1)) for i, j in spread(grid)])


def coarse(time: TimeAxis, least: float = 0.0) -> TimeAxis:
    """Return an axis over the same times with at most about `SAMPLES` samples, at least `least` seconds apart."""
    every = max(1, -(-time.nt // SAMPLES), int(np.ceil(least / time.dt - 1e-9)))
    return TimeAxis(-(-(time.nt - 1) // every) + 1, time.dt * every, time.t0)


def velocity_facts(velocity: TimeVelocity, grid: ImageGrid) -> dict[str, Any]:
    """Return where a velocity comes from and its range, as plain values for reports.

    Returns
    -------
    dict
        `describe()` of the velocity, and for `v_rms` (m/s) and `eta`, when there is one, ``min``, ``max`` and where
        they are: inline, crossline, two-way time (s); from `locations` traces: all, or some of a large grid.
    """
    time = coarse(grid.time)
    if grid.size * time.nt <= WHOLE:
        ni, nj = grid.shape
        index = np.stack(np.divmod(np.arange(ni * nj), nj), axis=-1)
        points = grid.positions()
    else:
        index, points = spread(grid), spread_positions(grid)
    v, eta = velocity.at(points, time)
    out: dict[str, Any] = {**velocity.describe(), "locations": len(index)}
    for name, values in (("v_rms", v), ("eta", eta)):
        if values is not None:
            found: dict[str, Any] = {}
            for which, k in (("min", int(np.argmin(values))), ("max", int(np.argmax(values)))):
                place, sample = divmod(k, time.nt)
                i, j = (int(n) for n in index[place])
                found[which] = float(values[place, sample])
                found[f"{which}_at"] = {
                    "inline": grid.inlines[0] + grid.inlines[2] * i,
                    "crossline": grid.crosslines[0] + grid.crosslines[2] * j,
                    "t": round(time.t0 + sample * time.dt, 6),
                }
            out[name] = found
    return out
