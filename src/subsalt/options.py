"""Checks of options: a value that cannot be meant is refused, with its name and the cure."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence

from subsalt.errors import ConfigError


def one_of(name: str, value: object, known: Sequence[str], code: str = "E104") -> None:
    """Refuse a word that an option does not know."""
    if value not in known:
        raise ConfigError(f"{name} = {value!r}", f"use one of {', '.join(known)}", code=code)


def number(name: str, value: object) -> None:
    """Refuse what is not a finite number from 0 upwards."""
    if not isinstance(value, numbers.Real) or not 0 <= float(value) < math.inf:
        raise ConfigError(f"{name} = {value!r}", "use a finite number that is not negative", code="E104")


def whole(name: str, value: object, least: int = 0) -> None:
    """Refuse what is not a whole number from `least` upwards."""
    if not isinstance(value, numbers.Integral) or int(value) < least:
        raise ConfigError(f"{name} = {value!r}", f"use a whole number from {least} upwards", code="E104")
