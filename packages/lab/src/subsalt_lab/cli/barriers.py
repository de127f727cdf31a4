"""The options of `subsalt lab barriers`. What it does is in `lab_barriers_commands`.

Tables of the barrier audit and of trials.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subsalt.report.table import Column, render
from subsalt_lab.barriers.audit import time_steps
from subsalt_lab.cli.lab import Json, Table, lab
from subsalt_lab.result import Result

SITES = [
    Column("number", "#", "d"),
    Column("place", "site"),
    Column("comm", "communicator"),
    Column("comm_size", "ranks"),
    Column("phase", "phase"),
    Column("count", "count", "d"),
    Column("seconds", "s over ranks", ".3f"),
    Column("percent_of_wall", "% of wall", ".2f"),
    Column("late_share", "late %", ".0f", 100.0),
    Column("own_cost", "own s", ".4f"),
    Column("next", "next call"),
    Column("class", "class"),
    Column("bound", "saves at most s", ".4f"),
]
REASON = Column("reason", "reason")
#: only where some do not block
CALL = Column("call", "call")

PHASES = (
    Column("phase", "phase"),
    Column("seconds", "s", ".3f"),
    Column("waiting", "of it waiting", ".3f"),
    Column("mpi_seconds", "s in MPI", ".3f"),
    Column("barrier_calls", "barriers, all ranks", "d"),
)

#: document 002, before and after
TRIAL = (
    Column("call", "call"),
    Column("before", "before s", ".4g"),
    Column("before_percent", "% of MPI", ".1f"),
    Column("before_calls", "calls", "d"),
    Column("after", "after s", ".4g"),
    Column("after_percent", "% of MPI", ".1f"),
    Column("after_calls", "calls", "d"),
    Column("moved", "change s", "+.3g"),
)


def tables(result: Result, how: str) -> list[str]:
    """Return the tables of a result, with a line above each; CSV has them bare."""
    found: list[str] = []
    settings = result.settings

    def title(text: str) -> str:
        return "" if how == "csv" else text + "\n\n"

    if result.rows:
        head = f"barriers: {settings['command']}, {settings['ranks']} ranks, {settings['mpi']}"
        if settings.get("wall"):
            head += f", {settings['wall']:.3f} s"
        # reasons are sentences: below the table, so that it stays narrow
        columns = [*SITES, REASON] if how == "csv" else SITES
        if {r["call"] for r in result.rows} != {"MPI_Barrier"}:
            columns = [*columns[:2], CALL, *columns[2:]]
        found.append(title(head) + render(result.rows, columns, how))
        if how != "csv":
            found.append("\n".join(f"{r['number']} {r['place']}: {r['verdict']}" for r in result.rows))
    elif how != "csv":
        found.append(f"barriers: {settings['command']}, {settings['ranks']} ranks, {settings['mpi']}: none")
    phases, trial = result.more.get("phases"), result.more.get("trial")
    if phases:
        text, steps = render(phases, PHASES, how), time_steps(phases)
        found.append(
            title("by phase, mean over ranks") + text + (f"\n\n{steps}" if steps and how != "csv" else "")
        )
    if trial and trial["rows"]:
        found.append(
            title("before and after: s summed over ranks, medians of rounds")
            + render(trial["rows"], TRIAL, how)
        )
    if trial and how != "csv":
        found.append(trial["text"])
    return found


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
