"""Checks of the model volumes together: possible values, grids that agree, null values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from subsalt.check.context import Context, error, ok, rule, warning
from subsalt.earth.planes import Parameter, first_index, slabs
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


@rule("grids", "model")
def constant_layers(context: Context) -> Iterator[Finding]:
    """A null value that fills part of a model: one odd value at many nodes, far from all others."""
    assert context.model is not None
    v = context.model.volume("vp")
    assert v is not None
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
