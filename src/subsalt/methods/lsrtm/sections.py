"""The tables of a job of least-squares migration that other methods do not have, or have with more keys."""

from __future__ import annotations

from functools import partial
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from subsalt.errors import ConfigError
from subsalt.inversion.noise import NoiseEstimate
from subsalt.inversion.options import LeastSquaresOptions, Preconditioner
from subsalt.inversion.penalty import Kind
from subsalt.job import units
from subsalt.job.units import AutoLength, NonNegativeLength, Section, key, options_from
from subsalt.methods.lsrtm.rounds import IterationRounds
from subsalt.propagation.options import ImagingOptions

#: damping of images that are deconvolved, where a job names none
IMAGE_DAMPING = 0.01
#: keys that serve an iteration over the traces alone
OF_DATA = (
    "precondition",
    "floor",
    "depth_power",
    "penalty",
    "misfit",
    "noise",
    "noise_factor",
    "start",
    "subset",
)

_solve, _image = partial(key, LeastSquaresOptions), partial(key, ImagingOptions)


class InversionSection(Section):
    """How the misfit of linearised data is made small."""

    domain: Literal["data", "image"] = Field(
        "data",
        description="data: iterate over the traces; image: deconvolve the migration by point-spread functions, which "
        "takes one more modelling and migration",
    )
    iterations: int = _solve("iterations", ge=1)
    precondition: Preconditioner = _solve("precondition")
    floor: float = _solve("floor", gt=0)
    depth_power: float = _solve("depth_power", ge=0)
    damping: Annotated[float, Field(ge=0)] | Literal["auto"] = Field(
        "auto",
        description="weight of the penalty, relative to the curvature of the first step; auto: none, with domain = "
        "image 0.01",
    )
    penalty: Kind = _solve("penalty")
    misfit: float = _solve("misfit", ge=0, lt=1)
    noise: Annotated[float, Field(ge=0, lt=1)] | NoiseEstimate = _solve("noise")
    noise_factor: float = _solve("noise_factor", ge=1)
    subset: Annotated[int, Field(ge=1)] | Literal["all"] = _solve("subset", "all")
    seed: int = _solve("seed", ge=0)
    threshold: float = _solve("threshold", ge=0, lt=1)
    start: str | None = Field(
        None,
        description="file of the image to start from, s^2/m^2, on the grid of the image; default: zero everywhere",
    )
    mask: str | None = Field(
        None,
        description="file that is 0 where the image does not change and 1 where it may, on the same grid",
    )
    lattice: AutoLength = Field(
        "auto",
        description="with domain = image: distance of the points of the lattice; auto: two wavelengths of the peak "
        "frequency at the fastest velocity",
    )
    keep_images: int = Field(
        1,
        ge=0,
        description="keep the image of every n-th iteration, and of the first, in iterations/ of the run; 0: none",
    )
    compare_shots: list[int] | Literal["auto"] = Field(
        "auto",
        description="shots whose recorded and predicted traces are drawn at the end; auto: first, middle and last",
    )

    @model_validator(mode="after")
    def _of_its_domain(self) -> InversionSection:
        """Refuse keys that the domain has no use for."""
        keys = OF_DATA if self.domain == "image" else ("lattice",)
        fields = type(self).model_fields
        if given := [key for key in keys if getattr(self, key) != fields[key].default]:
            raise ConfigError(
                f'[inversion] domain = "{self.domain}" has no use for {", ".join(given)}',
                f"leave {'it' if len(given) == 1 else 'them'} out, or set domain = "
                f'"{"data" if self.domain == "image" else "image"}"',
                code="E897",
            )
        return self

    @model_validator(mode="after")
    def _of_some_or_all_shots(self) -> InversionSection:
        """Refuse keys that do not go together."""
        self.options()
        return self

    def options(self) -> LeastSquaresOptions:
        """Return the keys in the form of the iteration."""
        return options_from(LeastSquaresOptions, self, damping=self.weight)

    @property
    def draws(self) -> bool:
        """Whether an iteration takes some of the shots alone."""
        return self.subset != "all"

    @property
    def weight(self) -> float:
        """Weight of the penalty."""
        if self.damping != "auto":
            return self.damping
        return IMAGE_DAMPING if self.domain == "image" else 0.0

    @property
    def rounds(self) -> IterationRounds:
        """Rounds of an iteration: none in the image domain; with drawn shots two, the gradient and the step."""
        if self.domain == "image":
            return IterationRounds(0)
        return IterationRounds(2 if self.draws else 1)

    @property
    def last_round(self) -> int:
        """Number of the last round, at most; the first migration is round 0."""
        # in the image domain the lattice is modelled and migrated, and iterations follow without units
        return 1 if self.domain == "image" else self.rounds.last(self.iterations)

    def keeps(self, iteration: int) -> bool:
        """Return whether an iteration leaves its image: the first, every so many, and 0 where there is a start."""
        if not self.keep_images or self.domain == "image":
            return False
        if iteration == 0:
            return self.start is not None
        return iteration == 1 or iteration % self.keep_images == 0


class LinearImagingSection(Section):
    """The part of the model that a shot images."""

    #: what rules of a migration ask for, and this method has not: no gathers, and no condition but its own
    gathers: ClassVar[None] = None
    condition: ClassVar[str] = "source-normalised"

    aperture: NonNegativeLength | Literal["all"] = _image("aperture", "all")

    @field_validator("aperture", mode="before")
    @classmethod
    def _all_or_length(cls, value: object) -> object:
        return value if value == "all" else units.parse(value, "length")
