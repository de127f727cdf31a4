"""The plan of a least-squares migration: that of a migration, for as many rounds as the job asks for."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from subsalt.kernels.sizes import DOUBLE
from subsalt.methods.lsrtm.step_memory import HELD
from subsalt.methods.rtm.plan import ShotsBasis, plan_rtm
from subsalt.plan.plan import counted, duration, size

if TYPE_CHECKING:
    from subsalt.methods.lsrtm.job import LeastSquaresJob
    from subsalt.plan.plan import Plan
    from subsalt.plan.planning import PlanRequest

#: arrays of the size of the model in a state
KEPT = 3
#: time of an iteration over that of a migration, however the source wavefield comes back: three wavefields for two
#: (measured in 2-D: 301 x 151 points, 3 shots, one thread, processor time, `benchmarks/lsrtm_cost.py`)
ITERATION = 1.6


def plan_least_squares(job: LeastSquaresJob, request: PlanRequest) -> Plan[ShotsBasis]:
    """Plan a least-squares migration at most as long as its job allows.

    Notes
    -----
    Memory, disk and time are those of one migration of the same shots (`plan_rtm`), which the first round is, with the
    memory of what is scattered. Every iteration models and migrates once: three wavefields where a migration has two.
    The states of all iterations stay on disk.
    """
    plan = plan_rtm(job, request)
    iterations, points = job.inversion_options.iterations, math.prod(plan.facts["grid"])
    states, step = (iterations + 1) * KEPT * DOUBLE * points, HELD * DOUBLE * points
    wall, shots = (plan.facts["time"].get(name) for name in ("wall_seconds", "kernel_seconds"))
    text = [
        f"least squares: {counted(iterations, 'iteration')} at most behind the migration that this plan is of; each "
        f"models and migrates all shots, about {ITERATION:g} times its time",
        f"states of all iterations: {size(states)} of disk more; a step: {size(step)} of memory on rank 0",
    ]
    seconds = None
    if isinstance(wall, int | float) and isinstance(shots, int | float):
        seconds = wall + iterations * ITERATION * shots
        text.append(f"with all of them the run takes about {duration(seconds)}")
    facts: dict[str, Any] = plan.facts | {
        "what": "lsrtm",
        "iterations": iterations,
        "states_bytes": states,
        "step_bytes": step,
        "all_iterations_seconds": seconds,
    }
    return replace(plan, sections=[*plan.sections, text], facts=facts)
