"""Sub-commands that make an image: migrate, vscan, submit, resume, stop, watch, plan."""

from __future__ import annotations

import sys
from time import sleep
from typing import TYPE_CHECKING, Annotated

import typer

from subsalt.cli import array_targets, plan_command, ranks, submit_command, unit_command, vscan_command
from subsalt.cli.app_root import (
    JobFile,
    ParallelOptions,
    RestartOptions,
    RunDir,
    StartOptions,
    Threads,
    command,
)
from subsalt.cli.commands import migrate_here, prepare_here
from subsalt.cli.engine_options import EngineOptions
from subsalt.cli.iteration_options import IterationOptions
from subsalt.cli.output import Out, printable, spread, usage
from subsalt.cli.talk import Json, Talk

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob


@command(
    "Migrate the shots or traces of a job to an image.",
    "subsalt migrate survey.toml",
    "subsalt migrate survey.toml --run test.run --shots 1-100:5",
    "mpiexec -n 4 subsalt migrate survey.toml",
)
@spread
def migrate(
    job: JobFile,
    start: StartOptions,
    parallel: ParallelOptions,
    restart: RestartOptions,
    engine: EngineOptions,
    least_squares: IterationOptions,
    prepare: Annotated[
        bool,
        typer.Option(
            "--prepare",
            help="Check the job and plan its shots, but compute none: `subsalt unit` computes them one by one.",
        ),
    ] = False,
) -> None:
    """Migrate the traces of [data] to a depth image or a time image, depending on `method` in the job.

    The same command continues a run that was stopped.
    """
    printer = restart.out()
    engine.check(prepare)
    if prepare:
        engine.refuse("--prepare")
    with ranks.on_all_ranks(job, printer, start.shots) as read:
        run, read = start.run or read.default_run_dir, least_squares.applied_to(read)
        if prepare:
            options = {"recompute": start.recompute, "running_sum": engine.running_sum}
            prepare_here(read, run, printer, restart, parallel, **options)
        else:
            migrate_here(read, run, printer, restart, parallel, recompute=start.recompute, engine=engine)


@command(
    "Migrate a job at several scales of its velocity.",
    "subsalt vscan line.toml 0.9:1.1:0.05",
    "subsalt vscan depth.toml 0.92:1.08:0.02 --mask layer.rsf --update",
    "subsalt vscan line.toml 0.9:1.1:0.05 --at 605 --at 640",
)
@spread
def vscan(
    job: JobFile,
    scales: vscan_command.Scales,
    options: vscan_command.VscanOptions,
    restart: RestartOptions,
    threads: Threads = None,
) -> None:
    """Migrate a job at several scales of its velocity, and show which scale is best at each time or depth.

    A depth image is scaled as a whole, below a horizon, or in one layer; its angle gathers say which scale is best.
    Events of the best scale lie at one depth under all angles. Scales of a time migration are compared by the semblance
    of its gathers and by the power of the stack. Each scale has a run directory of its own in JOB.vscan; a finer scan
    migrates only the new scales.
    """
    vscan_command.vscan(job, scales, options, restart, ParallelOptions(threads))


@command(
    "Write the batch script that migrates a job on a cluster.",
    "subsalt submit survey.toml --to slurm --nodes 4 --ranks-per-node 2",
    "subsalt submit survey.toml --to slurm --nodes 1 --time 12:00:00 --print",
    "subsalt submit survey.toml --to slurm-array --threads 8 --tasks 200",
)
@spread
def submit(
    job: JobFile,
    options: submit_command.SubmitOptions,
    slurm: submit_command.SlurmOptions,
    array: array_targets.ArrayOptions,
    talk: Talk,
) -> None:
    """Check and plan a job, and write the batch script that migrates it. Nothing is started.

    The commands to call next are printed. The script for slurm stops the run before its time limit and queues it again
    until the image is complete. An array computes parts of the survey by `subsalt unit`, each started again when its
    machine is lost.
    """
    submit_command.submit(job, options, slurm, array, talk)


@command(
    "Compute single shots or blocks of a prepared run.",
    "subsalt unit survey.run --unit 17",
    "subsalt unit survey.run --place 4 --attempt 2",
)
@spread
def unit(run: RunDir, which: unit_command.UnitOptions, threads: Threads = None) -> None:
    """Compute units of a run that `subsalt migrate JOB --prepare` has begun, and publish them.

    Any number of these commands may run at a time, on any machine that sees the run directory, also several for one
    unit: all give the same bytes. `subsalt resume RUN` makes the image. One line of JSON is printed for each unit.
    """
    unit_command.unit(run, which, ParallelOptions(threads))


@command(
    "Continue a run that was stopped.",
    "subsalt resume survey.run",
    "mpiexec -n 4 subsalt resume survey.run",
)
@spread
def resume(
    run: RunDir,
    parallel: ParallelOptions,
    restart: RestartOptions,
    engine: EngineOptions,
) -> None:
    """Continue a run from its directory alone, on any number of ranks, or by an engine.

    The result is the same as from its first command. The job file is not needed.
    """
    from subsalt.cli import reimage_command
    from subsalt.run.job_of_run import job_of_run
    from subsalt.run.stop_request import require_run

    out = restart.out()

    def read() -> BaseJob:
        require_run(run)
        return job_of_run(run, out.note)

    restart.options()  # refuses a wrong time limit before anything is read
    engine.check()
    if run.is_dir() and reimage_command.go_on(run, out):
        return
    with ranks.on_all_ranks(read, out) as job:
        migrate_here(job, run, out, restart, parallel, engine=engine)


@command(
    "Stop a run; it can be resumed later.",
    "subsalt stop survey.run",
    "subsalt stop survey.run --finish-shots",
)
def stop(
    run: RunDir,
    finish_shots: Annotated[
        bool,
        typer.Option(
            "--finish-shots",
            help="Finish the shots (blocks of a time migration) in progress first. Without it they are abandoned "
            "and start again when the run is resumed.",
        ),
    ] = False,
    wait: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="Wait this long for the run to end. 0 only sends the request."),
    ] = 60.0,
    json: Json = False,
) -> None:
    """Stop a run from any shell that can see its directory.

    The run ends with exit code 75, and `subsalt resume RUN` continues it.
    """
    from subsalt.run.stop_request import request_stop

    if not wait >= 0:
        raise usage(f"--wait {wait:g} is not a time", "give seconds, or 0 to return at once")
    out = Out(json)
    answer = request_stop(run, finish_shots, wait, out.say)
    if not answer.running:
        dead = f" ({answer.owner} has ended)" if answer.owner else ""
        out.say(f"{run} is not running{dead}: nothing to stop")
    elif answer.stopped:
        out.say(f"stopped after {answer.seconds:.1f} s; continue with: subsalt resume {run}")
    out.json(answer)


@command(
    "Show the progress of a run.",
    "subsalt watch survey.run",
    "subsalt watch survey.run --once --json",
)
def watch(
    run: RunDir,
    once: Annotated[bool, typer.Option("--once", help="Show the progress once, then return.")] = False,
    every: Annotated[
        float, typer.Option(metavar="SECONDS", help="Time between updates on a terminal.")
    ] = 2.0,
    json: Json = False,
) -> None:
    """Show the shots that are done, running and failed, the rate, the remaining time and the scratch space.

    For a time migration it shows blocks of the image and contributions per second. It only reads, so that it can be
    called from any shell that can see the run directory.
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


@command(
    "Predict memory, disk space and run time of a job.",
    "subsalt plan survey.toml --ranks 24 --memory-per-rank 16GB",
    "subsalt plan survey.toml --gpu h200",
    "subsalt plan survey.toml --nodes 24,100,1000 --network 100Gbit/s",
    "subsalt plan survey.toml --workers 40 --spot-loss 0.05/h",
)
@spread
def plan(
    job: JobFile,
    here: plan_command.RankOptions,
    device: plan_command.DeviceOptions,
    cluster: plan_command.NodeOptions,
    farm: plan_command.WorkerOptions,
    talk: Talk,
    measure: Annotated[
        bool,
        typer.Option(
            help="Measure rates of this machine that are not yet known. This takes some seconds, once."
        ),
    ] = True,
) -> None:
    """Predict the memory, disk space and run time of a job, and whether it fits. Nothing is started."""
    if cluster.nodes is not None:
        here.refuse_ranks()
        device.refuse_with_nodes()
        farm.check("--nodes")
        plan_command.nodes(job, cluster, here, talk.out(), measure)
        return
    cluster.refuse_alone()
    plan_command.plan(job, here, device, farm, talk.out(), measure)
