"""When an iteration ends, and the reason in words.

Noise is left unfitted by the discrepancy principle: the iteration ends as soon as ::

    |d - J m|  <=  tau |n|,    tau > 1

with n the noise of the data. tau cannot be 1. The residual comes down to the noise from above, since the part of the
data that the image explains is never quite explained, and it hardly comes below it: of white noise an image of M
unknowns explains the part M / N of N samples at most, so that |d - J m| >= sqrt(1 - M / N) |n|, and near |n| it
falls by almost nothing in each iteration. With tau = 1.1 the iteration ends where what is left of the signal has a
fifth of the energy of the noise (tau^2 - 1 = 0.21).

References
----------
Morozov, V. A. (1966), On the solution of functional equations by the method of regularization, Soviet Math. Dokl. 7.
Hanke, M. (1995), Conjugate gradient type methods for ill-posed problems, Longman: tau > 1 and conjugate gradients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from subsalt.errors import ConfigError
from subsalt.inversion.cgls import Scalars

#: factor on the noise where none is given
NOISE_FACTOR = 1.1


@dataclass(frozen=True)
class StoppingRules:
    """The rules; the first that holds ends the iteration.

    Parameters
    ----------
    iterations : int
        Steps at most.
    misfit : float
        Relative misfit, |r|^2 over that of the start, at which it is good enough; 0 for none.
    noise : float
        Noise of the data over the data, root mean square; 0 where it is not given. A state may know it from the data
        (`Scalars.noise`).
    noise_factor : float
        tau: the iteration ends when the residual is this many times the noise.
    """

    iterations: int
    misfit: float = 0.0
    noise: float = 0.0
    noise_factor: float = NOISE_FACTOR

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise ConfigError(f"iterations = {self.iterations}", "use 1 or more", code="E104")
        for name in ("misfit", "noise"):
            value = getattr(self, name)
            if not (math.isfinite(value) and 0 <= value < 1):
                raise ConfigError(f"{name} = {value}", "use 0 or a number below 1", code="E104")
        if not (math.isfinite(self.noise_factor) and self.noise_factor >= 1):
            raise ConfigError(
                f"noise_factor = {self.noise_factor:g}: the residual comes down to the noise from above",
                "use a number above 1, such as 1.1",
                code="E104",
            )
        if self.noise * self.noise_factor >= 1:
            raise ConfigError(
                f"noise = {self.noise:g} times noise_factor = {self.noise_factor:g} is all of the data: no iteration "
                "would begin",
                "give the noise over the data as root mean square, below 1 / noise_factor",
                code="E104",
            )

    def reason_of_draws(self, now: Scalars) -> str:
        """Return the same of an iteration over drawn shots, whose misfit says nothing of the others."""
        if now.iteration == 0:
            # a state of all shots
            return self.reason(now)
        return f"{now.iteration} iterations are done" if now.iteration >= self.iterations else ""

    def reason(self, now: Scalars) -> str:
        """Return why the iteration ends at a state, in words; empty while it goes on."""
        if now.start <= 0 or now.gamma <= 0:
            return "the gradient is zero: no change of the model would lower the misfit"
        noise = self.noise or now.noise
        if noise and now.misfit <= (self.noise_factor * noise) ** 2 * now.data:
            left = math.sqrt(max(0.0, now.misfit) / now.data)
            return (
                f"the residual, {left:.4g} of the data, is down to {self.noise_factor:g} times the noise, {noise:.4g}"
                + ("" if self.noise else " as estimated")
            )
        if self.misfit and now.relative <= self.misfit:
            return f"the misfit is down to {now.relative:.4g} of the start, {self.misfit:g} was asked for"
        if now.iteration >= self.iterations:
            return f"{now.iteration} iterations are done"
        return ""
