"""The picture of the demo on one page: the known model, the survey, the image, and how far the image is off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Survey
from subsalt.earth.model import EarthModel
from subsalt.view import palettes, style
from subsalt.view.cuts import Cut, Look, as_volume, cuts_at, draw_cut, draw_points, label_axes
from subsalt.view.pages import LEFT, Sheet, legend
from subsalt.view.placing import survey_points
from subsalt.view.style import Length

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: inches: width of the left column and of the right one, height of a row, top of the first row, room between rows
WIDE, NARROW, TALL, TOP, APART = 4.3, 3.3, 3.66, 0.8, 0.8
#: inches from the left column to the right one: a colour bar and the labels of an axis
BETWEEN = 1.55
METRES = Length("m", 1.0)


@dataclass(frozen=True)
class Reading:
    """A known reflector and what was read of it in the image.

    Parameters
    ----------
    name : str
        Name of the reflector.
    depth : ndarray, (nx, ny)
        Its depth, m; NaN where there is none.
    label : tuple of float, (2,)
        Where its name is written on the section of the model: x and depth, m.
    error : float
        Imaged minus known depth, median over the places where it is read, m.
    largest : float
        Largest absolute error of these places, m.
    """

    name: str
    depth: NDArray[np.float64]
    label: tuple[float, float]
    error: float
    largest: float


@dataclass(frozen=True)
class Demo:
    """Contents of the picture.

    Parameters
    ----------
    truth : EarthModel
        Model in which the survey was shot.
    survey : Survey
        Positions of the shots.
    image : ndarray, (nx, ny, nz)
        Depth image on the grid of the model.
    readings : sequence of Reading
        Known reflectors from the shallowest to the deepest.
    salt : ndarray of bool, (nx, ny, nz)
        Points in the salt.
    at : tuple of float, (3,)
        Point through which the sections are cut, m.
    most : float
        Error of a depth at which the demo fails, m.
    """

    truth: EarthModel
    survey: Survey
    image: NDArray[np.float32]
    readings: Sequence[Reading]
    salt: NDArray[np.bool_]
    at: tuple[float, float, float]
    most: float


def draw_demo(demo: Demo, path: Path, *, title: str, run_id: str) -> Path:
    """Draw the model with the known reflectors, the survey, the image and the errors of its depths.

    Parameters
    ----------
    demo : Demo
        Model, survey, image and errors.
    path : Path
        PNG to write.
    title, run_id : str
        Heading and run.

    Returns
    -------
    Path
        The PNG.
    """
    cuts = cuts_at(demo.truth.grid, demo.at)
    src, rcv = survey_points(demo.survey, demo.truth.frame)
    worst = max(abs(r.error) for r in demo.readings)
    facts = f"{len(src)} shots, {len(rcv)} receivers · "
    facts += f"{len(demo.readings)} known reflectors are imaged within {worst:.1f} m of their depth"
    second = LEFT + WIDE + BETWEEN
    low = TOP + TALL + APART
    with Sheet(path, title, run_id, facts).page((second + NARROW + 0.2, low + TALL + 0.6)) as fig:
        axes = [
            _model(fig, (LEFT, TOP, WIDE, TALL), demo, cuts["inline"], (src, rcv)),
            _map(fig, (second, TOP, NARROW, TALL), demo, cuts, (src, rcv)),
            _image(fig, (LEFT, low, WIDE, TALL), demo, cuts["inline"]),
        ]
        _errors(style.place(fig, (second, low, NARROW, TALL)), demo)
        legend(fig, axes, (second, TOP + axes[1].get_window_extent().height / style.DPI + 0.6), columns=2)
    return path


def _panel(fig: Figure, box: tuple[float, float, float, float], name: str) -> Axes:
    """Return axes with a title."""
    ax = style.place(fig, box)
    ax.set_title(name, fontsize=9.5, fontweight="bold", color=palettes.INK, pad=6)
    return ax


def _known(demo: Demo) -> list[Mapping[str, Any]]:
    return [{"name": r.name, "depth": r.depth} for r in demo.readings]


def _model(
    fig: Figure,
    box: tuple[float, float, float, float],
    demo: Demo,
    cut: Cut,
    stations: tuple[NDArray, NDArray],
) -> Axes:
    """Draw the section of vp with stations, and the known reflectors with their names."""
    from matplotlib.patheffects import withStroke

    vp = as_volume(demo.truth.vp, demo.truth.grid, "vp")
    ax = _panel(fig, box, "1  Known model")
    src, rcv = stations
    look = Look(vp, style.value_limits(vp), "velocity", src=src, rcv=rcv, reflectors=_known(demo))
    drawn = draw_cut(ax, cut, look, METRES)["values"]
    for r in demo.readings:
        text = ax.text(*r.label, r.name, fontsize=8, color="white", ha="center", va="center", zorder=6)
        text.set_path_effects([withStroke(linewidth=2, foreground=palettes.INK)])
    style.colour_bar(fig, drawn, _bar(box), "vp (m/s)")
    return ax


def _map(
    fig: Figure,
    box: tuple[float, float, float, float],
    demo: Demo,
    cuts: Mapping[str, Cut],
    stations: tuple[NDArray, NDArray],
) -> Axes:
    """Draw stations on a map, with the outline of the salt and the line of the section."""
    cut, (src, rcv) = cuts["depth"], stations
    left, top, wide, tall = box
    across, down = cut.lengths
    ax = _panel(fig, (left, top, wide, min(tall, wide * down / across)), "2  Survey at the surface")
    x, y = (demo.truth.grid.axis(i) for i in range(2))
    shadow = demo.salt.any(axis=2).T.astype(float)
    ax.contourf(x, y, shadow, levels=[0.5, 1.5], colors=[palettes.GRID_LINE])
    ax.text(demo.at[0], demo.at[1] + 40.0, "salt", fontsize=8, color=palettes.FAINT, ha="center")
    draw_points(ax, cut, Look(demo.image, 1.0, src=src, rcv=rcv), METRES)
    at = cuts["inline"].at
    ax.axhline(at, color=palettes.INK, linewidth=0.8, linestyle="--", label="section of 1 and 3")
    label_axes(ax, cut, METRES)
    return ax


def _image(fig: Figure, box: tuple[float, float, float, float], demo: Demo, cut: Cut) -> Axes:
    """Draw the section of the image with the known depths."""
    limit = style.clip_limit(style.below_surface(demo.image))
    ax = _panel(fig, box, "3  Image, and the known depths")
    drawn = draw_cut(ax, cut, Look(demo.image, limit, reflectors=_known(demo)), METRES)["values"]
    style.colour_bar(fig, drawn, _bar(box), "amplitude")
    return ax


def _bar(box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    left, top, wide, tall = box
    return left + wide + 0.12, top, 0.14, tall


def _errors(ax: Axes, demo: Demo) -> None:
    """Draw how far each reflector is off: a bar for the median, a line for the worst place."""
    ax.set_title("4  Imaged minus known depth", fontsize=9.5, fontweight="bold", color=palettes.INK, pad=6)
    cell = demo.truth.grid.spacing[2]
    ax.axvspan(-0.5 * cell, 0.5 * cell, color=palettes.GRID_LINE, linewidth=0)
    ax.axvline(0.0, color=palettes.INK, linewidth=0.8)
    for edge in (-demo.most, demo.most):
        ax.axvline(edge, color=palettes.INK, linewidth=0.8, linestyle=":")
    for row, r in enumerate(demo.readings):
        ax.barh(row, r.error, height=0.3, color=palettes.MARK)
        side = np.sign(r.error) or 1.0
        ax.plot([r.error, side * r.largest], [row, row], color=palettes.INK, linewidth=1.2)
        above: dict[str, Any] = {"fontsize": 8, "va": "center"}
        ax.text(-0.97 * demo.most, row - 0.32, r.name, ha="left", **above)
        said = f"{r.error:+.1f} m, worst {r.largest:.1f} m"
        ax.text(0.97 * demo.most, row - 0.32, said, ha="right", **above)
    ax.set_xlim(-1.06 * demo.most, 1.06 * demo.most)
    ax.set_ylim(len(demo.readings) - 0.4, -0.8)
    ax.set_yticks([])
    ax.set_xlabel(f"error (m); grey: half a cell, dotted: limit of {demo.most:g} m")
