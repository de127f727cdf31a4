"""Sub-commands that make an image: migrate, resume, stop, watch, plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subsalt.cli.app_root import (
    AcceptChangedInputs,
    JobFile,
    Json,
    RetryQuarantined,
    RunDir,
    Strict,
    TimeLimit,
    app,
    example,
)


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
    run: Annotated[
        Path | None, typer.Option("--run", readable=False, help="Run directory; JOB.run beside the job.")
    ] = None,
    shots: Annotated[str | None, typer.Option(help='Only these shots, such as "1-100:5, 201".')] = None,
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
    from subsalt.cli import commands, slurm_command, vscan_command

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
    how = commands.resume_options(retry_quarantined, accept_changed_inputs, time_limit)
    if vscan is not None:
        vscan_command.refuse_with(vscan, at, shots="--shots" if shots else None)
        vscan_command.vscan(job, vscan, at, run, strict, json, how, recompute)
        return
    vscan_command.refuse_with(vscan, at)
    commands.migrate(job, run, shots, strict, json, how, recompute)


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
    from subsalt.cli import run_commands

    run_commands.resume(run, strict, json, retry_quarantined, accept_changed_inputs, time_limit)


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
    from subsalt.cli import run_commands

    run_commands.stop(run, finish_shots, wait, json)


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
    from subsalt.cli import run_commands

    run_commands.watch(run, once, every, json)


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
    run: Annotated[
        Path | None, typer.Option("--run", readable=False, help="Run directory; JOB.run beside the job.")
    ] = None,
    shots: Annotated[str | None, typer.Option(help='Only these shots, such as "1-100:5, 201".')] = None,
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
