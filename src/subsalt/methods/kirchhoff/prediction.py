"""The prediction that a time migration begins with: seconds by phase of the blocks that are left."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.errors import SubsaltError
from subsalt.methods.kirchhoff.cutting import Block
from subsalt.methods.kirchhoff.duration import share_of, time_of
from subsalt.methods.kirchhoff.memory import Layout
from subsalt.methods.kirchhoff.plan import disk_of
from subsalt.methods.kirchhoff.setup import KirchhoffSetup
from subsalt.methods.kirchhoff.work import Work
from subsalt.plan.rates import machine_for_run
from subsalt.plan.surroundings import Surroundings
from subsalt.plan.world import World

if TYPE_CHECKING:
    from subsalt.methods.kirchhoff.job import KirchhoffJob


def of_blocks(
    job: KirchhoffJob,
    setup: KirchhoffSetup,
    layout: Layout,
    left: Sequence[Block],
    work: Work,
    world: World,
    folder: Path,
) -> dict[str, Any]:
    """Return what a time migration of the blocks that are left is predicted to take; the values of `of_shots`."""
    try:
        machine, why_not = machine_for_run()
        share = share_of(setup, left, work, world.ranks)
        files = disk_of(setup, layout, folder, job.output.formats, pictures=job.output.pictures).parts
        spent = time_of(
            setup,
            world,
            share,
            files,
            machine,
            why_not,
            pictures=job.output.pictures,
            around=Surroundings.of(machine, folder),
        )
    except SubsaltError as error:
        return {"phases": {}, "notes": [error.message]}
    return {
        "phases": spent.phases,
        "halo_seconds": 0.0,
        "contributions_per_s": spent.rate,
        "measured": spent.measured,
        "notes": spent.notes,
    }
