"""The prediction that a run begins with: seconds by phase of what is left to do, for run.json and the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.acquisition.survey import Shot
from subsalt.errors import SubsaltError
from subsalt.methods.rtm.duration import duration_of
from subsalt.methods.rtm.grouping import Decision
from subsalt.methods.rtm.scratch import disks_of
from subsalt.plan.rates import machine_for_run
from subsalt.plan.surroundings import Surroundings

if TYPE_CHECKING:
    from subsalt.job.job import Job


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
        machine, why_not = machine_for_run()
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
