"""Model volumes: do they agree, are their values possible, are their axes in order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Survey
from subsalt.check.context import Context, SurveyExtent, error, ok, rule, warning
from subsalt.earth.grid import Grid
from subsalt.earth.planes import Parameter, Planes, first_index, slabs
from subsalt.errors import Finding

#: what a value must lie above, by parameter
LOWEST = {"vp": 0.0, "epsilon": -0.5, "delta": -0.5, "theta": -np.inf, "phi": -np.inf}


@rule("grids", "parameters")
def what_the_readers_say(context: Context) -> Iterator[Finding]:
    """Hand on what the readers of model files noticed."""
    for p in context.parameters.values():
        yield from p.findings


@rule("grids", "parameters")
def values_possible(context: Context) -> Iterator[Finding]:
    """Values that are not finite, or that no medium has."""
    for name, lowest in LOWEST.items():
        p = context.parameters.get(name)
        if p is None or context.facts.get(f"_null_{name}"):
            continue
        summary, what, code = p.summary, "not finite", "E410"
        count, first = summary.bad, summary.first_bad
        if not count and summary.low <= lowest:
            what, code = f"<= {lowest:g}", "E411"
            for start, part in slabs(p.volume):
                low = part <= lowest
                count += int(np.count_nonzero(low))
                first = first_index(low, start) if first is None and low.any() else first
        if not count:
            continue
        span = (
            ""
            if summary.bad == summary.size
            else f"; finite values run from {summary.low:g} to {summary.high:g}"
        )
        yield error(
            code,
            f"{name}: {count} of {summary.size} values {what}, the first at index {first}{span}",
            f"replace them in {p.source or name}",
            count=count,
            first=first,
        )


@rule("grids", "model", "survey")
def unset_spacing(context: Context) -> Iterator[Finding]:
    """A horizontal spacing of 1 that a converter left, while the survey needs that of another axis or its stations."""
    vp = context.parameters.get("vp")
    assert context.survey is not None
    if (
        vp is None
        or vp.grid is None
        or context.resampling
        or "spacing" in vp.given
        or not context.survey.shots
    ):
        return
    g = vp.grid
    unset = [axis for axis, h in enumerate(g.spacing[:-1]) if h == 1.0]
    if (
        not unset
        or g.spacing[-1] == 1.0
        or g.ndim != context.survey.ndim
        or _mostly_inside(context.survey, g, 1.0)
    ):
        return
    for step in _likely_steps(context.survey, g):
        spacing = [step if axis in unset else h for axis, h in enumerate(g.spacing)]
        if _mostly_inside(context.survey, Grid(g.shape, tuple(spacing), g.origin), 0.99):
            break
    else:
        return
    context.facts["_grid_wrong"] = True
    letters = " and ".join("xy"[axis] for axis in unset)
    wide = " x ".join(f"{(n - 1) * h:g}" for n, h in zip(g.shape[:-1], g.spacing[:-1], strict=True))
    volumes = [p for p in context.parameters.values() if p.grid is not None and p.grid.spacing == g.spacing]
    yield error(
        "E406",
        f"the model has a spacing of 1 m along {letters}, as converters leave it that know none: it is {wide} m wide "
        f"and the survey does not lie on it; with {step:g} m it does",
        f"[model] {'; '.join(p.table(spacing=spacing) for p in volumes)}",
        spacing=spacing,
    )


def _mostly_inside(survey: Survey, grid: Grid, share: float) -> bool:
    """Return whether that share of all stations lies on a grid, horizontally."""
    lay = SurveyExtent.of(survey, grid)
    return lay.inside_share(np.concatenate([lay.src, lay.rcv])) >= share


def _likely_steps(survey: Survey, grid: Grid) -> list[float]:
    """Return the spacings that a model of a survey is likely to have: its other ones, then those of the stations."""
    steps = [h for h in grid.spacing if h != 1.0]
    stations = np.concatenate([s.rcv for s in survey.shots[:20]])
    for places in (stations[:, 0], np.array([s.src[0] for s in survey.shots])):
        apart = np.diff(np.unique(np.round(places, 2)))
        if len(apart):
            interval = float(np.median(apart))
            steps += [interval / 2, interval]
    return list(dict.fromkeys(steps))


@rule("grids", "parameters")
def grids_agree(context: Context) -> Iterator[Finding]:
    """Volumes on different grids."""
    volumes = [p for p in context.parameters.values() if p.grid is not None]
    if len(volumes) < 2:
        return
    base, bad = volumes[0], False
    for p in volumes[1:]:
        for finding in _compare(base, p, context.resampling):
            bad = bad or finding.level == "error"
            yield finding
    if not bad and base.grid is not None:
        shape = " x ".join(map(str, base.grid.shape))
        yield ok(f"grids agree  {shape} @ {'/'.join(f'{h:g}' for h in base.grid.spacing)} m")


def _compare(base: Parameter, other: Parameter, resampling: bool) -> Iterator[Finding]:
    a, b = base.grid, other.grid
    assert a is not None
    assert b is not None
    cure = f"resample {other.name} to the grid of {base.name}, or add [grid] to interpolate all on one"
    if a.ndim != b.ndim:
        yield error(
            "E403", f"{other.name} has {b.ndim} axes, {base.name} has {a.ndim}", "use models of one dimension"
        )
        return
    if sorted(a.shape) == sorted(b.shape) and a.shape != b.shape:
        yield error(
            "E404",
            f"{other.name} has shape {b.shape}, {base.name} has {a.shape}: the order of axes differs",
            f"write {other.name} as (x, z) or (x, y, z), z fastest",
        )
    elif not resampling and a.shape != b.shape:
        yield error("E401", f"{other.name} has shape {b.shape}, {base.name} has {a.shape}", cure)
    elif not resampling:
        same = all(
            abs(x - y) <= 1e-3 * x / max(n, 1) for x, y, n in zip(a.spacing, b.spacing, a.shape, strict=True)
        )
        placed = all(abs(x - y) <= 1e-3 * h for x, y, h in zip(a.origin, b.origin, a.spacing, strict=True))
        if not (same and placed):
            yield error(
                "E402",
                f"{other.name} has spacing {b.spacing}, origin {b.origin}; {base.name} has {a.spacing}, "
                f"{a.origin}",
                cure,
            )
    if base.frame is not None and other.frame is not None and base.frame != other.frame:
        yield warning(
            "W405",
            f"{other.name} and {base.name} lie in different frames on the map; that of {base.name} is used",
            f"check the coordinates in {other.source}",
        )


@rule("grids", "velocity")
def depth_axis(context: Context) -> Iterator[Finding]:
    """Depth axis flipped, or not the last one, where `orientation` has not said so.

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
    trends = [_trend(profile) for profile in _profiles(_vp(context))]
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


def _vp(context: Context) -> NDArray[np.float32] | Planes:
    """Return vp of the model, in memory or as planes."""
    assert context.model is not None
    vp = context.model.volume("vp")
    assert vp is not None
    return vp


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


@rule("grids", "model")
def constant_layers(context: Context) -> Iterator[Finding]:
    """A null value that fills part of a model: one odd value at many nodes, far from all others."""
    assert context.model is not None
    v = _vp(context)
    low, rest, count = context.model.limits("vp")[0], np.inf, 0
    for _, part in slabs(v):
        at_low = part == low
        count += int(np.count_nonzero(at_low))
        rest = min(rest, float(np.min(part, where=~at_low, initial=np.inf)))
    if count > 0.001 * v.size and low > 0 and np.isfinite(rest) and rest > 4 * low:
        yield warning(
            "W445",
            f"vp is {low:g} at {count} nodes and at least {rest:g} elsewhere: a null value?",
            "fill the model where it is not known",
            value=low,
            count=count,
        )
