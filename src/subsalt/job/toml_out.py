"""Writing TOML: only what a job file needs (tables, strings, numbers, booleans, lists, inline tables)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def string(text: str) -> str:
    """Return a basic string; control characters are escaped."""
    out = []
    for char in text:
        if char in _ESCAPES:
            out.append(_ESCAPES[char])
        elif ord(char) < 0x20 or ord(char) == 0x7F:
            out.append(f"\\u{ord(char):04X}")
        else:
            out.append(char)
    return '"' + "".join(out) + '"'


def key(name: str) -> str:
    """Return a key, quoted when it must be."""
    return name if _BARE_KEY.fullmatch(name) else string(name)


def number(value: float) -> str:
    """Return the shortest text that reads back as the same double."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = repr(float(value))
    return text if any(c in text for c in ".e") else text + ".0"


def value(item: object) -> str:
    """Return a value; mappings become inline tables.

    Raises
    ------
    TypeError
        For anything TOML has no word for; None among it.
    """
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int):
        return str(item)
    if isinstance(item, float):
        return number(item)
    if isinstance(item, str):
        return string(item)
    if isinstance(item, list | tuple):
        return "[" + ", ".join(value(v) for v in item) + "]"
    if isinstance(item, Mapping):
        inner = ", ".join(f"{key(str(k))} = {value(v)}" for k, v in item.items() if v is not None)
        return "{" + inner + "}"
    raise TypeError(f"{type(item).__name__} has no form in TOML")


def table(name: str, items: Mapping[str, object], comments: Mapping[str, str] | None = None) -> str:
    """Return one table with its keys.

    Parameters
    ----------
    name : str
        Name of the table; empty for the keys before the first table.
    items : mapping
        Keys and values. A None is written as a comment ``# key =``, so that a reader sees that the key
        exists.
    comments : mapping, optional
        A comment by key, put behind the value.
    """
    lines = [f"[{name}]"] if name else []
    for k, v in items.items():
        text = f"# {key(k)} =" if v is None else f"{key(k)} = {value(v)}"
        note = " ".join((comments or {}).get(k, "").split())
        lines.append(f"{text:<34}  # {note}" if note else text)
    return "\n".join(lines) + "\n"
