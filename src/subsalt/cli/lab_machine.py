"""The options of `subsalt lab machine` and `subsalt lab report`. What they do is in `lab_machine_commands`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subsalt.cli.lab import Json, Table, lab


@lab.command(
    short_help="What is known of this machine, and what is missing.",
    epilog="Example: subsalt lab machine; subsalt lab machine --section network --json",
)
def machine(
    file: Annotated[
        Path | None,
        typer.Option("--machine", readable=False, help="machine.json; that of this machine when left out."),
    ] = None,
    section: Annotated[
        list[str] | None, typer.Option(help="Only these sections, such as kernels,network.")
    ] = None,
    table: Table = "text",
    json: Json = False,
) -> None:
    """Show what the lab measured on this machine, how old and how disturbed it is, and what nobody has measured."""
    from subsalt.cli import lab_machine_commands

    lab_machine_commands.machine(file, section, table, json)


@lab.command(
    short_help="One page of all that the lab measured.",
    epilog="Example: subsalt lab report -o machine.html --with scaling.json --with profile.json",
)
def report(
    out: Annotated[Path, typer.Option("--out", "-o", readable=False, help="HTML file.")] = Path(
        "machine.html"
    ),
    with_: Annotated[
        list[Path] | None,
        typer.Option(
            "--with", readable=False, help="Result of a measurement (--out), or a profile; repeat it."
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--machine", readable=False, help="machine.json; that of this machine when left out."),
    ] = None,
    json: Json = False,
) -> None:
    """Write one HTML page that needs nothing else: what machine.json knows, and the results given with it."""
    from subsalt.cli import lab_machine_commands

    lab_machine_commands.report(out, with_ or [], file, json)
