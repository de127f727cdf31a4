"""A problem on the GPU: its parameters there, and the plug-in's plan; built once per problem."""

from __future__ import annotations

import weakref
from typing import Any

from subsalt import _native
from subsalt.kernels import cpu
from subsalt.kernels.cuda.arrays import DeviceArray
from subsalt.kernels.cuda.library import call, library, pointers
from subsalt.kernels.problem import MODEL, Problem, State

_PLAN = "cuda.plan"

#: parameters in the order of api.h
_MODEL = ("m", "e", "s", "nx", "ny", "nz")


class Plan:
    """What calls of the plug-in need of a problem; holds the arrays it points to."""

    def __init__(self, problem: Problem) -> None:
        self.host = cpu.host_plan(problem)
        self.model = _model_of(problem)
        given = [self.model[n].pointer if n in self.model else None for n in _MODEL]
        out = pointers([None])
        call(
            "subsalt_cuda_plan",
            self.host.address,
            _native.Plan.size,
            pointers(given),
            out,
        )
        self.pointer: int = out[0]
        weakref.finalize(self, library().subsalt_cuda_free_plan, self.pointer).atexit = False


def _model_of(problem: Problem) -> dict[str, DeviceArray]:
    """Return the parameters on the GPU, those of another problem where both have the same arrays (`MODEL`)."""
    known = problem.cache.get(MODEL)
    if isinstance(known, dict):
        return known
    made: dict[str, DeviceArray] = {}
    for name, values in problem.params.items():
        made[name] = DeviceArray(values.shape, values.dtype, zeroed=False)
        made[name][...] = values
    problem.cache[MODEL] = made
    return made


def plan_of(problem: Problem) -> Plan:
    """Return the plan of a problem."""
    made = problem.cache.get(_PLAN)
    if not isinstance(made, Plan):
        made = problem.cache[_PLAN] = Plan(problem)
    return made


def levels(state: State) -> Any:
    """Return the arrays of a state as the plug-in takes them: prev, curr, psi, zeta, zeta2."""

    def pair(arrays: list) -> list[int | None]:
        return [a.pointer for a in arrays] + [None] * (2 - len(arrays))

    memory = [
        state.memory[name].pointer if name in state.memory else None  # type: ignore[attr-defined]
        for kind in ("psi", "zeta", "zeta2")
        for name in (f"{kind}_{axis}" for axis in range(3))
    ]
    return pointers([*pair(state.prev), *pair(state.curr), *memory])


def fields_of(fields: list) -> Any:
    """Return one or two arrays of the GPU as the plug-in takes them."""
    return pointers([f.pointer for f in fields] + [None] * (2 - len(fields)))
