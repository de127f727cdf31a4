"""`subsalt plan`: read the job, plan it, print the table, and return the exit code if the job does not fit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subsalt.cli import seen_warnings
from subsalt.cli.app_root import NewRunDir, Shots
from subsalt.cli.output import Out
from subsalt.errors import ConfigError

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob
    from subsalt.plan import PlannedDevice
    from subsalt.plan.plan import Plan
    from subsalt.plan.workers import WorkersTime


#: titles of the options that only some plans use
NODES_PANEL, GPU_PANEL = "Prediction for many nodes", "GPU options"
WORKERS_PANEL = "Prediction for workers of an engine"


@dataclass(frozen=True)
class RankOptions:
    """Options on the ranks of one machine."""

    ranks: Annotated[int, typer.Option("--ranks", "-n", min=1, help="Number of MPI ranks.")] = 1
    memory_per_rank: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Memory of each rank, such as 16GB.",
            show_default="free memory of this machine divided by the ranks",
        ),
    ] = None
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Threads of each rank.",
            show_default="[parallel] threads, or the cores divided by the ranks",
        ),
    ] = None
    machine: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Measurements (machine.json) of the machine that is to run the job.",
            show_default="that of this machine",
            readable=False,
        ),
    ] = None
    run: NewRunDir = None
    shots: Shots = None

    def job(self, path: Path) -> BaseJob:
        """Return the job, with the shots that were chosen."""
        from subsalt.job.base import read_job

        job = read_job(path)
        return job if self.shots is None else job.with_shots(self.shots)

    def memory(self) -> int | None:
        """Return the memory of a rank in bytes, None when it is not given."""
        return None if self.memory_per_rank is None else memory_bytes(self.memory_per_rank)

    def refuse_ranks(self) -> None:
        """Refuse ``--ranks`` together with ``--nodes``."""
        if self.ranks != 1:
            raise ConfigError(
                f"--ranks {self.ranks} does not go with --nodes",
                "give --ranks-per-node, or leave --nodes out",
                code="E971",
            )


@dataclass(frozen=True)
class NodeOptions:
    """Options on a cluster: its nodes, network and file system."""

    nodes: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Predict the time on these numbers of nodes like this machine, such as 24,100,1000.",
            rich_help_panel=NODES_PANEL,
        ),
    ] = None
    ranks_per_node: Annotated[
        int, typer.Option(help="MPI ranks on each node.", rich_help_panel=NODES_PANEL)
    ] = 1
    network: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Network between nodes: 20 (GB/s), 100Gbit/s, or with latency 20GB/s,2us.",
            show_default="as measured by subsalt lab network",
            rich_help_panel=NODES_PANEL,
        ),
    ] = None
    files: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Rate of the shared file system for all nodes together, such as 2.7GB/s.",
            rich_help_panel=NODES_PANEL,
        ),
    ] = None
    measured: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            readable=False,
            help="Run directory or result of `subsalt lab scaling` to compare the prediction with. Repeatable.",
            rich_help_panel=NODES_PANEL,
        ),
    ] = None

    def refuse_alone(self) -> None:
        """Refuse options that belong to ``--nodes`` without it."""
        given = {
            "--ranks-per-node": self.ranks_per_node != 1,
            "--network": self.network,
            "--files": self.files,
            "--measured": self.measured,
        }
        names = [name for name, value in given.items() if value]
        if names:
            raise ConfigError(
                f"{' and '.join(names)} without --nodes",
                "add such as --nodes 24,100,1000, or leave it out",
                code="E971",
            )


@dataclass(frozen=True)
class WorkerOptions:
    """Options on workers that come and go."""

    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Predict the time on this number of workers, each like the one rank of the plan.",
            rich_help_panel=WORKERS_PANEL,
        ),
    ] = None
    spot_loss: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Losses of a worker by time, such as 0.05/h, at random times.",
            show_default="none",
            rich_help_panel=WORKERS_PANEL,
        ),
    ] = None

    def check(self, beside: str) -> None:
        """Refuse ``--spot-loss`` without ``--workers``, and workers beside another option, if any."""
        if self.workers is None and self.spot_loss is not None:
            raise ConfigError(
                "--spot-loss without --workers", "add such as --workers 40, or leave it out", code="E971"
            )
        if self.workers is not None and beside:
            raise ConfigError(
                f"{beside} does not go with --workers",
                f"leave {beside} out: a worker is planned as one rank",
                code="E971",
            )

    def time(self, result: Plan[Any]) -> WorkersTime | None:
        """Return the time on the workers; None without any, or where no rate is known."""
        from subsalt.plan.workers import WorkersTime, losses_per_hour

        loss = 0.0 if self.spot_loss is None else losses_per_hour(self.spot_loss)
        if self.workers is None or result.duration.wall is None or not result.count:
            return None
        return WorkersTime.of(result.duration.phases, result.count, self.workers, loss)


@dataclass(frozen=True)
class DeviceOptions:
    """Options on the device that is to run the job."""

    device: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Device: auto, cpu or cuda.",
            show_default="[parallel] device of the job",
            rich_help_panel=GPU_PANEL,
        ),
    ] = None
    gpu: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Plan for this GPU: h200, h100, a100, ... This machine need not have one.",
            rich_help_panel=GPU_PANEL,
        ),
    ] = None
    gpu_memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Memory of that GPU, such as 80GiB.",
            show_default="the usual size of the model",
            rich_help_panel=GPU_PANEL,
        ),
    ] = None

    def refuse_with_nodes(self) -> None:
        """Refuse options of a device together with ``--nodes``."""
        given = {"--device": self.device, "--gpu": self.gpu, "--gpu-memory": self.gpu_memory}
        names = [name for name, value in given.items() if value is not None]
        if names:
            raise ConfigError(
                f"{' and '.join(names)} cannot be combined with --nodes",
                "the prediction for many nodes knows only processors: leave out --nodes, or the GPU",
                code="E971",
            )

    def of(self, job: BaseJob) -> PlannedDevice:
        """Return the device to plan for: a GPU that is named means cuda."""
        from subsalt.plan import PlannedDevice

        memory = None if self.gpu_memory is None else memory_bytes(self.gpu_memory, "--gpu-memory")
        known = ("auto", "cpu", "cuda", "reference")
        if self.device is not None and self.device not in known:
            raise ConfigError(f"--device {self.device}", f"use one of {', '.join(known)}", code="E104")
        given = "cuda" if self.gpu is not None or memory is not None else job.parallel.device  # type: ignore[attr-defined]
        return PlannedDevice(self.device or given, self.gpu, memory)


def plan(
    job_file: Path,
    here: RankOptions,
    options: DeviceOptions,
    farm: WorkerOptions,
    out: Out,
    measure: bool,
) -> None:
    """Plan a job."""
    from subsalt.plan import plan_job

    farm.check("" if here.ranks == 1 else "--ranks")
    size = here.memory()
    job = here.job(job_file)
    result = plan_job(
        job,
        here.ranks,
        size,
        here.threads,
        machine=here.machine,
        run_dir=here.run,
        measure=measure,
        say=out.note,
        on=options.of(job),
    )
    workers = farm.time(result)
    for line in (*result.lines(), *([] if workers is None else ["", *workers.lines()])):
        out.say(line)
    if farm.workers is not None and workers is None:
        out.say("workers  no time: `subsalt plan` without --no-measure measures the rates")
    out.findings(result.findings)
    seen_warnings.say_untried(job, result.findings, out)
    out.json(result.to_dict() | ({} if workers is None else {"workers": workers.to_dict()}))
    if result.error is not None:
        raise typer.Exit(result.error.exit_code)


def nodes(job_file: Path, cluster: NodeOptions, here: RankOptions, out: Out, measure: bool) -> None:
    """Extrapolate a job to many nodes: a model, labelled so."""
    from subsalt.plan import network as links
    from subsalt.plan import plan_job_on_nodes

    counts = counts_of(cluster.nodes or "")
    request: dict[str, Any] = {
        "ranks_per_node": cluster.ranks_per_node,
        "threads": here.threads,
        "memory_per_rank": here.memory(),
        "link": None if cluster.network is None else links.given(cluster.network),
        "seen": cluster.measured or [],
    }
    if cluster.files is not None:
        request["files"] = links.given(cluster.files, "--files").rate
    result = plan_job_on_nodes(
        here.job(job_file),
        counts,
        machine=here.machine,
        run_dir=here.run,
        measure=measure,
        say=out.note,
        **request,
    )
    for line in result.lines():
        out.say(line)
    out.json(result)


def counts_of(text: str, option: str = "--nodes") -> list[int]:
    """Return numbers of nodes, ascending, each once.

    Raises
    ------
    ConfigError
        When one is not a whole positive number, or absurdly large (E971).
    """
    numbers = list(dict.fromkeys(text.replace(",", " ").split()))
    bad = [w for w in numbers if not w.isdecimal() or not 1 <= int(w) <= 1_000_000]
    if bad or not numbers:
        raise ConfigError(
            f"{option} {' '.join(bad) or 'is empty'}: not numbers of nodes from 1 to 1000000"
            if bad
            else f"{option} is empty",
            f"write such as {option} 24,100,1000",
            code="E971",
        )
    return sorted({int(w) for w in numbers})


def memory_bytes(text: str, option: str = "--memory-per-rank") -> int:
    """Return bytes of a text such as ``16GB``, ``1.5 GiB`` or, as Slurm writes it, ``900M`` (powers of two).

    Raises
    ------
    ConfigError
        When it is none.
    """
    from subsalt.job.units import UNITS

    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-zA-Z]+)\s*", text)
    known = {name.lower(): factor for name, factor in UNITS["memory"].items()}
    unit = known.get(match[2].lower()) if match else None
    if match is None or unit is None or float(match[1]) * unit < 1:
        raise ConfigError(
            f"{option} {text!r} is not an amount of memory", "write 16GB or 900 MB", code="E662"
        )
    return int(float(match[1]) * unit)
