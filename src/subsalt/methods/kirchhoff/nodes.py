"""A time migration on many nodes: ranks take blocks of the image, and nothing travels between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from subsalt import kernels
from subsalt.job.units import auto_to_none
from subsalt.machine.machine_file import Machine
from subsalt.methods.kirchhoff.block_reach import reach
from subsalt.methods.kirchhoff.contributions import Contributions, estimate_contributions
from subsalt.methods.kirchhoff.cutting import Block
from subsalt.methods.kirchhoff.duration import Share, measured, prediction_of
from subsalt.methods.kirchhoff.memory import layout_of
from subsalt.methods.kirchhoff.plan import checked_for_any_machine, disk_of
from subsalt.methods.kirchhoff.setup import KirchhoffSetup
from subsalt.plan.nodes import NodesModel, PlannedNodes, Row
from subsalt.plan.prediction import Writes
from subsalt.plan.program import program_of
from subsalt.plan.world import World

if TYPE_CHECKING:
    from subsalt.methods.kirchhoff.job import KirchhoffJob

#: boxes whose traces are counted one by one; of more, so many stand for all
MOST_BOXES = 200


class BlocksOnNodes(NodesModel):
    """See `NodesModel`.

    Parameters
    ----------
    job : KirchhoffJob
        Validated.
    run_dir : Path, optional
        Where the run would write.

    Raises
    ------
    FindingsError
        With everything that a check finds wrong, the memory of this machine aside.
    """

    def __init__(self, job: KirchhoffJob, run_dir: Path | None) -> None:
        checked_for_any_machine(job)
        self.job, self.setup = job, job.setup()
        self.folder = run_dir or job.default_run_dir
        self.threads = auto_to_none(job.parallel.threads)
        self.work = job.remember("work", lambda: estimate_contributions(self.setup))
        self.units = f"{self.setup.grid.size} locations, {len(self.setup.table.number)} traces"

    def measure(self, world: World, say: Callable[[str], None]) -> None:
        """Measure the sum of such traces."""
        if kernels.is_cpu(self.job.parallel.device):
            measured(self.setup, world, say)

    def row(
        self, nodes: PlannedNodes, n: int, machine: Machine | None, why_not: str
    ) -> tuple[Row, list[str]]:
        """Return the row of `n` nodes, and what the figures rest on."""
        world, job, section = nodes.world(n), self.job, self.job.kirchhoff
        world = replace(world, program=program_of(machine, "kirchhoff"))
        layout = layout_of(
            self.setup,
            world,
            traces_at_a_time=auto_to_none(section.trace_block),
            memory=auto_to_none(section.memory),
            work=self.work,
        )
        if layout.error is not None:
            raise layout.error
        share, even = estimated_share(self.setup, layout.blocks, self.work, world.ranks)
        disk = disk_of(self.setup, layout, self.folder, job.output.formats)
        around = nodes.around(machine, self.folder)
        writes = Writes(disk.parts, job.output.pictures)
        spent = prediction_of(self.setup, world, share, machine or why_not, writes, around)
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
    setup: KirchhoffSetup, blocks: Sequence[Block], work: Contributions, ranks: int
) -> tuple[Share, float]:
    """Return what the busiest rank does, and the part of the ranks' time that is used.

    As `share_of`, but for traces, which are counted for some boxes only.
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
