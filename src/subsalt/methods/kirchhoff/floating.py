"""The floating datum of a time migration on land: a smooth surface through elevations, from which times count.

Sources and receivers are moved to the surface straight down or up, by a replacement velocity (statics); from there legs
are computed by geometry: the end of a leg lies as far above or below time zero of the image as the surface says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import TimeVelocity
from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError
from subsalt.kernels.kirchhoff_arguments import Below
from subsalt.methods.kirchhoff.velocity.time_velocity import from_zero

if TYPE_CHECKING:
    from subsalt.io.prestack.table import TraceTable
    from subsalt.methods.kirchhoff.sections import FloatingDatumSection

#: header values of a table that it needs: heights of sources and receivers, m, positive down
HEIGHTS = ("source_z", "receiver_z")
#: cells of the lattice in a radius: the weight changes by less than 0.2 from one to the next
CELLS = 8
#: cells of a lattice, which take a second: 10^3 km^2 with a radius of 260 m
MOST_CELLS = 1_000_000


@dataclass(frozen=True, eq=False)
class SmoothSurface:
    """Elevations averaged over a radius, on a lattice, linear between its points and constant outside.

    Parameters
    ----------
    first : ndarray, (2,), float64
        Map position of the first point, m.
    step : float
        From point to point along x and y, m.
    values : ndarray, (nx, ny), float64
        Elevations, m, positive up.
    known : ndarray, (nx, ny), bool
        Points with elevations within the radius; the others have the value of the nearest of these.
    """

    first: NDArray[np.float64]
    step: float
    values: NDArray[np.float64]
    known: NDArray[np.bool_]

    @classmethod
    def through(
        cls, points: NDArray[np.float64], elevation: NDArray[np.float64], radius: float
    ) -> SmoothSurface:
        """Return the mean of elevations around every point of a lattice of ``radius / 8``.

        Parameters
        ----------
        points : ndarray, (n, 2)
            Map positions, m.
        elevation : ndarray, (n,)
            There, m, positive up.
        radius : float
            At which the weight (1 - d^2 / radius^2)^2 ends, m.

        Raises
        ------
        ConfigError
            E750, when the radius is too small for the extent of the points.

        Notes
        -----
        Elevations of one cell of the lattice are averaged first: many traces of one station count once. All sums are
        added in one order, so that the surface has the same bits on every processor.
        """
        step, low = radius / CELLS, points.min(axis=0)
        place = np.floor((points - low) / step).astype(np.int64) + CELLS
        shape = tuple(int(n) + CELLS + 1 for n in place.max(axis=0))
        if shape[0] * shape[1] > MOST_CELLS:
            extent = points.max(axis=0) - low
            least = CELLS * float(np.sqrt(extent[0] * extent[1] / MOST_CELLS) + extent.max() / MOST_CELLS)
            raise ConfigError(
                f"floating_datum radius = {radius:g} m is too small for stations over {extent[0]:.0f} x "
                f"{extent[1]:.0f} m",
                f"use {np.ceil(1.2 * least):.0f} m or more",
                code="E750",
            )
        cell = place[:, 0] * shape[1] + place[:, 1]
        count = np.bincount(cell, minlength=shape[0] * shape[1])
        # elevations that are all alike give them back exactly
        level = float(elevation[0])
        sums = np.bincount(cell, weights=elevation - level, minlength=len(count))
        here = (count > 0).astype(np.float64).reshape(shape)
        mean = (sums / np.maximum(count, 1)).reshape(shape)
        above, below = np.zeros(shape), np.zeros(shape)
        for weight, out, into in _neighbours(shape):
            above[into] += weight * mean[out]
            below[into] += weight * here[out]
        known = below > 0
        values = above / np.where(known, below, 1.0)
        if not known.all():
            from scipy.ndimage import distance_transform_edt

            nearest = distance_transform_edt(~known, return_distances=False, return_indices=True)
            values = values[tuple(nearest)]
        # cells are counted from their middle
        return cls(low + (0.5 - CELLS) * step, step, level + values, known)

    def _corners(self, points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        last = np.array(self.values.shape) - 1
        at = np.clip((points - self.first) / self.step, 0.0, last)
        corner = np.minimum(at.astype(np.int64), last - 1)
        return corner, at - corner

    def at(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the elevation at map positions (n, 2), m."""
        corner, f = self._corners(points)
        i, j = corner[:, 0], corner[:, 1]
        v, x, y = self.values, f[:, 0], f[:, 1]
        near = v[i, j] + y * (v[i, j + 1] - v[i, j])
        far = v[i + 1, j] + y * (v[i + 1, j + 1] - v[i + 1, j])
        return near + x * (far - near)

    def covers(self, points: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which map positions (n, 2) have elevations within the radius."""
        corner, f = self._corners(points)
        at = corner + (f >= 0.5)
        inside = np.abs((points - self.first) / self.step - at).max(axis=1) <= 1.0
        return inside & self.known[at[:, 0], at[:, 1]]


def _neighbours(shape: tuple[int, ...]) -> Iterator[tuple[float, Any, Any]]:
    """Yield weight, source and target of every shift of a lattice within the radius, in one order."""

    def halves(d: int, n: int) -> tuple[slice, slice]:
        return slice(max(0, d), n + min(0, d)), slice(max(0, -d), n - max(0, d))

    for i in range(1 - CELLS, CELLS):
        for j in range(1 - CELLS, CELLS):
            rest = 1.0 - (i * i + j * j) / CELLS**2
            if rest > 0:
                (a, b), (c, d) = halves(i, shape[0]), halves(j, shape[1])
                yield rest * rest, (a, c), (b, d)


@dataclass(frozen=True, eq=False)
class FloatingDatum:
    """Heights of sources, receivers and image traces as one-way times: elevation over the replacement velocity.

    Parameters
    ----------
    surface : SmoothSurface
        The floating datum.
    velocity : float
        Replacement velocity, m/s.
    flat : float or None
        Elevation of time zero of the image, m; None: on the surface.
    height : ndarray, (n, 2), float64
        Of the surface at source and receiver of all traces, s.
    late : ndarray, (n,), float64
        By how much traces come later than from there: statics with the other sign, s.
    """

    surface: SmoothSurface
    velocity: float
    flat: float | None
    height: NDArray[np.float64]
    late: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        surface: SmoothSurface,
        velocity: float,
        flat: float | None,
        src: NDArray[np.float64],
        rcv: NDArray[np.float64],
    ) -> FloatingDatum:
        """Return the heights of traces with sources and receivers (n, 3): x, y, elevation, m."""
        on = np.stack([surface.at(p[:, :2]) for p in (src, rcv)], axis=1)
        above = (src[:, 2] - on[:, 0]) + (rcv[:, 2] - on[:, 1])
        return cls(surface, velocity, flat, on / velocity, above / velocity)

    @property
    def plane(self) -> bool:
        """Whether everything lies on one level, from which times count: as without a floating datum."""
        level = self.surface.values.flat[0]
        return bool(
            (self.surface.values == level).all() and not self.late.any() and self.flat in (None, level)
        )

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        s = self.surface
        return self.height.nbytes + self.late.nbytes + s.values.nbytes + s.known.nbytes

    def zero(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the elevation of time zero of image traces at map positions (n, 2), m."""
        return self.surface.at(points) if self.flat is None else np.full(len(points), self.flat)

    def below(self, points: NDArray[np.float64]) -> Below:
        """Return the heights of image traces at map positions (n, 2)."""
        surface = self.surface.at(points) / self.velocity
        return Below(
            surface if self.flat is None else np.full(len(points), self.flat / self.velocity), surface
        )

    def facts(self) -> dict[str, Any]:
        """Return what the report says."""
        known = self.surface.values[self.surface.known]
        return {
            "velocity": self.velocity,
            "flat": self.flat,
            "elevations": [float(known.min()), float(known.max())],
            "statics": [float(-self.late.max()), float(-self.late.min())],
        }


class FromFlatDatum:
    """A velocity whose times count from the floating datum, by times that count from a flat one; see `TimeVelocity`.

    Parameters
    ----------
    velocity : TimeVelocity
        From the floating datum.
    datum : FloatingDatum
        With a flat one.
    """

    def __init__(self, velocity: TimeVelocity, datum: FloatingDatum) -> None:
        self.velocity, self.datum = velocity, datum

    def at(
        self, points: NDArray[np.float64], time: TimeAxis
    ) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Return velocity and eta, linear between samples; above the floating datum those at it."""
        t0 = self.datum.below(points).t0(time)
        axis, _ = from_zero(time)
        more = max(0, int(np.ceil((t0.max(initial=0.0) - axis.duration) / axis.dt)))
        axis = TimeAxis(axis.nt + more, axis.dt, axis.t0)
        at = np.clip((t0 - axis.t0) / axis.dt, 0.0, axis.nt - 1)
        k = np.minimum(at.astype(np.int64), max(axis.nt - 2, 0))
        f = at - k

        def read(values: NDArray[np.float32]) -> NDArray[np.float32]:
            a, b = (np.take_along_axis(values, np.minimum(i, axis.nt - 1), axis=1) for i in (k, k + 1))
            return (a + f * (b.astype(np.float64) - a)).astype(np.float32)

        v, eta = self.velocity.at(points, axis)
        return read(v), None if eta is None else read(eta)

    def describe(self) -> dict[str, Any]:
        """Return where it comes from."""
        return self.velocity.describe()


def floating_datum(
    section: FloatingDatumSection, table: TraceTable, elevations: NDArray[np.float64] | None
) -> FloatingDatum:
    """Return the floating datum of a job.

    Parameters
    ----------
    section : FloatingDatumSection
        Radius, velocity and flat datum.
    table : TraceTable
        With the heights of sources and receivers, `HEIGHTS`.
    elevations : ndarray, (n, 3), or None
        Map positions and elevations of the file that the job names, m; None: those of sources and receivers.

    Raises
    ------
    ConfigError
        E750 without elevations, or with too small a radius; E751 where the file does not reach; E752 when statics are
        longer than the records.
    """
    # z is positive down
    src, rcv = (
        np.column_stack([at, -table.headers[name]])
        for at, name in zip((table.src, table.rcv), HEIGHTS, strict=True)
    )
    if elevations is None and not (src[:, 2].any() or rcv[:, 2].any()):
        raise ConfigError(
            "floating_datum needs elevations, and those of all sources and receivers are zero (bytes 41, 45, 49)",
            "name a file with the columns x,y,elevation in [kirchhoff.floating_datum] elevations, or positions in "
            "[data.geometry]; or leave floating_datum out",
            code="E750",
        )
    known = np.concatenate([src, rcv]) if elevations is None else elevations
    surface = SmoothSurface.through(known[:, :2], known[:, 2], section.radius)
    for what, points in (("source", src), ("receiver", rcv)):
        far = ~surface.covers(points[:, :2])
        if far.any():
            x, y = points[far][0, :2]
            raise ConfigError(
                f"{int(far.sum())} of {len(far)} traces have their {what} farther than {section.radius:g} m from all "
                f"elevations, such as x {x:.1f}, y {y:.1f} m",
                f"add elevations there, or use a radius above {section.radius:g} m",
                code="E751",
            )
    made = FloatingDatum.of(surface, section.velocity, section.flat, src, rcv)
    low, high = made.facts()["statics"]
    length = table.time.duration - table.time.t0
    if max(-low, high) > length:
        raise ConfigError(
            f"a trace lies {max(-low, high):.4g} s of two-way time from the floating datum, and the records have "
            f"{length:.4g} s",
            "elevations are in metres: check the scalar of byte 69 ([data.fix] elevation_scalar) and the replacement "
            f"velocity, {section.velocity:g} m/s",
            code="E752",
        )
    return made
