"""The map of a survey on its model: stations, those outside the model, and the fold.

A map shows outlines, stations, labels of stations outside, and the velocity beneath.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey
from subsalt.earth.grid import Box, Frame, Grid
from subsalt.earth.model_like import ModelLike
from subsalt.earth.planes import Planes
from subsalt.errors import ConfigError
from subsalt.view import palettes, style
from subsalt.view.cuts import FEW_STATIONS, cuts_at, place_text, volume_of
from subsalt.view.pages import BOTTOM, GAP, LEFT, RIGHT, Sheet, fit, legend, png_path
from subsalt.view.placing import Placed, fold, last_point, moved, placed
from subsalt.view.style import Length

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_LABELS = 12
# pixels across and down that a label takes
LABEL_ROOM = (110.0, 16.0)
# a map shows the model and this many times its size around it; what lies farther is marked at the rim
REACH = 1.0


@dataclass(frozen=True)
class Scene:
    """The content of a survey map; `turn` is the frame into whose map coordinates it is turned, if any."""

    where: Placed
    vp: NDArray | Planes | None
    window: Grid | None
    spread: NDArray[np.float64] | None
    turn: Frame | None

    def __call__(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return local points (n, 3) in the coordinates of the picture, m."""
        return points if self.turn is None else self.turn.to_world(points)


def corners(grid: Grid, axes: tuple[int, int]) -> NDArray[np.float64]:
    """Return the closed outline (5, 3) of a grid in the plane of two axes, local, m."""
    low = np.array(grid.origin3) - 0.5 * np.array(grid.spacing3)
    high = last_point(grid) + 0.5 * np.array(grid.spacing3)
    h, v = axes
    points = np.tile(low, (5, 1))
    points[[1, 2], h] = high[h]
    points[[2, 3], v] = high[v]
    return points


def limits(points: Sequence[NDArray], axes: tuple[int, int]) -> tuple[float, float, float, float]:
    """Return the smallest and largest coordinates of sets of points (n, 3) along two axes, with a margin."""
    every = np.concatenate(list(points))
    out: list[float] = []
    for i in axes:
        low, high = float(every[:, i].min()), float(every[:, i].max())
        pad = 0.03 * (high - low)
        out += [low - pad, high + pad]
    return out[0], out[1], out[2], out[3]


def extent_of(scene: Scene, axes: tuple[int, int]) -> tuple[float, float, float, float]:
    """Return the limits of the picture: model and survey, up to `REACH` model lengths from the model."""
    outline = scene(corners(scene.where.grid, axes))
    low, high = outline.min(axis=0), outline.max(axis=0)
    far = REACH * (high - low)
    survey = np.clip(scene(np.concatenate([scene.where.src, scene.where.rcv])), low - far, high + far)
    return limits([outline, survey], axes)


def marks(ax: Axes, scene: Scene, axes: tuple[int, int], view: Sequence[float], unit: Length) -> None:
    """Draw outline, window, receivers and sources; in another colour and at the rim where they lie outside."""
    h, v = axes
    where = scene.where
    lines = [(where.grid, palettes.INK, "-", "model")]
    if scene.window is not None:
        lines.append((scene.window, palettes.INK, "--", "window of the shot"))
    for grid, colour, dashes, label in lines:
        edge = scene(corners(grid, axes))
        ax.plot(
            unit(edge[:, h]), unit(edge[:, v]), dashes, color=colour, linewidth=1.2, label=label, zorder=3
        )

    def put(points: NDArray, marker: str, colour: str, size: float, label: str, order: float) -> None:
        if not len(points):
            return
        p = scene(style.thin(points))
        x, y = np.clip(p[:, h], view[0], view[1]), np.clip(p[:, v], view[2], view[3])
        rim = 0.4 if len(points) <= FEW_STATIONS else 0.0
        ax.plot(
            unit(x),
            unit(y),
            marker,
            color=colour,
            markersize=size,
            markeredgecolor=palettes.INK,
            clip_on=False,
            markeredgewidth=rim,
            label=label,
            zorder=order,
        )

    few = len(where.rcv) <= FEW_STATIONS
    small = 3.5 if few else 2.0
    # thousands of marks on a map would hide the velocity
    dots = not few and v != 2
    put(
        where.rcv[~where.rcv_out],
        "." if dots else "v",
        palettes.RECEIVER,
        1.5 if dots else small,
        "receivers",
        4,
    )
    put(where.rcv[where.rcv_out], "v", palettes.MARK, small + 1, "receivers outside", 5)
    if scene.spread is not None:
        put(scene.spread[1:], "v", palettes.INK, small + 1, "receivers of the shot", 5.5)
    many = 8.0 if len(where.src) <= FEW_STATIONS else 4.0
    put(where.src[~where.src_out], "*", palettes.SOURCE, many, "sources", 6)
    put(where.src[where.src_out], "X", palettes.MARK, 7.0, "shots outside", 7)
    if scene.spread is not None:
        put(scene.spread[:1], "*", palettes.YELLOW, 15.0, "the shot", 8)
    _labels(ax, scene, axes, view, unit)


def _labels(ax: Axes, scene: Scene, axes: tuple[int, int], view: Sequence[float], unit: Length) -> None:
    """Write the numbers of shots that lie outside; one label for those in the room of a label."""
    h, v = axes
    where = scene.where
    labels: list[_Label] = []
    room = ax.get_window_extent()
    scale = np.array([room.width / (view[1] - view[0]), room.height / (view[3] - view[2])])
    for i in np.nonzero(where.src_out)[0]:
        p = scene(where.src[i : i + 1])[0]
        at = np.array([np.clip(p[h], view[0], view[1]), np.clip(p[v], view[2], view[3])])
        near = [label for label in labels if (np.abs(at - label.at) * scale < LABEL_ROOM).all()]
        if near or len(labels) == MOST_LABELS:
            (near or labels[-1:])[0].more += 1
        else:
            labels.append(_Label(f"shot {where.ids[i]}", at))
    for label in labels:
        x, y = label.at
        # towards the inside of the picture
        left = x > 0.5 * (view[0] + view[1])
        # upwards is towards smaller depth on a section
        up = 1 if (y > 0.5 * (view[2] + view[3])) == (v == 2) else -1
        ax.annotate(
            label.text + (f" and {label.more} more" if label.more else ""),
            (float(unit(x)), float(unit(y))),
            xytext=(-6 if left else 6, 5 * up),
            fontsize=7,
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            color=palettes.MARK,
            zorder=9,
        )


@dataclass
class _Label:
    """The text of a shot outside, its place, m, and how many others share it."""

    text: str
    at: NDArray[np.float64]
    more: int = 0


def velocity(ax: Axes, scene: Scene, axes: tuple[int, int], at: Sequence[float] | None, unit: Length) -> Any:
    """Draw vp beneath, faint enough for the marks; return what was drawn for its colour bar."""
    if scene.vp is None:
        return None
    grid = scene.where.grid
    cut = cuts_at(grid, at)["section" if grid.ndim == 2 else "depth"]
    values = cut.values(volume_of(scene.vp, grid, "vp"))
    low, high = style.value_limits(scene.vp)
    left, right, bottom, top = cut.extent
    h, v = axes
    if scene.turn is None:
        values = palettes.reduced(values, palettes.pixels_of(ax))
        common: dict[str, Any] = {"extent": tuple(unit(cut.extent)), "aspect": "auto", "origin": "lower"}
        return palettes.laid(ax, values, (low, high), "veil", "nearest", alpha=0.8, **common)
    # turned into map coordinates: a mesh rather than a picture
    x, y = np.meshgrid(
        np.linspace(left, right, values.shape[1] + 1), np.linspace(bottom, top, values.shape[0] + 1)
    )
    points = np.zeros((x.size, 3))
    points[:, h], points[:, v] = x.ravel(), y.ravel()
    points = scene(points)
    mesh = [unit(points[:, i]).reshape(x.shape) for i in (h, v)]
    return ax.pcolormesh(
        *mesh, values, cmap=palettes.palette("veil"), vmin=low, vmax=high, alpha=0.8, rasterized=True
    )


#: height of the panel that shows a line on the map, inches
MAP_HEIGHT = 2.6
#: inches between a section and its fold curve, for the title of the curve
FOLD_GAP = 0.3


def survey_map(
    survey: Survey,
    model: ModelLike | Grid,
    path: str | Path,
    *,
    frame: Frame | None = None,
    shot: Shot | int | None = None,
    window: Box | Grid | None = None,
    depth: float | None = None,
    coordinates: Literal["local", "map"] = "local",
    bins: Sequence[float] | None = None,
    title: str = "survey on model",
    run_id: str = "",
) -> Path:
    """Draw sources and receivers on the model: map and fold in 3-D, section and fold curve in 2-D.

    Parameters
    ----------
    survey : Survey
        Its positions; what lies outside the model is drawn in another colour, shots with their number.
    model : ModelLike or Grid
        Grid whose outline is drawn; vp is drawn beneath where a model is given.
    path : path
        PNG to write.
    frame : Frame, optional
        Frame of a plain grid; a model brings its own.
    shot : Shot or int, optional
        A shot (or its id) whose receivers are drawn darker.
    window : Box or Grid, optional
        The part of the model in which that shot is computed, outlined.
    depth : float, optional
        Depth of the slice of vp in 3-D, m; the middle when left out.
    coordinates : {"local", "map"}
        Axes of a 3-D map: the model's own, or those of the map, into which everything is turned.
    bins : sequence of float, optional
        Bin size of the fold, m, see `fold`.
    title, run_id : str
        Heading and run.

    Returns
    -------
    Path
        The PNG.
    """
    out = png_path(path, "survey_map.png")
    grid = model if isinstance(model, Grid) else model.grid
    frame = (frame or survey.frame) if isinstance(model, Grid) else model.frame
    where = placed(survey, grid, frame)
    vp = None if isinstance(model, Grid) else model.volume("vp")
    if isinstance(window, Box):
        window = grid.window(window)
    if coordinates not in ("local", "map"):
        raise ConfigError(f"coordinates = {coordinates!r}", "use local or map")
    if shot is not None and not isinstance(shot, Shot):
        shot = survey.select([shot]).shots[0]
    spread = None
    if shot is not None:
        spread = moved(np.concatenate([shot.src[None], shot.rcv]), survey, frame)
    counts = fold(survey, grid, bins, frame)
    scene = Scene(where, vp, window, spread, frame if coordinates == "map" and grid.ndim == 3 else None)
    sheet = Sheet(out, title, run_id, facts(where, counts[0]) + place_text(grid, frame))
    if grid.ndim == 2:
        line = survey.notes.get("line")
        plan = line if isinstance(line, dict) and line.get("stations") else None
        _line(sheet, scene, counts, survey.frame, plan)
    else:
        _area(sheet, scene, counts, depth)
    return out


def facts(where: Placed, counts: NDArray[np.int64]) -> str:
    """Return the counts under the heading in one line."""
    some = counts[counts > 0]
    line = f"{len(where.src)} shots · {len(where.rcv)} receiver positions"
    line += f" · fold {some.min()} to {some.max()}" if some.size else " · no midpoint on the model"
    if where.src_out.any() or where.rcv_out.any():
        line += f" · outside by up to {where.beyond:.0f} m:"
        line += f" {where.src_out.sum()} shots, {where.rcv_out.sum()} receivers"
    return line


def _area(
    sheet: Sheet,
    scene: Scene,
    counts: tuple[NDArray[np.int64], list[NDArray[np.float64]]],
    depth: float | None,
) -> None:
    """Draw the map of a 3-D survey and, beside it, its fold."""
    axes = (0, 1)
    view = extent_of(scene, axes)
    unit = Length.fitting(view[1] - view[0], view[3] - view[2])
    near = limits([scene(corners(scene.where.grid, axes))], axes)
    wide, tall, _ = fit(view[1] - view[0], view[3] - view[2], 1.0, (4.6, 4.6))
    # the fold lies on the model alone: its panel need not show what lies far off
    fold_wide, fold_tall, _ = fit(near[1] - near[0], near[3] - near[2], 1.0, (3.3, 4.6))
    top, second = 0.95, LEFT + wide + (0.15 if scene.vp is None else RIGHT) + 0.55
    size = (second + fold_wide + RIGHT, top + max(tall, fold_tall) + BOTTOM)
    grid = scene.where.grid
    at = None if depth is None else (*grid.origin3[:2], depth)
    cut = cuts_at(grid, at)["depth"]
    with sheet.page(size) as fig:
        ax = style.place(fig, (LEFT, top, wide, tall))
        drawn = velocity(ax, scene, axes, at, unit)
        if drawn is not None:
            label = f"vp at z = {unit.text(cut.at)} (m/s)"
            style.colour_bar(fig, drawn, (LEFT + wide + 0.12, top, 0.14, tall), label)
        marks(ax, scene, axes, view, unit)
        other = style.place(fig, (second, top, fold_wide, fold_tall))
        _fold_map(fig, other, scene, counts, unit, (second + fold_wide + 0.12, top, 0.14, fold_tall))
        for a, span in ((ax, view), (other, near)):
            a.set_xlim(*unit(span[:2]))
            a.set_ylim(*unit(span[2:]))
            names = ("x", "y") if scene.turn is None else ("map x, east", "map y, north")
            a.set_xlabel(f"{names[0]} ({unit.unit})")
            a.set_ylabel(f"{names[1]} ({unit.unit})")
            if scene.turn is not None:
                a.ticklabel_format(style="plain")
                a.tick_params(labelsize=7)
        legend(fig, [ax], (LEFT, 0.52), columns=9)


def _fold_map(
    fig: Figure,
    ax: Axes,
    scene: Scene,
    counts: tuple[NDArray[np.int64], list[NDArray[np.float64]]],
    unit: Length,
    bar: tuple[float, float, float, float],
) -> None:
    """Draw midpoints per bin; empty bins stay white."""
    fold_of, (ex, ey) = counts
    x, y = np.meshgrid(ex, ey)
    points = scene(np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1))
    mesh = [unit(points[:, i]).reshape(x.shape) for i in (0, 1)]
    shown = np.ma.masked_equal(fold_of.T, 0)
    drawn = ax.pcolormesh(
        *mesh, shown, cmap=palettes.palette("fold"), vmin=0, vmax=max(1, int(fold_of.max()))
    )
    size = f"{ex[1] - ex[0]:.4g} x {ey[1] - ey[0]:.4g} m"
    style.colour_bar(fig, drawn, bar, f"fold: midpoints per bin of {size}", counts=True)
    edge = scene(corners(scene.where.grid, (0, 1)))
    ax.plot(unit(edge[:, 0]), unit(edge[:, 1]), color=palettes.INK, linewidth=1.2)


def _line(
    sheet: Sheet,
    scene: Scene,
    counts: tuple[NDArray[np.int64], list[NDArray[np.float64]]],
    frame: Frame,
    line: Mapping[str, Any] | None,
) -> None:
    """Draw the section of a 2-D survey and, beneath it, its fold curve and where it lies on the map."""
    axes = (0, 2)
    view = extent_of(scene, axes)
    unit = Length.fitting(view[1] - view[0], view[3] - view[2])
    wide, tall, ratio = fit(view[1] - view[0], view[3] - view[2], None, (9.0, 4.6))
    top = 1.0
    if ratio != 1:
        sheet = sheet.saying(f"{sheet.about} · vertical exaggeration {ratio:g}")
    deep = top + tall + FOLD_GAP + 1.1
    size = (LEFT + wide + RIGHT, deep + BOTTOM + (0.0 if line is None else GAP + MAP_HEIGHT))
    with sheet.page(size) as fig:
        ax = style.place(fig, (LEFT, top, wide, tall))
        drawn = velocity(ax, scene, axes, None, unit)
        if drawn is not None:
            style.colour_bar(fig, drawn, (LEFT + wide + 0.12, top, 0.14, tall), "vp (m/s)")
        marks(ax, scene, axes, view, unit)
        ax.set_xlim(*unit(view[:2]))
        ax.set_ylim(*unit(view[2:])[::-1])
        ax.set_ylabel(f"depth ({unit.unit})")
        # the fold beneath has the same axis
        ax.set_xticklabels([])
        below = style.place(fig, (LEFT, top + tall + FOLD_GAP, wide, 1.1))
        edges = counts[1][0]
        below.stairs(counts[0][:, 0], unit(edges), fill=True, color=palettes.RECEIVER, alpha=0.6)
        below.set_xlim(*unit(view[:2]))
        below.set_ylim(0, 1.08 * max(1, int(counts[0].max())))
        below.set_xlabel(f"x ({unit.unit})")
        below.set_ylabel("fold")
        below.set_title(
            f"midpoints per bin of {edges[1] - edges[0]:.4g} m", fontsize=8, color=palettes.FAINT, pad=3
        )
        if line is not None:
            # lower by what the labels of the fold take
            on_map = style.place(fig, (LEFT, deep + GAP, wide, MAP_HEIGHT))
            _on_map(on_map, scene.where.grid, frame, line)
        legend(fig, [ax], (LEFT, 0.52), columns=9)


def _on_map(ax: Axes, grid: Grid, frame: Frame, line: Mapping[str, Any]) -> None:
    """Draw a line on the map: its stations, the model's x axis with x = 0, and the direction of shooting."""
    stations = np.array(line["stations"])
    model = frame.to_world(np.array([[grid.origin[0], 0.0, 0.0], [grid.last[0], 0.0, 0.0]]))
    ax.plot(model[:, 0], model[:, 1], "-", color=palettes.INK, linewidth=1.2, label="model")
    ax.plot(stations[:, 0], stations[:, 1], "v", color=palettes.RECEIVER, markersize=2.5, label="stations")
    if grid.origin[0] <= 0.0 <= grid.last[0]:
        ax.plot([frame.x0], [frame.y0], "s", color=palettes.INK, markersize=5, label="x = 0")
    start, end = np.array(line["start"]), np.array(line["end"])
    ax.annotate(
        "",
        xy=tuple(end),
        xytext=tuple(end - 0.15 * (end - start)),
        arrowprops={"arrowstyle": "-|>", "color": palettes.SOURCE, "linewidth": 2.0},
    )
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.08)
    ax.ticklabel_format(style="plain", useOffset=False)
    ax.tick_params(labelsize=7)
    ax.set_xlabel("map x, east (m)", fontsize=7)
    ax.set_ylabel("map y, north (m)", fontsize=7, labelpad=1)
    about = f"shot towards N {(90.0 - line['direction_deg']) % 360.0:.1f} E; x = 0 at {frame.x0:.2f}, {frame.y0:.2f}"
    ax.set_title(about, fontsize=8, color=palettes.FAINT, pad=3)
    ax.legend(fontsize=7, loc="best", frameon=False)
