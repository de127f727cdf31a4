"""`subsalt lab profile`: run the program under the interposer, print, keep the result."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from subsalt.cli.options import spread
from subsalt_lab.cli.lab import Json, Table, lab

#: units of the columns of a profile
UNITS = {
    "seconds": "s, summed over ranks",
    "bytes": "B, summed over ranks",
    "mean": "s",
    "least_rank": "s",
    "most_rank": "s",
}


@dataclass(frozen=True)
class Options:
    """What is asked for, as it was typed."""

    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND...", help="The launch line of the program, as you would type it."),
    ] = None
    sites: Annotated[
        bool, typer.Option("--sites", help="Tell apart where calls are made: file:line, or program+offset.")
    ] = False
    mpi: Annotated[
        Path | None,
        typer.Option(readable=False, help="libmpi of the program, where it cannot be found out."),
    ] = None
    built_in: Annotated[
        bool,
        typer.Option(
            "--built-in", help="Let subsalt itself count its calls: migrate, model, reimage; no compiler."
        ),
    ] = False
    page: Annotated[
        Path | None, typer.Option(readable=False, help="HTML file for the profile with pictures.")
    ] = None
    against_founding: Annotated[
        bool,
        typer.Option("--against-founding", help="Also print the four cases of the founding document 002."),
    ] = False


@lab.command(
    short_help="What any program does in MPI, by call, size, phase, place.",
    epilog="Example: subsalt lab profile -- mpiexec -n 4 ./program input; "
    "subsalt lab profile --sites --out profile.json -- mpiexec -n 2 subsalt migrate job.toml",
)
@spread
def profile(
    asked: Options,
    table: Table = "text",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", readable=False, help="File for the result (JSON).")
    ] = None,
    json: Json = False,
) -> None:
    """Profile an MPI program that is not rebuilt: time in MPI, calls, bytes, sizes, phases, files.

    What the program prints passes through, before the tables (with --json on standard error). Its exit code is kept.
    """
    _profile(asked, table, out, json)


def _profile(asked: Options, how: str, file: Path | None, as_json: bool) -> None:
    """Profile a launch line."""
    from subsalt.cli.output import Out
    from subsalt.machine.load import Watch
    from subsalt_lab.asked import wrong
    from subsalt_lab.cli.commands import hand_over, possible, progress, results_lost_on_stop, show
    from subsalt_lab.launch_line import LaunchLine
    from subsalt_lab.pmpi import tables
    from subsalt_lab.pmpi.founding import table as founding_table
    from subsalt_lab.pmpi.run import profile as measure
    from subsalt_lab.pmpi.wrapper_run import profile_built_in
    from subsalt_lab.result import Result

    words, page = asked.command or [], asked.page
    possible(file, how)
    possible(page, how, "--page")
    if not words:
        raise wrong(
            "no program to profile",
            "put its launch line behind --: subsalt lab profile -- mpiexec -n 4 ./program",
        )
    if asked.built_in and (asked.sites or asked.mpi):
        raise wrong(
            f"--built-in with {'--sites' if asked.sites else '--mpi'}: a run that counts its own calls knows neither",
            "leave one of them out",
        )
    out = Out(as_json)
    # standard output is ours where a program reads it: of the profiled one everything goes to standard error then
    aside = as_json or how == "csv"
    with results_lost_on_stop(), Watch(LaunchLine.of(words).ranks or 1) as watch:
        stdout = sys.stderr if aside else None
        if asked.built_in:
            ran = profile_built_in(words, stdout=stdout, say=progress)
        else:
            ran = measure(words, sites=asked.sites, library=asked.mpi, stdout=stdout, say=progress)
    found = ran.profile
    result = Result(
        "mpi_profile",
        {"command": found.command, "mpi": found.mpi, "ranks": found.ranks, "sites": asked.sites},
        tables.calls_for_programs(found),
        UNITS,
        watch.facts(),
        [*found.notes, *filter(None, [watch.text()])],
        more={
            "mpi_percent": found.mpi_percent,
            "waiting_percent": found.waiting_percent,
            "calls": tables.calls_for_programs(found),
            "profile": found.to_dict(),
        },
    )
    heading = [] if how == "csv" else [f"{found.mpi}, {found.ranks} rank{'s' * (found.ranks != 1)}"]
    beside = [founding_table(found, how)] if asked.against_founding and how != "csv" else []
    show(out, result, [*heading, *tables.tables(found, how, sites=asked.sites), *beside], how)
    if page is not None:
        from subsalt_lab.pmpi import page as mpi_profile

        mpi_profile.write(found, page)
        out.say(f"page      {page}")
    hand_over(out, result, file)
    if ran.code:
        raise SystemExit(ran.code)
