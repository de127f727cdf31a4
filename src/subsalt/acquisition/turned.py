"""3-D surveys whose lines run at an angle to the map: their direction, and the frame whose axes run along them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.line import bent
from subsalt.acquisition.survey import Shot, Survey
from subsalt.earth.grid import Frame

#: shots whose receivers are examined, and steps between stations, in medians, that are taken for steps along a line
SHOTS, SHORTEST, LONGEST = 50, 0.3, 3.0
#: resultant length of the directions of steps, four-fold, from which stations follow lines: a spread of 10 degrees
#: about two perpendicular directions has 0.78
CLEAR = 0.8
#: degrees below which lines run along the axes
ALONG = 0.5
#: share of the rectangle along the axes that one along the lines must save
SAVED = 0.02


@dataclass(frozen=True)
class LineOrientation:
    """The lines of a survey against the axes of its local coordinates.

    Parameters
    ----------
    degrees : float
        Direction of the lines on the map, from map x towards map y, above -45 up to 45: x runs along the lines of
        receivers or across them, whichever is nearer to map x.
    frame : Frame
        Its axes run along the lines, and all stations have positive coordinates.
    share : float
        Area of the smallest rectangle along the lines that holds the survey, of that along the axes.
    """

    degrees: float
    frame: Frame
    share: float

    @property
    def key(self) -> str:
        """The frame as a value of ``[data] frame``."""
        f = self.frame
        return f"{{x0 = {f.x0:.10g}, y0 = {f.y0:.10g}, azimuth = {self.degrees:g}}}"


def direction_of_lines(shots: Sequence[Shot]) -> float | None:
    """Return the direction of the lines of receivers, degrees from x towards y, see `direction_of_steps`."""
    some = [shots[i] for i in np.unique(np.linspace(0, len(shots) - 1, min(SHOTS, len(shots))).astype(int))]
    return direction_of_steps(
        np.concatenate([np.empty((0, 2)), *(np.diff(s.rcv[:, :2], axis=0) for s in some)])
    )


def direction_of_steps(steps: NDArray[np.float64]) -> float | None:
    """Return the direction of steps from one receiver of a shot to the next, (n, 2), m.

    Returns
    -------
    float or None
        Degrees from x towards y, above -45 up to 45, to a hundredth; None where receivers follow no lines.

    Notes
    -----
    The mean of the directions, each taken four-fold, so that lines and the steps across them count the same; steps
    between the ends of lines are left out by their length.
    """
    length = np.hypot(steps[:, 0], steps[:, 1])
    steps, length = steps[length > 0], length[length > 0]
    if not len(steps):
        return None
    middle = float(np.median(length))
    keep = (length >= SHORTEST * middle) & (length <= LONGEST * middle)
    c, s = (steps[keep] / length[keep, None]).T
    fours = math.fsum(c**4 - 6 * c**2 * s**2 + s**4), math.fsum(4 * (c**3 * s - c * s**3))
    if math.hypot(*fours) < CLEAR * len(c):
        return None
    degrees = round(math.degrees(math.atan2(fours[1], fours[0])) / 4, 2) + 0.0
    return degrees + 90.0 if degrees <= -45.0 else degrees


def turned(survey: Survey) -> LineOrientation | None:
    """Return how the lines of a 3-D survey run against its axes; None along them, or where that saves nothing."""
    if survey.ndim != 3 or not survey.shots:
        return None
    own = direction_of_lines(survey.shots)
    if own is None or abs(own) < ALONG:
        return None
    local = np.concatenate([*(s.rcv for s in survey.shots), np.stack([s.src for s in survey.shots])])
    if bent(local) is not None:
        # a crooked line has no direction of its own
        return None
    stations = survey.frame.to_world(local)
    degrees = math.degrees(survey.frame.azimuth) + (-own if survey.frame.flip else own)
    degrees = round(45.0 - (45.0 - degrees) % 90.0, 2)
    flat = _area(local, 0.0)
    share = _area(stations, degrees) / flat if flat > 0 else 1.0
    if share > 1.0 - SAVED:
        return None
    return LineOrientation(degrees, frame_along(stations, degrees), share)


def frame_along(stations: NDArray[np.float64], degrees: float) -> Frame:
    """Return the frame with x in this direction, degrees, in which stations (n, 3) begin at zero, to a metre."""
    along = Frame(0.0, 0.0, math.radians(degrees))
    low = np.floor(along.to_local(stations).min(axis=0))
    x0, y0 = along.to_world(np.array([[low[0], low[1], 0.0]]))[0, :2]
    return Frame(round(float(x0), 2), round(float(y0), 2), along.azimuth)


def _area(points: NDArray[np.float64], degrees: float) -> float:
    """Return the area of the smallest rectangle in this direction, degrees, that holds points (n, 3)."""
    wide, tall = np.ptp(Frame(0.0, 0.0, math.radians(degrees)).to_local(points)[:, :2], axis=0)
    return float(wide * tall)
