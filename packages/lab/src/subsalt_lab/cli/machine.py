"""`subsalt lab machine` and `subsalt lab report`: read machine.json and results, print or write the page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subsalt_lab.cli.lab import Json, Table, command


@command(
    "Show what has been measured on this machine.",
    "subsalt lab machine",
    "subsalt lab machine --section network --json",
)
def machine(
    file: Annotated[
        Path | None,
        typer.Option(
            "--machine",
            readable=False,
            metavar="FILE",
            help="Measurements to read.",
            show_default="machine.json in the cache folder of the user",
        ),
    ] = None,
    section: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIST", help="Show only these sections, such as kernels,network.", show_default="all"
        ),
    ] = None,
    table: Table = "text",
    json: Json = False,
) -> None:
    """Show the measurements of this machine, their age and noise, and which are missing."""
    from subsalt.cli.output import Out
    from subsalt.machine import machine_file as machines
    from subsalt_lab import machine_tables, option_values
    from subsalt_lab.cli.commands import possible

    possible(None, table)
    path = file if file is not None else machines.default_path()
    wanted = option_values.choices("--section", section, machine_tables.names(), machine_tables.names())
    known, out = machines.read(path), Out(json)
    if table == "csv" and len(wanted) != 1:
        raise option_values.wrong("--table csv: a table for each section", "choose one with --section")
    for line in machine_tables.lines(known, wanted, table, str(path)):
        out.say(line)
    out.json(machine_tables.content(known, wanted) | {"machine_file": str(path)})


@command(
    "Write an HTML page with all measurements.",
    "subsalt lab report -o machine.html",
    "subsalt lab report --with scaling.json --with profile.json",
)
def report(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", readable=False, help="HTML file to be written.")
    ] = Path("machine.html"),
    with_: Annotated[
        list[Path] | None,
        typer.Option(
            "--with",
            metavar="FILE",
            readable=False,
            help="Add this result of a measurement or of a profile (--out). Repeatable.",
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--machine",
            readable=False,
            metavar="FILE",
            help="Measurements to read.",
            show_default="machine.json in the cache folder of the user",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Write one HTML page with the measurements of this machine, and with other results."""
    from subsalt.cli.output import Out
    from subsalt.machine import machine_file as machines
    from subsalt_lab import machine_page as lab_page
    from subsalt_lab.cli.commands import possible

    results = with_ or []
    possible(out, "text")
    path = file if file is not None else machines.default_path()
    said, known = Out(json), None
    if path.exists() or not results or file is not None:
        known = machines.read(path)
    written = lab_page.write(out, known, path, results)
    said.row("report", str(written))
    said.json({"report": written})
