"""`subsalt unit`: compute units of a prepared run, print one line of JSON for each.

Exit codes are all that an engine need know: 0 done, 65 the data of the unit are bad, 75 another attempt may succeed.
Any other code says that no attempt will.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from subsalt.cli import ranks
from subsalt.cli.app_root import ParallelOptions
from subsalt.cli.output import Out, usage
from subsalt.errors import MemoryPlanError, ParallelError, ResourceError

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob
    from subsalt.run.one_unit import Wanted

#: exit codes: bad data; try again
BAD_DATA, AGAIN = 65, 75


@dataclass(frozen=True)
class UnitOptions:
    """Which units are computed."""

    unit: Annotated[
        list[int] | None,
        typer.Option("--unit", metavar="NUMBER", help="Number of the shot or block. Repeatable."),
    ] = None
    place: Annotated[
        list[int] | None,
        typer.Option(
            "--place",
            metavar="INDEX",
            help="Its place in the order of the survey, from 0, instead of its number: for arrays of batch systems. "
            "Repeatable.",
        ),
    ] = None
    part: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            help="Part I of N equal parts of all units, I from 0 to N - 1. Units that are published already are "
            "not computed again.",
        ),
    ] = None
    attempt: Annotated[
        int | None,
        typer.Option(min=1, help="Number of the attempt.", show_default="1; with --part the next free one"),
    ] = None
    round: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Round of a method that iterates.",
            show_default="the first round that is not complete",
        ),
    ] = None

    owner: Annotated[
        int | None,
        typer.Option(
            "--owner",
            metavar="PID",
            hidden=True,
            help="End when the run is stopped, or this process (0: none) ends.",
        ),
    ] = None

    def wanted(self) -> Wanted:
        """Return the units.

        Raises
        ------
        ConfigError
            When there are none, or both numbers and places.
        """
        from subsalt.run.one_unit import Wanted

        if sum(choice is not None for choice in (self.unit, self.place, self.part)) != 1:
            raise usage(
                "give either --unit, --place or --part", "--unit 17, --place 0 for the first one, --part 3/40"
            )
        if self.part is not None:
            return Wanted((), self.attempt, self.round, part=_part(self.part))
        return Wanted(self.unit or self.place or (), self.attempt or 1, self.round, self.unit is None)


def _part(text: str) -> tuple[int, int]:
    """Return part and number of parts of ``I/N``."""
    try:
        part, parts = (int(number) for number in text.split("/"))
    except ValueError:
        part, parts = 0, 0
    if not 0 <= part < parts:
        raise usage(f"--part {text!r} is no part", "write --part I/N with I from 0 to N - 1, such as 0/40")
    return part, parts


def unit(run: Path, which: UnitOptions, parallel: ParallelOptions) -> None:
    """Compute units of a run, and end with the exit code that fits the worst of them."""
    from subsalt.run.job_of_run import job_of_run
    from subsalt.run.one_unit import compute_units
    from subsalt.run.owner import end_with_owner
    from subsalt.run.stop_request import require_run

    wanted, out = which.wanted(), Out(True)

    def read() -> BaseJob:
        require_run(run)
        return parallel.applied_to(job_of_run(run, out.note))

    bad = False
    if which.owner is not None:
        end_with_owner(run, which.owner)
    try:
        with ranks.on_all_ranks(read, out) as job:
            for done in compute_units(job, run, wanted, out.note):
                bad |= "reason" in done.outcome
                if not out.mute:
                    sys.stdout.write(json.dumps(done.line) + "\n")
                    sys.stdout.flush()
    except (ResourceError, ParallelError) as error:
        # a disk that is full, a file system or a rank that is gone: of this machine, now. A plan is no accident
        if not isinstance(error, MemoryPlanError):
            error.exit_code = AGAIN
        raise
    if bad:
        raise typer.Exit(BAD_DATA)
