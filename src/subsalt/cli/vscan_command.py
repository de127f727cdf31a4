"""What `subsalt migrate --vscan` does: migrate at scaled velocities, show the panels and which scale is best when."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.cli import ranks
from subsalt.errors import ConfigError
from subsalt.methods import method_of

if TYPE_CHECKING:
    from subsalt.cli.app_root import Again, Start
    from subsalt.cli.app_run import Scan
    from subsalt.cli.output import Out
    from subsalt.job.base import BaseJob


def refuse_with(scan: Scan, **others: str | None) -> None:
    """Refuse --at without --vscan, and --vscan with options that it does not go with."""
    if scan.vscan is None and scan.at:
        raise ConfigError(
            "--at says where --vscan draws gathers", "add --vscan, or leave --at out", code="E834"
        )
    for name in (n for n in others.values() if n and scan.vscan is not None):
        raise ConfigError(
            f"--vscan does not go with {name}",
            f"leave {name} out; in a batch script call `subsalt migrate JOB --vscan ...` itself",
            code="E834",
        )


def vscan(job_file: Path, scan: Scan, start: Start, again: Again) -> None:
    """Migrate at every scale, each into a run of its own, then measure and draw."""
    from subsalt.cli.commands import check_or_stop
    from subsalt.cli.view_command import place_of
    from subsalt.run.migrate import migrate_job

    how = again.options()
    out = again.out()
    places = [place_of(p) for p in scan.at or []]
    with ranks.on_all_ranks(job_file, out) as job:
        method = method_of(job.method)
        scanner = method.velocity_scanner(job, scan.vscan or "", places)
        if scanner is None:
            raise ConfigError(
                f"{job_file} is a job of method {job.method}, and --vscan scales the rms velocity of a time migration",
                'set method = "kirchhoff", with [velocity] in place of [model]',
                code="E834",
            )
        check_or_stop(job, out, again.strict)
        with ranks.together():
            scanner.check_places()

        def migrate(scaled: BaseJob, run: Path, word: str) -> None:
            out.note(f"{word}: {run}")
            with out.progress("migrating", f"{method.unit}s") as bar:
                migrate_job(scaled, run, bar, resume=how, say=out.note, recompute=start.recompute)

        scanner.migrate(start.run or job.default_run_dir, migrate)
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
