"""`subsalt vscan`: migrate at scaled velocities, then show the panels and which scale is best at which time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

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
        help="Factors on the velocity: 0.9:1.1:0.05 migrates five times, from 90 % to 110 %.",
    ),
]
#: title of the options that only depth scans have
DEPTH_PANEL = "Depth scans"


@dataclass(frozen=True)
class VscanOptions:
    """Options of a velocity scan."""

    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PLACE",
            help="Also draw the image gathers here: inline,crossline, or the CDP of a line; x, or x,y, of a depth "
            "image, m. Repeatable.",
        ),
    ] = None
    below: Annotated[
        str | None,
        typer.Option(
            metavar="HORIZON",
            help="Scale only below this depth, m, or below a text file of x and depth; in 3-D of x, y and depth.",
            rich_help_panel=DEPTH_PANEL,
        ),
    ] = None
    mask: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            readable=False,
            help="Scale only where this volume on the grid of the model is not zero: one layer.",
            rich_help_panel=DEPTH_PANEL,
        ),
    ] = None
    by: Annotated[
        Literal["scan", "curvature"],
        typer.Option(
            metavar="HOW",
            help="How scales are found: scan migrates at every scale, curvature migrates once and inverts the "
            "moveout of the gathers, which is the error of the whole overburden.",
            rich_help_panel=DEPTH_PANEL,
        ),
    ] = "scan"
    update: Annotated[
        bool,
        typer.Option(
            "--update",
            help="Write the velocity times the map of best scales: vp_updated.rsf.",
            rich_help_panel=DEPTH_PANEL,
        ),
    ] = False
    plan: Annotated[
        bool, typer.Option("--plan", help="Print memory, disk and time of all scales, and start nothing.")
    ] = False
    run: Annotated[
        Path | None,
        typer.Option(
            "--run",
            metavar="DIR",
            readable=False,
            help="Folder of the runs: for NAME.run they are written into NAME.vscan, those of a part of the model into "
            "NAME_PART.vscan.",
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
    from subsalt.run.velocity_scan import ScanRequest

    how = restart.options()
    out = restart.out()
    places = [place_of(p) for p in options.at or []]
    with ranks.on_all_ranks(job_file, out) as read:
        job = parallel.applied_to(read)
        method = method_of(job.method)
        request = ScanRequest(scales, places, options.below, options.mask, options.by, options.update)
        scanner = method.velocity_scanner(job, request)
        if scanner is None:
            raise ConfigError(
                f"{job_file} is a job of method {job.method}: it has no velocity scan",
                'scan a job of method "rtm" or "kirchhoff"',
                code="E834",
            )
        check_or_stop(job, out, restart.strict)
        with ranks.together():
            scanner.check_places()

        folder = options.run or job.default_run_dir
        _plan(scanner, folder, out, options.plan)
        if options.plan:
            return

        def migrate(scaled: BaseJob, run: Path, word: str) -> None:
            out.note(f"{word}: {run}")
            with out.progress("migrating", f"{method.unit}s") as bar:
                migrate_job(scaled, run, bar, resume=how, say=out.note, recompute=options.recompute)

        scanner.migrate(folder, migrate)
        with ranks.together():
            if not out.mute:
                _show(out, *scanner.measure())


def _plan(scanner: Any, folder: Path, out: Out, whole: bool) -> None:
    """Say what the migrations that are left take, and refuse what does not fit on the disk. Collective."""
    from subsalt.plan import plan_job
    from subsalt.plan.disk import Disk, disk_error
    from subsalt.plan.plan import duration, size

    with ranks.together():
        left = scanner.left(folder)
        if not left or (out.mute and not whole):
            return
        planned = plan_job(scanner.job, run_dir=folder, measure=whole, say=out.note)
        disk = planned.disk
        every = Disk({name: left * count for name, count in disk.parts.items()}, disk.free, disk.where)
        wall = planned.duration.wall
        time = "time not known without measured rates" if wall is None else f"about {duration(left * wall)}"
        text = (
            f"{left} migrations of {len(scanner.scales)} scales: {size(planned.bytes_per_rank)} of memory, "
        )
        out.note(f"{text}{size(every.total)} of disk, {time}")
        if whole:
            for line in planned.lines():
                out.say(line)
            out.json(
                {
                    "migrations": left,
                    "bytes_per_rank": planned.bytes_per_rank,
                    "disk": every.to_dict(),
                    "seconds": None if wall is None else left * wall,
                }
            )
        if (error := disk_error([every])) is not None:
            raise error


def _show(
    out: Out, folder: Path, lines: Sequence[str], pictures: Sequence[Path], facts: dict[str, Any]
) -> None:
    for line in lines:
        out.say(line)
    for path in pictures:
        out.row("picture", str(path))
    out.row("runs", str(folder))
    out.json(facts | {"pictures": pictures})
