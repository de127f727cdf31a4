"""What `subsalt lab collectives` does with choices: write, prove, check, verify; and the search for hints of MPI-IO."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from subsalt.cli.output import Out
from subsalt.machine.launcher import Launcher
from subsalt.report.table import Column, render
from subsalt_lab.asked import wrong
from subsalt_lab.cli.commands import hand_over, possible, progress, results_lost_on_stop, show
from subsalt_lab.collectives import io_hints, known_calls, prove, writers
from subsalt_lab.collectives.hint_programs import Request
from subsalt_lab.collectives.io_hints import Compared
from subsalt_lab.collectives.known_calls import Removed
from subsalt_lab.collectives.writers import Written
from subsalt_lab.launch_line import LaunchLine
from subsalt_lab.pmpi.mpi_in_use import MpiInUse
from subsalt_lab.pmpi.run import mpi_of
from subsalt_lab.result import Say


@dataclass(frozen=True)
class Outcome:
    """What was written, and what is known of it.

    Parameters
    ----------
    written : Written
        Files and variables of the choices that are left.
    tried : tuple of str
        Calls that were shown to come to them.
    checked : int
        Calls with right answers under them.
    removed : tuple of Removed
        Choices that were wrong somewhere.
    """

    written: Written
    tried: tuple[str, ...] = ()
    checked: int = 0
    removed: tuple[Removed, ...] = ()

    def lines(self) -> list[str]:
        """Return what a person is told."""
        out = [
            f"taken out: {r.choice.collective} by {r.choice.algorithm.name} on {r.choice.comm_size} ranks: {r.reason}"
            for r in self.removed
        ]
        if not self.written.empty:
            calls = f"{len(self.tried)} call{'s' * (len(self.tried) != 1)}"
            out.append(f"proven: {calls} came to a mine in what was written, so this MPI uses it")
            if self.checked:
                out.append(f"safe: {self.checked} calls at every edge gave the right answer")
            out += [f"note: {n}" for n in self.written.notes]
        return [*out, self.written.how_to_use()]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return self.written.to_dict() | {
            "folder": str(self.written.folder),
            "proven": list(self.tried),
            "checked": self.checked,
            "removed": [{"choice": r.choice.to_dict(), "reason": r.reason} for r in self.removed],
        }


def proven_and_safe(mpi: MpiInUse, written: Written, say: Say, *, built_in_only: bool = False) -> Outcome:
    """Take out what is not safe of what was written, and show that the MPI uses the rest.

    Parameters
    ----------
    mpi : MpiInUse
        Which MPI.
    written : Written
        Choices of the sweep; none is a result too.
    say : callable
        Told about progress.
    built_in_only : bool
        Programs reduce by built-in operations only.

    Raises
    ------
    DeviceError
        When the MPI does not use what was written (E942), or cannot be told (E940); then nothing stays.
    """
    if written.empty:
        return Outcome(written)
    try:
        prove.refuse_no_start(mpi, written)
        found = known_calls.safety(mpi, written, built_in_only=built_in_only, say=say)
        # what is left after that is proven: right answers of a file that nobody reads prove nothing
        proof = prove.Proof(True, ())
        if not found.written.empty:
            proof = prove.prove(mpi, found.written, say=say)
    except BaseException:
        # what is not known to be used and to be right is nobody's
        writers.remove(written.folder)
        raise
    return Outcome(found.written, proof.tried, found.checked, found.removed)


def mpi_for(command: Sequence[str], launcher: str | None, library: Path | None = None) -> MpiInUse:
    """Return the MPI of a command, or of this Python without one.

    Parameters
    ----------
    command : sequence of str
        A launch line.
    launcher : str, optional
        Of the programs of the lab; that of the command when left out.
    library : path, optional
        The libmpi, where it is not found.
    """
    if not command:
        return MpiInUse.find(launcher, library=library) if library else MpiInUse.find(launcher)
    mpi = mpi_of(LaunchLine.of(list(command)), library)
    return replace(mpi, launcher=Launcher.find(launcher)) if launcher is not None else mpi


def proven(mpi: MpiInUse, written: Written, say: Say) -> Outcome:
    """Show that an MPI uses what an earlier measurement wrote.

    Raises
    ------
    ConfigError
        When it was written for another one (E128).
    DeviceError
        When it is not used (E942).
    """
    if written.empty:
        return Outcome(written)
    if mpi.family != written.family:
        raise wrong(
            f"{written.folder} was written for an MPI of the family {written.family}, this is {mpi.name}",
            "measure with the MPI of the program, and use another --folder",
        )
    return Outcome(written, prove.prove(mpi, written, say=say).tried)


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


def hints(mpi: MpiInUse, request: Request, how: str, file: Path | None, as_json: bool) -> Compared | None:
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
    told = hint_lines(chosen, environment, files)
    result = io_hints.result_of(mpi, request, compared, load, [*notes, *told])
    result.settings = {**result.settings, "environment": environment}
    show(out, result, [render(result.rows, HINT_COLUMNS, how)], how)
    hand_over(out, result, file)
    return chosen


def hint_lines(chosen: Compared | None, environment: dict[str, str], files: Sequence[Path]) -> list[str]:
    """Return what a person is told about hints."""
    own = "subsalt itself writes by positioned writes, not by MPI-IO: hints are for other programs"
    if chosen is None:
        return ["no change: no hints are significantly faster than the library's own", own]
    lines = [f"{chosen.hints.name}: what came back is what was asked, {dict(chosen.came_back)}"]
    lines += [f"written: {f}" for f in files]
    return [*lines, *(f"export {n}={v}" for n, v in environment.items()), own]
