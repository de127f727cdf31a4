"""A depth axis whose spacing follows the slowest velocity of each depth.

A wave needs so many points per wavelength, and the wavelength grows with the velocity: where the slowest rock of a
depth is fast, nodes may lie further apart. Depth z is a function of a computational coordinate k, the number of the
node, and ``scale`` is ``a = h / (dz/dk)``, h being the spacing of a uniform axis: 1 where nodes are as dense as on that
axis, smaller where they are not.

The spacing is a spline in depth. Its coefficients are raised until no depth has a wider spacing than its velocity
allows, also between the samples of the model; where the allowed spacing changes fast, the axis changes by at most
`SLOPE` per cell. At both ends the spacing is constant, so that absorbing layers and a free surface see a uniform axis.

Everything is made of sums, products, quotients and comparisons in a fixed order: the bits of an axis are the same on
every processor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.numerics.stencil import Stencil

Rows = NDArray[np.float64]

#: degree of the spline of a(z): its second derivative is continuous
DEGREE = 3
#: cells between its knots, and largest change of the spacing per depth: that of adjacent spacings is about this part
#: of them. In one dimension it moves eigenfrequencies by at most 1e-5 at every order, a tenth of what the dispersion of
#: the weights is allowed
KNOT, SLOPE = 2.0, 0.06
#: intervals per knot in which the spacing is compared with the allowed one
CHECKS = 16
#: an axis with more than this part of the nodes of the uniform one is not worth its rows
WORTH = 0.9
#: factors of the slope and of the distance of knots that are tried until no wave grows
GENTLER = ((1.0, 1.0), (1.0, 1.5), (0.5, 1.5), (0.25, 2.0))
#: an eigenvalue of the operator above zero, relative to its largest magnitude, that does not matter: with it a wave
#: needs more than 10,000 time steps to grow by a factor e, and weights in single precision have more
LARGEST = 4e-9
#: rounds in which coefficients are raised one by one, before each takes the largest value it could need
ROUNDS = 40


@dataclass(frozen=True)
class Demand:
    """Range of depths that an axis covers, and its densities of nodes.

    Parameters
    ----------
    top, bottom : float
        Depths to cover, m; the first node lies at the top.
    spacing : float
        Spacing h of the uniform axis that it replaces, m: the finest.
    resolution : float
        Points per shortest wavelength times the highest frequency, Hz: velocity / resolution is the widest spacing.
    radius : int
        Radius M of the stencil; the first and the last 2 M cells have a constant spacing.
    coarsest : float
        Largest ratio of a spacing to the finest.
    slope : float
        Largest change of the spacing per depth.
    knot : float
        Cells between the knots of the spline.
    """

    top: float
    bottom: float
    spacing: float
    resolution: float
    radius: int
    coarsest: float = 4.0
    slope: float = SLOPE
    knot: float = KNOT

    @property
    def uniform(self) -> int:
        """Number of nodes of the uniform axis."""
        return _covering((self.bottom - self.top) / self.spacing)


@dataclass(frozen=True, eq=False)
class DepthAxis:
    """Nodes along depth, and the smooth map between depth and their numbers.

    Parameters
    ----------
    top : float
        Depth of node 0, m.
    count : int
        Number of nodes.
    spacing : float
        h, the finest spacing, m.
    knots : ndarray, (m + DEGREE + 1,)
        Knots of the spline, m; the part between knots DEGREE and m holds all nodes.
    coefficients : ndarray, (m,)
        Coefficients of a(z).
    """

    top: float
    count: int
    spacing: float
    knots: Rows
    coefficients: Rows

    def to_json(self) -> dict[str, Any]:
        """Return the axis as JSON, which keeps every bit of a float, with its widest spacing to be read."""
        lists = {"knots": self.knots.tolist(), "coefficients": self.coefficients.tolist()}
        plain = {"top": self.top, "count": self.count, "spacing": self.spacing}
        return plain | {"widest": self.coarsest} | lists

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> DepthAxis:
        """Return the axis in the result of `to_json`."""
        knots, coefficients = (np.array(values[k], dtype=np.float64) for k in ("knots", "coefficients"))
        if knots.ndim != 1 or len(knots) != len(coefficients) + DEGREE + 1:
            raise ValueError("knots and coefficients of a depth axis do not fit")
        return cls(float(values["top"]), int(values["count"]), float(values["spacing"]), knots, coefficients)

    def _key(self) -> tuple[float, int, float, bytes, bytes]:
        return self.top, self.count, self.spacing, self.knots.tobytes(), self.coefficients.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DepthAxis) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    @cached_property
    def depths(self) -> Rows:
        """Depths of the nodes, m."""
        return self._invert(np.arange(self.count, dtype=np.float64))

    @cached_property
    def scale(self) -> Rows:
        """Ratio a = h / (dz/dk) at the nodes."""
        return self.scale_at(self.depths)

    def to_zeta(self, depth: Rows | float) -> Rows:
        """Return the numbers of nodes, with their fractions, at depths; exact at nodes, constant spacing outside."""
        z = np.asarray(depth, dtype=np.float64)
        zeta = self._integral(z)
        near = np.clip(np.rint(zeta), 0, self.count - 1).astype(np.int64)
        return np.where(self.depths[near] == z, near.astype(np.float64), zeta)

    def to_depth(self, zeta: Rows | float) -> Rows:
        """Return the depths, m, of numbers of nodes with their fractions; constant spacing outside."""
        k = np.asarray(zeta, dtype=np.float64)
        near = np.clip(np.rint(k), 0, self.count - 1).astype(np.int64)
        depth, between = self.depths[near], near != k
        if not between.any():
            return depth
        return np.where(between, self._invert(k), depth)

    def depth_of(self, node: int) -> float:
        """Return the depth, m, of one node, also of one ahead of the first or past the last; computed once for each."""
        if node not in self._single:
            self._single[node] = float(self.to_depth(np.array([node], dtype=np.float64))[0])
        return self._single[node]

    @cached_property
    def _single(self) -> dict[int, float]:
        """Depths that `depth_of` has computed, by node."""
        return {}

    def scale_at(self, depth: Rows | float) -> Rows:
        """Return a at depths."""
        return _spline(self.knots, self.coefficients, DEGREE, np.asarray(depth, dtype=np.float64))

    def continued(self, before: int, after: int) -> tuple[Rows, Rows]:
        """Return depths and scale of all nodes from `before` ahead of the first to `after` past the last."""
        k = np.arange(-before, self.count + after, dtype=np.float64)
        return self.to_depth(k), np.pad(self.scale, (before, after), mode="edge")

    @property
    def coarsest(self) -> float:
        """Widest spacing, m."""
        return self.spacing / float(self.scale.min())

    @cached_property
    def _antiderivative(self) -> tuple[Rows, Rows]:
        """Knots and coefficients of the spline that is the number of cells below the top."""
        t, order = self.knots, DEGREE + 1
        steps = self.coefficients * (t[order:] - t[:-order]) / (order * self.spacing)
        c = np.concatenate([[0.0], np.cumsum(steps)])
        knots = np.concatenate([t[:1], t, t[-1:]])
        return knots, c - _spline(knots, c, order, np.array([self.top]))[0]

    @cached_property
    def _cells(self) -> tuple[Rows, Rows]:
        """The knots within the axis, and the number of cells between the top and each."""
        breaks = self.knots[DEGREE : len(self.knots) - DEGREE]
        return breaks, self._integral(breaks)

    def _integral(self, z: Rows) -> Rows:
        """Return the number of cells between the top and depths."""
        first, last = self.knots[DEGREE], self.knots[-DEGREE - 1]
        inside = np.clip(z, first, last)
        knots, c = self._antiderivative
        zeta = _spline(knots, c, DEGREE + 1, inside)
        return zeta + (z - inside) * self.scale_at(inside) / self.spacing

    def _invert(self, k: Rows) -> Rows:
        """Return the depths at which so many cells lie above."""
        breaks, cells = self._cells
        at = np.clip(np.searchsorted(cells, k, side="right") - 1, 0, len(breaks) - 2)
        low, high = breaks[at], breaks[at + 1]
        z = low + (k - cells[at]) * ((high - low) / (cells[at + 1] - cells[at]))
        # Newton's method: a changes little within a span of knots, so that every step doubles the digits
        for _ in range(6):
            z = z - (self._integral(z) - k) * (self.spacing / self.scale_at(z))
        return z


def depth_axis(depth: Rows, slowest: Rows, demand: Demand) -> DepthAxis | None:
    """Return the axis that follows the slowest velocity, None where it would save less than a tenth of the nodes.

    Parameters
    ----------
    depth : ndarray, (n,)
        Depths of the samples of the model, ascending, m.
    slowest : ndarray, (n,)
        Slowest phase velocity at each of them, m/s; between two samples it is not below the lower one.
    demand : Demand
        Range of depths and densities of nodes.
    """
    points, widest = _limited(*_allowed(depth, slowest, demand), demand)
    breaks = _breaks(points, widest, demand)
    knots = _extended(breaks)
    coefficients = _raised(knots, points, demand.spacing / widest, demand)
    axis = DepthAxis(demand.top, 0, demand.spacing, knots, coefficients)
    axis = replace(axis, count=_covering(float(axis._integral(np.array([demand.bottom]))[0])))
    return axis if axis.count <= WORTH * demand.uniform else None


def stretched(
    depth: Rows,
    slowest: Rows,
    demand: Demand,
    stencil: Stencil,
    tilted: bool,
    *,
    free_surface: bool = False,
) -> DepthAxis | None:
    """Return the axis of `depth_axis` on which the operator lets no wave grow, smoother where it must be.

    None, for a uniform axis, where that saves less than a tenth of the nodes. With a free surface at the first node the
    operator is another one (`is_stable`).
    """
    for slope, knot in GENTLER:
        gentler = replace(demand, slope=slope * demand.slope, knot=knot * demand.knot)
        axis = depth_axis(depth, slowest, gentler)
        if axis is None or is_stable(axis.scale, stencil, tilted, free_surface=free_surface):
            return axis
    return None


def potential(scale: Rows, second: Sequence[float]) -> Rows:
    """Return e = a^(3/2) D2 a^(1/2) for unit spacing: what makes ``a D2 a - e`` vanish for a constant wavefield.

    `scale` goes on as it ends. Exactly 0 where all values under the stencil are equal.
    """
    radius = len(second) - 1
    root = np.sqrt(np.pad(scale, radius, mode="edge"))
    middle = root[radius : len(root) - radius]
    total = np.zeros_like(middle)
    for k in range(1, radius + 1):
        ahead, behind = root[radius + k : len(root) - radius + k], root[radius - k : len(root) - radius - k]
        total += second[k] * ((ahead - middle) + (behind - middle))
    return scale * middle * total


def is_stable(scale: Rows, stencil: Stencil, tilted: bool, *, free_surface: bool = False) -> bool:
    """Return whether no wave grows: whether the operator along depth has no eigenvalue above rounding.

    That is `LARGEST` of the largest magnitude of its eigenvalues. The operator is ``a D2 a - e``; in a tilted medium
    also what is left of it when D1 D1 is taken away, ``D1 = a^(1/2) D1 a^(1/2)``. Outside the nodes the axis goes on as
    it ends; at a free surface wavefields are odd about the first node.

    Neither answer follows from the other. Zeros above the first node make a wavefield below it one of the axis that
    goes on; beside a surface the stencil also reads its mirror image there, which weights of order 2 alone do not, and
    that part of the operator has no sign.
    """
    second, limit = stencil.second(tilted), LARGEST * stencil.nyquist(tilted)
    radius = len(second) - 1
    upper = _second_bands(np.pad(scale, 2 * radius, mode="edge"), second)
    if tilted:
        upper += _first_bands(np.pad(scale, 3 * radius, mode="edge"), stencil.first(tilted))
    upper[0] += limit
    return _is_positive(_odd(upper, 2 * radius) if free_surface else upper)


def fastest_rate(scale: Rows, fastest: Rows, second: Sequence[float], along: float, spacing: float) -> float:
    """Return a bound of the largest squared angular frequency, 1/s^2, of an isotropic medium on a depth axis.

    Parameters
    ----------
    scale : ndarray, (n,)
        Scale of the axis at its nodes.
    fastest : ndarray, (n,)
        Fastest velocity at the depth of each node, m/s.
    second : sequence of float
        Weights c_0 .. c_M.
    along : float
        Sum of S / h^2 over the other axes, S being the Nyquist symbol, 1/m^2.
    spacing : float
        h of the depth axis, m.
    """
    nyquist = -second[0]
    for k in range(1, len(second)):
        nyquist -= 2 * (-1) ** k * second[k]
    rows = (nyquist * scale * scale + np.maximum(potential(scale, second), 0.0)) / (spacing * spacing)
    return float((fastest * fastest * (along + rows)).max())


def _second_bands(scale: Rows, second: Sequence[float]) -> Rows:
    """Return the upper diagonals of ``e - a D2 a``, (2 M + 1, n), row k being the k-th."""
    radius, count = len(second) - 1, len(scale)
    out = np.zeros((2 * radius + 1, count))
    out[0] = potential(scale, second) - second[0] * scale * scale
    for k in range(1, radius + 1):
        out[k, : count - k] = -second[k] * scale[: count - k] * scale[k:]
    return out


def _first_bands(scale: Rows, first: Sequence[float]) -> Rows:
    """Return the upper diagonals of ``a^(1/2) D1 a D1 a^(1/2)`` at nodes M to n - M, (2 M + 1, n - 2 M)."""
    radius = len(first)
    weights = [-first[-m - 1] if m < 0 else first[m - 1] if m else 0.0 for m in range(-radius, radius + 1)]
    count = len(scale) - 2 * radius
    root = np.sqrt(scale[radius : radius + count])
    out = np.zeros((2 * radius + 1, count))
    for k in range(2 * radius + 1):
        total = np.zeros(count)
        for m in range(k - radius, radius + 1):
            total += weights[m + radius] * weights[k - m + radius] * scale[radius + m : radius + m + count]
        out[k, : count - k] = root[: count - k] * total[: count - k] * root[k:]
    return out


def _odd(upper: Rows, before: int) -> Rows:
    """Return the diagonals of what acts on functions that are odd about node `before`, for the nodes past it."""
    width = len(upper)
    out = upper[:, before + 1 :].copy()
    for i in range(1, width):
        for j in range(i, width - i):
            # the node that mirrors j lies i + j from i
            out[j - i, i - 1] -= upper[i + j, before - j]
    return out


def _is_positive(upper: Rows) -> bool:
    """Return whether a symmetric matrix, (b + 1, n) upper diagonals, is positive definite: L D L^T in a fixed order."""
    width, count = upper.shape
    band = width - 1
    rows = np.zeros((count + band, width))
    rows[:count] = upper.T
    # row j + 1 + i, diagonal m - i of what follows row j is element (i, m) of a square
    flat, item = rows.reshape(-1), rows.itemsize
    ahead = np.triu(np.ones((band, band)))
    for j in range(count):
        pivot = rows[j, 0]
        if not pivot > 0.0:
            return False
        below = rows[j, 1:]
        square = np.lib.stride_tricks.as_strided(
            flat[(j + 1) * width :], (band, band), (band * item, item), writeable=True
        )
        square -= (below / pivot)[:, None] * below * ahead
    return True


def _covering(cells: float) -> int:
    """Return the nodes of an axis that is at least so many cells long, to a millionth."""
    return int(np.ceil(cells - 1e-6)) + 1


def _allowed(depth: Rows, slowest: Rows, demand: Demand) -> tuple[Rows, Rows]:
    """Return depths and the widest spacing at each of them; straight lines between them are nowhere too wide."""
    widest = np.clip(slowest / demand.resolution, demand.spacing, demand.coarsest * demand.spacing)
    low = widest.copy()
    low[1:] = np.minimum(low[1:], widest[:-1])
    low[:-1] = np.minimum(low[:-1], widest[1:])
    ends = _ends(float(_line(depth, low, demand.top)), float(_line(depth, low, demand.bottom)), demand)
    inside = depth[(depth > demand.top) & (depth < demand.bottom)]
    points = np.unique(np.concatenate([inside, [demand.top, *ends, demand.bottom]]))
    return points, _line(depth, low, points)


def _ends(at_top: float, at_bottom: float, demand: Demand) -> tuple[float, float]:
    """Return the depths between which the spacing may change: outside are 2 M cells, and half a basis spline."""
    cells = 2 * demand.radius + (DEGREE + 1) * demand.knot / 2
    middle = 0.5 * (demand.top + demand.bottom)
    return min(demand.top + cells * at_top, middle), max(demand.bottom - cells * at_bottom, middle)


def _limited(points: Rows, widest: Rows, demand: Demand) -> tuple[Rows, Rows]:
    """Return depths and spacings that change by at most the slope, constant at both ends."""
    first, last = _ends(widest[0], widest[-1], demand)
    for _ in range(2):
        widest[points <= first] = widest[points <= first].min()
        widest[points >= last] = widest[points >= last].min()
        values, steps = widest.tolist(), np.diff(points).tolist()
        for i, step in enumerate(steps):
            values[i + 1] = min(values[i + 1], values[i] + demand.slope * step)
        for i in range(len(steps) - 1, -1, -1):
            values[i] = min(values[i], values[i + 1] + demand.slope * steps[i])
        widest = np.array(values)
    return points, widest


def _breaks(points: Rows, widest: Rows, demand: Demand) -> Rows:
    """Return depths, `knot` cells from each to the next, from the top to past the last node."""
    out, end = [demand.top], demand.bottom + 2 * float(widest[-1])
    while out[-1] < end:
        out.append(out[-1] + demand.knot * float(_line(points, widest, out[-1])))
    return np.array(out)


def _extended(breaks: Rows) -> Rows:
    """Return the breaks with `DEGREE` knots more at either end."""
    more = np.arange(1, DEGREE + 1)
    before = breaks[0] - more[::-1] * (breaks[1] - breaks[0])
    after = breaks[-1] + more * (breaks[-1] - breaks[-2])
    return np.concatenate([before, breaks, after])


def _raised(knots: Rows, points: Rows, least: Rows, demand: Demand) -> Rows:
    """Return the coefficients of a spline that is nowhere below `least`, h over the spacing, at `points`.

    They begin with its values at the means of their knots, which a straight line would keep, and are raised where the
    spline is too low; none is above 1.
    """
    spans = len(knots) - 2 * DEGREE - 1
    breaks = knots[DEGREE : DEGREE + spans + 1]
    part = np.arange(CHECKS) / CHECKS
    grid = (breaks[:-1, None] + part * (breaks[1:] - breaks[:-1])[:, None]).ravel()
    grid = np.unique(np.concatenate([grid, points[points < breaks[-1]], breaks[-1:]]))
    bound = demand.spacing / _line(points, demand.spacing / least, grid)
    bound = np.maximum(bound[:-1], bound[1:])
    span = np.clip(np.searchsorted(breaks, grid[:-1], side="right") - 1, 0, spans - 1)
    starts = np.searchsorted(span, np.arange(spans))
    means = knots[1 : len(knots) - DEGREE].copy()
    for i in range(2, DEGREE + 1):
        means += knots[i : len(knots) - DEGREE - 1 + i]
    c = demand.spacing / _line(points, demand.spacing / least, means / DEGREE)
    constant = _constant(knots, demand.spacing / least, demand)
    for _ in range(ROUNDS):
        for touched in constant:
            c[touched] = c[touched].max()
        value = _spline(knots, c, DEGREE, grid)
        lack = bound / np.minimum(value[:-1], value[1:])
        if lack.max() <= 1.0 + 1e-12:
            return c
        factor = _spread(np.maximum.reduceat(lack, starts), len(c))
        c = np.minimum(c * np.where(factor > 1.0 + 1e-13, 1.0 + 2.0 * (factor - 1.0), 1.0), 1.0)
    c = _spread(np.maximum.reduceat(bound, starts), len(c))
    for touched in constant:
        c[touched] = c[touched].max()
    return c


def _spread(of_span: Rows, count: int) -> Rows:
    """Return the largest value in the spans that each of `count` coefficients reaches."""
    padded = np.pad(of_span, DEGREE, mode="edge")
    return np.lib.stride_tricks.sliding_window_view(padded, DEGREE + 1)[:count].max(axis=1)


def _constant(knots: Rows, widest: Rows, demand: Demand) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which coefficients reach the cells at the top and at the bottom whose spacing is constant."""
    cells = 2 * demand.radius
    first, last = demand.top + cells * widest[0], demand.bottom - cells * widest[-1]
    return knots[: -DEGREE - 1] < first, knots[DEGREE + 1 :] > last


def _line(x: Rows, y: Rows, at: Rows | float) -> Rows:
    """Return values between the points of a broken line; those of its ends outside."""
    p = np.clip(np.asarray(at, dtype=np.float64), x[0], x[-1])
    i = np.clip(np.searchsorted(x, p, side="right") - 1, 0, max(len(x) - 2, 0))
    j = np.minimum(i + 1, len(x) - 1)
    width = np.where(j > i, x[j] - x[i], 1.0)
    out = y[i] + (p - x[i]) / width * (y[j] - y[i])
    return np.asarray(np.where(p >= x[j], y[j], out))


def _spline(knots: Rows, coefficients: Rows, degree: int, at: Rows) -> Rows:
    """Return the values of a spline by de Boor's recursion; those of its ends outside. Constants remain exact."""
    first, last = degree, len(knots) - degree - 2
    p = np.clip(at, knots[first], knots[last + 1])
    span = np.clip(np.searchsorted(knots, p, side="right") - 1, first, last)
    d = [coefficients[span - degree + j] for j in range(degree + 1)]
    for r in range(1, degree + 1):
        for j in range(degree, r - 1, -1):
            low = knots[span - degree + j]
            part = (p - low) / (knots[span + 1 + j - r] - low)
            d[j] = d[j - 1] + part * (d[j] - d[j - 1])
    return np.asarray(d[degree])
