"""A linear least-squares problem in memory, solved from operator and data to the end of the iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError
from subsalt.inversion.cgls import Cgls, CglsState, Scalars, State
from subsalt.inversion.stopping import StoppingRules
from subsalt.numerics import fixedmath


class Operator(Protocol):
    """A linear map with its adjoint on arrays of fixed shapes."""

    domain_shape: tuple[int, ...]
    range_shape: tuple[int, ...]

    def forward(self, x: NDArray) -> NDArray:
        """Return J x."""

    def adjoint(self, y: NDArray) -> NDArray:
        """Return J^T y."""


@runtime_checkable
class NormalOperator(Operator, Protocol):
    """A map that takes both products at once, and cheaper than one after the other."""

    def normal(self, x: NDArray, between: Callable[[int, NDArray], NDArray]) -> NDArray:
        """Return J^T B J x, where B takes the data of each shot, by its place in the survey, to those that go back."""


class Weighted:
    """An operator with weights on its data: W J, and its adjoint J^T W.

    Parameters
    ----------
    operator : Operator
        J.
    weights : ndarray, broadcast to the data, or None
        Diagonal of W; 1 when None.
    """

    def __init__(self, operator: Operator, weights: NDArray | None) -> None:
        self.operator = operator
        self.weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        self.domain_shape, self.range_shape = operator.domain_shape, operator.range_shape
        if self.weights is not None:
            self._check(self.weights)

    def _check(self, weights: NDArray[np.float64]) -> None:
        try:
            whole = np.broadcast_to(weights, self.range_shape)
        except ValueError:
            whole = None
        if whole is None or not np.isfinite(weights).all():
            raise ConfigError(
                f"data weights of shape {weights.shape} for data of shape {self.range_shape}"
                + ("" if whole is None else " are not finite somewhere"),
                "give finite weights that broadcast to the data: shots, receivers, samples",
                code="E896",
            )

    def weighted(self, y: NDArray) -> NDArray[np.float64]:
        """Return W y."""
        values = np.asarray(y, dtype=np.float64)
        return values if self.weights is None else values * self.weights

    def forward(self, x: NDArray) -> NDArray[np.float64]:
        """Return W J x."""
        return self.weighted(self.operator.forward(x))

    def adjoint(self, y: NDArray) -> NDArray[np.float64]:
        """Return J^T W y."""
        return np.asarray(self.operator.adjoint(self.weighted(y)), dtype=np.float64)

    def normal(self, x: NDArray) -> tuple[NDArray[np.float64], float]:
        """Return ``J^T W^2 J x`` and ``|W J x|^2``, both products at once where the operator can."""
        if not isinstance(self.operator, NormalOperator):
            q = self.forward(x)
            return self.adjoint(q), squared(q)
        weights = None if self.weights is None else np.broadcast_to(self.weights, self.range_shape)
        energies = [0.0] * self.range_shape[0]

        def between(shot: int, data: NDArray) -> NDArray[np.float64]:
            q = np.asarray(data, dtype=np.float64)
            q = q if weights is None else q * weights[shot]
            energies[shot] = fixedmath.dot(q, q)
            return q if weights is None else q * weights[shot]

        h = np.asarray(self.operator.normal(x, between), dtype=np.float64)
        total = 0.0
        for energy in energies:
            total += energy
        return h, total


@dataclass(frozen=True)
class Solution:
    """The end of an iteration.

    Parameters
    ----------
    state : State
        The last state; the iteration goes on from it.
    history : list of Scalars
        The numbers of every state, the first before any step.
    reason : str
        Why the iteration ended.
    """

    state: State
    history: list[Scalars]
    reason: str


def squared(y: NDArray) -> float:
    """Return |y|^2 of data (shots, receivers, samples): sums of shots, added in survey order."""
    total = 0.0
    for shot in np.asarray(y, dtype=np.float64):
        total += fixedmath.dot(shot, shot)
    return total


def refuse_other_shapes(operator: Operator, data: NDArray, start: NDArray | None) -> None:
    """Raise when data or start have other shapes than the operator expects (E896)."""
    for name, shape, expected in (
        ("data", np.shape(data), operator.range_shape),
        ("start", None if start is None else np.shape(start), operator.domain_shape),
    ):
        if shape is not None and shape != expected:
            raise ConfigError(
                f"{name} of shape {shape}, the operator expects {expected}",
                "cut or transpose it",
                code="E896",
            )


def solve(
    operator: Operator,
    data: NDArray,
    method: Callable[[], Cgls],
    rules: StoppingRules,
    *,
    weights: NDArray | None = None,
    start: NDArray | None = None,
    noise: Callable[[NDArray[np.float64]], float] | None = None,
    on_state: Callable[[CglsState], None] = lambda state: None,
) -> Solution:
    """Minimise ``|W (J m - d)|^2 + lambda |R (m - m0)|^2`` over m from m0 on.

    Parameters
    ----------
    operator : Operator
        J.
    data : ndarray, (shots, receivers, samples)
        d.
    method : callable
        Returns preconditioner and penalty, once ``J^T`` of the data has been taken: an operator knows its illumination
        from then on.
    rules : StoppingRules
        When it ends.
    weights : ndarray, optional
        Diagonal of W.
    start : ndarray, optional
        m0; 0 when left out.
    noise : callable, optional
        Returns |n|^2 of the noise of the weighted data of a shot, (receivers, samples).
    on_state : callable
        Called with every state, the first before any step.

    Returns
    -------
    Solution
        Its ``state.x`` is m - m0.

    Raises
    ------
    ConfigError
        When data or start have other shapes than the operator expects (E896).
    NumericalFailure
        When a number is not finite, or J and J^T are no pair (E895).
    """
    whole = Weighted(operator, weights)
    refuse_other_shapes(operator, data, start)
    d = whole.weighted(data)
    residual = d if start is None else d - whole.forward(np.asarray(start, dtype=np.float64))
    gradient = whole.adjoint(residual)
    cgls = method()
    estimated = 0.0 if noise is None else sum(map(noise, d))
    state = cgls.begin(gradient, squared(residual), squared(d), estimated)
    del residual
    history = [state.scalars]
    on_state(state)
    while not (reason := rules.reason(state.scalars)):
        state = cgls.step(state, *whole.normal(state.p))
        history.append(state.scalars)
        on_state(state)
    return Solution(state, history, reason)
