"""The options of `subsalt lab checkpoint`. What it does is in `lab_checkpoint_commands`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subsalt.cli.lab import Json, Table, lab
from subsalt.cli.lab_storage import Directories, IoThreads, Names


@lab.command(
    short_help="Put, get and total of checkpoints.",
    epilog="Example: subsalt lab checkpoint /scratch /home/me; "
    "subsalt lab checkpoint . --checkpoints 20,80 --strategy revolve --threads 1,16 --direct",
)
def checkpoint(
    directories: Directories = None,
    checkpoints: Annotated[
        list[str] | None, typer.Option(help="How many are kept, such as 80,400,800; these by default.")
    ] = None,
    grid: Annotated[str, typer.Option(help="Points nx,ny,nz of the shot, layer included.")] = "96,96,96",
    samples: Annotated[int, typer.Option(min=1, help="Time steps of the shot.")] = 800,
    strategy: Annotated[
        str, typer.Option(help="What is kept: store (snapshots) or revolve (states, fewer than steps).")
    ] = "store",
    threads: IoThreads = None,
    direct: Annotated[bool, typer.Option("--direct/--buffered", help="Past the page cache.")] = False,
    mode: Annotated[
        list[str] | None,
        typer.Option(help="bare: only records move; overlapped: with a shot; both when left out."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, max=1000, help="Samples of each case.")] = 1,
    names: Names = None,
    table: Table = "text",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", readable=False, help="File for the result (JSON).")
    ] = None,
    json: Json = False,
) -> None:
    """Measure what checkpoints on disk cost: put, get, total by number, directory and threads."""
    from subsalt.cli import lab_checkpoint_commands

    lab_checkpoint_commands.checkpoint(
        lab_checkpoint_commands.settings(
            directories, checkpoints, grid, samples, strategy, threads, direct, mode, repeats, names
        ),
        table,
        out,
        json,
    )
