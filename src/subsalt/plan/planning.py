"""The plan of a job of any method.

Numbers of a plan as people read them, whatever its method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.methods import method_of
from subsalt.plan.gpu import Device, Gpu
from subsalt.plan.network import Link

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob
    from subsalt.plan.nodes import NodesPlan


@dataclass(frozen=True)
class PlanRequest:
    """What a plan is asked for.

    Parameters
    ----------
    ranks : int
        Ranks to be started.
    memory_per_rank : int, optional
        Bytes each may take; what is free on this machine, divided by the ranks, when None.
    threads : int, optional
        Of each rank; the cores of this machine, divided by the ranks, when None.
    machine : Path, optional
        machine.json with rates of the machine that will run it; that of this machine when None.
    run_dir : Path, optional
        Where the run writes; the default folder when None.
    measure : bool
        Measure for some seconds what this machine was not measured for, and keep it in machine.json.
    say : callable
        Told what is measured.
    on : Device, optional
        What computes; the device of the job when None.
    """

    ranks: int = 1
    memory_per_rank: int | None = None
    threads: int | None = None
    machine: Path | None = None
    run_dir: Path | None = None
    measure: bool = False
    say: Callable[[str], None] = lambda text: None
    on: Device | None = None


@dataclass(frozen=True)
class NodesRequest:
    """What a table of many nodes is asked for.

    Parameters
    ----------
    counts : sequence of int
        Numbers of nodes.
    machine, run_dir, measure, say
        As of `PlanRequest`.
    seen : sequence of Path
        Runs and results of `subsalt lab scaling` that the model is held against.
    ranks_per_node, threads, memory_per_rank : int
        Ranks of a node, threads and bytes of each; what the machine that was measured has of them when None.
    link : Link, optional
        Between nodes, where somebody says it.
    files : float
        Bytes per second that files take and give to all nodes together.
    """

    counts: Sequence[int]
    machine: Path | None = None
    run_dir: Path | None = None
    measure: bool = False
    seen: Sequence[Path] = ()
    say: Callable[[str], None] = lambda text: None
    ranks_per_node: int = 1
    threads: int | None = None
    memory_per_rank: int | None = None
    link: Link | None = None
    files: float = math.inf


def plan_job(
    job: BaseJob,
    ranks: int = 1,
    memory_per_rank: int | None = None,
    threads: int | None = None,
    **asked: Any,
) -> Any:
    """Plan the migration of a job, or its modelling when it has no `[data]`.

    Parameters
    ----------
    job : Job
        Validated.
    ranks, memory_per_rank, threads, **asked
        Fields of `PlanRequest`: also ``machine``, ``run_dir``, ``measure``, ``say`` and ``on``.

    Returns
    -------
    Plan or KirchhoffPlan
        `fits`, `error`, `bytes_per_rank`, `lines()`, `to_dict()`.

    Raises
    ------
    SubsaltError
        When the job cannot be set up, or asks for more ranks per shot than there are or than slabs allow.
    """
    return method_of(job.method).plan(job, PlanRequest(ranks, memory_per_rank, threads, **asked))


def plan_job_on_nodes(job: BaseJob, counts: Sequence[int], **asked: Any) -> NodesPlan:
    """Extrapolate the migration of a job to numbers of nodes like the one that was measured: a model, never a result.

    Parameters
    ----------
    job : Job
        Validated.
    counts : sequence of int
        Numbers of nodes.
    **asked
        Fields of `NodesRequest`.

    Raises
    ------
    SubsaltError
        When the job cannot be set up, or a number makes no sense.
    """
    from subsalt.plan.nodes import tabulate

    return tabulate(job, NodesRequest(counts, **asked))


def table_of_bytes(arrays: Mapping[str, int], width: int) -> list[str]:
    """Return bytes by what they are for, the most first, and their sum; names take `width` columns."""
    total = sum(arrays.values())
    rows = sorted(arrays.items(), key=lambda kv: -kv[1])
    out = [f"  {name:<{width}}{size(count):>10}{count / total:>7.0%}" for name, count in rows]
    return [*out, f"  {'in all':<{width}}{size(total):>10}"]


def gpu_line(gpu: Gpu) -> str:
    """Return what is known of the GPU, and from where."""
    known = f"measured on {gpu.measured[:10]}" if gpu.measured else "assumed"
    where = "here" if gpu.there else "not in this machine"
    share = f", {gpu.sharing} ranks share it" if gpu.sharing > 1 else ""
    return (
        f"{gpu.name} ({where}): {size(gpu.limit)} for a rank{share}; copies {gpu.copy / 1e12:.2f} TB/s, "
        f"to the host {gpu.down / 1e9:.0f} GB/s, from it {gpu.up / 1e9:.0f} GB/s ({known})"
    )


def size(count: int) -> str:
    """Return bytes in a unit that suits them."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= scale:
            return f"{count / scale:.2f} {unit}" if count < 10 * scale else f"{count / scale:.1f} {unit}"
    return f"{count / 1e3:.1f} kB"


def duration(seconds: float) -> str:
    """Return seconds in a unit that suits them."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def counted(n: int, what: str) -> str:
    """Return a number with its noun, in the plural where there are several."""
    return f"{n} {what}{'s' * (n != 1)}"
