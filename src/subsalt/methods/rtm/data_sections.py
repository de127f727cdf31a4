"""The table `[data]` of a job of reverse time migration, with its inner tables: mute, frame, slices."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from subsalt.errors import ConfigError
from subsalt.job.data_sections import GeometrySection, TracesSection, parse_ranges
from subsalt.job.units import Angle, Length, NonNegativeTime, Section, Time, Velocity


class MuteSection(Section):
    """Zeroing of the direct arrival in the data, above the line time = delay + offset / velocity."""

    velocity: Velocity = Field(description="velocity of the mute line over offset")
    delay: Time = Field(0.0, description="time of the mute line at zero offset")
    taper: NonNegativeTime = Field(0.1, description="length of the smooth ramp below the line")


class FrameSection(Section):
    """Position of the local coordinates on the map."""

    x0: Length = Field(0.0, description="map x of the local point (0, 0)")
    y0: Length = Field(0.0, description="map y of the local point (0, 0)")
    azimuth: Angle = Field(0.0, description="degrees from map x to local x, towards map y")
    # None, not false: what is left out is no part of the identity of runs of earlier versions
    flip: bool | None = Field(
        None, description="true: local y points to the right of local x instead of to the left"
    )

    @field_validator("flip")
    @classmethod
    def _false_says_nothing(cls, value: bool | None) -> bool | None:
        return value or None


class SlicesSection(Section):
    """Shots recorded on every node of a plane: one file of time slices (RSF) each, in the order of `files`."""

    sources: list[list[Length]] = Field(
        min_length=1, description="position of the source of each file, (x, y, z) or (x, z)"
    )
    depth: Length = Field(0.0, description="depth of the nodes")


class DataSection(TracesSection):
    """The recorded shots."""

    line: Literal["auto", "2d", "3d", "x", "y"] = Field(
        "auto",
        description="2d: projected on the best line; x, y: 2-D along map x or y; auto: from the positions",
    )
    shot_key: Literal["auto", "ffid", "source"] = Field(
        "auto",
        description="what identifies a shot: field record (ffid) or source position (source); auto: by the files",
    )
    receivers: Literal["coordinates", "offset"] = Field(
        "coordinates", description="receivers from bytes 81, 85, or from the signed offset along the line"
    )
    shots: Literal["all"] | list[int] | str = Field(
        "all", description='ids, or ranges such as "1-100:5, 201"'
    )
    frame: FrameSection | None = Field(
        None, description="local frame; default: that of the model file or of the line"
    )
    geometry: GeometrySection | None = Field(
        None, description="read positions from SPS, P1/90, P1/11 or CSV files, not from the headers"
    )
    slices: SlicesSection | None = Field(
        None, description="files are time slices of dense receivers, not SEG-Y"
    )
    mute: MuteSection | None = Field(
        None,
        description="zero the direct arrival; short for a linear mute as the only step of trace processing",
    )
    gathers: Literal["shot", "receiver"] | None = Field(
        None,
        description="receiver: migrate common-receiver gathers, by reciprocity of pressure, one migration per receiver",
    )
    duplicates: Literal["error", "first", "keep"] | None = Field(
        None, description="duplicate traces: stop with an error (the default), use the first, or keep all"
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
