"""Conjugate gradients for linear least squares (CGLS), with preconditioner and penalty, as explicit states.

What is minimised over changes x of a model, with data residuals r of the starting model, is ::

    |r - J x|^2 + lambda |R x|^2

An iteration needs one product with J and one with its adjoint, of the direction p alone: ``q = J p`` and ``h = J^T q``.
The residual of the data itself is not kept, since ::

    s = J^T r - lambda R^T R x        loses  alpha (h + lambda R^T R p)  in a step alpha p, and
    |r|^2                             loses  2 alpha <J^T r, p> - alpha^2 |q|^2

so that a state is a few arrays of the size of the model, and all that a later process needs to go on. Sums are taken in
double precision, one value after the other in the order of the array: no BLAS, and the same bits anywhere.

References
----------
Hestenes, M. R., and E. Stiefel (1952), Methods of conjugate gradients for solving linear systems, J. Res. NBS 49.
Paige, C. C., and M. A. Saunders (1982), LSQR, ACM Trans. Math. Softw. 8, 43-71 (CGLS in section 7.1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError, NumericalFailure
from subsalt.inversion.penalty import Penalty
from subsalt.numerics import fixedmath

#: part of the misfit of the start by which the objective may seem to grow, or the misfit to be below zero: rounding of
#: data in single precision
ROUNDING = 1e-5

#: relative difference of <p, J^T J p> and |J p|^2 beyond which J and J^T are no pair in single precision
NO_PAIR = 1e-2


@dataclass(frozen=True)
class Scalars:
    """The numbers of a state beside its arrays.

    Parameters
    ----------
    iteration : int
        Steps taken.
    gamma : float
        <s, P s>.
    misfit, start, data : float
        |r - J x|^2 now and before the first step, and |d|^2 of the data themselves.
    penalty : float
        lambda |R x|^2.
    damping : float
        lambda; 0 before the first step, whose curvature is its unit.
    alpha, beta : float
        Length of the last step, and the part of the direction before in the new one.
    curvature : float
        |J p|^2 + lambda |R p|^2 of the last step.
    pair : float
        Relative difference of <p, J^T J p> and |J p|^2 in the last step: rounding, where J and J^T are a pair.
    noise : float
        Noise of the data over the data, root mean square, as estimated from them; 0 where it was not.
    threshold : float
        Size up to which a sum of steps changes nothing (`bregman`); 0 for none.
    shots : int
        Shots of which `misfit`, `start` and `data` are sums, where an iteration draws some; 0 where it takes all.
    """

    iteration: int
    gamma: float
    misfit: float
    start: float
    data: float
    penalty: float = 0.0
    damping: float = 0.0
    alpha: float = 0.0
    beta: float = 0.0
    curvature: float = 0.0
    pair: float = 0.0
    noise: float = 0.0
    threshold: float = 0.0
    shots: int = 0

    @property
    def relative(self) -> float:
        """The misfit over that of the start."""
        return self.misfit / self.start if self.start > 0 else 0.0

    @property
    def objective(self) -> float:
        """Misfit and penalty together: the objective of the iteration."""
        return self.misfit + self.penalty

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, which JSON keeps bit for bit."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Scalars:
        """Return the numbers of `to_dict`."""
        return cls(**values)


class State(Protocol):
    """A state of any iteration: a change of the model, arrays to write down, numbers."""

    @property
    def x(self) -> NDArray[np.float64]:
        """Change of the model so far."""

    @property
    def arrays(self) -> tuple[NDArray[np.float64], ...]:
        """The arrays, in the order in which they are written down."""

    @property
    def scalars(self) -> Scalars:
        """The numbers."""


@dataclass(frozen=True)
class CglsState:
    """A state between two iterations: with it any process goes on to the same bytes.

    Parameters
    ----------
    x : ndarray, float64
        Change of the model so far.
    s : ndarray, float64
        Negative half of the gradient of what is minimised, ``J^T r - lambda R^T R x``.
    p : ndarray, float64
        Direction of the next step.
    scalars : Scalars
        The numbers.
    """

    x: NDArray[np.float64]
    s: NDArray[np.float64]
    p: NDArray[np.float64]
    scalars: Scalars

    @property
    def arrays(self) -> tuple[NDArray[np.float64], ...]:
        """The arrays, in the order in which they are written down."""
        return self.x, self.s, self.p


@dataclass(frozen=True)
class Cgls:
    """The iteration: how a state follows from the one before.

    Parameters
    ----------
    preconditioner : ndarray, shape of the model, float64
        Diagonal of P, an estimate of the inverse Hessian; 0 where the model does not change (a mask).
    penalty : Penalty
        R.
    damping : float
        Weight of the penalty, relative: lambda is `damping` times ``|J p|^2 / |R p|^2`` of the first direction p.

    Raises
    ------
    ConfigError
        When the preconditioner is zero throughout, negative or not finite somewhere (E894).
    """

    preconditioner: NDArray[np.float64]
    penalty: Penalty
    damping: float = 0.0

    def __post_init__(self) -> None:
        refuse_preconditioner(self.preconditioner)

    def begin(self, s: NDArray[np.float64], misfit: float, data: float, noise: float = 0.0) -> CglsState:
        """Return the state before the first step.

        Parameters
        ----------
        s : ndarray
            ``J^T r`` of the starting model.
        misfit, data : float
            |r|^2, and |d|^2 of the data.
        noise : float
            |n|^2 of their noise, where it was estimated.

        Raises
        ------
        NumericalFailure
            When a number is not finite (E895).
        """
        s = np.asarray(s, dtype=np.float64)
        p = self.preconditioner * s
        gamma = fixedmath.dot(s, p)
        refuse_not_finite(0, {"misfit": misfit, "data": data, "gradient": gamma, "noise": noise})
        part = math.sqrt(noise / data) if noise > 0 and data > 0 else 0.0
        return CglsState(np.zeros_like(s), s, p, Scalars(0, gamma, misfit, misfit, data, noise=part))

    def step(self, state: CglsState, h: NDArray[np.float64], energy: float) -> CglsState:
        """Return the state after one more step.

        Parameters
        ----------
        state : CglsState
            Before it; its arrays are left as they are.
        h : ndarray
            ``J^T J p`` of the direction of `state`.
        energy : float
            |J p|^2.

        Raises
        ------
        NumericalFailure
            When a number is not finite, the objective grows, J and J^T are no pair, or the direction leaves no trace in
            the data (E895). The state before the step is good.
        """
        was, p = state.scalars, state.p
        number = was.iteration + 1
        size = self.penalty.squared(p)
        known = was.iteration > 0
        damping = was.damping if known else self.damping * energy / size if size > 0 else 0.0
        curvature = energy + damping * size
        through = fixedmath.dot(p, h)
        refuse_not_finite(number, {"|J p|^2": energy, "<p, J^T J p>": through, "curvature": curvature})
        if curvature <= 0:
            raise NumericalFailure(
                f"iteration {number}: the direction leaves no trace in the data: J p = 0",
                "look at mask, preconditioner and aperture: is the part of the model that may change illuminated?",
                code="E895",
            )
        pair = abs(energy - through) / max(energy, abs(through))
        if pair > NO_PAIR:
            raise NumericalFailure(
                f"iteration {number}: |J p|^2 = {energy:.6g}, <p, J^T J p> = {through:.6g}: J and J^T are no pair",
                "use the state before it; what differs is a bug, please report it",
                code="E895",
            )
        alpha = was.gamma / curvature
        roughened = self.penalty.normal(p)
        # <J^T r, p>: s without the part of the penalty
        towards = fixedmath.dot(state.s, p)
        if damping:
            towards += damping * fixedmath.dot(state.x, roughened)
        misfit = was.misfit - alpha * (2.0 * towards - alpha * energy)
        x = state.x + alpha * p
        s = state.s - alpha * (h + damping * roughened if damping else h)
        z = self.preconditioner * s
        gamma = fixedmath.dot(s, z)
        beta = gamma / was.gamma if was.gamma > 0 else 0.0
        penalty = damping * self.penalty.squared(x) if damping else 0.0
        refuse_not_finite(number, {"misfit": misfit, "gradient": gamma, "alpha": alpha})
        _falling(number, was, misfit + penalty)
        scalars = Scalars(
            number,
            gamma,
            misfit,
            was.start,
            was.data,
            penalty,
            damping,
            alpha,
            beta,
            curvature,
            pair,
            was.noise,
        )
        return CglsState(x, s, z + beta * p, scalars)


def refuse_preconditioner(values: NDArray[np.float64]) -> None:
    """Raise when a diagonal is no preconditioner: zero throughout, negative or not finite somewhere (E894)."""
    bad = int(np.count_nonzero(~np.isfinite(values) | (values < 0)))
    if bad:
        raise ConfigError(
            f"the preconditioner is negative or not finite at {bad} of {values.size} points",
            "give weights of 0 or more",
            code="E894",
        )
    if not values.any():
        raise ConfigError(
            f"the preconditioner is zero at all {values.size} points: no model would change",
            "look at the mask and the illumination: the model changes where both are above 0",
            code="E894",
        )


def _falling(number: int, was: Scalars, objective: float) -> None:
    """Raise when an iteration made the objective larger, or less than nothing: exact steps lower it."""
    if -ROUNDING * was.start <= objective <= was.objective + ROUNDING * was.start:
        return
    raise NumericalFailure(
        f"iteration {number}: the objective, misfit and penalty, goes from {was.objective:.6g} to {objective:.6g}; "
        "every step of conjugate gradients lowers it, to zero at most",
        "use the image before it, whose state is kept: rounding has taken over where the misfit is far below that of "
        "the start; else the state or the operators are damaged: start again in another directory",
        code="E895",
    )


def refuse_not_finite(number: int, values: Mapping[str, float]) -> None:
    """Raise when a number of an iteration is not finite."""
    bad = {name: v for name, v in values.items() if not math.isfinite(v)}
    if bad:
        said = ", ".join(f"{name} = {v}" for name, v in bad.items())
        raise NumericalFailure(
            f"iteration {number}: {said}",
            "the state before it is kept; look at the traces, the velocity and the start image for values that are not "
            "numbers, or far too large",
            code="E895",
        )
