"""Linearised Bregman iteration over drawn shots: steepest descent with an exact line search, and a threshold.

With J, r of the shots S that an iteration draws, and a diagonal preconditioner P ::

    r_S = d_S - J_S x,    g = J_S^T r_S,    p = P g,    t = <g, p> / |J_S p|^2
    z  +=  t p,           x_i = sign(z_i) max(|z_i| - tau, 0)

p has to be summed over all shots of S before any of them can model it, so that an iteration has two halves: the
gradient of the shots, then what its direction p leaves in their data.

Without a threshold (tau = 0) t is the step along p at which the misfit of S is least, and that misfit falls by
``t <g, p>`` exactly. t is at most the step of Kaczmarz's block method, |r_S|^2 / <g, p> (Cauchy and Schwarz:
<g, p> = <r_S, J_S p>), and far below it where J_S is ill-conditioned. Any step up to twice that of Kaczmarz takes x
nearer to every solution x*, d = J x*, whatever the draws ::

    |x - x*|^2  loses  2 t |r_S|^2 - t^2 <g, p>  >=  t |r_S|^2,    |v|^2 = <v, P^-1 v>

With a threshold it is the linearised Bregman iteration, whose limit is, of all x that explain the data, that with the
least ``tau sum |x_i| / P_i + |x|^2 / 2`` in the same metric: few points that are not zero. There the Bregman distance
of this function loses at least ``t |r_S|^2`` by a step; t is no longer the exact minimum along x, which is not linear
in z. Where a part of the data is explained by no model (noise, multiples), x ends up at a distance from the solution
that depends on it, and goes around there with the draws.

References
----------
Kaczmarz, S. (1937), Angenaeherte Aufloesung von Systemen linearer Gleichungen, Bull. Acad. Polon. Sci. A35, 355-357.
Yin, W. (2010), Analysis and generalizations of the linearized Bregman method, SIAM J. Imaging Sci. 3, 856-877.
Lorenz, D. A., F. Schoepfer and S. Wenger (2014), The linearized Bregman method via split feasibility problems: analysis
and generalizations, SIAM J. Imaging Sci. 7; arXiv 1309.2094. Steps and shots by turns.
Witte, P. A., M. Louboutin, F. Luporini, G. J. Gorman and F. J. Herrmann (2019), Compressive least-squares migration
with on-the-fly Fourier transforms, Geophysics 84, R655-R672, doi 10.1190/geo2018-0490.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import NumericalFailure
from subsalt.inversion.cgls import NO_PAIR, Scalars, refuse_not_finite, refuse_preconditioner
from subsalt.numerics import fixedmath


@dataclass(frozen=True)
class DrawnSums:
    """Sums over the shots that an iteration has drawn.

    Parameters
    ----------
    shots : int
        How many they are.
    misfit : float
        |r_S|^2 of the model before the step.
    start : float
        The same of the starting model.
    data : float
        |d_S|^2.
    """

    shots: int
    misfit: float
    start: float
    data: float


@dataclass(frozen=True)
class BregmanState:
    """A state between two iterations: with it any process goes on to the same bytes.

    Parameters
    ----------
    z : ndarray, float64
        Sum of the steps.
    scalars : Scalars
        The numbers. Of a state behind the first they are those of the shots that its step has drawn: `misfit` and
        `start` of these shots, both from before the step; `gamma` is <g, P g>, `curvature` |J P g|^2, `alpha` the step.
    """

    z: NDArray[np.float64]
    scalars: Scalars

    @property
    def arrays(self) -> tuple[NDArray[np.float64], ...]:
        """The arrays, in the order in which they are written down."""
        return (self.z,)

    @property
    def x(self) -> NDArray[np.float64]:
        """Change of the model so far: z where it is beyond the threshold."""
        return soft(self.z, self.scalars.threshold)


@dataclass(frozen=True)
class Halfway:
    """A state inside an iteration: its direction is known, how far to go is not.

    Parameters
    ----------
    z : ndarray, float64
        Sum of the steps before.
    p : ndarray, float64
        P g, the direction.
    scalars : Scalars
        The numbers of the iteration so far, `iteration` being that which is under way; `alpha` and `curvature` are 0.
    """

    z: NDArray[np.float64]
    p: NDArray[np.float64]
    scalars: Scalars

    @property
    def arrays(self) -> tuple[NDArray[np.float64], ...]:
        """The arrays, in the order in which they are written down."""
        return self.z, self.p

    @property
    def x(self) -> NDArray[np.float64]:
        """Change of the model before the step."""
        return soft(self.z, self.scalars.threshold)


@dataclass(frozen=True)
class Bregman:
    """The iteration: how a state follows from the one before, in two halves.

    Parameters
    ----------
    preconditioner : ndarray, shape of the model, float64
        Diagonal of P; 0 where the model does not change (a mask).
    share : float
        The threshold over the largest |z| of the first step that changes it; 0 for none.

    Raises
    ------
    ConfigError
        When the preconditioner is zero throughout, negative or not finite somewhere (E894).
    """

    preconditioner: NDArray[np.float64]
    share: float = 0.0

    def __post_init__(self) -> None:
        refuse_preconditioner(self.preconditioner)

    def begin(self, s: NDArray[np.float64], every: DrawnSums) -> BregmanState:
        """Return the state before the first step.

        Parameters
        ----------
        s : ndarray
            ``J^T r`` of all shots and the starting model.
        every : DrawnSums
            Sums over all shots.

        Raises
        ------
        NumericalFailure
            When a number is not finite (E895).
        """
        s = np.asarray(s, dtype=np.float64)
        gamma = fixedmath.dot(s, self.preconditioner * s)
        refuse_not_finite(0, {"misfit": every.misfit, "data": every.data, "gradient": gamma})
        return BregmanState(
            np.zeros_like(s), Scalars(0, gamma, every.misfit, every.misfit, every.data, shots=every.shots)
        )

    def direction(self, state: BregmanState, g: NDArray[np.float64], drawn: DrawnSums) -> Halfway:
        """Return the first half of the next iteration: where to go.

        Parameters
        ----------
        state : BregmanState
            Before it.
        g : ndarray
            ``J_S^T r_S`` of the drawn shots.
        drawn : DrawnSums
            Their sums.

        Raises
        ------
        NumericalFailure
            When a number is not finite (E895). The state before is good.
        """
        number = state.scalars.iteration + 1
        p = self.preconditioner * np.asarray(g, dtype=np.float64)
        gamma = fixedmath.dot(g, p)
        refuse_not_finite(number, {"misfit": drawn.misfit, "data": drawn.data, "gradient": gamma})
        threshold = state.scalars.threshold
        numbers = (drawn.misfit, drawn.start, drawn.data)
        scalars = Scalars(number, gamma, *numbers, threshold=threshold, shots=drawn.shots)
        return Halfway(state.z, p, scalars)

    def step(self, half: Halfway, energy: float) -> BregmanState:
        """Return the state after the step.

        Parameters
        ----------
        half : Halfway
            The first half; its arrays are left as they are.
        energy : float
            |J_S p|^2 of its direction, over the same shots.

        Raises
        ------
        NumericalFailure
            When a number is not finite, or J and J^T are no pair (E895). The state before the iteration is good.
        """
        now = half.scalars
        refuse_not_finite(now.iteration, {"|J p|^2": energy})
        t = 0.0
        # shots that are explained, or that no point of the model reaches, such as dead ones, change nothing
        if now.gamma > 0:
            _refuse_no_pair(now, energy)
            t = now.gamma / energy
        z = half.z + t * half.p
        largest = float(np.abs(z).max())
        refuse_not_finite(now.iteration, {"step": t, "largest change": largest})
        threshold = now.threshold or self.share * largest
        return BregmanState(z, replace(now, alpha=t, curvature=energy, threshold=threshold))


def _refuse_no_pair(now: Scalars, energy: float) -> None:
    """Raise when <g, P g> is larger than |r| |J P g|, as it cannot be where g = J^T r."""
    if now.gamma * now.gamma <= (1.0 + NO_PAIR) * now.misfit * energy:
        return
    raise NumericalFailure(
        f"iteration {now.iteration}: <r, J p> = {now.gamma:.6g} by the gradient, at most "
        f"{(now.misfit * max(0.0, energy)) ** 0.5:.6g} by |r| |J p|: J and J^T are no pair",
        "use the state before it; what differs is a bug, please report it",
        code="E895",
    )


def soft(z: NDArray[np.float64], threshold: float) -> NDArray[np.float64]:
    """Return ``sign(z) max(|z| - threshold, 0)``; z itself where there is no threshold."""
    if not threshold:
        return z
    return np.sign(z) * np.maximum(np.abs(z) - threshold, 0.0)
