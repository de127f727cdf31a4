"""Options of propagation and imaging, with the defaults that a job file may leave out."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from subsalt import kernels
from subsalt.acquisition.injection import Window, window_of
from subsalt.earth.model_like import AnisotropyRule
from subsalt.errors import ConfigError
from subsalt.numerics.stencil import Kind, Stencil, default_kind

if TYPE_CHECKING:
    from subsalt.earth.topography import Topography

ModelMedium = Literal["auto", "isotropic", "vti", "tti"]
Boundary = Literal["pml", "damping", "none"]
Mode = Literal["reflectivity", "adjoint"]
Filter = Literal["none", "laplacian"]
Illumination = Literal["survey", "shot"]
ModelStorage = Literal["f32", "u16"]
Strategy = Literal["auto", "store", "revolve", "boundary"]
Place = Literal["auto", "device", "memory", "disk", "both"]
Compression = Literal["none", "zfp", "f16"]
Keep = Literal["none", "source", "both"]


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
        _one_of("boundary", self.boundary, get_args(Boundary), "E150")
        _one_of("anisotropy", self.anisotropy, get_args(AnisotropyRule))
        _one_of("model_storage", self.model_storage, get_args(ModelStorage))
        _whole("order", self.order)
        kind = self.stencil or default_kind(self.order)
        _one_of("stencil", kind, get_args(Kind))
        object.__setattr__(self, "stencil", Stencil(self.order, kind).kind)
        for name in ("layer", "threads"):
            if getattr(self, name) is not None:
                _whole(name, getattr(self, name), 1 if name == "threads" else 0)
        if self.source_taper is not None:
            _number("source_taper", self.source_taper)
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
        _one_of("mode", self.mode, get_args(Mode))
        _one_of("filter", self.filter, get_args(Filter))
        _one_of("illumination", self.illumination, get_args(Illumination))
        _number("top_mute", self.top_mute)
        _number("normalise", self.normalise)
        if self.normalise == 0:
            raise ConfigError("normalise = 0", "use a positive number such as 0.01", code="E104")
        if self.aperture is not None:
            _number("aperture", self.aperture)
        if self.image_step is not None:
            _whole("image_step", self.image_step, 1)


@dataclass(frozen=True)
class CheckpointOptions:
    """How the source wavefield is recovered when the receiver wavefield needs it.

    Parameters
    ----------
    strategy : {"auto", "store", "revolve", "boundary"}
        ``"store"`` keeps every imaged snapshot; ``"revolve"`` keeps some states and computes the rest again;
        ``"boundary"`` keeps the edge of the field at every step and runs it backwards. ``"auto"`` takes the one that is
        predicted to be fastest of those that fit.
    place : {"auto", "device", "memory", "disk", "both"}
        Where snapshots or states lie; ``"both"``: some states in memory, more on disk. ``"device"`` is the memory of
        the GPU that computes, on a processor the same as ``"memory"``, which is that of the host.
    slots, disk_slots : int, optional
        States that revolve keeps in memory and on disk; chosen when None.
    block : int, optional
        Imaged samples between two states; their snapshots are in memory together. Chosen when None.
    memory : int, optional
        Bytes per rank for snapshots and states; what the job leaves free when None.
    device_memory : int, optional
        Bytes of the memory of a GPU per rank for snapshots and states; what the job leaves free when None.
    directories : tuple of str
        Folders for snapshots and states on disk, one record after the other; the run directory when empty.
    threads : int, optional
        Threads that read and write them.
    direct : bool
        Past the page cache (O_DIRECT).
    compression : {"none", "zfp", "f16"}
        ``"zfp"``: snapshots and states on disk are compressed within `tolerance`. ``"f16"``: snapshots take 16 bits per
        number, in memory and on disk (`subsalt.kernels.scaled16`); states stay as they are. Both lose digits.
    tolerance : float
        zfp: largest error of a compressed snapshot, relative to its largest value.
    exact : bool, optional
        The image has the bytes of a run that keeps everything. False lets ``"auto"`` take ``"boundary"``, right
        to rounding. None: False for ``strategy = "boundary"`` and with zfp, else True. ``"f16"`` asks for False.
    restart_every : int
        Time steps between two restart points inside a shot; 0: none, a stopped shot starts anew.
    keep : {"none", "source", "both"}
        Wavefields that stay in the run directory after their shot, to be played or imaged again.
    """

    strategy: Strategy = "auto"
    place: Place = "auto"
    slots: int | None = None
    disk_slots: int | None = None
    block: int | None = None
    memory: int | None = None
    directories: tuple[str, ...] = ()
    threads: int | None = None
    direct: bool = False
    compression: Compression = "none"
    tolerance: float = 1e-3
    exact: bool | None = None
    restart_every: int = 0
    keep: Keep = "none"
    device_memory: int | None = None

    @property
    def lossless(self) -> bool:
        """Whether what is kept comes back bit for bit."""
        return self.compression == "none"

    @property
    def halved(self) -> bool:
        """Whether snapshots are kept in 16 bits."""
        return self.compression == "f16"

    def __post_init__(self) -> None:
        _one_of("strategy", self.strategy, get_args(Strategy))
        _one_of("place", self.place, get_args(Place))
        _one_of("compression", self.compression, get_args(Compression))
        _one_of("keep", self.keep, get_args(Keep))
        for name, least in (
            ("slots", 0),
            ("disk_slots", 0),
            ("block", 1),
            ("memory", 1),
            ("device_memory", 1),
            ("threads", 1),
        ):
            if getattr(self, name) is not None:
                _whole(name, getattr(self, name), least)
        _whole("restart_every", self.restart_every)
        _number("tolerance", self.tolerance)
        if not 0 < self.tolerance < 1:
            raise ConfigError(f"tolerance = {self.tolerance:g}", "use a number between 0 and 1", code="E104")
        if isinstance(self.directories, str):
            raise ConfigError(
                f"directories = {self.directories!r} is a text", "give a list of folders", code="E104"
            )
        object.__setattr__(self, "directories", tuple(str(d) for d in self.directories))
        for problem, cure in _contradictions(self):
            raise ConfigError(problem, cure, code="E664")
        if self.exact is None:
            object.__setattr__(self, "exact", self.strategy != "boundary" and self.lossless)


def _contradictions(options: CheckpointOptions) -> Iterator[tuple[str, str]]:
    """Yield what two options say against each other, with the cure."""
    strategy, place = options.strategy, options.place
    for name in ("slots", "disk_slots", "block"):
        if getattr(options, name) is not None and strategy != "revolve":
            yield (
                f"{name} = {getattr(options, name)} counts states of revolve, and strategy = {strategy!r}",
                f'leave {name} out, or set strategy = "revolve"',
            )
    if place == "both" and strategy in ("store", "boundary"):
        yield (
            f'place = "both" spreads states of revolve, and strategy = {strategy!r}',
            'use place = "memory" or "disk", or strategy = "revolve"',
        )
    if options.slots and place == "disk":
        yield (
            f'slots = {options.slots} states lie in memory, and place = "disk"',
            'use disk_slots, or place = "both"',
        )
    if options.disk_slots and place in ("memory", "device"):
        yield (
            f'disk_slots = {options.disk_slots} states lie on disk, and place = "{place}"',
            'use slots, or place = "both"',
        )
    if strategy == "boundary" and options.exact:
        yield (
            'strategy = "boundary" rebuilds the wavefield to rounding only, and exact = true',
            "leave exact out, or choose another strategy",
        )
    if options.halved and options.exact in (None, True):
        yield (
            'compression = "f16" keeps snapshots in 16 bits, and exact = true asks for every bit of the image',
            'set both compression = "f16" and exact = false',
        )
    if options.compression == "zfp" and options.exact:
        yield (
            'compression = "zfp" loses digits, and exact = true',
            "leave exact or compression out",
        )
    if options.compression == "zfp" and place in ("memory", "device"):
        yield (
            f'compression = "zfp" is for what lies on disk, and place = "{place}"',
            'use compression = "f16", or place = "disk"',
        )
    if options.halved and place == "device":
        yield (
            'compression = "f16" is for snapshots in the memory of the host or on disk, and place = "device"',
            'leave compression out, or use place = "memory" or "disk"',
        )
    if options.compression != "none" and strategy == "boundary":
        yield (
            f"compression = {options.compression!r} is not for the shells of strategy = 'boundary'",
            "leave compression out, or choose another strategy",
        )


def _one_of(name: str, value: object, known: Sequence[str], code: str = "E104") -> None:
    """Refuse a word that an option does not know."""
    if value not in known:
        raise ConfigError(f"{name} = {value!r}", f"use one of {', '.join(known)}", code=code)


def _number(name: str, value: object) -> None:
    """Refuse what is not a finite number from 0 upwards."""
    if not isinstance(value, numbers.Real) or not 0 <= float(value) < math.inf:
        raise ConfigError(f"{name} = {value!r}", "use a finite number that is not negative", code="E104")


def _whole(name: str, value: object, least: int = 0) -> None:
    """Refuse what is not a whole number from `least` upwards."""
    if not isinstance(value, numbers.Integral) or int(value) < least:
        raise ConfigError(f"{name} = {value!r}", f"use a whole number from {least} upwards", code="E104")
