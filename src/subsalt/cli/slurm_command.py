"""What `subsalt migrate --slurm` does: check and plan the job, then write the batch script that runs it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from subsalt.cli.output import Out
from subsalt.errors import ConfigError

if TYPE_CHECKING:
    from subsalt.cli.app_root import Again, Start

#: taken for the memory of a node that nobody named: all of the job then fits, and the script asks for what it needs
ANY_MEMORY = 1 << 50
#: time limit when none was asked for
DAY = "24:00:00"


@dataclass(frozen=True)
class Options:
    """The options of `migrate` that are for Slurm, as they came."""

    slurm: Annotated[bool, typer.Option("--slurm", help="Write a batch script for Slurm, start nothing.")] = (
        False
    )
    nodes: Annotated[int | None, typer.Option(help="Slurm: nodes.")] = None
    ranks_per_node: Annotated[int | None, typer.Option(help="Slurm: ranks on each node; 1.")] = None
    threads: Annotated[
        int | None, typer.Option(help="Slurm: threads of each rank; whole nodes when left out.")
    ] = None
    memory_per_node: Annotated[
        str | None, typer.Option(help="Slurm: such as 64GB; what the plan needs when left out.")
    ] = None
    time: Annotated[
        str | None,
        typer.Option(help="Slurm: limit, hh:mm:ss or days-hh:mm:ss; 24:00:00. Queued again after it."),
    ] = None
    partition: Annotated[str | None, typer.Option(help="Slurm: partition.")] = None
    account: Annotated[str | None, typer.Option(help="Slurm: account.")] = None
    mpi: Annotated[
        str | None, typer.Option(help="Slurm: srun, srun:pmix (a type of srun --mpi), or mpiexec; srun.")
    ] = None
    mpi_library: Annotated[
        str | None, typer.Option(help="Slurm: the MPI library of the site, for MPI4PY_LIBMPI.")
    ] = None
    sbatch: Annotated[
        list[str] | None, typer.Option(help="Slurm: one more option of sbatch, such as --sbatch=--qos=long.")
    ] = None
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", readable=False, help="Slurm: the script; JOB.sbatch beside the job."),
    ] = None
    print: Annotated[bool, typer.Option("--print", help="Slurm: print the script, write no file.")] = False

    def refuse_alone(self) -> None:
        """Refuse options of a batch script when none is asked for.

        Raises
        ------
        ConfigError
            E786, wrong use of the command line.
        """
        given = [f.name for f in fields(self) if getattr(self, f.name)]
        if given:
            option = "--" + given[0].replace("_", "-")
            raise _wrong(f"{option} is for a batch script", "add --slurm, or leave it out")


def write(options: Options, job_file: Path, start: Start, again: Again) -> None:
    """Write the batch script of a migration, or print it; nothing is submitted.

    Raises
    ------
    FindingsError
        When a check of the job finds an error.
    MemoryPlanError
        When the job does not fit into the memory of the nodes.
    ConfigError
        On options that make no script (E786).
    """
    from subsalt import __version__
    from subsalt.cli.commands import check_or_stop
    from subsalt.cli.plan_command import memory_bytes
    from subsalt.io.publish import publish_text
    from subsalt.job.base import read_job
    from subsalt.machine.launcher import Launcher
    from subsalt.methods import method_of
    from subsalt.plan import plan_job
    from subsalt.plan.plan import size
    from subsalt.plan.world import COMFORT
    from subsalt.run.slurm import Batch, seconds_of

    if options.nodes is None:
        raise _wrong("--slurm needs a number of nodes", "give --nodes 1 or more")
    if options.print and options.out is not None:
        raise _wrong("--print writes no file, --out names one", "leave one of them out")
    # the script is all that --print prints
    out = Out(again.json or options.print)
    job = read_job(job_file)
    if start.shots is not None:
        job = job.with_shots(start.shots)
    check_or_stop(job, out, again.strict)
    if job.data is None:
        raise ConfigError(f"{job_file} has no [data]", 'add [data] with files = ["shots/*.sgy"]', code="E102")
    run_dir = (start.run or job.default_run_dir).resolve()
    library = options.mpi_library or os.environ.get("MPI4PY_LIBMPI")
    batch = Batch(
        job.name,
        _command(job_file, run_dir, start.shots, again.strict),
        job.base.resolve(),
        run_dir,
        options.nodes,
        options.ranks_per_node or 1,
        options.threads,
        0,
        seconds_of(options.time or DAY),
        options.mpi or "srun",
        options.partition,
        options.account,
        library,
        # the mpiexec of this environment; that of the site is found on PATH where the script runs
        "mpiexec" if library or options.mpi != "mpiexec" else Launcher.find().words[0],
        list(options.sbatch or ()),
    )
    wanted = (
        None
        if options.memory_per_node is None
        else memory_bytes(options.memory_per_node, "--memory-per-node")
    )
    each = (wanted or ANY_MEMORY) // batch.ranks_per_node
    plan = plan_job(job, batch.ranks, each, options.threads, run_dir=run_dir)
    if plan.memory_error is not None:
        raise plan.memory_error
    need = plan.bytes_per_rank
    memory = wanted or int(need * batch.ranks_per_node / COMFORT)
    group = plan.ranks_together
    shared = (
        f"{group} ranks share a shot"
        if group > 1
        else f"every rank migrates {method_of(job.method).unit}s of its own"
    )
    note = f"subsalt {__version__}: {plan.units} on {batch.ranks} ranks; {shared}, {size(need)} each"
    text = replace(batch, memory_per_node=memory, note=note).text()
    if options.print:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    path = options.out or job.base / f"{job.name}.sbatch"
    publish_text(path, text)
    out.row("script", str(path))
    out.row("next", f"sbatch {path}")
    out.json({"script": path, "text": text, "memory_per_node": memory, "group_size": group})


def _command(job_file: Path, run_dir: Path, shots: str | None, strict: bool) -> list[str]:
    """Return the command that the ranks run: this Python, so that the script needs no activated environment."""
    words = [sys.executable, "-m", "subsalt", "migrate", str(job_file.resolve()), "--run", str(run_dir)]
    return [*words, *(["--shots", shots] if shots is not None else []), *(["--strict"] if strict else [])]


def _wrong(message: str, fix: str) -> ConfigError:
    error = ConfigError(message, fix, code="E786")
    error.exit_code = 2
    return error
