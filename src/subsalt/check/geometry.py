"""Where sources and receivers stand on the model."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from subsalt.acquisition.line import AXIS, MAP_X, NOBODY, bent, fit_stations, to_local
from subsalt.acquisition.reciprocity import fewer_gathers, of_pressure
from subsalt.acquisition.survey import Survey
from subsalt.check.cable import reversed_cable
from subsalt.check.context import (
    Context,
    Points,
    SurveyExtent,
    error,
    layout_of,
    ok,
    rule,
    warning,
    with_origin,
)
from subsalt.check.line import (
    SHORTENED,
    exchange_key,
    exchanged,
    exchanged_in_3d,
    line_of,
    model_axes_key,
    varies_along_x,
)
from subsalt.check.turned import along_the_lines
from subsalt.check.units import FOOT
from subsalt.earth.grid import Frame
from subsalt.errors import Finding
from subsalt.io.geometry.join import described
from subsalt.io.scan import cures
from subsalt.io.scan.traces import GAP_LENGTH
from subsalt.io.segy.exclude import leave_out, spans
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import ScannedFile
from subsalt.io.segy.reading import TraceReader


def fewer_runs(survey: Survey) -> Iterator[Finding]:
    """Yield what a recorded survey would gain by common-receiver gathers, where it has few receivers of pressure."""
    n = fewer_gathers(survey) if of_pressure(survey) and "gathers" not in survey.notes else None
    if n is not None:
        shots = len(survey.shots)
        yield Finding(
            "W370",
            "ok",
            f"{n} receivers heard {shots} shots: {n} common-receiver gathers would do instead of {shots} runs, by "
            "reciprocity of pressure",
            '[data] gathers = "receiver"',
            {"receivers": n, "shots": shots},
        )


#: factors that correct coordinates whose scalar was forgotten, or applied twice
POWERS = (10.0, 0.1, 0.01, 0.001)


@rule("geometry", "survey")
def joined_positions(context: Context) -> Iterator[Finding]:
    """Report the positions that were joined from separate files."""
    assert context.survey is not None
    facts = context.survey.notes.get("geometry")
    if isinstance(facts, dict):
        context.facts["geometry"] = facts
        yield ok(described(facts), **facts)


@rule("geometry", "survey")
def gathers(context: Context) -> Iterator[Finding]:
    """Common-receiver gathers that are migrated, or would take fewer runs."""
    assert context.survey is not None
    counts = context.survey.notes.get("gathers")
    if isinstance(counts, dict):
        yield ok(
            f"{counts['receivers']} common-receiver gathers of {counts['shots']} shots, by reciprocity: a source at "
            "each receiver, receivers at the sources",
            **counts,
        )
    elif not context.modelling:
        yield from fewer_runs(context.survey)


@rule("geometry", "model", "survey")
def same_dimension(context: Context) -> Iterator[Finding]:
    """A line on a volume, or an areal survey on a section."""
    assert context.model is not None
    assert context.survey is not None
    ndim = context.model.grid.ndim
    if context.facts.get("_upright"):
        return  # y is no place
    if ndim != context.survey.ndim:
        cure = (
            '[data] line = "2d" projects the survey on its best line'
            if ndim == 2
            else "to image in 2-D: save the section of the model below the line as a 2-D file (in NumPy vp[:, j, :], "
            "for the y of the line) and name it in [model]; to compute 3-D waves on the whole model instead: "
            '[data] line = "3d"'
        )
        survey = context.survey
        both = np.concatenate([p for s in survey.shots for p in (s.src[None], s.rcv)])
        fit = bent(both) if survey.ndim == 3 else None
        what = (
            f"the survey is a crooked line of {fit.length:.5g} m, stations up to {fit.misfit_max:.4g} m beside the "
            "straight one"
            if fit is not None
            else f"the survey is {survey.ndim}-D"
        )
        yield error("E329", f"the model is {ndim}-D, {what}", cure)


@rule("geometry", "model", "survey")
def overlap(context: Context) -> Iterator[Finding]:
    """Survey and model in different frames: not one position lies on the model."""
    lay = layout_of(context)
    both = np.concatenate([lay.src, lay.rcv])
    if lay.inside_share(both) > 0 or context.facts.get("_line_unplaced"):
        return
    centre = (lay.low + lay.high) / 2
    offset = centre - (both.min(axis=0) + both.max(axis=0)) / 2
    where = " and ".join(
        f"{'xy'[i]} {both[:, i].min():.6g} .. {both[:, i].max():.6g} (model {lay.low[i]:.6g} .. "
        f"{lay.high[i]:.6g})"
        for i in lay.axes
    )
    shift = ", ".join(f"{'xyz'[i]} {offset[i]:+.6g} m" for i in lay.axes)
    yield error(
        "E330",
        f"survey and model do not overlap: {where}",
        _exchange(lay, both, context)
        or _guess(lay, both, context)
        or along_the_lines(lay, context)
        or _origin_cure(lay, both, context) + _shift(context, offset, shift),
        offset=[float(offset[i]) for i in lay.axes],
    )


def _origin_cure(lay: SurveyExtent, points: Points, context: Context) -> str:
    """Return the cure of a model whose origin is wrong: one at 0 that holds the survey; empty when it does not."""
    vp = context.parameters.get("vp")
    if vp is None or vp.grid is None or context.resampling or not any(vp.grid.origin):
        return ""
    moved = points + np.where(np.isin(np.arange(3), lay.axes), lay.low, 0.0)
    if lay.inside_share(moved) < 0.99:
        return ""
    origin = [0.0] * (vp.grid.ndim - 1) + [vp.grid.origin[-1]]
    return f"if the origin of the model is wrong: {with_origin(context, origin)}; else "


def _shift(context: Context, offset: Points, shift: str) -> str:
    """Return the cure for two frames: in words, since that their centres belong together is a guess.

    Stations on the map over a model that counts from zero and has no position get the key of that guess as well.
    """
    assert context.survey is not None
    assert context.model is not None
    text = f"say in [data] frame where the survey lies on the model (their centres are {shift} apart)"
    if np.hypot(*offset[:2]) <= GAP_LENGTH:
        return text
    text = f"if they are in two map zones or datums, project one to the other; else {text}"
    old = context.survey.frame
    unsaid = line_of(context).get("says") in (NOBODY, MAP_X, AXIS) or old == Frame()
    if context.modelling or old.flip or not unsaid or any(context.model.grid.origin[:-1]):
        return text
    x0, y0 = old.to_world(-np.array([[offset[0], offset[1], 0.0]]))[0, :2] + 0.0
    turned = f", azimuth = {math.degrees(old.azimuth):.10g}" if old.azimuth else ""
    return f"{text}; if their centres lie at one place: [data] frame = {{x0 = {x0:.10g}, y0 = {y0:.10g}{turned}}}"


def _exchange(lay: SurveyExtent, points: Points, context: Context) -> str:
    """Return the cure of exchanged axes when exchanging them on the map puts the survey on the model."""
    assert context.survey is not None
    if 1 not in lay.axes:
        line = line_of(context)
        cure = exchanged(context, line) if line else ""
    else:
        frame = context.survey.frame
        there = frame.to_local(frame.to_world(points)[:, [1, 0, 2]])
        cure = exchange_key(context) if lay.inside_share(there) == 1.0 else ""
        if lay.inside_share(points[:, [1, 0, 2]]) == 1.0 and model_axes_key(context):
            cure = exchanged_in_3d(context, survey=bool(cure))
    return (
        f"x and y look exchanged, since exchanging them puts the survey on the model: {cure}" if cure else ""
    )


def _guess(lay: SurveyExtent, points: Points, context: Context) -> str:
    """Return the cure of the single mistake that explains all positions outside; else an empty text."""
    if tried := _tried(lay, context):
        return f"if the scalar (byte 71) or the unit is wrong: {tried}"
    stations = getattr(context.scan, "stations", None) or []
    if any(cures.offset_ratio(s) is not None for s in stations):
        return ""  # offsets (byte 37) are a witness against each of them
    factors = {f: _scalar_cure(f * _applied(context)) for f in POWERS}
    factors[FOOT] = 'if coordinates are in feet: [data.fix] unit = "ft"'
    factors[1 / FOOT] = 'if coordinates are in metres already: [data.fix] unit = "m"'
    best, widest = "", 0.05 * float(lay.high[0] - lay.low[0])
    for factor, cure in factors.items():
        scaled = points * np.array([factor, factor, 1.0])
        extent = float(np.ptp(scaled[:, 0])) if len(scaled) else 0.0
        # a factor small enough brings anything near the origin: of those that do, the survey spans most of the
        # model with the right one
        if cure and lay.inside_share(scaled) > 0.99 and extent > widest:
            best, widest = cure, extent
    return best


def _tried(lay: SurveyExtent, context: Context) -> str:
    """Return the scalar or unit that puts the survey on the model, tried on the headers; empty when none does."""
    stations = getattr(context.scan, "stations", None)
    if not stations or context.survey is None:
        return ""
    scan, frame = context.scan, context.survey.frame
    # a line without a given position begins where its stations do, also under another scalar
    loose = context.survey.ndim == 2 and _fitted(stations) == frame

    def good(files: list[ScannedFile], fix: Fix) -> bool:
        both = _stations(files)
        local = to_local(both, _fitted(files) if loose else frame)
        ratios = [r for s in files if (r := cures.offset_ratio(s)) is not None]
        agree = all(0.8 <= r <= 1.25 for r in ratios)
        extent = float(np.ptp(local[:, 0])) if len(local) else 0.0
        widest = 0.05 * float(lay.high[0] - lay.low[0])
        return agree and lay.inside_share(local) > 0.99 and extent > widest

    candidates = [{"scalar": v} for v in cures.SCALARS] + [{"unit": u} for u in ("ft", "m")]
    return cures.cure(stations, scan.fix, candidates, good)


def _fitted(files: list[ScannedFile]) -> Frame:
    """Return the frame that the stations of files give a line."""
    return fit_stations(_ends(files, "src"), _ends(files, "rcv")).frame


def _stations(files: list[ScannedFile]) -> Points:
    """Return the live sources and receivers of files, (n, 3), on the map."""
    return np.concatenate([_ends(files, name) for name in ("src", "rcv")])


def _ends(files: list[ScannedFile], name: str) -> Points:
    """Return the live sources or receivers of files, (n, 3), on the map."""
    return np.concatenate([getattr(s.positions, name)[s.live] for s in files])


def _applied(context: Context) -> float:
    """Return the factor between coordinates in the headers and in metres: scalar and unit together."""
    for facts in context.scan.files if context.scan is not None else ():
        for name in ("source", "receiver"):
            raw, used = (np.abs(facts.boxes[key][:2]).max() for key in (f"{name}_raw", name))
            if raw > 0:
                return float(used / raw)
    return 1.0


def _scalar_cure(factor: float) -> str:
    """Return the scalar that multiplies by `factor`, as the key to set; empty when it is no power of ten."""
    power = round(math.log10(factor)) if factor > 0 else 0
    if factor <= 0 or abs(math.log10(factor) - power) > 1e-3:
        return ""
    return (
        f"if the scalar (byte 71) is wrong: [data.fix] scalar = {10**power if power >= 0 else -(10**-power)}"
    )


@rule("geometry", "model", "survey")
def on_the_model(context: Context) -> Iterator[Finding]:
    """Some sources or receivers beside the model."""
    lay = layout_of(context)
    both = np.concatenate([lay.src, lay.rcv])
    if lay.inside_share(both) == 0 or context.facts.get("_line_unplaced"):
        return
    clean = True
    out = lay.outside(lay.src)
    if out.any():
        clean = False
        yield error(
            "E331",
            f"{int(out.sum())} of {len(out)} sources lie outside the model ({lay.edge(lay.src[out])}); "
            f"first shot {int(lay.shot_ids[out][0])}",
            _guess_outside(lay, both, context) + _without(context, lay),
            count=int(out.sum()),
            shots=lay.shot_ids[out][:20].tolist(),
        )
    out = lay.outside(lay.rcv)
    if out.any():
        clean = False
        shots = np.unique(lay.rcv_shot[out])
        yield error(
            "E332",
            f"{int(out.sum())} of {len(out)} receivers lie outside the model ({lay.edge(lay.rcv[out])}), "
            f"in {len(shots)} shots, first {int(shots[0])}",
            reversed_cable(lay, context) or _guess_outside(lay, both, context) + _without(context, lay),
            count=int(out.sum()),
            shots=shots[:20].tolist(),
        )
    deep = (both[:, 2] < lay.low[2] - lay.slack[2]) | (both[:, 2] > lay.high[2] + lay.slack[2])
    if clean and not deep.any():
        yield ok(f"survey on the model  {len(lay.src)} shots, {len(lay.rcv)} traces, all inside")


def _without(context: Context, lay: SurveyExtent) -> str:
    """Return the cure for stations outside: which traces to leave out, when the survey knows them."""
    assert context.survey is not None
    shots = context.survey.shots
    reader = getattr(context.survey.reader, "inner", context.survey.reader)
    index = [s.trace_index for s in shots]
    source = np.repeat(lay.outside(lay.src), [len(s.rcv) for s in shots])
    beside = lay.outside(lay.rcv)
    out = source | beside
    if beside[~source].mean() > 0.5 if not source.all() else False:
        # most receivers of shots that lie on the model: without them it is another survey
        return "extend the model"
    if not isinstance(reader, TraceReader) or any(i is None for i in index) or out.all():
        return "extend the model, or leave these shots out with [data] shots"
    whole = np.concatenate([np.asarray(i, np.int64) for i in index])
    number = whole[out]
    owner = np.searchsorted(reader.first, number, side="right") - 1
    files: list[tuple[str, list[int] | None]] = []
    for f in np.unique(owner):
        rows = number[owner == f] - reader.first[f] + 1
        every = len(rows) == reader.layouts[f].n_traces
        files.append((reader.layouts[f].path, None if every else rows.tolist()))
    where = "; ".join(path if rows is None else f"{path} traces {spans(rows)}" for path, rows in files[:3])
    more = f"; and of {len(files) - 3} more files" * (len(files) > 3)
    entries = leave_out(files, [layout.path for layout in reader.layouts])
    return f"extend the model, or leave {where}{more} out: {entries}"


def _guess_outside(lay: SurveyExtent, points: Points, context: Context) -> str:
    """Return the guess when it explains clearly more than what is inside now; a model that is too small
    cannot be told from it.
    """
    if context.facts.get("_axes_wrong"):
        return "if axes of the model are exchanged, correct that first; else "
    inside = lay.inside_share(points)
    guess = _exchange(lay, points, context) if inside < (1.0 if 1 in lay.axes else 0.95) else ""
    if not guess and lay.inside_share(lay.src) == 1.0:
        # one mistake in all headers would have moved the sources, too
        return _receivers_alone(lay)
    if inside < 0.5:
        guess = guess or _guess(lay, points, context) or along_the_lines(lay, context)
    return f"{guess}; else " if guess else ""


def _receivers_alone(lay: SurveyExtent) -> str:
    """Return the cure of receivers that are far away while all sources lie on the model; empty when some are near."""
    if not lay.outside(lay.rcv).all():
        return ""
    away = float(np.median(np.abs(lay.rcv[:, 0] - lay.src[0, 0])))
    return (
        f"all sources lie on the model, no receiver does ({away:.4g} m away): their coordinates are of another zone, "
        "unit or place in the headers ([data.bytes] receiver_x, receiver_y), or give them in [data.geometry]; else "
    )


@rule("geometry", "survey")
def empty_shots(context: Context) -> Iterator[Finding]:
    """Shots without a receiver."""
    assert context.survey is not None
    empty = [s.id for s in context.survey.shots if len(s.rcv) == 0]
    if empty:
        yield error(
            "E306",
            f"{len(empty)} shots have no receiver, first {empty[0]}",
            "leave them out with [data] shots",
        )


@rule("geometry", "survey")
def line_misfit(context: Context) -> Iterator[Finding]:
    """A crooked line: positions far from the straight line they are projected on."""
    assert context.survey is not None
    line = context.survey.notes.get("line")
    # from its own best line: where that lies beside local x, W342 says so
    misfit = (
        float(line.get("bend_max_m") or line.get("misfit_max_m") or 0.0) if isinstance(line, dict) else 0.0
    )
    low, high = context.survey.bounds
    length = float(high[0] - low[0])
    if misfit > 0.02 * length and not context.facts.get("_upright") and _harmed(context):
        yield warning(
            "W339",
            f"positions lie up to {misfit:.4g} m beside the line of {length:.5g} m on which they are "
            "projected",
            "image a crooked line in 3-D, or choose a straight part with [data] shots",
            misfit=misfit,
        )


def _harmed(context: Context) -> bool:
    """Return whether projecting stations on a line changes the image: of a model that varies, or by shorter offsets."""
    if any(varies_along_x(p) for p in context.parameters.values()):
        return True
    stations = getattr(context.scan, "stations", None)
    if not stations or context.survey is None or not context.parameters:
        return True
    src, rcv = (_ends(stations, name) for name in ("src", "rcv"))
    true = np.hypot(*(rcv - src)[:, :2].T)
    local = to_local(rcv, context.survey.frame) - to_local(src, context.survey.frame)
    return bool(np.quantile(true - np.abs(local[:, 0]), 0.95) > SHORTENED * float(true.max()))


@rule("geometry", "survey")
def several_cables(context: Context) -> Iterator[Finding]:
    """Streamers beside one another, projected on one line."""
    assert context.survey is not None
    counts = context.survey.notes.get("cables")
    if isinstance(counts, dict):
        yield warning(
            "W245",
            f"the receivers of a shot lie on {counts['cables']} cables beside one another, up to "
            f"{counts['beside_m']:.4g} m from the source across the line; projected on the line, distances are up to "
            f"{counts['short_m']:.4g} m too short",
            'use [data] line = "3d" with a 3-D model, or leave all cables but one out: [data] exclude = '
            '[{channels = "..."}]',
            **counts,
        )
