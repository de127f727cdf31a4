"""`subsalt lab barriers`: audit the barriers of a program, try it without some of them, print the tables."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from subsalt.cli.output import Out, spread
from subsalt.errors import DataError, SubsaltError
from subsalt.host import usable_cores
from subsalt.machine.load import Watch
from subsalt.report.table import Column, render
from subsalt_lab.barriers import audit as attempt
from subsalt_lab.barriers.audit import ALL, UNITS, Site, chosen, read_sites, result_of, time_steps
from subsalt_lab.cli.commands import hand_over, possible, progress, results_lost_on_stop, show
from subsalt_lab.cli.lab import Json, Table, command
from subsalt_lab.external import checked_expression
from subsalt_lab.launch_line import ranks_of
from subsalt_lab.option_values import wrong
from subsalt_lab.outputs import FOLDER, Outputs
from subsalt_lab.pmpi import run as pmpi
from subsalt_lab.result import Result
from subsalt_lab.trials import FEWEST, Settings

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
    texts: list[str] = []
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
        texts.append(title(head) + render(result.rows, columns, how))
        if how != "csv":
            texts.append("\n".join(f"{r['number']} {r['place']}: {r['verdict']}" for r in result.rows))
    elif how != "csv":
        texts.append(f"barriers: {settings['command']}, {settings['ranks']} ranks, {settings['mpi']}: none")
    phases, trial = result.more.get("phases"), result.more.get("trial")
    if phases:
        text, steps = render(phases, PHASES, how), time_steps(phases)
        texts.append(
            title("by phase, mean over ranks") + text + (f"\n\n{steps}" if steps and how != "csv" else "")
        )
    if trial and trial["rows"]:
        texts.append(
            title("before and after: s summed over ranks, medians of rounds")
            + render(trial["rows"], TRIAL, how)
        )
    if trial and how != "csv":
        texts.append(trial["text"])
    return texts


@dataclass(frozen=True)
class BarrierOptions:
    """Options of `subsalt lab barriers`."""

    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND",
            help="Command that starts the program, with its launcher. {folder} in it stands for a folder of each run.",
        ),
    ] = None
    attempt: Annotated[
        str | None,
        typer.Option(
            "--try",
            metavar="LIST",
            help="Run the program with and without these barriers: numbers or names from the table, or all-candidates.",
        ),
    ] = None
    audit: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="FILE", readable=False, help="Result of an earlier audit (--out), for --try."
        ),
    ] = None
    rounds: Annotated[
        int,
        typer.Option(
            min=1,
            max=1000,
            help="Timed runs with the barriers, and without. At least 5 with --try.",
        ),
    ] = 10
    outputs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Files whose bytes must be the same with and without the barriers. Repeatable.",
            show_default="the printed output",
        ),
    ] = None
    ignore: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="Ignore the text that this regular expression matches in the printed output.",
        ),
    ] = None
    time_from: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="Read the run time from the printed output: the group of this regular expression.",
            show_default="wall-clock time",
        ),
    ] = None
    timeout: Annotated[
        float | None,
        typer.Option(
            min=1,
            metavar="SECONDS",
            help="Stop a run after this time.",
            show_default="10 times the first run, at least 20",
        ),
    ] = None
    mpi: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            readable=False,
            help="MPI library of the program.",
            show_default="found from the command",
        ),
    ] = None

    @property
    def launch(self) -> list[str]:
        """The launch line, empty when there is none."""
        return self.command or []

    @property
    def text(self) -> str:
        """The launch line, for a record; folders of launchers say much about a machine."""
        return shlex.join([Path(self.launch[0]).name, *self.launch[1:]])

    def settings(self) -> Settings:
        """Return the settings of trials, after everything that cannot be was refused.

        Raises
        ------
        ConfigError
            When options are missing or do not belong together (E128, E783).
        """
        if not self.launch:
            raise wrong(
                "there is no command", "give one: subsalt lab barriers -- mpiexec -n 2 PROGRAM ARGUMENTS"
            )
        if self.attempt is None:
            given = {
                "--from": self.audit,
                "--outputs": self.outputs,
                "--ignore": self.ignore,
                "--time-from": self.time_from,
            }
            for name, value in given.items():
                if value:
                    raise wrong(f"{name} belongs to --try", f"add --try {ALL}, or leave {name} out")
        elif self.rounds < FEWEST:
            raise wrong(
                f"--rounds {self.rounds}: an interval of the saving needs {FEWEST} at least",
                f"use {FEWEST} or more; 10 is the default",
            )
        if self.time_from is not None:
            checked_expression(self.time_from)
        return Settings(
            self.rounds,
            Outputs(self.outputs or [], self.ignore),
            ranks_of(self.launch),
            self.time_from,
            self.timeout,
        )


@command(
    "Find barriers of an MPI program that are not needed.",
    "subsalt lab barriers -- mpiexec -n 2 program input",
    "subsalt lab barriers --try all-candidates -- mpiexec -n 2 program input",
    "subsalt lab barriers --from audit.json --try 1,3 -- mpiexec -n 2 program",
)
@spread
def barriers(
    options: BarrierOptions,
    table: Table = "text",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", readable=False, metavar="FILE", help="File for the result (JSON)."),
    ] = None,
    json: Json = False,
) -> None:
    """Find out which barriers of an MPI program are needed.

    With --try the program also runs without some of them: its results are compared, and the time saved is measured.
    """
    _audit(options, table, out, json)


def _audit(request: BarrierOptions, how: str, file: Path | None, as_json: bool) -> None:
    """Audit the barriers of a program, and try it without some of them."""
    possible(file, how)
    settings = request.settings()
    stored = read_sites(request.audit) if request.audit is not None else None
    out = Out(as_json)
    with results_lost_on_stop():
        if stored is None:
            # standard output is ours where a program reads it
            result, sites = _audited(request, settings, aside=as_json or how == "csv")
        else:
            result, sites = _from_sites(request, settings, stored), stored
        if request.attempt is not None:
            _tried(request, settings, result, sites)
    show(out, result, tables(result, how), how)
    trial = result.more["trial"]
    if trial and not trial["identical"]:
        hand_over(Out(), result, file)
        raise _different(trial)
    hand_over(out, result, file)


def _audited(request: BarrierOptions, settings: Settings, aside: bool) -> tuple[Result, list[Site]]:
    """Run the program once with all its barriers."""
    with (
        Watch(min(settings.ranks or 1, usable_cores())) as watch,
        tempfile.TemporaryDirectory(prefix="subsalt-audit-") as folder,
    ):
        ran = pmpi.profile(
            [w.replace(FOLDER, folder) for w in request.launch],
            library=request.mpi,
            stdout=sys.stderr if aside else None,
            timeout=request.timeout,
            say=progress,
        )
    return result_of(ran.profile, watch, request.text)


def _from_sites(request: BarrierOptions, settings: Settings, sites: Sequence[Site]) -> Result:
    """Return the result that a trial on the sites of an audit that was kept is added to."""
    chosen(request.attempt or ALL, sites)
    with Watch(1) as watch:
        pass
    return Result(
        "barriers",
        {"command": request.text, "mpi": "of the kept audit", "ranks": settings.ranks or 1},
        [s.row(0.0) for s in sites],
        UNITS,
        watch.facts(),
        more={"phases": [], "trial": None},
    )


def _tried(request: BarrierOptions, settings: Settings, result: Result, all_sites: Sequence[Site]) -> None:
    """Add the trial to the result of the audit."""
    assert request.attempt is not None
    sites = chosen(request.attempt, all_sites)
    if not sites:
        result.notes = [*result.notes, f"no candidate among {len(all_sites)} sites: nothing was tried"]
        return
    for s in sites:
        if s.kind == "keep":
            progress(f"site {s.number} is to be kept: {s.judgement.reason}; it is tried all the same")
    tried = attempt.attempt(request.launch, sites, settings, library=request.mpi, say=progress)
    result.more = {**result.more, "trial": tried.to_dict()}
    result.load = tried.trials.load
    notes = [n for n in result.notes if not n.startswith("noisy")]
    if tried.bound is not None:
        notes.append(f"upper bound of the saving, by the barriers of the trial: {tried.bound:.3g} s, median")
    if tried.trials.load.get("noisy"):
        notes.append("noisy: others used the processor during the trial; repeat it on a quiet machine")
    result.notes = notes


def _different(trial: Mapping[str, Any]) -> SubsaltError:
    first, more = trial["differences"][0], len(trial["differences"]) - 1
    return DataError(
        f"without the barriers of {', '.join(trial['sites'])} the outputs differ: {first['name']}: {first['what']}"
        + (f", and {more} more" if more else ""),
        "these barriers are needed: keep them",
        code="E926",
    )
