"""Pages of the command line, from the live commands: arguments, options, defaults and examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from subsalt.cli.app import app

FOLDER = "reference/options"


def commands(group: Any, ctx: Any, name: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, command and context of every visible command below a group; groups within it go on one page."""
    for word in group.list_commands(ctx):
        command = group.get_command(ctx, word)
        if command is not None and not command.hidden:
            below = typer.Context(command, info_name=word, parent=ctx)
            yield f"{name} {word}", command, below


def cell(text: str) -> str:
    """Return a text for a cell of a table."""
    return " ".join(text.replace("|", "\\|").replace("<", "\\<").replace("*", "\\*").split())


def option_row(option: Any, ctx: Any) -> str:
    """Return the row of an option: what the help prints, its default in a column."""
    names, text = option.get_help_record(ctx)
    text, _, extra = text.rpartition("  [") if text.endswith("]") else (text, "", "")
    facts = [fact.strip() for fact in extra.rstrip("]").split(";")]
    default = ", ".join(said(f.removeprefix("default: ")) for f in facts if f.startswith("default: "))
    required = "required" if "required" in facts else default
    return f"| {forms(names)} | {required} | {cell(text)} |"


def said(default: str) -> str:
    """Return a default: a value as code, words in brackets as words."""
    words = re.fullmatch(r"\((.*)\)", default)
    return cell(words[1]) if words and " " in default else f"`{words[1] if words else default}`"


def forms(names: str) -> str:
    """Return the forms of an option, each as code, with what follows them."""
    plain = re.sub(r"<(int|float)( range)?>", lambda m: "N" if m[1] == "int" else "X", names)
    return re.sub(r"(?<![\w-])(--?[\w-]+)", r"`\1`", cell(plain))


def panels(options: list[Any]) -> dict[str, list[Any]]:
    """Return options by the panel of the help that they stand in."""
    by_panel: dict[str, list[Any]] = {}
    for option in options:
        by_panel.setdefault(getattr(option, "rich_help_panel", None) or "", []).append(option)
    return by_panel


def usage(ctx: Any) -> str:
    """Return the usage of a command on one line."""
    return " ".join([ctx.command_path, *ctx.command.collect_usage_pieces(ctx)])


def section(name: str, command: Any, ctx: Any, level: str = "##") -> str:
    """Return the section of a command."""
    parts = [f"{level} {name}\n", f"```console\n$ {usage(ctx)}\n```\n", paragraphs(command.help)]
    parameters = [p for p in command.get_params(ctx) if not getattr(p, "hidden", False)]
    arguments = [p for p in parameters if p.param_type_name == "argument"]
    if arguments:
        rows = [
            f"| {cell(' '.join(p.get_usage_pieces(ctx)).replace('{', '').replace('}', ''))} | {cell(p.help or '')} |"
            for p in arguments
        ]
        parts.append("\n".join(["| argument | meaning |", "|---|---|", *rows]) + "\n")
    for title, options in panels([p for p in parameters if p.param_type_name == "option"]).items():
        rows = [option_row(option, ctx) for option in options]
        head = [f"**{title}**\n"] if title else []
        parts.append("\n".join([*head, "| option | default | meaning |", "|---|---|---|", *rows]) + "\n")
    parts += list(examples(command.epilog or ""))
    return "\n".join(part for part in parts if part)


def paragraphs(text: str | None) -> str:
    """Return the text of a help, its paragraphs on lines of their own."""
    blocks = (text or "").replace("\f", "").replace("\b", "").split("\n\n")
    return "".join(f"{cell(block)}\n\n" for block in blocks if block.strip()).rstrip("\n") + "\n"


def examples(epilog: str) -> Iterator[str]:
    """Yield what stands below the options of a help: examples as commands, other lines as they are."""
    text = epilog.replace("\b", "").strip()
    head, colon, rest = text.partition(":")
    if colon and head.startswith("Example"):
        lines = [part.strip() for line in rest.splitlines() for part in line.split("; ") if part.strip()]
        yield f"{head}:\n\n```console\n" + "\n".join(f"$ {line}" for line in lines) + "\n```\n"
    elif text:
        yield paragraphs(text)


def page(name: str, command: Any, ctx: Any) -> str:
    """Return the page of a command; a group has a section for each of its commands."""
    if not hasattr(command, "list_commands"):
        return section(name, command, ctx, "#")
    parts = [f"# {name}\n", paragraphs(command.help)]
    parts += [section(*below) for below in commands(command, ctx, name)]
    return "\n".join(parts)


def pages() -> dict[str, str]:
    """Return the pages by their names below docs/."""
    root = typer.main.get_command(app)
    ctx = typer.Context(root, info_name="subsalt")
    made, listed = {}, []
    for name, command, below in commands(root, ctx, "subsalt"):
        word = name.split()[-1]
        made[f"{FOLDER}/{word}.md"] = page(name, command, below)
        short = cell(command.get_short_help_str(200))
        listed.append((word, f"| [{name}]({word}.md) | {short} |"))
    head = "# Options of every command\n\nWritten from the program: what `subsalt COMMAND --help` prints.\n"
    tree = ["\n```{toctree}", ":hidden:", "", *(word for word, _ in listed), "```", ""]
    rows = "\n".join(["| command | does |", "|---|---|", *(row for _, row in listed)])
    own = section("Options of subsalt itself", root, ctx)
    return made | {f"{FOLDER}/index.md": "\n".join([head, rows, "", own, *tree])}
