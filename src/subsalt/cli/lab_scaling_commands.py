"""What `subsalt lab scaling` does: check what is asked for, measure, print, keep the result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from subsalt.cli.lab_commands import hand_over, nothing_kept, possible, progress, show
from subsalt.cli.output import Out
from subsalt.lab.result import Result
from subsalt.lab.scaling_request import Request
from subsalt.lab.table import Column

if TYPE_CHECKING:
    from subsalt.lab.time_migrations import GivenJob


def scaling(request: Request, how: str, file: Path | None, as_json: bool) -> None:
    """Measure time steps, whole migrations of either method, or a command."""
    from subsalt.lab import external, job_queue, scaling_tables, time_migrations, whole
    from subsalt.lab import scaling as kernel

    possible(file, how)
    request.check()
    out = Out(as_json)
    result: Result
    columns: Sequence[Column]
    if request.jobs is not None:
        queue = request.queue()
        with nothing_kept():
            result = job_queue.measure(queue, say=progress)
        columns = scaling_tables.QUEUE
    elif request.command:
        program = request.program()
        with nothing_kept():
            result = external.measure(program, say=progress)
        columns = scaling_tables.COMMAND
    elif request.is_kirchhoff:
        times = request.time_migrations()
        with nothing_kept():
            result = time_migrations.measure(times, say=progress)
        columns = scaling_tables.TIME_MIGRATION
    elif request.whole:
        migrations = request.migrations()
        with nothing_kept():
            result = whole.measure(migrations, say=progress)
        columns = scaling_tables.WHOLE
    else:
        steps = request.kernel()
        with nothing_kept():
            result = kernel.measure(steps, say=progress)
        columns = scaling_tables.KERNEL
    titles = [] if how == "csv" else [scaling_tables.title(result)]
    show(
        out,
        result,
        [*titles, scaling_tables.table(result.rows, columns, how), *scaling_tables.ratings(result, how)],
        how,
    )
    hand_over(out, result, file)


def given_job(path: Path) -> GivenJob:
    """Return a Kirchhoff job of the user's, whose threads every layout may choose.

    Raises
    ------
    SubsaltError
        When the file is no Kirchhoff job, or fixes its threads (E128).
    """
    from subsalt.job.methods import read_job
    from subsalt.lab.asked import wrong
    from subsalt.lab.time_migrations import GivenJob

    job = read_job(path)
    if job.method != "kirchhoff":
        raise wrong(f"--job {path}: its method is {job.method}", 'give a job with method = "kirchhoff"')
    if job.parallel.threads != "auto":
        raise wrong(
            f"--job {path}: it fixes threads = {job.parallel.threads}", "remove threads from [parallel]"
        )
    files = tuple(file for found in job.input_files().values() for file in found)
    return GivenJob(path.resolve(), job.title or job.name, files)
