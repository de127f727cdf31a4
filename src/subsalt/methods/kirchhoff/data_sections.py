"""The table `[data]` of a job of time migration, with its inner tables: CDP line, bins."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from subsalt.errors import ConfigError
from subsalt.job.data_sections import GeometrySection, TracesSection
from subsalt.job.units import Angle, Length, PositiveLength, Section


class CdpLineSection(Section):
    """Positions of a straight 2-D line whose traces have CDP numbers and offsets, but no coordinates."""

    spacing: PositiveLength = Field(
        description="distance of neighbouring CDPs, usually half the group spacing"
    )
    first_cdp: int = Field(description="CDP number at the position x0, y0")
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
        None, description="read positions from SPS, P1/90, P1/11 or CSV files, not from the headers"
    )
    cdp_line: CdpLineSection | None = Field(
        None, description="compute 2-D positions from CDP numbers and offsets, not from coordinates"
    )
    bins: BinsSection | None = Field(
        None, description="compute positions from bin positions and offsets, not from coordinates"
    )
    duplicates: Literal["error", "first", "keep"] = Field(
        "error", description="duplicate traces: stop with an error, use the first, or keep all"
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
