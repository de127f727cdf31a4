"""The tables of a job file: what each key means, its default and its limits."""

from __future__ import annotations

import difflib
import itertools
from typing import Literal

from pydantic import Field, field_validator, model_validator

from subsalt import units
from subsalt.errors import ConfigError
from subsalt.job_types import (
    Angle,
    AutoFrequency,
    AutoInt,
    AutoSignedTime,
    AutoTime,
    Length,
    NonNegativeFrequency,
    NonNegativeLength,
    NonNegativeTime,
    PositiveLength,
    PositiveTime,
    Section,
    Time,
    Velocity,
)
from subsalt.stencil import ORDERS


class MuteSection(Section):
    """Zeroing of the direct arrival in the data, above the line time = delay + offset / velocity."""

    velocity: Velocity = Field(description="velocity of the mute line over offset")
    delay: Time = Field(0.0, description="time of the mute line at zero offset")
    taper: NonNegativeTime = Field(0.1, description="length of the smooth ramp below the line")


class FrameSection(Section):
    """Where the local coordinates lie on the map."""

    x0: Length = Field(0.0, description="map x of the local point (0, 0)")
    y0: Length = Field(0.0, description="map y of the local point (0, 0)")
    azimuth: Angle = Field(0.0, description="degrees from map x to local x, towards map y")


class FixSection(Section):
    """What is known better than the headers say; what is left out is read from the files."""

    scalar: int | None = Field(
        None, description="coordinate scalar instead of byte 71: positive multiplies, negative divides"
    )
    elevation_scalar: int | None = Field(None, description="elevation scalar instead of byte 69")
    time_scalar: int | None = Field(None, description="time scalar instead of byte 215")
    dt: PositiveTime | None = Field(None, description="sample interval")
    ns: int | None = Field(None, ge=1, description="samples per trace")
    format: int | None = Field(None, description="sample format code instead of byte 3225")
    endian: Literal["big", "little"] | None = Field(None, description="byte order")
    delay: Time | None = Field(None, description="time of the first sample")
    unit: Literal["m", "ft"] | None = Field(None, description="unit of coordinates and depths")
    z_sign: Literal[1, -1] = Field(1, description="-1: elevations are stored as depths, positive down")
    source_depth: Length | None = Field(None, description="depth of all sources")
    receiver_depth: Length | None = Field(None, description="depth of all receivers")
    swap_xy: bool = Field(False, description="exchange x and y")
    all_traces: bool = Field(False, description="use auxiliary traces too (byte 29)")
    truncated: Literal["error", "drop"] = Field(
        "error", description="files that end inside a trace: stop, or use the rest"
    )


class GeometrySection(Section):
    """Positions from CSV tables instead of trace headers; traces are known by field record and channel."""

    shots: str = Field(description="CSV: shot,sx,sy,sz; shot is the field record number")
    receivers: str = Field(description="CSV: shot,chan,gx,gy,gz")


class DataSection(Section):
    """The recorded shots."""

    files: list[str] = Field(
        min_length=1, description="SEG-Y or SU files; patterns allowed, relative to the job file"
    )
    preset: Literal["rev1", "su", "marine2d", "obn"] = Field(
        "rev1", description="which header bytes hold what"
    )
    bytes: dict[str, int] = Field({}, description="header bytes that differ from the preset, 1-based")
    fix: FixSection = Field(default_factory=FixSection, description="corrections of header values")
    line: Literal["auto", "2d", "3d", "x", "y"] = Field(
        "auto",
        description="2d: projected on the best line; x, y: 2-D along map x or y; auto: from the positions",
    )
    shot_key: Literal["auto", "ffid", "source"] = Field("auto", description="what tells shots apart")
    receivers: Literal["coordinates", "offset"] = Field(
        "coordinates", description="receivers from bytes 81, 85, or from the signed offset along the line"
    )
    shots: Literal["all"] | list[int] | str = Field(
        "all", description='ids, or ranges such as "1-100:5, 201"'
    )
    bad_traces: Literal["error", "zero"] = Field(
        "error", description="traces with NaN or Inf: stop, or set to zero"
    )
    dead_traces: Literal["skip", "zero"] = Field(
        "skip", description="traces marked as dead: leave out, or keep as zeros"
    )
    frame: FrameSection | None = Field(
        None, description="local frame; else of the model file, or of the line"
    )
    geometry: GeometrySection | None = Field(
        None, description="positions from CSV tables, not from the headers"
    )
    mute: MuteSection | None = Field(None, description="zero the direct arrival")

    @field_validator("files", mode="before")
    @classmethod
    def _one_file_is_a_list(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @field_validator("bytes")
    @classmethod
    def _values_exist(cls, value: dict[str, int]) -> dict[str, int]:
        from subsalt.io.headers import HeaderBytes

        for name in value:
            if name not in HeaderBytes.names():
                close = difflib.get_close_matches(name, HeaderBytes.names(), n=1)
                fix = (
                    f"did you mean {close[0]!r}?"
                    if close
                    else f"known here: {', '.join(HeaderBytes.names())}"
                )
                raise ConfigError(f"{name!r} is no header value", fix, code="E101")
        HeaderBytes(**value)
        return value

    @field_validator("shots", mode="after")
    @classmethod
    def _ranges_are_readable(cls, value: str | list[int]) -> str | list[int]:
        if isinstance(value, str) and value != "all":
            parse_ranges(value)
        return value


def parse_ranges(text: str) -> list[tuple[int, int, int]]:
    """Return (first, last, step) of ranges such as ``"1-100:5, 201"``; ends included."""
    out = []
    for part in text.split(","):
        span, _, step = part.strip().partition(":")
        first, dash, last = span.partition("-")
        try:
            a = int(first)
            item = (a, int(last) if dash else a, int(step) if step else 1)
        except ValueError:
            raise ConfigError(
                f"{text!r} is not a selection of shots",
                'write ids as [1, 2, 3] or ranges as "1-100:5, 201"',
                code="E104",
            ) from None
        if item[2] < 1 or item[1] < item[0]:
            raise ConfigError(
                f"{part.strip()!r} selects no shot", "write first-last:step with last >= first", code="E104"
            )
        out.append(item)
    return out


class ValueSection(Section):
    """A model parameter: a constant, a file, or a function of depth."""

    value: float | list[float] | None = Field(None, description="a constant, or the values at the depths z")
    z: list[Length] | None = Field(
        None, description="depths of the values; linear in between, constant outside"
    )
    file: str | None = Field(None, description="model file: .rsf, .npz, .npy, .segy/.sgy, .vti, .nc")
    unit: str | None = Field(None, description="unit of the values in the file")
    key: str | None = Field(None, description="name of the array in an .npz or .nc file")
    spacing: list[PositiveLength] | None = Field(
        None, description="grid spacing, for files that do not say it"
    )
    origin: list[Length] | None = Field(None, description="grid origin, for files that do not say it")

    @model_validator(mode="after")
    def _one_kind(self) -> ValueSection:
        if (self.file is None) == (self.value is None):
            raise ConfigError(
                "give either file or value", "for example vp = {file = 'vp.rsf'} or vp = 2000", code="E104"
            )
        if self.file is not None and self.z is not None:
            raise ConfigError("z goes with value, not with file", "remove z", code="E104")
        if self.z is not None:
            if not isinstance(self.value, list) or len(self.value) != len(self.z):
                n = len(self.value) if isinstance(self.value, list) else 1
                raise ConfigError(
                    f"{len(self.z)} depths z but {n} values", "give one value per depth", code="E104"
                )
            if any(b <= a for a, b in zip(self.z, self.z[1:], strict=False)):
                raise ConfigError(
                    f"depths z = {self.z} do not increase", "sort the depths downwards", code="E104"
                )
        elif isinstance(self.value, list):
            raise ConfigError("a list of values needs their depths", "add z = [...]", code="E104")
        if self.file is None and (self.key or self.spacing or self.origin):
            raise ConfigError("key, spacing and origin go with file", "remove them", code="E104")
        return self


def _value_section(raw: object, kind: str) -> object:
    """Bring the short forms (number, quantity, file name) to the table form, values in SI."""
    if isinstance(raw, ValueSection):
        return raw
    if isinstance(raw, str) and units.split_quantity(raw) is None:
        return {"file": raw}
    if not isinstance(raw, dict):
        return {"value": units.parse(raw, kind)}
    out = dict(raw)
    unit = out.get("unit")
    if unit is not None:
        if not isinstance(unit, str):
            raise ConfigError(
                f"unit = {unit!r} is not a text",
                f"use one of {', '.join(units.file_units(kind))}",
                code="E103",
            )
        out["unit"] = units.check_file_unit(unit, kind)
    if "value" in out and "file" not in out:
        factor, power = units.conversion(out.pop("unit", None) or units.file_units(kind)[0], kind)

        def si(v: object) -> float:
            x = units.parse(v, kind)
            return factor * x**power if isinstance(v, int | float) else x

        out["value"] = [si(v) for v in out["value"]] if isinstance(out["value"], list) else si(out["value"])
    return out


class ModelSection(Section):
    """The earth model."""

    vp: ValueSection = Field(description="P velocity: a number, a file, or {z = [...], value = [...]}")
    epsilon: ValueSection | None = Field(None, description="Thomsen epsilon, a fraction; as vp")
    delta: ValueSection | None = Field(None, description="Thomsen delta, a fraction; as vp")
    smoothing: NonNegativeLength = Field(
        0.0, description="sigma of a Gaussian on slowness, epsilon, delta; 0: none"
    )
    smoothing_top: Length | None = Field(None, description="depth above which nothing is smoothed (water)")

    @field_validator("vp", mode="before")
    @classmethod
    def _velocity(cls, value: object) -> object:
        return _value_section(value, "velocity")

    @field_validator("epsilon", "delta", mode="before")
    @classmethod
    def _fraction(cls, value: object) -> object:
        return _value_section(value, "fraction")


class GridSection(Section):
    """The model grid, for models that bring none; a file model is interpolated on it when it is given."""

    spacing: PositiveLength | list[PositiveLength] = Field(
        description="distance of points: one number, or one per axis"
    )
    origin: list[Length] | None = Field(
        None, description="local coordinate of the first point, (x, y, z) or (x, z)"
    )
    shape: list[int] | None = Field(None, description="points per axis")
    extent: list[PositiveLength] | None = Field(None, description="length per axis, instead of shape")
    depth: PositiveLength | None = Field(
        None, description="depth of the model; its horizontal extent is then taken from the survey"
    )
    margin: NonNegativeLength = Field(0.0, description="with depth: added around the survey on every side")

    @model_validator(mode="after")
    def _one_size(self) -> GridSection:
        given = [k for k in ("shape", "extent", "depth") if getattr(self, k) is not None]
        if len(given) != 1:
            raise ConfigError(
                f"[grid] has {' and '.join(given) or 'no size'}",
                "give exactly one of shape, extent, depth",
                code="E104",
            )
        sizes = {
            k: len(v)
            for k in ("spacing", "origin", "shape", "extent")
            if isinstance(v := getattr(self, k), list)
        }
        if any(n not in (2, 3) for n in sizes.values()) or len(set(sizes.values())) > 1:
            raise ConfigError(
                f"[grid] numbers of axes differ: {sizes}", "give 2 (x, z) or 3 (x, y, z) values", code="E104"
            )
        if self.shape is not None and min(self.shape) < 2:
            raise ConfigError(f"shape = {self.shape}", "every axis needs at least 2 points", code="E104")
        return self


class PropagationSection(Section):
    """How wavefields are computed."""

    medium: str = Field("auto", description="auto, isotropic or vti")
    order: int = Field(8, description="order in space: 2, 4, ... 16")
    dt: AutoTime = Field("auto", description="time step; auto: 0.95 of the stability bound")
    boundary: Literal["pml", "damping", "none"] = Field("pml", description="absorbing layer")
    layer: AutoInt = Field("auto", description="cells of the layer; auto: 12 (pml), 40 (damping)")
    free_surface: bool = Field(False, description="the top of the model reflects, as the sea surface does")
    time_dispersion: bool = Field(
        True, description="exact correction of time dispersion on wavelet and traces"
    )
    source_taper: float = Field(
        6.0, ge=0, description="cells around a source made elliptical, against its S wave; 0: off"
    )
    anisotropy: Literal["lower-delta", "raise-epsilon", "reject"] = Field(
        "lower-delta", description="where delta > epsilon"
    )

    @field_validator("medium")
    @classmethod
    def _medium_exists(cls, value: str) -> str:
        known = ("auto", "isotropic", "vti")
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


class ImagingSection(Section):
    """How the image is made."""

    mode: Literal["reflectivity", "adjoint"] = Field(
        "reflectivity", description="what is injected at the receivers"
    )
    condition: Literal["source-normalised", "cross-correlation", "inverse-scattering"] = Field(
        "source-normalised", description="imaging condition"
    )
    aperture: NonNegativeLength | Literal["all"] = Field(
        "all", description="width of model around source and receivers of a shot; all: the whole model"
    )
    filter: Literal["none", "laplacian"] = Field("none", description="filter of the summed image")
    top_mute: NonNegativeLength = Field(0.0, description="depth above which the image is muted")
    image_step: AutoInt = Field("auto", description="time steps between imaged samples; auto: from Nyquist")
    normalise: float = Field(1e-3, gt=0, description="stabilisation, relative to the largest illumination")
    illumination: Literal["survey", "shot"] = Field(
        "survey", description="divide by the sum over shots, or per shot"
    )

    @field_validator("aperture", mode="before")
    @classmethod
    def _all_or_length(cls, value: object) -> object:
        return value if value == "all" else units.parse(value, "length")


class ParallelSection(Section):
    """Where it runs; has no influence on the result."""

    threads: AutoInt = Field("auto", description="threads; auto: all processors")
    device: Literal["cpu", "reference"] = Field("cpu", description="compiled kernels, or the NumPy reference")


FORMATS = ("segy", "rsf", "npy", "npz", "vti", "nc", "zarr")


class OutputSection(Section):
    """What is written beside the run's own files; has no influence on the image."""

    formats: list[Literal["segy", "rsf", "npy", "npz", "vti", "nc", "zarr"]] = Field(
        ["segy", "rsf"], description="formats of the image: segy, rsf, npy, npz, vti, nc, zarr"
    )
    pictures: bool = Field(True, description="write PNG sections and the survey map")
