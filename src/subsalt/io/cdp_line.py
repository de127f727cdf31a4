"""Traces without coordinates: of a straight 2-D line by CDP numbers, or of bins by the positions of these."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.errors import ConfigError
from subsalt.numerics import fixedmath


@dataclass(frozen=True)
class LineGeometry:
    """Where the CDPs of a straight line lie.

    Parameters
    ----------
    spacing : float
        Distance from one CDP number to the next, m.
    first_cdp : int
        The CDP that lies at `origin`.
    origin : tuple of float
        Its map position x, y, m.
    azimuth : float
        Direction of growing CDP numbers, degrees clockwise from map y (north); 90 is along map x.
    offset : float, optional
        One signed offset for all traces instead of that of the headers, m; 0 for a stacked section.
    """

    spacing: float
    first_cdp: int
    origin: tuple[float, float] = (0.0, 0.0)
    azimuth: float = 90.0
    offset: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.spacing) and self.spacing > 0):
            raise ConfigError(
                f"the CDPs of a line are {self.spacing!r} m apart",
                "give the distance of neighbouring midpoints, half the group spacing as a rule",
                code="E721",
            )

    @property
    def direction(self) -> tuple[float, float]:
        """Unit vector along the line."""
        return heading(self.azimuth)

    @property
    def per_cdp(self) -> tuple[float, float]:
        """Map vector from one CDP number to the next, m."""
        ux, uy = self.direction
        return self.spacing * ux, self.spacing * uy

    def position(self, cdp: ArrayLike) -> NDArray[np.float64]:
        """Return map positions of CDP numbers, (n, 2), m."""
        steps = np.atleast_1d(np.asarray(cdp, np.float64)) - self.first_cdp
        dx, dy = self.per_cdp
        return np.stack([self.origin[0] + steps * dx, self.origin[1] + steps * dy], axis=1)

    def ends(
        self, cdp: NDArray[np.int32], offset: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return sources and receivers, (n, 2) each: half the signed offset before and behind the midpoint.

        Parameters
        ----------
        cdp : ndarray, (n,), int32
        offset : ndarray, (n,), float64
            Positive: the receiver lies towards larger CDP numbers, m.
        """
        return around(self.position(cdp), offset if self.offset is None else self.offset, self.azimuth)


@dataclass(frozen=True)
class BinGeometry:
    """Traces whose bins have positions, sources and receivers none.

    Parameters
    ----------
    azimuth : float
        Direction of positive offsets, from source to receiver: degrees clockwise from map y (north).
    """

    azimuth: float = 90.0


def heading(azimuth: float) -> tuple[float, float]:
    """Return the unit vector of a direction, degrees clockwise from map y; exact along the map axes."""
    quarter = {0.0: (0.0, 1.0), 90.0: (1.0, 0.0), 180.0: (0.0, -1.0), 270.0: (-1.0, 0.0)}
    turn = azimuth % 360.0
    if turn in quarter:
        return quarter[turn]
    angle = turn * (fixedmath.PI / 180.0)
    return float(fixedmath.sin(angle)), float(fixedmath.cos(angle))


def around(
    middle: NDArray[np.float64], offset: NDArray[np.float64] | float, azimuth: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sources and receivers, (n, 2) each, half the signed offset before and behind midpoints (n, 2)."""
    half = 0.5 * np.broadcast_to(np.asarray(offset, np.float64), len(middle))
    ux, uy = heading(azimuth)
    step = np.stack([half * ux, half * uy], axis=1)
    return middle - step, middle + step
