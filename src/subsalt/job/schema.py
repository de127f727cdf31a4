"""The JSON Schema of job files, one for all methods: editors check and complete a job with it."""

from __future__ import annotations

import json
from typing import Any

from subsalt.job.inputs import PARAMETERS
from subsalt.methods import DEFAULT, METHODS, method_of


def schema_text() -> str:
    """Return the JSON Schema of job files, the content of ``job.schema.json``."""
    merged: dict[str, Any] = {"$defs": {}, "properties": {}}
    rules = []
    for method in METHODS:
        schema = method_of(method).job_class().model_json_schema(by_alias=True)
        merged["$defs"] |= schema.pop("$defs")
        properties = schema["properties"]
        properties["method"] = {"const": method, "description": "how the image is made"}
        if method == DEFAULT:
            merged["properties"] = {k: v for k, v in properties.items() if k != "method"}
        else:
            # a table of both methods may hold what either knows; the rule of its method is the strict one
            for name, value in properties.items():
                known = merged["properties"].setdefault(name, value)
                if known != value and name != "method":
                    merged["properties"][name] = {"anyOf": [known, value]}
        required = (
            ["method", *schema.get("required", [])] if method != DEFAULT else schema.get("required", [])
        )
        rule = {"properties": properties, "required": sorted(set(required)), "additionalProperties": False}
        rules.append((method, rule))
    merged["properties"]["method"] = {
        "enum": list(METHODS),
        "default": DEFAULT,
        "description": "how the image is made: reverse time migration, or Kirchhoff time migration",
    }
    merged["properties"]["$schema"] = {"type": "string"}
    for method, rule in rules:
        rule["properties"]["$schema"] = {"type": "string"}
        asked: dict[str, Any] = {"properties": {"method": {"const": method}}}
        if method != DEFAULT:
            asked["required"] = ["method"]
        merged.setdefault("allOf", []).append({"if": asked, "then": rule})
    merged |= {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "subsalt job file",
        "type": "object",
    }
    _accept_short_forms(merged)
    return json.dumps(merged, indent=1, sort_keys=True) + "\n"


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
        ("PrestackDataSection", "files"),
    ):
        prop = definitions[section]["properties"][key]
        described = {k: prop.pop(k) for k in ("description", "default", "title") if k in prop}
        one = prop["items"]
        definitions[section]["properties"][key] = {"anyOf": [prop, one, {"type": "string"}], **described}
    for section, key in (("VelocitySection", "v"), ("VelocitySection", "eta")):
        prop = definitions[section]["properties"][key]
        prop["anyOf"] = [*short, *prop["anyOf"]]
    velocity, eta = definitions["VelocitySection"]["properties"], definitions["EtaSection"]["properties"]
    velocity["eta"]["anyOf"].append({"$ref": "#/$defs/FunctionSection"})
    either = {"anyOf": short}
    for properties in (velocity, eta):
        properties["columns"]["anyOf"].append(short[1])
        for key in ("spacing", "origin"):
            properties[key]["anyOf"][0]["items"] = either
    values = definitions["FunctionSection"]["properties"]["value"]
    values["anyOf"] = [*short, {"type": "array", "items": either}]
    definitions["KirchhoffSection"]["properties"]["antialias_spacing"]["anyOf"] += short[:1]
    value = definitions["ValueSection"]["properties"]["value"]
    value["anyOf"] = [{"type": "number"}, {"type": "string"}, {"type": "array", "items": {"anyOf": short}}]


def main() -> None:
    """Write the schema of job files beside this module (``make schema``)."""
    from pathlib import Path

    from subsalt.io.publish import publish_text

    publish_text(Path(__file__).with_name("job.schema.json"), schema_text())


if __name__ == "__main__":
    main()
