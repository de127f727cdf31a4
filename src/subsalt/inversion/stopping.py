"""When an iteration ends, and the reason in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

from subsalt.errors import ConfigError
from subsalt.inversion.cgls import Scalars


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
        Noise of the data over the data, root mean square: a residual of that size is noise, and is not fitted further
        (discrepancy principle); 0 where that is not known.
    """

    iterations: int
    misfit: float = 0.0
    noise: float = 0.0

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise ConfigError(f"iterations = {self.iterations}", "use 1 or more", code="E104")
        for name in ("misfit", "noise"):
            value = getattr(self, name)
            if not (math.isfinite(value) and 0 <= value < 1):
                raise ConfigError(f"{name} = {value}", "use 0 or a number below 1", code="E104")

    def reason(self, now: Scalars) -> str:
        """Return why the iteration ends at a state, in words; empty while it goes on."""
        if now.start <= 0 or now.gamma <= 0:
            return "the gradient is zero: no change of the model would lower the misfit"
        if self.noise and now.misfit <= self.noise**2 * now.data:
            return f"the residual is down to the noise, {self.noise:g} of the data"
        if self.misfit and now.relative <= self.misfit:
            return f"the misfit is down to {now.relative:.4g} of the start, {self.misfit:g} was asked for"
        if now.iteration >= self.iterations:
            return f"{now.iteration} iterations are done"
        return ""
