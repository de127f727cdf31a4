"""Sub-commands that make an image: migrate, resume, stop, watch, plan."""

from __future__ import annotations

import sys
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated

import typer

from subsalt.cli import ranks
from subsalt.cli.app_root import (
    AcceptChangedInputs,
    JobFile,
    Json,
    NewRunDir,
    RetryQuarantined,
    RunDir,
    Shots,
    Strict,
    TimeLimit,
    app,
    example,
)
from subsalt.cli.commands import migrate_here, resume_options
from subsalt.cli.output import Out, printable, usage

if TYPE_CHECKING:
    from subsalt.job.job import Job


@app.command(
    short_help="Migrate the shots or traces of a job to an image.",
    epilog=example(
        "subsalt migrate survey.toml --run survey.run",
        "mpiexec -n 4 subsalt migrate survey.toml",
        "subsalt migrate survey.toml --slurm --nodes 4 --ranks-per-node 2 --print",
        "subsalt migrate line.toml --vscan 0.9:1.1:0.05 --at 605",
    ),
)
def migrate(
    job: JobFile,
    run: NewRunDir = None,
    shots: Shots = None,
    recompute: Annotated[
        bool,
        typer.Option(
            "--recompute", help="Set the result of a changed job aside in RUN/previous, start anew."
        ),
    ] = False,
    strict: Strict = False,
    json: Json = False,
    retry_quarantined: RetryQuarantined = False,
    accept_changed_inputs: AcceptChangedInputs = False,
    time_limit: TimeLimit = None,
    slurm: Annotated[
        bool, typer.Option("--slurm", help="Write a batch script for Slurm, start nothing.")
    ] = False,
    nodes: Annotated[int | None, typer.Option(help="Slurm: nodes.")] = None,
    ranks_per_node: Annotated[int | None, typer.Option(help="Slurm: ranks on each node; 1.")] = None,
    threads: Annotated[
        int | None, typer.Option(help="Slurm: threads of each rank; whole nodes when left out.")
    ] = None,
    memory_per_node: Annotated[
        str | None, typer.Option(help="Slurm: such as 64GB; what the plan needs when left out.")
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(help="Slurm: limit, hh:mm:ss or days-hh:mm:ss; 24:00:00. Queued again after it."),
    ] = None,
    partition: Annotated[str | None, typer.Option(help="Slurm: partition.")] = None,
    account: Annotated[str | None, typer.Option(help="Slurm: account.")] = None,
    mpi: Annotated[
        str | None, typer.Option(help="Slurm: srun, srun:pmix (a type of srun --mpi), or mpiexec; srun.")
    ] = None,
    mpi_library: Annotated[
        str | None, typer.Option(help="Slurm: the MPI library of the site, for MPI4PY_LIBMPI.")
    ] = None,
    sbatch: Annotated[
        list[str] | None, typer.Option(help="Slurm: one more option of sbatch, such as --sbatch=--qos=long.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", readable=False, help="Slurm: the script; JOB.sbatch beside the job."),
    ] = None,
    print_: Annotated[bool, typer.Option("--print", help="Slurm: print the script, write no file.")] = False,
    vscan: Annotated[
        str | None,
        typer.Option(
            metavar="FIRST:LAST:STEP",
            help="Kirchhoff: a run at each of these scales of the velocity, in JOB.vscan, and their panels.",
        ),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="PLACE", help="Scan: draw the gathers at inline,crossline (or CDP); repeat it."),
    ] = None,
) -> None:
    """Migrate [data] to a depth or time image, as method says; the same command goes on where a run was stopped."""
    from subsalt.cli import slurm_command, vscan_command

    batch = slurm_command.Options(
        nodes,
        ranks_per_node,
        threads,
        memory_per_node,
        time,
        partition,
        account,
        mpi,
        mpi_library,
        sbatch,
        out,
        print_,
    )
    if slurm:
        vscan_command.refuse_with(vscan, at, slurm="--slurm")
        slurm_command.write(batch, job, run, shots, strict, json)
        return
    batch.refuse_alone()
    how = resume_options(retry_quarantined, accept_changed_inputs, time_limit)
    if vscan is not None:
        vscan_command.refuse_with(vscan, at, shots="--shots" if shots else None)
        vscan_command.vscan(job, vscan, at, run, strict, json, how, recompute)
        return
    vscan_command.refuse_with(vscan, at)
    printer = Out(json)
    with ranks.on_all_ranks(job, printer, shots) as read:
        migrate_here(read, run or read.default_run_dir, strict, printer, how, recompute)


@app.command(
    short_help="Go on with a run that was stopped or killed.",
    epilog=example("subsalt resume survey.run", "mpiexec -n 4 subsalt resume survey.run"),
)
def resume(
    run: RunDir,
    strict: Strict = False,
    json: Json = False,
    retry_quarantined: RetryQuarantined = False,
    accept_changed_inputs: AcceptChangedInputs = False,
    time_limit: TimeLimit = None,
) -> None:
    """Go on with a run from its directory alone, on any number of ranks: the same as its first command again."""
    from subsalt.cli import reimage_command
    from subsalt.run.job_of_run import job_of_run
    from subsalt.run.stopping import known_run

    how = resume_options(retry_quarantined, accept_changed_inputs, time_limit)
    out = Out(json)

    def read() -> Job:
        known_run(run)
        return job_of_run(run)

    if run.is_dir() and reimage_command.go_on(run, json):
        return
    with ranks.on_all_ranks(read, out) as job:
        migrate_here(job, run, strict, out, how)


@app.command(
    short_help="Ask a run to stop; it can go on later.",
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
    """Ask a run to stop, from any shell that sees its directory; it ends with exit code 75 and can go on."""
    from subsalt.run.stopping import ask

    if not wait >= 0:
        raise usage(f"--wait {wait:g} is no time", "give seconds, 0 to return at once")
    out = Out(json)
    answer = ask(run, finish_shots, wait, out.say)
    if not answer.running:
        dead = f" ({answer.owner} is gone)" if answer.owner else ""
        out.say(f"nobody works in {run}{dead}: nothing to stop")
    elif answer.stopped:
        out.say(f"stopped after {answer.seconds:.1f} s; subsalt resume {run} goes on")
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
    from subsalt.run.watching import lines, view_of

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
def plan(
    job: JobFile,
    ranks: Annotated[int, typer.Option("--ranks", "-n", min=1, help="Ranks to be started.")] = 1,
    memory_per_rank: Annotated[
        str | None,
        typer.Option(help="Such as 16GB; what is free on this machine over the ranks when left out."),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of each rank; the cores over the ranks when left out.")
    ] = None,
    machine: Annotated[
        Path | None,
        typer.Option(
            help="machine.json of the machine that will run it; that of this one when left out.",
            readable=False,
        ),
    ] = None,
    run: NewRunDir = None,
    shots: Shots = None,
    nodes: Annotated[
        str | None,
        typer.Option(
            help="Extrapolate to these numbers of nodes like this one, such as 24,100,1000: a model."
        ),
    ] = None,
    ranks_per_node: Annotated[int, typer.Option(help="With --nodes: ranks of each.")] = 1,
    network: Annotated[
        str | None,
        typer.Option(help="With --nodes: between nodes, 20 (GB/s), 100Gbit/s or 20GB/s,2us; as measured."),
    ] = None,
    files: Annotated[
        str | None,
        typer.Option(help="With --nodes: what the file system gives to all together, such as 2.7GB/s."),
    ] = None,
    measured: Annotated[
        list[Path] | None,
        typer.Option(
            readable=False,
            help="With --nodes: a run, or a result of lab scaling, that the model is held against; repeat it.",
        ),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Plan for auto, cpu or cuda; the device of the job when left out.")
    ] = None,
    gpu: Annotated[
        str | None, typer.Option(help="Plan for a GPU that need not be here: h200, h100, a100, ...")
    ] = None,
    gpu_memory: Annotated[str | None, typer.Option(help="Its memory, such as 80GiB; as usual.")] = None,
    json: Json = False,
    measure: Annotated[
        bool,
        typer.Option(help="Measure for some seconds what this machine was not measured for, and keep it."),
    ] = True,
) -> None:
    """Say what memory, disk and time a job takes on so many ranks, and whether it fits; nothing is started."""
    from subsalt.cli import plan_command

    if nodes is not None:
        plan_command.no_ranks(ranks)
        plan_command.no_gpu(device=device, gpu=gpu, gpu_memory=gpu_memory)
        cluster = plan_command.Cluster(nodes, ranks_per_node, memory_per_rank, threads, network, files)
        plan_command.nodes(job, cluster, machine, run, shots, measured or [], json, measure)
        return
    plan_command.alone(ranks_per_node=ranks_per_node != 1, network=network, files=files, measured=measured)
    asked = plan_command.Asked(device, gpu, gpu_memory)
    plan_command.plan(job, ranks, memory_per_rank, threads, machine, run, shots, json, measure, asked)
