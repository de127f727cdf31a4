"""The resolved job as TOML: every default filled in, every key with its meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from subsalt.job import toml_out
from subsalt.job.inputs import PARAMETERS
from subsalt.job.types import Section

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob


def resolved_toml(job: BaseJob) -> str:
    """Return the job with every default as TOML that reads back as the same job."""
    parts = ["# every key of the job with its value in SI units; keys behind # have no value\n"]
    top = {k: v for k, v in job.resolved().items() if not isinstance(v, dict)}
    parts.append(toml_out.table("", top))
    for name in type(job).model_fields:
        section = getattr(job, name)
        if isinstance(section, Section):
            parts.append(_section(name, section))
    return "\n".join(parts)


def _section(name: str, section: Section) -> str:
    items: dict[str, object] = {}
    comments: dict[str, str] = {}
    for key, field in type(section).model_fields.items():
        items[key] = plain(getattr(section, key))
        comments[key] = field.description or ""
    return toml_out.table(name, items, comments)


def plain(value: Any) -> object:
    """Return a value as numbers, texts, lists and dictionaries; what is None inside a table is left out."""
    if isinstance(value, BaseModel):
        return {k: plain(v) for k in type(value).model_fields if (v := getattr(value, k)) is not None}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def schema_text() -> str:
    """Return the JSON Schema of job files, the content of ``job.schema.json``."""
    import json

    from subsalt.job.job import Job

    schema = Job.model_json_schema(by_alias=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "subsalt job file"
    _accept_short_forms(schema)
    return json.dumps(schema, indent=1, sort_keys=True) + "\n"


def _accept_short_forms(schema: dict[str, Any]) -> None:
    """Add to the schema what validators accept beyond the tables: a number or text for a value, one for a
    list.
    """
    short = [{"type": "number"}, {"type": "string"}]
    definitions = schema["$defs"]
    model = definitions["ModelSection"]["properties"]
    for key in PARAMETERS:
        old = model[key]
        described = {k: old.pop(k) for k in ("description", "default") if k in old}
        model[key] = {"anyOf": [*short, *old.get("anyOf", [old])], **described}
    for section, key in (
        ("AcquisitionSection", "shots"),
        ("AcquisitionSection", "receivers"),
        ("DataSection", "files"),
    ):
        prop = definitions[section]["properties"][key]
        described = {k: prop.pop(k) for k in ("description", "default", "title") if k in prop}
        one = prop["items"]
        definitions[section]["properties"][key] = {"anyOf": [prop, one, {"type": "string"}], **described}
    value = definitions["ValueSection"]["properties"]["value"]
    value["anyOf"] = [{"type": "number"}, {"type": "string"}, {"type": "array", "items": {"anyOf": short}}]


def explain_key(key: str) -> dict[str, str] | None:
    """Return what a key of the job file means, its default and where it stands; None when there is none.

    Parameters
    ----------
    key : str
        ``table.key``, a table, or a key alone.
    """
    from subsalt.job.errors import model_at
    from subsalt.job.job import Job

    parts = key.strip().strip("[]").split(".")
    if len(parts) == 1 and parts[0] not in Job.model_fields:
        homes = [s for s in Job.model_fields if (m := model_at(Job, [s])) and parts[0] in m.model_fields]
        if not homes:
            return None
        parts = [homes[0], parts[0]]
    parent = model_at(Job, parts[:-1])
    if parent is None or parts[-1] not in parent.model_fields:
        return None
    field = parent.model_fields[parts[-1]]
    table = model_at(Job, parts)
    lines = [f"{'.'.join(parts)}: {field.description or ''}"]
    if table is not None:
        lines += ["keys:", *(f"  {name:<16} {f.description or ''}" for name, f in table.model_fields.items())]
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


def repr_default(value: Any) -> str:
    """Return a default as it would stand in the file; ``none`` when the key has no value."""
    return "none" if value is None else toml_out.value(plain(value))


def main() -> None:
    """Write the schema of job files beside this module (``make schema``)."""
    from pathlib import Path

    from subsalt.io.publish import publish_text

    publish_text(Path(__file__).with_name("job.schema.json"), schema_text())


if __name__ == "__main__":
    main()
