"""What `subsalt lab barriers` does: the audit, trials without barriers, tables, the result."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt.cli.output import Out
from subsalt.errors import DataError, SubsaltError
from subsalt.host import usable_cores
from subsalt.machine.load import Watch
from subsalt_lab.asked import wrong
from subsalt_lab.barriers import attempt
from subsalt_lab.barriers.audit import UNITS, Site, result_of
from subsalt_lab.barriers.chosen import ALL, chosen, read_sites
from subsalt_lab.cli.barriers import tables
from subsalt_lab.cli.commands import hand_over, possible, progress, results_lost_on_stop, show
from subsalt_lab.external import checked_expression
from subsalt_lab.launch_line import ranks_of
from subsalt_lab.outputs import FOLDER, Outputs
from subsalt_lab.pmpi import run as pmpi
from subsalt_lab.result import Result
from subsalt_lab.trials import FEWEST, Settings


@dataclass(frozen=True)
class Request:
    """What the command line asks for; the names are those of the options."""

    command: Sequence[str]
    attempt: str | None = None
    audit: Path | None = None
    rounds: int = 10
    outputs: Sequence[str] = ()
    ignore: str | None = None
    time_from: str | None = None
    timeout: float | None = None
    mpi: Path | None = None

    @property
    def text(self) -> str:
        """The launch line, for a record; folders of launchers say much about a machine."""
        return shlex.join([Path(self.command[0]).name, *self.command[1:]])

    def settings(self) -> Settings:
        """Return the settings of trials, after everything that cannot be was refused.

        Raises
        ------
        ConfigError
            When options are missing or do not belong together (E128, E783).
        """
        if not self.command:
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
            Outputs(self.outputs, self.ignore),
            ranks_of(self.command),
            self.time_from,
            self.timeout,
        )


def barriers(request: Request, how: str, file: Path | None, as_json: bool) -> None:
    """Audit the barriers of a program, and try it without some of them."""
    possible(file, how)
    settings = request.settings()
    kept = read_sites(request.audit) if request.audit is not None else None
    out = Out(as_json)
    with results_lost_on_stop():
        if kept is None:
            # standard output is ours where a program reads it
            result, sites = _audited(request, settings, aside=as_json or how == "csv")
        else:
            result, sites = _from_sites(request, settings, kept), kept
        if request.attempt is not None:
            _tried(request, settings, result, sites)
    show(out, result, tables(result, how), how)
    trial = result.more["trial"]
    if trial and not trial["identical"]:
        hand_over(Out(), result, file)
        raise _different(trial)
    hand_over(out, result, file)


def _audited(request: Request, settings: Settings, aside: bool) -> tuple[Result, list[Site]]:
    """Run the program once with all its barriers."""
    with (
        Watch(min(settings.ranks or 1, usable_cores())) as watch,
        tempfile.TemporaryDirectory(prefix="subsalt-audit-") as folder,
    ):
        ran = pmpi.profile(
            [w.replace(FOLDER, folder) for w in request.command],
            library=request.mpi,
            stdout=sys.stderr if aside else None,
            timeout=request.timeout,
            say=progress,
        )
    return result_of(ran.profile, watch, request.text)


def _from_sites(request: Request, settings: Settings, sites: Sequence[Site]) -> Result:
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


def _tried(request: Request, settings: Settings, result: Result, all_sites: Sequence[Site]) -> None:
    """Add the trial to the result of the audit."""
    assert request.attempt is not None
    sites = chosen(request.attempt, all_sites)
    if not sites:
        result.notes = [*result.notes, f"no candidate among {len(all_sites)} sites: nothing was tried"]
        return
    for s in sites:
        if s.kind == "keep":
            progress(f"site {s.number} is to be kept: {s.judgement.reason}; it is tried all the same")
    found = attempt.attempt(request.command, sites, settings, library=request.mpi, say=progress)
    result.more = {**result.more, "trial": found.to_dict()}
    result.load = found.trials.load
    notes = [n for n in result.notes if not n.startswith("noisy")]
    if found.bound is not None:
        notes.append(f"upper bound of the saving, by the barriers of the trial: {found.bound:.3g} s, median")
    if found.trials.load.get("noisy"):
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
