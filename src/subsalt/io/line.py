"""2-D lines: the straight line nearest to all stations, and local coordinates along it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.grid import Frame

#: a survey wider than this share of its length is 3-D unless told otherwise
LINE_WIDTH = 0.05


@dataclass(frozen=True)
class LineFit:
    """The best line through stations.

    Parameters
    ----------
    frame : Frame
        Local x runs along the line. A line along map x keeps map x as local x; any other line has x = 0 at
        its end.
    length, width : float
        Extent of the stations along and across the line, m.
    misfit_rms, misfit_max : float
        Distances of the stations from the line, m.
    """

    frame: Frame
    length: float
    width: float
    misfit_rms: float
    misfit_max: float

    def to_dict(self) -> dict[str, float]:
        """Return plain values for the report."""
        return {
            "azimuth_deg": math.degrees(self.frame.azimuth),
            "length_m": self.length,
            "width_m": self.width,
            "misfit_rms_m": self.misfit_rms,
            "misfit_max_m": self.misfit_max,
        }


def fit_line(points: NDArray[np.float64]) -> LineFit:
    """Return the line with the least squared distances to points (n, 2+).

    Notes
    -----
    The direction is the principal axis of the covariance, azimuth = atan2(2 c_xy, c_xx - c_yy) / 2, in (-90,
    90] degrees. Sums are correctly rounded (`math.fsum`): the frame does not depend on the order or machine.
    """
    # no more than about 10^5 stations are needed to find a direction
    xy = points[:: max(1, len(points) // 100_000), :2]
    x0, y0 = (float(v) for v in xy[0])
    dx, dy = xy[:, 0] - x0, xy[:, 1] - y0
    n = len(xy)
    mx, my = math.fsum(dx) / n, math.fsum(dy) / n
    dx, dy = dx - mx, dy - my
    cxx, cyy, cxy = math.fsum(dx * dx), math.fsum(dy * dy), math.fsum(dx * dy)
    if cyy <= 1e-12 * cxx:
        azimuth = 0.0
    elif cxx <= 1e-12 * cyy:
        azimuth = math.pi / 2
    else:
        # nine digits of a radian move the end of a 100 km line by 0.1 mm
        azimuth = round(0.5 * math.atan2(2 * cxy, cxx - cyy), 9)
    if azimuth == 0.0:
        frame = Frame(0.0, y0 + my)
    else:
        frame = Frame(x0 + mx, y0 + my, azimuth)
    local = frame.to_local(np.column_stack([points[:, :2], np.zeros(len(points))]))
    low, high = float(local[:, 0].min()), float(local[:, 0].max())
    if azimuth != 0.0:
        end = frame.to_world(np.array([[low, 0.0, 0.0]]))[0]
        frame = Frame(round(float(end[0]), 6), round(float(end[1]), 6), azimuth)
    return LineFit(
        frame,
        high - low,
        float(local[:, 1].max() - local[:, 1].min()),
        math.sqrt(float((local[:, 1] ** 2).mean())),
        float(np.abs(local[:, 1]).max()),
    )


#: m between receivers side by side that belong to different cables, and fewest receivers of one
CABLES_APART, CABLE = 15.0, 4


def side_by_side(src: NDArray[np.float64], rcv: NDArray[np.float64]) -> dict[str, float] | None:
    """Return how the receivers of a shot lie on several cables beside one another; None when they do not.

    Parameters
    ----------
    src, rcv : ndarray, (n, 3)
        Local positions of each trace, x along the line.

    Returns
    -------
    dict or None
        ``cables``, the largest distance ``beside_m`` of a receiver from its source across the line, and by how much
        projected distances are too short, ``short_m``, of the shot with most cables.

    Notes
    -----
    Looks at five shots spread over the survey. Cables are groups of receivers apart across the line that overlap along
    it; a crooked line or a bend has no such groups.
    """
    best: dict[str, float] | None = None
    for row in np.unique(np.linspace(0, len(src) - 1, 5).astype(int)):
        own = np.abs(src[:, :2] - src[row, :2]).max(axis=1) <= 0.5
        points = rcv[own]
        order = np.argsort(points[:, 1], kind="stable")
        cuts = np.flatnonzero(np.diff(points[order, 1]) > CABLES_APART) + 1
        parts = [points[p] for p in np.split(order, cuts) if len(p) >= CABLE]
        if len(parts) < 2:
            continue
        low, high = (np.array([f(p[:, 0]) for p in parts]) for f in (np.min, np.max))
        if min(high) - max(low) < 0.5 * float((high - low).min()):
            continue
        d = points[:, :2] - src[row, :2]
        short = np.sqrt((d**2).sum(axis=1)) - np.abs(d[:, 0])
        if best is None or len(parts) > best["cables"]:
            best = {
                "cables": len(parts),
                "beside_m": float(np.abs(d[:, 1]).max()),
                "short_m": float(short.max()),
            }
    return best


def to_local(points: NDArray[np.float64], frame: Frame) -> NDArray[np.float64]:
    """Return local coordinates, rounded to a micrometre so that rotations leave no 1e-10 m behind."""
    if frame == Frame():
        return points
    return np.round(frame.to_local(points) * 1e6) / 1e6
