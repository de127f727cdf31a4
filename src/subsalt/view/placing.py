"""Where a survey lies on a model: positions in its local coordinates, what lies outside, and the fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Survey
from subsalt.earth.grid import Frame, Grid
from subsalt.errors import GeometryError
from subsalt.view import style

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Placed:
    """A survey in the local coordinates of a model.

    Parameters
    ----------
    grid : Grid
        Grid of the model.
    src : ndarray, (ns, 3)
        One source per shot, m.
    ids : list of int
        Shot number of each source.
    rcv : ndarray, (nr, 3)
        Distinct receiver positions, m.
    src_out, rcv_out : ndarray of bool
        Which of them lie outside the grid (its points, half a cell of tolerance).
    """

    grid: Grid
    src: NDArray[np.float64]
    ids: list[int]
    rcv: NDArray[np.float64]
    src_out: NDArray[np.bool_]
    rcv_out: NDArray[np.bool_]

    @property
    def beyond(self) -> float:
        """How far, m, the farthest source or receiver lies outside the grid (horizontally or in depth)."""
        points = np.concatenate([self.src, self.rcv])
        low, high = np.array(self.grid.origin3), last_point(self.grid)
        gap = np.maximum(np.maximum(low - points, points - high), 0.0)[:, _used(self.grid)]
        return float(np.sqrt((gap**2).sum(axis=1)).max()) if len(points) else 0.0


def placed(survey: Survey, grid: Grid, frame: Frame | None = None) -> Placed:
    """Return where a survey lies on a grid.

    Parameters
    ----------
    survey : Survey
        Survey of at least one shot.
    grid : Grid
        Local coordinates, m.
    frame : Frame, optional
        Frame of the grid; the survey's own when left out.
    """
    if not len(survey):
        raise GeometryError("the survey has no shots", "check the selection of shots", code="E304")
    src = np.array([s.src for s in survey])
    rcv = style.unique_points([s.rcv for s in survey])
    src, rcv = (moved(p, survey, frame) for p in (src, rcv))
    out = [_outside(p, grid) for p in (src, rcv)]
    return Placed(grid, src, [s.id for s in survey], rcv, out[0], out[1])


def moved(points: NDArray[np.float64], survey: Survey, frame: Frame | None) -> NDArray[np.float64]:
    """Return points (n, 3) of a survey in the local coordinates of `frame`, m.

    A section without a place on the map (the frame `Frame()`) lies where the line is: its coordinates are the survey's.
    """
    if frame is None or frame == survey.frame or (survey.ndim == 2 and frame == Frame()):
        return points
    return frame.to_local(survey.frame.to_world(points))


def _used(grid: Grid) -> list[int]:
    return [0, 2] if grid.ndim == 2 else [0, 1, 2]


def last_point(grid: Grid) -> NDArray[np.float64]:
    """Return the coordinates of the last grid point, (3,), m."""
    return np.array(grid.origin3) + (np.array(grid.shape3) - 1) * np.array(grid.spacing3)


def _outside(points: NDArray[np.float64], grid: Grid) -> NDArray[np.bool_]:
    """Return which points (n, 3) lie more than half a cell outside the grid."""
    half = 0.5 * np.array(grid.spacing3) + 1e-9
    low, high = np.array(grid.origin3) - half, last_point(grid) + half
    bad = (points < low) | (points > high)
    return np.asarray(bad[:, _used(grid)].any(axis=1))


def fold(
    survey: Survey, grid: Grid, bins: Sequence[float] | None = None, frame: Frame | None = None
) -> tuple[NDArray[np.int64], list[NDArray[np.float64]]]:
    """Count source-receiver midpoints per bin over the grid's horizontal extent.

    Parameters
    ----------
    survey : Survey
        Shots with their receivers.
    grid : Grid
        The bins cover it.
    bins : sequence of float, optional
        Bin size along x (and y), m; by default two cells of the grid, more where that would make more than
        a hundred bins along an axis.
    frame : Frame, optional
        Frame of the grid.

    Returns
    -------
    counts : ndarray, (nbx, nby), int64
        Traces per bin; nby is 1 in 2-D.
    edges : list of two ndarray
        Bin edges along x and y, m.
    """
    edges: list[NDArray] = []
    for i in range(2):
        o, n, d = grid.origin3[i], grid.shape3[i], grid.spacing3[i]
        # whole cells: bins of another size would beat with midpoints that lie on the grid
        size = bins[i] if bins is not None and i < len(bins) else max(2, -(-n // 100)) * d
        count = 1 if i == 1 and grid.ndim == 2 else max(1, int(np.ceil(n * d / size - 1e-9)))
        edges.append(o - d / 2 + size * np.arange(count + 1))
    if grid.ndim == 2:
        edges[1] = np.array([-np.inf, np.inf])
    counts: NDArray[np.int64] = np.zeros((len(edges[0]) - 1, len(edges[1]) - 1), dtype=np.int64)
    for shot in survey:
        mid = 0.5 * (shot.rcv + shot.src)
        mid = moved(mid, survey, frame)
        ix, iy = (np.searchsorted(e, mid[:, i], side="right") - 1 for i, e in enumerate(edges))
        good = (ix >= 0) & (ix < counts.shape[0]) & (iy >= 0) & (iy < counts.shape[1])
        np.add.at(counts, (ix[good], iy[good]), 1)
    return counts, edges


def survey_points(survey: Survey | None, frame: Frame | None = None) -> tuple[NDArray, NDArray]:
    """Return the distinct source and receiver positions (n, 3) of a survey, local to `frame`, m."""
    if survey is None or not len(survey):
        return np.zeros((0, 3)), np.zeros((0, 3))
    src = style.unique_points([s.src[None] for s in survey])
    rcv = style.unique_points([s.rcv for s in survey])
    return moved(src, survey, frame), moved(rcv, survey, frame)
