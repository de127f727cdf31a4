"""Axes of a model that are exchanged or run backwards, found from the changes of velocity along them.

Velocity rises with depth in nearly every column of a model, and changes faster with depth than sideways. In the models
of `tests/check/test_orientation.py` (Marmousi, Overthrust, Salt, Volve) it rises in 87 % of the columns and more, with
a correlation of 0.76 and more, and changes 2.8 times faster at least. A model whose axes are exchanged shows the same
along a horizontal axis, one that is stored from the bottom up shows it with the other sign.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.check.context import Context, SurveyExtent, error, rule, warning
from subsalt.earth.grid import Grid
from subsalt.earth.planes import Parameter, Planes
from subsalt.errors import Finding

#: nodes along x, y, z of the thinned model that is looked at
THIN = 192
#: fewest nodes along an axis that can show a trend
FEWEST = 16
#: share of lines that rise, their median correlation, and how much faster velocity changes along them than across
RISING, TREND, FASTER = 0.85, 0.7, 1.5
#: values of a model in memory whose order in the file is tried
HELD = 1 << 24
#: water, m/s
WATER = 1440.0, 1560.0
#: correlation of the changes of two volumes across, and its excess over that of one turned around, from which they run
#: the same way
ALIKE = 0.1
#: nodes over which changes across are taken together
EDGE = 5
#: share of the stations outside of a model from which a survey does not lie on it
OUTSIDE = 0.01


@dataclass(frozen=True)
class Along:
    """How values change along one axis.

    Parameters
    ----------
    rising, falling : float
        Shares of the lines along the axis with that trend.
    trend : float
        Median of their correlations with the index.
    change : float
        Mean absolute change per metre.
    """

    rising: float
    falling: float
    trend: float
    change: float

    @classmethod
    def of(cls, values: NDArray[np.float64], axis: int, step: float) -> Along:
        """Measure along an axis; `step` is its spacing, m."""
        lines = np.moveaxis(values, axis, -1)
        n = lines.shape[-1]
        index = np.arange(n) - (n - 1) / 2
        centred = lines - lines.mean(axis=-1, keepdims=True)
        size = np.sqrt((centred**2).sum(axis=-1) * (index**2).sum())
        # what is rounding is no trend
        flat = size <= 1e-6 * np.abs(lines).max() * n
        trend = np.where(flat, 0.0, (centred * index).sum(axis=-1) / np.where(flat, 1.0, size))
        change = float(np.abs(np.diff(lines, axis=-1)).mean()) / step if n > 1 else 0.0
        return cls(float((trend > 0).mean()), float((trend < 0).mean()), float(np.median(trend)), change)

    def is_depth(self, across: Along, sign: int = 1) -> bool:
        """Return whether this looks like the depth axis beside another one: downwards (1), or upwards (-1)."""
        share = self.rising if sign > 0 else self.falling
        return share >= RISING and sign * self.trend >= TREND and self.change >= FASTER * across.change > 0


def thinned(
    values: NDArray[np.float32] | Planes, most: int = THIN
) -> tuple[NDArray[np.float64], tuple[int, ...]]:
    """Return a volume at evenly spread nodes, `most` along an axis and fewer in 3-D, and the strides."""
    if len(values.shape) == 3:
        most //= 3
    strides = tuple(max(1, -(-n // most)) for n in values.shape)
    if not isinstance(values, Planes):
        return np.asarray(values[tuple(slice(None, None, s) for s in strides)], np.float64), strides
    cut = tuple(slice(None, None, s) for s in strides[1:])
    planes = [values.read(i, i + 1)[0][cut] for i in range(0, values.shape[0], strides[0])]
    return np.stack(planes).astype(np.float64), strides


@rule("orientation", "parameters")
def axes_in_order(context: Context) -> Iterator[Finding]:
    """Axes of vp that are exchanged, or a depth axis that runs upwards."""
    p = context.parameters.get("vp")
    if p is None or p.grid is None or context.facts.get("_vp_wrong") or p.summary.bad or p.summary.low <= 0:
        return
    values, strides = thinned(p.volume)
    if min(values.shape[-1], *values.shape[:-1]) < FEWEST // 2 or values.shape[-1] < FEWEST:
        return
    steps = [h * s for h, s in zip(p.grid.spacing, strides, strict=True)]
    names = "xz" if values.ndim == 2 else "xyz"
    trends = [Along.of(values, i, h) for i, h in enumerate(steps)]
    down, beside = trends[-1], max(trends[:-1], key=lambda a: a.change)
    if (rougher := _as_stored_otherwise(context, p)) is not None:
        context.facts["_axes_wrong"] = True
        yield rougher
        return
    if down.is_depth(beside):
        return
    sideways = next((i for i, a in enumerate(trends[:-1]) if a.is_depth(down)), None)
    if sideways is not None:
        context.facts["_axes_wrong"] = True
        yield _exchanged(context, trends[sideways], down, names, sideways)
    elif down.is_depth(beside, -1) or _water_below(values):
        context.facts["_axes_wrong"] = True
        what = (
            f"vp falls with depth in {down.falling:.0%} of its columns"
            if down.falling >= RISING
            else "the lowest row of vp is water, the highest is not"
        )
        yield warning(
            "W443",
            f"{what}: the depth axis looks flipped",
            f"[model] {tables_with(context, p, flip='z')} if the model is stored from the bottom up",
            falling=down.falling,
            trend=down.trend,
        )


def _as_stored_otherwise(context: Context, p: Parameter) -> Finding | None:
    """Return the finding on values that are cut into rows of another length: neighbours are strangers."""
    values = p.values
    if not isinstance(values, np.ndarray) or values.size > HELD:
        return None
    other = values.reshape(values.shape[::-1])
    ratio = _roughness(values) / max(_roughness(other), 1e-30)
    if ratio < 2 or values.shape[0] == values.shape[-1] == 1:
        return None
    assert p.grid is not None
    # depth is the axis along which velocity changes most
    first, last = (Along.of(np.asarray(other, np.float64), i, 1.0).change for i in (0, -1))
    what = f"neighbouring values of vp differ {ratio:.2g} times less"
    if first > last:
        return warning(
            "W426",
            f"{what} when x is taken as the fastest axis of the file: they look written that way",
            f"write {p.source} with z fastest; in NumPy: a.reshape({other.shape}).T.copy()",
            ratio=ratio,
        )
    what = f"{what} in rows of {other.shape[values.ndim - 1]}, not {values.shape[values.ndim - 1]}"
    cure = f"exchange the lengths of the axes in {p.source}, with their spacings"
    if p.source.endswith(".rsf"):
        cure = f"exchange n1 and n2 in the header {p.source}, with d1 and d2, o1 and o2"
        if values.ndim == 3:
            cure = cure.replace("n2", "n3").replace("d2", "d3").replace("o2", "o3")
    cure = f"{cure}; in NumPy: a.reshape({other.shape})"
    if said := _on_the_survey(context, p, 0):
        return error("E426", f"{what}, and {said}: the lengths of its axes are exchanged", cure, ratio=ratio)
    return warning("W426", f"{what}: the lengths of its axes look exchanged", cure, ratio=ratio)


def _on_the_survey(context: Context, p: Parameter, axis: int) -> str:
    """Return words on a survey that lies on a model only if one of its axes is exchanged with depth; else nothing.

    Then all that could be said of places against the model would repeat that.
    """
    survey, given = context.survey, p.grid
    assert given is not None
    if survey is None or not survey.shots or context.resampling or given.ndim != survey.ndim:
        return ""
    order = list(range(given.ndim))
    order[axis], order[-1] = order[-1], order[axis]
    # a spacing or an origin of the job is that of the model, one of the file goes with its axes
    spacing, origin = (
        v if p.given.get(key) else tuple(v[i] for i in order)
        for key, v in (("spacing", given.spacing), ("origin", given.origin))
    )
    other = Grid(tuple(given.shape[i] for i in order), spacing, origin)
    shares = [_share_outside(SurveyExtent.of(survey, grid)) for grid in (given, other)]
    if shares[0] <= OUTSIDE or shares[1] > 0:
        return ""
    context.facts["_grid_wrong"] = True
    return f"{shares[0]:.0%} of the stations lie outside the model, none when these two are exchanged"


def _share_outside(lay: SurveyExtent) -> float:
    """Return which share of all stations lies outside a grid, below it, or above."""
    both = np.concatenate([lay.src, lay.rcv])
    deep = (both[:, 2] < lay.low[2] - lay.slack[2]) | (both[:, 2] > lay.high[2] + lay.slack[2])
    return float((lay.outside(both) | deep).mean())


def _roughness(values: NDArray[np.float32]) -> float:
    """Return the mean absolute change from node to node, all axes together."""
    return float(sum(np.abs(np.diff(values, axis=i)).mean(dtype=np.float64) for i in range(values.ndim)))


def _exchanged(context: Context, along: Along, down: Along, names: str, axis: int) -> Finding:
    vp = context.parameters["vp"]
    letters = names[axis] + names[-1]
    # on top of the order that the job gives
    stored = str(vp.given.get("axes") or names).translate(str.maketrans(letters, letters[::-1]))
    rate = f"{along.change / down.change:.2g} times"
    what = (
        f"vp rises along {names[axis]} in {along.rising:.0%} of its lines and changes {rate} faster along "
        f"{names[axis]} than along z"
    )
    order = None if stored == names else stored
    cure = f"[model] {tables_with(context, vp, axes=order)}"
    evidence = {"rising": along.rising, "ratio": along.change / down.change}
    if said := _on_the_survey(context, vp, axis):
        return error("E426", f"{what}, and {said}: {names[axis]} and z are exchanged", cure, **evidence)
    if (header := _header_of_the_model(vp, axis)) is not None:
        # of as many columns as rows the values alone may be exchanged
        alone = f"[model] {tables_with(context, vp, axes=order, **header)}"
        cure = f"{alone}, as its header gives spacing and origin of x and z; or, if those are exchanged, too: {cure}"
    return warning(
        "W426",
        f"{what}: {names[axis]} and z look exchanged",
        f"{cure} if the model is stored so",
        **evidence,
    )


def _header_of_the_model(vp: Parameter, axis: int) -> dict[str, object] | None:
    """Return spacing and origin as the file of vp gives them; None where its axes have other lengths, or are alike.

    A file whose axis `axis` and depth have one length may have its values exchanged and its header not.
    """
    grid = vp.grid
    assert grid is not None
    alike = all(v[axis] == v[-1] for v in (grid.spacing, grid.origin))
    if grid.shape[axis] != grid.shape[-1] or alike or any(vp.given.get(k) for k in ("spacing", "origin")):
        return None
    return {"spacing": list(grid.spacing), "origin": list(grid.origin)}


def tables_with(context: Context, vp: Parameter, **keys: object) -> str:
    """Return the tables of all volumes of the model that have the shape of vp, with keys set."""
    same = [p for p in context.parameters.values() if p.grid is not None and p.grid.shape == vp.grid.shape]  # type: ignore[union-attr]
    return "; ".join(p.table(**keys) for p in same)


def flipped_tables(context: Context, vp: Parameter, letters: str) -> str:
    """Return the tables of the volumes that run backward along axes when vp does.

    Epsilon and delta change where vp does when they run as it does. Where they change with vp turned around, vp alone
    is stored backward, and angles go with epsilon and delta.
    """
    names = "xyz" if len(vp.volume.shape) == 3 else "xz"
    flip = "".join(sorted(set(vp.given.get("flip") or "") ^ set(letters))) or None
    shape = vp.grid.shape if vp.grid is not None else None
    same = [p for p in context.parameters.values() if p.grid is not None and p.grid.shape == shape]
    values, axes = thinned(vp.volume)[0], [names.index(x) for x in letters]
    witnesses = [p for p in same if p.name in ("epsilon", "delta")]
    sides = [_runs_with(values, thinned(p.volume)[0], axes) for p in witnesses]
    alone = False in sides and True not in sides
    return "; ".join(p.table(flip=flip) for p in same if p is vp or not alone)


def _runs_with(one: NDArray[np.float64], other: NDArray[np.float64], axes: list[int]) -> bool | None:
    """Return whether a volume changes across where another does (True), or where it does turned around (False)."""
    a, b, c = (_across(v) for v in (one, other, np.flip(other, tuple(axes))))
    as_is, turned = _correlation(a, b), _correlation(a, c)
    if max(as_is, turned) < ALIKE or abs(as_is - turned) < ALIKE:
        return None
    return as_is > turned


def _across(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much values change across, between neighbouring columns, averaged over some nodes."""
    from scipy.ndimage import uniform_filter

    steps = [
        np.abs(np.diff(values, axis=i, append=values.take([-1], axis=i))) for i in range(values.ndim - 1)
    ]
    # what has an edge of its own there is alike, however hard that of the other is
    wide = uniform_filter(np.asarray(sum(steps)), EDGE)
    return np.asarray(np.sqrt(wide))


def _correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Return the correlation of two volumes of the same shape; 0 where one is constant."""
    x, y = a - a.mean(), b - b.mean()
    size = float(np.sqrt((x**2).sum() * (y**2).sum()))
    return float((x * y).sum()) / size if size > 0 else 0.0


def _water_below(values: NDArray[np.float64]) -> bool:
    """Return whether the lowest row of a model is water throughout, and the highest is not."""
    water = [((row >= WATER[0]) & (row <= WATER[1])).mean() for row in (values[..., -1], values[..., 0])]
    return bool(water[0] > 0.99 and water[1] < 0.01 and float(values.max()) > 1.2 * WATER[1])
