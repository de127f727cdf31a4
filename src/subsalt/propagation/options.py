"""Options of propagation and imaging, with the defaults that a job file may leave out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from subsalt import kernels
from subsalt.acquisition.injection import Window, window_of
from subsalt.earth.model_like import AnisotropyRule
from subsalt.errors import ConfigError
from subsalt.numerics.stencil import Kind, Stencil, default_kind
from subsalt.options import number, one_of, whole

if TYPE_CHECKING:
    from subsalt.earth.topography import Topography

ModelMedium = Literal["auto", "isotropic", "vti", "tti"]
Boundary = Literal["pml", "damping", "none"]
Mode = Literal["reflectivity", "adjoint"]
Filter = Literal["none", "laplacian"]
Illumination = Literal["survey", "shot"]
ModelStorage = Literal["f32", "u16"]


@dataclass(frozen=True)
class PropagationOptions:
    """How wavefields are computed.

    Parameters
    ----------
    medium : {"auto", "isotropic", "vti", "tti"}
        ``"auto"``: VTI when the model has Thomsen parameters, TTI when it has a tilt, too. ``"vti"`` ignores the tilt.
    order : int
        Order of the scheme in space, 2 to 16.
    stencil : {"fitted", "taylor"}, optional
        Weights in space: fitted to the waveform, which takes fewer grid points per wavelength, or exact for the longest
        waves (`subsalt.numerics.stencil`). None: fitted; with order 2, which has no such weights, Taylor's.
    dt : float, optional
        Time step, s; 0.95 of the stability bound when None.
    boundary : {"pml", "damping", "none"}
        Absorbing layer.
    layer : int, optional
        Cells of the layer; 12 for the PML, 40 for damping.
    free_surface : bool
        The top of the model is a free surface instead of an absorbing layer.
    topography : Topography, optional
        A free surface inside the model: isotropic media on a processor, one rank per shot.
    time_dispersion : bool
        Apply the exact time-dispersion transform to wavelet and traces.
    source_taper : float or None
        Radius, in cells, over which anisotropy is made elliptical around sources that lie in an anisotropic medium,
        to suppress the pseudo-S artefact; None or 0 switches it off.
    anisotropy : {"lower-delta", "raise-epsilon", "reject"}
        What to do where delta > epsilon.
    model_storage : {"f32", "u16"}
        How the arrays of the model lie in memory while wavefields are computed: float32, or 16-bit numbers, which
        moves fewer bytes at a small known error of the model (`subsalt.physics.storage`); not for TTI.
    device : {"auto", "cpu", "cuda", "reference"}
        Which kernels compute: those of a GPU (``"cuda"``), of the processor, or the NumPy reference. ``"auto"``: the
        GPU when there is one that can be used, else the processor. The result has the same bytes on both.
    threads : int, optional
        Threads; all processors of the process when None.
    dtype : {"float32", "float64"}
        Of wavefields; float64 with the NumPy reference alone.
    decomp : "auto", "slabs" or tuple of int
        How ranks that share a wavefield cut its grid (`subsalt.propagation.blocks`); no result depends on it.
    trace_error : float, optional
        Part of the wavelet, relative L2, whose frequencies traces lose, at the upper end of its band, between their
        records and the time steps: the time that this takes grows with the band. None: they lose nothing.
    """

    medium: ModelMedium = "auto"
    order: int = 8
    stencil: Kind | None = None
    dt: float | None = None
    boundary: Boundary = "pml"
    layer: int | None = None
    free_surface: bool = False
    topography: Topography | None = None
    time_dispersion: bool = True
    source_taper: float | None = 6.0
    anisotropy: AnisotropyRule = "lower-delta"
    model_storage: ModelStorage = "f32"
    device: str = "auto"
    threads: int | None = None
    dtype: str = "float32"
    decomp: Literal["auto", "slabs"] | tuple[int, int] = "auto"
    trace_error: float | None = None

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
        """What waves meet at the top of the model, in words."""
        if self.topography is not None:
            return "free surface on topography"
        return "free surface" if self.free_surface else "absorbing top"

    def __post_init__(self) -> None:
        if self.topography is not None:
            # above the surface nothing is to be absorbed
            object.__setattr__(self, "free_surface", True)
        one_of("boundary", self.boundary, get_args(Boundary), "E150")
        one_of("anisotropy", self.anisotropy, get_args(AnisotropyRule))
        one_of("model_storage", self.model_storage, get_args(ModelStorage))
        whole("order", self.order)
        kind = self.stencil or default_kind(self.order)
        one_of("stencil", kind, get_args(Kind))
        object.__setattr__(self, "stencil", Stencil(self.order, kind).kind)
        for name in ("layer", "threads"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), 1 if name == "threads" else 0)
        if self.source_taper is not None:
            number("source_taper", self.source_taper)
        if self.dtype not in ("float32", "float64"):
            raise ConfigError(f"dtype {self.dtype!r} is not float32 or float64", "use float32")
        if self.dtype == "float64" and kernels.is_compiled(self.device):
            raise ConfigError(
                "dtype float64 needs device = 'reference'", "use float32 with the compiled kernels"
            )


@dataclass(frozen=True)
class ImagingOptions:
    """How the image is made from wavefields.

    Parameters
    ----------
    mode : {"reflectivity", "adjoint"}
        What is injected at the receivers: ``"reflectivity"`` the scaled time derivative (reflectors image as zero-phase
        peaks at their depth, about as high as their reflection coefficient over the cosine of the angle of incidence),
        ``"adjoint"`` the data themselves (diffractors image as peaks).
    condition : str
        ``"source-normalised"``, ``"cross-correlation"`` or ``"inverse-scattering"``.
    aperture : float, optional
        Half-width added around source and receivers of a shot to its window on the model, m; None: the whole model.
    filter : {"none", "laplacian"}
        Applied to the summed image.
    top_mute : float
        Depth above which the image is zero, m; it returns to its value over half that depth below.
    image_step : int, optional
        Time steps between imaged samples; from the Nyquist rule when None.
    normalise : float
        lambda of the source-normalised condition, relative to the mean illumination.
    illumination : {"survey", "shot"}
        Divide by the illumination summed over all shots, or shot by shot and add up: the image then grows with the
        number of shots.
    """

    mode: Mode = "reflectivity"
    condition: str = "source-normalised"
    aperture: float | None = None
    filter: Filter = "none"
    top_mute: float = 0.0
    image_step: int | None = None
    normalise: float = 0.01
    illumination: Illumination = "survey"

    def __post_init__(self) -> None:
        one_of("mode", self.mode, get_args(Mode))
        one_of("filter", self.filter, get_args(Filter))
        one_of("illumination", self.illumination, get_args(Illumination))
        number("top_mute", self.top_mute)
        number("normalise", self.normalise)
        if self.normalise == 0:
            raise ConfigError("normalise = 0", "use a positive number such as 0.01", code="E104")
        if self.aperture is not None:
            number("aperture", self.aperture)
        if self.image_step is not None:
            whole("image_step", self.image_step, 1)
