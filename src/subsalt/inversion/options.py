"""Options of least-squares migration, with the defaults for keys that a job file leaves out."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from subsalt.errors import ConfigError
from subsalt.inversion.noise import NoiseEstimate
from subsalt.inversion.penalty import Kind
from subsalt.inversion.stopping import NOISE_FACTOR, StoppingRules
from subsalt.option_fields import CheckedOptions, documented, number, one_of, option, whole

Preconditioner = Literal["illumination", "depth", "none"]


def _part(name: str, value: Any) -> None:
    """Refuse what is no part of a whole: 0 to below 1."""
    number(name, value)
    if not 0 <= value < 1:
        raise ConfigError(f"{name} = {value!r}", "use 0 or a number below 1", code="E104")


def _noise(name: str, value: Any) -> None:
    """Refuse what is neither a part of a whole nor the name of an estimate."""
    if isinstance(value, str):
        one_of(NoiseEstimate)(name, value)
    else:
        _part(name, value)


#: options whose sense is in the misfit of all shots
OF_ALL_SHOTS = ("damping", "penalty", "misfit", "noise", "noise_factor")
#: options that have a sense where shots are drawn
OF_SUBSETS = ("seed", "threshold")


@documented
@dataclass(frozen=True)
class LeastSquaresOptions(CheckedOptions):
    """How the misfit of linearised data is made small."""

    iterations: int = option(
        10,
        "iterations at most; each models and migrates all shots once, or the subset that it draws",
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
    noise: float | NoiseEstimate = option(
        0.0,
        "noise over data, root mean square, which is not fitted; above-band: estimated as white noise from what traces "
        "have above the band of the source; 0: not known",
        _noise,
    )
    noise_factor: float = option(
        NOISE_FACTOR, "the iteration ends when the residual is this many times the noise; above 1", number
    )

    subset: int | None = option(
        None,
        "shots of an iteration, drawn at random without replacement, pass after pass; all: every shot in each, by "
        "conjugate gradients",
        whole(1),
    )
    seed: int = option(1, "seed of the draws, with subset", whole(0))
    threshold: float = option(
        0.0,
        "with subset: threshold below which points stay zero, over the largest change of the first step; 0: none",
        _part,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_with_subset()
        if self.floor == 0:
            raise ConfigError("floor = 0", "use a positive number such as 0.01", code="E104")
        self.rules  # noqa: B018  refuses what does not go together

    def _refuse_with_subset(self) -> None:
        """Refuse what looks at all shots beside a subset of them, and what draws beside all (E897)."""
        defaults = {f.name: f.default for f in fields(self)}
        names = OF_SUBSETS if self.subset is None else OF_ALL_SHOTS
        given = [name for name in names if getattr(self, name) != defaults[name]]
        if not given:
            return
        said, them = ", ".join(given), "it" if len(given) == 1 else "them"
        if self.subset is None:
            raise ConfigError(
                f"{said}: every iteration takes all shots, and draws none",
                f"leave {them} out, or set subset, the shots of an iteration, such as subset = 8",
                code="E897",
            )
        raise ConfigError(
            f"subset = {self.subset} does not go with {said}: an iteration knows the misfit of the shots it has drawn, "
            "not that of all",
            f"leave {them} out; or leave subset out, and each iteration takes all shots",
            code="E897",
        )

    @property
    def noise_estimate(self) -> NoiseEstimate | None:
        """Name of the estimate of the noise; None where a number is given."""
        return next((name for name in get_args(NoiseEstimate) if name == self.noise), None)

    @property
    def rules(self) -> StoppingRules:
        """When the iteration ends."""
        given = 0.0 if isinstance(self.noise, str) else self.noise
        return StoppingRules(self.iterations, self.misfit, given, self.noise_factor)
