"""The options of `subsalt lab network`. What it does is in `lab_network_commands`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subsalt.cli.lab import Json, Table, lab


@lab.command(
    short_help="Messages between ranks: latency, bandwidth, collectives.",
    epilog="Example: subsalt lab network --quick; subsalt lab network --np 2,4 --sizes 8:1M --hpcc; "
    "subsalt lab network --np 2,32 --launcher 'srun --mpi=pmi2 -N 2 -n {ranks}'",
)
def network(
    np: Annotated[
        list[str] | None,
        typer.Option("--np", help="Numbers of ranks, such as 2,4; two and as many as cores when left out."),
    ] = None,
    sizes: Annotated[
        str,
        typer.Option(help="Bytes of messages: first:last by powers of two, or a list such as 8,1K,64K."),
    ] = "0:4M",
    launcher: Annotated[
        str | None,
        typer.Option(
            help="What starts the ranks, such as 'srun -N 2 -n {ranks}'; mpiexec of this environment when left out."
        ),
    ] = None,
    mpi: Annotated[
        Path | None,
        typer.Option(
            "--mpi",
            readable=False,
            help="The libmpi that is measured; the one that MPI for Python loads when left out.",
        ),
    ] = None,
    blocks: Annotated[int, typer.Option(min=3, max=1000, help="Samples of each case.")] = 15,
    thread_level: Annotated[
        str,
        typer.Option(help="How MPI is started: multiple, as subsalt does, or single; only multiple is kept."),
    ] = "multiple",
    quick: Annotated[
        bool, typer.Option("--quick", help="Powers of four, 5 short blocks: some seconds.")
    ] = False,
    hpcc: Annotated[
        bool, typer.Option("--hpcc", help="Run HPC Challenge too, where hpcc is installed: minutes.")
    ] = False,
    hpcc_memory: Annotated[
        float, typer.Option(min=0.0001, max=0.8, help="Part of the memory for its matrix.")
    ] = 0.1,
    imb: Annotated[
        bool, typer.Option("--imb", help="Cross-check by IMB-MPI1, where it is installed.")
    ] = False,
    table: Table = "text",
    machine: Annotated[
        Path | None,
        typer.Option(
            "--machine", readable=False, help="machine.json; in the user's cache folder when left out."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", readable=False, help="Write the result with every sample here, as JSON."),
    ] = None,
    json: Json = False,
) -> None:
    """Measure messages between two ranks and among all, and set this machine among others."""
    from subsalt.cli import lab_network_commands as commands

    commands.network(
        commands.settings(np, sizes, launcher, mpi, blocks, thread_level, quick),
        commands.beside(hpcc, hpcc_memory, imb),
        table,
        machine,
        out,
        json,
    )
