"""The free corner of three unfolded planes: the stations of the survey on a map, or a sketch of where the planes lie.

Stations have a map of their own, so that they do not hide the slice of the image.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.view import palettes, style
from subsalt.view.cuts import Cut, Look, draw_points, label_axes
from subsalt.view.style import Length

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: left, top, width and height, inches
Box = tuple[float, float, float, float]

#: inches below a map for the labels of its axis, and above it for its title
BELOW, ABOVE = 0.5, 0.17
#: the smallest map that shows a survey, inches
NARROWEST, LOWEST = 1.4, 0.7
#: inches of a line of a legend
LINE = 0.2
#: x and y, per unit, of the axis of a sketch that leads away from the viewer
AWAY = (0.38, 0.26)
#: colours of the planes normal to x, y and z
PLANES = (palettes.ORANGE, palettes.BLUE, palettes.MARK)


def stations_box(corner: Box, lengths: tuple[float, float]) -> Box | None:
    """Return the box of a map of `lengths` (m) with true proportions in a corner; None when it would be too small."""
    left, top, wide, tall = corner
    scale = min(wide / lengths[0], (tall - BELOW - ABOVE - 3 * LINE) / lengths[1])
    across, down = scale * lengths[0], scale * lengths[1]
    return None if across < NARROWEST or down < LOWEST else (left, top, across, down)


def draw_stations(fig: Figure, box: Box, cut: Cut, look: Look, unit: Length) -> Axes:
    """Draw sources and receivers on a map of the part that `cut`, a depth slice, shows."""
    ax = style.place(fig, box)
    draw_points(ax, cut, look, unit)
    label_axes(ax, cut, unit)
    ax.set_title("survey", fontsize=8, color=palettes.FAINT, pad=3)
    return ax


def draw_sketch(
    fig: Figure, corner: Box, sides: Sequence[float], places: Sequence[float], names: Sequence[str]
) -> None:
    """Draw a block in outline with the three planes through it.

    Parameters
    ----------
    fig : Figure
        Page.
    corner : tuple of float
        Room of the sketch and its legend, inches.
    sides : sequence of float, (3,)
        Lengths of the block along x, y and z, in any unit; drawn less unequal than 1 to 4.
    places : sequence of float, (3,)
        Places of the planes along x, y and z, as parts of its sides.
    names : sequence of str, (3,)
        Names of the planes normal to x, y and z.
    """
    from matplotlib.patches import Polygon

    left, top, wide, tall = corner
    room = min(wide, 2.6), tall - 3 * LINE
    if min(room) < 0.8:
        return
    block = np.maximum(np.asarray(sides, dtype=np.float64), max(sides) / 4)
    ax = style.place(fig, (left, top, *room))
    ax.set_axis_off()
    unit = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
    for a, b in ((a, b) for a in unit for b in unit if np.abs(a - b).sum() == 1 and tuple(a) < tuple(b)):
        ends = _seen(np.array([a, b]) * block)
        ax.plot(ends[:, 0], ends[:, 1], color=palettes.FAINT, linewidth=0.6)
    # the far one first
    for normal in (1, 0, 2):
        h, v = (i for i in range(3) if i != normal)
        ring = np.full((4, 3), places[normal])
        ring[:, h], ring[:, v] = (0, 1, 1, 0), (0, 0, 1, 1)
        colour = PLANES[normal]
        face = Polygon(
            _seen(ring * block), facecolor=(*_rgb(colour), 0.25), edgecolor=colour, label=names[normal]
        )
        ax.add_patch(face)
    ax.autoscale_view()
    ax.set_aspect("equal", anchor="NW")
    w, h = fig.get_size_inches()
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(left / w, 1 - (top + tall) / h),
        bbox_transform=fig.transFigure,
        frameon=False,
        borderaxespad=0.0,
    )


def _seen(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where points (n, 3), z downwards, are drawn: x to the right, y away, (n, 2)."""
    x, y, z = points.T
    return np.stack([x + AWAY[0] * y, AWAY[1] * y - z], axis=1)


def _rgb(colour: str) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(colour)
