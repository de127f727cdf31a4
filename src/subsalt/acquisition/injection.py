"""Sources and receivers between grid points: Kaiser-windowed sinc weights.

A wavefield sampled at an off-grid point is the sum over the 2r nearest nodes per axis of::

    w(t) = sinc(t) I0(b sqrt(1 - (t/r)^2)) / I0(b),     t the distance in cells

as a product over the axes; injection is its transpose. With r = 4 and b = 6.31 (Hicks 2002) that is right up to half of
the Nyquist wavenumber. Fitted weights of orders 10 to 16 carry waves closer to it and take other windows (`window_of`).
On a node the weights are a unit spike. Under a free surface the nodes above row 0 are images of those below with the
opposite sign, so their weights are subtracted there. The wavefield near a free surface is small, and the difference of
two windows is not as right as each of them: at 0.05 cells of depth 0.4 to 1.5 % of it are wrong. On a grid that is
chosen the weights beside the surface are therefore fitted to ``sin(k z)`` (`Window.band`).

References
----------
Hicks, G. J. (2002), Arbitrary source and receiver positioning in finite-difference schemes using Kaiser windowed sinc
functions, Geophysics 67, 156-165.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.earth.grid import Box
from subsalt.errors import ConfigError, GeometryError
from subsalt.numerics import fixedmath
from subsalt.numerics.stencil import Stencil


class Window(NamedTuple):
    """A Kaiser window.

    Parameters
    ----------
    radius : int
        Half its width, cells.
    b : float
        Shape parameter of the window.
    band : float, optional
        Where a support reaches a free surface, its weights have the least relative error of odd functions up to this
        part of the Nyquist wavenumber; None: they are those of the window, folded there.
    """

    radius: int
    b: float
    band: float | None = None


#: the least largest error up to half of the Nyquist wavenumber (Hicks 2002)
HICKS = Window(4, 6.31)
#: the least error of a Ricker wavelet on the coarsest grids of fitted weights of order 12 and of order 16
COARSE, COARSEST = Window(4, 4.89), Window(6, 5.45)

#: `Window.band` by window: what grids carry at an accuracy of 0.01, and a little more
BANDS = {HICKS: 0.6, COARSE: 0.72, COARSEST: 0.8}
#: wavenumbers to which weights beside a free surface are fitted
_FITTED_TO = 64

#: distance in cells within which a point counts as lying on a node
ON_NODE = 1e-6


@dataclass(frozen=True)
class Points:
    """Positions as supports on the computational grid: nodes and separable weights.

    Parameters
    ----------
    base : ndarray, (n, 3), int32
        First node of every support along x, y, z; the support of W nodes lies inside the grid (along y in 2-D
        only its first node does, the others have zero weight).
    weights : ndarray, (n, 3, W), float32
        Weights along x, y, z; the weight of a node is their product. In 2-D the y weights are 1, 0, 0, ...
    """

    base: NDArray[np.int32]
    weights: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.base)

    def __getitem__(self, rows: slice | NDArray) -> Points:
        """Return some of the points."""
        base, weights = np.ascontiguousarray(self.base[rows]), np.ascontiguousarray(self.weights[rows])
        return Points(base.reshape(-1, 3), weights.reshape(-1, 3, self.width))

    def times_along_z(self, factor: NDArray[np.float64]) -> Points:
        """Return the points with every weight times the factor of its depth.

        Parameters
        ----------
        factor : ndarray, (nz,)
            By node along z of the grid.
        """
        weights = self.weights.copy()
        weights[:, 2] = weights[:, 2] * factor[self.base[:, 2, None] + np.arange(self.width)]
        return Points(self.base, weights)

    @property
    def planes(self) -> NDArray[np.int64]:
        """First plane along x with a weight, and the one behind the last, of every point, (n, 2)."""
        return self.spans(0)

    def spans(self, axis: int) -> NDArray[np.int64]:
        """Return the first node of an axis with a weight, and the one behind the last, of every point, (n, 2)."""
        used = self.weights[:, axis] != 0
        first = self.base[:, axis] + used.argmax(axis=1)
        behind = self.base[:, axis] + self.width - used[:, ::-1].argmax(axis=1)
        return np.stack([first, np.where(used.any(axis=1), behind, first)], axis=1).astype(np.int64)

    def on_planes(self, lo: int, hi: int, origin: int = 0) -> tuple[Points, NDArray[np.intp]]:
        """Return the parts of the points on the planes [lo, hi) along x; see `between`."""
        return self.between(0, lo, hi, origin)

    def between(self, axis: int, lo: int, hi: int, origin: int = 0) -> tuple[Points, NDArray[np.intp]]:
        """Return the parts of the points on the nodes [lo, hi) of an axis, and which points these are, ascending.

        Parameters
        ----------
        axis : int
            0 for planes along x, 1 for rows along y.
        lo, hi : int
            Nodes.
        origin : int
            The node, at or below `lo`, from which the indices of the result are counted.

        Notes
        -----
        Weights on other nodes are zero, and supports moved so that they start at or above `origin` and, where there is
        room, end at or below `hi`. What is injected and recorded on a node does not depend on that.
        """
        width = self.width
        nodes = self.base[:, axis, None] + np.arange(width)
        inside = np.where((nodes >= lo) & (nodes < hi), self.weights[:, axis], np.float32(0))
        rows = np.nonzero((inside != 0).any(axis=1))[0]
        base, weights = self.base[rows], self.weights[rows]
        start = np.maximum(np.minimum(base[:, axis], hi - width), origin)
        place = (start - base[:, axis])[:, None] + np.arange(width)
        moved = np.take_along_axis(inside[rows], np.clip(place, 0, width - 1), axis=1)
        weights[:, axis] = np.where((place >= 0) & (place < width), moved, np.float32(0))
        base[:, axis] = start - origin
        return Points(base, weights), rows

    def inside(self, box: Box) -> tuple[Points, NDArray[np.intp]]:
        """Return the parts of the points on the planes and rows of a box, and which points these are."""
        points, rows = self.between(0, box.lo[0], box.hi[0])
        reach = points.box
        if reach.lo[1] >= box.lo[1] and reach.hi[1] <= box.hi[1]:
            return points, rows
        points, some = points.between(1, box.lo[1], box.hi[1])
        return points, rows[some]

    @property
    def width(self) -> int:
        """Nodes of a support per axis, W."""
        return self.weights.shape[2]

    @property
    def silent(self) -> NDArray[np.bool_]:
        """Points whose weights are all zero: those on a free surface, where the pressure is zero; (n,)."""
        return ~(self.weights != 0).any(axis=2).all(axis=1)

    @property
    def box(self) -> Box:
        """Smallest box that holds every node with a weight."""
        used = self.weights != 0
        if not len(self) or not used.any():
            return Box((0, 0, 0), (0, 0, 0))
        nodes = self.base[:, :, None] + np.arange(self.width)
        lo = np.where(used, nodes, np.iinfo(np.int32).max).min(axis=(0, 2))
        hi = np.where(used, nodes, -1).max(axis=(0, 2)) + 1
        return Box(tuple(int(v) for v in lo), tuple(int(v) for v in hi))  # type: ignore[arg-type]


def window_of(weights: Stencil, chosen: bool = False) -> Window:
    """Return the window for grids as coarse as the weights in space allow.

    Parameters
    ----------
    weights : Stencil
        Weights in space.
    chosen : bool
        The grid is not the model's: weights beside a free surface are fitted. On the model's grid records keep the
        bytes of versions before 0.9.

    Notes
    -----
    A Ricker wavelet errs by 0.06 % per axis at order 8, 0.21 % at order 12 and 0.11 % at order 16; with `HICKS` by 0.4
    and 1 % at these. A wider window at order 12 would err less, and what it costs for each receiver and step was more
    than what the coarser grid saves where receivers are many.
    """
    if weights.kind == "taylor" or weights.order <= 8:
        window = HICKS
    else:
        window = COARSE if weights.order <= 12 else COARSEST
    return window._replace(band=BANDS[window]) if chosen else window


def supports(x: NDArray[np.float64], radius: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last node of an axis on which points at `x`, in cells, have weights (`sinc_points`)."""
    near = np.rint(x)
    node = np.abs(x - near) <= ON_NODE
    first = np.where(node, near, np.floor(x) - radius + 1)
    return first.astype(np.int64), np.where(node, near, np.floor(x) + radius).astype(np.int64)


def sinc_points(
    shape3: tuple[int, int, int],
    index: ArrayLike,
    ndim: int,
    window: Window = HICKS,
    free_surface_row: int | None = None,
    name: str = "point",
) -> Points:
    """Return supports and weights of points at fractional grid indices.

    Parameters
    ----------
    shape3 : tuple of int
        Points (nx, ny, nz) of the computational grid; ny = 1 in 2-D.
    index : array_like, (n, 3), float64
        Positions in cells from the first node of the computational grid (`Grid.to_index`).
    ndim : int
        2 or 3; in 2-D the y axis is not looked at.
    window : Window
        Window of the sinc; its radius is half the width of the support.
    free_surface_row : int, optional
        Row z on which the pressure vanishes; None without a free surface.
    name : str
        Name of the points in messages ("source", "receiver").

    Raises
    ------
    GeometryError
        When a point needs nodes outside the grid, or lies above the free surface.
    """
    radius = window.radius
    if not 1 <= radius <= 8:
        raise ConfigError(f"sinc radius {radius} is not one of 1 to 8", f"use {HICKS.radius}", code="E154")
    where = np.asarray(index, dtype=np.float64).reshape(-1, 3)
    if not np.isfinite(where).all():
        bad = int(np.nonzero(~np.isfinite(where).all(axis=1))[0][0])
        raise GeometryError(
            f"{name} {bad} has a position that is not finite", "correct its coordinates", code="E311"
        )
    base = np.zeros((len(where), 3), dtype=np.int32)
    weights = np.zeros((len(where), 3, 2 * radius), dtype=np.float32)
    for axis, letter in enumerate("xyz"):
        if ndim == 2 and axis == 1:
            weights[:, axis, 0] = 1.0
            continue
        row = free_surface_row if axis == 2 else None
        base[:, axis], weights[:, axis] = _axis_weights(
            shape3[axis], where[:, axis], window, row, f"{name}|{letter}"
        )
    return Points(base, weights)


def support_reach(
    index: ArrayLike, ndim: int, radius: int = HICKS.radius
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return how many cells each point needs below and above its position, (n, 3) each.

    Zero along an axis on which the point lies on a node, `radius` otherwise: a point at least that far from
    an absorbing layer has no weight inside it.
    """
    where = np.asarray(index, dtype=np.float64).reshape(-1, 3)
    reach = np.where(np.abs(where - np.rint(where)) <= ON_NODE, 0, radius).astype(np.int32)
    if ndim == 2:
        reach[:, 1] = 0
    return reach, reach.copy()


def _axis_weights(
    n: int, x: NDArray[np.float64], window: Window, free_row: int | None, label: str
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return first nodes (n,) and weights (n, 2 radius) along one axis of `n` nodes."""
    radius = window.radius
    width = 2 * radius
    name, letter = label.split("|")
    if n < width:
        raise GeometryError(
            f"the grid has {n} points along {letter}, the weights of a {name} need {width}",
            "enlarge the grid",
            code="E312",
        )
    nearest = np.rint(x)
    spike = np.abs(x - nearest) <= ON_NODE
    first = np.where(spike, nearest - radius + 1, np.floor(x) - radius + 1).astype(np.int64)
    offsets = np.arange(width)
    w = _kaiser_sinc(first[:, None] + offsets - x[:, None], window)
    w[spike] = 0.0
    w[spike, radius - 1] = 1.0

    low_limit = 0
    if free_row is not None:
        above = np.nonzero(np.where(spike, nearest, x) < free_row)[0]
        if len(above):
            i = int(above[0])
            raise GeometryError(
                f"{len(above)} of {len(x)} {name}s lie above the free surface, "
                f"first {name} {i}, {free_row - x[i]:.6g} cells above it",
                "correct their depth, or use an absorbing top",
                code="E313",
            )
        beside = ~spike & (first < free_row)
        first, w = _fold(first, w, free_row)
        if window.band is not None:
            w[beside, 1:] = _odd_weights(x[beside] - free_row, radius, window.band)
        low_limit = free_row

    start = np.clip(first, low_limit, n - width)
    out = np.zeros_like(w)
    left = np.zeros(len(x), dtype=bool)
    for j in range(width):
        node = first + j
        place = node - start
        inside = (place >= 0) & (place < width)
        left |= ~inside & (w[:, j] != 0)
        rows = np.nonzero(inside)[0]
        out[rows, place[rows]] = w[rows, j]
    if left.any():
        i = int(np.nonzero(left)[0][0])
        raise GeometryError(
            f"{int(left.sum())} of {len(x)} {name}s need grid points outside the grid along {letter}, "
            f"first {name} {i} at index {x[i]:.6g} of {n} points",
            f"keep off-grid {name}s {radius} cells inside the grid, or enlarge the grid",
            code="E310",
        )
    return start.astype(np.int32), out


def _kaiser_sinc(t: NDArray[np.float64], of: Window) -> NDArray[np.float64]:
    """Return the windowed sinc at distances `t` in cells; zero from the radius outwards."""
    radius, b = of.radius, of.b
    inside = np.maximum(0.0, 1.0 - (t / radius) * (t / radius))
    window = fixedmath.bessel_i0(b * np.sqrt(inside)) / fixedmath.bessel_i0(b)
    return np.where(np.abs(t) < radius, fixedmath.sinc(t) * window, 0.0)


def _fold(
    first: NDArray[np.int64], w: NDArray[np.float64], row: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Subtract the weights above `row` from those of their images below; `row` itself gets 0."""
    width = w.shape[1]
    start = np.maximum(first, row)
    out = np.zeros_like(w)
    everyone = np.arange(len(w))
    for j in range(width):
        node = first + j
        image = np.where(node < row, 2 * row - node, node)
        sign = np.where(node < row, -1.0, np.where(node == row, 0.0, 1.0))
        place = image - start
        # an image lies within radius cells of the row and so within the support
        keep = (place >= 0) & (place < width)
        out[everyone[keep], place[keep]] += sign[keep] * w[keep, j]
    return start, out


def _odd_weights(depth: NDArray[np.float64], radius: int, band: float) -> NDArray[np.float64]:
    """Return weights (n, 2 radius - 1) of the nodes 1, 2, ... below a free surface, by depth in cells.

    Notes
    -----
    Those with the least sum of squares of ``(sum_j a_j sin(k j) - sin(k z)) / k`` over the wavenumbers of the band. As
    an odd wavefield has its slope at the surface, that is its relative error. Sums are in a fixed order.
    """
    fit = _odd_fit(radius, band)
    out = np.zeros((len(depth), 2 * radius - 1))
    for k, row in zip(_wavenumbers(band), fit, strict=True):
        out += (fixedmath.sin(k * depth) / k)[:, None] * row
    return out


def _wavenumbers(band: float) -> list[float]:
    return [fixedmath.PI * band * (i + 0.5) / _FITTED_TO for i in range(_FITTED_TO)]


@cache
def _odd_fit(radius: int, band: float) -> NDArray[np.float64]:
    """Return the matrix (wavenumbers, nodes) that makes weights of ``sin(k z) / k``: the normal equations, solved."""
    k = np.array(_wavenumbers(band))
    waves = [fixedmath.sin(k * j) / k for j in range(1, 2 * radius)]
    # Gauss-Jordan elimination of a positive matrix: no pivots, plain numbers, one order
    rows = [[fixedmath.dot(a, b) for b in waves] + a.tolist() for a in waves]
    for i, row in enumerate(rows):
        rows[i] = row = [v / row[i] for v in row]
        for j, other in enumerate(rows):
            if j != i:
                rows[j] = [v - other[i] * r for v, r in zip(other, row, strict=True)]
    return np.ascontiguousarray(np.array([row[len(waves) :] for row in rows]).T)
