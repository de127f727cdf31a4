"""Regular grids, index boxes, and the frame that ties a grid to map coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError
from subsalt.numerics import fixedmath
from subsalt.numerics.depth_axis import DepthAxis


@dataclass(frozen=True)
class Box:
    """A half-open range of grid indices ``lo <= (ix, iy, iz) < hi``; always three axes (2-D has ny = 1)."""

    lo: tuple[int, int, int]
    hi: tuple[int, int, int]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Points along x, y, z (never negative)."""
        nx, ny, nz = (max(0, h - l) for l, h in zip(self.lo, self.hi, strict=True))
        return nx, ny, nz

    @property
    def size(self) -> int:
        """Number of points."""
        return math.prod(self.shape)

    def intersect(self, other: Box) -> Box:
        """Return the common part."""
        lo = tuple(max(a, b) for a, b in zip(self.lo, other.lo, strict=True))
        hi = tuple(min(a, b) for a, b in zip(self.hi, other.hi, strict=True))
        return Box(lo, hi)  # type: ignore[arg-type]

    def split(self, axis: int, at: int) -> tuple[Box, Box]:
        """Cut at index `at` along `axis`; either part may be empty."""
        at = min(max(at, self.lo[axis]), self.hi[axis])
        hi, lo = list(self.hi), list(self.lo)
        hi[axis], lo[axis] = at, at
        return Box(self.lo, tuple(hi)), Box(tuple(lo), self.hi)  # type: ignore[arg-type]

    @property
    def slices(self) -> tuple[slice, slice, slice]:
        """Return the slices that select the box in an array (nx, ny, nz)."""
        x, y, z = (slice(l, h) for l, h in zip(self.lo, self.hi, strict=True))
        return x, y, z


#: points along an axis, and of a grid, that no machine holds: beyond them numbers are wrong, not large
MOST_ALONG, MOST_POINTS = 1 << 24, 1 << 42
#: sizes of coordinates and distances, m, and how many distances of points lie between the origin and zero: coordinates
#: in double precision then tell points apart
FARTHEST, NEAREST, RESOLVED = 1e12, 1e-12, 1e10


@dataclass(frozen=True)
class Grid:
    """A regular grid: (nx, nz) in 2-D, (nx, ny, nz) in 3-D; depth z is the fastest axis and positive down.

    Parameters
    ----------
    shape : tuple of int
        Points per axis.
    spacing : tuple of float
        Distance of points per axis, m.
    origin : tuple of float, optional
        Local coordinate of the first point per axis, m; zeros when left out.
    depth_axis : DepthAxis, optional
        Depths of the points where these are not equally spaced. `spacing` along z is then the finest.
    first_depth : int
        Number of the first point on that axis.
    """

    shape: tuple[int, ...]
    spacing: tuple[float, ...]
    origin: tuple[float, ...] = ()
    depth_axis: DepthAxis | None = None
    first_depth: int = 0

    def __post_init__(self) -> None:
        n = len(self.shape)
        if not self.origin:
            object.__setattr__(self, "origin", (0.0,) * n)
        object.__setattr__(self, "shape", tuple(int(v) for v in self.shape))
        object.__setattr__(self, "spacing", tuple(float(v) for v in self.spacing))
        object.__setattr__(self, "origin", tuple(float(v) for v in self.origin))
        if n not in (2, 3) or len(self.spacing) != n or len(self.origin) != n:
            raise ConfigError(
                f"a grid needs 2 or 3 axes; shape {self.shape}, spacing {self.spacing}, origin {self.origin}",
                "give the same number of values to shape, spacing and origin",
            )
        if min(self.shape) < 1 or not all(h > 0 and math.isfinite(h) for h in self.spacing):
            raise ConfigError(f"grid shape {self.shape} and spacing {self.spacing} must be positive")
        self._refuse_extremes()

    def _refuse_extremes(self) -> None:
        """Raise when no survey has such a grid: arithmetic on it would overflow, or no memory hold an axis of it."""
        if max(self.shape) > MOST_ALONG or self.size > MOST_POINTS:
            raise ConfigError(
                f"a grid of {' x '.join(map(str, self.shape))} points is more than any memory holds",
                "correct its shape, or the spacing that it follows from",
                code="E129",
            )
        for h, o in zip(self.spacing, self.origin, strict=True):
            if not (NEAREST <= h <= FARTHEST and abs(o) <= min(FARTHEST, RESOLVED * h)):
                raise ConfigError(
                    f"a grid of spacing {h:g} m that begins at {o:g} m: its points have the same coordinates",
                    "correct spacing and origin; both are in m",
                    code="E129",
                )

    @property
    def ndim(self) -> int:
        """2 or 3."""
        return len(self.shape)

    @property
    def shape3(self) -> tuple[int, int, int]:
        """Shape with ny = 1 in 2-D."""
        return self.shape if self.ndim == 3 else (self.shape[0], 1, self.shape[1])  # type: ignore[return-value]

    @property
    def spacing3(self) -> tuple[float, float, float]:
        """Spacing with dy = 1 in 2-D (so that cell volumes are areas there)."""
        return self.spacing if self.ndim == 3 else (self.spacing[0], 1.0, self.spacing[1])  # type: ignore[return-value]

    @property
    def origin3(self) -> tuple[float, float, float]:
        """Origin with y = 0 in 2-D."""
        return self.origin if self.ndim == 3 else (self.origin[0], 0.0, self.origin[1])  # type: ignore[return-value]

    @property
    def box(self) -> Box:
        """The box of all points."""
        return Box((0, 0, 0), self.shape3)

    @property
    def size(self) -> int:
        """Number of points."""
        return math.prod(self.shape)

    @property
    def cell_volume(self) -> float:
        """Product of the spacings: m^3, or m^2 in 2-D."""
        return math.prod(self.spacing)

    @property
    def last(self) -> tuple[float, ...]:
        """Local coordinate of the last point per axis, m."""
        last = tuple(o + (n - 1) * h for o, n, h in zip(self.origin, self.shape, self.spacing, strict=True))
        return last if self.depth_axis is None else (*last[:-1], float(self.axis(-1)[-1]))

    def axis(self, i: int) -> NDArray[np.float64]:
        """Return the coordinates along axis `i` (0 is x, -1 is z), m."""
        if (depths := self._follows_depth(i)) is not None:
            return depths.to_depth(self.first_depth + np.arange(self.shape[-1], dtype=np.float64))
        return self.origin[i] + self.spacing[i] * np.arange(self.shape[i], dtype=np.float64)

    def index_along(self, i: int, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the fractional indices of coordinates along axis `i`, m."""
        if (depths := self._follows_depth(i)) is not None:
            return depths.to_zeta(places) - self.first_depth
        return (places - self.origin[i]) / self.spacing[i]

    def spacing_along(self, i: int, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distance of neighbouring points along axis `i` at coordinates along it, m."""
        if (depths := self._follows_depth(i)) is not None:
            return depths.spacing / depths.scale_at(places)
        return np.full(len(places), self.spacing[i])

    @property
    def depth_scale(self) -> NDArray[np.float64] | None:
        """Finest spacing over the spacing at each depth, (nz,); None where all are the same."""
        return None if self.depth_axis is None else self.depth_axis.scale_at(self.axis(-1))

    @property
    def even_depths(self) -> int:
        """Points along z if all were as near each other as the nearest."""
        if self.depth_axis is None:
            return self.shape[-1]
        return 1 + math.ceil((self.last[-1] - self.origin[-1]) / self.spacing[-1] - 1e-6)

    def _follows_depth(self, i: int) -> DepthAxis | None:
        return self.depth_axis if i in (-1, self.ndim - 1) else None

    def to_index(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return fractional indices (n, 3) of local points (n, 3); y is ignored (0) in 2-D."""
        pts = np.asarray(points, dtype=np.float64)
        out = (pts - np.array(self.origin3)) / np.array(self.spacing3)
        if self.ndim == 2:
            out[..., 1] = 0.0
        if self.depth_axis is not None:
            out[..., 2] = self.index_along(-1, pts[..., 2])
        return out

    def at_nodes(self, nodes: NDArray[np.int_]) -> NDArray[np.float64]:
        """Return the local coordinates (n, 3) of nodes (n, 3) of the grid, m."""
        out = np.array(self.origin3) + nodes * np.array(self.spacing3)
        if self.depth_axis is not None:
            out[:, 2] = self.axis(-1)[nodes[:, 2]]
        return out

    def window(self, box: Box) -> Grid:
        """Return the grid of the points in `box` (which may reach outside: the grid is then larger)."""
        keep = (0, 2) if self.ndim == 2 else (0, 1, 2)
        shape = tuple(box.shape[i] for i in keep)
        origin = tuple(self.origin3[i] + box.lo[i] * self.spacing3[i] for i in keep)
        if self.depth_axis is None:
            return Grid(shape, self.spacing, origin)
        first = self.first_depth + box.lo[2]
        top = self.depth_axis.depth_of(first)
        return Grid(shape, self.spacing, (*origin[:-1], top), self.depth_axis, first)

    def __iter__(self) -> Iterator[int]:
        raise TypeError("a Grid is not a sequence; use grid.shape")


@dataclass(frozen=True)
class Frame:
    """Where local x, y lie on the map: local = rotate(world - origin).

    Parameters
    ----------
    x0, y0 : float
        Map coordinate of the local point (0, 0), m.
    azimuth : float
        Angle from map x (east) to local x (inline axis), radians, towards map y (north).
    flip : bool
        Local y points to the right of local x instead of to its left.
    """

    x0: float = 0.0
    y0: float = 0.0
    azimuth: float = 0.0
    flip: bool = False

    @property
    def _turn(self) -> tuple[float, float]:
        """Cosine and sine of the azimuth, with the same bits on every machine; positions feed the image."""
        if self.azimuth == 0.0:
            return 1.0, 0.0
        return float(fixedmath.cos(self.azimuth)), float(fixedmath.sin(self.azimuth))

    def to_local(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map points (n, 3) from map coordinates to local ones; z stays."""
        pts = np.array(points, dtype=np.float64, copy=True)
        c, s = self._turn
        dx, dy = pts[..., 0] - self.x0, pts[..., 1] - self.y0
        pts[..., 0] = c * dx + s * dy
        pts[..., 1] = (-1.0 if self.flip else 1.0) * (c * dy - s * dx)
        return pts

    def to_world(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map points (n, 3) from local coordinates to map ones; z stays."""
        pts = np.array(points, dtype=np.float64, copy=True)
        c, s = self._turn
        lx, ly = pts[..., 0].copy(), (-1.0 if self.flip else 1.0) * pts[..., 1]
        pts[..., 0] = self.x0 + c * lx - s * ly
        pts[..., 1] = self.y0 + s * lx + c * ly
        return pts


def map_corners(grid: Grid, frame: Frame) -> NDArray[np.float64]:
    """Return map coordinates of the corners of a 3-D grid, (4, 2), m: around it from the first node, along x first."""
    (x, y, _), (far_x, far_y, _) = grid.origin, grid.last
    around = [[x, y, 0.0], [far_x, y, 0.0], [far_x, far_y, 0.0], [x, far_y, 0.0]]
    return frame.to_world(np.array(around))[:, :2]
