"""`subsalt vscan`: migrate at scaled velocities, then show the panels and which scale is best at which time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subsalt.cli import ranks
from subsalt.errors import ConfigError
from subsalt.methods import method_of

if TYPE_CHECKING:
    from subsalt.cli.app_root import ParallelOptions, RestartOptions
    from subsalt.cli.output import Out
    from subsalt.job.base import BaseJob

Scales = Annotated[
    str,
    typer.Argument(
        metavar="FIRST:LAST:STEP",
        help="Factors on the rms velocity: 0.9:1.1:0.05 migrates five times, from 90 % to 110 %.",
    ),
]


@dataclass(frozen=True)
class VscanOptions:
    """Options of a velocity scan."""

    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PLACE",
            help="Also draw the image gathers here: inline,crossline, or the CDP of a line. Repeatable.",
        ),
    ] = None
    run: Annotated[
        Path | None,
        typer.Option(
            "--run",
            metavar="DIR",
            readable=False,
            help="Folder of the runs: for NAME.run they are written into NAME.vscan.",
            show_default="JOB.run in the folder of the job file",
        ),
    ] = None
    recompute: Annotated[
        bool,
        typer.Option(
            "--recompute", help="If the job has changed, set the earlier results aside and start again."
        ),
    ] = False


def vscan(
    job_file: Path, scales: str, options: VscanOptions, restart: RestartOptions, parallel: ParallelOptions
) -> None:
    """Migrate at every scale, each into a run of its own, then measure and draw."""
    from subsalt.cli.commands import check_or_stop
    from subsalt.cli.view_command import place_of
    from subsalt.run.migrate import migrate_job

    how = restart.options()
    out = restart.out()
    places = [place_of(p) for p in options.at or []]
    with ranks.on_all_ranks(job_file, out) as read:
        job = parallel.applied_to(read)
        method = method_of(job.method)
        scanner = method.velocity_scanner(job, scales, places)
        if scanner is None:
            raise ConfigError(
                f"{job_file} is a job of method {job.method}: a velocity scan needs a time migration",
                'set method = "kirchhoff", with [velocity] instead of [model]',
                code="E834",
            )
        check_or_stop(job, out, restart.strict)
        with ranks.together():
            scanner.check_places()

        def migrate(scaled: BaseJob, run: Path, word: str) -> None:
            out.note(f"{word}: {run}")
            with out.progress("migrating", f"{method.unit}s") as bar:
                migrate_job(scaled, run, bar, resume=how, say=out.note, recompute=options.recompute)

        scanner.migrate(options.run or job.default_run_dir, migrate)
        with ranks.together():
            if not out.mute:
                _show(out, *scanner.measure())


def _show(
    out: Out, folder: Path, lines: Sequence[str], pictures: Sequence[Path], facts: dict[str, Any]
) -> None:
    for line in lines:
        out.say(line)
    for path in pictures:
        out.row("picture", str(path))
    out.row("runs", str(folder))
    out.json(facts | {"pictures": pictures})
