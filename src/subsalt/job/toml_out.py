"""Tables of a job file as TOML: keys and values, with the comments in a column beside them."""

from __future__ import annotations

from collections.abc import Mapping

import tomlkit


def key(name: str) -> str:
    """Return a key, quoted where it must be."""
    return tomlkit.key(name).as_string()


def value(item: object) -> str:
    """Return a value; mappings become inline tables, without what is None in them.

    Raises
    ------
    TypeError
        When TOML has no form for the value, as for None.
    """
    # arrays and tables of tomlkit take quadratic time to build: 8 s for a survey of 10,000 files
    if isinstance(item, Mapping):
        return "{" + ", ".join(f"{key(str(k))} = {value(v)}" for k, v in item.items() if v is not None) + "}"
    if isinstance(item, list | tuple):
        return "[" + ", ".join(value(v) for v in item) + "]"
    return tomlkit.item(item).as_string()


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
