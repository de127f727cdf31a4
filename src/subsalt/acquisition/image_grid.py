"""The grid of a time image: inline and crossline numbers on the map, and two-way time.

`ImageGrid` converts map positions to inline and crossline numbers, and back. Velocities are placed by these numbers: an
image at every second line has the velocities of those lines in the whole image, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.earth.grid import MOST_ALONG
from subsalt.errors import ConfigError

#: a first, a last (inclusive) and a step of line numbers
Lines = tuple[int, int, int]
Vector = tuple[float, float]


@dataclass(frozen=True)
class LocationBox:
    """Locations i0 <= i < i1 along inlines and j0 <= j < j1 along crosslines, as indices of an `ImageGrid`."""

    i0: int
    i1: int
    j0: int
    j1: int

    @property
    def shape(self) -> tuple[int, int]:
        """Inlines and crosslines of the box."""
        return max(0, self.i1 - self.i0), max(0, self.j1 - self.j0)

    @property
    def size(self) -> int:
        """Locations of the box."""
        ni, nj = self.shape
        return ni * nj


@dataclass(frozen=True)
class ImageGrid:
    """The output locations of a time migration and the time axis of their traces.

    Parameters
    ----------
    inlines, crosslines : tuple of int
        First number, last number (inclusive), increment; the increment may be negative.
    corner : tuple of float
        Map position of the location (first inline, first crossline), m.
    per_inline, per_crossline : tuple of float
        Map vector from one inline NUMBER to the next, and from one crossline number to the next, m.
    time : TimeAxis
        Two-way time t0 of the image traces; the first not below 0.

    Notes
    -----
    A 2-D line has one inline; its crosslines are CDPs, and `per_crossline` is the CDP spacing along the line.
    """

    inlines: Lines
    crosslines: Lines
    corner: Vector
    per_inline: Vector
    per_crossline: Vector
    time: TimeAxis

    def __post_init__(self) -> None:
        for name in ("inlines", "crosslines"):
            check_lines(name[:-1], getattr(self, name))
        values = [*self.corner, *self.per_inline, *self.per_crossline]
        if not all(math.isfinite(v) for v in values):
            raise ConfigError(f"the image grid has a position that is not a number: {values}", code="E760")
        across = abs(self.per_inline[0] * self.per_crossline[1] - self.per_inline[1] * self.per_crossline[0])
        sides = math.hypot(*self.per_inline) * math.hypot(*self.per_crossline)
        # below a degree between them, inlines and crosslines are one direction
        if not across > math.sin(math.radians(1)) * sides:
            raise ConfigError(
                f"inline numbers grow along {_text(self.per_inline)} m and crossline numbers along "
                f"{_text(self.per_crossline)} m: these are no two directions",
                "give corner points that span an area",
                code="E760",
            )
        if max(*self.shape, self.time.nt) > MOST_ALONG:
            raise ConfigError(
                f"an image of {self.shape[0]} x {self.shape[1]} locations and {self.time.nt} samples is more than any "
                "memory holds",
                "correct the numbers of its corners or bins, and the step of its time",
                code="E129",
            )
        if self.time.t0 < 0:
            raise ConfigError(
                f"the image begins at {self.time.t0:g} s, before time zero", "let it begin at 0", code="E765"
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of inlines and of crosslines."""
        return count(self.inlines), count(self.crosslines)

    @property
    def size(self) -> int:
        """Number of locations."""
        ni, nj = self.shape
        return ni * nj

    @property
    def whole(self) -> LocationBox:
        """All locations."""
        ni, nj = self.shape
        return LocationBox(0, ni, 0, nj)

    def part(self, box: LocationBox) -> ImageGrid:
        """Return the grid of the locations of a box."""
        if box == self.whole:
            return self
        lines = []
        for (first, _, step), a, b in ((self.inlines, box.i0, box.i1), (self.crosslines, box.j0, box.j1)):
            lines.append((first + a * step, first + (b - 1) * step, step))
        (ix, iy), (jx, jy) = self.steps
        corner = (
            self.corner[0] + box.i0 * ix + box.j0 * jx,
            self.corner[1] + box.i0 * iy + box.j0 * jy,
        )
        return replace(self, inlines=lines[0], crosslines=lines[1], corner=corner)

    @property
    def steps(self) -> tuple[Vector, Vector]:
        """Map vectors from one output inline to the next, and from one output crossline to the next, m."""
        (ix, iy), (jx, jy) = self.per_inline, self.per_crossline
        si, sj = self.inlines[2], self.crosslines[2]
        return (si * ix, si * iy), (sj * jx, sj * jy)

    @property
    def spacing(self) -> Vector:
        """Distance from one output inline to the next, and from one output crossline to the next, m."""
        a, b = self.steps
        return _length(a), _length(b)

    @property
    def numbered_spacing(self) -> Vector:
        """Distance from one inline number to the next, and from one crossline number to the next, m."""
        return _length(self.per_inline), _length(self.per_crossline)

    @property
    def is_line(self) -> bool:
        """Whether there is one inline only: a 2-D line."""
        return self.shape[0] == 1

    def axes(self) -> tuple[Vector, Vector]:
        """Return the unit vectors on the map along which output inlines and crosslines follow each other."""
        a, b = self.steps
        la, lb = self.spacing
        return (a[0] / la, a[1] / la), (b[0] / lb, b[1] / lb)

    def positions(self, box: LocationBox | None = None) -> NDArray[np.float64]:
        """Return the map positions (n, 2), m, of all locations or of those of a box; crossline fastest."""
        box = box or self.whole
        i = np.arange(box.i0, box.i1, dtype=np.float64)[:, None]
        j = np.arange(box.j0, box.j1, dtype=np.float64)[None, :]
        (ax, ay), (bx, by) = self.steps
        x = (self.corner[0] + i * ax) + j * bx
        y = (self.corner[1] + i * ay) + j * by
        return np.ascontiguousarray(np.stack([x, y], axis=-1).reshape(-1, 2))

    def numbers(self, box: LocationBox | None = None) -> NDArray[np.int64]:
        """Return inline and crossline numbers (n, 2) of all locations or of those of a box; crossline fastest."""
        box = box or self.whole
        i = self.inlines[0] + self.inlines[2] * np.arange(box.i0, box.i1, dtype=np.int64)
        j = self.crosslines[0] + self.crosslines[2] * np.arange(box.j0, box.j1, dtype=np.int64)
        return np.stack(np.broadcast_arrays(i[:, None], j[None, :]), axis=-1).reshape(-1, 2)

    def index_of(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return where map points (n, 2) lie, as fractional indices (n, 2) of output inline and crossline."""
        (ax, ay), (bx, by) = self.steps
        det = ax * by - ay * bx
        dx, dy = points[:, 0] - self.corner[0], points[:, 1] - self.corner[1]
        return np.stack([(by * dx - bx * dy) / det, (ax * dy - ay * dx) / det], axis=-1)

    def corners(self) -> NDArray[np.float64]:
        """Return the map positions (4, 2) of the corners, m, in order around the grid."""
        ni, nj = self.shape
        (ax, ay), (bx, by) = self.steps
        at = [(0, 0), (ni - 1, 0), (ni - 1, nj - 1), (0, nj - 1)]
        return np.array([(self.corner[0] + i * ax + j * bx, self.corner[1] + i * ay + j * by) for i, j in at])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for the report and for JSON."""
        return {
            "inlines": list(self.inlines),
            "crosslines": list(self.crosslines),
            "locations": self.size,
            "corner_m": list(self.corner),
            "per_inline_m": list(self.per_inline),
            "per_crossline_m": list(self.per_crossline),
            "spacing_m": list(self.spacing),
            "time_s": [self.time.t0, self.time.duration, self.time.dt],
            "samples": self.time.nt,
        }

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> ImageGrid:
        """Return the grid of facts from `to_dict`; a missing or wrong value raises its own error."""
        first, _, dt = (float(t) for t in facts["time_s"])
        i, j = (tuple(int(n) for n in facts[k]) for k in ("inlines", "crosslines"))
        at, per_i, per_j = (
            (float(facts[k][0]), float(facts[k][1])) for k in ("corner_m", "per_inline_m", "per_crossline_m")
        )
        time = TimeAxis(int(facts["samples"]), dt, first)
        return cls((i[0], i[1], i[2]), (j[0], j[1], j[2]), at, per_i, per_j, time)


def count(lines: Lines) -> int:
    """Return how many lines a first, last and step stand for."""
    first, last, step = lines
    return (last - first) // step + 1


def check_lines(what: str, lines: Lines) -> None:
    """Refuse a range of line numbers whose step does not lead from the first to the last."""
    first, last, step = lines
    if step == 0 or (last - first) % step != 0 or (last - first) // step < 0:
        raise ConfigError(
            f"{what}s {first} to {last} in steps of {step}: "
            + ("a step of 0 leads nowhere" if step == 0 else "the last one is never reached"),
            _cure(first, last, step),
            code="E761",
        )


def _cure(first: int, last: int, step: int) -> str:
    """Return steps that lead from the first to the last, or lasts that the step reaches."""
    if step == 0:
        return "use a step of 1"
    if (last - first) * step < 0:
        return f"use a step of {-step}, or exchange first and last"
    end = first + (last - first) // step * step
    return f"use last = {end} or {end + step}, or a step that divides {last - first}"


def _length(vector: Vector) -> float:
    # math.hypot may differ in its last bit from one C library to another; the square root may not
    return math.sqrt(vector[0] * vector[0] + vector[1] * vector[1])


def _text(vector: Vector) -> str:
    return f"({vector[0]:g}, {vector[1]:g})"


class TimeVelocity(Protocol):
    """Rms velocity and eta by map position and two-way time."""

    def at(
        self, points: NDArray[np.float64], time: TimeAxis
    ) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Return velocity and eta of output traces.

        Parameters
        ----------
        points : ndarray, (n, 2), float64
            Map positions, m.
        time : TimeAxis
            Two-way times of the output samples; the first one is not negative.

        Returns
        -------
        v : ndarray, (n, nt), float32
            Rms velocity, m/s.
        eta : ndarray, (n, nt), float32, or None
            Effective eta: what the job gives, and with curved rays that of the layering; None: 0 everywhere.
        """

    def describe(self) -> dict[str, Any]:
        """Return where it comes from, as plain values for reports."""


#: steps into which a line number, and a metre on the map, are divided: what is finer is rounding of coordinates
FINEST = 1e6


def numbers_of(grid: ImageGrid, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inline and crossline numbers (n, 2) of map positions (n, 2), m, to a millionth."""
    first = np.array([grid.inlines[0], grid.crosslines[0]], dtype=np.float64)
    step = np.array([grid.inlines[2], grid.crosslines[2]], dtype=np.float64)
    return snapped(first + step * grid.index_of(points))


def positions_of(grid: ImageGrid, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the map positions (n, 2), m, of inline and crossline numbers (n, 2)."""
    i, j = numbers[:, 0] - grid.inlines[0], numbers[:, 1] - grid.crosslines[0]
    (ax, ay), (bx, by) = grid.per_inline, grid.per_crossline
    return np.stack([(grid.corner[0] + i * ax) + j * bx, (grid.corner[1] + i * ay) + j * by], axis=-1)


def snapped(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values to a millionth."""
    return np.round(values * FINEST) / FINEST
