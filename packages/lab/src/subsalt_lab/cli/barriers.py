"""The options of `subsalt lab barriers`. What it does is in `lab_barriers_commands`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subsalt_lab.cli.lab import Json, Table, lab


@lab.command(
    short_help="Which barriers of an MPI program may be left out.",
    epilog="Example: subsalt lab barriers -- mpiexec -n 2 program input; "
    "subsalt lab barriers --try all-candidates --outputs 'result.dat' -- mpiexec -n 2 program input; "
    "subsalt lab barriers --from audit.json --try 1,3 -- mpiexec -n 2 program input",
)
def barriers(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND...",
            help="How the program is started, its launcher included; {folder} stands for a folder of each run's own.",
        ),
    ] = None,
    attempt: Annotated[
        str | None,
        typer.Option(
            "--try",
            help="Run with and without barriers: numbers or names of the table between commas, or all-candidates.",
        ),
    ] = None,
    audit: Annotated[
        Path | None,
        typer.Option("--from", readable=False, help="An audit kept with --out, whose sites are tried."),
    ] = None,
    rounds: Annotated[
        int,
        typer.Option(
            min=1,
            max=1000,
            help="Timed runs of each way, with --try; 5 at least.",
        ),
    ] = 10,
    outputs: Annotated[
        list[str] | None,
        typer.Option(help="Files to compare byte by byte (globs); what is printed when left out."),
    ] = None,
    ignore: Annotated[
        str | None, typer.Option(help="Expression: what it matches in the printed text is not compared.")
    ] = None,
    time_from: Annotated[
        str | None, typer.Option(help="Expression whose group is the time in what the program prints.")
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            min=1,
            help="Seconds after which a run is ended; 10 times the first one, 20 at least, when left out.",
        ),
    ] = None,
    mpi: Annotated[
        Path | None, typer.Option(readable=False, help="libmpi of the program, where it is not found.")
    ] = None,
    table: Table = "text",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", readable=False, help="File for the result (JSON).")
    ] = None,
    json: Json = False,
) -> None:
    """Audit the barriers of any MPI program, and try what leaving some of them out saves (--try)."""
    from subsalt_lab.cli import barriers_commands as lab_barriers_commands

    request = lab_barriers_commands.Request(
        command or [], attempt, audit, rounds, outputs or [], ignore, time_from, timeout, mpi
    )
    lab_barriers_commands.barriers(request, table, out, json)
