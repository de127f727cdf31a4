"""Targets of `subsalt submit` that are arrays of batch systems: their options, and what writes their scripts."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from subsalt.cli.output import usage

if TYPE_CHECKING:
    from subsalt.cli.submit_command import Request, Script
    from subsalt.plan.plan import Plan
    from subsalt.run.arrays import UnitArray

PANEL = "Options of arrays"
#: elements of an array where their number is not given: the usual limit of Slurm
MOST = 1000


@dataclass(frozen=True)
class ArrayOptions:
    """Options of arrays."""

    tasks: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Elements of the array. Each computes an equal part of the shots.",
            show_default=f"one for each shot, {MOST} at most",
            rich_help_panel=PANEL,
        ),
    ] = None
    at_once: Annotated[
        int | None,
        typer.Option(
            min=1, help="Elements of Kubernetes at a time.", show_default="all", rich_help_panel=PANEL
        ),
    ] = None
    image: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Container image with subsalt, for kubernetes and aws-batch.",
            rich_help_panel=PANEL,
        ),
    ] = None
    volume: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Shared volume with job, traces and run directory: the claim of kubernetes, the EFS file system of "
            "aws-batch.",
            rich_help_panel=PANEL,
        ),
    ] = None
    mount: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            readable=False,
            help="Folder at which the volume is mounted.",
            show_default="the folder of the job file",
            rich_help_panel=PANEL,
        ),
    ] = None
    queue: Annotated[
        str | None, typer.Option(metavar="NAME", help="Job queue of aws-batch.", rich_help_panel=PANEL)
    ] = None


def slurm_array_writer(request: Request) -> Callable[[], Script]:
    """Return a function that writes the script of an array under Slurm."""
    from subsalt.run.arrays import slurm_array

    slurm = request.slurm
    more = [f"--partition={slurm.partition}"] * (slurm.partition is not None)
    more += [f"--account={slurm.account}"] * (slurm.account is not None)
    more += list(slurm.sbatch or ())
    return _writer(
        request,
        lambda array, path: (slurm_array(array, more), [f"sbatch --wait {path}"]),
        [sys.executable, "-m", "subsalt"],
    )


def kubernetes_writer(request: Request) -> Callable[[], Script]:
    """Return a function that writes an indexed Job of Kubernetes."""
    from subsalt.run.arrays import as_text, kubernetes_job

    options = request.array
    image, volume = _given(request, "image"), _given(request, "volume")

    def write(array: UnitArray, path: Path) -> tuple[str, list[str]]:
        content = kubernetes_job(array, image, volume, _mount(request), options.at_once or array.tasks)
        wait = f"kubectl wait --for=condition=Complete --timeout=-1s job/{array.short_name}"
        return as_text(content), [f"kubectl apply -f {path}", wait]

    return _writer(request, write)


def batch_writer(request: Request) -> Callable[[], Script]:
    """Return a function that writes the definition of a job of AWS Batch."""
    from subsalt.run.arrays import as_text, batch_definition

    image, volume, queue = (_given(request, name) for name in ("image", "volume", "queue"))

    def write(array: UnitArray, path: Path) -> tuple[str, list[str]]:
        content, name = batch_definition(array, image, volume, _mount(request)), array.short_name
        submit = f"aws batch submit-job --job-name {name} --job-definition {name} --job-queue {queue}"
        return as_text(content), [
            f"aws batch register-job-definition --cli-input-json file://{path}",
            f"{submit} --array-properties size={array.tasks}",
        ]

    return _writer(request, write)


def _parts(request: Request, plan: Plan) -> int:
    """Return one element for each unit of a plan."""
    if not plan.count:
        raise usage(f"--to {request.options.to} needs --tasks for {plan.units}", "give --tasks, such as 40")
    return min(MOST, plan.count)


def _given(request: Request, name: str) -> str:
    """Return an option without which the target cannot be written."""
    value = getattr(request.array, name)
    if not value:
        raise usage(
            f"--to {request.options.to} needs --{name}",
            f"give --{name}; `subsalt submit --help` describes it",
        )
    return str(value)


def _mount(request: Request) -> Path:
    """Return the folder of the shared volume, above the run directory."""
    mount = (request.array.mount or request.job.base).resolve()
    if mount not in request.run_dir.parents:
        raise usage(
            f"--mount {mount}: the run directory {request.run_dir} is not in it",
            "give a folder above job, traces and run directory, the same here and in the containers",
        )
    return mount


def _writer(
    request: Request,
    write: Callable[[UnitArray, Path], tuple[str, list[str]]],
    program: Sequence[str] = ("subsalt",),
) -> Callable[[], Script]:
    """Return a function that plans an element of an array and writes its script."""
    from subsalt.cli.plan_command import memory_bytes
    from subsalt.run.arrays import UnitArray
    from subsalt.run.slurm import seconds_of

    options = request.options
    if options.nodes is not None or options.ranks_per_node != 1:
        raise usage(
            f"--to {options.to} has no nodes or ranks", "give --tasks, --threads and --memory-per-node"
        )
    if options.threads is None:
        raise usage(f"--to {options.to} needs --threads", "give the cores of an element, such as --threads 8")
    threads, seconds = options.threads, seconds_of(options.time)
    memory = (
        None
        if options.memory_per_node is None
        else memory_bytes(options.memory_per_node, "--memory-per-node")
    )

    def script() -> Script:
        from subsalt.cli.submit_command import ANY_MEMORY, Script
        from subsalt.plan import plan_job
        from subsalt.plan.world import COMFORT

        plan = plan_job(request.job, 1, memory or ANY_MEMORY, threads, run_dir=request.run_dir)
        if plan.memory_error is not None:
            raise plan.memory_error
        each = memory or int(plan.bytes_per_rank / COMFORT)
        tasks = request.array.tasks or _parts(request, plan)
        array = UnitArray(
            request.job.name,
            request.run_dir,
            tasks,
            threads,
            each,
            seconds,
            program,
            f"{plan.units} in {tasks} parts",
        )
        text, then = write(array, request.path)
        # behind the program of `Request.command`
        prepare = shlex.join(["subsalt", *request.command[3:], "--prepare"])
        return Script(
            text, each, 1, [prepare, *then, shlex.join(["subsalt", "resume", str(request.run_dir)])]
        )

    return script
