"""The options of `subsalt lab profile`. What it does is in `lab_profile_commands`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subsalt.cli.lab import Json, Table, lab


@lab.command(
    short_help="What any program does in MPI, by call, size, phase, place.",
    epilog="Example: subsalt lab profile -- mpiexec -n 4 ./program input; "
    "subsalt lab profile --sites --out profile.json -- mpiexec -n 2 subsalt migrate job.toml",
)
def profile(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND...", help="The launch line of the program, as you would type it."),
    ] = None,
    sites: Annotated[
        bool, typer.Option("--sites", help="Tell apart where calls are made: file:line, or program+offset.")
    ] = False,
    mpi: Annotated[
        Path | None,
        typer.Option(readable=False, help="libmpi of the program, where it cannot be found out."),
    ] = None,
    built_in: Annotated[
        bool,
        typer.Option(
            "--built-in", help="Let subsalt itself count its calls: migrate, model, reimage; no compiler."
        ),
    ] = False,
    page: Annotated[
        Path | None, typer.Option(readable=False, help="HTML file for the profile with pictures.")
    ] = None,
    against_founding: Annotated[
        bool,
        typer.Option("--against-founding", help="Also print the four cases of the founding document 002."),
    ] = False,
    table: Table = "text",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", readable=False, help="File for the result (JSON).")
    ] = None,
    json: Json = False,
) -> None:
    """Profile an MPI program that is not rebuilt: time in MPI, calls, bytes, sizes, phases, files.

    What the program prints passes through, before the tables (with --json on standard error). Its exit code is kept.
    """
    from subsalt.cli import lab_profile_commands

    lab_profile_commands.profile(
        command or [], sites, mpi, table, out, json, built_in=built_in, page=page, founding=against_founding
    )
