"""`subsalt lab profile`: run the program under the interposer, print, keep the result.

The four published cases of a reservoir simulator on about 500 cores, before its barriers were removed.

Run a command of ours that profiles itself, and read what it leaves.
"""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from subsalt.cli.output import spread
from subsalt.errors import SubsaltError
from subsalt.machine import programs
from subsalt.parallel.mpi_library import COUNTING
from subsalt.report.table import Column, render
from subsalt_lab.cli.lab import Json, Table, command
from subsalt_lab.launch_line import LaunchLine
from subsalt_lab.pmpi.records import MpiProfile
from subsalt_lab.pmpi.run import Profiled, programs_name, warnings_of
from subsalt_lab.pmpi.tables import clock, whole_rows
from subsalt_lab.result import Say

#: how exact the seconds are
NOTE = (
    "times are those of mpi4py's methods less what these take by themselves: calls below a microsecond look up to a "
    "third too long"
)


def profile_built_in(
    words: Sequence[str],
    *,
    stdout: IO[str] | None = None,
    timeout: float | None = None,
    say: Say = lambda text: None,
) -> Profiled:
    """Run a launch line of ``subsalt migrate``, ``model`` or ``reimage`` with its built-in profile, and return that.

    Parameters
    ----------
    words : sequence of str
        Such as ``["mpiexec", "-n", "4", "subsalt", "migrate", "job.toml"]``.
    stdout : file, optional
        Where its standard output goes; that of this process when left out.
    timeout : float, optional
        Seconds after which it is ended.
    say : callable
        Callback for notes to the user before it runs.

    Raises
    ------
    SubsaltError
        When the program fails (E907), or does not profile itself (E911).
    """
    line = LaunchLine.of(words)
    notes = [*warnings_of(line), NOTE]
    for text in notes[:-1]:
        say(text)
    # rank 0 may run on another node: beside the working folder, which all nodes see
    with tempfile.TemporaryDirectory(prefix=".subsalt-profile-", dir=Path.cwd()) as folder:
        out = Path(folder, "profile.json")
        given, environment = line.with_variables({COUNTING: str(out)})
        ended = programs.watch(
            given, what=programs_name(line), extra=environment, stdout=stdout, timeout=timeout
        )
        if ended.code:
            error = SubsaltError(
                f"no profile: {programs_name(line)} {ended.how}",
                "let the program come to its end by itself",
                "E907",
            )
            error.exit_code = ended.code
            raise error
        if not out.exists():
            raise SubsaltError(
                f"no profile: {programs_name(line)} does not make its own; migrate, model and reimage do",
                "leave --built-in out: the interposer profiles any MPI program, where a C compiler is",
                code="E911",
            )
        profiled = MpiProfile.from_dict(json.loads(out.read_text("utf-8")))
    command = shlex.join([Path(words[0]).name, *words[1:]])
    return Profiled(replace(profiled, command=command, notes=tuple(notes)), ended.seconds)


#: case, ranks, wall s, in MPI s; barriers: s over ranks, calls over ranks
CASES = (
    ("published simulator, case 1", 500, 12505, 4098, 303303.55, 421693313),
    ("published simulator, case 2", 500, 4672, 1784, 260468.63, 761836748),
    ("published simulator, case 3", 490, 11553, 5152, 1125990.74, 286070005),
    ("published simulator, case 4", 500, 22171, 7480, 1315744.11, 1514059234),
)
COLUMNS = (
    Column("case", "case"),
    Column("ranks", "ranks", "d"),
    Column("wall_text", "wall"),
    Column("mpi_text", "MPI time"),
    Column("mpi_percent", "MPI %", ".2f"),
    Column("barrier_seconds", "barriers s, all ranks", ",.2f"),
    Column("barrier_part", "% of MPI", ".2f"),
    Column("barrier_wall", "% of wall", ".2f"),
    Column("barrier_calls", "calls", ",d"),
    Column("barrier_us", "us a call", ",.1f"),
)


def _row(
    case: str, ranks: int, wall: float, in_mpi: float, barrier_seconds: float, barrier_calls: int
) -> dict[str, Any]:
    over_ranks = in_mpi * ranks
    return {
        "case": case,
        "ranks": ranks,
        "wall": wall,
        "wall_text": clock(wall),
        "mpi_seconds": in_mpi,
        "mpi_text": clock(in_mpi),
        "mpi_percent": 100 * in_mpi / wall if wall > 0 else 0.0,
        "barrier_seconds": barrier_seconds,
        "barrier_part": 100 * barrier_seconds / over_ranks if over_ranks > 0 else 0.0,
        "barrier_wall": 100 * barrier_seconds / (wall * ranks) if wall > 0 else 0.0,
        "barrier_calls": barrier_calls,
        "barrier_us": 1e6 * barrier_seconds / barrier_calls if barrier_calls else None,
    }


def rows(profile: MpiProfile | None = None) -> list[dict[str, Any]]:
    """Return the document's cases, and a profile below them: T1 beside the barriers' row of T2.

    Parameters
    ----------
    profile : MpiProfile, optional
        Profile of a program of today.
    """
    table = [_row(*case) for case in CASES]
    if profile is not None:
        barriers = [r for r in profile.by_call() if r.call == "MPI_Barrier"]
        seconds, calls = sum(r.seconds for r in barriers), sum(r.calls for r in barriers)
        name = whole_rows(profile)[0]["case"]
        table.append(_row(name, profile.ranks, profile.mean_wall, profile.mpi_time, seconds, calls))
    return table


def founding_table(profile: MpiProfile, how: str) -> str:
    """Return the table, as text, Markdown or CSV."""
    return f"Published profiles of a reservoir simulator, and this program\n{render(rows(profile), COLUMNS, how)}"


#: units of the columns of a profile
UNITS = {
    "seconds": "s, summed over ranks",
    "bytes": "B, summed over ranks",
    "mean": "s",
    "least_rank": "s",
    "most_rank": "s",
}


@dataclass(frozen=True)
class ProfileOptions:
    """Options of `subsalt lab profile`."""

    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND", help="Command that starts the program, with its launcher."),
    ] = None
    sites: Annotated[
        bool,
        typer.Option(
            "--sites", help="Distinguish calls by their place in the source: file:line or program+offset."
        ),
    ] = False
    mpi: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            readable=False,
            help="MPI library of the program.",
            show_default="found from the command",
        ),
    ] = None
    built_in: Annotated[
        bool,
        typer.Option(
            "--built-in",
            help="Let subsalt count its own calls in migrate, model or reimage. This needs no compiler.",
        ),
    ] = False
    page: Annotated[
        Path | None,
        typer.Option(metavar="FILE", readable=False, help="HTML file for the profile with pictures."),
    ] = None
    against_founding: Annotated[
        bool,
        typer.Option(
            "--against-founding", help="Also print the four profiles of a published study, for comparison."
        ),
    ] = False


@command(
    "Profile the MPI calls of any program.",
    "subsalt lab profile -- mpiexec -n 4 ./program input",
    "subsalt lab profile --sites -o p.json -- mpiexec -n 2 subsalt migrate a.toml",
)
@spread
def profile(
    options: ProfileOptions,
    table: Table = "text",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", readable=False, metavar="FILE", help="File for the result (JSON)."),
    ] = None,
    json: Json = False,
) -> None:
    """Profile the MPI calls of a program without rebuilding it: time, calls, bytes, sizes, phases and files.

    The output of the program is printed before the tables (with --json on standard error). Its exit code is returned.
    """
    _profile(options, table, out, json)


def _profile(options: ProfileOptions, how: str, file: Path | None, as_json: bool) -> None:
    """Profile a launch line."""
    from subsalt.cli.output import Out
    from subsalt.machine.load import Watch
    from subsalt_lab.cli.commands import hand_over, possible, progress, results_lost_on_stop, show
    from subsalt_lab.launch_line import LaunchLine
    from subsalt_lab.option_values import wrong
    from subsalt_lab.pmpi import tables
    from subsalt_lab.pmpi.run import profile as measure
    from subsalt_lab.result import Result

    words, page = options.command or [], options.page
    possible(file, how)
    possible(page, how, "--page")
    if not words:
        raise wrong(
            "no program to profile",
            "put its launch line behind --: subsalt lab profile -- mpiexec -n 4 ./program",
        )
    if options.built_in and (options.sites or options.mpi):
        raise wrong(
            f"--built-in with {'--sites' if options.sites else '--mpi'}: a run that counts its own calls knows neither",
            "leave one of them out",
        )
    out = Out(as_json)
    # standard output is ours where a program reads it: of the profiled one everything goes to standard error then
    aside = as_json or how == "csv"
    with results_lost_on_stop(), Watch(LaunchLine.of(words).ranks or 1) as watch:
        stdout = sys.stderr if aside else None
        if options.built_in:
            ran = profile_built_in(words, stdout=stdout, say=progress)
        else:
            ran = measure(words, sites=options.sites, library=options.mpi, stdout=stdout, say=progress)
    profiled = ran.profile
    result = Result(
        "mpi_profile",
        {"command": profiled.command, "mpi": profiled.mpi, "ranks": profiled.ranks, "sites": options.sites},
        tables.calls_for_programs(profiled),
        UNITS,
        watch.facts(),
        [*profiled.notes, *filter(None, [watch.text()])],
        more={
            "mpi_percent": profiled.mpi_percent,
            "waiting_percent": profiled.waiting_percent,
            "calls": tables.calls_for_programs(profiled),
            "profile": profiled.to_dict(),
        },
    )
    heading = [] if how == "csv" else [f"{profiled.mpi}, {profiled.ranks} rank{'s' * (profiled.ranks != 1)}"]
    beside = [founding_table(profiled, how)] if options.against_founding and how != "csv" else []
    show(out, result, [*heading, *tables.tables(profiled, how, sites=options.sites), *beside], how)
    if page is not None:
        from subsalt_lab.pmpi import page as mpi_profile

        mpi_profile.write(profiled, page)
        out.say(f"page      {page}")
    hand_over(out, result, file)
    if ran.code:
        raise SystemExit(ran.code)
