"""Sub-commands that make an image: migrate, resume, stop, watch, plan."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from time import sleep
from typing import TYPE_CHECKING, Annotated

import typer

from subsalt.cli import plan_command, ranks, slurm_command
from subsalt.cli.app_root import Again, JobFile, RunDir, Start, app, example
from subsalt.cli.commands import migrate_here
from subsalt.cli.output import Out, printable, spread, usage
from subsalt.cli.talk import Json

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob


@dataclass(frozen=True)
class Scan:
    """A scan of the velocity, as it was typed."""

    vscan: Annotated[
        str | None,
        typer.Option(
            metavar="FIRST:LAST:STEP",
            help="Kirchhoff: a run at each of these scales of the velocity, in JOB.vscan, and their panels.",
        ),
    ] = None
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="PLACE", help="Scan: draw the gathers at inline,crossline (or CDP); repeat it."),
    ] = None


@app.command(
    short_help="Migrate the shots or traces of a job to an image.",
    epilog=example(
        "subsalt migrate survey.toml --run survey.run",
        "mpiexec -n 4 subsalt migrate survey.toml",
        "subsalt migrate survey.toml --slurm --nodes 4 --ranks-per-node 2 --print",
        "subsalt migrate line.toml --vscan 0.9:1.1:0.05 --at 605",
    ),
)
@spread
def migrate(
    job: JobFile,
    start: Start,
    again: Again,
    batch: slurm_command.Options,
    scan: Scan,
) -> None:
    """Migrate [data] to a depth or time image, as method says; the same command resumes a run that was stopped."""
    from subsalt.cli import vscan_command

    if batch.slurm:
        vscan_command.refuse_with(scan, slurm="--slurm")
        slurm_command.write(batch, job, start, again)
        return
    batch.refuse_alone()
    if scan.vscan is not None:
        vscan_command.refuse_with(scan, shots="--shots" if start.shots else None)
        vscan_command.vscan(job, scan, start, again)
        return
    vscan_command.refuse_with(scan)
    printer = again.out()
    with ranks.on_all_ranks(job, printer, start.shots) as read:
        migrate_here(
            read, start.run or read.default_run_dir, again.strict, printer, again.options(), start.recompute
        )


@app.command(
    short_help="Resume a run that was stopped or killed.",
    epilog=example("subsalt resume survey.run", "mpiexec -n 4 subsalt resume survey.run"),
)
@spread
def resume(
    run: RunDir,
    again: Again,
) -> None:
    """Resume a run from its directory alone, on any number of ranks: the same as its first command again."""
    from subsalt.cli import reimage_command
    from subsalt.run.job_of_run import job_of_run
    from subsalt.run.stop_request import require_run

    how = again.options()
    out = again.out()

    def read() -> BaseJob:
        require_run(run)
        return job_of_run(run, out.note)

    if run.is_dir() and reimage_command.go_on(run, out):
        return
    with ranks.on_all_ranks(read, out) as job:
        migrate_here(job, run, again.strict, out, how)


@app.command(
    short_help="Ask a run to stop; it can be resumed later.",
    epilog=example("subsalt stop survey.run", "subsalt stop survey.run --finish-shots"),
)
def stop(
    run: RunDir,
    finish_shots: Annotated[
        bool,
        typer.Option(
            "--finish-shots",
            help="Let shots (blocks of a time migration) in hand be finished; else they are given back.",
        ),
    ] = False,
    wait: Annotated[
        float, typer.Option(help="Seconds to wait for the end; 0 returns when the request is left.")
    ] = 60.0,
    json: Json = False,
) -> None:
    """Ask a run to stop, from any shell that sees its directory; it ends with exit code 75 and can be resumed."""
    from subsalt.run.stop_request import request_stop

    if not wait >= 0:
        raise usage(f"--wait {wait:g} is no time", "give seconds, 0 to return at once")
    out = Out(json)
    answer = request_stop(run, finish_shots, wait, out.say)
    if not answer.running:
        dead = f" ({answer.owner} is gone)" if answer.owner else ""
        out.say(f"nobody works in {run}{dead}: nothing to stop")
    elif answer.stopped:
        out.say(f"stopped after {answer.seconds:.1f} s; resume it with subsalt resume {run}")
    out.json(answer)


@app.command(
    short_help="Show how far a run is.",
    epilog=example("subsalt watch survey.run", "subsalt watch survey.run --json"),
)
def watch(
    run: RunDir,
    once: Annotated[bool, typer.Option("--once", help="Show it once, also on a terminal.")] = False,
    every: Annotated[float, typer.Option(help="Seconds between two looks on a terminal.")] = 2.0,
    json: Json = False,
) -> None:
    """Show shots done, running and failed, rate, time left and scratch used; reads only, from any shell.

    Of a time migration it shows blocks of the image, and contributions per second.
    """
    from subsalt.run.progress import lines, view_of

    if not 0.1 <= every <= 3600:
        raise usage(f"--every {every:g} is out of range", "give seconds from 0.1 to 3600")
    out = Out(json)
    view = view_of(run)
    if json or once or not sys.stdout.isatty() or view.over:
        for line in lines(view):
            out.say(line)
        out.json(view)
        return
    from rich.live import Live
    from rich.text import Text

    with Live(Text(printable("\n".join(lines(view)))), auto_refresh=False) as screen:
        while not view.over:
            sleep(every)
            view = view_of(run)
            screen.update(Text(printable("\n".join(lines(view)))), refresh=True)


@app.command(
    short_help="Say what a job takes on so many ranks; start nothing.",
    epilog=example(
        "subsalt plan survey.toml --ranks 24 --memory-per-rank 16GB",
        "subsalt plan survey.toml --gpu h200",
        "subsalt plan survey.toml --nodes 24,100,1000 --ranks-per-node 2 --network 100Gbit/s",
    ),
)
@spread
def plan(
    job: JobFile,
    here: plan_command.RankOptions,
    cluster: plan_command.Cluster,
    options: plan_command.Asked,
    json: Json = False,
    measure: Annotated[
        bool,
        typer.Option(help="Measure for some seconds what this machine was not measured for, and keep it."),
    ] = True,
) -> None:
    """Say what memory, disk and time a job takes on so many ranks, and whether it fits; nothing is started."""
    if cluster.nodes is not None:
        here.refuse_ranks()
        options.refuse_with_nodes()
        plan_command.nodes(job, cluster, here, json, measure)
        return
    cluster.refuse_alone()
    plan_command.plan(job, here, options, json, measure)
