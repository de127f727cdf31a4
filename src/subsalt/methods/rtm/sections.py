"""The tables of a job of reverse time migration on source, propagation, imaging, ranks and output.

Meaning, default and limits of each key, and the options of the program that they stand for.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from pydantic import Field, PrivateAttr, field_validator, model_validator

from subsalt.checkpoint.options import CheckpointOptions
from subsalt.errors import ConfigError
from subsalt.job import units
from subsalt.job.base import BaseJob
from subsalt.job.parallel_section import ParallelSection
from subsalt.job.signal import AnyStep
from subsalt.job.units import (
    AutoAngle,
    AutoFrequency,
    AutoInt,
    AutoLength,
    AutoSignedTime,
    AutoTime,
    GridSpacing,
    Length,
    NonNegativeFrequency,
    NonNegativeLength,
    PositiveLength,
    Section,
    key,
    options_from,
)
from subsalt.kernels import requires_gpu
from subsalt.methods.rtm.acquisition_section import AcquisitionSection
from subsalt.methods.rtm.checkpoint_section import CheckpointSection
from subsalt.methods.rtm.data_sections import DataSection
from subsalt.methods.rtm.model_sections import GridSection, ModelSection
from subsalt.numerics.stencil import FITTED_ORDERS, ORDERS, Kind, Stencil, default_kind
from subsalt.propagation.grid_choice import DepthSpacing, trace_error
from subsalt.propagation.options import (
    Along,
    AnisotropyRule,
    Boundary,
    Filter,
    GatherKind,
    GatherOptions,
    Illumination,
    ImagingOptions,
    Mode,
    ModelMedium,
    ModelStorage,
    PropagationOptions,
)

if TYPE_CHECKING:
    from subsalt.acquisition.wavelet import Wavelet


class TopographySection(Section):
    """A free surface through the elevations of a land survey, inside the model."""

    radius: PositiveLength = Field(description="distance over which elevations are averaged, m")
    elevations: str | None = Field(
        None,
        description="CSV with the columns x,y,elevation; default: the elevations of sources and receivers",
    )
    datum: Length = Field(0.0, description="elevation of z = 0 of the model, m, positive up")
    depth: PositiveLength = Field(
        10.0, description="least depth of sources and receivers below the surface, m"
    )


#: keys of the options of a name
_wave, _image = partial(key, PropagationOptions), partial(key, ImagingOptions)
_gather = partial(key, GatherOptions)

#: cells of an absorbing layer beyond which none absorbs more
MOST_LAYER = 1000


class PropagationSection(Section):
    """How wavefields are computed."""

    medium: str = _wave("medium")
    order: int = _wave("order")
    stencil: Kind = _wave("stencil", "fitted")
    grid: GridSpacing = Field(
        "auto", description="spacing on which waves are computed: auto (by the band), model, or a length"
    )
    accuracy: float = Field(
        0.01,
        gt=0,
        lt=1,
        description="error of direct waves and reflections after 40 shortest wavelengths, for grid = auto",
    )
    depth_axis: DepthSpacing = Field(
        "auto",
        description="spacing of the computational grid along z, for grid = auto: auto (grows with the slowest velocity "
        "of each depth where that saves a tenth of the points, not below topography), or uniform",
    )
    dt: AutoTime = _wave("dt", "auto")
    boundary: Boundary = _wave("boundary")
    layer: AutoInt = _wave("layer", "auto")
    free_surface: bool = _wave("free_surface")
    topography: TopographySection | None = Field(
        None,
        description="free surface on the topography {radius, elevations, datum, depth}, inside the model",
    )
    time_dispersion: bool = _wave("time_dispersion")
    source_taper: float = _wave("source_taper", ge=0)
    anisotropy: AnisotropyRule = _wave("anisotropy")
    model_storage: ModelStorage = _wave("model_storage")

    @field_validator("medium")
    @classmethod
    def _medium_exists(cls, value: str) -> str:
        known = get_args(ModelMedium)
        if value not in known:
            raise ConfigError(
                f"medium {value!r} does not exist here", f"use one of {', '.join(known)}", code="E105"
            )
        return value

    @field_validator("layer")
    @classmethod
    def _layer_is_thin(cls, value: int | str) -> int | str:
        if isinstance(value, int) and value > MOST_LAYER:
            raise ConfigError(
                f"a layer of {value} cells has no use",
                f"leave it out, or use at most {MOST_LAYER}",
                code="E151",
            )
        return value

    @field_validator("order")
    @classmethod
    def _order_exists(cls, value: int) -> int:
        if value not in ORDERS:
            raise ConfigError(
                f"order {value} does not exist", f"use one of {', '.join(map(str, ORDERS))}", code="E104"
            )
        return value

    @model_validator(mode="after")
    def _one_free_surface(self) -> PropagationSection:
        if self.topography is not None and self.free_surface:
            raise ConfigError(
                "free_surface = true is the top of the model, [propagation.topography] one inside it",
                "leave free_surface out",
                code="E754",
            )
        return self

    @model_validator(mode="after")
    def _stencil_exists(self) -> PropagationSection:
        # pydantic sets no field of a frozen table
        if "stencil" not in self.model_fields_set:
            object.__setattr__(self, "stencil", default_kind(self.order))
        # no grid that anybody would take has the default accuracy with these weights
        if "grid" not in self.model_fields_set and self.order not in FITTED_ORDERS:
            object.__setattr__(self, "grid", "model")
        Stencil(self.order, self.stencil)
        return self


class SourceSection(Section):
    """The source wavelet."""

    wavelet: Literal["ricker", "ormsby", "file"] = Field("ricker", description="ricker, ormsby or file")
    f0: AutoFrequency = Field("auto", description="peak frequency of the Ricker wavelet")
    f1: NonNegativeFrequency | None = Field(None, description="Ormsby: start of the low ramp")
    f2: NonNegativeFrequency | None = Field(None, description="Ormsby: end of the low ramp")
    f3: NonNegativeFrequency | None = Field(None, description="Ormsby: start of the high ramp")
    f4: NonNegativeFrequency | None = Field(None, description="Ormsby: end of the high ramp")
    fmax: AutoFrequency = Field(
        "auto", description="highest frequency for the dispersion check; auto: that of the wavelet"
    )
    t0: AutoSignedTime = Field(
        "auto", description="time of the peak after the start of the record; auto: 1.5 / f0"
    )
    file: str | None = Field(None, description="wavelet file: text column or .npy")
    dt: AutoTime = Field("auto", description="sampling interval of a wavelet file that does not store it")

    @model_validator(mode="after")
    def _wavelet_is_complete(self) -> SourceSection:
        if self.wavelet == "ricker" and self.f0 == "auto":
            raise ConfigError("a ricker wavelet needs f0", "add f0, for example f0 = 15", code="E104")
        if self.wavelet == "ormsby":
            corners = [self.f1, self.f2, self.f3, self.f4]
            if any(f is None for f in corners) or any(b < a for a, b in itertools.pairwise(corners)):  # type: ignore[operator]
                raise ConfigError(
                    f"an ormsby wavelet needs f1 <= f2 <= f3 <= f4; they are {corners}",
                    "add them, in Hz",
                    code="E104",
                )
        if (self.wavelet == "file") != (self.file is not None):
            raise ConfigError(
                'wavelet = "file" and file = ... go together', "give both or neither", code="E104"
            )
        return self

    def sampled(self, dt: float, nt: int | None, file: Path | None) -> Wavelet:
        """Return the wavelet at the sampling `dt`, s; `nt` samples when given; one of a file is read from `file`."""
        from subsalt.acquisition import wavelet

        peak = None if self.t0 == "auto" else float(self.t0)
        if self.wavelet == "ricker":
            assert not isinstance(self.f0, str)
            made = wavelet.ricker(self.f0, dt, nt, peak)
        elif self.wavelet == "ormsby":
            f1, f2, f3, f4 = (float(f or 0.0) for f in (self.f1, self.f2, self.f3, self.f4))
            made = wavelet.ormsby(f1, f2, f3, f4, dt, nt, peak)
        else:
            assert file is not None
            made = wavelet.from_file(file, None if self.dt == "auto" else self.dt)
            if peak is not None:
                made = replace(made, t0=made.t0 + (peak - made.peak_time), peak_time=peak)
        return made if self.fmax == "auto" else replace(made, fmax=float(self.fmax))


class GathersSection(Section):
    """Gathers beside the image: by half offset between the wavefields, by angle, or by offset of the traces."""

    max: AutoLength = _gather("max", "auto")
    step: AutoLength = _gather("step", "auto")
    every: int = _gather("every", ge=1)
    along: Along = _gather("along")
    kind: GatherKind = _gather("kind")
    angle: AutoAngle = _gather("angle", "auto")
    angle_step: AutoAngle = _gather("angle_step", "auto")


class ImagingSection(Section):
    """How the image is made."""

    mode: Mode = _image("mode")
    condition: Literal["source-normalised", "cross-correlation", "inverse-scattering", "up-down"] = _image(
        "condition"
    )
    aperture: NonNegativeLength | Literal["all"] = _image("aperture", "all")
    filter: Filter = _image("filter")
    top_mute: NonNegativeLength = _image("top_mute")
    image_step: AutoInt = _image("image_step", "auto")
    normalise: float = _image("normalise", gt=0)
    illumination: Illumination = _image("illumination")
    gathers: GathersSection | None = _image("gathers")

    @field_validator("aperture", mode="before")
    @classmethod
    def _all_or_length(cls, value: object) -> object:
        return value if value == "all" else units.parse(value, "length")


class OutputSection(Section):
    """Files that a run writes in addition to its own; they do not change the image."""

    formats: list[Literal["segy", "rsf", "npy", "npz", "vti", "nc", "zarr"]] = Field(
        ["segy", "rsf"], description="formats of the image: segy, rsf, npy, npz, vti, nc, zarr"
    )
    pictures: bool = Field(True, description="write PNG sections and the survey map")
    inline: list[int] | None = Field(
        None,
        min_length=2,
        max_length=2,
        description="number of the first inline (along x), and step, in SEG-Y; default: of the SEG-Y file vp, or 1, 1",
    )
    crossline: list[int] | None = Field(
        None,
        min_length=2,
        max_length=2,
        description="number of the first crossline (along y), and step, in SEG-Y; default: as for inline",
    )

    @model_validator(mode="after")
    def _numbers_of_lines(self) -> OutputSection:
        for name in ("inline", "crossline"):
            given = getattr(self, name)
            if given is not None and not (abs(given[0]) <= 10**9 and 1 <= given[1] <= 10_000):
                raise ConfigError(
                    f"{name} = {given}",
                    f"give the first number, within 10^9, and the step, 1 to 10000: {name} = [1001, 2]; for numbers "
                    "that fall along an axis turn the frame, or set flip = true in it",
                    code="E104",
                )
        return self


class RtmTables(BaseJob):
    """Tables of a job of reverse time migration; `subsalt.methods.rtm.job.Job` opens the files that they name."""

    method: ClassVar[str] = "rtm"

    data: DataSection | None = Field(None, description="recorded shots (migrate)")
    signal: list[AnyStep] | None = Field(
        None, description="steps on the traces before they are imaged, in order"
    )
    acquisition: AcquisitionSection | None = Field(None, description="positions of a survey (model)")
    model: ModelSection = Field(description="the earth model")
    grid: GridSection | None = Field(None, description="model grid, if no file defines it")
    source: SourceSection = Field(description="the source wavelet")
    propagation: PropagationSection = Field(
        default_factory=PropagationSection, description="computation of wavefields"
    )
    imaging: ImagingSection = Field(default_factory=ImagingSection, description="imaging condition and image")
    checkpoint: CheckpointSection = Field(
        default_factory=CheckpointSection, description="storing or recomputing the source wavefield"
    )
    parallel: ParallelSection = Field(default_factory=ParallelSection, description="threads and device")
    output: OutputSection = Field(default_factory=OutputSection, description="what is written")

    _streaming: bool | None = PrivateAttr(None)

    @model_validator(mode="before")
    @classmethod
    def _where_it_can(cls, raw: Any) -> Any:
        """Let a job with topography, gathers or separated fields run where it can: on a processor; topography and half
        offsets with one rank per shot.
        """
        tables = raw if isinstance(raw, dict) else {}
        parallel = tables.get("parallel") or {}
        propagation, imaging = (
            s if isinstance(s, dict) else {} for s in (tables.get("propagation"), tables.get("imaging"))
        )
        gathers = imaging.get("gathers")
        by_offset = isinstance(gathers, dict) and gathers.get("kind") == "offset"
        alone = propagation.get("topography") is not None or (gathers is not None and not by_offset)
        if not isinstance(parallel, dict) or not (
            alone or by_offset or imaging.get("condition") == "up-down"
        ):
            return raw
        given = {k: v for k, v in parallel.items() if v != "auto"}
        return raw | {"parallel": {"device": "cpu"} | ({"ranks_per_shot": 1} if alone else {}) | given}

    @model_validator(mode="after")
    def _topography_goes_with_the_rest(self) -> RtmTables:
        if self.propagation.topography is None:
            return self
        section, data = self.propagation, self.data
        shifts = any(getattr(step, "datum", None) is not None for step in self.signal or ())
        excluded = {
            f'[propagation] medium = "{section.medium}"': section.medium in ("vti", "tti"),
            '[propagation] model_storage = "u16"': section.model_storage == "u16",
            f"{self.parallel.group} ranks per shot": self.parallel.group != 1,
            f'[parallel] device = "{self.parallel.device}"': requires_gpu(self.parallel.device),
            '[checkpoint] strategy = "boundary"': self.checkpoint.strategy == "boundary",
            "[data] slices": data is not None and data.slices is not None,
            "a [[signal]] step that shifts to a datum": shifts,
        }
        if wrong := [what for what, so in excluded.items() if so]:
            raise ConfigError(
                f"[propagation.topography] does not go with {', '.join(wrong)}",
                "leave these out; or leave the topography out and shift the traces to a flat datum",
                code="E754",
            )
        return self

    @model_validator(mode="after")
    def _second_receivers_go_with_the_rest(self) -> RtmTables:
        gathers = self.imaging.gathers
        if self.imaging.condition == "up-down":
            what = '[imaging] condition = "up-down"'
        elif gathers is not None and gathers.kind == "offset":
            what = '[imaging.gathers] kind = "offset"'
        else:
            return self
        if requires_gpu(self.parallel.device):
            raise ConfigError(
                f'{what} does not go with [parallel] device = "{self.parallel.device}": a GPU does not advance a '
                "second wavefield of the receivers",
                'set device = "cpu" (as it is when left out), or leave it out',
                code="E758",
            )
        return self

    @model_validator(mode="after")
    def _gathers_go_with_the_rest(self) -> RtmTables:
        if self.imaging.gathers is None or self.imaging.gathers.kind == "offset":
            return self
        if requires_gpu(self.parallel.device):
            raise ConfigError(
                f'[imaging.gathers] does not go with [parallel] device = "{self.parallel.device}": a GPU has no '
                "kernels for them",
                'set device = "cpu" (as it is when left out), or leave the gathers out',
                code="E757",
            )
        return self

    @model_validator(mode="after")
    def _grid_is_known(self) -> RtmTables:
        if self.model.vp.file is None and self.grid is None:
            raise ConfigError(
                "[grid] is missing: vp is not a file, so nothing says the grid",
                "add [grid] with spacing and one of shape, extent, depth",
                code="E102",
            )
        return self

    @model_validator(mode="after")
    def _steps_have_traces(self) -> RtmTables:
        if self.signal and self.data is None:
            raise ConfigError(
                "[[signal]] is about recorded traces, and the job has no [data]",
                "leave it out, or add [data] with the files of the shots",
                code="E104",
            )
        if self.signal and self.data is not None and self.data.mute is not None:
            raise ConfigError(
                "the job has [data.mute] and [[signal]]",
                'write the mute as a step: [[signal]] step = "mute", with velocity, delay and taper as they are',
                code="E798",
            )
        return self

    @cached_property
    def propagation_options(self) -> PropagationOptions:
        """`[propagation]` and `[parallel]` in the form of the propagator."""
        return options_from(
            PropagationOptions,
            self.propagation,
            self.parallel,
            source_taper=self.propagation.source_taper or None,
            trace_error=trace_error(self.propagation.grid, self.propagation.accuracy),
            # the surface is known with the survey
            topography=None,
        )

    @cached_property
    def imaging_options(self) -> ImagingOptions:
        """`[imaging]` in the form of the imaging code."""
        table = self.imaging.gathers
        gathers = None if table is None else options_from(GatherOptions, table)
        return options_from(ImagingOptions, self.imaging, gathers=gathers)

    @cached_property
    def checkpoint_options(self) -> CheckpointOptions:
        """`[checkpoint]` in the form of the imaging code; folders count from that of the job file."""
        section = self.checkpoint
        return section.options(tuple(str(self.resolve(d)) for d in section.directories))

    @property
    def streaming(self) -> bool:
        """Whether the volumes of the model stay in their files, as they do in a run of several ranks, or when asked."""
        from subsalt.parallel.comm import world

        if self._streaming is not None:
            return self._streaming
        return self.parallel.stream_model or world().size > 1

    def stream(self, streaming: bool = True) -> None:
        """Say whether the volumes of the model stay in their files; what was read is dropped."""
        self._streaming = streaming
        self.forget()
