"""The prediction that a run begins with: seconds by phase of what is left to do, for run.json and the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.acquisition.survey import Shot
from subsalt.errors import SubsaltError
from subsalt.lab.machine import Machine
from subsalt.methods.kirchhoff.cutting import Block
from subsalt.methods.kirchhoff.setup import KirchhoffSetup
from subsalt.plan.duration import duration_of
from subsalt.plan.grouping import Decision
from subsalt.plan.kirchhoff import disk_of
from subsalt.plan.kirchhoff_layout import Layout
from subsalt.plan.kirchhoff_time import share_of, time_of
from subsalt.plan.kirchhoff_work import Work
from subsalt.plan.phases import Surroundings
from subsalt.plan.rates import machine_of
from subsalt.plan.scratch import disks_of
from subsalt.plan.world import World

#: what measures for a run, which itself measures nothing
PLANS = "subsalt plan JOB measures it in some seconds, and the next run has a prediction"

if TYPE_CHECKING:
    from subsalt.job.job import Job
    from subsalt.job.kirchhoff_job import KirchhoffJob


def of_shots(
    job: Job, decision: Decision, left: Sequence[Shot], folder: Path, *, is_root: bool = True
) -> dict[str, Any]:
    """Return what a reverse time migration of the shots that are left is predicted to take. Collective.

    Returns
    -------
    dict
        ``phases``, seconds by phase as rank 0 spends them, empty where nothing was measured; ``halo_seconds`` of
        waiting for ghost planes in them, None where the network is not known; ``points_per_s`` and ``measured``: the
        rate of a node and when it was measured; ``notes``. Empty on ranks that are not `is_root`.
    """
    needs = decision.needs
    if needs is None:
        return {}
    # what of the model is found by all ranks together
    _ = needs.volumes, needs.mean_speed
    if not is_root:
        return {}
    try:
        machine, why_not = _machine()
        disk, *_ = disks_of(needs, decision, folder, job.output.formats)
        spent = duration_of(
            needs,
            decision,
            machine,
            why_not,
            disk.parts,
            pictures=job.output.pictures,
            around=Surroundings.of(machine, folder),
            shots=left,
        )
    except SubsaltError as error:
        # a prediction is no reason not to run
        return {"phases": {}, "notes": [error.message]}
    return {
        "phases": spent.phases,
        "halo_seconds": spent.halo,
        "points_per_s": spent.rate,
        "measured": spent.measured,
        "notes": spent.notes,
    }


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
        machine, why_not = _machine()
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


def _machine() -> tuple[Machine | None, str]:
    """Return this machine if it was measured, and why not: a damaged file is no reason not to run."""
    try:
        return machine_of(how=PLANS)
    except SubsaltError as error:
        return None, error.message
