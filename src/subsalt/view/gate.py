"""The map of the anisotropy gate: where a model cannot be propagated as it is, and how its symmetry axis lies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth import tilt
from subsalt.earth.model import EarthModel
from subsalt.view import palettes, style
from subsalt.view.corner import Box
from subsalt.view.cuts import Cut, Look, as_volume, cuts_at, draw_cut
from subsalt.view.pages import BOTTOM, LEFT, RIGHT, Sheet, bar, fit, legend, png_path, sketch_of, unfolded
from subsalt.view.style import Length

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: needles along the longer side of a section
NEEDLES = 46


@dataclass(frozen=True)
class Flag:
    """Marked nodes, and their text in the legend.

    Parameters
    ----------
    nodes : ndarray of bool, shape of the grid
        Mask of the marked nodes.
    label : str
        Meaning of the marked nodes, and the choice made about them.
    strength : ndarray of the same shape, optional
        How bad it is there; the planes of a 3-D map go through the largest of the first flag that has any.
    """

    nodes: NDArray[np.bool_]
    label: str
    strength: NDArray[Any] | None = field(default=None, repr=False)


def gate_map(
    model: EarthModel,
    path: str | Path,
    flags: list[Flag],
    *,
    about: str = "",
    title: str = "anisotropy",
    run_id: str = "",
) -> Path:
    """Draw flagged nodes on vp, with needles along the symmetry axis where it is tilted.

    Parameters
    ----------
    model : EarthModel
        Model as the job gives it, before any repair.
    path : path
        PNG to write: the section in 2-D; in 3-D the depth slice, the inline and the crossline section through the worst
        node of the first flag.
    flags : list of Flag
        Marked nodes, first in front. In 3-D each panel marks the nodes of all planes parallel to it, so that
        none is missed.
    about, title, run_id : str
        Line below the heading, heading, run.

    Returns
    -------
    Path
        The PNG.

    Notes
    -----
    A needle shows the axis projected on the plane of its panel: short where it points out of it.
    """
    out = png_path(path, "anisotropy.png")
    grid = model.grid
    planes = cuts_at(grid, worst(model, flags))
    look = Look(as_volume(model.vp, grid, "vp"), style.value_limits(model.vp), "veil")
    boxes, corner, size, unit = _layout(planes, len(flags) + (model.medium == "tti"))
    with Sheet(out, title, run_id, about).page(size) as fig:
        axes, drawn = {}, {}
        for name, box in boxes.items():
            cut = planes[name]
            ax = axes[name] = style.place(fig, box)
            drawn = draw_cut(ax, cut, look, unit)
            if grid.ndim == 3:
                ax.set_title(cut.title(unit), fontsize=8, color=palettes.FAINT, pad=3)
            _needles(ax, cut, model, unit)
            for flag, colour in reversed(list(zip(flags, palettes.FLAGS, strict=False))):
                _mark(ax, cut, flag, colour, unit)
        left, top, wide, tall = boxes["crossline" if grid.ndim == 3 else "section"]
        bar(fig, drawn, (left + wide + 0.12, top, 0.14, tall), "vp (m/s)")
        legend(fig, list(axes.values()), (LEFT, 0.52), columns=1)
        if corner is not None:
            sketch_of(fig, corner, planes, unit)
    return out


def _layout(
    planes: Mapping[str, Cut], rows: int
) -> tuple[dict[str, Box], Box | None, tuple[float, float], Length]:
    """Return the boxes of the panels (inches) below a legend of so many rows, in 3-D that of the free corner, the page
    size, the unit of the axes.
    """
    top = 0.82 + 0.17 * rows
    if "section" in planes:
        lengths = planes["section"].lengths
        wide, tall, _ = fit(*lengths, None, (9.0, 5.2))
        return (
            {"section": (LEFT, top, wide, tall)},
            None,
            (max(LEFT + wide + RIGHT, 6.0), top + tall + BOTTOM),
            Length.fitting(*lengths),
        )
    boxes, corner, (wide, tall), unit = unfolded(planes, top)
    return boxes, corner, (max(wide, 6.0), tall), unit


def worst(model: EarthModel, flags: list[Flag]) -> tuple[float, float, float] | None:
    """Return the local point of the strongest node of the first flag that marks any; None: the middle."""
    grid = model.grid
    for flag in flags:
        if flag.nodes.any():
            strength = flag.nodes if flag.strength is None else np.where(flag.nodes, flag.strength, -np.inf)
            index = np.unravel_index(int(np.argmax(strength)), strength.shape)
            at = np.array(grid.origin) + np.multiply(index, grid.spacing)
            return (float(at[0]), float(at[1]) if grid.ndim == 3 else 0.0, float(at[-1]))
    return None


def _mark(ax: Axes, cut: Cut, flag: Flag, colour: str, unit: Length) -> None:
    """Mark the nodes of a flag on a panel, those of parallel planes too."""
    seen = as_volume(flag.nodes, cut.grid, "flag").any(axis=cut.normal)
    h, v = cut.axes
    at = np.argwhere(seen)
    o, d = cut.grid.origin3, cut.grid.spacing3
    x, y = (unit(o[i] + d[i] * at[:, k]) for k, i in enumerate((h, v)))
    # one cell each, but never too small to be seen: a single node in a thousand matters
    # (a tenth more than a cell: no background between neighbours)
    cell = 1.1 * ax.get_window_extent().width / max(1, cut.grid.shape3[h]) * 72.0 / style.DPI
    ax.plot(x, y, "s", color=colour, markersize=max(2.0, cell), markeredgewidth=0, label=flag.label, zorder=4)


def _needles(ax: Axes, cut: Cut, model: EarthModel, unit: Length) -> None:
    """Draw short lines along the symmetry axis at evenly spread nodes of a panel."""
    if model.theta is None or model.medium != "tti":
        return
    grid, (h, v) = cut.grid, cut.axes
    step = max(1, max(grid.shape3[h], grid.shape3[v]) // NEEDLES)
    take = [slice(step // 2, None, step), slice(step // 2, None, step)]

    def plane(values: NDArray) -> NDArray:
        return np.take(as_volume(values, grid, "tilt"), cut.index, axis=cut.normal)[tuple(take)]

    theta = plane(model.theta)
    n = tilt.axis(theta, None if model.phi is None else plane(model.phi), grid.ndim)
    parts = {0: n[0], 2: n[-1], 1: n[1] if grid.ndim == 3 else np.zeros_like(n[0])}
    x = grid.origin3[h] + grid.spacing3[h] * np.arange(grid.shape3[h])[take[0]]
    y = grid.origin3[v] + grid.spacing3[v] * np.arange(grid.shape3[v])[take[1]]
    half = 0.4 * step * min(grid.spacing3[h], grid.spacing3[v])
    x0, y0 = (a.ravel() for a in np.meshgrid(x, y, indexing="ij"))
    dx, dy = half * parts[h].ravel(), half * parts[v].ravel()
    gap = np.full_like(x0, np.nan)
    ax.plot(
        unit(np.stack([x0 - dx, x0 + dx, gap], axis=1).ravel()),
        unit(np.stack([y0 - dy, y0 + dy, gap], axis=1).ravel()),
        color=palettes.INK,
        linewidth=0.7,
        label="symmetry axis",
        zorder=3,
    )
