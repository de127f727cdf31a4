"""The help page of a command: readable in a plain terminal, each example on a line that can be copied.

`HelpCommand` and `HelpGroup` write usage, arguments, options and examples; they change nothing of how words are parsed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, ClassVar

from typer import BadParameter
from typer.core import TyperCommand, TyperGroup

#: error of a command line that makes no sense, from the copy of click that typer uses
_USAGE: Any = next(c for c in BadParameter.__mro__ if c.__name__ == "UsageError")

#: options that every command takes and that no command declares: `subsalt.cli.guard` reads them
EVERYWHERE = (("--debug", "Show the traceback of an error."),)

#: placeholder of the value of an option that names none, by its type
VALUES = {"path": "PATH", "str": "TEXT", "int": "N", "float": "NUMBER"}


def examples(*commands: str) -> str:
    """Return the epilog of a command: its examples, one on each line."""
    return "\n".join(["Examples:", *(f"  {command}" for command in commands)])


def usage_pieces(command: Any, ctx: Any) -> list[str]:
    """Return the words of the usage line after the command: ``[OPTIONS] JOB [FILE]...``."""
    pieces = [command.options_metavar] if command.options_metavar else []
    for param in command.get_params(ctx):
        if param.param_type_name == "argument" and not param.hidden:
            name = argument_name(param)
            pieces.append((name if param.required else f"[{name}]") + "..." * (param.nargs != 1))
    return pieces


def argument_name(param: Any) -> str:
    """Return the placeholder of an argument."""
    return str(param.metavar or param.name.upper())


def record(param: Any, ctx: Any) -> tuple[str, str] | None:
    """Return an argument or option and its help, with the default as the parser knows it; None of a hidden one."""
    pair = param.get_help_record(ctx)
    if pair is None:
        return None
    name, text = pair
    if param.param_type_name == "argument":
        return argument_name(param), _plain(text)
    name = re.sub(r"<(?:list\[)?(\w+)(?: range)?\]?>", lambda m: VALUES.get(m[1].lower(), m[1].upper()), name)
    return name, _plain(text)


def _plain(text: str) -> str:
    """Return the help of a parameter without repetitions of the usage line, with limits of numbers in words."""
    # "[default: (words); x>=1]" is how the parser writes a default that is no value, and a limit
    text = re.sub(r"\[default: \((.*)\)(?=[];])", r"[default: \1", text)
    text = re.sub(r"(; )?\brequired\]|(; )?x>=[01]\]|(; )?x>=0\.0\]", "]", text)
    text = re.sub(r"x>=([\w.]+)\]", r"at least \1]", text)
    text = re.sub(r"([\w.]+)<=x<=([\w.]+)\]", r"\1 to \2]", text)
    text = re.sub(r"((?:default: |\[| to |; )\d+)\.0(?=[];]| to )", r"\1", text)
    return re.sub(r"\s*\[\]", "", text)


def write_options(command: Any, ctx: Any, formatter: Any) -> None:
    """Write arguments, then options by panel; those of `EVERYWHERE` before ``--help``."""
    sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for param in command.get_params(ctx):
        pair = record(param, ctx)
        if pair is not None:
            argument = param.param_type_name == "argument"
            panel = "Arguments" if argument else getattr(param, "rich_help_panel", None) or "Options"
            sections.setdefault(panel, []).append(pair)
    own = sections.pop("Options")
    sections["Options"] = [*own[:-1], *EVERYWHERE, *own[-1:]]
    for title in ("Arguments", "Options", *(t for t in sections if t not in ("Arguments", "Options"))):
        if sections[title]:
            with formatter.section(title):
                formatter.write_dl(sections[title])


def write_examples(command: Any, formatter: Any) -> None:
    """Write the epilog as it is, unwrapped: a command that is broken by a line end cannot be copied."""
    if command.epilog:
        formatter.write_paragraph()
        formatter.write(f"{command.epilog}\n")


class HelpCommand(TyperCommand):
    """A command with such a page."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line."""
        return usage_pieces(self, ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options."""
        write_options(self, ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples."""
        write_examples(self, formatter)


class HelpGroup(TyperGroup):
    """A command of sub-commands, which its page lists in `groups`."""

    #: titles, and the sub-commands under each in their order
    groups: ClassVar[Mapping[str, Sequence[str]]] = {}
    #: earlier names of sub-commands, and the names of today
    renamed: ClassVar[Mapping[str, str]] = {}

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of the page, those without a group last."""
        known = super().list_commands(ctx)
        listed = [name for names in self.groups.values() for name in names]
        return [n for n in listed if n in known] + [n for n in known if n not in listed]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the sub-command that is called; the error of a mistyped name suggests the nearest ones."""
        near = get_close_matches(args[0], [*self.list_commands(ctx), *self.renamed]) if args else []
        try:
            return super().resolve_command(ctx, args)
        except _USAGE as error:
            names = list(dict.fromkeys(self.renamed.get(name, name) for name in near))
            if names:
                head = error.message.partition(" Did you mean")[0].rstrip(".")
                error.message = f"{head}. Did you mean {' or '.join(map(repr, names))}?"
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the sub-commands by group."""
        names = self.list_commands(ctx)
        width = max(map(len, names))
        for title, members in self.groups.items():
            rows = [(n.ljust(width), self.summary(ctx, n)) for n in members if n in names]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def summary(self, ctx: Any, name: str) -> str:
        """Return the summary of a sub-command."""
        command = self.get_command(ctx, name)
        return "" if command is None else str(command.get_short_help_str(200))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write sub-commands, then options."""
        self.format_commands(ctx, formatter)
        write_options(self, ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples."""
        write_examples(self, formatter)
