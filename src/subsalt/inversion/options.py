"""Options of least-squares migration, with the defaults for keys that a job file leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from subsalt.errors import ConfigError
from subsalt.inversion.penalty import Kind
from subsalt.inversion.stopping import StoppingRules
from subsalt.option_fields import CheckedOptions, documented, number, one_of, option, whole

Preconditioner = Literal["illumination", "depth", "none"]


def _part(name: str, value: Any) -> None:
    """Refuse what is no part of a whole: 0 to below 1."""
    number(name, value)
    if not 0 <= value < 1:
        raise ConfigError(f"{name} = {value!r}", "use 0 or a number below 1", code="E104")


@documented
@dataclass(frozen=True)
class LeastSquaresOptions(CheckedOptions):
    """How the misfit of linearised data is made small."""

    iterations: int = option(
        10,
        "iterations at most; each models and migrates all shots once",
        whole(1),
        more="without the first migration",
    )
    precondition: Preconditioner = option(
        "illumination",
        "estimate of the inverse Hessian; illumination: by the source wavefields; depth: a power of depth; none",
        one_of(Preconditioner),
    )
    floor: float = option(
        0.01, "stabilisation of the division by the illumination, relative to its mean", number
    )
    depth_power: float = option(1.0, "power of depth, for precondition = depth", number)
    damping: float = option(
        0.0, "weight of the penalty, relative to the curvature of the first step; 0: none", number
    )
    penalty: Kind = option(
        "size",
        "what is kept small; size: the change of the image; roughness: its lateral differences",
        one_of(Kind),
    )
    misfit: float = option(0.0, "part of the first misfit at which the iteration ends; 0: none", _part)
    noise: float = option(
        0.0,
        "noise over data, root mean square: the iteration ends when no more is left than this; 0: not known",
        _part,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.floor == 0:
            raise ConfigError("floor = 0", "use a positive number such as 0.01", code="E104")

    @property
    def rules(self) -> StoppingRules:
        """When the iteration ends."""
        return StoppingRules(self.iterations, self.misfit, self.noise)
