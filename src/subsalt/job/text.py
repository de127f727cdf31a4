"""The resolved job as TOML: every default filled in, every key with its meaning in a comment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args, get_origin

import tomlkit
from pydantic import BaseModel

from subsalt.job.units import Section


def key(name: str) -> str:
    """Return a key, quoted where it must be."""
    return tomlkit.key(name).as_string()


def toml_value(item: object) -> str:
    """Return a value; mappings become inline tables, without what is None in them.

    Raises
    ------
    TypeError
        When TOML has no form for the value, as for None.
    """
    # arrays and tables of tomlkit take quadratic time to build: 8 s for a survey of 10,000 files
    if isinstance(item, Mapping):
        return (
            "{"
            + ", ".join(f"{key(str(k))} = {toml_value(v)}" for k, v in item.items() if v is not None)
            + "}"
        )
    if isinstance(item, list | tuple):
        return "[" + ", ".join(toml_value(v) for v in item) + "]"
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
        text = f"# {key(k)} =" if v is None else f"{key(k)} = {toml_value(v)}"
        note = " ".join((comments or {}).get(k, "").split())
        lines.append(f"{text:<34}  # {note}" if note else text)
    return "\n".join(lines) + "\n"


def resolved_toml(job: Section) -> str:
    """Return the job with every default as TOML that reads back as the same job."""
    parts = ["# every key of the job with its value in SI units; keys behind # have no value\n"]
    everything = job.model_dump(mode="json", exclude_none=True)
    top = {k: v for k, v in everything.items() if not isinstance(v, dict) and k != "signal"}
    parts.append(table("", top))
    for name in type(job).model_fields:
        section = getattr(job, name)
        if isinstance(section, Section):
            parts.append(_section(name, section))
        elif name == "signal":
            empty = f"# [[signal]]                      # {type(job).model_fields[name].description}\n"
            parts += [_section("[signal]", step) for step in section or []] or [empty]
    return "\n".join(parts)


def _section(name: str, section: Section) -> str:
    items: dict[str, object] = {}
    comments: dict[str, str] = {}
    for key, field in type(section).model_fields.items():
        items[key] = plain(getattr(section, key))
        comments[key] = field.description or ""
    return table(name, items, comments)


def plain(value: Any) -> object:
    """Return a value as numbers, texts, lists and dictionaries; what is None inside a table is left out."""
    if isinstance(value, BaseModel):
        return {k: plain(v) for k in type(value).model_fields if (v := getattr(value, k)) is not None}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def explain_key(key: str) -> dict[str, str] | None:
    """Return the meaning of a key of the job file, its default and its table; None when there is no such key.

    Parameters
    ----------
    key : str
        ``table.key``, a table, or a key alone.

    Notes
    -----
    A key that methods of migration understand differently is explained for each.
    """
    from subsalt.methods import METHODS, method_of

    if key.strip() == "method":
        return _explained_method()
    by_method = {m: e for m in METHODS if (e := _explained(key, method_of(m).job_class())) is not None}
    steps = _explained_in_steps(key)
    if not by_method:
        return steps
    texts = {m: e["text"] for m, e in by_method.items()}
    first = next(iter(by_method.values()))
    if len(set(texts.values())) == 1:
        text = (
            first["text"]
            if len(by_method) == len(METHODS)
            else f"{first['text']}\n(method {next(iter(by_method))})"
        )
    else:
        text = "\n\n".join(f"method {m}\n{t}" for m, t in texts.items())
    if steps is not None:
        text += f"\n\n{steps['text']}"
    return first | {"text": text, "methods": ", ".join(METHODS if steps is not None else by_method)}


def _explained_method() -> dict[str, str]:
    """Return what the key that chooses between methods means: no class of jobs has it for all of them."""
    from subsalt.methods import DEFAULT, METHODS, method_of

    description = "how the image is made"
    lines = [f"  {toml_value(name):<12} {method_of(name).title}" for name in METHODS]
    text = "\n".join([f"method: {description}", "values:", *lines, f"default: {toml_value(DEFAULT)}"])
    return {
        "key": "method",
        "description": description,
        "default": toml_value(DEFAULT),
        "text": text,
        "methods": ", ".join(METHODS),
    }


def _explained_in_steps(key: str) -> dict[str, str] | None:
    """Return what a word alone means among the steps of `[[signal]]`, which all methods have; None when nothing."""
    from subsalt.job.signal import STEPS

    word = key.strip().strip("[]")
    if word == "step":
        return _explained_step(["signal"])
    paths = [["signal", word]] if word in STEPS else []
    paths += [["signal", s, word] for s, kind in STEPS.items() if word in kind.model_fields]
    texts = [e for path in paths if (e := _explained_step(path)) is not None]
    return texts[0] | {"text": "\n\n".join(e["text"] for e in texts)} if texts else None


def _explained(key: str, job: type[BaseModel]) -> dict[str, str] | None:
    """Return the meaning of a key in one method."""
    from subsalt.job.errors import model_at
    from subsalt.job.signal import STEPS

    parts: list[Any] = key.strip().strip("[]").split(".")
    if len(parts) == 1 and parts[0] not in job.model_fields:
        homes = [s for s in job.model_fields if (m := model_at(job, [s])) and parts[0] in m.model_fields]
        homes = [s for s in homes if s != "signal"]
        if not homes:
            in_steps = parts[0] in ("step", *STEPS) or any(parts[0] in k.model_fields for k in STEPS.values())
            return None if in_steps else _explained_inside(parts[0], job)
        parts = [homes[0], parts[0]]
    if parts[0] == "signal":
        return _explained_step(parts)
    parent = model_at(job, parts[:-1])
    if parent is None or parts[-1] not in parent.model_fields:
        return None
    field = parent.model_fields[parts[-1]]
    table = model_at(job, parts)
    lines = [f"{'.'.join(parts)}: {field.description or ''}"]
    if table is not None:
        lines += ["keys:", *(f"  {name:<16} {f.description or ''}" for name, f in table.model_fields.items())]
    if values := choices(field.annotation):
        lines.append(f"values: {', '.join(toml_value(v) for v in values)}")
    default = "" if field.is_required() or field.default_factory else repr_default(field.default)
    if default:
        lines.append(f"default: {default}")
    elif field.is_required():
        lines.append("required")
    return {
        "key": ".".join(parts),
        "description": field.description or "",
        "default": default,
        "text": "\n".join(lines),
    }


def _explained_inside(key: str, job: type[BaseModel]) -> dict[str, str] | None:
    """Return the meanings of a key of nested tables, such as ``counted_from`` of ``model.phi``; each once."""
    from subsalt.job.errors import model_at

    places: dict[str | None, list[str]] = {}
    for table in (t for t in job.model_fields if t != "signal"):
        for inner in getattr(model_at(job, [table]), "model_fields", {}):
            within = model_at(job, [table, inner])
            if within is not None and key in within.model_fields:
                places.setdefault(within.model_fields[key].description, []).append(f"{table}.{inner}.{key}")
    explained = []
    for first, *others in places.values():
        said = _explained(first, job)
        assert said is not None
        also = f"\nalso: {', '.join(others)}" if others else ""
        explained.append(said | {"text": said["text"] + also})
    return explained[0] | {"text": "\n\n".join(e["text"] for e in explained)} if explained else None


def _explained_step(parts: list[str]) -> dict[str, str] | None:
    """Return the meaning of a step of `[[signal]]` or its key: ``signal``, ``signal.mute``, ``signal.mute.taper``."""
    from subsalt.job.signal import STEPS

    if len(parts) == 1:
        said = "steps on the traces before they are imaged, in the order written"
        lines = [
            f"[[signal]]: {said}",
            "steps:",
            *(f"  {name:<16} {kind.title}" for name, kind in STEPS.items()),
        ]
        return {"key": "signal", "description": said, "default": "none", "text": "\n".join(lines)}
    kind = STEPS.get(parts[1])
    if kind is None or len(parts) > 3 or (len(parts) == 3 and parts[2] not in kind.model_fields):
        return None
    if len(parts) == 2:
        said = kind.model_fields["step"].description or ""
        lines = [f'[[signal]] step = "{parts[1]}": {said}', "keys:"]
        lines += [
            f"  {name:<16} {f.description or ''}" for name, f in kind.model_fields.items() if name != "step"
        ]
        return {"key": ".".join(parts), "description": said, "default": "", "text": "\n".join(lines)}
    field = kind.model_fields[parts[2]]
    default = "" if field.is_required() else repr_default(field.default)
    lines = [f"{'.'.join(parts)}: {field.description or ''}"]
    if values := choices(field.annotation):
        lines.append(f"values: {', '.join(toml_value(v) for v in values)}")
    lines.append(f"default: {default}" if default else "required")
    return {
        "key": ".".join(parts),
        "description": field.description or "",
        "default": default,
        "text": "\n".join(lines),
    }


def choices(annotation: Any) -> list[object]:
    """Return the values that a key may have, of a list its elements; empty where it takes others as well."""
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    inner = get_args(annotation)[:1] if get_origin(annotation) is Annotated else get_args(annotation)
    parts = [choices(kind) for kind in inner if kind is not type(None)]
    return [v for part in parts for v in part] if all(parts) else []


def repr_default(value: Any) -> str:
    """Return a default as it would stand in the file; ``none`` when the key has no value."""
    return "none" if value is None else toml_value(plain(value))
