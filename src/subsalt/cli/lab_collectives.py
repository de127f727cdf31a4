"""The options of `subsalt lab collectives`. What it does is in `lab_collectives_commands`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subsalt.cli.lab import Json, Table, lab


@lab.command(
    short_help="Which algorithm of each MPI collective is fastest, and how to choose it.",
    epilog="Example: subsalt lab collectives --np 2,4 --sizes 8:4M; "
    "subsalt lab collectives --from-profile profile.json -- mpiexec -n 4 program; "
    "subsalt lab collectives --quick --collectives allreduce,bcast",
)
def collectives(
    np: Annotated[
        list[str] | None,
        typer.Option("--np", help="Numbers of ranks, such as 2,4; all cores by default."),
    ] = None,
    sizes: Annotated[
        list[str] | None,
        typer.Option(
            help="Bytes of one rank: 8:4M by factors of 4, 8:4M:2 by factors of 2, or 8,1K,1M; 8:4M by default."
        ),
    ] = None,
    collective: Annotated[
        list[str] | None,
        typer.Option(
            "--collectives", help="Of allreduce, reduce, bcast, allgather, alltoall, barrier; all by default."
        ),
    ] = None,
    from_profile: Annotated[
        Path | None,
        typer.Option(
            readable=False, help="Only what takes more than 1 % of the time in a file of lab profile --out."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="8:512K by factors of 16, 3 starts: about half a minute.")
    ] = False,
    rounds: Annotated[int, typer.Option(min=15, max=1000, help="Samples of each algorithm in a start.")] = 15,
    starts: Annotated[
        int | None, typer.Option(min=3, max=100, help="Starts of the ranks: 5, with --quick 3.")
    ] = None,
    thread_level: Annotated[
        str,
        typer.Option(
            help="What the program to be tuned asks MPI for: multiple, as mpi4py and subsalt do, or single."
        ),
    ] = "multiple",
    oversubscribe_ok: Annotated[
        bool,
        typer.Option("--oversubscribe-ok", help="Measure more ranks than idle cores; never applied."),
    ] = False,
    folder: Annotated[
        Path, typer.Option(readable=False, help="For the pictures, and the files that choose algorithms.")
    ] = Path("collectives"),
    launcher: Annotated[
        str | None,
        typer.Option(help='Starts the ranks: "srun --mpi=pmi2", "mpiexec -n {ranks} ..."; found by default.'),
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds that one start may take.")] = 600.0,
    table: Table = "text",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", readable=False, help="File for the result (JSON), with every sample."),
    ] = None,
    json: Json = False,
) -> None:
    """Time every algorithm the MPI has for its collectives, and switch to what is surely faster.

    A switch needs a 95 % interval above 1.05, corrected for the number of algorithms, and a neighbouring size that
    agrees; otherwise nothing is changed.
    """
    from subsalt.cli import lab_collectives_commands

    request = lab_collectives_commands.Asked(
        np,
        sizes,
        collective,
        from_profile,
        quick,
        rounds,
        starts,
        thread_level,
        oversubscribe_ok,
        folder,
        launcher,
        timeout,
    )
    lab_collectives_commands.collectives(request, table, out, json)
