"""Options: fields with default, meaning and check, declared once for the program and for the job file.

A dataclass of options is made of `option` fields and of `Options`, which refuses what cannot be meant, with name and
cure. The tables of the job file take defaults and meanings from it (`subsalt.job.units.key`).
"""

from __future__ import annotations

import math
import numbers
import textwrap
from collections.abc import Callable
from dataclasses import Field, field, fields
from typing import Any, TypeVar, get_args

from subsalt.errors import ConfigError

#: words of the job file where an option is None
WORDS = ("auto", "all", "off", "bins")

#: refuses a value of the option of this name
Check = Callable[[str, Any], None]


def option(
    default: Any, meaning: str, check: Check | None = None, *, more: str = "", or_none: bool = False
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
    or_none : bool
        None is never refused, whatever the default.
    """
    facts = {"meaning": meaning, "check": check, "more": more, "or_none": or_none or default is None}
    return field(default=default, metadata=facts)


class CheckedOptions:
    """Base of frozen dataclasses whose fields are made by `option`."""

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]
            check, value = each.metadata["check"], getattr(self, each.name)
            if check is not None and not (value is None and each.metadata["or_none"]):
                check(each.name, value)


Kind = TypeVar("Kind", bound=type)


def documented(kind: Kind) -> Kind:
    """Return a dataclass of options with its parameters in its docstring."""
    rows = [_parameter(each) for each in fields(kind)]
    words = f"None stands for the word that the job file has: {', '.join(WORDS)}."
    kind.__doc__ = "\n".join([str(kind.__doc__), "", words, "", "Parameters", "----------", *rows])
    return kind


def _parameter(each: Field[Any]) -> str:
    """Return an option as the docstring of its class has it."""
    texts = (each.metadata["meaning"], each.metadata["more"])
    return "\n".join(
        [f"{each.name} : {each.type}", *(textwrap.indent(textwrap.fill(t, 110), "    ") for t in texts if t)]
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
        if not isinstance(value, numbers.Integral) or int(value) < least:
            raise ConfigError(f"{name} = {value!r}", f"use a whole number from {least} upwards", code="E104")

    return check


def number(name: str, value: object) -> None:
    """Refuse what is not a finite number from 0 upwards."""
    if not isinstance(value, numbers.Real) or not 0 <= float(value) < math.inf:
        raise ConfigError(f"{name} = {value!r}", "use a finite number that is not negative", code="E104")
