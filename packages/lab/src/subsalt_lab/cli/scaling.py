"""`subsalt lab scaling`: check what is asked for, measure, print, keep the result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from subsalt_lab.cli.lab import Json, Table, lab

if TYPE_CHECKING:
    from subsalt.report.table import Column
    from subsalt_lab.result import Result
    from subsalt_lab.scaling_request import Request
    from subsalt_lab.time_migrations import GivenJob


@lab.command(
    short_help="Speed-up and efficiency over ranks and threads.",
    epilog="Example: subsalt lab scaling --ranks 1,2 --threads 1,2 --grid 256,256,256; "
    "subsalt lab scaling --whole --directory /scratch --against /home; "
    "subsalt lab scaling --method kirchhoff --ranks 1,2 --threads 1,2; "
    "subsalt lab scaling --ranks 1,2,4 --time-from 'Total ([0-9.]+) s' -- mpiexec -n {ranks} program; "
    "subsalt lab scaling --jobs 40 --nodes 1,2,4 -- ssh node{node} program input.{job}",
)
def scaling(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- COMMAND...]",
            help="Any other program; {ranks} and {threads} in it stand for those of the layout, {case} and "
            "{directory} for those of --cases and --directory, {job} and {node} for those of --jobs.",
        ),
    ] = None,
    ranks: Annotated[
        list[str] | None, typer.Option(help="Numbers of ranks, such as 1,2,4; 1, 2, 4, ... cores by default.")
    ] = None,
    threads: Annotated[
        list[str] | None, typer.Option(help="Numbers of threads of each rank, such as 1,2; 1 by default.")
    ] = None,
    grid: Annotated[
        str | None,
        typer.Option(
            help="Points nx,ny,nz, layer included: 256,256,256, with --whole 160,96,96. "
            "With kirchhoff inlines, crosslines, samples: 20,100,500."
        ),
    ] = None,
    medium: Annotated[str, typer.Option(help="isotropic (iso), vti or tti.")] = "vti",
    steps: Annotated[
        int | None, typer.Option(min=1, help="Time steps of a sample: 40; with --whole trace samples: 300.")
    ] = None,
    weak: Annotated[bool, typer.Option("--weak", help="The work grows along x with the ranks.")] = False,
    whole: Annotated[
        bool, typer.Option("--whole", help="Whole migrations of a made-up survey, files included.")
    ] = False,
    shots: Annotated[
        int | None, typer.Option(min=1, help="Shots of the made-up survey: 4; with --weak of each rank.")
    ] = None,
    ranks_per_shot: Annotated[
        str, typer.Option(help="Ranks that share a shot: auto, all, or a number; with --whole.")
    ] = "auto",
    method: Annotated[
        str, typer.Option(help="rtm, or kirchhoff: whole time migrations of made-up traces.")
    ] = "rtm",
    job: Annotated[
        Path | None, typer.Option(readable=False, help="Kirchhoff job to migrate in place of made-up traces.")
    ] = None,
    builds: Annotated[
        list[str] | None,
        typer.Option(help="With kirchhoff: instruction sets side by side; the best and the oldest."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, max=1000, help="Samples of each layout.")] = 5,
    directory: Annotated[
        Path | None,
        typer.Option(
            readable=False,
            help="Where the files of whole migrations are made, a temporary one by default; of COMMAND, "
            "{directory} in it.",
        ),
    ] = None,
    against: Annotated[
        Path | None, typer.Option(readable=False, help="A second directory, to compare file systems.")
    ] = None,
    cached: Annotated[
        bool, typer.Option("--cached", help="Leave the files in the page cache between runs.")
    ] = False,
    pin: Annotated[bool, typer.Option("--pin", help="Give each rank hardware threads of its own.")] = False,
    hyperthreads: Annotated[
        bool, typer.Option(help="Where the machine has them, each layout with all threads of its cores too.")
    ] = True,
    launcher: Annotated[
        str | None,
        typer.Option(help='Starts the ranks: "srun --mpi=pmi2", "mpiexec -n {ranks} ..."; found by default.'),
    ] = None,
    time_from: Annotated[
        str | None, typer.Option(help="Expression whose group is the time in what COMMAND prints.")
    ] = None,
    work: Annotated[
        str | None,
        typer.Option(
            help="Work of COMMAND in weak scaling, {work} in it: by ranks, cores or sockets, or 1:1000,2:2000,..."
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="What makes the runs of COMMAND: reframe, own (this process); auto: ReFrame if there."
        ),
    ] = "auto",
    scheduler: Annotated[
        str, typer.Option(help="Where ReFrame makes them: local, slurm, or squeue: Slurm without accounting.")
    ] = "local",
    access: Annotated[
        str | None, typer.Option(help='Options of every job of the scheduler, such as "-p short -A account".')
    ] = None,
    cases: Annotated[
        list[str] | None,
        typer.Option(help="Inputs of COMMAND, {case} in it: small,large; their ratings stand in one table."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, help="COMMAND is so many jobs in a queue, {job} in it; timed to the last one's end."
        ),
    ] = None,
    nodes: Annotated[
        list[str] | None,
        typer.Option(help="Numbers of nodes that work off the queue, such as 1,2,4; {node} in COMMAND."),
    ] = None,
    hosts: Annotated[
        list[str] | None,
        typer.Option(help="Names of these nodes for {node}, such as n01,n02; 1, 2, ... else."),
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds that one start may take.")] = 3600.0,
    table: Table = "text",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", readable=False, help="File for the result (JSON).")
    ] = None,
    json: Json = False,
) -> None:
    """Measure how time steps, whole migrations (--whole) or any command scale over ranks, threads or nodes."""
    from subsalt_lab.scaling_request import Request

    request = Request(
        command or [],
        ranks,
        threads,
        grid,
        medium,
        steps,
        weak,
        whole,
        shots,
        ranks_per_shot,
        repeats,
        directory,
        against,
        cached,
        pin,
        hyperthreads,
        launcher,
        time_from,
        timeout,
        method,
        _given_job(job) if job is not None else None,
        builds,
        work,
        engine,
        scheduler,
        access,
        cases,
        jobs,
        nodes,
        hosts,
    )
    _measure(request, table, out, json)


def _measure(request: Request, how: str, file: Path | None, as_json: bool) -> None:
    """Measure time steps, whole migrations of either method, or a command."""
    from subsalt.cli.output import Out
    from subsalt_lab import external, job_queue, scaling_tables, time_migrations, whole
    from subsalt_lab import scaling as kernel
    from subsalt_lab.cli.commands import hand_over, possible, progress, results_lost_on_stop, show

    possible(file, how)
    request.check()
    out = Out(as_json)
    result: Result
    columns: Sequence[Column]
    if request.jobs is not None:
        queue = request.queue()
        with results_lost_on_stop():
            result = job_queue.measure(queue, say=progress)
        columns = scaling_tables.QUEUE
    elif request.command:
        program = request.program()
        with results_lost_on_stop():
            result = external.measure(program, say=progress)
        columns = scaling_tables.COMMAND
    elif request.is_kirchhoff:
        times = request.time_migrations()
        with results_lost_on_stop():
            result = time_migrations.measure(times, say=progress)
        columns = scaling_tables.TIME_MIGRATION
    elif request.whole:
        migrations = request.migrations()
        with results_lost_on_stop():
            result = whole.measure(migrations, say=progress)
        columns = scaling_tables.WHOLE
    else:
        steps = request.kernel()
        with results_lost_on_stop():
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


def _given_job(path: Path) -> GivenJob:
    """Return a Kirchhoff job of the user's, whose threads every layout may choose.

    Raises
    ------
    SubsaltError
        When the file is no Kirchhoff job, or fixes its threads (E128).
    """
    from subsalt.job.read import read_job
    from subsalt_lab.asked import wrong
    from subsalt_lab.time_migrations import GivenJob

    job = read_job(path)
    if job.method != "kirchhoff":
        raise wrong(f"--job {path}: its method is {job.method}", 'give a job with method = "kirchhoff"')
    if job.parallel.threads != "auto":
        raise wrong(
            f"--job {path}: it fixes threads = {job.parallel.threads}", "remove threads from [parallel]"
        )
    files = tuple(file for found in job.input_files().values() for file in found)
    return GivenJob(path.resolve(), job.title or job.name, files)
