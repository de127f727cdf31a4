"""A time migration on many nodes: blocks of the image are dealt to ranks, and nothing travels between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from subsalt import kernels
from subsalt.errors import FindingsError, SubsaltError
from subsalt.job.types import auto_to_none
from subsalt.lab.machine import Machine
from subsalt.methods.kirchhoff.cutting import Block
from subsalt.methods.kirchhoff.duration import Share, measured, time_of
from subsalt.methods.kirchhoff.memory import layout_of
from subsalt.methods.kirchhoff.plan import OF_THIS_MACHINE, disk_of
from subsalt.methods.kirchhoff.reach import reach
from subsalt.methods.kirchhoff.setup import KirchhoffSetup
from subsalt.methods.kirchhoff.work import Work, work_of
from subsalt.plan.nodes import (
    Cluster,
    NodesPlan,
    Row,
    assumptions,
    cluster_of,
    measured_points,
    with_efficiency,
)
from subsalt.plan.rates import machine_of

if TYPE_CHECKING:
    from subsalt.methods.kirchhoff.job import KirchhoffJob

#: boxes whose traces are counted one by one; of more, so many stand for all
MOST_BOXES = 200


def plan_kirchhoff_nodes(
    job: KirchhoffJob,
    counts: Sequence[int],
    *,
    machine: Path | None = None,
    run_dir: Path | None = None,
    measure: bool = False,
    seen: Sequence[Path] = (),
    say: Callable[[str], None] = lambda text: None,
    **cluster: Any,
) -> NodesPlan:
    """Return what the model says of a time migration on some numbers of nodes; arguments as of `nodes.plan_nodes`.

    Raises
    ------
    FindingsError
        With everything that a check finds wrong, the memory of this machine aside.
    """
    from subsalt.job.checking import check_job

    checked = check_job(job)
    if any(f.level == "error" and f.code not in OF_THIS_MACHINE for f in checked.findings):
        raise FindingsError(checked.findings, checked.exit_code())
    setup, folder = job.setup(), run_dir or job.default_run_dir
    points = measured_points(seen, folder)
    known, why_not = machine_of(machine)
    own = auto_to_none(job.parallel.threads)
    nodes = cluster_of(counts, known, **{**cluster, "threads": cluster.get("threads") or own})
    if measure and machine is None and kernels.is_cpu(job.parallel.device):
        measured(setup, nodes.world(1), say)
        known, why_not = machine_of(machine)
    work = job.remember("work", lambda: work_of(setup))
    rows: list[Row] = []
    notes: list[str] = []
    for n in nodes.counts:
        try:
            row, notes = _row(job, setup, work, nodes, n, known, why_not, folder)
        except SubsaltError as error:
            row = Row(n, nodes.world(n).ranks, problem=error.message)
        rows.append(row)
    units = f"{setup.grid.size} locations, {len(setup.table.number)} traces"
    return NodesPlan(
        job.name,
        "kirchhoff",
        units,
        with_efficiency(rows),
        [*notes, *assumptions(nodes, nodes.around(known, folder))],
        points,
    )


def _row(
    job: KirchhoffJob,
    setup: KirchhoffSetup,
    work: Work,
    nodes: Cluster,
    n: int,
    known: Machine | None,
    why_not: str,
    folder: Path,
) -> tuple[Row, list[str]]:
    """Return the row of `n` nodes, and what the figures rest on."""
    world, section = nodes.world(n), job.kirchhoff
    layout = layout_of(
        setup,
        world,
        traces_at_a_time=auto_to_none(section.trace_block),
        memory=auto_to_none(section.memory),
        work=work,
    )
    if layout.error is not None:
        raise layout.error
    share, even = estimated_share(setup, layout.blocks, work, world.ranks)
    disk = disk_of(setup, layout, folder, job.output.formats)
    around = nodes.around(known, folder)
    spent = time_of(
        setup, world, share, disk.parts, known, why_not, pictures=job.output.pictures, around=around
    )
    row = Row(n, world.ranks, groups=len(layout.blocks), lost=1.0 - even)
    if spent.wall is None:
        return row, spent.notes
    phases = dict(spent.phases)
    kernel = phases.pop("sum") + phases.pop("prepare")
    io = sum(phases.pop(name) for name in ("trace input", "headers", "output"))
    return (
        replace(row, kernel=kernel, io=io, rest=sum(phases.values()), wall=spent.wall),
        [*spent.notes, "halo: none, blocks of the image need nothing of each other"],
    )


def estimated_share(
    setup: KirchhoffSetup, blocks: Sequence[Block], work: Work, ranks: int
) -> tuple[Share, float]:
    """Return what the busiest rank does, and the part of the ranks' time that is used.

    As `kirchhoff_time.share_of`, but for traces, which are counted for some boxes only.
    """
    groups = max(1.0, float(work.by_group.sum()))
    parts = np.empty(len(blocks))
    for i, block in enumerate(blocks):
        box = block.box
        parts[i] = float(work.by_location[box.i0 : box.i1, box.j0 : box.j1].sum())
        if setup.classes.kind != "image":
            parts[i] *= float(work.by_group[block.c0 : block.c1].sum()) / groups
    some = range(0, len(blocks), -(-len(blocks) // MOST_BOXES))
    traces = float(np.mean([_traces(setup, blocks[i]) for i in some]))
    load, taken = np.zeros(ranks), np.zeros(ranks, np.int64)
    for part in parts:
        rank = int(np.argmin(load))
        load[rank] += part
        taken[rank] += 1
    busiest = int(np.argmax(load))
    even = float(load.mean() / load.max()) if load.max() > 0 else 1.0
    return Share(float(load[busiest]), round(traces * taken[busiest]), round(traces * len(blocks))), even


def _traces(setup: KirchhoffSetup, block: Block) -> int:
    """Return the traces that a block reads."""
    rows = reach(setup.table, setup.grid.positions(block.box), setup.options.aperture)
    group = setup.group[rows]
    counts = np.bincount(group[group >= 0], minlength=setup.classes.groups)
    return int((counts if setup.classes.kind == "image" else counts[block.c0 : block.c1]).sum())
