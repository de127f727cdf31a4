"""The tables of a job file on source, propagation, imaging and output: meaning, default and limits of each key."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from pydantic import Field, field_validator, model_validator

from subsalt.errors import ConfigError
from subsalt.job import units
from subsalt.job.types import (
    AutoFrequency,
    AutoInt,
    AutoSignedTime,
    AutoTime,
    NonNegativeFrequency,
    NonNegativeLength,
    Section,
)
from subsalt.numerics.stencil import ORDERS
from subsalt.propagation.options import (
    AnisotropyRule,
    Boundary,
    Filter,
    Illumination,
    ImagingOptions,
    Mode,
    ModelMedium,
    ModelStorage,
    PropagationOptions,
)

if TYPE_CHECKING:
    from subsalt.acquisition.wavelet import Wavelet


class PropagationSection(Section):
    """How wavefields are computed."""

    medium: str = Field(PropagationOptions.medium, description="auto, isotropic, vti or tti")
    order: int = Field(PropagationOptions.order, description="order in space: 2, 4, ... 16")
    dt: AutoTime = Field("auto", description="time step; auto: 0.95 of the stability bound")
    boundary: Boundary = Field(PropagationOptions.boundary, description="absorbing layer")
    layer: AutoInt = Field("auto", description="cells of the layer; auto: 12 (pml), 40 (damping)")
    free_surface: bool = Field(
        PropagationOptions.free_surface, description="the top of the model reflects, as the sea surface does"
    )
    time_dispersion: bool = Field(
        PropagationOptions.time_dispersion,
        description="exact correction of time dispersion on wavelet and traces",
    )
    source_taper: float = Field(
        6.0, ge=0, description="cells around a source made elliptical, against its S wave; 0: off"
    )
    anisotropy: AnisotropyRule = Field(PropagationOptions.anisotropy, description="where delta > epsilon")
    model_storage: ModelStorage = Field(
        PropagationOptions.model_storage,
        description="model arrays of the step: f32, or u16 (16 bits, half the bytes; not for tti)",
    )

    @field_validator("medium")
    @classmethod
    def _medium_exists(cls, value: str) -> str:
        known = get_args(ModelMedium)
        if value not in known:
            raise ConfigError(
                f"medium {value!r} does not exist here", f"use one of {', '.join(known)}", code="E105"
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


class SourceSection(Section):
    """The source wavelet."""

    wavelet: Literal["ricker", "ormsby", "file"] = Field("ricker", description="ricker, ormsby or file")
    f0: AutoFrequency = Field("auto", description="peak frequency of the Ricker wavelet")
    f1: NonNegativeFrequency | None = Field(None, description="Ormsby: start of the low ramp")
    f2: NonNegativeFrequency | None = Field(None, description="Ormsby: end of the low ramp")
    f3: NonNegativeFrequency | None = Field(None, description="Ormsby: start of the high ramp")
    f4: NonNegativeFrequency | None = Field(None, description="Ormsby: end of the high ramp")
    fmax: AutoFrequency = Field(
        "auto", description="highest frequency that counts for dispersion; auto: of the wavelet"
    )
    t0: AutoSignedTime = Field(
        "auto", description="time of the peak after the start of the record; auto: 1.5 / f0"
    )
    file: str | None = Field(None, description="wavelet file: text column or .npy")
    dt: AutoTime = Field("auto", description="sampling of the wavelet file, when it does not say it")

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


class ImagingSection(Section):
    """How the image is made."""

    mode: Mode = Field(ImagingOptions.mode, description="what is injected at the receivers")
    condition: Literal["source-normalised", "cross-correlation", "inverse-scattering"] = Field(
        "source-normalised", description="imaging condition"
    )
    aperture: NonNegativeLength | Literal["all"] = Field(
        "all", description="width of model around source and receivers of a shot; all: the whole model"
    )
    filter: Filter = Field(ImagingOptions.filter, description="filter of the summed image")
    top_mute: NonNegativeLength = Field(
        ImagingOptions.top_mute, description="depth above which the image is muted"
    )
    image_step: AutoInt = Field("auto", description="time steps between imaged samples; auto: from Nyquist")
    normalise: float = Field(
        ImagingOptions.normalise, gt=0, description="stabilisation, relative to the mean illumination"
    )
    illumination: Illumination = Field(
        ImagingOptions.illumination,
        description="divide by the sum over shots, or add the quotients of the shots",
    )

    @field_validator("aperture", mode="before")
    @classmethod
    def _all_or_length(cls, value: object) -> object:
        return value if value == "all" else units.parse(value, "length")


class ParallelSection(Section):
    """Where it runs; has no influence on the result."""

    threads: AutoInt = Field("auto", description="threads; auto: all processors")
    device: Literal["auto", "cpu", "cuda", "reference"] = Field(
        "auto",
        description="auto: a GPU when there is one, else the processor; cuda: a GPU or nothing; reference: NumPy",
    )
    ranks_per_shot: AutoInt = Field(
        "auto", description="MPI ranks that share a shot; auto: the fewest whose memory holds it"
    )
    io: Literal["per-rank", "broadcast"] = Field(
        "per-rank", description="every rank reads its part, or rank 0 reads all and sends it (to compare)"
    )
    stream_model: bool = Field(
        False, description="one process, too, leaves the model in its files and reads what a shot needs"
    )
    watchdog: AutoTime = Field(
        "auto", description="silence after which a stopped rank ends the run; auto: 60 s"
    )

    @property
    def patience(self) -> float | None:
        """Seconds of silence after which a rank counts as stopped; None: the default."""
        return None if self.watchdog == "auto" else float(self.watchdog)

    @field_validator("watchdog")
    @classmethod
    def _patience_is_longer_than_a_busy_machine_takes(cls, value: float | str) -> float | str:
        if isinstance(value, float) and value < 1:
            raise ConfigError(
                f"watchdog = {value:g} s is shorter than a busy machine may keep a rank waiting",
                "use 1 s at least, or leave it out (60 s)",
                code="E104",
            )
        return value


class OutputSection(Section):
    """What is written beside the run's own files; has no influence on the image."""

    formats: list[Literal["segy", "rsf", "npy", "npz", "vti", "nc", "zarr"]] = Field(
        ["segy", "rsf"], description="formats of the image: segy, rsf, npy, npz, vti, nc, zarr"
    )
    pictures: bool = Field(True, description="write PNG sections and the survey map")
