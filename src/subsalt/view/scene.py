"""What lies on a survey map: outlines, stations, labels of what lies outside, and the velocity beneath."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Frame, Grid
from subsalt.earth.planes import Planes
from subsalt.view import style
from subsalt.view.cuts import cuts_at, volume_of
from subsalt.view.placement import Placed, last_point
from subsalt.view.style import Length

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LABELS = 12
# a map shows the model and this many times its size around it; what lies farther is marked at the rim
REACH = 1.0


@dataclass(frozen=True)
class Scene:
    """What a survey map shows; `turn` is the frame into whose map coordinates it is turned, if any."""

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
    """Draw outline, window, receivers and sources; red and at the rim where they lie outside."""
    h, v = axes
    where = scene.where
    lines = [(where.grid, style.INK, "-", "model")]
    if scene.window is not None:
        lines.append((scene.window, "#7a3fa0", "--", "window of the shot"))
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
        rim = 0.4 if len(points) <= 300 else 0.0
        ax.plot(
            unit(x),
            unit(y),
            marker,
            color=colour,
            markersize=size,
            markeredgecolor=style.INK,
            clip_on=False,
            markeredgewidth=rim,
            label=label,
            zorder=order,
        )

    small = 3.5 if len(where.rcv) <= 300 else 2.0
    put(where.rcv[~where.rcv_out], "v", style.RECEIVER, small, "receivers", 4)
    put(where.rcv[where.rcv_out], "v", style.OUTSIDE, small + 1, "receivers outside", 5)
    if scene.spread is not None:
        put(scene.spread[1:], "v", "#0b2c4d", small + 1, "receivers of the shot", 5.5)
    many = 8.0 if len(where.src) <= 300 else 4.0
    put(where.src[~where.src_out], "*", style.SOURCE, many, "sources", 6)
    put(where.src[where.src_out], "X", style.OUTSIDE, 7.0, "shots outside", 7)
    if scene.spread is not None:
        put(scene.spread[:1], "*", "#ff6a00", 15.0, "the shot", 8)
    _labels(ax, scene, axes, view, unit)


def _labels(ax: Axes, scene: Scene, axes: tuple[int, int], view: Sequence[float], unit: Length) -> None:
    """Write the numbers of the shots that lie outside; the first dozen of them."""
    h, v = axes
    where = scene.where
    out = np.nonzero(where.src_out)[0]
    for n, i in enumerate(out[:MOST_LABELS]):
        p = scene(where.src[i : i + 1])[0]
        text = f"shot {where.ids[i]}"
        if n == MOST_LABELS - 1 and len(out) > MOST_LABELS:
            text += f" and {len(out) - MOST_LABELS} more"
        x, y = np.clip(p[h], view[0], view[1]), np.clip(p[v], view[2], view[3])
        # towards the inside of the picture, and one above the other where shots share a place
        left = x > 0.5 * (view[0] + view[1])
        # upwards is towards smaller depth on a section
        up = 1 if (y > 0.5 * (view[2] + view[3])) == (v == 2) else -1
        ax.annotate(
            text,
            (float(unit(x)), float(unit(y))),
            xytext=(-6 if left else 6, up * (5 + 7 * (n % 3))),
            fontsize=7,
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            color=style.OUTSIDE,
            zorder=9,
        )


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
        values = style.reduced(values, style.pixels_of(ax))
        common: dict[str, Any] = {"extent": tuple(unit(cut.extent)), "aspect": "auto", "origin": "lower"}
        return style.laid(ax, values, (low, high), style.veil(), "nearest", alpha=0.8, **common)
    # turned into map coordinates: a mesh rather than a picture
    x, y = np.meshgrid(
        np.linspace(left, right, values.shape[1] + 1), np.linspace(bottom, top, values.shape[0] + 1)
    )
    points = np.zeros((x.size, 3))
    points[:, h], points[:, v] = x.ravel(), y.ravel()
    points = scene(points)
    mesh = [unit(points[:, i]).reshape(x.shape) for i in (h, v)]
    return ax.pcolormesh(*mesh, values, cmap=style.veil(), vmin=low, vmax=high, alpha=0.8, rasterized=True)
