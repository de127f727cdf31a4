"""Types of job-file values: strict tables, and quantities that accept a number or a text with a unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

from subsalt.errors import ConfigError
from subsalt.job import units

T = TypeVar("T")


class Section(BaseModel):
    """A table of the job file; a key it does not know is an error."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        validate_default=False,
        hide_input_in_errors=False,
        defer_build=True,  # a validator is built for the class of job that is read, not for every table of every method
    )

    def as_options(self, kind: type[T], **given: Any) -> T:
        """Return the table as options of the program, a dataclass whose fields have the names of the keys.

        A word in place of a number (auto, all, off) becomes None. `given` are options that the table does not have, or
        has in another form.
        """
        for option in fields(kind):  # type: ignore[arg-type]
            if option.name in given or option.name not in type(self).model_fields:
                continue
            value = getattr(self, option.name)
            is_word = isinstance(value, str) and not isinstance(option.default, str)
            given[option.name] = None if is_word else value
        return kind(**given)


def _reader(kind: str, low: float | None, strict: bool) -> Callable[[object], float]:
    def read(value: object) -> float:
        si = units.parse(value, kind)
        if low is not None and (si <= low if strict else si < low):
            raise ConfigError(f"{value!r} must be {'above' if strict else 'at least'} {low:g}", code="E104")
        return si

    return read


def _quantity(kind: str, low: float | None = None, *, strict: bool = True) -> Any:
    """Return the annotated type of a float in SI that may be written with a unit."""
    names = ", ".join(u for u in units.UNITS[kind] if u)
    text = f"{kind}: a number in SI, or a text with a unit ({names})"
    return Annotated[
        float,
        BeforeValidator(_reader(kind, low, strict)),
        WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}], "description": text}),
    ]


def _or_auto(kind: str, low: float | None = None, *, strict: bool = True) -> Any:
    """Return the type of a quantity that may be left to the program: ``"auto"``."""
    read = _reader(kind, low, strict)

    def choose(value: object) -> object:
        return "auto" if value == "auto" else read(value)

    schema = {"anyOf": [{"type": "number"}, {"type": "string"}], "description": f'{kind}, or "auto"'}
    return Annotated[float | Literal["auto"], BeforeValidator(choose), WithJsonSchema(schema)]


Length = _quantity("length")
PositiveLength = _quantity("length", 0.0)
NonNegativeLength = _quantity("length", 0.0, strict=False)
Time = _quantity("time")
PositiveTime = _quantity("time", 0.0)
NonNegativeTime = _quantity("time", 0.0, strict=False)
AutoTime = _or_auto("time", 0.0)
AutoSignedTime = _or_auto("time")
Angle = _quantity("angle")
Velocity = _quantity("velocity", 0.0)
Frequency = _quantity("frequency", 0.0)
NonNegativeFrequency = _quantity("frequency", 0.0, strict=False)
AutoFrequency = _or_auto("frequency", 0.0)


def _read_auto_int(value: object) -> object:
    if value == "auto" or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    raise ConfigError(f'{value!r} is neither a positive integer nor "auto"', code="E104")


AutoInt = Annotated[
    int | Literal["auto"],
    BeforeValidator(_read_auto_int),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"const": "auto"}]}),
]


def auto_to_none(value: float | int | str) -> Any:
    """Return None for ``"auto"``, else the value: the form that the options of the program use."""
    return None if value == "auto" else value
