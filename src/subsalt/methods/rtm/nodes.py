"""Reverse time migration on many nodes: what the model says beyond the machine that was measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import kernels
from subsalt.errors import SubsaltError
from subsalt.lab.machine import Machine
from subsalt.methods.rtm.duration import duration_of
from subsalt.methods.rtm.grouping import decide
from subsalt.methods.rtm.measuring import measured
from subsalt.methods.rtm.need import Needs
from subsalt.methods.rtm.plan import lost_part, setup_of
from subsalt.methods.rtm.scratch import checkpointing_of, disks_of
from subsalt.plan.nodes import (
    Cluster,
    NodesPlan,
    Row,
    assumptions,
    cluster_of,
    measured_points,
    with_efficiency,
    with_seconds,
)
from subsalt.plan.rates import machine_of

if TYPE_CHECKING:
    from subsalt.job.job import Job


def plan_nodes(
    job: Job,
    counts: Sequence[int],
    *,
    machine: Path | None = None,
    run_dir: Path | None = None,
    measure: bool = False,
    seen: Sequence[Path] = (),
    say: Callable[[str], None] = lambda text: None,
    **cluster: Any,
) -> NodesPlan:
    """Return what the model says of a reverse time migration, or of modelling, on some numbers of nodes.

    Parameters
    ----------
    job : Job
        Validated.
    counts : sequence of int
        Nodes.
    machine, run_dir, measure, say
        As of `subsalt.plan.plan_job`.
    seen : sequence of Path
        Runs and results that the model is held against.
    **cluster
        As of `cluster_of`.
    """
    setup, survey, _ = setup_of(job)
    folder = run_dir or (job.default_run_dir if job.data is not None else job.base / f"{job.name}.shots")
    points = measured_points(seen, folder)
    known, why_not = machine_of(machine)
    own = job.propagation_options.threads
    nodes = cluster_of(counts, known, **{**cluster, "threads": cluster.get("threads") or own})
    if measure and machine is None and kernels.is_cpu(job.parallel.device):
        one = nodes.world(1)
        places = [Path(d) for d in job.checkpoint_options.directories] or [folder]
        measured(
            Needs(setup, survey.shots, one.ranks, one.threads),
            one,
            job.checkpoint_options,
            places,
            say,
            folder,
        )
        known, why_not = machine_of(machine)
    rows: list[Row] = []
    notes: list[str] = []
    for n in nodes.counts:
        try:
            row, notes = _row(job, setup, survey, nodes, n, known, why_not, folder)
        except SubsaltError as error:
            row = Row(n, nodes.world(n).ranks, problem=error.message)
        rows.append(row)
    return NodesPlan(
        job.name,
        "rtm",
        f"{len(survey)} shots",
        with_efficiency(rows),
        [*notes, *assumptions(nodes, nodes.around(known, folder))],
        points,
    )


def _row(
    job: Job,
    setup: Any,
    survey: Any,
    nodes: Cluster,
    n: int,
    known: Machine | None,
    why_not: str,
    folder: Path,
) -> tuple[Row, list[str]]:
    """Return the row of `n` nodes, and what the figures rest on."""
    world = nodes.world(n)
    needs = Needs(setup, survey.shots, world.ranks, world.threads, streamed=job.parallel.stream_model)
    formats = job.output.formats
    if job.data is not None:
        how = checkpointing_of(job.checkpoint_options, needs, world, folder, formats, known)
        # each node has scratch like this machine
        needs = needs.choosing(replace(how, disk=how.disk * n))
    decision = decide(needs, world, job.parallel.ranks_per_shot)
    size, groups = decision.group_size, decision.groups
    lost = lost_part(len(survey), decision)
    if decision.error is not None:
        return Row(n, world.ranks, size, groups, lost, problem=decision.error.message), []
    disk, *_ = disks_of(needs, decision, folder, formats)
    pictures = job.data is not None and job.output.pictures
    spent = duration_of(
        needs, decision, known, why_not, disk.parts, pictures=pictures, around=nodes.around(known, folder)
    )
    return with_seconds(Row(n, world.ranks, size, groups, lost), spent), spent.notes
