"""`subsalt submit`: check and plan a job, then write the batch script that migrates it on a cluster.

A target is a row of `TARGETS`: the suffix of its script, and the function that writes it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from subsalt.cli.app_root import NewRunDir, ParallelOptions, Shots, Strict
from subsalt.cli.array_targets import ArrayOptions, batch_writer, kubernetes_writer, slurm_array_writer
from subsalt.cli.output import Out
from subsalt.errors import ConfigError

if TYPE_CHECKING:
    from subsalt.cli.talk import Talk
    from subsalt.job.base import BaseJob
    from subsalt.plan.plan import Plan
    from subsalt.run.slurm import Batch

#: memory of a node whose memory is not given: every job fits into it
ANY_MEMORY = 1 << 50
#: time limit of a script
DAY = "24:00:00"
SLURM_PANEL = "Slurm options"


class TargetName(StrEnum):
    """Systems for which a script can be written."""

    SLURM = "slurm"
    SLURM_ARRAY = "slurm-array"
    KUBERNETES = "kubernetes"
    AWS_BATCH = "aws-batch"


@dataclass(frozen=True)
class SubmitOptions:
    """Options that every target understands."""

    to: Annotated[
        TargetName,
        typer.Option(
            "--to",
            metavar="SYSTEM",
            help="Batch system: slurm (one run on several nodes), or an array of shots: slurm-array, kubernetes, "
            "aws-batch.",
        ),
    ]
    nodes: Annotated[int | None, typer.Option(help="Number of nodes, for slurm.", show_default="none")] = None
    ranks_per_node: Annotated[int, typer.Option(help="MPI ranks on each node.")] = 1
    threads: Annotated[
        int | None,
        typer.Option(
            help="Threads of each rank. The script then reserves these cores instead of whole nodes.",
            show_default="whole nodes, their cores shared by the ranks",
        ),
    ] = None
    ranks_per_shot: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="MPI ranks that share each shot.",
            show_default="[parallel] ranks_per_shot of the job, or the fewest whose memory suffices",
        ),
    ] = None
    memory_per_node: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Memory of a node, such as 64GB. The job must fit.",
            show_default="all of a whole node; with --threads as much as the plan needs",
        ),
    ] = None
    time: Annotated[
        str,
        typer.Option(
            metavar="LIMIT",
            help="Time limit, hh:mm:ss or days-hh:mm:ss. An unfinished run is queued again.",
        ),
    ] = DAY
    run: NewRunDir = None
    shots: Shots = None
    strict: Strict = False
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            readable=False,
            help="Script to be written.",
            show_default="JOB.sbatch in the folder of the job file",
        ),
    ] = None
    print: Annotated[bool, typer.Option("--print", help="Print the script; write no file.")] = False


@dataclass(frozen=True)
class SlurmOptions:
    """Options that only Slurm understands."""

    partition: Annotated[
        str | None, typer.Option(metavar="NAME", help="Partition.", rich_help_panel=SLURM_PANEL)
    ] = None
    account: Annotated[
        str | None, typer.Option(metavar="NAME", help="Account.", rich_help_panel=SLURM_PANEL)
    ] = None
    mpi: Annotated[
        str,
        typer.Option(
            metavar="STARTER",
            help="Program that starts the ranks: srun (with --mpi=pmi2), srun:TYPE (with --mpi=TYPE) or mpiexec.",
            rich_help_panel=SLURM_PANEL,
        ),
    ] = "srun"
    mpi_library: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="MPI library of the cluster.",
            show_default="MPI4PY_LIBMPI if set, else the library of this environment",
            rich_help_panel=SLURM_PANEL,
        ),
    ] = None
    sbatch: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OPTION",
            help="Another option of sbatch, such as --sbatch=--qos=long. Repeatable.",
            rich_help_panel=SLURM_PANEL,
        ),
    ] = None


@dataclass(frozen=True)
class Request:
    """A migration that is to run on a cluster.

    Parameters
    ----------
    job : BaseJob
        Checked, with its shots selected.
    run_dir : Path
        Its run directory, absolute.
    command : list of str
        The program that every rank runs, and its arguments.
    options : SubmitOptions
        As given.
    slurm : SlurmOptions
        As given.
    array : ArrayOptions
        As given.
    path : Path
        Script to be written.
    """

    job: BaseJob
    run_dir: Path
    command: list[str]
    options: SubmitOptions
    slurm: SlurmOptions
    array: ArrayOptions
    path: Path


@dataclass(frozen=True)
class Script:
    """A script, the memory in bytes that it needs on each node, the ranks that share a shot, and what to call then."""

    text: str
    memory_per_node: int
    group_size: int
    then: Sequence[str]


@dataclass(frozen=True)
class Target:
    """A batch system.

    Parameters
    ----------
    suffix : str
        End of the names of its scripts.
    writer : callable
        Refuses wrong options of a request, and returns a function that plans the job and writes the script.
    """

    suffix: str
    writer: Callable[[Request], Callable[[], Script]]


def submit(
    job_file: Path, options: SubmitOptions, slurm: SlurmOptions, array: ArrayOptions, talk: Talk
) -> None:
    """Write the script of a migration, or print it; nothing is started.

    Raises
    ------
    FindingsError
        When a check of the job finds an error.
    MemoryPlanError
        When the job does not fit into the memory of the nodes.
    ConfigError
        On options that cannot be written into a script (E786).
    """
    from subsalt.cli.commands import check_or_stop
    from subsalt.io.publish import publish_text
    from subsalt.job.base import read_job

    if options.print and options.out is not None:
        raise _wrong("--print writes no file, but --out names one", "leave one of them out")
    # with --print standard output holds nothing but the script
    out = Out(talk.json or options.print, quiet=talk.quiet, verbose=talk.verbose)
    job = read_job(job_file)
    if options.shots is not None:
        job = job.with_shots(options.shots)
    job = ParallelOptions(ranks_per_shot=options.ranks_per_shot).applied_to(job)
    run_dir = (options.run or job.default_run_dir).resolve()
    target = TARGETS[options.to]
    # wrong options are refused before the traces are read
    path = options.out or job.base / f"{job.name}{target.suffix}"
    command = _command(job_file, run_dir, options)
    write = target.writer(Request(job, run_dir, command, options, slurm, array, path))
    check_or_stop(job, out, options.strict)
    if job.data is None:
        raise ConfigError(f"{job_file} has no [data]", 'add [data] with files = ["shots/*.sgy"]', code="E102")
    script = write()
    if options.print:
        sys.stdout.write(script.text)
        sys.stdout.flush()
        return
    publish_text(path, script.text)
    out.row("script", str(path))
    for line in script.then:
        out.row("next", line)
    out.json(
        {
            "script": path,
            "text": script.text,
            "memory_per_node": script.memory_per_node,
            "group_size": script.group_size,
            "next": script.then,
        }
    )


def slurm_writer(request: Request) -> Callable[[], Script]:
    """Return a function that writes the batch script for Slurm."""
    from subsalt.cli.plan_command import memory_bytes

    batch = _batch(request)
    given = request.options.memory_per_node
    wanted = None if given is None else memory_bytes(given, "--memory-per-node")
    return lambda: _slurm_script(request, batch, wanted)


def _slurm_script(request: Request, batch: Batch, wanted: int | None) -> Script:
    """Return the script of a batch with the memory that was given, or with the memory that the plan needs."""
    from subsalt.plan import plan_job
    from subsalt.plan.world import COMFORT

    options = request.options
    each = (wanted or ANY_MEMORY) // batch.ranks_per_node
    plan = plan_job(request.job, batch.ranks, each, options.threads, run_dir=request.run_dir)
    if plan.memory_error is not None:
        raise plan.memory_error
    memory = wanted or int(plan.bytes_per_rank * batch.ranks_per_node / COMFORT)
    # a whole node has one user: a limit below its memory would only shrink the page cache
    reserved = 0 if wanted is None and options.threads is None else memory
    text = replace(batch, memory_per_node=reserved, note=_note(request, plan, batch.ranks)).text()
    return Script(text, memory, plan.ranks_together, [f"sbatch {request.path}"])


def _batch(request: Request) -> Batch:
    """Return the script without its memory."""
    from subsalt.machine.launcher import Launcher
    from subsalt.run.slurm import Batch, seconds_of

    job, options, slurm = request.job, request.options, request.slurm
    if options.nodes is None:
        error = _wrong("Missing option '--nodes'", "give --nodes N, or write an array: --to slurm-array")
        error.code = "E002"
        raise error
    library = slurm.mpi_library or os.environ.get("MPI4PY_LIBMPI")
    return Batch(
        job.name,
        request.command,
        job.base.resolve(),
        request.run_dir,
        options.nodes,
        options.ranks_per_node,
        options.threads,
        seconds=seconds_of(options.time),
        starter=slurm.mpi,
        partition=slurm.partition,
        account=slurm.account,
        library=library,
        # the mpiexec of this environment; that of the cluster is found on PATH where the script runs
        mpiexec="mpiexec" if library or slurm.mpi != "mpiexec" else Launcher.find().words[0],
        more=list(slurm.sbatch or ()),
    )


def _note(request: Request, plan: Plan, ranks: int) -> str:
    """Return the comment at the head of a script: the work, the ranks, and the memory of each."""
    from subsalt import __version__
    from subsalt.methods import method_of
    from subsalt.plan.plan import size

    group = plan.ranks_together
    shared = (
        f"{group} ranks share a shot"
        if group > 1
        else f"every rank migrates {method_of(request.job.method).unit}s of its own"
    )
    return f"subsalt {__version__}: {plan.units} on {ranks} ranks; {shared}, {size(plan.bytes_per_rank)} each"


#: the systems that `--to` names
TARGETS = {
    TargetName.SLURM: Target(".sbatch", slurm_writer),
    TargetName.SLURM_ARRAY: Target(".array.sbatch", slurm_array_writer),
    TargetName.KUBERNETES: Target(".kubernetes.json", kubernetes_writer),
    TargetName.AWS_BATCH: Target(".batch.json", batch_writer),
}


def _command(job_file: Path, run_dir: Path, options: SubmitOptions) -> list[str]:
    """Return the command of the ranks: with this Python, so that the script needs no activated environment."""
    words = [sys.executable, "-m", "subsalt", "migrate", str(job_file.resolve()), "--run", str(run_dir)]
    words += [] if options.shots is None else ["--shots", options.shots]
    words += [] if options.ranks_per_shot is None else ["--ranks-per-shot", str(options.ranks_per_shot)]
    return [*words, *(["--strict"] if options.strict else [])]


def _wrong(message: str, fix: str) -> ConfigError:
    error = ConfigError(message, fix, code="E786")
    error.exit_code = 2
    return error
