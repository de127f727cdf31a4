"""The `[acquisition]` table: where sources and receivers stand in a survey that is to be modelled."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from subsalt.errors import ConfigError
from subsalt.job.units import Length, PositiveTime, Section


class Positions(Section):
    """A line, a patch, or a table of positions.

    A line runs from `first` to `last` in `n` points, or in steps of `step`. With two numbers in `n` it is a
    patch: `n[0]` points along x, `n[1]` along y, in rows along x.
    """

    first: list[Length] | None = Field(None, description="first position, (x, y, z) or (x, z)")
    last: list[Length] | None = Field(None, description="last position")
    n: int | list[int] | None = Field(None, description="number of points; [nx, ny] for a patch")
    step: Length | list[Length] | None = Field(
        None,
        description="distance of points: one number along the line to last, or along x without last "
        "(a patch: along x and y); or one number per axis",
    )
    relative: bool = Field(False, description="receivers: x and y count from the source")
    file: str | None = Field(None, description="CSV: shot,sx,sy,sz or shot,chan,gx,gy,gz")

    @model_validator(mode="after")
    def _defined(self) -> Positions:
        if self.file is not None:
            if any(v is not None for v in (self.first, self.last, self.n, self.step)):
                raise ConfigError("a CSV file stands alone", "remove first, last, n and step", code="E104")
            return self
        if self.first is None:
            raise ConfigError("positions need first, or a file", "add first = [x, y, z]", code="E104")
        sizes = {k: len(v) for k in ("first", "last", "step") if isinstance(v := getattr(self, k), list)}
        if any(n not in (2, 3) for n in sizes.values()) or len(set(sizes.values())) > 1:
            raise ConfigError(
                f"numbers of coordinates differ: {sizes}", "give 2 (x, z) or 3 (x, y, z)", code="E104"
            )
        counts = self.n if isinstance(self.n, list) else [self.n]
        if isinstance(self.n, list) and (len(self.n) != 2 or len(self.first) != 3):
            raise ConfigError(
                f"n = {self.n}", "a patch has n = [nx, ny] and positions (x, y, z)", code="E104"
            )
        if any(c is not None and c < 1 for c in counts):
            raise ConfigError(f"n = {self.n}", "n must be at least 1", code="E104")
        given = [k for k in ("last", "n", "step") if getattr(self, k) is not None]
        if given not in ([], ["last", "n"], ["n", "step"], ["last", "step"]) and not (
            given == ["n"] and self.n == 1
        ):
            raise ConfigError(
                f"a line with {', '.join(['first', *given])} is not defined",
                "give two of last, n, step",
                code="E104",
            )
        return self


def _as_list(value: object) -> object:
    """Bring the short forms (one table, a CSV name) to a list of tables."""
    items = value if isinstance(value, list) else [value]
    return [{"file": v} if isinstance(v, str) else v for v in items]


class AcquisitionSection(Section):
    """A survey to be modelled."""

    shots: list[Positions] = Field(min_length=1, description="lines or patches of sources, or a CSV")
    receivers: list[Positions] = Field(
        min_length=1, description="lines or patches of receivers, or a CSV; relative = true moves them"
    )
    record_length: PositiveTime = Field(description="time of the last sample")
    dt: PositiveTime = Field(description="sampling of the records")
    files: Literal["one", "per-shot"] = Field(
        "one", description="one SEG-Y file for the survey, or one per shot"
    )

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {k: _as_list(v) if k in ("shots", "receivers") else v for k, v in value.items()}
