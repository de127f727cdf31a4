"""The command `subsalt lab`: one sub-command per measurement, and the options that several of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from subsalt.cli.help_page import HelpCommand, HelpGroup, examples

#: the sub-commands as `subsalt lab --help` lists them
GROUPS = {
    "This machine": ("memory", "kernels", "storage", "checkpoint", "io", "network", "scaling"),
    "Any MPI program": ("profile", "barriers", "collectives"),
    "Results": ("machine", "report", "predict"),
}

#: the module of every sub-command, where it is not called as the sub-command; it is imported when it is called
MODULES = {name: name for names in GROUPS.values() for name in names} | {
    "memory": "kernels",
    "report": "machine",
}


class Measurements(HelpGroup):
    """The sub-commands of `GROUPS`."""

    groups = GROUPS
    renamed: ClassVar = {"model": "predict"}

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of the help."""
        return list(MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a sub-command, None when there is none of that name."""
        if cmd_name not in MODULES:
            return None
        import_module(f"subsalt_lab.cli.{MODULES[cmd_name]}")
        known: Any = typer.main.get_command(lab)
        return known.commands[cmd_name]


lab = typer.Typer(
    name="lab",
    cls=Measurements,
    short_help="Measure this machine and MPI programs on it.",
    add_completion=False,
    help="Measure this machine, and what MPI programs do on it: subsalt or any other.\n\n"
    "A result that was measured while other programs ran is marked as noisy.",
    epilog=examples("subsalt lab kernels --quick", "subsalt lab machine"),
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


@lab.callback()
def _root() -> None:
    """Hold the sub-commands, even if only one is registered so far."""


def command(
    summary: str, *lines: str, name: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that makes a function a sub-command; see `subsalt.cli.app_root.command`."""
    return lab.command(name, cls=HelpCommand, short_help=summary, epilog=examples(*lines))


Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object on standard output.")]
MachineFile = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        readable=False,
        help="File to which the result is added.",
        show_default="machine.json in the cache folder of the user",
    ),
]
Table = Annotated[str, typer.Option(metavar="FORMAT", help="Format of the table: text, markdown or csv.")]


@dataclass(frozen=True)
class ForMachine:
    """How a result that is added to machine.json is printed, and where that file is."""

    table: Table = "text"
    out: MachineFile = None
    json: Json = False
