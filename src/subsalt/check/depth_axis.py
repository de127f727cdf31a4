"""A depth axis that is flipped or not the last one, by the trend of mean velocity profiles."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from subsalt.check.context import Context, rule, warning
from subsalt.earth.planes import Planes, slabs
from subsalt.errors import Finding


@rule("depth_axis", "velocity")
def depth_axis(context: Context) -> Iterator[Finding]:
    """Warn of a depth axis that is flipped or not the last one, where `orientation` has not done so.

    Velocity grows with depth. A mean profile that falls steadily downwards, or one that is level along z and
    steady along x, is an axis in the wrong place. Both need a steep, nearly monotonous trend, so salt does
    not disturb them.
    """
    assert context.model is not None
    if context.facts.get("_axes_wrong"):
        return
    low, high = context.model.limits("vp")
    shape = context.model.grid.shape
    if shape[-1] < 16 or high < 1.05 * low:
        return
    vp = context.model.volume("vp")
    assert vp is not None
    trends = [_trend(profile) for profile in _profiles(vp)]
    along_z, span_z = trends[-1]
    if along_z < -0.9 and span_z > 0.2:
        yield warning(
            "W443",
            f"vp falls with depth by {span_z:.0%} of its mean: the depth axis looks flipped",
            "turn the z axis of the model around, z positive down",
            correlation=along_z,
        )
    for axis in range(len(shape) - 1):
        along, span = trends[axis]
        if along > 0.95 and span > 0.4 and span_z < 0.1 and shape[axis] >= 16:
            yield warning(
                "W444",
                f"vp grows by {span:.0%} of its mean along axis {axis} and is level along the last one",
                "write the model as (x, z) or (x, y, z), z fastest",
                correlation=along,
            )


def _profiles(v: NDArray[np.float32] | Planes) -> list[NDArray[np.float64]]:
    """Return the mean profile along every axis, in one pass."""
    sums = [np.zeros(n) for n in v.shape]
    for start, part in slabs(v):
        for axis, total in enumerate(sums):
            part_sum = part.sum(axis=tuple(i for i in range(v.ndim) if i != axis), dtype=np.float64)
            total[slice(start, start + len(part)) if axis == 0 else slice(None)] += part_sum
    return [total * (n / v.size) for total, n in zip(sums, v.shape, strict=True)]


def _trend(profile: NDArray[np.float64]) -> tuple[float, float]:
    """Return the correlation of a mean profile with its index, and its relative span."""
    n = len(profile)
    if n < 3 or float(profile.max()) == float(profile.min()):
        return 0.0, 0.0
    index = np.arange(n) - (n - 1) / 2
    centred = profile - profile.mean()
    scale = float(np.sqrt((index**2).sum() * (centred**2).sum()))
    end = max(1, n // 10)
    span = abs(float(profile[-end:].mean() - profile[:end].mean())) / float(profile.mean())
    return float((index * centred).sum()) / scale, span
