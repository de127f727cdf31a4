"""`subsalt lab collectives`: measure, decide, draw, write what this MPI loads, prove it, verify it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from subsalt.cli.output import Out, plain, printable, spread
from subsalt.errors import DiskError
from subsalt.host import usable_cores
from subsalt.io.publish import publish_text
from subsalt.machine.launcher import Launcher
from subsalt.report.table import Column, render
from subsalt_lab.cli.commands import hand_over, possible, progress, results_lost_on_stop, show
from subsalt_lab.cli.lab import Json, Table, command
from subsalt_lab.collectives import hint_programs, io_hints, proof, tuning, writers
from subsalt_lab.collectives import request as requests
from subsalt_lab.collectives import verify as verification
from subsalt_lab.collectives.choice import Algorithm
from subsalt_lab.collectives.io_hints import HintTimes
from subsalt_lab.collectives.knobs import Threads
from subsalt_lab.collectives.request import LEAST_SHARE, Heavy, TuningRequest, heavy, wanted
from subsalt_lab.collectives.tuning import Tuning
from subsalt_lab.collectives.writers import TuningFiles
from subsalt_lab.external import checked_expression
from subsalt_lab.launch_line import LaunchLine
from subsalt_lab.option_values import choices, wrong
from subsalt_lab.outputs import Outputs
from subsalt_lab.pmpi.mpi_in_use import MpiInUse
from subsalt_lab.pmpi.records import load
from subsalt_lab.pmpi.run import mpi_of
from subsalt_lab.trials import FEWEST, Settings

#: seconds that a start may take when nothing is asked for
TIMEOUT = 600.0

HEAVY = (
    Column("collective", "collective"),
    Column("ranks", "ranks", "d"),
    Column("bytes", "mean bytes", ",d"),
    Column("share", "% of wall", ".1f", 100),
)


@dataclass(frozen=True)
class CollectiveOptions:
    """Options of `subsalt lab collectives`."""

    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND",
            help="Command that starts an MPI program. It runs with and without the new choices, alternately.",
        ),
    ] = None
    np: Annotated[
        list[str] | None,
        typer.Option(
            "--np",
            metavar="LIST",
            help="Numbers of ranks, such as 2,4.",
            show_default="one rank on each core",
        ),
    ] = None
    sizes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SIZES",
            help="Message sizes of a rank in bytes: 8:4M (factors of 4), 8:4M:2 (factors of 2) or 8,1K,1M.",
            show_default="8:4M",
        ),
    ] = None
    collectives: Annotated[
        list[str] | None,
        typer.Option(
            "--collectives",
            metavar="LIST",
            help="Some of allreduce, reduce, bcast, allgather, alltoall and barrier.",
            show_default="all",
        ),
    ] = None
    from_profile: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            readable=False,
            help="Measure only collectives that take more than 1 % of the time in this profile (lab profile --out).",
        ),
    ] = None
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Measure sizes 8:512K by factors of 16 in 3 starts: about half a minute."
        ),
    ] = False
    rounds: Annotated[
        int, typer.Option(min=15, max=1000, help="Measurements of each algorithm in a start.")
    ] = 15
    starts: Annotated[
        int | None,
        typer.Option(
            min=3, max=100, help="Number of times the ranks are started.", show_default="5, with --quick 3"
        ),
    ] = None
    thread_level: Annotated[
        str,
        typer.Option(
            metavar="LEVEL",
            help="MPI thread level of the program: multiple (as mpi4py and subsalt request) or single.",
        ),
    ] = "multiple"
    oversubscribe_ok: Annotated[
        bool,
        typer.Option(
            "--oversubscribe-ok",
            help="Allow more ranks than idle cores. The result is not written as a choice.",
        ),
    ] = False
    folder: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            readable=False,
            help="Folder for the pictures and for the files that choose algorithms.",
        ),
    ] = Path("collectives")
    as_variables: Annotated[
        bool,
        typer.Option(
            "--as-variables", help="Write environment variables for all sizes and ranks instead of a file."
        ),
    ] = False
    built_in_operations: Annotated[
        bool,
        typer.Option(
            "--built-in-operations",
            help="The program uses only built-in reduction operations; do not check others.",
        ),
    ] = False
    apply: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            readable=False,
            help="Measure nothing; run COMMAND with the choices in this folder, and without.",
        ),
    ] = None
    runs: Annotated[
        int, typer.Option(min=1, max=1000, help="Runs of COMMAND with the choices, and without.")
    ] = 10
    outputs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Files of COMMAND whose contents must agree. Repeatable.",
            show_default="its printed output",
        ),
    ] = None
    ignore: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="Ignore the text that this regular expression matches in the printed output.",
        ),
    ] = None
    tolerance: Annotated[
        float,
        typer.Option(
            min=0.0, help="Largest relative difference of numbers in the outputs that counts as equal."
        ),
    ] = 0.0
    time_from: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="Read the run time from the output of COMMAND: the group of this regular expression.",
            show_default="wall-clock time",
        ),
    ] = None
    io_hints: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            readable=False,
            help="Find hints for MPI-IO on files of the size of this one, instead of algorithms.",
        ),
    ] = None
    mpi: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            readable=False,
            help="MPI library of the programs.",
            show_default="found from the command",
        ),
    ] = None
    launcher: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS",
            help='Words that start the ranks, such as "srun --mpi=pmi2" or "mpiexec -n {ranks} -ppn 4".',
            show_default="mpiexec of this environment",
        ),
    ] = None
    timeout: Annotated[
        float | None,
        typer.Option(min=1, metavar="SECONDS", help="Stop a start after this time.", show_default="600"),
    ] = None

    @property
    def launch(self) -> list[str]:
        """The launch line of a program, empty when there is none."""
        return self.command or []

    def check(self) -> None:
        """Refuse options that do not belong together.

        Raises
        ------
        ConfigError
            E128; E783 for a bad --time-from.
        """
        others: dict[str, object] = {
            "--from-profile": self.from_profile,
            "--sizes": self.sizes,
            "--collectives": self.collectives,
            "--apply": self.apply,
        }
        if self.io_hints is not None:
            for option, value in {**others, "a command": self.launch}.items():
                if value:
                    raise wrong(f"{option} and --io-hints: hints are searched alone", f"leave out {option}")
        if self.apply is not None:
            for option, value in {"--np": self.np, **others}.items():
                if value and option != "--apply":
                    raise wrong(f"{option} and --apply: nothing is measured then", f"leave out {option}")
            if not self.launch:
                raise wrong("--apply without a command", "add -- mpiexec -n 4 PROGRAM ARGUMENTS")
        if not self.launch:
            wanting: dict[str, object] = {
                "--outputs": self.outputs,
                "--ignore": self.ignore,
                "--tolerance": self.tolerance,
                "--time-from": self.time_from,
            }
            for option, value in wanting.items():
                if value:
                    raise wrong(f"{option} without a command", "add -- mpiexec -n 4 PROGRAM ARGUMENTS")
        elif self.runs < FEWEST:
            raise wrong(
                f"--runs {self.runs}: an interval of the saving needs {FEWEST} at least",
                f"use {FEWEST} or more; {verification.ROUNDS} is the default",
            )
        if self.time_from is not None:
            checked_expression(self.time_from)

    def request(self) -> tuple[TuningRequest, list[Heavy] | None]:
        """Return what is measured, and with a profile what of it takes time.

        Raises
        ------
        ConfigError
            When options ask for what cannot be, or do not belong together (E128).
        """
        names = requests.collectives_of(self.collectives)
        threads = cast(
            "Threads", choices("--thread-level", [self.thread_level], ("multiple", "single"), ())[0]
        )
        places: list[Heavy] | None = None
        if self.from_profile is not None:
            for option, value in (("--np", self.np), ("--sizes", self.sizes)):
                if value is not None:
                    raise wrong(
                        f"{option} and --from-profile: the profile says which ranks and sizes",
                        f"leave out {option}, or the profile",
                    )
            places = [h for h in heavy(load(self.from_profile)) if h.collective in names]
            what = wanted(places)
        else:
            sizes = self.sizes or [requests.QUICK_SIZES if self.quick else requests.SIZES]
            ranks = requests.ranks_of(self.np, usable_cores())
            what = requests.everything(ranks, names, requests.sizes_of(sizes))
        request = TuningRequest(
            what,
            self.rounds,
            self.starts or (requests.LEAST_STARTS if self.quick else 5),
            threads,
            self.oversubscribe_ok,
            self.timeout or TIMEOUT,
        )
        return request, places


@command(
    "Find the fastest algorithm of each MPI collective.",
    "subsalt lab collectives --np 2,4 --sizes 8:4M",
    "subsalt lab collectives --from-profile p.json -- mpiexec -n 4 program",
    "subsalt lab collectives --apply collectives -- mpiexec -n 4 program",
    "subsalt lab collectives --io-hints /scratch/model.rsf --np 4",
)
@spread
def collectives(
    given: CollectiveOptions,
    table: Table = "text",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            readable=False,
            help="File for the result (JSON) with every measurement.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Time every algorithm that the MPI library has for its collectives, and write a faster choice.

    An algorithm is chosen only if the 95 % confidence interval of its speed-up lies above 1.05, corrected for the
    number of algorithms, and if a neighbouring size agrees. The command then proves that the library uses the written
    choice and that sums are right.
    """
    _collectives(given, table, out, json)


def _collectives(given: CollectiveOptions, how: str, file: Path | None, as_json: bool) -> None:
    """Measure, decide, draw, write, prove, verify; or one of the other two searches."""
    possible(file, how)
    given.check()
    if given.io_hints is not None:
        _hints(given, given.io_hints, how, file, as_json)
        return
    if given.apply is not None:
        _apply(given, given.apply, how, file, as_json)
        return
    request, places = given.request()
    _folder(given.folder)
    out = Out(as_json)
    if places is not None:
        _say_places(out, places, how)
        if not places:
            out.json({"measurement": "collectives", "rows": [], "choices": [], "notes": [NOTHING]})
            return
    mpi = mpi_for(given.launch, given.launcher, given.mpi)
    with results_lost_on_stop():
        result = tuning.tune(mpi, request, writable=_writable(mpi), say=progress)
    show(out, result, [render(result.rows, tuning.COLUMNS, how)], how)
    for path in _pictures(result, given.folder):
        progress(f"picture   {printable(str(path))}")
    # what was measured is kept before anything else can go wrong
    _keep(file, result.to_dict())
    more = _brought_about(given, mpi, result, out, how) if result.applicable else {}
    if more:
        _keep(file, result.to_dict() | more)
    out.json(plain(result.short() | more))


def _keep(file: Path | None, content: dict[str, Any]) -> None:
    if file is not None:
        publish_text(file, json.dumps(plain(content), allow_nan=False) + "\n")


def _writable(mpi: MpiInUse) -> Callable[[Algorithm], str]:
    """Return what says why an algorithm cannot be written for this MPI; asked once for each."""
    known: dict[tuple[str, str], str] = {}

    def why_not(algorithm: Algorithm) -> str:
        key = algorithm.collective, algorithm.name
        if key not in known:
            known[key] = writers.writable(mpi, algorithm)
        return known[key]

    return why_not


def _brought_about(
    given: CollectiveOptions, mpi: MpiInUse, result: Tuning, out: Out, how: str
) -> dict[str, Any]:
    """Write the switches, prove that the MPI takes them, run the program with and without; return what came of it."""
    written = writers.write(
        mpi, result.choices, given.folder, threads=given.thread_level, as_variables=given.as_variables
    )
    outcome = proof.proven_and_safe(mpi, written, progress, built_in_only=given.built_in_operations)
    if how != "csv" and not (outcome.written.empty and not outcome.removed):
        out.say()
        for line in outcome.lines():
            out.say(line)
    more: dict[str, Any] = {"written": outcome.to_dict()}
    if given.launch and not outcome.written.empty:
        verdict = _verified(given, outcome.written)
        _say_verdict(out, verdict, how)
        more["verified"] = verification.result_of(given.launch, outcome.written, verdict).to_dict()
    elif given.launch and how != "csv":
        out.say("nothing is switched: the command was not run")
    return more


def _verified(given: CollectiveOptions, written: TuningFiles) -> verification.ProgramVerdict:
    settings = Settings(
        rounds=given.runs,
        outputs=Outputs(tuple(given.outputs or ()), given.ignore),
        time_from=given.time_from,
        timeout=given.timeout,
        oversubscribed_ok=given.oversubscribe_ok,
    )
    return verification.verify(given.launch, written, settings, tolerance=given.tolerance, say=progress)


def _say_verdict(out: Out, verdict: verification.ProgramVerdict, how: str) -> None:
    if how != "csv":
        out.say()
        for line in verdict.lines():
            out.say(line)


def _apply(given: CollectiveOptions, folder: Path, how: str, file: Path | None, as_json: bool) -> None:
    """Run a program with what an earlier measurement wrote, and without."""
    written = writers.read(folder)
    out = Out(as_json)
    with results_lost_on_stop():
        outcome = proof.proven(mpi_for(given.launch, given.launcher, given.mpi), written, progress)
    if how != "csv":
        for line in outcome.lines():
            out.say(line)
    verdict = _verified(given, written)
    _say_verdict(out, verdict, how)
    result = verification.result_of(given.launch, written, verdict)
    hand_over(out, result, file)


def _hints(given: CollectiveOptions, like: Path, how: str, file: Path | None, as_json: bool) -> None:
    """Search hints of MPI-IO."""
    request = hint_programs.HintRequest(
        like,
        requests.ranks_of(given.np, usable_cores())[-1],
        given.folder,
        hint_programs.LEAST_ROUNDS if given.quick else hint_programs.ROUNDS,
        oversubscribe=given.oversubscribe_ok,
        timeout=given.timeout or hint_programs.HintRequest.timeout,
    )
    hints(mpi_for((), given.launcher, given.mpi), request, how, file, as_json)


NOTHING = f"no collective takes more than {LEAST_SHARE:.0%} of the time of that program: nothing to tune"


def _say_places(out: Out, places: list[Heavy], how: str) -> None:
    """Print what of the profile is tuned."""
    if how == "csv":
        return
    if not places:
        out.say(NOTHING)
        return
    out.say("collectives of the profile; waiting for late ranks is in their share, which no algorithm saves")
    rows = [
        {"collective": h.collective, "ranks": h.ranks, "bytes": h.nbytes, "share": h.share} for h in places
    ]
    out.say(render(rows, HEAVY, how))
    out.say()


def _folder(folder: Path) -> None:
    """Refuse a folder that cannot be written, before anything is measured."""
    there = folder.absolute()
    while not there.exists():
        there = there.parent
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise DiskError(f"{folder} cannot be made", "give another folder with --folder", code="E620")


def _pictures(result: Tuning, folder: Path) -> list[Path]:
    """Draw the result; returns the files."""
    if not result.rows:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    s = result.settings
    marked = "" if result.applicable else " · measured under load: never applied"
    about = f"{s['mpi']} · {result.machine['cpu']} · {s['starts']} starts of {s['rounds']} rounds{marked}"
    return tuning.collective_pictures(result.rows, folder, about)


def mpi_for(command: Sequence[str], launcher: str | None, library: Path | None = None) -> MpiInUse:
    """Return the MPI of a command, or of this Python without one.

    Parameters
    ----------
    command : sequence of str
        A launch line.
    launcher : str, optional
        Launcher of the programs of the lab; that of the command when left out.
    library : path, optional
        The libmpi, where it is not found.
    """
    if not command:
        return MpiInUse.find(launcher, library=library) if library else MpiInUse.find(launcher)
    mpi = mpi_of(LaunchLine.of(list(command)), library)
    return replace(mpi, launcher=Launcher.find(launcher)) if launcher is not None else mpi


HINT_COLUMNS = (
    Column("hints", "hints"),
    Column("write_slabs", "write slabs s", ".4g"),
    Column("read_slabs", "read slabs s", ".4g"),
    Column("write_columns", "write columns s", ".4g"),
    Column("read_columns", "read columns s", ".4g"),
    Column("ours_write", "subsalt's own write s", ".4g"),
    Column("total", "all s", ".4g"),
    Column("ratio", "default / this", ".2f"),
    Column("interval", "95 % interval"),
    Column("verdict", "verdict"),
)


def hints(
    mpi: MpiInUse, request: hint_programs.HintRequest, how: str, file: Path | None, as_json: bool
) -> HintTimes | None:
    """Search hints of MPI-IO, print the table, write and prove what is faster; return it."""
    possible(file, how)
    out = Out(as_json)
    with results_lost_on_stop():
        compared, load, notes = io_hints.measure(mpi, request, say=progress)
        chosen = next((c for c in compared if c.switch), None)
        if load["noisy"] and chosen is not None:
            notes.append("nothing is written: others used the machine, or ranks took turns on cores")
            chosen = None
        environment, files = io_hints.write(mpi, request, chosen)
    hint_notes = hint_lines(chosen, environment, files)
    result = io_hints.result_of(mpi, request, compared, load, [*notes, *hint_notes])
    result.settings = {**result.settings, "environment": environment}
    show(out, result, [render(result.rows, HINT_COLUMNS, how)], how)
    hand_over(out, result, file)
    return chosen


def hint_lines(chosen: HintTimes | None, environment: dict[str, str], files: Sequence[Path]) -> list[str]:
    """Return the lines about hints for the user."""
    own = "subsalt itself writes by positioned writes, not by MPI-IO: hints are for other programs"
    if chosen is None:
        return ["no change: no hints are significantly faster than the library's own", own]
    lines = [f"{chosen.hints.name}: what came back is what was asked, {dict(chosen.came_back)}"]
    lines += [f"written: {f}" for f in files]
    return [*lines, *(f"export {n}={v}" for n, v in environment.items()), own]
