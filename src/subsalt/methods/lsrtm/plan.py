"""The plan of a least-squares migration: that of a migration, for as many rounds as the job asks for."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from subsalt.kernels.sizes import DOUBLE
from subsalt.methods.lsrtm.disk import kept_images, parts_of
from subsalt.methods.lsrtm.step_memory import HELD
from subsalt.methods.rtm.plan import ShotsBasis, plan_rtm
from subsalt.plan.plan import counted, duration, size

if TYPE_CHECKING:
    from subsalt.methods.lsrtm.job import LeastSquaresJob
    from subsalt.plan.plan import Plan
    from subsalt.plan.planning import PlanRequest

#: time of an iteration over that of a migration, however the source wavefield comes back: three wavefields for two
#: (measured in 2-D: 301 x 151 points, 3 shots, one thread, processor time, `benchmarks/lsrtm_cost.py`)
ITERATION = 1.6


def plan_least_squares(job: LeastSquaresJob, request: PlanRequest) -> Plan[ShotsBasis]:
    """Plan a least-squares migration at most as long as its job allows.

    Notes
    -----
    Memory, disk and time are those of one migration of the same shots (`plan_rtm`), which the first round is, with the
    memory of what is scattered. Every iteration models and migrates once: three wavefields where a migration has two.
    The disk has two states, a third while it is written, and the images that the job keeps.
    """
    plan = plan_rtm(job, request, partial(parts_of, job))
    keys = job.inversion
    products, points = keys.products, math.prod(plan.facts["grid"])
    step, images, disk = HELD * DOUBLE * points, kept_images(job), plan.disk.parts
    wall, shots = (plan.facts["time"].get(name) for name in ("wall_seconds", "kernel_seconds"))
    each = f"models and migrates all shots, about {ITERATION:g} times its time"
    iterations = counted(keys.iterations, "iteration")
    if keys.domain == "image":
        first = f"image domain: a second round {each}; then {iterations} without wavefields"
    else:
        first = f"least squares: {iterations} at most behind the migration that this plan is of; each {each}"
    text = [
        first,
        f"disk: {size(disk['states'])} for states, {size(disk['images by iteration'])} for "
        f"{counted(images, 'image')} by iteration; a step: {size(step)} of memory on rank 0",
    ]
    seconds = None
    if isinstance(wall, int | float) and isinstance(shots, int | float):
        seconds = wall + products * ITERATION * shots
        text.append(f"with all of them the run takes about {duration(seconds)}")
    facts: dict[str, Any] = plan.facts | {
        "what": "lsrtm",
        "iterations": keys.iterations,
        "states_bytes": disk["states"],
        "images_bytes": disk["images by iteration"],
        "step_bytes": step,
        "all_iterations_seconds": seconds,
    }
    return replace(plan, sections=[*plan.sections, text], facts=facts)
