"""Volumes that hold something other than their name says: shear velocities, a model in time, exchanged files."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from subsalt.check.context import Context, error, rule, warning
from subsalt.check.orientation import WATER, thinned
from subsalt.check.units import FASTEST, SLOWEST
from subsalt.earth.planes import Parameter
from subsalt.errors import Finding

#: m/s; P waves in rocks that hold water are faster, except with gas: otherwise only dry or very soft ground is slower
SLOWEST_WET = 1400.0
#: m below the top of the model, below which ground is wet
WET = 500.0
#: share of slow nodes that is no gas any more
SLOW = 0.1
#: Part of delta up to which what is given as epsilon rather is delta. Rocks have a delta of about half of epsilon
#: (Thomsen 1986): exchanged, epsilon is half of delta; eta = (epsilon - delta) / (1 + 2 delta) is nearly as large.
HALF = 0.7


@rule("model_kind", "parameters")
def unusual_velocities(context: Context) -> Iterator[Finding]:
    """Velocities that no rocks and no water have, where neither unit nor null values explain them."""
    vp = context.parameters.get("vp")
    if vp is None or vp.summary.bad == vp.summary.size:
        return
    if any(context.facts.get(k) for k in ("_vp_wrong", "_null_vp", "_perhaps_feet")):
        return
    low, high = vp.summary.low, vp.summary.high
    if high > FASTEST or (0 < low < SLOWEST):
        yield warning(
            "W417",
            f"vp from {low:.4g} to {high:.4g} m/s: outside what rocks and water have ({SLOWEST:g} to "
            f"{FASTEST:g})",
            "check the unit, and null values in the file",
            min=low,
            max=high,
        )


@rule("model_kind", "parameters")
def shear_velocities(context: Context) -> Iterator[Finding]:
    """Velocities that saturated rocks do not have for P waves, but have for S waves."""
    p = context.parameters.get("vp")
    if p is None or p.grid is None or p.summary.bad or context.facts.get("_vp_wrong"):
        return
    if context.facts.get("_axes_wrong") or context.facts.get("_null_vp"):
        return
    values, strides = thinned(p.volume)
    if p.summary.low <= 0:
        findings = list(_zeros_on_top(context, p, values, strides))
        context.facts["_null_vp"] = context.facts.get("_null_vp") or bool(findings)
        yield from findings
        return
    depth = np.arange(values.shape[-1]) * strides[-1] * p.grid.spacing[-1]
    bottom = _sea_bottom(values)
    wet = depth > WET if bottom is None else depth[bottom:].min(initial=np.inf) <= depth
    below = values[..., wet]
    if bottom is not None:
        below = below[(below < WATER[0]) | (below > WATER[1])]
    if below.size < 100:
        return
    share = float((below < SLOWEST_WET).mean())
    if share <= SLOW:
        return
    where = "below the sea bottom" if bottom is not None else f"deeper than {WET:g} m"
    yield warning(
        "W427",
        f"vp is below {SLOWEST_WET:g} m/s at {share:.0%} of the nodes {where} (median {np.median(below):.4g} m/s): "
        "slower than water, as S waves are in wet rocks",
        f"give the file of P velocities; {p.source or 'vp'} looks like vs (P waves are 1.6 to 3 times faster)",
        share=share,
        median=float(np.median(below)),
    )


def _sea_bottom(values: NDArray[np.float64]) -> int | None:
    """Return the first row in which rock is met in a model that begins with water; None when it does not."""
    water = (values >= WATER[0]) & (values <= WATER[1])
    rows = water.mean(axis=tuple(range(values.ndim - 1)))
    if rows[0] < 0.9 or (rows > 0.99).all():
        return None
    return int(np.argmax(rows < 0.99))


def _zeros_on_top(
    context: Context, p: Parameter, values: NDArray[np.float64], strides: tuple[int, ...]
) -> Iterator[Finding]:
    """Yield what zeros at the top of a model say: water, which has no S waves, air above the ground, or a gap.

    Values below tell S waves from P waves. Sources on the ground, where the zeros end, tell air from water.
    """
    zero = values <= 0
    top = float(zero[..., 0].mean())
    # from the top down without gaps
    layered = bool((np.diff(zero.astype(np.int8), axis=-1) <= 0).all())
    rest = values[~zero]
    if not (top > 0.2 and layered and rest.size and rest.min() > 50):
        return
    near = ~zero & (np.cumsum(~zero, axis=-1) * strides[-1] * p.grid.spacing[-1] <= WET)  # type: ignore[union-attr]
    slow = float((values[near if near.any() else ~zero] < SLOWEST_WET).mean())
    where = f"vp is 0 from the top down in {top:.0%} of the columns, {rest.min():.4g} to {rest.max():.4g} m/s below"
    ground = _sources_on_ground(context, p, zero, strides)
    if slow > 0.5 and not ground:
        yield error(
            "E427",
            f"{where}: shear velocities, of which water has none",
            f"give the file of P velocities instead of {p.source or 'vp'}",
            top=top,
            slow=slow,
        )
        return
    air = (
        "fill the nodes above the ground with the velocity of the ground below them; with [propagation.topography] the "
        "ground is the free surface, and values above it do not count"
    )
    if ground:
        what, cure = f"air: {ground}", air
    else:
        what = "null values, of air above the ground or of water"
        cure = f"over water, fill them with 1500 m/s; over land, {air}"
    yield error("E428", f"{where}: {what}", cure, top=top, slow=slow)


def _sources_on_ground(
    context: Context, p: Parameter, zero: NDArray[np.bool_], strides: tuple[int, ...]
) -> str:
    """Return words on sources that lie where zeros end; nothing when they do not, or cannot be compared."""
    survey, grid = context.survey, p.grid
    if survey is None or grid is None or not survey.shots or survey.ndim != grid.ndim:
        return ""
    steps = [h * s for h, s in zip(grid.spacing, strides, strict=True)]
    src = np.stack([s.src for s in survey.shots])[:, [0, 2] if grid.ndim == 2 else [0, 1, 2]]
    index = np.round((src[:, :-1] - np.array(grid.origin[:-1])) / steps[:-1]).astype(np.int64)
    inside = ((index >= 0) & (index < np.array(zero.shape[:-1]))).all(axis=1)
    if not inside.any():
        return ""
    depth = grid.origin[-1] + steps[-1] * zero.sum(axis=-1)[tuple(index[inside].T)]
    # a station stands within two nodes of where rock begins, or in a hole below
    away = src[inside, -1] - depth
    near = (away >= -2 * steps[-1]) & (away <= max(4 * steps[-1], 50.0))
    uneven = float(np.ptp(zero.sum(axis=-1))) > 0
    if near.mean() < 0.8 or (not uneven and float(depth.max()) <= grid.origin[-1] + 2 * steps[-1]):
        return ""
    return f"{near.mean():.0%} of the sources stand where the zeros end"


@rule("model_kind", "parameters", "survey")
def sampled_like_the_records(context: Context) -> Iterator[Finding]:
    """A model whose last axis has the samples of the records: milliseconds taken for metres."""
    assert context.survey is not None
    p, time = context.parameters.get("vp"), context.survey.time
    if p is None or p.grid is None or context.resampling:
        return
    depth, n = p.grid.spacing[-1], p.grid.shape[-1]
    if n == time.nt and abs(depth - 1e3 * time.dt) < 1e-6 * depth and n > 100:
        yield warning(
            "W431",
            f"the last axis of vp has {n} samples every {depth:g} m, the records {time.nt} every {1e3 * time.dt:g} ms: "
            "a velocity in time, with milliseconds taken for metres?",
            "convert the model to depth first; nothing to do if it is in depth",
            samples=n,
        )


@rule("model_kind", "parameters")
def exchanged_thomsen(context: Context) -> Iterator[Finding]:
    """Delta above epsilon almost everywhere, and never below: exchanged files, or eta given for epsilon."""
    epsilon, delta = (context.parameters.get(n) for n in ("epsilon", "delta"))
    if epsilon is None or delta is None or epsilon.grid is None or delta.grid is None:
        return
    if epsilon.grid.shape != delta.grid.shape or epsilon.summary.bad or delta.summary.bad:
        return
    e, d = (thinned(p.volume)[0] for p in (epsilon, delta))
    some = (e != 0) | (d != 0)
    over, under = (d - e > 1e-4)[some], (e - d > 1e-4)[some]
    above = some.sum() >= 100 and over.mean() >= 0.6 and under.mean() <= 0.02
    eta = _named_eta(epsilon.source)
    if not above and not eta:
        return
    size = some & (d > 1e-3)
    part = float(np.median(e[size] / d[size])) if size.any() else 0.0
    what = f"delta exceeds epsilon at {over.mean():.0%} of the anisotropic nodes and is smaller at {under.mean():.0%}"
    files = f"{epsilon.source or 'eta'} and {delta.source or 'delta'}"
    computed = f"epsilon = (1 + 2 delta) eta + delta, computed from {files}"
    exchanged = "delta" in epsilon.source.lower() and "eps" in delta.source.lower()
    if eta:
        said = f"{epsilon.source} is given for epsilon and named as one of eta"
        cure = f"if it holds eta, give {computed}"
    elif exchanged or part < HALF:
        said = f"{what}: they look exchanged" + ", as the names of the files say" * exchanged
        cure = f"if they are: [model] {_tables_exchanged(epsilon, delta)}"
        if not exchanged:
            cure += f"; if it is eta that is given for epsilon: {computed}"
    else:
        said = (
            f"{what}, by little ({part:.0%} of it in the middle): eta given for epsilon, or the two exchanged"
        )
        cure = f"look what the files hold; of eta, give {computed}"
    yield warning("W429", said, cure, over=float(over.mean()), part=part)


def _named_eta(source: str) -> bool:
    """Return whether a file is named as one of eta, the anellipticity."""
    return re.search(r"(^|[^a-z])eta([^a-z]|$)", source.lower().rpartition("/")[2]) is not None


def _tables_exchanged(epsilon: Parameter, delta: Parameter) -> str:
    """Return the tables of the job with the two files exchanged."""
    swapped = {"file": delta.source} | delta.given, {"file": epsilon.source} | epsilon.given
    return "; ".join(
        Parameter(n, 0.0, given=g).table(file=g["file"])
        for n, g in zip(("epsilon", "delta"), swapped, strict=True)
    )
