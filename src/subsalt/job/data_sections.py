"""The table `[data]` of a job file, with its inner tables: header fixes, mute, frame, geometry.

The tables `[model]` and `[grid]` of a job file: what each key means, its default and its limits.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator, model_validator

from subsalt.earth.tilt import CountedFrom
from subsalt.errors import ConfigError
from subsalt.job import units
from subsalt.job.units import (
    Angle,
    Length,
    NonNegativeLength,
    NonNegativeTime,
    PositiveLength,
    PositiveTime,
    Section,
    Time,
    Velocity,
)

if TYPE_CHECKING:
    from subsalt.io.segy.exclude import Exclusion


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
    # None, not false: what is left out is no part of the identity of runs of earlier versions
    flip: bool | None = Field(None, description="true: local y lies to the right of local x, not to its left")

    @field_validator("flip")
    @classmethod
    def _false_says_nothing(cls, value: bool | None) -> bool | None:
        return value or None


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
    endian: Literal["big", "little"] | None = Field(
        None, description="byte order of trace headers and samples"
    )
    sample_endian: Literal["big", "little"] | None = Field(
        None, description="byte order of the samples, where it is not that of the headers"
    )
    kind: Literal["segy", "su"] | None = Field(
        None, description="what the files are, whatever their names say"
    )
    text_headers: int | None = Field(
        None, ge=0, description="number of extended text headers instead of byte 3505"
    )
    delay: Time | None = Field(None, description="time of the first sample")
    unit: Literal["m", "ft"] | None = Field(None, description="unit of coordinates and depths")
    z_sign: Literal[1, -1] = Field(1, description="-1: elevations are stored as depths, positive down")
    source_depth: Length | None = Field(None, description="depth of all sources")
    receiver_depth: Length | None = Field(None, description="depth of all receivers")
    swap_xy: bool = Field(False, description="exchange x and y")
    all_traces: bool = Field(False, description="use auxiliary traces too (byte 29)")
    trace_ids: list[int] | None = Field(
        None, min_length=1, description="use traces of these identifications alone (byte 29), such as [11]"
    )
    truncated: Literal["error", "drop"] = Field(
        "error", description="files that end inside a trace: stop, or use the rest"
    )
    # None, not 1: what is left out is no part of a run's identity, so that runs of earlier versions still resume
    polarity: Literal[1, -1] | None = Field(None, description="-1: change the sign of every sample")
    channels: Literal["reversed"] | None = Field(
        None, description="reversed: traces of a shot stand in the reverse order of their places"
    )


class GeometrySection(Section):
    """Positions from files of their own instead of trace headers, joined by the numbers that the headers hold."""

    files: list[str] | None = Field(
        None,
        min_length=1,
        description="SPS (S, R and X), UKOOA P1/90 or OGP P1/11 files; patterns allowed, relative to the job file",
    )
    shots: str | None = Field(
        None, description="CSV: shot,sx,sy,sz; shot is the field record; or line,point,sx,sy,sz: shot points"
    )
    receivers: str | None = Field(
        None, description="CSV: shot,chan,gx,gy,gz; or line,point,chan,gx,gy,gz as in shots"
    )
    join: Literal["auto", "record", "point"] | None = Field(
        None,
        description="traces are known by field record (byte 9), or by shot point (byte 17) and line; and by channel",
    )
    lines: dict[str, str] | None = Field(
        None,
        description='line of trace files, where shots of several lines have one number: {"a*.sgy" = "1042"}',
    )
    unit: Literal["m", "ft", "us-ft"] | None = Field(
        None, description="unit of the positions, instead of what their files say"
    )

    @field_validator("files", mode="before")
    @classmethod
    def _one_file_is_a_list(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _files_or_tables(self) -> GeometrySection:
        tables = (self.shots, self.receivers)
        if (self.files is None) == (tables == (None, None)) or (self.files is None and None in tables):
            raise ConfigError(
                "[data.geometry] names files, or the two tables shots and receivers",
                'write files = ["line.sps", "line.rps", "line.xps"], or shots = "s.csv" and receivers = "r.csv"',
                code="E104",
            )
        given = [k for k in ("join", "unit") if getattr(self, k) is not None]
        if self.files is None and given:
            raise ConfigError(
                f"[data.geometry] {given[0]} is about files; tables are joined by their columns, in metres",
                f"take {given[0]} out",
                code="E104",
            )
        return self


class SlicesSection(Section):
    """Shots recorded on every node of a plane: one file of time slices (RSF) each, in the order of `files`."""

    sources: list[list[Length]] = Field(
        min_length=1, description="(x, y, z), or (x, z), of the source of each file"
    )
    depth: Length = Field(0.0, description="depth of the nodes")


class ExcludeSection(Section):
    """Traces to leave out: those that meet every condition given."""

    file: str | None = Field(None, description="file by its name; all files when left out")
    shot: int | list[int] | str | None = Field(
        None, description='field record numbers (byte 9): 7, [7, 9] or ranges such as "7-9"'
    )
    channels: int | list[int] | str | None = Field(None, description="channel numbers (byte 13), likewise")
    traces: int | list[int] | str | None = Field(
        None, description="numbers of traces in the file, from 1, likewise"
    )

    @model_validator(mode="after")
    def _says_something(self) -> ExcludeSection:
        if self.file is None and self.traces is not None:
            raise ConfigError(
                "an entry of [data] exclude counts traces, but names no file",
                'add file = "shots.sgy", or name shot and channels',
                code="E104",
            )
        if (self.file, self.shot, self.channels) == (None, None, None):
            raise ConfigError(
                "an entry of [data] exclude says nothing",
                'write {file = "shots.sgy", traces = "12-14"} or {shot = 7, channels = [12, 13]}',
                code="E104",
            )
        self.ranges()
        return self

    def ranges(self) -> dict[str, tuple[tuple[int, int, int], ...]]:
        """Return the numbers as ranges (first, last, step), by key, of the keys that are given."""
        out = {}
        for key in ("shot", "channels", "traces"):
            value = getattr(self, key)
            if value is not None:
                numbers = [value] if isinstance(value, int) else value
                out[key] = tuple(
                    parse_ranges(numbers) if isinstance(numbers, str) else [(n, n, 1) for n in numbers]
                )
        return out


class HeaderWordSection(Section):
    """Place and type of a header value, where it is no integer of the standard's width."""

    byte: int = Field(description="first byte of the word in the trace header, from 1")
    type: Literal["i2", "u2", "i4", "u4", "f4", "f8", "ibm"] | None = Field(
        None, description="signed or unsigned integer of 2 or 4 bytes, IEEE float of 4 or 8, or IBM float"
    )


#: a byte, the name of a value in a store, or a byte with its type
Word = int | str | HeaderWordSection


def header_words(given: Mapping[str, Word]) -> dict[str, tuple[int, str | None]]:
    """Return byte and type of the header values whose place a job gives; names of a store's values are left out."""
    return {
        name: (word, None) if isinstance(word, int) else (word.byte, word.type)
        for name, word in given.items()
        if not isinstance(word, str)
    }


class TracesSection(Section):
    """Files of traces, and how their headers are read."""

    files: list[str] = Field(
        min_length=1,
        description="SEG-Y or SU files, MDIO or Zarr stores; patterns allowed, relative to the job file",
    )
    preset: Literal["rev1", "su", "marine2d", "obn"] = Field(
        "rev1", description="which header bytes hold what"
    )
    bytes: dict[str, Word] = Field(
        {},
        description="header bytes that differ from the preset, 1-based, with a type where it differs: "
        '{channel = {byte = 125, type = "i2"}}; of a store of traces also names',
    )
    fix: FixSection = Field(default_factory=FixSection, description="corrections of header values")
    bad_traces: Literal["error", "zero"] = Field(
        "error", description="traces with NaN or Inf: stop, or set to zero"
    )
    dead_traces: Literal["skip", "zero"] = Field(
        "skip", description="traces marked as dead: leave out, or keep as zeros"
    )
    exclude: list[ExcludeSection] | None = Field(
        None,
        description='traces to leave out: [{file = "a.sgy", traces = "12-14"}, {shot = 7, channels = 3}]',
    )
    noisy_traces: Literal["keep"] | None = Field(
        None,
        description='"keep" uses traces that are far stronger than their neighbours; else they are refused',
    )
    index: str | None = Field(
        None,
        description='header values are saved for later: "beside" the files, or in a folder relative to the job file',
    )
    first_breaks: Literal["ignore"] | None = Field(
        None,
        description='"ignore": check does not judge first arrivals and moveout, where they are known to mislead',
    )

    def excluded(self) -> tuple[Exclusion, ...]:
        """Return the entries of `exclude` in the form of the readers."""
        from subsalt.io.segy.exclude import Exclusion

        return tuple(
            Exclusion(entry.file, **{"shots" if k == "shot" else k: v for k, v in entry.ranges().items()})
            for entry in self.exclude or ()
        )

    @field_validator("files", mode="before")
    @classmethod
    def _one_file_is_a_list(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @field_validator("bytes")
    @classmethod
    def _values_exist(cls, value: dict[str, Word]) -> dict[str, Word]:
        from subsalt.io.segy.headers import HeaderBytes

        for name in value:
            if name not in HeaderBytes.names():
                close = difflib.get_close_matches(name, HeaderBytes.names(), n=1)
                fix = (
                    f"did you mean {close[0]!r}?"
                    if close
                    else f"known here: {', '.join(HeaderBytes.names())}"
                )
                raise ConfigError(f"{name!r} is no header value", fix, code="E101")
        HeaderBytes().placed(header_words(value))
        return value


class CdpLineSection(Section):
    """Positions of a straight 2-D line whose traces have CDP numbers and offsets, but no coordinates."""

    spacing: PositiveLength = Field(description="distance of neighbouring CDPs")
    first_cdp: int = Field(description="CDP number that lies at x0, y0")
    x0: Length = Field(0.0, description="map x of that CDP")
    y0: Length = Field(0.0, description="map y of that CDP")
    azimuth: Angle = Field(
        90.0, description="direction of growing CDP numbers: degrees clockwise from map y (north)"
    )
    offset: Length | None = Field(
        None, description="offset of all traces instead of byte 37; 0: a stacked section"
    )


class BinsSection(Section):
    """Midpoints at the positions of bins (bytes 181, 185), for traces whose sources and receivers have none."""

    azimuth: Angle = Field(
        90.0,
        description="direction from source to receiver of positive offsets: degrees clockwise from map y",
    )


class PrestackDataSection(TracesSection):
    """The recorded traces, in any order."""

    geometry: GeometrySection | None = Field(
        None, description="positions from files of their own (SPS, P1/90, P1/11, CSV), not from the headers"
    )
    cdp_line: CdpLineSection | None = Field(
        None, description="2-D positions from CDP numbers and offsets, not from coordinates"
    )
    bins: BinsSection | None = Field(
        None, description="positions from those of the bins and from offsets, not from coordinates"
    )
    duplicates: Literal["error", "first", "keep"] = Field(
        "error", description="traces that are there twice: stop, use the first, or use all"
    )

    @model_validator(mode="after")
    def _one_way_to_place(self) -> PrestackDataSection:
        given = [k for k in ("cdp_line", "bins", "geometry") if getattr(self, k) is not None]
        if len(given) > 1:
            raise ConfigError(
                f"[data] has {' and '.join(given)}: traces are placed by one of them",
                f"leave out {', or '.join(given)}",
                code="E104",
            )
        return self


class DataSection(TracesSection):
    """The recorded shots."""

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
    frame: FrameSection | None = Field(
        None, description="local frame; else of the model file, or of the line"
    )
    geometry: GeometrySection | None = Field(
        None, description="positions from files of their own (SPS, P1/90, P1/11, CSV), not from the headers"
    )
    slices: SlicesSection | None = Field(
        None, description="files are time slices of dense receivers, not SEG-Y"
    )
    mute: MuteSection | None = Field(None, description="zero the direct arrival")
    gathers: Literal["shot", "receiver"] | None = Field(
        None,
        description="receiver: migrate common-receiver gathers, by reciprocity: one shot for each receiver (pressure)",
    )
    duplicates: Literal["error", "first", "keep"] | None = Field(
        None, description="traces that are there twice: stop (as without the key), use the first, or use all"
    )

    @model_validator(mode="after")
    def _slices_have_no_headers(self) -> DataSection:
        given = [k for k in ("exclude", "noisy_traces", "duplicates") if getattr(self, k) is not None]
        for key in ("geometry", "gathers"):
            if self.slices is not None and getattr(self, key) is not None:
                raise ConfigError(
                    f"[data] has slices and {key}: slices say their own positions and are gathers of shots",
                    f"leave out {key}",
                    code="E104",
                )
        if self.slices is not None and given:
            raise ConfigError(
                f"[data] {given[0]} is about traces of SEG-Y and SU; time slices have none",
                f"take {given[0]} out; [data] shots selects slices by their number",
                code="E104",
            )
        return self

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
    data: str | None = Field(
        None, description="samples of an RSF header, where it names a file outside its folder, or none"
    )
    unit: str | None = Field(None, description="unit of the values in the file")
    key: str | None = Field(None, description="name of the array in an .npz or .nc file")
    spacing: list[PositiveLength] | None = Field(
        None, description="grid spacing, for files that do not say it"
    )
    origin: list[Length] | None = Field(None, description="grid origin, for files that do not say it")
    axes: str | None = Field(None, description="axes in the file, slowest first, such as zx; else xz or xyz")
    flip: str | None = Field(None, description="axes that run backwards in the file, such as z")
    scale: float | None = Field(None, description="factor on the values, after their unit")
    shift: float | None = Field(None, description="added to the values, after unit and factor; SI, degrees")
    counted_from: CountedFrom | None = Field(
        None,
        description="phi: from x (of the grid, towards y), map x (towards map y), or north (map y, clockwise)",
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
    theta: ValueSection | None = Field(
        None, description="tilt of the symmetry axis from the downward vertical, degrees; as vp"
    )
    phi: ValueSection | None = Field(
        None, description="azimuth of the tilt from x towards y, degrees (3-D); as vp"
    )
    smoothing: NonNegativeLength = Field(
        0.0, description="sigma of a Gaussian on slowness, epsilon, delta, axis; 0: none"
    )
    tilt_smoothing: NonNegativeLength | None = Field(
        None, description="sigma of the Gaussian on the symmetry axis, where it should differ from smoothing"
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
