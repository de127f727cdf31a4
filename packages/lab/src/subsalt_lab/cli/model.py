"""The options of `subsalt lab model`. What it does is in `lab_model_commands`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subsalt_lab.cli.lab import Json, Table, lab

ResultFile = Annotated[
    Path | None, typer.Option("--out", "-o", readable=False, help="JSON file for the result.")
]


@lab.command(
    short_help="Predict a shot on many nodes; check against document 001.",
    epilog="Example: subsalt lab model --founding; subsalt lab model --grid 2486,1151,1231 --nodes 24,100,310 "
    "--rate 280e6 --network 3.2GB/s,0us",
)
def model(
    founding: Annotated[
        bool,
        typer.Option(
            "--founding", help="Predict founding document 001's runs from the fewest nodes of each grid."
        ),
    ] = False,
    grid: Annotated[str | None, typer.Option(help="Points nx,ny,nz of the shot.")] = None,
    nodes: Annotated[
        str | None, typer.Option(help="Numbers of nodes that share it, such as 24,100,1000.")
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(help="Point-steps per second of a node, such as 2e9; see subsalt lab kernels."),
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(
            help="Between nodes: 20 (GB/s), 100Gbit/s, 20GB/s,2us; that of machine.json when left out."
        ),
    ] = None,
    files: Annotated[
        str | None, typer.Option(help="GB/s of the file system for all nodes together; no I/O when left out.")
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="Time steps.")] = 800,
    wavefields: Annotated[int, typer.Option(min=1, help="Arrays that travel in a step.")] = 2,
    ghost: Annotated[int, typer.Option(min=1, help="Planes that a neighbour needs.")] = 4,
    blocks: Annotated[
        bool, typer.Option("--blocks", help="Cut in three directions; slabs along x when left out.")
    ] = False,
    overlap: Annotated[bool, typer.Option("--overlap", help="Messages travel under the time steps.")] = False,
    table: Table = "text",
    out: ResultFile = None,
    json: Json = False,
) -> None:
    """Predict kernel, halo and input of a shot on many nodes: a model, labelled so, never a measurement."""
    from subsalt_lab.cli import model_commands as commands

    if founding:
        commands.founding(table, out, json)
        return
    asked = commands.asked_of(grid, nodes, rate, network, files)
    commands.model(asked, steps, wavefields, ghost, blocks, overlap, table, out, json)
