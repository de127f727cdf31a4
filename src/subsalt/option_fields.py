"""Options: fields with default, meaning and check, declared once for the program and for the job file.

A dataclass of options is made of `option` fields and of `Options`, which refuses what cannot be meant, with name and
cure. The tables of the job file take defaults and meanings from it (`subsalt.job.units.key`).
"""

from __future__ import annotations

import math
import numbers
import textwrap
from collections.abc import Callable, Collection
from dataclasses import Field, dataclass, field, fields
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from subsalt.errors import ConfigError

#: words of the job file where an option is None
WORDS = ("auto", "all", "off", "bins")

#: refuses a value of the option of this name
Check = Callable[[str, Any], None]


@dataclass(frozen=True)
class Declared:
    """Declaration of an option: everything but its name and default; see `option`."""

    meaning: str
    check: Check | None
    more: str
    unit: str
    or_none: bool

    @classmethod
    def of(cls, option: Field[Any]) -> Declared:
        """Return the declaration in the field of an option."""
        declared: Declared = option.metadata[KEY]
        return declared

    def refuse(self, name: str, value: Any) -> None:
        """Refuse a value that the option of this name cannot have."""
        if self.check is not None and not (value is None and self.or_none):
            self.check(name, value)

    def sentences(self) -> str:
        """Return meaning, further facts and unit as sentences."""
        texts = (self.meaning, self.more, self.unit and f"unit: {self.unit}")
        return " ".join(f"{_capital(text)}." for text in texts if text)


#: key of `Declared` in the metadata of a field
KEY = "option"


def option(
    default: Any,
    meaning: str,
    check: Check | None = None,
    *,
    more: str = "",
    unit: str = "",
    or_none: bool = False,
) -> Any:
    """Return the field of an option.

    Parameters
    ----------
    default
        Its value when nobody says anything; with None, None is never refused.
    meaning : str
        One line, as the job file shows it.
    check : callable, optional
        Refuses values.
    more : str
        Further facts for a caller from Python.
    unit : str
        Unit of its numbers in Python, such as ``"m"``; the job file also takes others.
    or_none : bool
        None is never refused, whatever the default.
    """
    declared = Declared(meaning, check, more, unit, or_none or default is None)
    return field(default=default, metadata={KEY: declared})


class CheckedOptions:
    """Base of frozen dataclasses whose fields are made by `option`."""

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]
            Declared.of(each).refuse(each.name, getattr(self, each.name))


Kind = TypeVar("Kind", bound=type)


def documented(kind: Kind) -> Kind:
    """Return a dataclass of options with its parameters in its docstring; of checked ones with what None means."""
    none = ["", NONE] if issubclass(kind, CheckedOptions) else []
    text = [str(kind.__doc__), *none, "", "Parameters", "----------", parameters_text(kind)]
    kind.__doc__ = "\n".join(text)
    return kind


#: what None means in the meanings of options
NONE = f"None means what a job file writes as {', '.join(WORDS[:-1])} or {WORDS[-1]}; each option says which."


def parameters_text(kind: type, only: Collection[str] | None = None) -> str:
    """Return options (all, or some by name) as entries of a numpydoc section: name, type, default, meaning."""
    types, shown = get_type_hints(kind), fields(kind)
    return "\n".join(_entry(each, types[each.name]) for each in shown if only is None or each.name in only)


def _entry(option: Field[Any], annotation: object) -> str:
    """Return an option as an entry of a numpydoc section."""
    head = f"{option.name} : {type_text(annotation)}, default {option.default!r}"
    return f"{head}\n{textwrap.indent(textwrap.fill(Declared.of(option).sentences(), 110), '    ')}"


def _capital(text: str) -> str:
    """Return a text with a capital, unless it begins with a value of the option, such as ``auto:`` or ``u16``."""
    first = text.split(maxsplit=1)[0]
    value = (first[-1] == ":" and not text.startswith("unit:")) or any(c.isdigit() for c in first)
    return text if value else f"{text[0].upper()}{text[1:]}"


def type_text(annotation: object) -> str:
    """Return a type in the words of numpydoc: ``{'a', 'b'} or None``."""
    if get_origin(annotation) is Literal:
        return "{" + ", ".join(repr(value) for value in get_args(annotation)) + "}"
    if get_origin(annotation) in (Union, UnionType):
        return " or ".join(type_text(each) for each in get_args(annotation))
    if annotation is type(None):
        return "None"
    return (
        annotation.__name__ if isinstance(annotation, type) and not get_args(annotation) else str(annotation)
    )


def one_of(kind: object, code: str = "E104") -> Check:
    """Return the check of an option that takes the words of a `Literal`."""
    known = get_args(kind)

    def check(name: str, value: object) -> None:
        if value not in known:
            raise ConfigError(f"{name} = {value!r}", f"use one of {', '.join(known)}", code=code)

    return check


def whole(least: int = 0) -> Check:
    """Return the check of an option that takes whole numbers from `least` upwards."""

    def check(name: str, value: object) -> None:
        # True is a whole number to Python
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
            raise ConfigError(f"{name} = {value!r}", f"use a whole number from {least} upwards", code="E104")

    return check


def number(name: str, value: object) -> None:
    """Refuse what is not a finite number from 0 upwards."""
    if not isinstance(value, numbers.Real) or not 0 <= float(value) < math.inf:
        raise ConfigError(f"{name} = {value!r}", "use a finite number that is not negative", code="E104")
