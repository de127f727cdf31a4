"""Least squares in the image domain: the Hessian as point-spread functions on a lattice, and images deconvolved by it.

An image of migration is ``J^T d``; of Born data ``d = J m`` it is ``H m`` with the Hessian ``H = J^T J``. A column of H
is a point-spread function: the image of a single point. One modelling and one migration of a lattice of points give one
column at every node of the lattice, as long as they do not overlap; between the nodes the functions are interpolated,
by the place of the point. ``H m = J^T d`` is then solved for m by a few iterations that touch no wavefield.

References
----------
Fletcher, R. P., D. Nichols, R. Bloor, and R. T. Coates (2016), Least-squares migration: data domain versus image domain
using point spread functions, The Leading Edge 35, 157-162.
Hu, J., G. T. Schuster, and P. A. Valasek (2001), Poststack migration deconvolution, Geophysics 66, 939-952.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.errors import ConfigError
from subsalt.inversion.cgls import Cgls
from subsalt.inversion.least_squares import solve
from subsalt.inversion.penalty import Penalty
from subsalt.inversion.preconditioner import masked
from subsalt.inversion.stopping import StoppingRules

#: points from one node of a lattice to the next, at least: one on either side of it
NEAREST = 3
#: the outer part of a window, whose energy is the overlap, begins at this part of its reach
OUTER = 0.75
#: what the peaks of functions are raised to, as a part of the highest: where no light comes, nothing is made louder
FLOOR = 1e-3
#: overlap above which a lattice is too close: a tail that long is missing in H, or a neighbour's is in it
TOO_NEAR = 0.05
#: code of what is wrong with a lattice or its response
CODE = "E898"


@dataclass(frozen=True)
class Lattice:
    """Points on a lattice in a grid, at least half a step from its edges.

    Parameters
    ----------
    shape : tuple of int
        Shape of the grid.
    step : tuple of int
        Points of the grid from one node of the lattice to the next, along every axis.

    Raises
    ------
    ConfigError
        When steps are fewer than 3 points, or more than the grid has (E898).
    """

    shape: tuple[int, ...]
    step: tuple[int, ...]

    def __post_init__(self) -> None:
        wrong = len(self.step) != len(self.shape) or any(
            not NEAREST <= step <= n for step, n in zip(self.step, self.shape, strict=False)
        )
        if wrong:
            raise ConfigError(
                f"a lattice every {self.step} points in a grid of {self.shape}",
                f"give a step for every axis, of {NEAREST} points at least and of as many as the grid has at most",
                code=CODE,
            )

    @property
    def counts(self) -> tuple[int, ...]:
        """Nodes along every axis."""
        return tuple(n // step for n, step in zip(self.shape, self.step, strict=True))

    @property
    def reach(self) -> tuple[int, ...]:
        """Points on either side of a node that belong to it alone, along every axis."""
        return tuple((step - 1) // 2 for step in self.step)

    @cached_property
    def nodes(self) -> tuple[NDArray[np.intp], ...]:
        """Indices of the nodes along every axis, in the middle of the grid."""
        return tuple(
            (n - 1 - (count - 1) * step) // 2 + step * np.arange(count)
            for n, count, step in zip(self.shape, self.counts, self.step, strict=True)
        )

    def points(self) -> NDArray[np.float64]:
        """Return the image of the lattice: 1 at its nodes, 0 elsewhere."""
        out = np.zeros(self.shape)
        out[np.ix_(*self.nodes)] = 1.0
        return out

    def between(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values at the nodes at all points: linear between the nodes, constant beyond the outermost."""
        out = values
        for axis, (n, at) in enumerate(zip(self.shape, self.nodes, strict=True)):
            last = len(at) - 1
            below = np.clip((np.arange(n) - at[0]) // self.step[axis], 0, max(0, last - 1))
            above = np.minimum(below + 1, last)
            part = np.clip((np.arange(n) - at[below]) / self.step[axis], 0.0, 1.0) * (above > below)
            part = part.reshape((-1,) + (1,) * (len(self.shape) - axis - 1))
            out = np.take(out, below, axis) * (1.0 - part) + np.take(out, above, axis) * part
        return out


@dataclass(frozen=True)
class Deconvolved:
    """An image without the blur and the illumination of its survey.

    Parameters
    ----------
    image : ndarray, shape of the grid, float64
        The perturbation whose image was given.
    misfits : tuple of float
        |H m - image|^2, balanced, over that of the start, by iteration; the first is 1.
    reason : str
        Why the iteration ended.
    """

    image: NDArray[np.float64]
    misfits: tuple[float, ...]
    reason: str


@dataclass(frozen=True)
class PointSpread:
    """A Hessian by its columns at the nodes of a lattice; a linear operator with its adjoint.

    Parameters
    ----------
    lattice : Lattice
        Where the functions are known.
    functions : ndarray, (nodes along every axis, points of a window along every axis), float64
        The function of every node, in a window around it.
    """

    lattice: Lattice
    functions: NDArray[np.float64]

    @classmethod
    def of_response(cls, lattice: Lattice, response: ArrayLike) -> PointSpread:
        """Return the functions in the response H to the points of a lattice.

        Raises
        ------
        ConfigError
            When the response has another shape, values that are not finite, or no peak at any node (E898).
        """
        values = np.asarray(response, dtype=np.float64)
        if values.shape != lattice.shape:
            raise ConfigError(
                f"the response has shape {values.shape}, the lattice is one of {lattice.shape}",
                "migrate the Born data of Lattice.points() on the same grid",
                code=CODE,
            )
        bad = int(np.count_nonzero(~np.isfinite(values)))
        if bad:
            raise ConfigError(
                f"the response is not finite at {bad} of {values.size} points",
                "look at the velocity for values that are not numbers",
                code=CODE,
            )
        windows = [
            at[:, None] + np.arange(-reach, reach + 1)
            for at, reach in zip(lattice.nodes, lattice.reach, strict=True)
        ]
        ndim = len(windows)
        index = tuple(
            w.reshape(
                [w.shape[0] if i == axis else w.shape[1] if i == ndim + axis else 1 for i in range(2 * ndim)]
            )
            for axis, w in enumerate(windows)
        )
        functions = values[index]
        spread = cls(lattice, functions)
        if not float(spread.peaks.max()) > 0:
            raise ConfigError(
                "the response is zero or negative at all nodes of the lattice: no light comes there",
                "look at the positions of sources and receivers and at the length of the records",
                code=CODE,
            )
        return spread

    @property
    def domain_shape(self) -> tuple[int, ...]:
        """Shape of a model."""
        return self.lattice.shape

    @property
    def range_shape(self) -> tuple[int, ...]:
        """Shape of an image: that of the model."""
        return self.lattice.shape

    @property
    def peaks(self) -> NDArray[np.float64]:
        """The functions at their nodes: the diagonal of the Hessian there."""
        middle: Any = (..., *self.lattice.reach)
        values: NDArray[np.float64] = self.functions[middle]
        return values

    @cached_property
    def overlap(self) -> NDArray[np.float64]:
        """Part of the energy of every window that lies in its outer quarter: near 0 where functions end before it.

        Notes
        -----
        A function that reaches into the windows of its neighbours has energy there, and they have in its own. Energy
        that is the same everywhere in a window gives the part of the points, 1 - 0.75^2 = 0.44 in 2-D.
        """
        outer = self._outer.ravel()
        flat = self.functions.reshape(*self.lattice.counts, -1)
        energy = np.zeros(self.lattice.counts)
        outside = np.zeros(self.lattice.counts)
        # one point of the windows after the other: the order of the sum is that of the window
        for k, is_outer in enumerate(outer.tolist()):
            squared = np.square(flat[..., k])
            energy = energy + squared
            if is_outer:
                outside = outside + squared
        return np.where(energy > 0, outside / np.where(energy > 0, energy, 1.0), 1.0)

    @property
    def typical_overlap(self) -> float:
        """Median of the overlap of all nodes."""
        ordered = np.sort(self.overlap, axis=None)
        n = len(ordered)
        return float(0.5 * (ordered[(n - 1) // 2] + ordered[n // 2]))

    @property
    def _outer(self) -> NDArray[np.bool_]:
        """Where in a window its outer part is."""
        far = [np.abs(np.arange(-reach, reach + 1)) > OUTER * reach for reach in self.lattice.reach]
        out = np.zeros(tuple(len(f) for f in far), bool)
        for axis, f in enumerate(far):
            out |= f.reshape([-1 if i == axis else 1 for i in range(len(far))])
        return out

    def diagonal(self) -> NDArray[np.float64]:
        """Return the diagonal of the Hessian at all points: interpolated peaks, `FLOOR` of the highest at least."""
        peaks = np.maximum(self.peaks, FLOOR * float(self.peaks.max()))
        return self.lattice.between(peaks)

    def forward(self, x: NDArray) -> NDArray[np.float64]:
        """Return the image H x of a model."""
        model = np.asarray(x, dtype=np.float64)
        out = np.zeros(self.lattice.shape)
        for here, there, column in self._shifts():
            out[there] += (column * model)[here]
        return out

    def adjoint(self, y: NDArray) -> NDArray[np.float64]:
        """Return H^T y."""
        image = np.asarray(y, dtype=np.float64)
        out = np.zeros(self.lattice.shape)
        for here, there, column in self._shifts():
            out[here] += column[here] * image[there]
        return out

    def deconvolve(
        self,
        image: ArrayLike,
        *,
        iterations: int = 10,
        damping: float = 0.01,
        mask: ArrayLike | None = None,
    ) -> Deconvolved:
        """Return the model m of ``H m = image`` by damped least squares.

        Parameters
        ----------
        image : array_like, shape of the grid
            J^T d.
        iterations : int
            Iterations of CGLS; each applies H and H^T once. Few of them regularise too.
        damping : float
            Weight of |m|^2, balanced, relative to the first direction (`Cgls`).
        mask : array_like, optional
            0 where m stays zero and the image does not count, as above the first reflector; 1 elsewhere.

        Raises
        ------
        ConfigError
            When image or mask have another shape (E896), or the mask is zero throughout (E894).
        NumericalFailure
            When the image is not finite (E895).

        Notes
        -----
        What is minimised is ``|D^-1/2 (H m - image)|^2 + lambda |D^1/2 m|^2`` with the diagonal D of H.
        """
        balanced = _Balanced(self)
        weights = masked(np.ones(self.lattice.shape), mask)
        data = np.asarray(image, dtype=np.float64)
        if data.shape != self.lattice.shape:
            raise ConfigError(
                f"the image has shape {data.shape}, the lattice is one of {self.lattice.shape}",
                "give an image on the grid of the lattice",
                code="E896",
            )
        solution = solve(
            balanced,
            balanced.scale * data,
            lambda: Cgls(weights, Penalty("size"), damping),
            StoppingRules(iterations),
            weights=None if mask is None else weights,
        )
        misfits = tuple(s.relative for s in solution.history)
        return Deconvolved(balanced.scale * solution.state.x, misfits, solution.reason)

    def _shifts(self) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...], NDArray[np.float64]]]:
        """Yield, by distance, points and where their functions add to the image, with the functions at that distance.

        What a function has outside the grid is lost, as in a migration.
        """
        ndim = len(self.lattice.shape)
        ranges = [range(-reach, reach + 1) for reach in self.lattice.reach]
        for places in product(*(range(len(r)) for r in ranges)):
            offsets = [r[place] for r, place in zip(ranges, places, strict=True)]
            here = tuple(
                slice(max(0, -o), n - max(0, o)) for o, n in zip(offsets, self.lattice.shape, strict=True)
            )
            there = tuple(
                slice(max(0, o), n - max(0, -o)) for o, n in zip(offsets, self.lattice.shape, strict=True)
            )
            index = (slice(None),) * ndim + places
            yield here, there, self.lattice.between(self.functions[index])


class _Balanced:
    """D^-1/2 H D^-1/2: a Hessian whose diagonal is 1, so that deep points count as much as shallow ones."""

    def __init__(self, spread: PointSpread) -> None:
        self._spread = spread
        self.scale = 1.0 / np.sqrt(spread.diagonal())
        self.domain_shape = self.range_shape = spread.lattice.shape

    def forward(self, x: NDArray) -> NDArray[np.float64]:
        return self.scale * self._spread.forward(self.scale * x)

    def adjoint(self, y: NDArray) -> NDArray[np.float64]:
        return self.scale * self._spread.adjoint(self.scale * y)


def lattice_every(shape: tuple[int, ...], spacing: Sequence[float], distance: Sequence[float]) -> Lattice:
    """Return the lattice of a grid whose nodes lie about so far apart.

    Parameters
    ----------
    shape : tuple of int
        Shape of the grid.
    spacing, distance : sequence of float
        From one point, and from one node, to the next, m.
    """
    step = tuple(min(n, max(NEAREST, round(d / h))) for n, h, d in zip(shape, spacing, distance, strict=True))
    return Lattice(shape, step)
