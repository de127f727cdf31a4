"""The options of `subsalt lab collectives`. What it does is in `lab_collectives_commands`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subsalt_lab.cli.lab import Json, Table, lab


@lab.command(
    short_help="Which algorithm of each MPI collective is fastest, and how to choose it.",
    epilog="Example: subsalt lab collectives --np 2,4 --sizes 8:4M; "
    "subsalt lab collectives --from-profile profile.json -- mpiexec -n 4 program; "
    "subsalt lab collectives --apply collectives -- mpiexec -n 4 program; "
    "subsalt lab collectives --io-hints /scratch/model.rsf --np 4",
)
def collectives(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- COMMAND...]",
            help="A program started under MPI, to be run with and without the switches, interleaved.",
        ),
    ] = None,
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
    as_variables: Annotated[
        bool, typer.Option("--as-variables", help="Variables for all sizes and ranks in place of a file.")
    ] = False,
    built_in_operations: Annotated[
        bool,
        typer.Option(
            "--built-in-operations",
            help="The program sums by built-in operations only: others are not checked.",
        ),
    ] = False,
    apply: Annotated[
        Path | None,
        typer.Option(
            readable=False, help="Measure nothing: run COMMAND with what was written into this folder."
        ),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, max=1000, help="Runs of COMMAND each way.")] = 10,
    outputs: Annotated[
        list[str] | None,
        typer.Option(help="Files of COMMAND to compare (globs); what it prints when left out."),
    ] = None,
    ignore: Annotated[
        str | None, typer.Option(help="Expression: what it matches in the printed text is not compared.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=0.0, help="Relative difference of numbers in outputs that is no difference.")
    ] = 0.0,
    time_from: Annotated[
        str | None, typer.Option(help="Expression whose group is the time in what COMMAND prints.")
    ] = None,
    io_hints: Annotated[
        Path | None,
        typer.Option(
            readable=False,
            help="Search hints of MPI-IO in place of algorithms, for files as large as this one.",
        ),
    ] = None,
    mpi: Annotated[
        Path | None, typer.Option(readable=False, help="libmpi of the programs, where it is not found.")
    ] = None,
    launcher: Annotated[
        str | None,
        typer.Option(help='Starts the ranks: "srun --mpi=pmi2", "mpiexec -n {ranks} ..."; found by default.'),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(min=1, help="Seconds that one start may take; 600 when left out.")
    ] = None,
    table: Table = "text",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", readable=False, help="File for the result (JSON), with every sample."),
    ] = None,
    json: Json = False,
) -> None:
    """Time every algorithm the MPI has for its collectives, and switch to what is surely faster.

    A switch needs a 95 % interval above 1.05, corrected for the number of algorithms, and a neighbouring size that
    agrees; otherwise nothing is changed. What is written is proven to be used and to give right sums.
    """
    from subsalt_lab.cli import collectives_commands as lab_collectives_commands

    given = lab_collectives_commands.Asked(
        command=command or [],
        np=np,
        sizes=sizes,
        collectives=collective,
        from_profile=from_profile,
        quick=quick,
        rounds=rounds,
        starts=starts,
        thread_level=thread_level,
        oversubscribe_ok=oversubscribe_ok,
        folder=folder,
        as_variables=as_variables,
        built_in_operations=built_in_operations,
        apply=apply,
        runs=runs,
        outputs=outputs or [],
        ignore=ignore,
        tolerance=tolerance,
        time_from=time_from,
        io_hints=io_hints,
        mpi=mpi,
        launcher=launcher,
        timeout=timeout,
    )
    lab_collectives_commands.collectives(given, table, out, json)
