"""Quantities at the edge of the program: numbers in SI, or strings with a unit such as ``"12.5 m"`` or ``"2
km/s"``.

`Section` is a strict table of a job file, whose quantities accept a number or a text with a unit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from subsalt.earth.planes import slabs
from subsalt.errors import ConfigError
from subsalt.option_fields import WORDS, Declared

#: factor to SI by unit, grouped by what is measured; the first unit of a group is the SI one
UNITS: dict[str, dict[str, float]] = {
    "length": {"m": 1.0, "km": 1e3, "cm": 1e-2, "mm": 1e-3, "ft": 0.3048, "kft": 304.8, "us-ft": 1200 / 3937},
    "velocity": {"m/s": 1.0, "km/s": 1e3, "ft/s": 0.3048, "kft/s": 304.8, "m/ms": 1e3, "mm/s": 1e-3},
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "min": 60.0},
    "frequency": {"Hz": 1.0, "kHz": 1e3, "1/s": 1.0},
    "angle": {
        "deg": 1.0,
        "degree": 1.0,
        "degrees": 1.0,
        "rad": 180 / math.pi,
        "radian": 180 / math.pi,
        "radians": 180 / math.pi,
    },
    "memory": {
        "B": 1.0,
        "kB": 1e3,
        "MB": 1e6,
        "GB": 1e9,
        "TB": 1e12,
        "KiB": 2.0**10,
        "MiB": 2.0**20,
        "GiB": 2.0**30,
        "TiB": 2.0**40,
        # as Slurm writes them
        "K": 2.0**10,
        "M": 2.0**20,
        "G": 2.0**30,
        "T": 2.0**40,
    },
    "fraction": {"": 1.0, "fraction": 1.0, "%": 1e-2, "percent": 1e-2},
}

#: units of a velocity file that are not a factor: value in the file -> m/s
RECIPROCAL = {"s/m": 1.0, "s/km": 1e3, "us/m": 1e6, "us/ft": 0.3048e6, "ms/m": 1e3}
SQUARED_RECIPROCAL = {"s2/m2": 1.0, "s2/km2": 1e6}

#: sizes that numbers of a job may have: beyond any survey, and far from where products of a few of them overflow
SMALLEST, LARGEST = 1e-12, 1e12
#: and where no unit is known: counts, weights and bytes
LARGEST_COUNT = 2**63 - 1
SMALLEST_NUMBER, LARGEST_NUMBER = 1e-30, 1e30

_NUMBER = re.compile(r"^\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([^\s\d].*?)?\s*$")


def split_quantity(text: str) -> tuple[float, str] | None:
    """Return number and unit of a text such as ``"12.5 m"``; None when it does not begin with a number."""
    match = _NUMBER.match(text)
    return None if match is None else (float(match.group(1)), match.group(2) or "")


def parse(value: object, kind: str) -> float:
    """Return a quantity in SI (angles: degrees).

    Parameters
    ----------
    value : int, float or str
        A number (taken as SI), or a number with a unit.
    kind : str
        A key of `UNITS`: ``"length"``, ``"velocity"``, ``"time"``, ``"frequency"``, ``"angle"``,
        ``"memory"``, ``"fraction"``.

    Raises
    ------
    ConfigError
        When it is not a finite number or the unit does not measure `kind`.
    """
    units = UNITS[kind]
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ConfigError(f"{value!r} is not {_a(kind)}", _example(kind), code="E103")
    if isinstance(value, int | float):
        number, unit = _as_float(value), next(iter(units))
    else:
        parts = split_quantity(value)
        if parts is None:
            raise ConfigError(f"{value!r} is not {_a(kind)}", _example(kind), code="E103")
        number, unit = parts[0], parts[1] or next(iter(units))
    if not math.isfinite(number):
        raise ConfigError(f"{value!r} is not a finite {kind}", _example(kind), code="E103")
    factor = _find(units, unit)
    if factor is None:
        others = [k for k, table in UNITS.items() if _find(table, unit) is not None]
        hint = f"{unit!r} measures {_a(others[0])}" if others else f"unit {unit!r} is not known"
        raise ConfigError(f"{value!r} is not {_a(kind)}: {hint}", _example(kind), code="E103")
    # decimal literals such as "4 ms" should become exactly the double nearest to 0.004
    si = float(f"{number * factor:.15g}")
    largest = LARGEST_COUNT if kind == "memory" else LARGEST
    if si and not SMALLEST <= abs(si) <= largest:
        base = next(iter(units)) or kind
        raise ConfigError(
            f"{shown(value)} is {si:g} {base}, no {kind} of a survey",
            f"{_example(kind)}; sizes from {SMALLEST:g} to {largest:g}",
            code="E103",
        )
    return si


def _as_float(value: float) -> float:
    """Return a number as float; infinite when it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def shown(value: object) -> str:
    """Return a value as it is shown in a message, its beginning and its end."""
    try:
        text = str(value).lower() if isinstance(value, bool) else repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits
        return f"a {type(value).__name__} too large to be shown"
    return text if len(text) <= 60 else f"{text[:40]}...{text[-10:]}"


def refuse_extreme(key: str, value: object) -> None:
    """Raise when a number, or one in a list, is not finite, or of a size that no key of a job means.

    Raises
    ------
    ConfigError
        Naming the key and the number.
    """
    if isinstance(value, list | tuple):
        for item in value:
            refuse_extreme(key, item)
    elif isinstance(value, int) and abs(value) > LARGEST_COUNT:
        digits = int(abs(value).bit_length() * math.log10(2))
        raise ConfigError(
            f"{key}: a number of {digits} digits has no meaning here",
            f"give one of at most {LARGEST_COUNT}",
            code="E103",
        )
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ConfigError(f"{key}: {value!r} is not a finite number", "give a number", code="E103")
        if value and not SMALLEST_NUMBER <= abs(value) <= LARGEST_NUMBER:
            raise ConfigError(
                f"{key}: {value!r} has no meaning here",
                f"give 0, or a number between {SMALLEST_NUMBER:g} and {LARGEST_NUMBER:g}",
                code="E103",
            )


def _a(kind: str) -> str:
    """Return a kind of quantity with its article."""
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _find(units: dict[str, float], unit: str) -> float | None:
    """Return the factor of a unit; case matters only where two units would be confused."""
    if unit in units:
        return units[unit]
    lower = {name.lower(): factor for name, factor in units.items()}
    return lower.get(unit.lower())


def _example(kind: str) -> str:
    """Return the cure: what a quantity of this kind looks like."""
    names = ", ".join(u for u in UNITS[kind] if u)
    sample = {
        "length": '12.5 or "12.5 m"',
        "velocity": '2000 or "2 km/s"',
        "time": '0.004 or "4 ms"',
        "frequency": '15 or "15 Hz"',
        "angle": '30 or "30 deg"',
        "fraction": '0.12 or "12 %"',
        "memory": '"2GB" or "900 MiB"',
    }[kind]
    return f"write {sample} (units: {names})"


def file_units(kind: str) -> tuple[str, ...]:
    """Return the units that a model file of this kind may declare."""
    names = tuple(u for u in UNITS[kind] if u)
    return names + tuple(RECIPROCAL) + tuple(SQUARED_RECIPROCAL) if kind == "velocity" else names


def check_file_unit(unit: object, kind: str) -> str:
    """Return the unit of a file's values as it is spelled here; raise `ConfigError` for one that is not known."""
    names = file_units(kind)
    if not isinstance(unit, str):
        raise ConfigError(f"unit = {unit!r} is not a text", f"use one of {', '.join(names)}", code="E103")
    known = {n.lower(): n for n in names}
    if unit.lower() not in known:
        raise ConfigError(f"unit {unit!r} is not {_a(kind)}", f"use one of {', '.join(names)}", code="E103")
    return known[unit.lower()]


def conversion(unit: str, kind: str) -> tuple[float, float]:
    """Return (factor, power) such that SI value = factor * value ** power.

    Notes
    -----
    Slowness has power -1, squared slowness power -1/2.
    """
    if kind == "velocity" and unit in RECIPROCAL:
        return RECIPROCAL[unit], -1.0
    if kind == "velocity" and unit in SQUARED_RECIPROCAL:
        return math.sqrt(SQUARED_RECIPROCAL[unit]), -0.5
    return UNITS[kind][check_file_unit(unit, kind)], 1.0


def known_unit(unit: str | None, kind: str) -> str | None:
    """Return the unit a file declares, when it can be converted; an odd one is left to the checks."""
    names = {n.lower(): n for n in file_units(kind)}
    return names.get(unit.strip().lower()) if unit else None


def to_si(values: NDArray[Any], unit: str | None, kind: str) -> NDArray[Any]:
    """Return values of a file in SI; without a unit they are taken as SI."""
    if unit is None:
        return values
    factor, power = conversion(unit, kind)
    if factor == 1.0 and power == 1.0:
        return values
    out = np.empty(values.shape, np.float32)
    # in float64, slab by slab: the volume may be most of the memory
    for start, part in slabs(values):
        v = part.astype(np.float64)
        if power == -0.5:
            v = np.sqrt(np.maximum(v, 0.0))
        if power < 0:
            v = np.divide(1.0, v, out=np.full_like(v, np.inf), where=v != 0)
        out[start : start + len(part)] = factor * v
    return out


T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class _Misfit:
    """A value in place of which pydantic would take another one; no key accepts it, and it prints as it was written."""

    value: object

    def __repr__(self) -> str:
        return str(self.value).lower() if isinstance(self.value, bool) else repr(self.value)


def _alternatives(annotation: object) -> set[object]:
    """Return the types that a value may have: those of a union, of the values of a literal, or one."""
    if get_origin(annotation) in (Union, UnionType):
        return set().union(*map(_alternatives, get_args(annotation)))
    if get_origin(annotation) is Annotated:
        return _alternatives(get_args(annotation)[0])
    return {type(v) for v in get_args(annotation)} if get_origin(annotation) is Literal else {annotation}


class Section(BaseModel):
    """A table of the job file; a key it does not know is an error, and so is "yes" or 1 for true, or true for 1."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        validate_default=False,
        hide_input_in_errors=False,
        defer_build=True,  # a validator is built for the class of job that is read, not for every table of every method
    )

    @model_validator(mode="before")
    @classmethod
    def _convert_no_truth(cls, table: object) -> object:
        """Mark truth values that are numbers or texts, and numbers that are truth values; refuse extreme numbers."""
        if not isinstance(table, dict):
            return table
        for key, value in table.items():
            refuse_extreme(str(key), value)
        return {
            key: _Misfit(value)
            if isinstance(value, str | int | float) and cls._misfits(key, value)
            else value
            for key, value in table.items()
        }

    @classmethod
    def _misfits(cls, key: str, value: str | int | float) -> bool:
        kinds = _kinds(cls, key)
        if isinstance(value, bool):
            return bool(kinds & {int, float}) and bool not in kinds
        return bool in kinds and type(value) not in kinds


def options_from(kind: type[T], *tables: Section, **given: Any) -> T:
    """Return options of the program: those in `given`, and the keys of their names in the tables.

    The word of a key in place of a number (auto, all, off, bins) becomes None.
    """
    for option in fields(kind):  # type: ignore[arg-type]
        for table in tables:
            if option.name not in given and option.name in type(table).model_fields:
                value = getattr(table, option.name)
                is_word = value in WORDS and not isinstance(option.default, str)
                given[option.name] = None if is_word else value
    return kind(**given)


def key(options: type, name: str, default: Any = ..., **limits: Any) -> Any:
    """Return the field of a key that stands for an option of the program: its default and its meaning.

    Parameters
    ----------
    options : type
        Dataclass of `subsalt.option_fields.option` fields.
    name : str
        Name of the option and the key.
    default
        The word that the file has in place of the default, such as ``"auto"``.
    limits
        Limits of the number in the file, as pydantic names them.
    """
    each = next(f for f in fields(options) if f.name == name)
    return Field(each.default if default is ... else default, description=Declared.of(each).meaning, **limits)


@cache
def _kinds(section: type[Section], key: str) -> set[object]:
    """Return the types that a key of a table accepts."""
    return _alternatives(section.model_fields[key].annotation) if key in section.model_fields else set()


def _reader(kind: str, low: float | None, strict: bool) -> Callable[[object], float]:
    def read(value: object) -> float:
        si = parse(value, kind)
        if low is not None and (si <= low if strict else si < low):
            raise ConfigError(f"{value!r} must be {'above' if strict else 'at least'} {low:g}", code="E104")
        return si

    return read


def _quantity(kind: str, low: float | None = None, *, strict: bool = True) -> Any:
    """Return the annotated type of a float in SI that may be written with a unit."""
    names = ", ".join(u for u in UNITS[kind] if u)
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


def _read_spacing(value: object) -> object:
    if value in ("auto", "model"):
        return value
    try:
        return _reader("length", 0.0, True)(value)
    except ConfigError as error:
        raise ConfigError(
            error.message, 'use "auto", "model" or a length such as 20 or "20 m"', code=error.code
        ) from None


#: a spacing, or a word for one that is found
GridSpacing = Annotated[
    float | Literal["auto", "model"],
    BeforeValidator(_read_spacing),
    WithJsonSchema(
        {"anyOf": [{"type": "number"}, {"type": "string"}], "description": '"auto", "model" or a length'}
    ),
]
Length = _quantity("length")
PositiveLength = _quantity("length", 0.0)
NonNegativeLength = _quantity("length", 0.0, strict=False)
AutoLength = _or_auto("length", 0.0)
Time = _quantity("time")
PositiveTime = _quantity("time", 0.0)
NonNegativeTime = _quantity("time", 0.0, strict=False)
AutoTime = _or_auto("time", 0.0)
AutoSignedTime = _or_auto("time")
Angle = _quantity("angle")
AutoAngle = _or_auto("angle", 0.0)
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


def _read_parts(value: object) -> object:
    if value in ("auto", "slabs"):
        return value
    if isinstance(value, list | tuple) and len(value) == 2:
        px, py = value
        if type(px) is int and type(py) is int and min(px, py) >= 1:
            return px, py
    raise ConfigError(f'{value!r} is neither "auto", "slabs" nor two positive integers [px, py]', code="E104")


AutoParts = Annotated[
    Literal["auto", "slabs"] | tuple[int, int],
    BeforeValidator(_read_parts),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": ["auto", "slabs"]},
                {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 2, "maxItems": 2},
            ]
        }
    ),
]

#: less is no memory for a wavefield, but a number whose unit was forgotten
LEAST_MEMORY = 1_000_000


def _read_memory(value: object) -> object:
    if value == "auto":
        return value
    size = int(parse(value, "memory"))
    if size < LEAST_MEMORY:
        raise ConfigError(
            f"{value!r} is less than 1 MB; a number without a unit counts bytes",
            'write "2GB" or "900 MiB"',
            code="E104",
        )
    return size


AutoMemory = Annotated[
    int | Literal["auto"],
    BeforeValidator(_read_memory),
    WithJsonSchema(
        {
            "anyOf": [{"type": "integer", "minimum": LEAST_MEMORY}, {"type": "string"}],
            "description": 'bytes, a text with a unit (kB, MB, GB, TB, KiB, MiB, GiB, TiB), or "auto"',
        }
    ),
]


def auto_to_none(value: float | int | str) -> Any:
    """Return None for ``"auto"``, else the value: the form that the options of the program use."""
    return None if value == "auto" else value
