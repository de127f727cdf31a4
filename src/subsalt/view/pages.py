"""Pages: how one cut, or three, are laid out with title, colour bar and legend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from subsalt.earth.grid import Grid
from subsalt.errors import ConfigError
from subsalt.view import palettes, style
from subsalt.view.corner import BELOW, Box, draw_sketch, draw_stations, stations_box
from subsalt.view.cuts import Cut, Look, cuts_at, draw_cut
from subsalt.view.style import Length

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# inches: room for title above, ticks and labels left and below, the colour bar right
TOP, LEFT, BOTTOM, RIGHT, GAP = 0.55, 0.72, 0.55, 0.95, 0.62
# and at most for one cut on a page of its own
PICTURE = 8.6, 6.2
#: the least size of a mark in a legend, points
LEGEND_MARK = 4.0


def png_path(path: str | Path, name: str) -> Path:
    """Return the path of a PNG: `path`, or `name` inside it when it is a folder."""
    out = Path(path)
    if out.is_dir():
        return out / name
    if out.suffix.lower() != ".png":
        raise ConfigError(f"a picture is written as PNG, not as {out.name}", "end its name in .png")
    return out


@dataclass(frozen=True)
class Sheet:
    """A picture to be drawn: its PNG, and what stands above.

    Parameters
    ----------
    path : Path
        File to write.
    title, run_id : str
        Heading, and the run that made what is shown; both also in the PNG's metadata.
    about : str
        Facts in one line below the heading.
    """

    path: Path
    title: str = ""
    run_id: str = ""
    about: str = ""

    def named(self, suffix: str) -> Sheet:
        """Return the sheet of another picture beside this one: ``NAMEsuffix.png``."""
        return replace(self, path=self.path.with_name(f"{self.path.stem}{suffix}.png"))

    def saying(self, about: str) -> Sheet:
        """Return it with other facts below the heading."""
        return replace(self, about=about)

    @contextmanager
    def page(self, size: tuple[float, float]) -> Iterator[Figure]:
        """Give a figure of so many inches with the heading on it; publish it when the block ends without an error."""
        with style.page(self.path, size, title=self.title, run_id=self.run_id, about=self.about) as fig:
            style.heading(fig, self.title, self.about)
            yield fig


def fit(
    width: float, height: float, exaggeration: float | None, room: tuple[float, float]
) -> tuple[float, float, float]:
    """Return the inches of a section of `width` x `height` metres, and its vertical exaggeration."""
    if exaggeration is None:
        # a section flatter than 1 in 8 shows nothing: drawn then in steps of a half until it is 1 in 8
        exaggeration = max(1.0, np.ceil(2 * width / (8 * height)) / 2)
    if not exaggeration > 0:
        raise ConfigError(f"exaggeration = {exaggeration:g}", "give a number above 0")
    scale = min(room[0] / width, room[1] / (height * exaggeration))
    return max(1.5, width * scale), max(0.8, height * exaggeration * scale), exaggeration


def columns_of(panels: int, most: int) -> int:
    """Return in how many columns, at most `most`, equal panels leave the fewest places empty; of equals the most."""
    choices = range(min(panels, most), 0, -1)
    few = [n for n in choices if n > 1 or panels == 1] or [1]
    return min(few, key=lambda n: (-panels % n, -n))


#: bytes that a process takes once it has drawn: Matplotlib, its fonts, and the canvas of a page
DRAWING = 62_000_000
#: bytes that Matplotlib makes of every point of a section on the way to its pixels
POINT_DRAWN = 45


def picture_bytes(grid: Grid) -> int:
    """Return the memory that pictures of an image on `grid` take beside image and model."""
    most = 0
    for cut in cuts_at(grid).values():
        wide, tall, _ = fit(*cut.lengths, None if cut.axes[1] == 2 else 1.0, PICTURE)
        across, down = (grid.shape3[i] for i in cut.axes)
        room = palettes.PER_PIXEL * style.DPI
        most = max(most, min(across, round(room * wide)) * min(down, round(room * tall)))
    return DRAWING + POINT_DRAWN * most


def single(
    sheet: Sheet, cut: Cut, look: Look, label: str = "amplitude", exaggeration: float | None = None
) -> Path:
    """Draw one cut on a page of its own."""
    facts = sheet.about
    unit = Length.fitting(*cut.lengths)
    wide, tall, ratio = fit(*cut.lengths, exaggeration if cut.axes[1] == 2 else 1.0, PICTURE)
    if ratio != 1:
        facts += f" · vertical exaggeration {ratio:g}"
    size = (LEFT + wide + RIGHT, TOP + tall + BOTTOM)
    subtitle = facts if cut.grid.ndim == 2 else f"{cut.title(unit)} · {facts}"
    with sheet.saying(subtitle).page(size) as fig:
        ax = style.place(fig, (LEFT, TOP, wide, tall))
        drawn = draw_cut(ax, cut, look, unit)
        bar(fig, drawn, (LEFT + wide + 0.12, TOP, 0.14, tall), label)
        legend(fig, [ax])
    return sheet.path


def overview(sheet: Sheet, planes: Mapping[str, Cut], look: Look, label: str = "amplitude") -> Path:
    """Draw three planes unfolded: the map above the inline section, the crossline section beside it.

    The corner that is left shows the stations of the survey, or where the planes lie.
    """
    boxes, corner, size, unit = unfolded(planes, TOP + 0.17)
    stations = None
    if len(look.src) + len(look.rcv):
        stations = stations_box(corner, planes["depth"].lengths)
    without = replace(look, src=look.src[:0], rcv=look.rcv[:0])
    with sheet.page(size) as fig:
        axes, drawn = {}, {}
        for name, box in boxes.items():
            cut = planes[name]
            ax = axes[name] = style.place(fig, box)
            drawn = draw_cut(ax, cut, without if stations and name == "depth" else look, unit)
            # a narrow panel has no room for its name
            name_of = cut.title(unit) if box[2] > 2.0 else cut.title(unit).partition(" at ")[2]
            ax.set_title(name_of, fontsize=8, color=palettes.FAINT, pad=3)
            _cross(ax, cut, planes, unit)
        axes["crossline"].set_ylabel("")
        left, low, wide, tall = boxes["crossline"]
        bar(fig, drawn, (left + wide + 0.12, low, 0.14, tall), label)
        if stations is not None:
            ax = axes["survey"] = draw_stations(fig, stations, planes["depth"], look, unit)
            legend(fig, list(axes.values()), (left, stations[1] + stations[3] + BELOW))
        elif not legend(fig, list(axes.values()), corner[:2]):
            sketch_of(fig, corner, planes, unit)
    return sheet.path


def sketch_of(fig: Figure, corner: Box, planes: Mapping[str, Cut], unit: Length) -> None:
    """Sketch in a corner where three planes lie in the part of their grid that is shown."""
    (left, right, low, high), (_, _, top, bottom) = planes["depth"].extent, planes["inline"].extent
    ends = ((left, right), (low, high), (top, bottom))
    normal = [planes[name] for name in ("crossline", "inline", "depth")]
    places = [(cut.at - a) / (b - a) for cut, (a, b) in zip(normal, ends, strict=True)]
    draw_sketch(fig, corner, [b - a for a, b in ends], places, [cut.title(unit) for cut in normal])


def unfolded(
    planes: Mapping[str, Cut], top: float
) -> tuple[dict[str, Box], Box, tuple[float, float], Length]:
    """Return the boxes of three planes (inches), the map `top` below the edge, and that of the free corner; the page
    size; the unit of the axes.
    """
    (lx, lz), (ly, _) = planes["inline"].lengths, planes["crossline"].lengths
    scale = min(8.0 / (lx + ly), 6.6 / (ly + lz))
    wx, wy, wz = (max(1.0, scale * length) for length in (lx, ly, lz))
    boxes = {
        "depth": (LEFT, top, wx, wy),
        "inline": (LEFT, top + wy + GAP, wx, wz),
        "crossline": (LEFT + wx + GAP, top + wy + GAP, wy, wz),
    }
    corner = (LEFT + wx + GAP, top, wy, wy)
    size = (LEFT + wx + GAP + wy + RIGHT, top + wy + GAP + wz + BOTTOM)
    return boxes, corner, size, Length.fitting(lx, ly, lz)


def _cross(ax: Axes, cut: Cut, planes: Mapping[str, Cut], unit: Length) -> None:
    """Mark on one plane where the other two cut it."""
    dotted: dict[str, Any] = {"color": palettes.INK, "linewidth": 0.5, "linestyle": ":", "alpha": 0.7}
    for other in planes.values():
        if other.normal == cut.axes[0]:
            ax.axvline(float(unit(other.at)), **dotted)
        elif other.normal == cut.axes[1]:
            ax.axhline(float(unit(other.at)), **dotted)


def bar(fig: Figure, drawn: Mapping[str, Any], box: tuple[float, float, float, float], label: str) -> None:
    """Add the colour bar of the velocity when it is drawn, of the values otherwise."""
    if "vp" in drawn:
        style.colour_bar(fig, drawn["vp"], box, "vp (m/s)")
    else:
        style.colour_bar(fig, drawn["values"], box, label)


def legend(
    fig: Figure, axes: Sequence[Axes], corner: tuple[float, float] | None = None, columns: int = 1
) -> bool:
    """Add one legend for all axes: at `corner` (inches from the upper left), else at the upper right.

    Returns whether there is anything to explain.
    """
    entries: dict[str, Any] = {}
    for ax in axes:
        for handle, text in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(text, handle)
    if not entries:
        return False
    w, h = fig.get_size_inches()
    place: Any
    if corner is None:
        place, anchor, columns = "upper right", (1 - 0.05 / w, 1 - 0.06 / h), len(entries)
    else:
        place, anchor = "upper left", (corner[0] / w, 1 - corner[1] / h)
    shown = fig.legend(
        list(entries.values()),
        list(entries),
        loc=place,
        bbox_to_anchor=anchor,
        ncols=columns,
        borderaxespad=0.0,
    )
    for mark in shown.legend_handles:
        # a mark as small as those of thousands of stations cannot be seen by itself
        if mark is not None and 0 < getattr(mark, "get_markersize", float)() < LEGEND_MARK:
            mark.set(markersize=LEGEND_MARK)
    return True
