"""The table `[velocity]` of a Kirchhoff job: what each key means, its default and its limits."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from subsalt.errors import ConfigError
from subsalt.job import units
from subsalt.job.units import NonNegativeLength, NonNegativeTime, Section

#: two-way times beyond this are no seconds
LONGEST = 60.0
#: columns that a velocity text may have
COLUMNS = ("cdp", "inline", "crossline", "x", "y", "t", "v", "eta", "skip")


class FunctionSection(Section):
    """A constant, or a function of two-way time."""

    value: float | list[float] = Field(description="a constant, or the values at the times t")
    t: list[NonNegativeTime] | None = Field(
        None, description="two-way times of the values; linear interpolation between them, constant outside"
    )

    @model_validator(mode="after")
    def _times_and_values_match(self) -> FunctionSection:
        values = self.value if isinstance(self.value, list) else [self.value]
        if (self.t is None) == isinstance(self.value, list):
            raise ConfigError(
                "a list of values and their times go together",
                "for example {t = [0, 1, 2], value = [1500, 2000, 2500]}",
                code="E104",
            )
        if self.t is not None:
            if len(self.t) != len(values) or not values:
                raise ConfigError(
                    f"{len(self.t)} times t but {len(values)} values", "give one value per time", code="E104"
                )
            if self.t and max(self.t) > LONGEST:
                raise ConfigError(
                    f"times t reach {max(self.t):g} s; these look like ms",
                    f'write them with their unit, such as "{max(self.t):g} ms", or in s: '
                    f"[velocity.{'v' if max(values) > 10 else 'eta'}] t = "
                    f"[{', '.join(f'{1e-3 * t:g}' for t in self.t)}]",
                    code="E743",
                )
            wrong = [(a, b) for a, b in zip(self.t, self.t[1:], strict=False) if b <= a]
            if wrong:
                raise ConfigError(
                    f"times do not increase: {wrong[0][1]:g} s follows {wrong[0][0]:g} s",
                    "sort the times, each once",
                    code="E742",
                )
        return self


class SmoothSection(Section):
    """Lengths over which the velocity is averaged; 0: no averaging."""

    time: NonNegativeTime = Field(0.0, description="full length of the average in two-way time")
    inline: NonNegativeLength = Field(0.0, description="full length of the average across inlines, m")
    crossline: NonNegativeLength = Field(0.0, description="full length of the average across crosslines, m")

    @model_validator(mode="before")
    @classmethod
    def _directions_are_said(cls, raw: object) -> object:
        if not isinstance(raw, dict | SmoothSection):
            raise ConfigError(
                f"smooth = {raw!r} does not say along what",
                'for example smooth = {time = "0.2 s", inline = "500 m", crossline = "500 m"}',
                code="E104",
            )
        return raw

    @field_validator("time")
    @classmethod
    def _time_is_in_seconds(cls, value: float) -> float:
        if value > LONGEST:
            raise ConfigError(
                f"{value:g} s looks like ms", f'[velocity.smooth] time = "{value:g} ms"', code="E743"
            )
        return value


class TimeFileSection(Section):
    """A file with values by place and two-way time, and how it is read."""

    file: str | None = Field(
        None,
        description="a text of pairs, or a volume in time: .sgy/.segy, .rsf, .npz, .npy, .vti, .nc, .zarr",
    )
    columns: list[str] | None = Field(
        None, description='columns of a text, such as "cdp t v"; else from its header line and their number'
    )
    time_unit: Literal["s", "ms"] | None = Field(
        None, description="unit of times in the file; default: that of the file, or s"
    )
    map_unit: Literal["m", "ft"] = Field("m", description="unit of x and y in a text")
    locate: Literal["auto", "numbers", "map"] = Field(
        "auto", description="position a volume by its inline and crossline numbers, or by its map coordinates"
    )
    bytes: dict[str, int] = Field({}, description="header bytes of a SEG-Y volume, as in [data.bytes]")
    key: str | None = Field(None, description="name of the array in an .npz or .nc file")
    spacing: list[float] | None = Field(
        None, description="steps along the axes of a volume that does not store them, m; the last one in s"
    )
    origin: list[float] | None = Field(
        None, description="first coordinates of a volume that does not store them, m; the last one in s"
    )

    @field_validator("spacing", "origin", mode="before")
    @classmethod
    def _lengths_and_a_time(cls, value: object) -> object:
        if not isinstance(value, list):
            return value
        kinds = ["length"] * (len(value) - 1) + ["time"]
        return [units.parse(v, k) for v, k in zip(value, kinds, strict=True)]

    @field_validator("spacing")
    @classmethod
    def _steps_lead_on(cls, value: list[float] | None) -> list[float] | None:
        if value is not None and (len(value) not in (2, 3) or min(value) <= 0):
            raise ConfigError(
                f"spacing = {value}", "give 2 (crossline, time) or 3 steps above 0", code="E104"
            )
        return value

    @field_validator("columns", mode="before")
    @classmethod
    def _columns_exist(cls, value: object) -> object:
        names = value.replace(",", " ").split() if isinstance(value, str) else value
        if not isinstance(names, list):
            return names
        names = [str(n).lower() for n in names]
        unknown = [n for n in names if n not in COLUMNS]
        if unknown:
            raise ConfigError(
                f"{unknown[0]!r} is no column of a velocity text",
                f"known here: {', '.join(COLUMNS)}",
                code="E741",
            )
        return names

    @field_validator("bytes")
    @classmethod
    def _bytes_exist(cls, value: dict[str, int]) -> dict[str, int]:
        from subsalt.io.segy.headers import HeaderBytes

        for name in value:
            if name not in HeaderBytes.names():
                raise ConfigError(
                    f"{name!r} is no header value",
                    f"known here: {', '.join(HeaderBytes.names())}",
                    code="E101",
                )
        HeaderBytes().placed({name: (byte, None) for name, byte in value.items()})
        return value

    def _file_keys_without_file(self) -> list[str]:
        """Return the keys that say how a file is read, when there is none."""
        given = ("columns", "time_unit", "key", "spacing", "origin", "bytes")
        return [] if self.file is not None else [k for k in given if getattr(self, k)]


class EtaSection(TimeFileSection):
    """Effective eta (VTI)."""

    value: FunctionSection | None = Field(None, description="a constant or a function of time")

    @model_validator(mode="after")
    def _one_kind(self) -> EtaSection:
        if (self.value is None) == (self.file is None):
            raise ConfigError(
                "eta is a value or a file", 'for example eta = 0.05 or eta = {file = "eta.txt"}', code="E104"
            )
        if keys := self._file_keys_without_file():
            raise ConfigError(f"{keys[0]} goes with file", f"remove {keys[0]}", code="E104")
        return self


class VelocitySection(TimeFileSection):
    """The velocity of a time migration."""

    v: FunctionSection | None = Field(
        None, description='a constant such as 2000 or "2 km/s", or {t = [...], value = [...]}'
    )
    kind: Literal["rms", "interval", "layers", "average"] = Field(
        "rms",
        description="rms; interval (linear between times); layers (each value down to its time); average",
    )
    unit: str | None = Field(None, description="unit of the velocities; default: that of the file, or m/s")
    scale: float = Field(1.0, description="a factor on the rms velocity, as `subsalt vscan` sets it")
    smooth: SmoothSection | None = Field(
        None,
        description='average of the rms velocity, {time = "0.2 s", inline = "500 m", crossline = "500 m"}',
    )
    eta: EtaSection | None = Field(
        None,
        description="effective eta: a number, {t = [...], value = [...]}, or {file = ...}; 0 when left out",
    )

    @model_validator(mode="before")
    @classmethod
    def _values_in_si(cls, raw: object) -> object:
        if not isinstance(raw, dict):
            return raw
        out = dict(raw)
        unit = out.get("unit")
        if unit is not None:
            out["unit"] = unit = units.check_file_unit(unit, "velocity")
        v = out.get("v")
        if isinstance(v, str) and units.split_quantity(v) is None:
            raise ConfigError(
                f"v = {v!r} is no velocity", f'a file is named by its own key: file = "{v}"', code="E103"
            )
        if v is not None and not isinstance(v, FunctionSection):
            out["v"] = _in_si(v, unit, "velocity")
            # said and done: the value that is kept is in SI
            out.pop("unit", None) if out.get("file") is None else None
        return out

    @field_validator("eta", mode="before")
    @classmethod
    def _short_eta(cls, raw: object) -> object:
        if isinstance(raw, str) and units.split_quantity(raw) is None:
            return {"file": raw}
        if isinstance(raw, EtaSection):
            return raw
        if not isinstance(raw, dict):
            return {"value": _in_si(raw, None, "fraction")}
        # the function alone, or the table that holds it or a file
        short = "file" not in raw and not isinstance(raw.get("value"), dict)
        return {"value": _in_si(raw, None, "fraction")} if short else raw

    @field_validator("scale")
    @classmethod
    def _scale_is_positive(cls, value: float) -> float:
        if not (math.isfinite(value) and value > 0):
            raise ConfigError(f"scale = {value:g}", "use a number above 0, near 1", code="E104")
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> VelocitySection:
        if (self.v is None) == (self.file is None):
            raise ConfigError(
                "give either v or file", 'for example v = 2000, or file = "vrms.sgy"', code="E104"
            )
        if keys := self._file_keys_without_file():
            raise ConfigError(f"{keys[0]} goes with file", f"remove {keys[0]}", code="E104")
        if self.v is not None:
            values = self.v.value if isinstance(self.v.value, list) else [self.v.value]
            bad = [x for x in values if not (math.isfinite(x) and x > 0)]
            if bad:
                raise ConfigError(f"v holds {bad[0]:g} m/s", "velocities are above 0", code="E740")
        return self


def _in_si(raw: object, unit: str | None, kind: str) -> Any:
    """Return a value or a function with its values in SI, as the table form."""
    if not isinstance(raw, dict):
        return {"value": _number(raw, unit, kind)}
    if "value" not in raw:
        return raw
    values = raw["value"]
    given = (
        [_number(x, unit, kind) for x in values] if isinstance(values, list) else _number(values, unit, kind)
    )
    return raw | {"value": given}


def _number(value: object, unit: str | None, kind: str) -> float:
    x = units.parse(value, kind)
    if unit is None or isinstance(value, str):
        return x
    factor, power = units.conversion(unit, kind)
    return factor * x**power
