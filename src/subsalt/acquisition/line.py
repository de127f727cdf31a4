"""2-D lines: the straight line nearest to all stations, where it lies on the map, and local coordinates along it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Frame

#: a survey wider than this share of its length is 3-D unless told otherwise
LINE_WIDTH = 0.05
#: a line counts as one along map x when its ends lie beside that direction by no more than this part of the distance
#: of neighbouring stations: over 100 stations 25 m apart, 2.5 m at the ends and 1.3 mm along the line
BESIDE = 0.1
#: stations that are kept with a survey to draw its line on the map
MOST_STATIONS = 200

#: origins of x = 0 of a 2-D survey; `NOBODY`: nothing defines it, and x = 0 is put at the end of the line
JOB, GIVEN, RUN, MAP_X, AXIS, NOBODY = (
    "[data] frame",
    "model",
    "run",
    "map x",
    "[data] line",
    "end of the line",
)


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
    low, high : float
        Local x of its ends, m.
    """

    frame: Frame
    length: float
    width: float
    misfit_rms: float
    misfit_max: float
    low: float
    high: float

    @property
    def ends(self) -> NDArray[np.float64]:
        """Map coordinates (2, 2) of the ends of the line, m, by growing local x."""
        return self.frame.to_world(np.array([[self.low, 0.0, 0.0], [self.high, 0.0, 0.0]]))[:, :2]

    def to_dict(self) -> dict[str, float]:
        """Return plain values for the report."""
        return {
            "azimuth_deg": math.degrees(self.frame.azimuth),
            "length_m": self.length,
            "width_m": self.width,
            "misfit_rms_m": self.misfit_rms,
            "misfit_max_m": self.misfit_max,
        }


def fit_line(points: NDArray[np.float64], beside: float = 0.0) -> LineFit:
    """Return the line with the least squared distances to points (n, 2+).

    Parameters
    ----------
    points : ndarray, (n, 2+), float64
        Map coordinates, m.
    beside : float
        A line whose ends lie no farther than this (m) beside the direction of map x counts as one along map x.

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
        if abs(azimuth) < math.pi / 4 and math.tan(abs(azimuth)) * float(np.ptp(dx)) <= beside:
            azimuth = 0.0
    if azimuth == 0.0:
        frame = Frame(0.0, round(y0 + my, 6))
    else:
        frame = Frame(x0 + mx, y0 + my, azimuth)
    local = frame.to_local(np.column_stack([points[:, :2], np.zeros(len(points))]))
    low, high = float(local[:, 0].min()), float(local[:, 0].max())
    length = high - low
    if azimuth != 0.0:
        end = frame.to_world(np.array([[low, 0.0, 0.0]]))[0]
        frame = Frame(round(float(end[0]), 6) + 0.0, round(float(end[1]), 6) + 0.0, azimuth)
        low, high = 0.0, length
    return LineFit(
        frame,
        length,
        float(local[:, 1].max() - local[:, 1].min()),
        math.sqrt(float((local[:, 1] ** 2).mean())),
        float(np.abs(local[:, 1]).max()),
        low,
        high,
    )


#: most and fewest pieces of a bent line, each of which is straight; stations of one, in the mean
PIECES, BENDS, FEWEST = 20, 4, 5


def bent(points: NDArray[np.float64]) -> LineFit | None:
    """Return the best line of points (n, 2+) along a line with bends; None where they are straight, or an area.

    A line is narrow all along, however far it bends: each of its pieces lies within `LINE_WIDTH` of its length of a
    straight one. Lines that turn back are not told from areas.
    """
    fit = fit_line(points)
    wide = LINE_WIDTH * fit.length
    if fit.width <= wide:
        return None
    some = np.unique(np.round(points[:: max(1, len(points) // 100_000), :2], 1), axis=0)
    pieces = min(PIECES, len(some) // FEWEST)
    if pieces < BENDS:
        return None
    x, y = fit.frame.to_local(np.column_stack([some, np.zeros(len(some))]))[:, :2].T
    piece = np.minimum(((x - fit.low) / fit.length * pieces).astype(int), pieces - 1)
    for k in range(pieces):
        here = piece == k
        if here.sum() < 3:
            continue
        dx, dy = (v[here] - v[here].mean() for v in (x, y))
        slope = float(dx @ dy) / max(float(dx @ dx), 1e-12)
        if float(np.ptp(dy - slope * dx)) > wide:
            return None
    return fit


def station_distance(points: NDArray[np.float64]) -> float:
    """Return the mean distance of neighbouring stations along the line through points (n, 2+), m."""
    xy = points[:: max(1, len(points) // 100_000)]
    fit = fit_line(xy)
    x = fit.frame.to_local(np.column_stack([xy[:, :2], np.zeros(len(xy))]))[:, 0]
    return fit.length / max(1, len(np.unique(np.round(x, 2))) - 1)


def fit_stations(src: NDArray[np.float64], rcv: NDArray[np.float64], exact: bool = False) -> LineFit:
    """Return the line through sources and receivers (n, 3); see `BESIDE` for what counts as along map x.

    `exact` counts only lines that lie on map x to the last digit, as versions up to 0.7 did.
    """
    both = np.concatenate([src, rcv])
    return fit_line(both, 0.0 if exact else BESIDE * station_distance(both))


def settled(
    src: NDArray[np.float64], fit: LineFit, ndim: int | None, along: str, frame: Frame | None
) -> tuple[int, Frame, str]:
    """Return the dimension of a survey, the frame of its local coordinates, and what says so.

    Parameters
    ----------
    src : ndarray, (n, 3), float64
        Sources, map coordinates, m.
    fit : LineFit
        The line through all stations.
    ndim : {2, 3}, optional
        2 for stations in a narrow strip when left out.
    along : {"project", "x", "y"}
        2-D: local x runs along the line, or is map x or map y.
    frame : Frame, optional
        Frame that the caller gives; it takes precedence.
    """
    if ndim is None:
        ndim = 2 if fit.width <= max(LINE_WIDTH * fit.length, 1e-6) else 3
    if frame is not None:
        return ndim, frame, GIVEN
    if ndim == 3:
        return ndim, Frame(), GIVEN
    if along == "x":
        return ndim, Frame(0.0, float(src[0, 1])), AXIS
    if along == "y":
        return ndim, Frame(float(src[0, 0]), 0.0, np.pi / 2), AXIS
    return ndim, fit.frame, MAP_X if fit.frame.azimuth == 0.0 else NOBODY


def line_facts(
    src: NDArray[np.float64], rcv: NDArray[np.float64], fit: LineFit, frame: Frame, says: str
) -> dict[str, Any]:
    """Return where a 2-D survey lies on the map, as plain values for findings, reports and maps.

    Parameters
    ----------
    src, rcv : ndarray, (n, 3), float64
        Map coordinates, m; sources in the order of shooting.
    fit : LineFit
        The line through them.
    frame : Frame
        Frame of the local coordinates.
    says : str
        Source of the place of x = 0: `JOB`, `GIVEN`, `RUN`, `MAP_X`, `AXIS` or `NOBODY`.

    Returns
    -------
    dict
        ``start`` and ``end`` of the best line in the order of shooting and its ``direction_deg`` (from map x towards
        map y); ``origin`` and ``azimuth_deg`` of local x; ``misfit_*`` from local x, ``bend_max_m`` from the best line.
    """
    both = np.concatenate([src, rcv])
    across = to_local(both, frame)[:, 1]
    x = to_local(src, fit.frame)[:, 0]
    order = np.arange(len(x)) - 0.5 * (len(x) - 1)
    backwards = float(np.dot(order, x - x.mean())) < 0
    ends = fit.ends[::-1] if backwards else fit.ends
    dx, dy = (float(v) for v in ends[1] - ends[0])
    some = both[np.argsort(to_local(both, fit.frame)[:, 0], kind="stable")]
    some = some[np.unique(np.linspace(0, len(some) - 1, MOST_STATIONS).astype(int))]
    return {
        **fit.to_dict(),
        "azimuth_deg": math.degrees(frame.azimuth),
        "misfit_rms_m": float(np.sqrt((across**2).mean())),
        "misfit_max_m": float(np.abs(across).max()),
        "bend_max_m": fit.misfit_max,
        "origin": [frame.x0, frame.y0],
        "start": [round(float(v), 3) + 0.0 for v in ends[0]],
        "end": [round(float(v), 3) + 0.0 for v in ends[1]],
        "direction_deg": round(math.degrees(math.atan2(dy, dx)), 4) % 360.0,
        "says": says,
        "stations": [[round(float(v), 2) for v in p[:2]] for p in some],
    }


def heading(degrees: float) -> str:
    """Return a direction in words: counted from map x (east), and as a compass has it."""
    return f"{degrees:.2f} degrees from map x towards map y ({(90.0 - degrees) % 360.0:.2f} from north)"


def described(line: dict[str, Any]) -> str:
    """Return the line of a survey in words: ends, direction, how crooked it is."""
    start, end = (
        f"({round(x, 2) + 0.0:.10g}, {round(y, 2) + 0.0:.10g})" for x, y in (line["start"], line["end"])
    )
    azimuth = round((90.0 - line["direction_deg"]) % 360.0, 2)
    return (
        f"from {start} to {end} in shooting order, {line['length_m']:.6g} m, azimuth {azimuth:g} degrees from north, "
        f"straight to {line['bend_max_m']:.2f} m"
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
