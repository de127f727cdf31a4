"""Where a recorded 2-D line lies on the map, and whether anything says where the model's x = 0 is on it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.line import AXIS, BESIDE, GIVEN, JOB, MAP_X, NOBODY, RUN, described, heading
from subsalt.check.context import Context, error, ok, rule, warning
from subsalt.earth.grid import Frame, Grid
from subsalt.earth.planes import Parameter, slabs
from subsalt.errors import Finding
from subsalt.io.scan.traces import GAP_LENGTH

#: values of a model that differ by less along x are one: what float32 rounds
SAME = 1e-6
#: part by which a projection may shorten a line before its offsets are wrong: 8 degrees
SHORTENED = 0.01
#: part of its length by which a line may lie off local x
ASIDE = 0.02

_WHY = {
    JOB: "as [data] frame says",
    GIVEN: "as the model file says",
    RUN: "as in the run directory",
    MAP_X: "since the line runs along map x",
    AXIS: "as [data] line says",
    NOBODY: "the end of the line, since the model varies with depth alone",
}


def line_of(context: Context) -> dict[str, Any]:
    """Return the facts of a recorded line on a 2-D model (`acquisition.line.line_facts`), empty when it is none."""
    survey, model = context.survey, context.model
    if survey is None or model is None or context.modelling or survey.ndim != 2 or model.grid.ndim != 2:
        return {}
    line = survey.notes.get("line")
    return line if isinstance(line, dict) and "says" in line else {}


@rule("line", "model", "survey")
def origin_of_line(context: Context) -> Iterator[Finding]:
    """A line and a model that varies along x, and nothing that ties one to the other."""
    line = line_of(context)
    if not line:
        return
    context.facts["line"] = {k: v for k, v in line.items() if k != "stations"}
    varying = [p.source for p in context.parameters.values() if varies_along_x(p)] if _unsaid(line) else []
    if varying:
        context.facts["_line_unplaced"] = True
        yield error(
            "E342",
            f"the place of the model's x = 0 on the line is not known: the line runs {described(line)}, and the "
            f"model varies along x ({', '.join(dict.fromkeys(varying))})",
            _origins(context, line),
            start=line["start"],
            end=line["end"],
        )
        return
    x0, y0 = line["origin"]
    if line["says"] == MAP_X:
        yield ok(f"line {described(line)}; x of the model is map x")
        return
    yield ok(
        f"line {described(line)}; x = 0 at ({x0:.2f}, {y0:.2f}), x runs {heading(line['azimuth_deg'])}, "
        f"{_WHY[line['says']]}"
    )


def _unsaid(line: dict[str, Any]) -> bool:
    return bool(line["says"] == NOBODY)


def varies_along_x(parameter: Parameter) -> bool:
    """Return whether the volume of a file has columns that differ; reads it up to the first one that does."""
    if parameter.grid is None:
        return False
    first: NDArray[Any] | None = None
    for _, part in slabs(parameter.volume):
        values = part.astype(np.float64)
        first = values[:1] if first is None else first
        if not np.allclose(values, first, rtol=SAME, atol=0.0, equal_nan=True):
            return True
    return False


def _origins(context: Context, line: dict[str, Any]) -> str:
    """Return the ways to say where x = 0 lies: those that put the line on the model, when any does."""
    assert context.model is not None
    grid, ends = context.model.grid, np.array([line["start"], line["end"]])
    candidates = [
        (f"[data] {frame_key(frame)} ({what})", _along(frame, ends))
        for frame, what in frames_along(ends, grid.origin[0])
    ]
    candidates += [
        (f'[data] line = "{name}" (x of the model is map {name})', ends[:, i])
        for i, name in enumerate("xy")
        # along the other axis of the map the line would shrink to a point
        if abs(ends[1, i] - ends[0, i]) >= (1.0 - SHORTENED) * line["length_m"]
    ]
    good = [text for text, x in candidates if _inside(x, grid)]
    swap = exchanged(context, line)
    return (
        (f"x and y look exchanged: {swap} puts the line along x and on the model; else " if swap else "")
        + "say it with one of: "
        + "; or ".join(good or [text for text, _ in candidates[:2]])
        + "; or give a model with map coordinates (SEG-Y with CDP x and y in bytes 181 and 185, RSF with frame_x0, "
        "frame_y0, frame_azimuth, or an export of one)"
        + ("" if good else f"; the line is {line['length_m']:.6g} m long, the model {_span(grid):.6g} m")
    )


def frames_along(ends: NDArray[np.float64], first: float = 0.0) -> Iterator[tuple[Frame, str]]:
    """Yield frames along a line (2, 2) with x = 0, or the point `first` of a model, at either end; each in words."""
    for (a, b), end, way in (
        (ends, "first shots", "in the direction of shooting"),
        (ends[::-1], "last shots", "against the direction of shooting"),
    ):
        azimuth = math.atan2(b[1] - a[1], b[0] - a[0])
        yield Frame(float(a[0]), float(a[1]), azimuth), f"x = 0 at the end of the {end}, x grows {way}"
        if first != 0.0:
            x, y = Frame(float(a[0]), float(a[1]), azimuth).to_world(np.array([[-first, 0.0, 0.0]]))[0, :2]
            there = Frame(float(x), float(y), azimuth)
            yield there, f"the model begins at the end of the {end}, x grows {way}"


def frame_key(frame: Frame) -> str:
    """Return the key of `[data]` that gives a frame."""
    x0, y0 = (round(v, 3) + 0.0 for v in (frame.x0, frame.y0))
    return f"frame = {{x0 = {x0:.12g}, y0 = {y0:.12g}, azimuth = {math.degrees(frame.azimuth):.10g}}}"


def _along(frame: Frame, ends: NDArray[np.float64]) -> NDArray[np.float64]:
    return frame.to_local(np.column_stack([ends, np.zeros(2)]))[:, 0]


def _span(grid: Grid) -> float:
    return grid.last[0] - grid.origin[0]


def _inside(x: NDArray[np.float64], grid: Grid) -> bool:
    """Return whether both ends of a line lie on the model."""
    slack = 1e-3 * grid.spacing[0]
    return bool(x.min() >= grid.origin[0] - slack and x.max() <= grid.last[0] + slack)


def exchanged(context: Context, line: dict[str, Any]) -> str:
    """Return the cure of exchanged axes when exchanging them puts the line along local x and on the model."""
    assert context.survey is not None
    assert context.model is not None
    ends = np.array([line["start"], line["end"]])
    frame = Frame() if _unsaid(line) or line["says"] in (MAP_X, AXIS) else context.survey.frame
    local = frame.to_local(np.column_stack([ends[:, ::-1], np.zeros(2)]))
    turned = abs(float(local[1, 1] - local[0, 1]))
    # without a frame any y will do, but the line has to run along map x
    aside = turned if frame == Frame() else float(np.abs(local[:, 1]).max())
    limit = BESIDE * context.model.grid.spacing[0] if frame == Frame() else ASIDE * line["length_m"]
    if aside > limit or not _inside(local[:, 0], context.model.grid):
        return ""
    return exchange_key(context)


def exchange_key(context: Context) -> str:
    """Return what exchanges x and y of a survey."""
    assert context.survey is not None
    if context.modelling:
        return "exchange x and y in [acquisition]"
    if context.survey.notes.get("positions") == "tables":
        return "exchange the columns sx and sy, gx and gy of [data.geometry]"
    return f"[data.fix] swap_xy = {'false' if context.survey.notes.get('swap_xy') else 'true'}"


def model_axes_key(context: Context) -> str:
    """Return what exchanges x and y of a 3-D model; empty where the job says spacing or origin, or no file does."""
    volumes = [p for p in context.parameters.values() if p.grid is not None and p.grid.ndim == 3]
    if (
        not volumes
        or context.resampling
        or any(p.given.get(k) for p in volumes for k in ("spacing", "origin"))
    ):
        return ""
    exchange = str.maketrans("xy", "yx")
    tables = [p.table(axes=str(p.given.get("axes") or "xyz").translate(exchange)) for p in volumes]
    return f"[model] {'; '.join(tables)}"


def exchanged_in_3d(context: Context, survey: bool = True) -> str:
    """Return the cure of x and y that are exchanged in a model or in a `survey`; words where nothing tells in which.

    The two give the same image, except that one is turned over. Bins in addition to the coordinates decide.
    """
    axes = model_axes_key(context)
    swap = exchange_key(context) if survey else ""
    if not axes or context.modelling:
        return f"{swap}; or, if they are in the model: {axes}" if swap and axes else swap or axes
    if getattr(context.scan, "bins_confirm", False):
        return f"{axes}, for bins (bytes 181, 185) lie where the coordinates are, unless they are exchanged as well"
    return (
        "in the coordinates ([data.fix] swap_xy, or the columns of [data.geometry]) or in the model ([model] axes): "
        "one is as likely as the other, and the image of one is that of the other turned over. Compare the map with "
        "the plan of the survey, and exchange them where they are wrong"
    )


@rule("line", "model", "survey")
def line_beside_x(context: Context) -> Iterator[Finding]:
    """A line that is projected on a local x axis that lies elsewhere."""
    line = line_of(context)
    if not line or context.facts.get("_line_unplaced") or _unsaid(line):
        return
    assert context.survey is not None
    local = context.survey.frame.to_local(np.column_stack([[line["start"], line["end"]], np.zeros(2)]))
    (ax, ay), (bx, by) = local[:, :2]
    length = math.hypot(bx - ax, by - ay)
    if length == 0:
        return
    nearest = 0.0 if ay * by < 0 else min(abs(ay), abs(by))
    farthest = max(abs(ay), abs(by))
    cosine = abs(bx - ax) / length
    if farthest <= ASIDE * length:
        return
    where = (
        f"the line runs {described(line)}; local x, {_WHY[line['says']]}, runs {heading(line['azimuth_deg'])} from "
        f"({line['origin'][0]:.2f}, {line['origin'][1]:.2f}): the line is turned by "
        f"{math.degrees(math.acos(min(1.0, cosine))):.3g} degrees relative to local x and lies {nearest:.6g} "
        f"to {farthest:.6g} m away from it"
    )
    cure = exchanged(context, line)
    cure = f"x and y look exchanged: {cure} puts the line on the model" if cure else _own_frame(context, line)
    wrong = (cosine < 1.0 - SHORTENED or nearest > length) and line["says"] != RUN
    if wrong:
        context.facts["_line_unplaced"] = True
        yield error("E343", where, cure, beside=farthest, cosine=cosine)
    elif any(varies_along_x(p) for p in context.parameters.values()):
        # a model of depth alone is the same beside the line
        yield warning("W342", where, cure, beside=farthest, cosine=cosine)


def _own_frame(context: Context, line: dict[str, Any]) -> str:
    """Return the frame along the line itself that keeps local x as far as it goes."""
    assert context.survey is not None
    assert context.model is not None
    frame, ends = context.survey.frame, np.array([line["start"], line["end"]])
    x = _along(frame, ends)
    if x[1] < x[0]:
        ends, x = ends[::-1], x[::-1]
    (ax, ay), (bx, by) = ends
    azimuth = math.atan2(by - ay, bx - ax)
    start = x[0] if _inside(x, context.model.grid) else context.model.grid.origin[0]
    x0, y0 = Frame(float(ax), float(ay), azimuth).to_world(np.array([[-start, 0.0, 0.0]]))[0, :2]
    own = Frame(float(x0), float(y0), azimuth)
    if frame != Frame() and abs(float(frame.to_local(np.array([[ax, ay, 0.0]]))[0, 1])) > GAP_LENGTH:
        # so far from the place that the job gives, where on the line the model begins is a guess
        return (
            "stations and frame must be of one map zone and datum: project the stations to that of the frame"
        )
    return f"check the frame; if the model lies along the line: [data] {frame_key(own)}"
