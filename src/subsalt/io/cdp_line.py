"""A straight 2-D line of traces that have CDP numbers and offsets, but no coordinates."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt import fixedmath
from subsalt.errors import ConfigError


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
        """Unit vector along the line; exact along the map axes."""
        quarter = {0.0: (0.0, 1.0), 90.0: (1.0, 0.0), 180.0: (0.0, -1.0), 270.0: (-1.0, 0.0)}
        turn = self.azimuth % 360.0
        if turn in quarter:
            return quarter[turn]
        angle = turn * (fixedmath.PI / 180.0)
        return float(fixedmath.sin(angle)), float(fixedmath.cos(angle))

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
        half = 0.5 * (offset if self.offset is None else np.full(len(offset), self.offset))
        ux, uy = self.direction
        step = np.stack([half * ux, half * uy], axis=1)
        middle = self.position(cdp)
        return middle - step, middle + step
