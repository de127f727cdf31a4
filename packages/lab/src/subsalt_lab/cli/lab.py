"""The command `subsalt lab`: one sub-command per measurement, and the options that several of them share."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

#: the module of every sub-command, in the order of the help; it is imported when the sub-command is asked for
MODULES = {
    "memory": "kernels",
    "kernels": "kernels",
    "barriers": "barriers",
    "storage": "storage",
    "checkpoint": "checkpoint",
    "collectives": "collectives",
    "io": "io",
    "machine": "machine",
    "report": "machine",
    "model": "model",
    "network": "network",
    "profile": "profile",
    "scaling": "scaling",
}


class Measurements(TyperGroup):
    """The sub-commands of `MODULES`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names as the help lists them."""
        return list(MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a sub-command, None when there is none of that name."""
        if cmd_name not in MODULES:
            # what is meant is looked for among all of them
            self.commands.update({name: self.get_command(ctx, name) for name in MODULES})
            return None
        import_module(f"subsalt_lab.cli.{MODULES[cmd_name]}")
        known: Any = typer.main.get_command(lab)
        return known.commands[cmd_name]


lab = typer.Typer(
    name="lab",
    cls=Measurements,
    short_help="Measure this machine, and programs on it.",
    add_completion=False,
    help="Measure this machine, and what programs on it do, ours or any other.",
    epilog="Example: subsalt lab kernels --quick. A result made under load is marked noisy.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


@lab.callback()
def _root() -> None:
    """Hold the sub-commands, also where only one is known so far."""


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object last on standard output.")]
MachineFile = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", readable=False, help="machine.json; in the user's cache folder when left out."
    ),
]
Table = Annotated[str, typer.Option(help="How the table is written: text, markdown or csv.")]


@dataclass(frozen=True)
class ForMachine:
    """How a result that is added to machine.json is printed, and where that file is."""

    table: Table = "text"
    out: MachineFile = None
    json: Json = False
