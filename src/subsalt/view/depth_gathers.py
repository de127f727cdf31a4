"""Pictures of gathers of a depth image: beneath their places on the section, each beside its stack; and flatness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.view import palettes, style
from subsalt.view.cuts import Look, cuts_at, draw_cut
from subsalt.view.pages import BOTTOM, LEFT, RIGHT, Sheet
from subsalt.view.style import Length

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: gathers on a page when nobody says where, and at most
GATHERS, MOST_GATHERS = 5, 8
# inches: widths of the page and of a stack; heights of the section and of the gathers
_WIDE, _STACK, _SECTION, _TALL, _TOP, _BETWEEN = 8.6, 0.3, 2.3, 3.9, 0.62, 0.85


@dataclass(frozen=True)
class PlacedGather:
    """A gather with its place and the image there.

    Parameters
    ----------
    x : float
        Position along the section, m.
    traces : ndarray, (n, nz)
        Traces by angle or half offset.
    stack : ndarray, (nz,)
        The column of the image.
    name : str
        Text above it; its position when empty.
    """

    x: float
    traces: NDArray
    stack: NDArray
    name: str = ""


@dataclass(frozen=True)
class TraceAxis:
    """Meaning of the traces of gathers: their values, and a label with the unit."""

    values: NDArray[np.float64]
    label: str


def draw_depth_gathers(
    sheet: Sheet,
    section: NDArray,
    grid: Grid,
    gathers: Sequence[PlacedGather],
    axis: TraceAxis,
    clip: float = 99.0,
) -> Path:
    """Draw the section with the places of gathers, and below it the gathers, each beside its stack.

    Parameters
    ----------
    sheet : Sheet
        Picture to write.
    section : ndarray, (nx, nz)
        The image along the line of the gathers.
    grid : Grid
        Grid of the section, 2-D.
    gathers : sequence of PlacedGather
        At most `MOST_GATHERS`.
    axis : TraceAxis
        Values and label of the traces.
    clip : float
        Percentile of |a| at which the grey scale ends, of the image and of the gathers by themselves.
    """
    limit = style.clip_limit(style.below_surface(section), clip)
    widest = style.clip_limit(np.stack([style.below_surface(g.traces) for g in gathers]), clip)
    (cut,) = cuts_at(grid).values()
    unit = Length.fitting(*cut.lengths)
    facts = f"clip {clip:g} % of |a| · below: gathers by {axis.label}, right of each the image there"
    size = (LEFT + _WIDE + 0.25, _TOP + _SECTION + _BETWEEN + _TALL + BOTTOM)
    with sheet.saying(facts).page(size) as fig:
        ax = style.place(fig, (LEFT, _TOP, _WIDE, _SECTION))
        draw_cut(ax, cut, Look(section[:, None] if section.ndim == 2 else section, limit), unit)
        for g in gathers:
            ax.axvline(float(unit(g.x)), color=palettes.MARK, linewidth=0.9)
        room = _WIDE / len(gathers)
        for n, g in enumerate(gathers):
            left = LEFT + n * room
            wide = max(room - _STACK - 0.22, 0.4)
            down = _TOP + _SECTION + _BETWEEN
            box = (
                style.place(fig, (left, down, wide, _TALL)),
                style.place(fig, (left + wide + 0.04, down, _STACK, _TALL)),
            )
            _gather(box[0], g, grid, axis, widest)
            _stack(box[1], g, grid, limit)
            box[0].set_title(g.name or f"x = {unit.text(g.x)}", fontsize=8, pad=3)
            if n == 0:
                box[0].set_ylabel("depth (m)")
            else:
                box[0].set_yticklabels([])
    return sheet.path


def _gather(ax: Axes, g: PlacedGather, grid: Grid, axis: TraceAxis, limit: float) -> None:
    """Draw the traces of a gather in grey, with a line at zero."""
    v = axis.values
    half = 0.5 * float(v[1] - v[0]) if len(v) > 1 else 0.5
    top, bottom = _ends(grid)
    shown: dict[str, Any] = {
        "cmap": palettes.palette("grey"),
        "vmin": -limit,
        "vmax": limit,
        "aspect": "auto",
    }
    extent = (float(v[0]) - half, float(v[-1]) + half, bottom, top)
    ax.imshow(np.asarray(g.traces, np.float64).T, extent=extent, interpolation="bilinear", **shown)
    ax.axvline(0.0, color=palettes.INK, linewidth=0.4, linestyle=":")
    ax.set_xlim(extent[0], extent[1])
    ax.set_ylim(bottom, top)
    ax.tick_params(labelsize=7)
    ax.set_xlabel(axis.label, fontsize=7.5)


def _stack(ax: Axes, g: PlacedGather, grid: Grid, limit: float) -> None:
    """Draw the column of the image as a wiggle."""
    z = grid.axis(grid.ndim - 1)
    a = np.clip(np.asarray(g.stack, np.float64) / limit, -1.2, 1.2)
    ax.plot(a, z, color=palettes.INK, linewidth=0.6)
    ax.fill_betweenx(z, 0, a, where=(a > 0).tolist(), color=palettes.INK, linewidth=0)
    top, bottom = _ends(grid)
    ax.set_ylim(bottom, top)
    ax.set_xlim(-1.3, 1.3)
    ax.set_xticks([])
    ax.set_yticklabels([])
    ax.set_xlabel("stack", fontsize=7.5, labelpad=12)


def _ends(grid: Grid) -> tuple[float, float]:
    """Return the first and the last depth of a grid, m."""
    z = grid.axis(grid.ndim - 1)
    return float(z[0]), float(z[-1])


@dataclass(frozen=True)
class LineMeasure:
    """A measure of gathers along a line, by place and window of depth.

    Parameters
    ----------
    x : ndarray, (places,)
        Positions along the line, m.
    edges : ndarray, (nw, 2)
        First and last depth of every window, m.
    values : ndarray, (places, nw)
        The measure; NaN where nothing is.
    overall : ndarray, (places,)
        The measure of all depths of a place.
    """

    x: NDArray[np.float64]
    edges: NDArray[np.float64]
    values: NDArray[np.float64]
    overall: NDArray[np.float64]

    def cells(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the edges of the cells that stand for places and windows, which lie half over each other."""
        middle = self.edges.mean(axis=1)
        return _between(self.x), _between(middle, self.edges[0, 0], self.edges[-1, 1])


def _between(
    at: NDArray[np.float64], first: float | None = None, last: float | None = None
) -> NDArray[np.float64]:
    """Return edges halfway between positions, and half a step beyond the outer ones where these are not given."""
    inner = 0.5 * (at[1:] + at[:-1])
    step = float(at[1] - at[0]) if len(at) > 1 else 1.0
    low = float(at[0]) - 0.5 * step if first is None else first
    high = float(at[-1]) + 0.5 * step if last is None else last
    return np.concatenate([[low], inner, [high]])


def draw_flatness(sheet: Sheet, measure: LineMeasure, section: NDArray, grid: Grid) -> Path:
    """Draw the flatness of gathers along a line: one curve of all depths, and by depth over the section.

    Parameters
    ----------
    sheet : Sheet
        Picture to write.
    measure : LineMeasure
        Semblance, 0 to 1.
    section : ndarray, (nx, nz)
        The image, drawn in grey.
    grid : Grid
        Its grid, 2-D.
    """
    (cut,) = cuts_at(grid).values()
    unit = Length.fitting(*cut.lengths)
    tall = 3.6
    size = (LEFT + _WIDE + RIGHT, _TOP + 1.3 + 0.25 + tall + BOTTOM)
    with sheet.saying("semblance over angles, weighted by amplitude · 1: flat, the velocity was right").page(
        size
    ) as fig:
        curve = style.place(fig, (LEFT, _TOP, _WIDE, 1.3))
        curve.plot(unit(measure.x), measure.overall, "o-", color=palettes.BLUE, markersize=3, linewidth=1.1)
        left, right = (float(v) for v in unit(cut.extent[:2]))
        curve.set_xlim(left, right)
        curve.set_ylim(0, 1)
        curve.set_xticklabels([])
        curve.set_ylabel("flatness")
        curve.grid(color=palettes.GRID_LINE, linewidth=0.5)
        draw_measure(
            fig, measure, section, grid, (_TOP + 1.3 + 0.25, tall), ("semblance", "fold", (0.0, 1.0))
        )
    return sheet.path


def draw_scale_map(
    sheet: Sheet, measure: LineMeasure, section: NDArray, grid: Grid, limits: tuple[float, float]
) -> Path:
    """Draw best scales of the velocity along a line: the median of each place, and by depth over the section.

    Parameters
    ----------
    sheet : Sheet
        Picture to write.
    measure : LineMeasure
        Scales.
    section : ndarray, (nx, nz)
        The image.
    grid : Grid
        Its grid, 2-D.
    limits : tuple of float
        First and last scale.
    """
    (cut,) = cuts_at(grid).values()
    unit = Length.fitting(*cut.lengths)
    tall, most = 3.6, max(abs(limits[0] - 1), abs(limits[1] - 1))
    size = (LEFT + _WIDE + RIGHT, _TOP + 1.3 + 0.25 + tall + BOTTOM)
    with sheet.saying("scale at which the gathers are flattest · above 1: the velocity was too low").page(
        size
    ) as fig:
        curve = style.place(fig, (LEFT, _TOP, _WIDE, 1.3))
        curve.plot(unit(measure.x), measure.overall, "o-", color=palettes.BLUE, markersize=3, linewidth=1.1)
        curve.axhline(1.0, color=palettes.INK, linewidth=0.6)
        curve.set_xlim(*(float(v) for v in unit(cut.extent[:2])))
        curve.set_ylim(limits[0], limits[1])
        curve.set_xticklabels([])
        curve.set_ylabel("scale")
        curve.grid(color=palettes.GRID_LINE, linewidth=0.5)
        place = (_TOP + 1.3 + 0.25, tall)
        draw_measure(fig, measure, section, grid, place, ("scale", "residual", (1 - most, 1 + most)))
    return sheet.path


def draw_measure(
    fig: Figure,
    measure: LineMeasure,
    section: NDArray,
    grid: Grid,
    place: tuple[float, float],
    colours: tuple[str, str, tuple[float, float]],
) -> None:
    """Draw a measure by place and depth in colour, the section over it in grey.

    Parameters
    ----------
    fig : Figure
        Page.
    measure : LineMeasure
        Measure.
    section : ndarray, (nx, nz)
        The image.
    grid : Grid
        Its grid.
    place : tuple of float
        Top and height, inches.
    colours : tuple
        Label, palette and limits.
    """
    (cut,) = cuts_at(grid).values()
    unit = Length.fitting(*cut.lengths)
    label, palette, limits = colours
    top, tall = place
    ax = style.place(fig, (LEFT, top, _WIDE, tall))
    x, z = measure.cells()
    shown = np.ma.masked_invalid(measure.values.T)
    drawn = ax.pcolormesh(
        unit(x), unit(z), shown, cmap=palettes.palette(palette), vmin=limits[0], vmax=limits[1]
    )
    left, right, low, high = (float(v) for v in unit(cut.extent))
    most = style.clip_limit(style.below_surface(section), 99.0)
    ink = np.zeros((*section.T.shape, 4))
    ink[..., 3] = np.clip(np.abs(np.asarray(section, np.float64).T) / most, 0, 1) * 0.75
    ax.imshow(ink, extent=(left, right, high, low), aspect="auto", interpolation="bilinear", zorder=2)
    ax.set_xlim(left, right)
    ax.set_ylim(high, low)
    ax.set_xlabel(f"x ({unit.unit})")
    ax.set_ylabel(f"depth ({unit.unit})")
    style.colour_bar(fig, drawn, (LEFT + _WIDE + 0.12, top, 0.14, tall), label)
