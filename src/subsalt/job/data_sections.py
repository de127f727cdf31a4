"""Tables inside `[data]` that jobs of all methods know: files of traces, header fixes, geometry, what to leave out."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator, model_validator

from subsalt.errors import ConfigError
from subsalt.job.units import (
    Length,
    PositiveTime,
    Section,
    Time,
)

if TYPE_CHECKING:
    from subsalt.io.segy.exclude import Exclusion


class FixSection(Section):
    """Corrections of trace headers; values that are left out are read from the files."""

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
        None, description="byte order of the samples, if it differs from that of the headers"
    )
    kind: Literal["segy", "su"] | None = Field(
        None, description="format of the files, whatever their names: segy or su"
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
    all_traces: bool = Field(False, description="also use auxiliary traces (byte 29)")
    trace_ids: list[int] | None = Field(
        None, min_length=1, description="use only traces with these identifications (byte 29), such as [11]"
    )
    truncated: Literal["error", "drop"] = Field(
        "error", description="files that end inside a trace: stop, or use the complete traces"
    )
    # None, not 1: keys that are left out do not enter the identity of a run, so that runs of earlier versions resume
    polarity: Literal[1, -1] | None = Field(None, description="-1: change the sign of every sample")
    channels: Literal["reversed"] | None = Field(
        None, description="reversed: the traces of a shot are stored in the reverse order of their positions"
    )


class GeometrySection(Section):
    """Positions from separate files instead of trace headers, joined by the numbers in the headers."""

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
        description="identifies shots: record, by field record (byte 9); point, by shot point (byte 17) and line; "
        "traces always by channel (byte 13); auto: record where there are relations (SPS), otherwise point",
    )
    lines: dict[str, str] | None = Field(
        None,
        description='line name of trace files, if several lines use the same shot numbers: {"a*.sgy" = "1042"}',
    )
    unit: Literal["m", "ft", "us-ft"] | None = Field(
        None, description="unit of the positions, instead of the one that their files state"
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


class ExcludeSection(Section):
    """Traces to leave out: those that match all given conditions."""

    file: str | None = Field(None, description="name of the file; default: all files")
    shot: int | list[int] | str | None = Field(
        None, description='field record numbers (byte 9): 7, [7, 9] or ranges such as "7-9"'
    )
    channels: int | list[int] | str | None = Field(
        None, description="channel numbers (byte 13); a number, a list or ranges"
    )
    traces: int | list[int] | str | None = Field(
        None, description="trace numbers in the file, from 1; a number, a list or ranges"
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
    """Byte and type of a header value that is not an integer of the standard width."""

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
        description="SEG-Y or SU files, MDIO or Zarr stores, or URLs of objects in stores; patterns allowed, "
        "relative to the job file",
    )
    preset: Literal["rev1", "su", "marine2d", "obn"] = Field(
        "rev1", description="set of header bytes to read: rev1, su, marine2d or obn"
    )
    bytes: dict[str, Word] = Field(
        {},
        description="header bytes that differ from the preset, 1-based, with a type where it differs: "
        '{channel = {byte = 125, type = "i2"}}; for a store of traces, also names of its header values',
    )
    fix: FixSection = Field(default_factory=FixSection, description="corrects header values")
    bad_traces: Literal["error", "zero"] = Field(
        "error", description="traces with NaN or Inf: stop, or set to zero"
    )
    dead_traces: Literal["skip", "zero"] = Field(
        "skip", description="traces marked as dead (byte 29 is 2): skip, or use as zeros"
    )
    exclude: list[ExcludeSection] | None = Field(
        None,
        description='traces to skip: [{file = "a.sgy", traces = "12-14"}, {shot = 7, channels = 3}]',
    )
    noisy_traces: Literal["keep"] | None = Field(
        None,
        description='traces far stronger than their neighbours: "keep" uses them; otherwise they are an error',
    )
    index: str | None = Field(
        None,
        description='save header values for later: "beside" each file, or in a folder relative to the job file',
    )
    first_breaks: Literal["ignore"] | None = Field(
        None,
        description='"ignore": check does not evaluate first arrivals and moveout, for data where they mislead',
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
