"""Depths of sources and receivers against the model: land above it, the other sign, and what lies on a free surface."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.check.context import (
    Context,
    Points,
    SampledShot,
    SurveyExtent,
    error,
    layout_of,
    leave_out,
    named,
    rule,
    warning,
    with_origin,
)
from subsalt.errors import Finding
from subsalt.io.scan.cures import DEEPEST
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import ScannedFile, positions

#: m by which surfaces of land may lie below sea level
LOWEST_LAND = 100.0


@rule("depths", "model", "survey")
def depths(context: Context) -> Iterator[Finding]:
    """Sources or receivers above the surface or below the model."""
    lay = layout_of(context)
    whole = _model_elsewhere(lay, context) or _land(lay, context)
    if whole is not None:
        yield whole
        return
    top, bottom = float(lay.low[2]), float(lay.high[2])
    for code, name, points, key in (
        ("E333", "sources", lay.src, "source_depth"),
        ("E334", "receivers", lay.rcv, "receiver_depth"),
    ):
        above = points[:, 2] < top - lay.slack[2]
        if above.any():
            highest = float(points[:, 2].min())
            mirrored = bool((-points[above, 2] <= bottom).all() and (-points[above, 2] >= top).all())
            cure = _other_sign(lay, points[above], name, context) if mirrored else ""
            yield error(
                code,
                f"{int(above.sum())} of {len(points)} {name} lie above the surface of the model, "
                f"up to {top - highest:.4g} m (z = {highest:.4g}, the model begins at {top:.4g})",
                f"{cure}[data.fix] {key} = ..., or begin the model higher",
                count=int(above.sum()),
            )
        below = points[:, 2] > bottom + lay.slack[2]
        if below.any():
            deepest = float(points[:, 2].max())
            yield error(
                "E335",
                f"{int(below.sum())} of {len(points)} {name} lie below the model (z up to {deepest:.4g}, "
                f"the model ends at {bottom:.4g})",
                _downward(lay, context) or _depth_scalar(deepest, bottom, context) + "extend the model",
                count=int(below.sum()),
            )


def _model_elsewhere(lay: SurveyExtent, context: Context) -> Finding | None:
    """Return the finding on a model in whose range of depths not one position lies."""
    both = np.concatenate([lay.src, lay.rcv])[:, 2]
    top, bottom = float(lay.low[2]), float(lay.high[2])
    vp = context.parameters.get("vp")
    if vp is None or vp.grid is None or context.resampling or not top or not len(both):
        return None
    if ((both >= top).any() and (both <= bottom).any()) or both.min() < 0 or both.max() > bottom - top:
        return None
    origin = [*vp.grid.origin[:-1], 0.0]
    return error(
        "E318",
        f"the model spans depths from {top:.6g} to {bottom:.6g} m, sources and receivers lie at {both.min():.4g} to "
        f"{both.max():.4g} m: none of {len(both)} is inside",
        f"if its origin is wrong: {with_origin(context, origin)}; else give depths that count from where those of "
        "the model do",
        top=top,
        bottom=bottom,
    )


# ---- land


@dataclass(frozen=True)
class _Headers:
    """Levels of the sources of some traces: z of the ground (byte 45) and of depths alone (byte 49), m, (n,) each."""

    ground: NDArray[np.float64]
    depth: NDArray[np.float64]


def _headers(context: Context) -> _Headers | None:
    """Return the levels that the headers have; None where positions are from elsewhere, or none are."""
    stations: list[ScannedFile] = getattr(context.scan, "stations", None) or []
    notes = context.survey.notes if context.survey is not None else {}
    if not stations or notes.get("positions") == "tables" or context.scan.fix.source_depth is not None:
        return None
    fix: Fix = context.scan.fix
    ground: list[NDArray[np.float64]] = []
    depth: list[NDArray[np.float64]] = []
    for s in stations:
        zero = np.zeros(s.layout.n_traces)
        for name, out in (("source_depth", ground), ("source_elevation", depth)):
            alone = {k: v for k, v in s.values.items() if not k.endswith(name)} | {name: zero}
            out.append(positions(alone, s.layout, fix).src[s.live, 2])
    return _Headers(np.concatenate(ground), np.concatenate(depth))


def _land(lay: SurveyExtent, context: Context) -> Finding | None:
    """Return the finding on a survey on land that stands above the model, sources with their receivers."""
    height = _height_of_land(lay, context)
    if height is None:
        return None
    top = float(lay.low[2])
    both = np.concatenate([lay.src, lay.rcv])[:, 2]
    above = int((both < top - lay.slack[2]).sum())
    low, high = -float(both.max()), -float(both.min())
    return error(
        "E337",
        f"{above} of {len(both)} sources and receivers stand above the model, which begins at z = {top:.4g} m: they "
        f"lie at elevations from {low:.4g} to {high:.4g} m (bytes 41, 45 less the depth in byte 49), sources and the "
        "receivers beside them on one ground, as on land; depths of the model have to count from where elevations do",
        f"if the model begins at the ground: {_raised(context, height)}; if it begins at another elevation, give that "
        "as its origin: z = minus the elevation; if it begins above the ground, with a free surface at that: "
        "[propagation.topography] radius and datum, the elevation at depth 0 (docs/howto/land.md)",
        highest=high,
        lowest=low,
        top=top,
    )


def _height_of_land(lay: SurveyExtent, context: Context) -> float | None:
    """Return the height (m above z = 0) of the highest station of a survey on land above the model; else None.

    Sources on land lie at the level of the receivers next to them, or as far below as charges do. At sea, receivers of
    the wrong sign stand as high as cables are deep: there the words of the ground (byte 45) tell land from water.
    """
    top = float(lay.low[2])
    if context.modelling or context.propagation.topography is not None or not len(lay.rcv):
        return None
    if not ((lay.src[:, 2] < top).any() and (lay.rcv[:, 2] < top).any()):
        return None
    assert context.survey is not None
    beside = []
    for shot in context.survey.shots:
        if len(shot.rcv):
            near = int(np.argmin(np.hypot(*(shot.rcv[:, :2] - shot.src[:2]).T)))
            beside.append(abs(float(shot.rcv[near, 2] - shot.src[2])))
    if not beside or float(np.median(beside)) > DEEPEST:
        return None
    height = -float(min(lay.src[:, 2].min(), lay.rcv[:, 2].min()))
    words = _headers(context)
    grounds = words is not None and bool(words.ground.any()) and float(np.median(words.depth)) >= 0
    if grounds and words is not None:
        # the model begins at the ground, not at what is buried in it
        height = max(height, -float(words.ground.min()))
    return height if grounds or height + top > DEEPEST else None


def _raised(context: Context, height: float) -> str:
    """Return the keys with which a model begins at an elevation, m."""
    top = -round(height, 3)
    texts = []
    volumes = [p for p in context.parameters.values() if p.grid is not None]
    profiles = [p for p in context.parameters.values() if p.depths is not None]
    for p in volumes:
        assert p.grid is not None
        texts.append(p.table(origin=[*p.grid.origin[:-1], top]))
    for p in profiles:
        assert p.depths is not None
        z, value = ([round(float(v), 6) for v in np.atleast_1d(a)] for a in (p.depths + top, p.values))
        texts.append(f"{p.name} = {{z = {json.dumps(z)}, value = {json.dumps(value)}}}")
    keys = f"[model] {'; '.join(texts)}" if texts else ""
    if not context.resampling and volumes:
        return keys
    assert context.model is not None
    origin = [*(float(v) for v in context.model.grid.origin[:-1]), top]
    return f"{keys}{', ' * bool(keys)}[grid] origin = {json.dumps(origin)}"


@rule("depths", "model", "survey")
def land_below_the_sea(context: Context) -> Iterator[Finding]:
    """A ground (byte 45) far below sea level, as no land is: elevations with the wrong sign."""
    if context.modelling or context.propagation.topography is not None:
        return
    words = _headers(context)
    if words is None or not len(words.ground) or float(words.ground.min()) <= LOWEST_LAND:
        return
    lay = layout_of(context)
    top, height = float(lay.low[2]), float(words.ground.max())
    # W391 says it of a model that begins where the other sign puts the stations, E335 of one that ends above them
    if -height > top - lay.slack[2] or float(lay.rcv[:, 2].max(initial=0.0)) > lay.high[2]:
        return
    yield warning(
        "W396",
        f"the ground at the sources lies {words.ground.min():.4g} to {height:.4g} m below z = 0 (elevation, byte 45, "
        f"negative) and {float(words.ground.min()) - top:.4g} m below the top of the model: no land is as low",
        f"if elevations are written with the wrong sign, and the model begins at the ground: [data.fix] z_sign = -1, "
        f"{_raised(context, height)}; if they are right, nothing is to be done",
        ground=[float(words.ground.min()), height],
    )


# ---- signs


def _other_sign(lay: SurveyExtent, above: Points, name: str, context: Context) -> str:
    """Return the cure of depths with the other sign, which would lie inside."""
    levels = np.unique(np.round(-above[:, 2], 2))
    if name == "receivers":
        sign = "if elevations are depths, positive down: [data.fix] z_sign = -1; or "
        one = len(np.unique(np.round(lay.src[:, 2], 2))) == 1 and not context.modelling
        if float(levels.max()) <= DEEPEST or not one or context.propagation.topography is not None:
            return sign
        # receivers on a mountain whose sources have no elevation, or nodes on the sea floor
        ground = -float(np.median(above[:, 2]))
        down = float(lay.src[0, 2])
        return (
            f"if these are nodes on the sea floor and elevations their depths: [data.fix] z_sign = -1; if this is land "
            f"and the elevation of the sources (byte 45) is missing: [data.fix] source_depth = {down - ground:g}, "
            f"{_raised(context, float(levels.max()))}; or "
        )
    if context.modelling or len(levels) != 1:
        return ""
    if levels[0] > DEEPEST:
        words = _headers(context)
        depth = float(np.median(words.depth)) if words is not None else -1.0
        if 0 <= depth <= DEEPEST:
            return (
                f"if their depths count from where receivers stand: [data.fix] source_depth = {depth:g}; or "
            )
        return ""
    return f"if depths are negative there: [data.fix] source_depth = {levels[0]:g}; or "


def _downward(lay: SurveyExtent, context: Context) -> str:
    """Return the cure of elevations whose other sign puts all stations at the top of the model; else empty."""
    both = -np.concatenate([lay.src, lay.rcv])[:, 2]
    top, bottom = float(lay.low[2]), float(lay.high[2])
    inside = ((both >= top - lay.slack[2]) & (both <= top + 0.5 * (bottom - top))).all()
    if context.modelling or not len(both) or not inside:
        return ""
    return "if elevations are written downward: [data.fix] z_sign = -1; else extend the model"


def _depth_scalar(deepest: float, bottom: float, context: Context) -> str:
    """Return the elevation scalar that brings what lies below the model into its upper half, if one does."""
    powers = [p for p in (10, 100, 1000) if deepest / p < 0.5 * bottom]
    if context.modelling or not powers:
        return ""
    return (
        f"if the elevation scalar (byte 69) is forgotten: [data.fix] elevation_scalar = {-powers[0]}; else "
    )


# ---- at the surface


@rule("depths", "model", "survey")
def on_the_free_surface(context: Context) -> Iterator[Finding]:
    """Sources or receivers exactly on a free surface, where pressure is zero."""
    if not context.propagation.free_surface or context.propagation.topography is not None:
        return
    assert context.model is not None
    lay = layout_of(context)
    grid = context.model.grid
    for name, points, ids in (("sources", lay.src, lay.shot_ids), ("receivers", lay.rcv, lay.rcv_shot)):
        on = np.abs(points[:, 2] - grid.origin[-1]) < 0.01 * grid.spacing[-1]
        if on.any():
            # some may be a slip of one header; all of them make an image of zeros
            say = (error, "E336") if on.all() else (warning, "W336")
            yield say[0](
                say[1],
                f"{int(on.sum())} of {len(points)} {name} lie on the free surface at depth 0, where pressure is "
                f"always zero ({named(context, _shots(context, ids[on]))})",
                _depth_of_the_others(points[~on], name, context)
                + "give them a depth, or set [propagation] free_surface = false",
                count=int(on.sum()),
            )


def _shots(context: Context, ids: NDArray[np.int64]) -> list[SampledShot]:
    """Return the shots of these numbers, as messages name them."""
    assert context.survey is not None
    none, wanted = np.empty((0, 0), np.float32), set(ids.tolist())
    return [SampledShot(s, none) for s in context.survey.shots if s.id in wanted]


def _depth_of_the_others(others: Points, name: str, context: Context) -> str:
    """Return the key that gives all sources or receivers the depth of the others; empty when they have several."""
    depths = np.unique(np.round(others[:, 2], 2))
    if context.modelling or len(depths) != 1:
        return ""
    return f"if they lie where the others do: [data.fix] {name[:-1]}_depth = {depths[0]:g}; else "


@rule("depths", "model", "survey")
def sign_of_elevations(context: Context) -> Iterator[Finding]:
    """Receivers as far below the datum as the surface is above it: elevations that count downward."""
    if context.modelling:
        return
    assert context.model is not None
    assert context.survey is not None
    lay = layout_of(context)
    top, bottom, cell = float(lay.low[2]), float(lay.high[2]), context.model.grid.spacing[-1]
    whole = [s for s in context.survey.shots if len(s.rcv)]
    z = np.array([float(np.median(s.rcv[:, 2])) for s in whole])
    # from the top of the model, as read and with the other sign; a surface that the model was cut along is its top
    below, mirrored = z - top, -z - top
    wrong = (z > 0) & (mirrored > -cell) & (z < bottom) & (below > 4 * np.maximum(mirrored, cell))
    if not wrong.any():
        return
    every = bool(wrong.all())
    if not every and ((mirrored[wrong] > below[~wrong].max() + cell).any() or wrong.sum() > 0.2 * len(z)):
        return
    shots = [SampledShot(s, np.empty((0, 0), np.float32)) for s, w in zip(whole, wrong, strict=True) if w]
    yield warning(
        "W391",
        f"receivers of {'all' if every else f'{len(shots)} of {len(z)}'} shots ({named(context, shots)}) lie "
        f"{float(np.median(below[wrong])):.4g} m below the top of the model (z = {float(np.median(z[wrong])):.4g}, the "
        f"model begins at {top:.4g}); with the other sign of their elevations (byte 41) they lie "
        f"{float(np.median(mirrored[wrong])):.4g} m below it, "
        + ("at the surface" if every else "as those of the other shots do"),
        "if elevations are written downward: [data.fix] z_sign = -1; if the depth is right, nothing is to be done"
        if every
        else leave_out(context, shots),
        shots=[s.shot.id for s in shots][:50],
    )
