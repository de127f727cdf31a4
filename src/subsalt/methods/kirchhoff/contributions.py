"""Contributions of a time migration after aperture and mutes, estimated from some locations and traces.

A contribution is one sample of one trace added to one image trace. How many there are is a matter of geometry, velocity
and mutes alone; the sample asks the formulas of the sum itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.kernels.kirchhoff_reference import LEAST_SQUARE, leg, rooms
from subsalt.methods.kirchhoff.setup import KirchhoffSetup

#: locations along an axis of the image, and traces of each, that are looked at: some 20,000 pairs tell the mean of a
#: spread as wide as itself to 1 %
LOCATIONS, TRACES = 12, 150
#: traces among which those within reach of a location are looked for; of more, so many are drawn
LOOKED_AT = 200_000
#: samples of the image that are looked at; a range is then right to one part in so many
SAMPLES = 256


@dataclass(frozen=True)
class Contributions:
    """Contributions of an image.

    Parameters
    ----------
    contributions : float
        Samples of traces added to image traces.
    bound : float
        The same without aperture and mutes: traces times locations times samples.
    by_location : ndarray, (inlines, crosslines)
        Contributions of each location, from the sampled one that is nearest.
    by_group : ndarray, (groups,)
        Contributions of each offset class and sector.
    traces : int
        Traces that belong to a class.
    """

    contributions: float
    bound: float
    by_location: NDArray[np.float64]
    by_group: NDArray[np.float64]
    traces: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "contributions": self.contributions,
            "bound": self.bound,
            "part": self.contributions / self.bound if self.bound else 0.0,
            "traces": self.traces,
        }


def estimate_contributions(setup: KirchhoffSetup) -> Contributions:
    """Return the contributions of an image, estimated; the same estimate at every call."""
    ni, nj = setup.grid.shape
    at_i, at_j = _spread(ni, LOCATIONS), _spread(nj, LOCATIONS * (LOCATIONS if ni == 1 else 1))
    used = np.flatnonzero(setup.group >= 0)
    rng = np.random.default_rng(8)
    by_group = np.zeros(setup.classes.groups)
    sampled = np.zeros((len(at_i), len(at_j)))
    points = setup.grid.positions().reshape(ni, nj, 2)
    time, scale = _coarse(setup.grid.time)
    looked = used if len(used) <= LOOKED_AT else np.sort(rng.choice(used, LOOKED_AT, replace=False))
    each_stands_for = len(used) / max(1, len(looked))
    middle = 0.5 * (setup.table.src[looked] + setup.table.rcv[looked])
    share = _share(at_i, ni)[:, None] * _share(at_j, nj)[None, :]
    for a, i in enumerate(at_i):
        v, eta = setup.velocity.at(points[i, at_j], time)
        for b, j in enumerate(at_j):
            d = middle - points[i, j]
            near = looked
            if setup.options.aperture is not None:
                near = looked[(d * d).sum(axis=1) < setup.options.aperture**2]
            if not len(near):
                continue
            chosen = near if len(near) <= TRACES else near[rng.integers(0, len(near), TRACES)]
            one = None if eta is None else eta[b : b + 1]
            counts = scale * _ranges(setup, chosen, points[i, j], v[b : b + 1], one, time)
            each = counts * (each_stands_for * len(near) / len(chosen))
            sampled[a, b] = each.sum()
            np.add.at(by_group, setup.group[chosen], share[a, b] * each)
    total = float((share * sampled).sum())
    whole = sampled[_nearest(at_i, ni)][:, _nearest(at_j, nj)]
    bound = float(len(used)) * setup.grid.size * setup.nt
    return Contributions(total, bound, whole, by_group, len(used))


def _ranges(
    setup: KirchhoffSetup,
    traces: NDArray[np.int64],
    point: NDArray[np.float64],
    v: NDArray[np.float32],
    eta: NDArray[np.float32] | None,
    time: TimeAxis,
) -> NDArray[np.float64]:
    """Return how many samples of an image trace each trace reaches: from the first to the last, as the sum counts."""
    record = setup.table.time
    t0 = time.values()[None, :]
    least, below = LEAST_SQUARE * record.dt**2, setup.below(point[None])
    height, late, zero = np.zeros((len(traces), 2)), np.zeros(len(traces)), 0.0
    if setup.datum is not None and below is not None:
        height, late, zero = setup.datum.height[traces], setup.datum.late[traces], below.zero[0]
    speed = v.astype(np.float64)
    s = 1 / (speed * speed)
    e = None if eta is None else eta.astype(np.float64)
    src, rcv = (
        leg(point - at[traces], t0 / 2 + (height[:, end] - zero)[:, None], least, s, e)
        for end, at in enumerate((setup.table.src, setup.table.rcv))
    )
    midpoint = np.sqrt((((src.x + rcv.x) / 2) ** 2).sum(axis=1))[:, None]
    t = src.t + rcv.t + late[:, None]
    down = t0 if below is None else below.t0(time)
    left = np.min(rooms(setup.options, midpoint, src, rcv, down, speed), axis=0)
    live = (left > 0) & (np.minimum(src.h, rcv.h) >= 0) & (t >= record.t0) & (t <= record.duration)
    k = np.arange(time.nt)
    first = np.where(live, k, time.nt).min(axis=1)
    end = np.where(live, k + 1, 0).max(axis=1)
    return np.maximum(end - first, 0).astype(np.float64)


def _coarse(time: TimeAxis) -> tuple[TimeAxis, float]:
    """Return at most `SAMPLES` times over the same axis, and how many samples each stands for."""
    step = -(-time.nt // SAMPLES)
    n = -(-time.nt // step)
    # each stands in the middle of those that it stands for
    return TimeAxis(n, step * time.dt, time.t0 + 0.5 * (step - 1) * time.dt), time.nt / n


def _spread(n: int, most: int) -> NDArray[np.int64]:
    """Return indices in the middle of `most` equal parts of n; all when they are fewer."""
    if n <= most:
        return np.arange(n)
    return ((np.arange(most) + 0.5) * n / most).astype(np.int64)


def _nearest(at: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return, for each of n indices, which of the sampled ones is nearest."""
    middle = 0.5 * (at[1:] + at[:-1])
    return np.searchsorted(middle, np.arange(n))


def _share(at: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """Return how many of n indices each sampled one stands for."""
    return np.bincount(_nearest(at, n), minlength=len(at)).astype(np.float64)
