"""The options of `subsalt lab io`. What it does is in `lab_io_commands`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subsalt.cli.lab import Json, Table, lab


@lab.command(
    name="io",
    short_help="Input by every rank, against one that sends to all.",
    epilog="Example: subsalt lab io --ranks 1,2,4; "
    "subsalt lab io --grid 192,160,128 --ranks 2,24 --steps 50 --compute 0 --directory /scratch",
)
def io(
    ranks: Annotated[
        list[str] | None,
        typer.Option(
            help="Numbers of ranks, such as 1,2,4,24; 1, 2 and 4 by default. More than cores take turns."
        ),
    ] = None,
    grid: Annotated[str, typer.Option(help="Points nx,ny,nz of the model.")] = "256,192,128",
    steps: Annotated[
        int, typer.Option(min=1, help="Time steps; a slice of two sets is read for each.")
    ] = 100,
    compute: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of the steps whose wavefields are computed.")
    ] = 1.0,
    suffix: Annotated[str, typer.Option("--format", help="Of the model volumes: rsf or sgy.")] = "rsf",
    cache: Annotated[
        list[str] | None,
        typer.Option(help="Page cache before each run: cold, warm or cold,warm; both when left out."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, max=1000, help="Samples of each way.")] = 5,
    directory: Annotated[
        Path, typer.Option(readable=False, help="Where the files are made: the file system to be measured.")
    ] = Path("."),
    keep: Annotated[bool, typer.Option("--keep", help="Leave the files there.")] = False,
    launcher: Annotated[
        str | None,
        typer.Option(help='Starts the ranks: "srun --mpi=pmi2", "mpiexec -n {ranks} ..."; found by default.'),
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds that one start may take.")] = 3600.0,
    table: Table = "text",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", readable=False, help="File for the result (JSON).")
    ] = None,
    json: Json = False,
) -> None:
    """Measure initialisation, trace input and total of a migration: original (broadcast) against per-rank input."""
    from subsalt.cli import lab_io_commands

    lab_io_commands.io(
        lab_io_commands.settings(
            ranks, grid, steps, compute, suffix, cache, repeats, directory, keep, launcher, timeout
        ),
        table,
        out,
        json,
    )
