"""The plan of a least-squares migration: that of a migration, for as many rounds as the job asks for."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from subsalt.inversion.draws import Draws
from subsalt.kernels.sizes import DOUBLE
from subsalt.methods.lsrtm.disk import kept_images, parts_of
from subsalt.methods.lsrtm.step_memory import HELD
from subsalt.methods.rtm.plan import ShotsBasis, plan_rtm
from subsalt.plan.plan import counted, duration, size

if TYPE_CHECKING:
    from subsalt.methods.lsrtm.job import LeastSquaresJob
    from subsalt.methods.lsrtm.sections import InversionSection
    from subsalt.plan.plan import Plan
    from subsalt.plan.planning import PlanRequest

#: time of an iteration over that of a migration, however the source wavefield comes back: three wavefields for two
#: (measured in 2-D: 301 x 151 points, 3 shots, one thread, processor time, `benchmarks/lsrtm_cost.py`)
ITERATION = 1.6
#: time of a round that only models the shots drawn, over that of their migration: two wavefields and no sample is kept
#: (measured in the same way by `benchmarks/lsrtm_cost.py --draws`: both rounds together take 2.2)
MODELLING = 0.6


def plan_least_squares(job: LeastSquaresJob, request: PlanRequest) -> Plan[ShotsBasis]:
    """Plan a least-squares migration at most as long as its job allows.

    Notes
    -----
    Memory, disk and time are those of one migration of the same shots (`plan_rtm`), which the first round is, with the
    memory of what is scattered. Every iteration models and migrates once: three wavefields where a migration has two.
    One that draws shots models them once more, with two wavefields and no samples. The disk has two states, a third
    while it is written, and the images that the job keeps.
    """
    plan = plan_rtm(job, request, partial(parts_of, job))
    keys, points = job.inversion, math.prod(plan.facts["grid"])
    shots_there = int(plan.facts["shots"])
    units = _units(keys, shots_there)
    migrations = units / shots_there * (ITERATION + (MODELLING if keys.draws else 0.0))
    step, images, disk = HELD * DOUBLE * points, kept_images(job), plan.disk.parts
    wall, kernels = (plan.facts["time"].get(name) for name in ("wall_seconds", "kernel_seconds"))
    text = [
        _behind_the_first(keys, shots_there, units),
        f"disk: {size(disk['states'])} for states, {size(disk['images by iteration'])} for "
        f"{counted(images, 'image')} by iteration; a step: {size(step)} of memory on rank 0",
    ]
    seconds = None
    if isinstance(wall, int | float) and isinstance(kernels, int | float):
        seconds = wall + migrations * kernels
        text.append(f"with all of them the run takes about {duration(seconds)}")
    facts: dict[str, Any] = plan.facts | {
        "what": "lsrtm",
        "iterations": keys.iterations,
        "rounds": 1 + keys.last_round,
        "shots_of_iterations": units,
        "states_bytes": disk["states"],
        "images_bytes": disk["images by iteration"],
        "step_bytes": step,
        "all_iterations_seconds": seconds,
    }
    return replace(plan, sections=[*plan.sections, text], facts=facts)


def _behind_the_first(keys: InversionSection, shots: int, units: int) -> str:
    """Return what the run does behind its first migration, and what it costs, in words."""
    each = f"models and migrates all shots, about {ITERATION:g} times its time"
    iterations = counted(keys.iterations, "iteration")
    if keys.domain == "image":
        return f"image domain: a second round {each}; then {iterations} without wavefields"
    if not keys.draws:
        return f"least squares: {iterations} at most after the migration planned here; each {each}"
    return (
        f"least squares: {iterations} of {keys.subset} of {counted(shots, 'shot')} after the migration planned "
        f"here, {counted(units, 'shot')} together, {units / shots:.3g} times all; "
        f"{counted(keys.last_round, 'round')}, by turns: one models and migrates the shots drawn, about "
        f"{ITERATION:g} times the time of their migration, one models them again for the length of the step, about "
        f"{MODELLING:g} times"
    )


def _units(keys: InversionSection, shots: int) -> int:
    """Return how many shots are modelled and migrated behind the first migration, at most: a shot of each iteration."""
    if keys.subset == "all":
        return keys.last_round * shots
    return Draws(tuple(range(shots)), min(keys.subset, shots), keys.seed).units(0, keys.iterations)
