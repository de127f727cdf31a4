"""The plan of a least-squares migration: that of a migration, for as many rounds as the job asks for."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from subsalt.kernels.sizes import DOUBLE
from subsalt.methods.rtm.plan import ShotsBasis, plan_rtm
from subsalt.plan.plan import counted, duration, size

if TYPE_CHECKING:
    from subsalt.methods.lsrtm.job import LeastSquaresJob
    from subsalt.plan.plan import Plan
    from subsalt.plan.planning import PlanRequest

#: arrays of the size of the model in a state, and those that the process with the state holds while it takes a step
KEPT, HELD = 3, 16


def plan_least_squares(job: LeastSquaresJob, request: PlanRequest) -> Plan[ShotsBasis]:
    """Plan a least-squares migration at most as long as its job allows.

    Notes
    -----
    Memory, disk and time are those of one migration of the same shots (`plan_rtm`), which the first round is. Every
    iteration models and migrates once: four wavefields where a migration has two. The states of all iterations stay on
    disk.
    """
    plan = plan_rtm(job, request)
    iterations, points = job.inversion_options.iterations, math.prod(plan.facts["grid"])
    states, step = (iterations + 1) * KEPT * DOUBLE * points, HELD * DOUBLE * points
    total = plan.facts["time"].get("total")
    text = [
        f"least squares: {counted(iterations, 'iteration')} at most behind the migration that this plan is of; each "
        "models and migrates all shots, about twice its time",
        f"states of all iterations: {size(states)} of disk more; a step: {size(step)} of memory on rank 0",
    ]
    seconds = None
    if isinstance(total, int | float):
        seconds = total * (1 + 2 * iterations)
        text.append(f"all of them: about {duration(seconds)}")
    facts: dict[str, Any] = plan.facts | {
        "what": "lsrtm",
        "iterations": iterations,
        "states_bytes": states,
        "step_bytes": step,
        "all_iterations_seconds": seconds,
    }
    return replace(plan, sections=[*plan.sections, text], facts=facts)
