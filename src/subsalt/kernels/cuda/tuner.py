"""Which tuning of the field step is fastest on this GPU: found in the first steps of a run, as on the CPU.

The plug-in names the tunings worth trying (`Tuning` of native/cuda/kernels.hpp); ``SUBSALT_TUNE=off`` takes its first.
What was found is remembered by GPU, medium, order, layer and rough shape.
"""

from __future__ import annotations

import ctypes
import math

from subsalt.kernels import tuning
from subsalt.kernels.cuda.library import call, chosen
from subsalt.kernels.cuda.plan import plan_of
from subsalt.kernels.problem import Problem

#: grids with fewer points spend their time on launches, whatever the tuning
SMALLEST = 1_000_000

#: point-steps of one trial, at least: some ten milliseconds
TRIAL = 2e9

MOST = 16

_TUNER = "cuda.tuner"


class DeviceTuner(tuning.Tuner):
    """Choose the tuning of one problem on the GPU of this process while it runs."""

    def __init__(self, problem: Problem) -> None:
        gpu, found = chosen(), tunings(problem)
        processor = f"{gpu.name} {gpu.processors} processors"
        isa = f"sm_{gpu.capability[0]}{gpu.capability[1]}"
        self.best, self.threads = found[0], 1
        self.key = tuning.key(problem, 1, isa, processor)
        self.points = math.prod(problem.layout.shape3)
        self.choose_among(found, worth_it=self.points >= SMALLEST)

    def steps(self, tried: tuning.Cut) -> int:
        """Return the steps of a trial."""
        return max(8, math.ceil(TRIAL / self.points))


def tunings(problem: Problem) -> tuple[tuning.Cut, ...]:
    """Return the tunings worth trying, rows and planes of a block, the usual one first."""
    pairs, count = (ctypes.c_int32 * (2 * MOST))(), ctypes.c_int32()
    call("subsalt_cuda_tunings", plan_of(problem).pointer, pairs, MOST, ctypes.byref(count))
    return tuple((pairs[2 * i], pairs[2 * i + 1]) for i in range(count.value))


def tuner_of(problem: Problem) -> DeviceTuner:
    """Return what chooses the tuning of this problem."""
    made = problem.cache.get(_TUNER)
    if not isinstance(made, DeviceTuner):
        made = problem.cache[_TUNER] = DeviceTuner(problem)
    return made
