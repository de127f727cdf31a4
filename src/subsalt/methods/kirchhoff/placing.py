"""Placing an image grid on the map: from corner points, from origin and azimuth, or from the numbers of the traces.

Positions feed the image, so that every machine has to find the same bits: corner points are fitted in exact rational
arithmetic, traces by sums in fixed order, rounded to a tenth of a millimetre.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import Vector
from subsalt.errors import ConfigError, GeometryError
from subsalt.numerics import fixedmath

#: part of a bin by which corner points may miss the grid
CORNER_MISFIT = 0.01
#: bins by which the traces may lie beside the grid of their own numbers, root mean square
TRACE_MISFIT = 1.0
#: decimals of a metre that a grid found from traces keeps
DECIMALS = 4


@dataclass(frozen=True)
class Placement:
    """An affine map from line numbers to map positions.

    Parameters
    ----------
    at : tuple of int
        Inline and crossline number of `corner`.
    corner : tuple of float
        Map position there, m.
    per_inline, per_crossline : tuple of float
        Map vectors from a number to the next, m.
    misfit : float
        Largest distance of a corner point, or root mean square of the traces, from the grid, m.
    how : str
        Where it is from, in words.
    """

    at: tuple[int, int]
    corner: Vector
    per_inline: Vector
    per_crossline: Vector
    misfit: float = 0.0
    how: str = ""

    def position(self, inline: int, crossline: int) -> Vector:
        """Return the map position of a location, m."""
        i, j = float(inline - self.at[0]), float(crossline - self.at[1])
        return (
            (self.corner[0] + i * self.per_inline[0]) + j * self.per_crossline[0],
            (self.corner[1] + i * self.per_inline[1]) + j * self.per_crossline[1],
        )

    @property
    def skew(self) -> float:
        """Degrees by which inlines and crosslines are not at right angles."""
        (ax, ay), (bx, by) = self.per_inline, self.per_crossline
        angle = math.degrees(math.atan2(abs(ax * by - ay * bx), ax * bx + ay * by))
        return abs(angle - 90.0)


def beside(vector: Vector) -> Vector:
    """Return the vector of the same length to the right: what a line that has one inline has for the next."""
    return vector[1], -vector[0]


def from_corners(points: Sequence[tuple[int, int, float, float]]) -> Placement:
    """Return the grid through corner points [inline, crossline, x, y], fitted by least squares.

    Two points with the same inline number are enough for a 2-D line.

    Raises
    ------
    ConfigError
        When they are too few, lie on one line, or are farther than 1 % of a bin from the grid that fits best (E760).
    """
    given = [(int(p[0]), int(p[1]), Fraction(float(p[2])), Fraction(float(p[3]))) for p in points]
    if len({p[:2] for p in given}) != len(given):
        twice = next(p[:2] for n, p in enumerate(given) if p[:2] in {q[:2] for q in given[:n]})
        raise ConfigError(
            f"corner point inline {twice[0]}, crossline {twice[1]} is given twice",
            "give each once",
            code="E760",
        )
    il0, xl0 = given[0][:2]
    one_inline = len({p[0] for p in given}) == 1
    if len(given) < (2 if one_inline else 3):
        raise ConfigError(
            f"{len(given)} corner points do not say where the grid lies",
            "give three or more, [inline, crossline, x, y]; two for a line of one inline",
            code="E760",
        )
    rows = [(1, p[1] - xl0) if one_inline else (1, p[1] - xl0, p[0] - il0) for p in given]
    x, y = _least_squares(rows, [p[2] for p in given]), _least_squares(rows, [p[3] for p in given])
    if x is None or y is None:
        raise ConfigError(
            f"the corner points {[list(p[:2]) for p in given]} lie on one line of inline and crossline numbers",
            "give points that span an area, such as three corners of the grid",
            code="E760",
        )
    corner, across = (float(x[0]), float(y[0])), (float(x[1]), float(y[1]))
    along = beside(across) if one_inline else (float(x[2]), float(y[2]))
    off = [
        math.hypot(
            float(p[2] - sum(a * b for a, b in zip(row, x, strict=True))),
            float(p[3] - sum(a * b for a, b in zip(row, y, strict=True))),
        )
        for row, p in zip(rows, given, strict=True)
    ]
    size = min(math.hypot(*along), math.hypot(*across))
    if max(off) > CORNER_MISFIT * size:
        shown = ", ".join(f"({p[0]}, {p[1]}) {d:.2f} m" for p, d in zip(given, off, strict=True))
        raise ConfigError(
            f"no regular grid goes through the corner points: off by {shown}; a bin is "
            f"{math.hypot(*along):.2f} x {math.hypot(*across):.2f} m",
            "correct the numbers or the positions; x and y exchanged in one of them is the usual mistake",
            code="E760",
        )
    return Placement((il0, xl0), corner, along, across, max(off), f"{len(given)} corner points")


def from_azimuth(
    first: tuple[int, int], origin: Vector, azimuth: float, spacing: tuple[float, float]
) -> Placement:
    """Return the grid whose crossline numbers grow along an azimuth.

    Parameters
    ----------
    first : tuple of int
        Inline and crossline number of the origin.
    origin : tuple of float
        Map position, m.
    azimuth : float
        Degrees clockwise from map y (north).
    spacing : tuple of float
        m per inline number, to the right of the azimuth (negative: to the left), and per crossline number.

    Raises
    ------
    ConfigError
        When a spacing is 0, or that of crosslines negative.
    """
    if not spacing[0] or not spacing[1] > 0:
        raise ConfigError(
            f"spacing = [{spacing[0]:g}, {spacing[1]:g}] m leads nowhere",
            "give metres per inline number (negative: to the left of azimuth) and, above 0, per crossline number",
            code="E760",
        )
    turn = math.fmod(azimuth, 360.0)
    # quarter turns are exact
    if turn % 90.0 == 0:
        s, c = ((0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0))[int(turn // 90) % 4]
    else:
        radians = turn * (fixedmath.PI / 180.0)
        s, c = float(fixedmath.sin(radians)), float(fixedmath.cos(radians))
    along = (spacing[0] * c, -spacing[0] * s)
    across = (spacing[1] * s, spacing[1] * c)
    return Placement(first, origin, along, across, 0.0, f"origin and azimuth {azimuth:g} degrees")


def from_numbers(
    inline: NDArray[np.int32], crossline: NDArray[np.int32], points: NDArray[np.float64], what: str
) -> Placement:
    """Return the grid that fits the line numbers of traces to their positions.

    Parameters
    ----------
    inline, crossline : ndarray, (n,)
        Numbers; of a 2-D line all inlines are one.
    points : ndarray, (n, 2)
        Map positions of bins or midpoints, m.
    what : str
        Name of the lines, for messages.

    Raises
    ------
    GeometryError
        When numbers and positions do not belong together (E766).
    """
    il0, xl0 = int(inline.min()), int(crossline.min())
    one_inline = int(inline.max()) == il0
    x0, y0 = (float(v) for v in np.floor(points[0]))
    j = (crossline - np.int64(xl0)).astype(np.float64)
    i = None if one_inline else (inline - np.int64(il0)).astype(np.float64)
    basis = [np.ones(len(points)), j] + ([] if i is None else [i])
    solved = [_fit(basis, points[:, k] - v) for k, v in ((0, x0), (1, y0))]
    if any(s is None for s in solved):
        raise _no_grid(f"{what}: the numbers lie on one line", "")
    (x, y) = ([round(v, DECIMALS) for v in s] for s in solved if s is not None)
    across = (x[1], y[1])
    along = beside(across) if one_inline else (x[2], y[2])
    off = [
        points[:, k] - v - sum(c * b for c, b in zip(s, basis, strict=True))
        for k, v, s in ((0, x0, x), (1, y0, y))
    ]
    misfit = math.sqrt((fixedmath.dot(off[0], off[0]) + fixedmath.dot(off[1], off[1])) / len(points))
    # along a line traces may lie a little off; across it a bin has no width
    size = math.hypot(*across) if one_inline else min(math.hypot(*along), math.hypot(*across))
    if not size > 0 or misfit > TRACE_MISFIT * max(size, 1.0):
        raise _no_grid(
            f"{what} lie {misfit:.1f} m (rms) off the grid of their numbers, whose bins would be "
            f"{math.hypot(*along):.1f} x {math.hypot(*across):.1f} m",
            "",
        )
    return Placement((il0, xl0), (x0 + x[0], y0 + y[0]), along, across, misfit, what)


def _no_grid(message: str, cure: str) -> GeometryError:
    return GeometryError(
        f"no output grid can be told from the traces: {message}",
        cure or "add [kirchhoff] inline, crossline and corners = [[inline, crossline, x, y], ...]",
        code="E766",
    )


def _least_squares(rows: Sequence[Sequence[int]], values: Sequence[Fraction]) -> list[Fraction] | None:
    """Return the exact solution of the normal equations; None when they have none."""
    n = len(rows[0])
    matrix = [
        [Fraction(sum(r[a] * r[b] for r in rows)) for b in range(n)]
        + [sum((r[a] * v for r, v in zip(rows, values, strict=True)), Fraction(0))]
        for a in range(n)
    ]
    return _solve(matrix)


def _fit(basis: list[NDArray[np.float64]], values: NDArray[np.float64]) -> list[float] | None:
    """Return the coefficients of least squares; sums in fixed order, the small system in exact arithmetic."""
    matrix = [
        [Fraction(fixedmath.dot(a, b)) for b in basis] + [Fraction(fixedmath.dot(a, values))] for a in basis
    ]
    solution = _solve(matrix)
    return None if solution is None else [float(v) for v in solution]


def _solve(matrix: list[list[Fraction]]) -> list[Fraction] | None:
    """Return the solution of a small system (its right side is the last column) by Gauss; None when singular."""
    n = len(matrix)
    for k in range(n):
        pivot = next((r for r in range(k, n) if matrix[r][k] != 0), None)
        if pivot is None:
            return None
        matrix[k], matrix[pivot] = matrix[pivot], matrix[k]
        for r in range(n):
            if r != k and matrix[r][k] != 0:
                f = matrix[r][k] / matrix[k][k]
                matrix[r] = [a - f * b for a, b in zip(matrix[r], matrix[k], strict=True)]
    return [matrix[k][n] / matrix[k][k] for k in range(n)]
