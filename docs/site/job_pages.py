"""Pages of the job file, one for each table: keys, types, defaults and meanings from its JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from subsalt.job.schema import schema
from subsalt.job.text import toml_value
from subsalt.methods import DEFAULT, METHODS, method_of

FOLDER = "reference/keys"
#: where the hand-written pages say more: heading of a page below docs/reference/, by method and table
PROSE = {
    "rtm.data": "job.md#data-recorded-shots",
    "rtm.acquisition": "job.md#acquisition-a-survey-to-be-modelled",
    "rtm.model": "job.md#model-the-earth",
    "rtm.grid": "job.md#grid-if-no-file-defines-one",
    "rtm.source": "job.md#source-the-wavelet",
    "rtm.propagation": "job.md#propagation-how-waves-are-computed",
    "rtm.imaging": "job.md#imaging-how-the-image-is-made",
    "rtm.checkpoint": "job.md#checkpoint-memory-disk-and-restart-of-a-shot",
    "rtm.parallel": "job.md#parallel-and-output-no-influence-on-the-image",
    "rtm.output": "job.md#parallel-and-output-no-influence-on-the-image",
    "lsrtm.imaging": "job.md#inversion-least-squares-migration",
    "lsrtm.inversion": "job.md#inversion-least-squares-migration",
    "kirchhoff.data": "kirchhoff.md#traces",
    "kirchhoff.velocity": "kirchhoff.md#velocities",
    "kirchhoff.kirchhoff": "kirchhoff.md#position-of-the-image",
    "kirchhoff.parallel": "kirchhoff.md#on-a-gpu",
    "kirchhoff.output": "kirchhoff.md#what-it-writes",
}


INDEX_HEAD = """# Keys of the job file

Written from the JSON Schema: every table with its keys, types and defaults. [The job file](../job.md) explains the
tables of reverse time migration, least squares included, with examples, [time migration](../kirchhoff.md) those of a
time migration.
"""


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
        self.all = schema()
        self.definitions = self.all["$defs"]

    def references(self, of: dict[str, Any]) -> list[str]:
        """Return the names of definitions that a value may be, also as items of a list."""
        return re.findall(r'"\$ref": "#/\$defs/(\w+)"', json.dumps(of))

    def tables(self) -> list[Table]:
        """Return the tables of all methods, in the order of the job's sections."""
        out: list[Table] = []
        first: dict[str, str] = {}
        for method, rule in zip(METHODS, self.all["allOf"], strict=True):
            properties = rule["then"]["properties"]
            for name, field in method_of(method).job_class().model_fields.items():
                named = self.references(properties.get(name, {}))
                if method == DEFAULT and named:
                    first[name] = named[0]
                # a table that another method shares with the first has one page
                if named and name != "signal" and (method == DEFAULT or first.get(name) != named[0]):
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


def first_sentence(of: dict[str, Any]) -> str:
    """Return the first sentence that describes a definition, to continue a heading."""
    text = str(of["description"]).split(". ")[0].rstrip(".")
    return text[:1].lower() + text[1:]


@dataclass(frozen=True)
class Inner:
    """A table inside a table: its definition, the keys that take it, its anchor, its kind if a key takes several."""

    named: str
    takers: tuple[str, ...]
    anchor: str
    kind: str

    def heading(self, name: str) -> str:
        """Return the heading of its section; an anchor is part of it."""
        title = ", ".join(f"[{name}.{key}]" for key in self.takers) + self.kind
        return f"## [{title}]{{#{self.anchor}-keys}}"


def inner_tables(schema: Schema, of: dict[str, Any], anchor: str) -> list[Inner]:
    """Return the tables inside a definition; keys that take the same table share one."""
    properties = of.get("properties", {})
    keys: dict[str, list[str]] = {}
    for key, value in properties.items():
        for named in dict.fromkeys(schema.references(value)):
            keys.setdefault(named, []).append(key)
    out = []
    for named, takers in keys.items():
        has_several = len(set(schema.references(properties[takers[0]]))) > 1
        kind = f": {first_sentence(schema.definitions[named])}" if has_several else ""
        at = f"{anchor}-{takers[0]}" + (f"-{named}" if has_several else "")
        out.append(Inner(named, tuple(takers), at, kind))
    return out


def rows(schema: Schema, of: dict[str, Any], anchor: str, inner: Sequence[Inner] = ()) -> str:
    """Return the table of keys of a definition, with an anchor for each, and links to the tables inside it."""
    out = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for name, value in of.get("properties", {}).items():
        default = "required" if name in of.get("required", ()) else ""
        if value.get("default") is not None:
            default = f"`{toml_value(value['default'])}`"
        meaning = cell(value.get("description", ""))
        keys = [f"[keys](#{table.anchor}-keys)" for table in inner if name in table.takers]
        meaning += f" ({', '.join(keys)})" if keys else ""
        cells = (f"[`{name}`]{{#{anchor}-{name}}}", schema.kind(value), default, meaning)
        out.append("| " + " | ".join(cell(c) for c in cells) + " |")
    return "\n".join(out) + "\n"


def table_text(
    schema: Schema, of: dict[str, Any], name: str, anchor: str, between: str = "", depth: int = 0
) -> str:
    """Return the table of keys of a definition, a text, and the sections of the tables inside it."""
    inner = inner_tables(schema, of, anchor) if depth < 3 else []
    parts = [rows(schema, of, anchor, inner), between]
    for table in inner:
        definition = schema.definitions[table.named]
        parts.append(f"{table.heading(name)}\n\n{definition.get('description', '')}\n")
        parts.append(
            table_text(schema, definition, f"{name}.{table.takers[0]}", table.anchor, depth=depth + 1)
        )
    return "\n".join(part for part in parts if part)


def page(schema: Schema, table: Table) -> str:
    """Return the page of a table."""
    method = f" ({method_of(table.method).title})"
    prose = PROSE[f"{table.method}.{table.name}"]
    more = f"`subsalt explain {table.name}` prints this table. [The guide](../{prose}) explains it with examples.\n"
    head = f"# [{table.name}]{method}\n\n{table.meaning[:1].upper()}{table.meaning[1:]}.\n\n"
    return head + table_text(schema, table.schema, table.name, table.file, more)


def signal_page(schema: Schema) -> str:
    """Return the page of the steps on traces."""
    head = "# [[signal]] (all methods)\n\nSteps of processing on the traces before they are imaged, in order."
    parts = [f"{head} [Trace processing](../signal.md) says more.\n"]
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
    lines = ["| table | method | content |", "|---|---|---|"]
    lines += [f"| [[{t.name}]]({t.file}.md) | {t.method} | {cell(t.meaning)} |" for t in tables]
    lines.append("| [[[signal]]](signal.md) | all | trace processing before the migration |")
    files = [table.file for table in tables] + ["signal"]
    tree = ["\n```{toctree}", ":hidden:", "", *files, "```", ""]
    return made | {f"{FOLDER}/index.md": "\n".join([INDEX_HEAD, *lines, *tree])}
