"""The tables `[model]` and `[grid]` of a job of reverse time migration: the earth model and its grid."""

from __future__ import annotations

from pydantic import Field, field_validator, model_validator

from subsalt.earth.tilt import CountedFrom
from subsalt.errors import ConfigError
from subsalt.job import units
from subsalt.job.units import Length, NonNegativeLength, PositiveLength, Section

#: model parameters that a job may give, and what they measure
PARAMETERS = {"vp": "velocity", "epsilon": "fraction", "delta": "fraction", "theta": "angle", "phi": "angle"}


class ValueSection(Section):
    """A model parameter: a constant, a file, or a function of depth."""

    value: float | list[float] | None = Field(None, description="a constant, or the values at the depths z")
    z: list[Length] | None = Field(
        None, description="depths of the values; linear interpolation between them, constant outside"
    )
    file: str | None = Field(None, description="model file: .rsf, .npz, .npy, .segy/.sgy, .vti, .nc")
    data: str | None = Field(
        None, description="file of the samples, if the RSF header names none or one outside its folder"
    )
    unit: str | None = Field(None, description="unit of the values in the file")
    key: str | None = Field(None, description="name of the array in an .npz or .nc file")
    spacing: list[PositiveLength] | None = Field(
        None, description="grid spacing, for files that do not store it"
    )
    origin: list[Length] | None = Field(None, description="grid origin, for files that do not store it")
    axes: str | None = Field(
        None, description="order of the axes in the file, slowest first, such as zx; default xz or xyz"
    )
    flip: str | None = Field(None, description="axes that run backwards in the file, such as z")
    scale: float | None = Field(None, description="factor applied to the values after unit conversion")
    shift: float | None = Field(
        None, description="constant added to the values after unit and factor; SI, degrees"
    )
    counted_from: CountedFrom | None = Field(
        None,
        description="reference of phi: x (of the grid, towards y; the default), map x (towards map y), or "
        "north (map y, clockwise)",
    )

    @field_validator("axes", "flip")
    @classmethod
    def _letters_of_axes(cls, value: str | None) -> str | None:
        if value is not None and (not value or len(set(value)) != len(value) or not set(value) <= set("xyz")):
            raise ConfigError(
                f"{value!r} does not name axes", 'use each of x, y, z once at most, such as "zx"', code="E104"
            )
        return value

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
        of_files = ("data", "key", "spacing", "origin", "axes", "flip", "scale", "shift")
        if self.file is None and any(getattr(self, k) is not None for k in of_files):
            raise ConfigError(f"{', '.join(of_files)} go with file", "remove them", code="E104")
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
    epsilon: ValueSection | None = Field(None, description="Thomsen epsilon, a fraction; same forms as vp")
    delta: ValueSection | None = Field(None, description="Thomsen delta, a fraction; same forms as vp")
    theta: ValueSection | None = Field(
        None, description="tilt of the symmetry axis from the downward vertical, degrees; same forms as vp"
    )
    phi: ValueSection | None = Field(
        None, description="azimuth of the tilt from x towards y, degrees (3-D); same forms as vp"
    )
    smoothing: NonNegativeLength = Field(
        0.0,
        description="standard deviation of the Gaussian that smooths slowness, epsilon, delta and axis; 0: none",
    )
    tilt_smoothing: NonNegativeLength | None = Field(
        None, description="the same for the symmetry axis alone, if different from smoothing"
    )
    smoothing_top: Length | None = Field(
        None, description="depth above which the model is not smoothed (water)"
    )

    @field_validator("vp", mode="before")
    @classmethod
    def _velocity(cls, value: object) -> object:
        return _value_section(value, "velocity")

    @field_validator("epsilon", "delta", mode="before")
    @classmethod
    def _fraction(cls, value: object) -> object:
        return _value_section(value, "fraction")

    @field_validator("theta", "phi", mode="before")
    @classmethod
    def _angle(cls, value: object) -> object:
        return _value_section(value, "angle")

    @model_validator(mode="after")
    def _azimuths_alone_have_a_zero(self) -> ModelSection:
        for name in ("vp", "epsilon", "delta", "theta"):
            section = getattr(self, name)
            if section is not None and section.counted_from is not None:
                raise ConfigError(
                    f"{name} has counted_from, which says where the azimuth phi is counted from",
                    "move it to phi",
                    code="E104",
                )
        return self


class GridSection(Section):
    """The model grid, for models without one. If a job has it, model files are interpolated onto it."""

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
    margin: NonNegativeLength = Field(
        0.0, description="with depth: distance that the model extends beyond the survey on every side"
    )

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
