"""Planning a job of any method: what is asked for, on one machine or on many nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.methods import method_of
from subsalt.plan.gpu import PlannedDevice
from subsalt.plan.network import Link

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob
    from subsalt.plan.nodes import NodesPlan
    from subsalt.plan.plan import Plan


@dataclass(frozen=True)
class PlanRequest:
    """Request for a plan.

    Parameters
    ----------
    ranks : int
        Ranks to be started.
    memory_per_rank : int, optional
        Bytes each may take; what is free on this machine, divided by the ranks, when None.
    threads : int, optional
        Threads of each rank; the cores of this machine, divided by the ranks, when None.
    machine : Path, optional
        machine.json with rates of the machine that will run it; that of this machine when None.
    run_dir : Path, optional
        Where the run writes; the default folder when None.
    measure : bool
        Measure for some seconds what this machine was not measured for, and keep it in machine.json.
    say : callable
        Told what is measured.
    on : PlannedDevice, optional
        Device that computes; the device of the job when None.
    """

    ranks: int = 1
    memory_per_rank: int | None = None
    threads: int | None = None
    machine: Path | None = None
    run_dir: Path | None = None
    measure: bool = False
    say: Callable[[str], None] = lambda text: None
    on: PlannedDevice | None = None


@dataclass(frozen=True)
class NodesRequest:
    """Request for a table of many nodes.

    Parameters
    ----------
    counts : sequence of int
        Numbers of nodes.
    machine, run_dir, measure, say
        As of `PlanRequest`.
    seen : sequence of Path
        Runs and results of `subsalt lab scaling` with which the model is compared.
    ranks_per_node, threads, memory_per_rank : int
        Ranks of a node, threads and bytes of each; what the machine that was measured has of them when None.
    link : Link, optional
        Link between nodes, where it is given.
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
    **options: Any,
) -> Plan[Any]:
    """Plan the migration of a job, or its modelling when it has no `[data]`.

    Parameters
    ----------
    job : Job
        Validated.
    ranks, memory_per_rank, threads, **asked
        Fields of `PlanRequest`: also ``machine``, ``run_dir``, ``measure``, ``say`` and ``on``.

    Returns
    -------
    Plan
        `fits`, `error`, `bytes_per_rank`, `lines()`, `to_dict()`.

    Raises
    ------
    SubsaltError
        When the job cannot be set up, or asks for more ranks per shot than there are or than slabs allow.
    """
    plan: Plan[Any] = method_of(job.method).plan(job, PlanRequest(ranks, memory_per_rank, threads, **options))
    return plan


def plan_job_on_nodes(job: BaseJob, counts: Sequence[int], **options: Any) -> NodesPlan:
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

    return tabulate(job, NodesRequest(counts, **options))
