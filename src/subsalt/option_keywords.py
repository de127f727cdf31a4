"""Names and types of options that functions take as keyword arguments, for editors and type checkers alone.

Nothing imports this file when a program runs. The options are declared in `subsalt.propagation.options`,
`subsalt.inversion.options` and `subsalt.methods.rtm.reimage`; `tests/test_option_arguments.py` compares every name and
type here with them.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from subsalt.earth.model_like import AnisotropyRule
from subsalt.earth.topography import Topography
from subsalt.inversion.noise import NoiseEstimate
from subsalt.inversion.options import Preconditioner
from subsalt.inversion.penalty import Kind as PenaltyKind
from subsalt.methods.rtm.reuse import Times
from subsalt.numerics.stencil import Kind
from subsalt.propagation.options import (
    Boundary,
    Filter,
    GatherOptions,
    Illumination,
    Mode,
    ModelMedium,
    ModelStorage,
)


class PropagationKeywords(TypedDict, total=False):
    """Fields of `PropagationOptions`."""

    medium: ModelMedium
    order: int
    stencil: Kind | None
    dt: float | None
    boundary: Boundary
    layer: int | None
    free_surface: bool
    topography: Topography | None
    time_dispersion: bool
    source_taper: float | None
    anisotropy: AnisotropyRule
    model_storage: ModelStorage
    device: str
    threads: int | None
    dtype: str
    decomp: Literal["auto", "slabs"] | tuple[int, int]
    trace_error: float | None


class ForwardKeywords(PropagationKeywords, total=False):
    """Options of `forward`: fields of `PropagationOptions`, and the aperture of `ImagingOptions`."""

    aperture: float | None


class LinearKeywords(PropagationKeywords, total=False):
    """Options of `born_operator`: fields of `PropagationOptions`, and the aperture of `ImagingOptions`."""

    aperture: float | None


class LeastSquaresKeywords(PropagationKeywords, total=False):
    """Options of `lsrtm`: fields of `LeastSquaresOptions` and `PropagationOptions`, and ``aperture``."""

    iterations: int
    precondition: Preconditioner
    floor: float
    depth_power: float
    damping: float
    penalty: PenaltyKind
    misfit: float
    noise: float | NoiseEstimate
    noise_factor: float
    subset: int | None
    seed: int
    threshold: float
    aperture: float | None


class MigrateKeywords(PropagationKeywords, total=False):
    """Options of `migrate`: fields of `PropagationOptions` and `ImagingOptions`."""

    mode: Mode
    condition: str
    aperture: float | None
    filter: Filter
    top_mute: float
    image_step: int | None
    normalise: float
    illumination: Illumination
    gathers: GatherOptions | None


class ReimageKeywords(TypedDict, total=False):
    """Options of `reimage`: fields of `Wish`."""

    condition: str | None
    filter: str | None
    normalise: float | None
    top_mute: float | str | None
    illumination: str | None
    image_step: int | None
    times: Times | None
    region: str | None
    gathers: str | None
    shots: str | None
    wavefields: bool
