"""The table `[kirchhoff]` of a job file, in the words of the field: meaning, default and limits of each key."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, field_validator, model_validator

from subsalt.errors import ConfigError
from subsalt.job import units
from subsalt.job.parallel_section import ParallelSection
from subsalt.job.units import (
    Angle,
    AutoInt,
    AutoMemory,
    AutoTime,
    Length,
    Section,
    Time,
    Velocity,
    key,
    options_from,
)
from subsalt.methods.kirchhoff.options import (
    Antialias,
    BandChoice,
    Interpolation,
    KirchhoffOptions,
    Traveltime,
)
from subsalt.option_fields import WORDS


def _or_word(kind: str, word: str) -> Any:
    """Return the type of a quantity in whose place one word may stand."""

    def read(value: object) -> object:
        if value == word:
            return value
        try:
            return units.parse(value, kind)
        except ConfigError as error:
            raise ConfigError(error.message, f'{error.fix}, or "{word}"', code=error.code) from None

    schema = {"anyOf": [{"type": "number"}, {"type": "string"}], "description": f'{kind}, or "{word}"'}
    return Annotated[float | Literal[word], BeforeValidator(read), WithJsonSchema(schema)]  # type: ignore[valid-type]


def _part(value: object) -> object:
    return units.parse(value, "fraction")


Part = Annotated[
    float,
    BeforeValidator(_part),
    WithJsonSchema(
        {"anyOf": [{"type": "number"}, {"type": "string"}], "description": "0 to 1, or in percent"}
    ),
]


#: distances of midpoints across inlines and crosslines, or the word for those of the output
Spacings = Annotated[
    tuple[Length, Length] | Literal["bins"],
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "items": {"anyOf": [{"type": "number"}, {"type": "string"}]}},
                {"const": "bins"},
            ]
        }
    ),
]

#: key of the option of a name
_key = partial(key, KirchhoffOptions)


class LinesSection(Section):
    """A range of inline or crossline numbers."""

    first: int = Field(description="first number of the output")
    last: int = Field(description="last number, included")
    step: int = Field(1, description="increment")

    @model_validator(mode="after")
    def _leads_to_the_last(self) -> LinesSection:
        from subsalt.acquisition.image_grid import check_lines

        check_lines("line", (self.first, self.last, self.step))
        return self


class TimesSection(Section):
    """The time axis of the image."""

    first: Time = Field(0.0, description="two-way time of the first sample")
    last: Time | None = Field(None, description="time of the last sample; default: end of the records")
    step: Time | None = Field(None, description="sample interval; default: that of the data")


#: offset classes that gathers may have: more are a mistake in their step
MOST_CLASSES = 10_000


class OffsetsSection(Section):
    """Offset classes of image gathers."""

    first: Length = Field(description="offset in the middle of the first class")
    last: Length = Field(description="offset in the middle of the last class")
    step: Length = Field(description="width of a class")

    @model_validator(mode="after")
    def _leads_to_the_last(self) -> OffsetsSection:
        first, last, step = self.first, self.last, self.step
        n = round((last - first) / step) if step else 0
        if n > MOST_CLASSES:
            raise ConfigError(
                f"offset classes from {first:g} to {last:g} m in steps of {step:g} m are {n + 1}",
                f"let them be at most {MOST_CLASSES}",
                code="E768",
            )
        if step <= 0 or first < 0 or n < 0 or abs(first + n * step - last) > 1e-6 * step:
            raise ConfigError(
                f"offset classes from {first:g} to {last:g} m in steps of {step:g} m: "
                + ("offsets are not negative" if first < 0 else "the last one is never reached"),
                "give the middle of the first and of the last class, and a width that divides what lies between",
                code="E768",
            )
        return self


class FloatingDatumSection(Section):
    """A smooth surface through elevations; image times of a land survey count from it."""

    velocity: Velocity = Field(description="replacement velocity between elevations and datum, m/s")
    radius: Length = Field(description="distance over which elevations are averaged, m")
    elevations: str | None = Field(
        None,
        description="CSV with the columns x,y,elevation; default: the elevations of sources and receivers",
    )
    flat: Length | None = Field(
        None,
        description="elevation from which image times count, m; default: the floating datum at each location",
    )

    @model_validator(mode="after")
    def _is_a_surface(self) -> FloatingDatumSection:
        if self.radius <= 0:
            raise ConfigError(
                f"floating_datum radius = {self.radius:g} m", "give a distance above 0", code="E104"
            )
        return self


class KirchhoffSection(Section):
    """Kirchhoff prestack time migration: output, gathers, operator."""

    inline: LinesSection | None = Field(
        None, description="output inlines {first, last, step}; default: those of the data"
    )
    crossline: LinesSection | None = Field(
        None,
        description="output crosslines, or CDPs of a line, {first, last, step}; default: those of the data",
    )
    corners: list[tuple[int, int, Length, Length]] | None = Field(
        None, description="corner points of the grid, [inline, crossline, x, y], x and y in m; three or more"
    )
    origin: tuple[Length, Length] | None = Field(
        None,
        description="map x, y of (first inline, first crossline), m; instead of corners, with azimuth and spacing",
    )
    azimuth: Angle | None = Field(
        None, description="direction in which crossline numbers grow: degrees clockwise from map y (north)"
    )
    spacing: tuple[Length, Length] | None = Field(
        None,
        description="m per inline number, to the right of azimuth (negative: left), and per crossline number",
    )
    time: TimesSection = Field(
        default_factory=TimesSection,
        description="two-way times of the image {first, last, step}, s; default: those of the records",
    )
    floating_datum: FloatingDatumSection | None = Field(
        None,
        description="floating datum of a land survey {velocity, radius, elevations, flat}; default: a plane",
    )
    gathers: Literal["image", "offset", "full-offset"] = Field(
        "image", description="image gather type: one image, offset classes, or a trace per offset of the data"
    )
    offset: OffsetsSection | None = Field(
        None,
        description='classes of gathers = "offset", m: middle of first and last, width {first, last, step}',
    )
    sectors: int = Field(
        1, ge=1, le=36, description="azimuth sectors of the gathers, over 180 degrees; 1: none"
    )
    first_azimuth: Angle = Field(0.0, description="azimuth at which the first sector begins, degrees")
    weighting: Literal["bin", "uniform"] = Field(
        "bin", description="area of a trace: bin area divided by the traces in the bin, or the same for all"
    )
    amplitude: Literal["auto", "3d", "2.5d", "none"] = _key("amplitude", "auto")
    aperture: _or_word("length", "all") = _key("aperture", "all")  # type: ignore[valid-type]
    aperture_taper: Part = _key("aperture_taper")
    dip: _or_word("angle", "all") = _key("dip", "all")  # type: ignore[valid-type]
    dip_taper: Part = _key("dip_taper")
    antialias: Antialias = _key("antialias")
    antialias_spacing: Spacings = _key("antialias_spacing", "bins")
    bands: int = _key("bands")
    band_choice: BandChoice = _key("band_choice")
    stretch_mute: _or_word("fraction", "off") = _key("stretch_mute")  # type: ignore[valid-type]
    stretch_taper: Part = _key("stretch_taper")
    interpolation: Interpolation = _key("interpolation")
    traveltime: Traveltime = _key("traveltime")
    block_moveout: Literal["off"] = Field(
        "off", description="off: compute the traveltime of every sample (the only choice)"
    )
    trace_block: AutoInt = Field(
        "auto",
        description="number of traces that are read, prepared and summed together; commercial name: cache block",
    )
    memory: AutoMemory = Field("auto", description='memory per rank, such as "1 GB"; auto: what is free')
    save_every: Time = Field(60.0, description="seconds between restart points of the sums; 0: none")

    @property
    def says_where(self) -> bool:
        """Whether the output is asked for: its place, or the lines it has; else it is the grid of the traces."""
        return any(v is not None for v in (self.inline, self.crossline, self.corners, self.origin))

    @field_validator("corners", mode="before")
    @classmethod
    def _points_have_four_numbers(cls, value: object) -> object:
        if isinstance(value, list) and any(not isinstance(p, list | tuple) or len(p) != 4 for p in value):
            wrong = next(p for p in value if not isinstance(p, list | tuple) or len(p) != 4)
            raise ConfigError(
                f"corner point {wrong!r} is not [inline, crossline, x, y]",
                "write corners = [[1, 1, 0, 0], [1, 100, 0, 2500], [50, 1, 1250, 0]]",
                code="E760",
            )
        return value

    @field_validator("antialias_spacing", mode="before")
    @classmethod
    def _one_spacing_is_both(cls, value: object) -> object:
        if value == "bins" or isinstance(value, list | tuple):
            return value
        return [value, value]

    @field_validator(
        "aperture",
        "aperture_taper",
        "dip",
        "dip_taper",
        "antialias_spacing",
        "bands",
        "stretch_mute",
        "stretch_taper",
        mode="after",
    )
    @classmethod
    def _option_has_its_limits(cls, value: Any, info: ValidationInfo) -> Any:
        assert info.field_name is not None
        given: dict[str, Any] = {info.field_name: None if value in WORDS else value}
        KirchhoffOptions(**given)
        return value

    @field_validator("save_every")
    @classmethod
    def _time_goes_forward(cls, value: float) -> float:
        if value < 0:
            raise ConfigError(f"{value:g} s", "give seconds above 0, or 0 for no restart points", code="E104")
        return value

    @model_validator(mode="after")
    def _nothing_contradicts(self) -> KirchhoffSection:
        for problem, cure, code in _contradictions(self):
            raise ConfigError(problem, cure, code=code)
        return self

    def options(self, line: bool) -> KirchhoffOptions:
        """Return the section in the form of the imaging code.

        Parameters
        ----------
        line : bool
            The data are those of a 2-D line: what ``amplitude = "auto"`` depends on.
        """
        chosen = "2.5d" if line else "3d"
        amplitude = chosen if self.amplitude == "auto" else self.amplitude
        return options_from(KirchhoffOptions, self, amplitude=amplitude)

    def of_the_image(self) -> dict[str, Any]:
        """Return the keys that bits of the image depend on."""
        whole = self.model_dump(mode="json", exclude_none=True)
        return {k: v for k, v in whole.items() if k not in ("trace_block", "memory", "save_every")}


def _contradictions(s: KirchhoffSection) -> list[tuple[str, str, str]]:
    """Return what keys of the section say against each other, with cure and code."""
    out = []
    turned = [k for k in ("origin", "azimuth", "spacing") if getattr(s, k) is not None]
    if s.corners is not None and turned:
        out.append(
            (
                f"corners and {turned[0]} both place the grid",
                f"remove corners, or {', '.join(turned)}",
                "E760",
            )
        )
    elif turned and len(turned) < 3:
        missing = [k for k in ("origin", "azimuth", "spacing") if k not in turned]
        out.append(
            (
                f"{' and '.join(turned)} without {' and '.join(missing)}",
                "give origin, azimuth and spacing, or corners",
                "E760",
            )
        )
    elif turned and (s.inline is None or s.crossline is None):
        out.append(
            (
                "origin is the place of the first inline and crossline, and their ranges are not given",
                "add inline = {first, last} and crossline = {first, last}",
                "E760",
            )
        )
    if s.gathers == "offset" and s.offset is None:
        out.append(
            (
                'gathers = "offset" without offset classes',
                "add offset = {first = 100, last = 3100, step = 200}",
                "E768",
            )
        )
    if s.gathers != "offset" and s.offset is not None and s.gathers == "full-offset":
        out.append(
            (
                'offset classes are for gathers = "offset"; "full-offset" has a trace per offset of the data',
                'remove offset, or set gathers = "offset"',
                "E768",
            )
        )
    if s.gathers == "image" and s.sectors > 1:
        out.append(
            (
                f'sectors = {s.sectors} divide gathers, and gathers = "image" makes none',
                'remove sectors, or set gathers = "offset" or "full-offset"',
                "E768",
            )
        )
    return out


class KirchhoffParallelSection(Section):
    """Ranks, threads and device of a run; they do not change the result."""

    threads: AutoInt = Field("auto", description="threads of a rank; auto: all processors")
    device: Literal["auto", "cpu", "cuda", "reference"] = Field(
        "auto",
        description="auto: a GPU if there is one, otherwise the processor; cuda: a GPU or an error; reference: as cpu",
    )
    watchdog: AutoTime = Field(
        "auto", description="time without response after which a failed rank ends the run; auto: 60 s"
    )

    @property
    def patience(self) -> float | None:
        """Seconds of silence after which a rank counts as stopped; None: the default."""
        return None if self.watchdog == "auto" else float(self.watchdog)

    @field_validator("watchdog")
    @classmethod
    def _patience_is_long_enough(cls, value: float | str) -> float | str:
        return ParallelSection(watchdog=value).watchdog


class KirchhoffOutputSection(Section):
    """Files that a run writes in addition to its own; they do not change the image."""

    formats: list[Literal["segy", "rsf", "npz"]] = Field(
        ["segy"], description="formats of image and hits: segy (always), rsf, npz; of gathers: segy, rsf"
    )
    pictures: bool = Field(True, description="write PNG sections, gathers and maps")
