"""How many points a rank has of a grid, and how many it exchanges: slabs along x, and blocks in three directions.

`reached` says how much of a grid a wavefield from rest has reached, on the mean of its steps; what lies beyond is not
computed. Rows along z are advanced from their top to the last number that is not zero (`native/isa/front.hpp`). Ahead
of a wave the numbers of a scheme fall off like an Airy function, whose width grows with the cube root of
the steps, until they are flushed to zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: cells ahead of the wave over the cube root of the steps, in 2-D and in 3-D, where waves are weaker: 17 to 18 and
#: 14 to 16 (order 8, half a cell a step, 40 to 200 steps)
AHEAD_2D, AHEAD_3D = 18.0, 15.0
#: rows along x and y, points and times that stand for all
ROWS, POINTS, TIMES = 24, 32, 12


def reached(shape3: Shape, points: ArrayLike, cells: float, steps: int) -> float:
    """Return the part of the points of a grid that is advanced, on the mean of the steps.

    Parameters
    ----------
    shape3 : tuple of int
        Points of the grid, layer included.
    points : array_like, (n, 3)
        Where waves begin, in cells of the grid.
    cells : float
        Cells that a wave travels in a step.
    steps : int
        From rest.
    """
    where = np.atleast_2d(np.asarray(points, dtype=np.float64))
    if steps < 1 or not len(where):
        return 1.0
    where = where[:: -(-len(where) // POINTS)]
    x, y = np.meshgrid(_some(shape3[0]), _some(shape3[1]), indexing="ij")
    # to the nearest point, and its depth
    apart = np.hypot(x[..., None] - where[:, 0], y[..., None] - where[:, 1])
    times = steps * (np.arange(TIMES) + 0.5) / TIMES
    ahead = AHEAD_2D if shape3[1] == 1 else AHEAD_3D
    parts = [_part(apart, where[:, 2], cells * n + ahead * np.cbrt(n), shape3[2]) for n in times]
    return float(np.mean(parts))


def _part(apart: NDArray[np.float64], depth: NDArray[np.float64], radius: float, nz: int) -> float:
    """Return the part of the rows above the waves of all points, `radius` cells away from each."""
    down = np.where(apart <= radius, depth + np.sqrt(np.maximum(0.0, radius**2 - apart**2)), 0.0)
    return float(np.minimum(1.0, down.max(axis=-1) / nz).mean())


def _some(n: int) -> NDArray[np.float64]:
    """Return the middles of equal parts of n rows, no more than `ROWS`."""
    count = min(n, ROWS)
    return (np.arange(count) + 0.5) * n / count - 0.5


Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Blocks:
    """A grid cut into `counts` blocks along each axis, as even as whole planes allow.

    Parameters
    ----------
    shape : tuple of int
        Points along x, y, z.
    counts : tuple of int
        Blocks along each axis.
    """

    shape: Shape
    counts: Shape

    @property
    def number(self) -> int:
        """Blocks in all."""
        return math.prod(self.counts)

    @property
    def largest(self) -> Shape:
        """Points of the largest block along each axis."""
        x, y, z = (-(-n // c) for n, c in zip(self.shape, self.counts, strict=True))
        return x, y, z

    @property
    def mean(self) -> float:
        """Points of a block on the mean."""
        return math.prod(self.shape) / self.number

    @property
    def imbalance(self) -> float:
        """Points of the largest block over those of the mean one: 1.15 with 6 planes where the mean is 5.2."""
        return math.prod(self.largest) / self.mean

    def exchanged(self, ghost: int) -> tuple[int, int]:
        """Return the faces of the block with most neighbours, and the points that it sends through them.

        Parameters
        ----------
        ghost : int
            Planes of points that a neighbour holds.
        """
        sides = [min(2, c - 1) for c in self.counts]
        x, y, z = self.largest
        areas = (y * z, x * z, x * y)
        return sum(sides), ghost * sum(s * a for s, a in zip(sides, areas, strict=True))


def slabs(shape: Shape, parts: int) -> Blocks:
    """Return a grid cut along x alone; no more parts than planes."""
    return Blocks(shape, (max(1, min(parts, shape[0])), 1, 1))


@lru_cache(maxsize=256)
def cubes(shape: Shape, parts: int) -> Blocks:
    """Return the cut into `parts` blocks that has the least to exchange, of equals the most even one."""
    found = [Blocks(shape, c) for c in _factors(parts) if all(a <= n for a, n in zip(c, shape, strict=True))]
    if not found:
        raise ValueError(f"{parts} blocks do not fit a grid of {shape}")
    return min(found, key=lambda b: (b.exchanged(1)[1], b.imbalance, b.counts))


def _factors(n: int) -> list[Shape]:
    """Return all ordered triples of numbers whose product is n."""
    divisors = [d for d in range(1, math.isqrt(n) + 1) if n % d == 0]
    divisors += [n // d for d in divisors if d * d != n]
    return [(a, b, n // a // b) for a in divisors for b in divisors if (n // a) % b == 0]
