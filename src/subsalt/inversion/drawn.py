"""A linear least-squares problem in memory, solved shots by shots as they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError
from subsalt.inversion.bregman import Bregman, BregmanState, DrawnSums
from subsalt.inversion.draws import Draws, refuse_large_subset
from subsalt.inversion.least_squares import Operator, Solution, Weighted, refuse_other_shapes, squared
from subsalt.inversion.stopping import StoppingRules
from subsalt.numerics import fixedmath


class ShotOperator(Operator, Protocol):
    """A linear map with its adjoint that takes some of the shots, and both their products at once."""

    def forward(self, x: NDArray, places: Sequence[int] | None = None) -> NDArray:
        """Return J x of shots, by their places in the survey."""

    def normal(
        self, x: NDArray, between: Callable[[int, NDArray], NDArray], places: Sequence[int] | None = None
    ) -> NDArray:
        """Return the sum of J^T B J x over shots, by their places in the survey; B takes a place and its data."""


def solve_drawn(
    operator: ShotOperator,
    data: NDArray,
    method: Callable[[], Bregman],
    rules: StoppingRules,
    draws: Draws,
    *,
    weights: NDArray | None = None,
    start: NDArray | None = None,
    on_state: Callable[[BregmanState], None] = lambda state: None,
) -> Solution:
    """Explain data from m0 on, by the shots that are drawn in each iteration.

    Parameters
    ----------
    operator : ShotOperator
        J.
    data : ndarray, (shots, receivers, samples)
        d.
    method : callable
        Returns preconditioner and threshold, once ``J^T`` of the data has been taken.
    rules : StoppingRules
        How many iterations; its other rules look at all shots and are not used.
    draws : Draws
        Which shots; their numbers are in the order of `data`.
    weights, start : ndarray, optional
        Diagonal of W, and m0, as of `least_squares.solve`.
    on_state : callable
        Called with every state, the first before any step.

    Returns
    -------
    Solution
        Its ``state.x`` is m - m0.

    Raises
    ------
    ConfigError
        When data or start have other shapes than the operator expects (E896), or an iteration would take more shots
        than there are (E104).
    NumericalFailure
        When a number is not finite (E895).
    """
    refuse_large_subset(draws.subset, len(draws.shots))
    if len(draws.shots) != operator.range_shape[0]:
        raise ConfigError(
            f"draws from {len(draws.shots)} shots, the operator has {operator.range_shape[0]}",
            "name every shot of the operator",
            code="E896",
        )
    refuse_other_shapes(operator, data, start)
    problem = _Problem(operator, Weighted(operator, weights), np.asarray(data))
    m0 = np.zeros(operator.domain_shape) if start is None else np.asarray(start, dtype=np.float64)
    residual = problem.data if start is None else problem.data - problem.weighted.forward(m0)
    starts = [squared(r[None]) for r in residual]
    gradient = problem.weighted.adjoint(residual)
    bregman = method()
    misfit = squared(residual)
    state = bregman.begin(gradient, DrawnSums(len(starts), misfit, misfit, squared(problem.data)))
    del residual, gradient
    history = [state.scalars]
    on_state(state)
    while not (reason := rules.reason_of_draws(state.scalars)):
        chosen = set(draws.drawn(state.scalars.iteration + 1))
        places = [place for place, shot in enumerate(draws.shots) if shot in chosen]
        g, misfit, data_energy = problem.gradient(m0 + state.x, places)
        start_misfit = total(starts[i] for i in places)
        half = bregman.direction(state, g, DrawnSums(len(places), misfit, start_misfit, data_energy))
        state = bregman.step(half, problem.energy(half.p, places))
        history.append(state.scalars)
        on_state(state)
    return Solution(state, history, reason)


class _Problem:
    """Data and operator with their weights, shot by shot."""

    def __init__(self, operator: ShotOperator, weighted: Weighted, data: NDArray) -> None:
        self.operator, self.weighted = operator, weighted
        self.data = weighted.weighted(data)
        weights = weighted.weights
        self.factors = None if weights is None else np.broadcast_to(weights, operator.range_shape)

    def gradient(
        self, m: NDArray[np.float64], places: Sequence[int]
    ) -> tuple[NDArray[np.float64], float, float]:
        """Return ``J^T W (d - W J m)`` of some shots, and the squares of their residual and of their data."""
        misfits: dict[int, float] = {}

        def between(place: int, modelled: NDArray) -> NDArray[np.float64]:
            q, factors = np.asarray(modelled, dtype=np.float64), self.factors
            r = self.data[place] - (q if factors is None else q * factors[place])
            misfits[place] = fixedmath.dot(r, r)
            return r if factors is None else r * factors[place]

        g = np.asarray(self.operator.normal(m, between, places), dtype=np.float64)
        energies = (squared(self.data[i][None]) for i in places)
        return g, total(misfits[i] for i in places), total(energies)

    def energy(self, p: NDArray[np.float64], places: Sequence[int]) -> float:
        """Return ``|W J p|^2`` of some shots."""
        modelled = np.asarray(self.operator.forward(p, places), dtype=np.float64)
        return squared(modelled if self.factors is None else modelled * self.factors[list(places)])


def total(values: Iterable[float]) -> float:
    """Return a sum, one value after the other."""
    out = 0.0
    for value in values:
        out += value
    return out
