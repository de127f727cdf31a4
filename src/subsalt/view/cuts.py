"""Plane cuts through a volume: which values, which two axes, where; and drawing one of them on given axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box, Frame, Grid, map_corners
from subsalt.earth.planes import Planes
from subsalt.errors import ConfigError, ModelError
from subsalt.view import palettes, style
from subsalt.view.style import Length

if TYPE_CHECKING:
    from matplotlib.axes import Axes


NAMES = "xyz"
#: stations that are drawn as marks with a rim, at most
FEW_STATIONS = 300


@dataclass(frozen=True)
class Cut:
    """A plane through a grid, normal to one axis.

    Parameters
    ----------
    grid : Grid
        The grid that is cut.
    normal : int
        Axis (0 x, 1 y, 2 z) that stands normal to the plane.
    index : int
        Grid index of the plane along `normal`.
    box : Box, optional
        Part of the grid that is shown; all when None.
    """

    grid: Grid
    normal: int
    index: int
    box: Box | None = None

    @property
    def axes(self) -> tuple[int, int]:
        """The horizontal and the vertical axis of the picture."""
        h, v = (i for i in range(3) if i != self.normal)
        return h, v

    @property
    def at(self) -> float:
        """Local coordinate of the plane along its normal, m."""
        return self.grid.origin3[self.normal] + self.index * self.grid.spacing3[self.normal]

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Edges of the outer cells shown, m: left, right along the horizontal axis, low, high along the other."""
        edges: list[float] = []
        for i in self.axes:
            o, d = self.grid.origin3[i], self.grid.spacing3[i]
            first, end = (self.box.lo[i], self.box.hi[i]) if self.box else (0, self.grid.shape3[i])
            edges += [o + (first - 0.5) * d, o + (end - 0.5) * d]
        return edges[0], edges[1], edges[2], edges[3]

    @property
    def lengths(self) -> tuple[float, float]:
        """Width and height of the plane, m."""
        left, right, low, high = self.extent
        return right - left, high - low

    def values(self, volume: NDArray | Planes) -> NDArray:
        """Return the values (n_vertical, n_horizontal) shown of a volume (nx, nz) or (nx, ny, nz) on the plane."""
        if not isinstance(volume, Planes):
            plane = np.take(as_volume(volume, self.grid), self.index, axis=self.normal)
        elif self.grid.ndim == 2:  # the only cut of a section is all of it
            plane = volume.read(0, len(volume))
        else:
            plane = volume.section(self.normal, self.index)
        if self.box is not None:
            across, down = (self.box.slices[i] for i in self.axes)
            plane = plane[across, down]
        return plane.T

    def title(self, unit: Length) -> str:
        """Return the name of the plane and its position."""
        if self.grid.ndim == 2:
            return "section"
        kind = {0: "crossline section", 1: "inline section", 2: "depth slice"}[self.normal]
        return f"{kind} at {NAMES[self.normal]} = {unit.text(self.at)}"


def as_volume(values: NDArray, grid: Grid, name: str = "image") -> NDArray:
    """Return `values` as (nx, ny, nz); ny = 1 in 2-D.

    Raises
    ------
    ModelError
        When the shape is not the grid's.
    """
    a = np.asarray(values)
    _fits(a.shape, grid, name)
    return a.reshape(grid.shape3)


def volume_of(values: NDArray | Planes, grid: Grid, name: str) -> NDArray | Planes:
    """Return `values` as `as_volume` does; planes that are yet to be read as they are."""
    if not isinstance(values, Planes):
        return as_volume(values, grid, name)
    _fits(values.shape, grid, name)
    return values


def _fits(shape: tuple[int, ...], grid: Grid, name: str) -> None:
    if shape not in (grid.shape, grid.shape3):
        raise ModelError(
            f"{name} has shape {shape}, the grid has {grid.shape}",
            f"give the grid of the {name}",
            code="E401",
        )


def cuts_at(
    grid: Grid, at: Sequence[float] | None = None, image: NDArray | None = None, box: Box | None = None
) -> dict[str, Cut]:
    """Return the cuts through a local point: ``section`` in 2-D; ``inline``, ``crossline``, ``depth`` in 3-D.

    Parameters
    ----------
    grid : Grid
        Grid that is cut.
    at : sequence of float, (3,), optional
        x, y, z of the point, m; the nearest grid planes are taken. The middle when left out; of an `image` the depth
        slice then lies where its amplitude varies most.
    image : ndarray, (nx, ny, nz), optional
        Image that is shown.
    box : Box, optional
        Part of the grid that is shown, in whose middle the planes lie by default; all when None.
    """
    if at is None:
        index = (
            [n // 2 for n in grid.shape3]
            if box is None
            else [(a + b) // 2 for a, b in zip(box.lo, box.hi, strict=True)]
        )
        if image is not None and grid.ndim == 3:
            index[2] = style.telling_sample(image[:, index[1]], image[index[0]])
    else:
        if len(at) != 3:
            raise ConfigError(
                f"at has {len(at)} values", "give the x, y and z of the point to cut through, m"
            )
        index = [
            int(np.clip(round((a - o) / d), 0, n - 1))
            for a, o, d, n in zip(at, grid.origin3, grid.spacing3, grid.shape3, strict=True)
        ]
    if grid.ndim == 2:
        return {"section": Cut(grid, 1, 0, box)}
    return {
        "inline": Cut(grid, 1, index[1], box),
        "crossline": Cut(grid, 0, index[0], box),
        "depth": Cut(grid, 2, index[2], box),
    }


@dataclass(frozen=True)
class Look:
    """Style and overlays of every cut of one picture.

    Parameters
    ----------
    values : ndarray
        The volume shown in grey (or in the colours of `palette`).
    limit : float or tuple of float
        Symmetric limit, or low and high.
    palette : str
        Name of the colour map, see `palettes.palette`.
    vp : ndarray or Planes, optional
        Velocity laid over it, m/s.
    vp_limits : tuple of float
        Velocity at the two ends of its colours, m/s.
    tint : float
        Strength of the velocity's colours, 0 to 1.
    src, rcv : ndarray, (n, 3)
        Positions drawn over it, local, m.
    reflectors : sequence of mapping
        Known reflectors, see `sections`.
    """

    values: NDArray
    limit: float | tuple[float, float]
    palette: str = "grey"
    vp: NDArray | Planes | None = None
    vp_limits: tuple[float, float] = (0.0, 1.0)
    tint: float = 0.9
    src: NDArray = field(default_factory=lambda: np.zeros((0, 3)))
    rcv: NDArray = field(default_factory=lambda: np.zeros((0, 3)))
    reflectors: Sequence[Mapping[str, Any]] = ()


def place_text(grid: Grid, frame: Frame | None) -> str:
    """Return where a 3-D grid with a place lies on the map, for the facts below a heading; else empty."""
    if frame is None or frame == Frame() or grid.ndim != 3:
        return ""
    (x0, y0), _, (x1, y1), _ = map_corners(grid, frame)
    side = ", y to its right" if frame.flip else ""
    turn = math.degrees(frame.azimuth) % 360.0
    return f" · x runs {turn:.2f}° from map x{side}; on the map from ({x0:.2f}, {y0:.2f}) to ({x1:.2f}, {y1:.2f})"


def draw_cut(ax: Axes, cut: Cut, look: Look, unit: Length) -> dict[str, Any]:
    """Draw one cut; return what a colour bar needs, by name (``values`` or ``vp``)."""
    left, right, low, high = (float(v) for v in unit(cut.extent))
    common: dict[str, Any] = {"extent": (left, right, low, high), "aspect": "auto", "origin": "lower"}
    pixels = palettes.pixels_of(ax)
    values = palettes.reduced(cut.values(look.values), pixels)
    lo, hi = look.limit if isinstance(look.limit, tuple) else (-look.limit, look.limit)
    smooth = "nearest" if look.palette in ("velocity", "veil") else _interpolation(values, pixels)
    if look.vp is None:
        drawn = {"values": palettes.laid(ax, values, (lo, hi), look.palette, smooth, **common)}
    else:
        vp = palettes.reduced(cut.values(look.vp), pixels)
        colours, key = palettes.tinted(values, (lo, hi), look.palette, vp, look.vp_limits, look.tint)
        ax.imshow(colours, interpolation=smooth, **common)
        drawn = {"vp": key}
    _draw_reflectors(ax, cut, look.reflectors, unit)
    draw_points(ax, cut, look, unit)
    label_axes(ax, cut, unit)
    return drawn


def label_axes(ax: Axes, cut: Cut, unit: Length) -> None:
    """Give axes the limits of a cut, and names with their unit."""
    left, right, low, high = (float(v) for v in unit(cut.extent))
    ax.set_xlim(left, right)
    h, v = cut.axes
    # depth grows downwards; a depth slice is a map, with y upwards
    ax.set_ylim((high, low) if v == 2 else (low, high))
    ax.set_xlabel(f"{NAMES[h]} ({unit.unit})")
    ax.set_ylabel(f"depth ({unit.unit})" if v == 2 else f"{NAMES[v]} ({unit.unit})")


def _interpolation(values: NDArray, pixels: tuple[float, float]) -> str:
    """Return how to draw: smooth between few points, filtered where points outnumber pixels."""
    many = values.shape[0] > pixels[0] or values.shape[1] > pixels[1]
    return "hanning" if many else "bilinear"


def draw_points(ax: Axes, cut: Cut, look: Look, unit: Length) -> None:
    """Mark sources and receivers on a map, or those near the plane on a vertical section."""
    h, v = cut.axes
    marks = (
        (look.rcv, "v", palettes.RECEIVER, 3.0, "receivers"),
        (look.src, "*", palettes.SOURCE, 8.0, "sources"),
    )
    for points, marker, colour, size, label in marks:
        if v == 2 and cut.grid.ndim == 3 and len(points):
            o, n, d = (getattr(cut.grid, k)[cut.normal] for k in ("origin3", "shape3", "spacing3"))
            away = np.abs(points[:, cut.normal] - cut.at)
            # the nearest line of stations belongs to the picture even when the plane runs between two lines
            nearest = float(away.min()) if away.min() <= 0.12 * n * d else 0.0
            near = away <= max(1.5 * d, 0.04 * n * d, nearest + 0.5 * d)
            points = points[near & (points[:, cut.normal] >= o - d) & (points[:, cut.normal] <= o + n * d)]
        left, right, low, high = cut.extent
        inside = (points[:, h] >= left) & (points[:, h] <= right)
        if v != 2:
            inside &= (points[:, v] >= low) & (points[:, v] <= high)
        points = style.thin(points[inside])
        if not len(points):
            continue
        few = len(points) <= FEW_STATIONS
        # thousands of marks on a map would hide it
        dots = not few and v != 2 and marker == "v"
        # not clipped: an acquisition at the surface would be cut in half by the frame
        y = np.clip(points[:, v], low, high)
        ax.plot(
            unit(points[:, h]),
            unit(y),
            "." if dots else marker,
            color=colour,
            markersize=1.5 if dots else size if few else size * 0.6,
            markeredgecolor=palettes.INK,
            # and a thousand dark rims would hide what lies beneath
            markeredgewidth=0.4 if few else 0.0,
            clip_on=False,
            zorder=5,
            label=label,
        )


def _draw_reflectors(ax: Axes, cut: Cut, reflectors: Sequence[Mapping[str, Any]], unit: Length) -> None:
    """Draw known reflectors as dashed lines on a vertical section."""
    h, v = cut.axes
    if v != 2:
        return
    for r in reflectors:
        if "depth" in r:
            z = np.asarray(r["depth"], dtype=np.float64)
            if z.shape != cut.grid.shape3[:2]:
                raise ConfigError(
                    f"reflector {r.get('name', '')}: depth has shape {z.shape}, not {cut.grid.shape3[:2]}",
                    "give one depth per (x, y) of the grid",
                )
            along = cut.grid.origin3[h] + cut.grid.spacing3[h] * np.arange(cut.grid.shape3[h])
            depth = np.take(z, cut.index, axis=cut.normal)
        elif NAMES[h] in r:
            along, depth = np.asarray(r[NAMES[h]], dtype=np.float64), np.asarray(r["z"], dtype=np.float64)
            # a line given at one place belongs to the section through that place alone
            place: Any = r.get(NAMES[cut.normal])
            if (
                np.ndim(place) == 0
                and place is not None
                and abs(place - cut.at) > cut.grid.spacing3[cut.normal]
            ):
                continue
        else:
            continue
        ax.plot(
            unit(along),
            unit(depth),
            "--",
            color=palettes.MARK,
            linewidth=0.9,
            zorder=4,
            label="known reflector",
        )
