"""Pages of the job file, one for each table: keys, types, defaults and meanings from its JSON Schema."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import subsalt.job
from subsalt.job.text import toml_value
from subsalt.methods import DEFAULT, METHODS, method_of

FOLDER = "reference/keys"
SCHEMA = Path(subsalt.job.__file__).with_name("job.schema.json")
#: where the hand-written pages say more: page below docs/reference/ by table, of each method
PROSE = {"rtm": "job.md", "kirchhoff": "kirchhoff.md", "kirchhoff.data": "kirchhoff-input.md"}


@dataclass(frozen=True)
class Table:
    """A table of the job file: method, name as written, what it is, and its part of the schema."""

    method: str
    name: str
    meaning: str
    schema: dict[str, Any]

    @property
    def file(self) -> str:
        """Name of its page."""
        return (
            self.name if self.method == DEFAULT or self.name == self.method else f"{self.method}-{self.name}"
        )


class Schema:
    """The schema of job files, with the words for its types."""

    def __init__(self) -> None:
        self.all = json.loads(SCHEMA.read_text(encoding="utf-8"))
        self.definitions = self.all["$defs"]

    def references(self, of: dict[str, Any]) -> list[str]:
        """Return the names of definitions that a value may be, also as items of a list."""
        return re.findall(r'"\$ref": "#/\$defs/(\w+)"', json.dumps(of))

    def tables(self) -> list[Table]:
        """Return the tables of all methods, in the order of the job's sections."""
        out = []
        for method, rule in zip(METHODS, self.all["allOf"], strict=True):
            properties = rule["then"]["properties"]
            for name, field in method_of(method).job_class().model_fields.items():
                named = self.references(properties.get(name, {}))
                if named and name != "signal":
                    out.append(Table(method, name, field.description or "", self.definitions[named[0]]))
        return out

    def steps(self) -> list[dict[str, Any]]:
        """Return the steps of `[[signal]]`."""
        properties = self.all["allOf"][0]["then"]["properties"]
        return [self.definitions[name] for name in dict.fromkeys(self.references(properties["signal"]))]

    def kind(self, value: dict[str, Any]) -> str:
        """Return what a value may be, in words."""
        if "$ref" in value:
            return "table"
        if "enum" in value:
            return ", ".join(f"`{toml_value(item)}`" for item in value["enum"])
        if "const" in value:
            return f"`{toml_value(value['const'])}`"
        if "anyOf" in value or "oneOf" in value:
            return self.alternatives(value)
        if value.get("type") == "array":
            return f"list of {self.kind(value.get('items', {}))}" if value.get("items") else "list"
        words = {"string": "text", "boolean": "`true`, `false`", "object": "table", "null": ""}
        return words.get(value.get("type", ""), value.get("type", "value")) + limits(value)

    def alternatives(self, value: dict[str, Any]) -> str:
        """Return the words for a choice of types; a number or a text with a unit is one thing."""
        choices = value.get("anyOf") or value["oneOf"]
        if [c.get("type") for c in choices] == ["number", "string"]:
            described = value.get("description", "").partition(":")[0]
            physical = described if ": a number in SI" in value.get("description", "") else ""
            return physical or "number, or text with unit"
        return " or ".join(dict.fromkeys(word for c in choices if (word := self.kind(c))))


def limits(value: dict[str, Any]) -> str:
    """Return the limits of a number."""
    names = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    given = [f"{sign} {value[name]:g}" for name, sign in names.items() if name in value]
    return f" ({', '.join(given)})" if given else ""


def cell(text: str) -> str:
    """Return a text for a cell of a table."""
    return " ".join(text.replace("|", "\\|").split())


def rows(schema: Schema, of: dict[str, Any], anchor: str) -> str:
    """Return the table of keys of a definition, with an anchor for each."""
    out = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for name, value in of.get("properties", {}).items():
        default = "required" if name in of.get("required", ()) else ""
        if value.get("default") is not None:
            default = f"`{toml_value(value['default'])}`"
        meaning = value.get("description", "")
        cells = (f"[`{name}`]{{#{anchor}-{name}}}", schema.kind(value), default, cell(meaning))
        out.append("| " + " | ".join(cell(c) for c in cells) + " |")
    return "\n".join(out) + "\n"


def within(schema: Schema, of: dict[str, Any], name: str, anchor: str, depth: int = 0) -> str:
    """Return the sections of the tables inside a table; keys that take the same table share one."""
    keys: dict[str, list[str]] = {}
    for key, value in of.get("properties", {}).items():
        for named in dict.fromkeys(schema.references(value)):
            keys.setdefault(named, []).append(key)
    several = {
        key for key, value in of.get("properties", {}).items() if len(set(schema.references(value))) > 1
    }
    parts = []
    for named, takers in keys.items():
        inner = schema.definitions[named]
        kind = f": {inner['title']}" if takers[0] in several else ""
        at = f"{anchor}-{takers[0]}" + (f"-{named}" if kind else "")
        title = ", ".join(f"[{name}.{key}]" for key in takers) + kind
        parts.append(f"## {title}\n\n{inner.get('description', '')}\n\n{rows(schema, inner, at)}")
        if depth < 2:
            parts.append(within(schema, inner, f"{name}.{takers[0]}", at, depth + 1))
    return "\n".join(part for part in parts if part)


def page(schema: Schema, table: Table) -> str:
    """Return the page of a table."""
    method = f" ({method_of(table.method).title})"
    prose = PROSE.get(f"{table.method}.{table.name}", PROSE[table.method])
    body = rows(schema, table.schema, table.file)
    more = (
        f"`subsalt explain {table.name}` prints this table. [The page of its method](../{prose}) says more.\n"
    )
    parts = [f"# [{table.name}]{method}\n\n{table.meaning[:1].upper()}{table.meaning[1:]}.\n", body, more]
    return "\n".join([*parts, within(schema, table.schema, table.name, table.file)])


def signal_page(schema: Schema) -> str:
    """Return the page of the steps on traces."""
    head = "# [[signal]] (both methods)\n\nSteps on the traces before they are imaged, in the order written. "
    parts = [f"{head}[Steps on traces](../signal.md) says more.\n"]
    for step in schema.steps():
        name = step["properties"]["step"]["const"]
        parts.append(f"## {name}\n\n{step.get('description', '')}\n\n{rows(schema, step, f'signal-{name}')}")
    return "\n".join(parts)


def pages() -> dict[str, str]:
    """Return the pages by their names below docs/."""
    schema = Schema()
    tables = schema.tables()
    made = {f"{FOLDER}/{table.file}.md": page(schema, table) for table in tables}
    made[f"{FOLDER}/signal.md"] = signal_page(schema)
    head = "# Keys of the job file\n\nWritten from the JSON Schema: every table with its keys, types and defaults.\n"
    lines = ["| table | method | content |", "|---|---|---|"]
    lines += [f"| [[{t.name}]]({t.file}.md) | {t.method} | {cell(t.meaning)} |" for t in tables]
    lines.append("| [[[signal]]](signal.md) | both | steps on the traces before they are imaged |")
    files = [table.file for table in tables] + ["signal"]
    tree = ["\n```{toctree}", ":hidden:", "", *files, "```", ""]
    return made | {f"{FOLDER}/index.md": "\n".join([head, *lines, *tree])}
