"""Draw sentences that users read, by a seed, to judge them as a stranger would.

``python docs/draw_sentences.py SEED`` prints 15 sentences of each of four sources: help texts of the commands, messages
(titles, meanings and cures of the codes), explanations of job keys, and pages of the documentation.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import typer

ROOT = Path(__file__).resolve().parents[1]
#: sentences drawn from each source, and fewest words of one
EACH, WORDS = 15, 4
#: texts that are generated and laboratory notes are not drawn
SKIPPED = ("errors.md", "notes/")


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, without those of a few words."""
    flat = " ".join(text.split())
    parts = re.split(r"(?<=[.!?:])\s+(?=[A-Z`*\[])", flat)
    return [part for part in parts if len(part.split()) >= WORDS]


def commands(command: click.Command, name: str) -> Iterator[str]:
    """Yield the help texts of a command, its options and its subcommands."""
    yield f"{name}: {command.help or ''}"
    for parameter in command.params:
        yield f"{name} {'/'.join(parameter.opts)}: {getattr(parameter, 'help', '') or ''}"
    for sub, child in getattr(command, "commands", {}).items():
        yield from commands(child, f"{name} {sub}")


def help_texts() -> list[str]:
    """Return the sentences of the help of all commands."""
    from subsalt.cli.app import app

    return [s for text in commands(typer.main.get_command(app), "subsalt") for s in sentences(text)]


def message_texts() -> list[str]:
    """Return the sentences of the catalogue of codes."""
    texts = tomllib.loads((ROOT / "src/subsalt/messages.toml").read_text(encoding="utf-8"))
    return [
        f"{code}: {s}" for code, entry in texts.items() for value in entry.values() for s in sentences(value)
    ]


def key_texts() -> list[str]:
    """Return the sentences that `subsalt explain` says of job keys."""
    from subsalt.job.schema import schema_text

    def described(node: object, name: str) -> Iterator[str]:
        if isinstance(node, dict):
            if isinstance(node.get("description"), str):
                yield f"{name}: {node['description']}"
            for key, value in node.items():
                yield from described(value, key if isinstance(value, dict) else name)

    return sorted({s for text in described(json.loads(schema_text()), "job") for s in sentences(text)})


def page_texts() -> list[str]:
    """Return the sentences of the documentation, without code and tables."""
    out = []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        place = page.relative_to(ROOT / "docs").as_posix()
        if place.startswith(SKIPPED) or page.name in SKIPPED:
            continue
        text = re.sub(
            r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
        )
        for block in re.split(r"\n\s*\n|\n(?=- |\d\. )", text):
            if not block.lstrip().startswith(("|", "#", "!", "<")):
                out += [f"{place}: {s}" for s in sentences(block)]
    return out


def main(words: list[str]) -> None:
    """Print the sentences that a seed draws."""
    draw = random.Random(int(words[0]))
    for title, texts in (
        ("help", help_texts()),
        ("messages", message_texts()),
        ("job keys", key_texts()),
        ("pages", page_texts()),
    ):
        print(f"## {title} ({len(texts)} sentences)")
        for number, text in enumerate(draw.sample(texts, EACH), 1):
            print(f"{number:2}. {text}")


if __name__ == "__main__":
    main(sys.argv[1:])
