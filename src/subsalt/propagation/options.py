"""Options of propagation and imaging, with the defaults that a job file may leave out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from subsalt import kernels
from subsalt.acquisition.injection import Window, window_of
from subsalt.earth.model_like import AnisotropyRule
from subsalt.earth.topography import Topography
from subsalt.errors import ConfigError
from subsalt.numerics.stencil import Kind, Stencil, default_kind
from subsalt.option_fields import CheckedOptions, documented, number, one_of, option, whole

ModelMedium = Literal["auto", "isotropic", "vti", "tti"]
Boundary = Literal["pml", "damping", "none"]
Mode = Literal["reflectivity", "adjoint"]
Filter = Literal["none", "laplacian"]
Illumination = Literal["survey", "shot"]
ModelStorage = Literal["f32", "u16"]
Along = Literal["x", "y", "xy"]
GatherKind = Literal["lag", "angle", "offset"]


@documented
@dataclass(frozen=True)
class PropagationOptions(CheckedOptions):
    """How wavefields are computed."""

    medium: ModelMedium = option(
        "auto",
        "wave equation: isotropic, vti or tti; auto: by the model",
        more="auto: VTI when the model has Thomsen parameters, TTI when it has a tilt, too; vti ignores the tilt",
    )
    order: int = option(8, "order in space: 2, 4, ... 16", whole())
    stencil: Kind | None = option(
        None,
        "weights in space: fitted to the waveform, or taylor; order 2 is always taylor",
        one_of(Kind),
        more="fitted weights take fewer grid points per wavelength, Taylor's are exact for the longest waves "
        "(`subsalt.numerics.stencil`)",
    )
    dt: float | None = option(None, "time step; auto: 0.95 of the stability bound", unit="s")
    boundary: Boundary = option("pml", "absorbing layer", one_of(Boundary, "E150"))
    layer: int | None = option(None, "cells of the layer; auto: 12 (pml), 40 (damping)", whole())
    free_surface: bool = option(False, "the top of the model reflects waves like the sea surface")
    topography: Topography | None = option(
        None, "free surface inside the model: isotropic media on a processor, one rank per shot"
    )
    time_dispersion: bool = option(True, "correct time dispersion exactly, on wavelet and traces")
    source_taper: float | None = option(
        6.0,
        "cells around a source that are made elliptical, to suppress the slow wave; 0: off",
        number,
        more="in anisotropic media",
        or_none=True,
    )
    anisotropy: AnisotropyRule = option(
        "lower-delta",
        "treatment of nodes with delta > epsilon, where VTI equations are unstable",
        one_of(AnisotropyRule),
    )
    model_storage: ModelStorage = option(
        "f32",
        "model arrays of the step: f32, or u16 (16 bits, half the bytes; not for tti)",
        one_of(ModelStorage),
        more="u16 moves fewer bytes at a small known error of the model (`subsalt.physics.storage`)",
    )
    device: str = option(
        "auto",
        "auto: a GPU if there is one, otherwise the processor; cuda: a GPU or an error; reference: NumPy",
        more="the result has the same bytes on a GPU and on a processor",
    )
    threads: int | None = option(None, "threads; auto: all processors", whole(1))
    dtype: str = option("float32", "type of wavefields: float32, or float64 with the NumPy reference alone")
    decomp: Literal["auto", "slabs"] | tuple[int, int] = option(
        "auto",
        "how ranks divide the grid of a shot; slabs: along x; [px, py]: px parts along x times py along y, one per "
        "rank; auto: parts along y where slabs would be thin",
        more="no result depends on it (`subsalt.propagation.blocks`)",
    )
    trace_error: float | None = option(
        None,
        "part of the wavelet, relative L2, whose frequencies traces lose, at the upper end of its band",
        more="between their records and the time steps: the time that this takes grows with the band; None: nothing",
    )

    @property
    def weights(self) -> Stencil:
        """The weights of the order and kind."""
        return Stencil(self.order, self.stencil or default_kind(self.order))

    @property
    def window(self) -> Window:
        """The window of sources and receivers between nodes."""
        return window_of(self.weights, chosen=self.trace_error is not None)

    @property
    def support(self) -> int:
        """Half the width of their support, cells."""
        return self.window.radius

    @property
    def dt_reserve(self) -> float:
        """Part of the stability bound that a chosen time step leaves free.

        Packed models may be a little faster; below a free surface inside the grid it is the bound of the stencil,
        which the operator there was found to keep (benchmarks/prove_topography.py), by 0.4 % and more.
        """
        if self.topography is not None:
            return 0.02
        return 1e-3 if self.model_storage == "u16" else 0.0

    @property
    def layer_cells(self) -> int:
        """Cells of the layer with its default filled in."""
        if self.boundary == "none":
            return 0
        return self.layer if self.layer is not None else (12 if self.boundary == "pml" else 40)

    @property
    def top(self) -> str:
        """Boundary condition at the top of the model, in words."""
        if self.topography is not None:
            return "free surface on topography"
        return "free surface" if self.free_surface else "absorbing top"

    def __post_init__(self) -> None:
        if self.topography is not None:
            # above the surface nothing is to be absorbed
            object.__setattr__(self, "free_surface", True)
        super().__post_init__()
        kind = self.stencil or default_kind(self.order)
        object.__setattr__(self, "stencil", Stencil(self.order, kind).kind)
        if self.dtype not in ("float32", "float64"):
            raise ConfigError(f"dtype {self.dtype!r} is not float32 or float64", "use float32")
        if self.dtype == "float64" and kernels.is_compiled(self.device):
            raise ConfigError(
                "dtype float64 needs device = 'reference'", "use float32 with the compiled kernels"
            )


@documented
@dataclass(frozen=True)
class GatherOptions(CheckedOptions):
    """Gathers: the image where the source wavefield is read at x - h and that of the receivers at x + h; or by the
    offset of the traces.
    """

    kind: GatherKind = option(
        "lag",
        "traces of a gather; lag: half offsets h; angle: half opening angles, made of these; offset: classes of the "
        "offset of source and receiver",
        one_of(GatherKind),
    )
    max: float | None = option(
        None,
        "largest half offset h between the two wavefields; auto: 20 steps. Of kind = offset the largest offset, whose "
        "class takes all beyond; auto: that of the survey",
        number,
        unit="m",
    )
    step: float | None = option(
        None,
        "distance of half offsets; auto: that of the points on which waves are computed. Of kind = offset the "
        "distance of classes; auto: a twentieth of max, rounded up to 1, 2 or 5 times a power of ten",
        number,
        unit="m",
    )
    every: int = option(8, "gathers at every n-th column of the image, along x and along y", whole(1))
    along: Along = option(
        "x", "direction of the half offsets: x, y, or xy for gathers of both; y in 3-D", one_of(Along)
    )
    angle: float | None = option(
        None,
        "largest angle of kind = angle, on both sides of zero; auto: 50, or what the offsets of the survey allow",
        number,
        unit="degrees",
    )
    angle_step: float | None = option(
        None, "distance of angles of kind = angle; auto: 1", number, unit="degrees"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("max", "step"):
            if getattr(self, name) == 0:
                raise ConfigError(
                    f"{name} = 0 m for gathers", "give a length above 0, or leave it out", code="E104"
                )
        if self.kind == "offset" and self.along != "x":
            raise ConfigError(
                f'gathers kind = "offset" along = "{self.along}": the direction is that of half offsets',
                "leave along out",
                code="E104",
            )
        most, step = self.degrees
        if not 0 < step <= most < 90:
            raise ConfigError(
                f"gathers to {most:g} degrees, every {step:g} degrees",
                "use a step above 0, no larger than the largest angle, and that below 90 degrees",
                code="E104",
            )

    @property
    def degrees(self) -> tuple[float, float]:
        """The largest angle and the distance of two, degrees."""
        return (
            50.0 if self.angle is None else self.angle,
            1.0 if self.angle_step is None else self.angle_step,
        )

    @property
    def angles(self) -> tuple[float, ...]:
        """Half opening angles of ``kind = "angle"``, rad, ascending."""
        most, step = self.degrees
        count = math.floor(most / step + 1e-9)
        return tuple(math.radians(step * k) for k in range(-count, count + 1))


@documented
@dataclass(frozen=True)
class ImagingOptions(CheckedOptions):
    """How the image is made from wavefields."""

    mode: Mode = option(
        "reflectivity",
        "what is injected at the receivers; reflectivity: the scaled time derivative of the traces; adjoint: "
        "the traces",
        one_of(Mode),
        more="reflectivity: the scaled time derivative, so that reflectors image as zero-phase peaks at their depth, "
        "about as high as their reflection coefficient over the cosine of the angle of incidence; adjoint: the data "
        "themselves, so that diffractors image as peaks",
    )
    condition: str = option(
        "source-normalised",
        "imaging condition; source-normalised: reflectivity; cross-correlation: not divided by the "
        "illumination; inverse-scattering: without the noise above strong contrasts, as cross-correlation with a "
        "Laplacian times 1/2; up-down: as source-normalised, of the down-going waves of the source and the up-going "
        "ones of the receivers alone",
    )
    aperture: float | None = option(
        None,
        "width of model around source and receivers of a shot; all: the whole model",
        number,
        more="added on every side",
        unit="m",
    )
    filter: Filter = option(
        "none",
        "filter of the summed image; laplacian: against the smooth noise above strong contrasts",
        one_of(Filter),
    )
    top_mute: float = option(
        0.0,
        "depth above which the image is muted",
        number,
        more="it returns to its value over half that depth below",
        unit="m",
    )
    image_step: int | None = option(
        None,
        "time steps between imaged samples; auto: the largest that the Nyquist criterion allows",
        whole(1),
    )
    normalise: float = option(
        0.01, "stabilisation of the division, relative to the mean illumination", number
    )
    illumination: Illumination = option(
        "survey",
        "survey: divide the image by the illumination of all shots; shot: divide each shot by its own",
        one_of(Illumination),
        more="with shot the image grows with the number of shots",
    )
    gathers: GatherOptions | None = option(
        None,
        "gathers beside the image {kind, max, step, every, along}; left out: none",
        more="on a processor",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.normalise == 0:
            raise ConfigError("normalise = 0", "use a positive number such as 0.01", code="E104")
        if self.condition == "up-down" and self.gathers is not None:
            raise ConfigError(
                'condition = "up-down" together with gathers: their sums are those of whole wavefields',
                'use condition = "source-normalised" with the gathers, or leave them out',
                code="E758",
            )
