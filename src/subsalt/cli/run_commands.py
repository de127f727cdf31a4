"""Commands on a run directory: go on, stop, watch."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from subsalt.cli import ranks
from subsalt.cli.output import Out, printable, usage

if TYPE_CHECKING:
    from subsalt.job.job import Job


def resume(
    run: Path,
    strict: bool,
    as_json: bool,
    retry_quarantined: bool,
    accept_changed_inputs: bool,
    time_limit: str | None,
) -> None:
    """Go on with the run of a directory: the same as its first command again."""
    from subsalt.cli import commands, reimage_command
    from subsalt.run.job_of_run import job_of_run
    from subsalt.run.stopping import known_run

    resume = commands.resume_options(retry_quarantined, accept_changed_inputs, time_limit)
    out = Out(as_json)

    def read() -> Job:
        known_run(run)
        return job_of_run(run)

    if run.is_dir() and reimage_command.go_on(run, as_json):
        return
    with ranks.on_all_ranks(read, out) as job:
        commands.migrate_here(job, run, strict, out, resume)


def stop(run: Path, finish_shots: bool, wait: float, as_json: bool) -> None:
    """Ask a run to stop, and wait until it has."""
    from subsalt.run.stopping import ask

    if not wait >= 0:
        raise usage(f"--wait {wait:g} is no time", "give seconds, 0 to return at once")
    out = Out(as_json)
    answer = ask(run, finish_shots, wait, out.say)
    if not answer.running:
        dead = f" ({answer.owner} is gone)" if answer.owner else ""
        out.say(f"nobody works in {run}{dead}: nothing to stop")
    elif answer.stopped:
        out.say(f"stopped after {answer.seconds:.1f} s; subsalt resume {run} goes on")
    out.json(answer)


def watch(run: Path, once: bool, every: float, as_json: bool) -> None:
    """Show a run: again and again on a terminal until it is over, else once."""
    from subsalt.run.watching import lines, view_of

    if not 0.1 <= every <= 3600:
        raise usage(f"--every {every:g} is out of range", "give seconds from 0.1 to 3600")
    out = Out(as_json)
    view = view_of(run)
    if as_json or once or not sys.stdout.isatty() or view.over:
        for line in lines(view):
            out.say(line)
        out.json(view)
        return
    from rich.live import Live
    from rich.text import Text

    with Live(Text(printable("\n".join(lines(view)))), auto_refresh=False) as screen:
        while not view.over:
            time.sleep(every)
            view = view_of(run)
            screen.update(Text(printable("\n".join(lines(view)))), refresh=True)
