"""Pictures of time images: a line as one section; a volume as inline, crossline and time slice.

Axes carry the numbers of the lines, since that is how people name places in them; two-way time grows downwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid, LocationBox
from subsalt.earth.planes import Planes
from subsalt.errors import ConfigError, ModelError
from subsalt.view import palettes, style
from subsalt.view.corner import draw_sketch
from subsalt.view.lit import lit_locations, shown_locations
from subsalt.view.pages import BOTTOM, DRAWING, GAP, LEFT, POINT_DRAWN, RIGHT, TOP, Sheet, png_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: normal of each section: the axis of (inline, crossline, time) that it is cut at
NORMAL = {"inline": 0, "crossline": 1, "slice": 2}
#: palettes with zero in the middle
SYMMETRIC = ("grey", "residual")
# inches a section takes at most, and a narrow one at least
_WIDE, _TALL, _NARROW = 8.6, 5.4, 1.8
#: bytes that the wiggles of a page of gathers leave behind
GATHERS_DRAWN = 15_000_000


@dataclass(frozen=True)
class _Look:
    """Colours of every section of one picture: values and velocities at the ends of their palettes."""

    limits: tuple[float, float]
    palette: str
    velocity_limits: tuple[float, float]


def line_name(grid: ImageGrid) -> str:
    """Return the name of crosslines: CDPs on a 2-D line."""
    return "CDP" if grid.shape[0] == 1 else "crossline"


def plane(volume: NDArray | Planes, normal: int, index: int) -> NDArray:
    """Return the values of a volume (ni, nj, nt) on one plane, without the axis it is cut at."""
    if isinstance(volume, Planes):
        return volume.section(normal, index)
    return np.take(volume, index, axis=normal)


def indices_at(grid: ImageGrid, at: Sequence[float] | None) -> tuple[int, int, int]:
    """Return the indices of the location and sample nearest to inline, crossline and time; the middle without.

    Parameters
    ----------
    grid : ImageGrid
        Grid that is cut.
    at : sequence of float, (2,) or (3,), optional
        Inline number, crossline number (of a line: the CDP alone will do) and time, s.

    Raises
    ------
    ConfigError
        When the numbers lie outside the image.
    """
    ni, nj = grid.shape
    if at is None:
        return ni // 2, nj // 2, grid.time.nt // 2
    if len(at) == 1:
        at = (grid.inlines[0], *at)
    if len(at) not in (2, 3):
        raise ConfigError(
            f"a place of {len(at)} numbers",
            "give inline and crossline, and maybe a time: 1200,340,1.8",
            "E833",
        )
    indices = []
    lines = ((grid.inlines, "inline"), (grid.crosslines, line_name(grid)))
    for value, ((first, last, step), name) in zip(at, lines, strict=False):
        low, high = min(first, last), max(first, last)
        if not low - abs(step) / 2 <= value <= high + abs(step) / 2:
            raise ConfigError(
                f"{name} {value:g} is not in the image, which has {low} to {high}",
                f"choose one from {low} to {high}, in steps of {abs(step)}",
                "E833",
            )
        indices.append(int(np.clip(round((value - first) / step), 0, (last - first) // step)))
    t, axis = at[2] if len(at) == 3 else grid.time.t0 + grid.time.dt * (grid.time.nt // 2), grid.time
    if not axis.t0 <= t <= axis.duration:
        raise ConfigError(
            f"time {t:g} s is not in the image, which has {axis.t0:g} to {axis.duration:g} s",
            "give seconds",
            "E833",
        )
    return indices[0], indices[1], round((t - axis.t0) / axis.dt)


def time_picture_bytes(grid: ImageGrid) -> int:
    """Return the memory that pictures of a time migration on `grid` take, gathers and maps included."""
    across, down = round(style.DPI * _WIDE), round(style.DPI * _TALL)
    points = min(max(grid.shape), palettes.PER_PIXEL * across) * min(grid.time.nt, palettes.PER_PIXEL * down)
    # a section of fewer points than pixels is drawn in as many points as it has pixels
    most = max(points, across * down)
    return DRAWING + GATHERS_DRAWN + POINT_DRAWN * most


@dataclass(frozen=True)
class TimeStyle:
    """How a time image is drawn.

    Parameters
    ----------
    clip : float
        Percentile of |a| at which a symmetric palette ends.
    palette, label : str
        Colours, see `palettes.palette`, and what the values are.
    title, run_id : str
        Heading, and the run that made the image; both also in the PNG's metadata.
    planes : bool
        Draw the three planes of a volume by themselves too.
    gain : float
        Samples are multiplied by time to this power before they are drawn.
    whole : bool
        Show all locations, also those without a trace.
    """

    clip: float = 99.0
    palette: str = "grey"
    label: str = "amplitude"
    title: str = "image"
    run_id: str = ""
    planes: bool = True
    gain: float = 0.0
    whole: bool = False


def time_sections(
    image: NDArray | Planes,
    grid: ImageGrid,
    path: str | Path,
    *,
    velocity: NDArray | Planes | None = None,
    fold: NDArray | None = None,
    at: Sequence[float] | None = None,
    **drawn: Any,
) -> dict[str, Path]:
    """Draw a time image: of a line its section; of a volume an overview of three planes and each by itself.

    Parameters
    ----------
    image : ndarray or Planes, (ni, nj, nt)
        Image that is shown: with a symmetric clip in grey or ``"residual"``, from the least to the largest value else.
    grid : ImageGrid
        Line numbers and times of the image.
    path : path
        PNG to write; of a volume the overview, beside which come ``NAME_inline.png``, ``NAME_crossline.png`` and
        ``NAME_slice.png``.
    velocity : ndarray or Planes of the same shape, optional
        Rms velocity laid over it in colour, m/s.
    fold : ndarray, (ni, nj, ...), optional
        Traces per location: locations without any at the ends of the image are left out (`subsalt.view.lit`).
    at : sequence of float, (2,) or (3,), optional
        Inline, crossline and time (s) through which the planes are cut; when left out the middle, at the time at which
        the amplitude varies most.
    **drawn
        Fields of `TimeStyle`: ``clip``, ``palette``, ``label``, ``title``, ``run_id``, ``planes``, ``gain`` and
        ``whole``.

    Returns
    -------
    dict of str to Path
        Files written, by name: ``section``, or ``overview``, ``inline``, ``crossline`` and ``slice``.
    """
    out, how = png_path(path, "image.png"), TimeStyle(**drawn)
    for name, volume in (("image", image), ("velocity", velocity)):
        if volume is not None and tuple(volume.shape) != (*grid.shape, grid.time.nt):
            raise ModelError(
                f"{name} has shape {tuple(volume.shape)}, its grid {(*grid.shape, grid.time.nt)}",
                f"give the grid of the {name}",
                code="E401",
            )
    names, box = _sections_of(grid), lit_locations(None if how.whole else fold, grid)
    at = _middle(grid.part(box)) if at is None else at
    where, cuts = _cuts(image, grid, at, names, how)
    if not (box.i0 <= where["inline"] < box.i1 and box.j0 <= where["crossline"] < box.j1):
        box = grid.whole
    shown = grid.part(box)
    over = {} if velocity is None else {k: plane(velocity, NORMAL[k], where[k]) for k in names}
    cuts, over = ({k: _part(values, k, box) for k, values in of.items()} for of in (cuts, over))
    where = where | {"inline": where["inline"] - box.i0, "crossline": where["crossline"] - box.j0}
    look = _look(cuts, over, how.clip, how.palette)
    facts = f"{how.label} {look.limits[0]:.3g} to {look.limits[1]:.3g}"
    if look.limits[0] == -look.limits[1]:
        facts = f"clip {how.clip:g} % of |a| (±{look.limits[1]:.3g})"
        facts += f" · gain t^{how.gain:g}" if how.gain else ""
    drawing = _Drawing(shown, where, cuts, over, look, how.label)
    sheet = Sheet(out, how.title, how.run_id, facts + shown_locations(grid, shown))
    if len(names) == 1:
        return {"section": drawing.single(sheet, names[0])}
    written = {"overview": drawing.overview(sheet)}
    for name in names if how.planes else ():
        written[name] = drawing.single(sheet.named(f"_{name}"), name)
    return written


def draw_time_section(
    ax: Axes,
    image: NDArray | Planes,
    grid: ImageGrid,
    name: str = "inline",
    *,
    at: Sequence[float] | None = None,
    clip: float = 99.0,
    gain: float = 0.0,
) -> tuple[Any, str]:
    """Draw one section of a time image on given axes; return what a colour bar needs, and what the section is called.

    Parameters
    ----------
    ax : Axes
        Axes of Matplotlib.
    image, grid, at
        As in `time_sections`.
    name : {"inline", "crossline", "slice"}
        The section; of a line there is only one.
    clip, gain
        As in `TimeStyle`.
    """
    names = _sections_of(grid)
    name = name if name in names else names[0]
    where, cuts = _cuts(image, grid, at, (name,), TimeStyle(clip=clip, gain=gain))
    drawing = _Drawing(grid, where, cuts, {}, _look(cuts, {}, clip, "grey"), "amplitude")
    return drawing.draw(ax, name), drawing.title(name) if len(names) > 1 else "time image"


def _sections_of(grid: ImageGrid) -> tuple[str, ...]:
    """Return the sections of an image on a grid: of a line one."""
    return ("inline",) if grid.shape[0] == 1 else ("crossline",) if grid.shape[1] == 1 else tuple(NORMAL)


def _middle(grid: ImageGrid) -> tuple[float, float]:
    """Return the numbers of the inline and the crossline in the middle."""
    i, j = grid.shape[0] // 2, grid.shape[1] // 2
    return grid.inlines[0] + i * grid.inlines[2], grid.crosslines[0] + j * grid.crosslines[2]


def _part(values: NDArray, name: str, box: LocationBox) -> NDArray:
    """Return what a section has of the locations of a box."""
    i, j = slice(box.i0, box.i1), slice(box.j0, box.j1)
    return values[i, j] if name == "slice" else values[i if name == "crossline" else j]


def _cuts(
    image: NDArray | Planes,
    grid: ImageGrid,
    at: Sequence[float] | None,
    names: Sequence[str],
    how: TimeStyle,
) -> tuple[dict[str, int], dict[str, NDArray]]:
    """Return where an image is cut, and the sections of these names with their gain."""
    where = dict(zip(NORMAL, indices_at(grid, at), strict=True))
    if how.palette in SYMMETRIC and (at is None or len(at) < 3):
        where["slice"] = style.telling_sample(plane(image, NORMAL["inline"], where["inline"]))
    weight = np.maximum(grid.time.values(), 0.0) ** how.gain if how.gain else np.ones(grid.time.nt)
    # read once: of a volume in a file every section but the inline goes through all of it
    cuts = {
        k: plane(image, NORMAL[k], where[k]) * (weight[where[k]] if k == "slice" else weight) for k in names
    }
    return where, cuts


def _look(cuts: dict[str, NDArray], over: dict[str, NDArray], clip: float, palette: str) -> _Look:
    """Return limits from what is shown: a percentile of |a| around zero, or least to largest."""
    sections = [style.below_surface(c) if k != "slice" else c for k, c in cuts.items()]
    every = np.concatenate([np.ravel(c) for c in (sections if palette in SYMMETRIC else cuts.values())])
    if palette in SYMMETRIC:
        limit = style.clip_limit(every, clip)
        limits = (-limit, limit)
    else:
        limits = style.value_limits(every)
    speeds = style.value_limits(np.concatenate([np.ravel(c) for c in over.values()])) if over else (0.0, 1.0)
    return _Look(limits, palette, speeds)


@dataclass(frozen=True)
class _Drawing:
    """The sections of one image, and how they are drawn."""

    grid: ImageGrid
    where: dict[str, int]
    cuts: dict[str, NDArray]
    over: dict[str, NDArray]
    look: _Look
    label: str

    def single(self, sheet: Sheet, name: str) -> Path:
        """Draw one section on a page of its own."""
        wide, tall = self._inches(name)
        if self.grid.shape[0] > 1 and self.grid.shape[1] > 1:
            sheet = sheet.saying(f"{self.title(name)} · {sheet.about}")
        size = (LEFT + wide + RIGHT, TOP + tall + BOTTOM)
        # room for the heading of a line of few locations
        size = (max(size[0], 5.0), size[1])
        with sheet.page(size) as fig:
            ax = style.place(fig, (LEFT, TOP, wide, tall))
            drawn = self.draw(ax, name)
            style.colour_bar(fig, drawn, (LEFT + wide + 0.12, TOP, 0.14, tall), self._bar())
        return sheet.path

    def overview(self, sheet: Sheet) -> Path:
        """Draw the time slice above the inline section, the crossline section beside it."""
        wide, high = self._inches("slice")
        scale = min(1.0, 5.6 / wide, 3.6 / high)
        wide, high = max(wide * scale, _NARROW), max(high * scale, 1.2)
        deep, top = 3.6, TOP + 0.17
        # the crossline section at the scale of the map
        beside = min(max(high, _NARROW), 4.0)
        size = (LEFT + wide + GAP + beside + RIGHT, top + high + GAP + deep + BOTTOM)
        boxes = {
            "slice": (LEFT, top, wide, high),
            "inline": (LEFT, top + high + GAP, wide, deep),
            "crossline": (LEFT + wide + GAP, top + high + GAP, beside, deep),
        }
        with sheet.page(size) as fig:
            for name, box in boxes.items():
                ax = style.place(fig, box)
                drawn = self.draw(ax, name)
                ax.set_title(self.title(name), fontsize=8, color=palettes.FAINT, pad=3)
                self._cross(ax, name)
                if name == "crossline":
                    ax.set_ylabel("")
            style.colour_bar(
                fig, drawn, (LEFT + wide + GAP + beside + 0.12, top + high + GAP, 0.14, deep), self._bar()
            )
            self._sketch(fig, (LEFT + wide + GAP, top, beside, high), (beside, wide, deep))
        return sheet.path

    def _sketch(
        self, fig: Figure, corner: tuple[float, float, float, float], sides: tuple[float, float, float]
    ) -> None:
        """Sketch where the planes lie: inlines lead away from the viewer, time goes down."""
        (ni, nj), nt = self.grid.shape, self.grid.time.nt
        across = [(self.where[k] + 0.5) / n for k, n in zip(NORMAL, (ni, nj, nt), strict=True)]
        inline, crossline, slice_ = (self.title(k) for k in NORMAL)
        draw_sketch(
            fig,
            corner,
            (sides[1], sides[0], sides[2]),
            (across[1], across[0], across[2]),
            (crossline, inline, slice_),
        )

    def title(self, name: str) -> str:
        """Return the name of a section and its position."""
        if name == "slice":
            return f"time slice at {self.grid.time.t0 + self.where[name] * self.grid.time.dt:.3f} s"
        return f"{name} {self._number(name)}"

    def draw(self, ax: Axes, name: str) -> Any:
        """Draw one section on given axes; return what its colour bar needs."""
        from matplotlib.ticker import MaxNLocator

        # a time slice is a map with inlines upwards; (n vertical, n horizontal) either way
        values = self.cuts[name] if name == "slice" else self.cuts[name].T
        down, across = self._ends(name)
        common: dict[str, Any] = {"extent": (*across, down[1], down[0]), "aspect": "auto"}
        pixels = palettes.pixels_of(ax)
        values = palettes.reduced(values, pixels)
        many = values.shape[0] > pixels[0] or values.shape[1] > pixels[1]
        smooth = "hanning" if many else "bilinear"
        low, high = self.look.limits
        if self.over:
            over = palettes.reduced(self.over[name] if name == "slice" else self.over[name].T, pixels)
            colours, drawn = palettes.tinted(
                values, (low, high), self.look.palette, over, self.look.velocity_limits, 0.9
            )
            ax.imshow(colours, interpolation=smooth, **common)
        else:
            smooth = smooth if self.look.palette in SYMMETRIC else "nearest"
            drawn = palettes.laid(ax, values, (low, high), self.look.palette, smooth, **common)
        lines = "inline" if name == "crossline" else line_name(self.grid)
        ax.set_xlabel(lines)
        ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
        if name == "slice":
            ax.set_ylabel("inline")
            ax.yaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
            ax.invert_yaxis()
        else:
            ax.set_ylabel("two-way time (s)")
        return drawn

    def _ends(self, name: str) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the outer edges of the vertical and of the horizontal axis of a section."""
        time, half = self.grid.time, 0.5 * self.grid.time.dt
        lines = {}
        for key, (first, last, step) in (("i", self.grid.inlines), ("j", self.grid.crosslines)):
            lines[key] = (first - step / 2, last + step / 2)
        across = lines["i" if name == "crossline" else "j"]
        return (lines["i"] if name == "slice" else (time.t0 - half, time.duration + half)), across

    def _number(self, name: str) -> int:
        first, _, step = self.grid.inlines if name == "inline" else self.grid.crosslines
        return first + step * self.where[name]

    def _inches(self, name: str) -> tuple[float, float]:
        """Return width and height of a section: a map to scale; time as tall as the page, lines as wide as they are."""
        ni, nj = self.grid.shape
        di, dj = self.grid.spacing
        if name == "slice":
            scale = min(_WIDE / (nj * dj), _TALL / (ni * di))
            return max(nj * dj * scale, _NARROW), max(ni * di * scale, 1.2)
        n = ni if name == "crossline" else nj
        return float(np.clip(0.11 * n, _NARROW, _WIDE)), _TALL

    def _bar(self) -> str:
        return "rms velocity (m/s)" if self.over else self.label

    def _cross(self, ax: Axes, name: str) -> None:
        """Mark on one section where the other two cut it."""
        dotted: dict[str, Any] = {"color": palettes.INK, "linewidth": 0.5, "linestyle": ":", "alpha": 0.7}
        at = self.grid.time.t0 + self.where["slice"] * self.grid.time.dt
        ax.axvline(self._number("inline" if name == "crossline" else "crossline"), **dotted)
        ax.axhline(self._number("inline") if name == "slice" else at, **dotted)
