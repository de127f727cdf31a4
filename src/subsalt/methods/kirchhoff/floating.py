"""The floating datum of a time migration on land: a smooth surface through elevations, from which times count.

Sources and receivers are moved to the surface straight down or up, by a replacement velocity (statics); from there legs
are computed by geometry: the end of a leg lies as far above or below time zero of the image as the surface says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import TimeVelocity
from subsalt.acquisition.survey import TimeAxis
from subsalt.earth.smooth_surface import SmoothSurface
from subsalt.errors import ConfigError
from subsalt.kernels.kirchhoff_arguments import Below
from subsalt.methods.kirchhoff.velocity.time_velocity import from_zero

if TYPE_CHECKING:
    from subsalt.io.prestack.table import TraceTable
    from subsalt.methods.kirchhoff.sections import FloatingDatumSection

#: header values of a table that it needs: heights of sources and receivers, m, positive down
HEIGHTS = ("source_z", "receiver_z")


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
        Height of the surface at source and receiver of all traces, as time, s.
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
