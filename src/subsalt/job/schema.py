"""The JSON Schema of job files, one for all methods: editors check and complete a job with it."""

from __future__ import annotations

import json
from typing import Any

from subsalt.methods import DEFAULT, METHODS, method_of

#: types of a value in its short form
SHORT: list[dict[str, Any]] = [{"type": "number"}, {"type": "string"}]


def schema() -> dict[str, Any]:
    """Return the JSON Schema of job files, the keys of each table in the order of its section."""
    merged: dict[str, Any] = {"$defs": {}, "properties": {}}
    rules = []
    for method in METHODS:
        own = method_of(method).job_class().model_json_schema(by_alias=True)
        merged["$defs"] |= own.pop("$defs")
        properties = own["properties"]
        properties["method"] = {"const": method, "description": "migration method"}
        if method == DEFAULT:
            merged["properties"] = {k: v for k, v in properties.items() if k != "method"}
        else:
            # a table of both methods may hold what either knows; the rule of its method is the strict one
            for name, value in properties.items():
                known = merged["properties"].setdefault(name, value)
                if known != value and name != "method":
                    merged["properties"][name] = {"anyOf": [known, value]}
        required = ["method", *own.get("required", [])] if method != DEFAULT else own.get("required", [])
        rule = {"properties": properties, "required": sorted(set(required)), "additionalProperties": False}
        rules.append((method, rule))
    merged["properties"]["method"] = {
        "enum": list(METHODS),
        "default": DEFAULT,
        "description": "how the image is made: "
        + ", or ".join(f"{method_of(name).title} ({name})" for name in METHODS),
    }
    merged["properties"]["$schema"] = {"type": "string"}
    for method, rule in rules:
        rule["properties"]["$schema"] = {"type": "string"}
        condition: dict[str, Any] = {"properties": {"method": {"const": method}}}
        if method != DEFAULT:
            condition["required"] = ["method"]
        merged.setdefault("allOf", []).append({"if": condition, "then": rule})
    merged |= {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "subsalt job file",
        "type": "object",
    }
    definitions = merged["$defs"]
    for name in ("Gain", "To2d"):
        value_or_text(definitions[name]["properties"], "velocity")
    for method in METHODS:
        method_of(method).job_class().accept_short_forms(definitions)
    return merged


def schema_text() -> str:
    """Return the text of the schema, the content of ``job.schema.json``."""
    return json.dumps(schema(), indent=1, sort_keys=True) + "\n"


def value_or_text(properties: dict[str, Any], *keys: str) -> None:
    """Let a number, or a text with a unit or a file name, stand in the place of a value of a schema."""
    for key in keys:
        prop = properties[key]
        described = {k: prop.pop(k) for k in ("description", "default") if k in prop}
        properties[key] = {"anyOf": [*SHORT, *prop.get("anyOf", [prop])], **described}


def one_for_a_list(properties: dict[str, Any], *keys: str) -> None:
    """Let one item, or a text, stand in the place of a list of a schema."""
    for key in keys:
        prop = properties[key]
        described = {k: prop.pop(k) for k in ("description", "default", "title") if k in prop}
        properties[key] = {"anyOf": [prop, prop["items"], {"type": "string"}], **described}


def main() -> None:
    """Write the schema of job files beside this module (``make schema``)."""
    from pathlib import Path

    from subsalt.io.publish import publish_text

    publish_text(Path(__file__).with_name("job.schema.json"), schema_text())


if __name__ == "__main__":
    main()
