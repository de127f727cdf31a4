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
    attempt: Annotated[int, typer.Option(min=1, help="Number of the attempt.")] = 1
    round: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Round of a method that iterates.",
            show_default="the first round that is not complete",
        ),
    ] = None

    owned: Annotated[
        bool,
        typer.Option(
            "--owned",
            hidden=True,
            help="End when the program that started this one ends, or the run is stopped.",
        ),
    ] = False

    def wanted(self) -> Wanted:
        """Return the units.

        Raises
        ------
        ConfigError
            When there are none, or both numbers and places.
        """
        from subsalt.run.one_unit import Wanted

        if (self.unit is None) == (self.place is None):
            raise usage("give either --unit or --place", "--unit 17, or --place 0 for the first one")
        return Wanted(self.unit or self.place or (), self.attempt, self.round, self.unit is None)


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
    if which.owned:
        end_with_owner(run)
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
