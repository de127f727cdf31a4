"""The kernels on a GPU, float32: the same functions as `subsalt.kernels.cpu`, with the same bits as its v3 and v4.

Arrays of states and images are `DeviceArray`; records and point samples stay on the host. The plug-in of
``native/cuda`` computes (`kernels.cuda_library`); it is built where there is a CUDA compiler. Work is done in the order
in which it is queued; a function that returns numbers to the host waits for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box
from subsalt.errors import ConfigError
from subsalt.kernels import cpu
from subsalt.kernels.cuda.arrays import (
    CudaGhostPlanes,
    DeviceArray,
    lock,
    locked,
    move,
    on_host,
    to_device,
    to_host,
    zeros,
)
from subsalt.kernels.cuda.imaging import (
    correlate,
    imaged,
    is_finite,
    keep_shell,
    product,
    put_back_shell,
    snapshot,
    square,
)
from subsalt.kernels.cuda.parts import SlabParts
from subsalt.kernels.cuda.plan import fields_of, inject, levels, plan_of, record, record_shares
from subsalt.kernels.cuda.segment import Segment, counters, settle
from subsalt.kernels.cuda_library import allocated, availability, call, chosen, corner
from subsalt.kernels.problem import Layout, Problem, State
from subsalt.kernels.stepper import Sharing, Stepper
from subsalt.kernels.work import Work

__all__ = [
    "ASYNCHRONOUS",
    "CLASS",
    "CUTS_ROWS",
    "FLUSHES",
    "NAME",
    "OWN_MEMORY",
    "WHOLE_MEMORY_FIELDS",
    "DeviceArray",
    "Segment",
    "allocate",
    "allocated",
    "apply_l",
    "copy",
    "correlate",
    "counters",
    "describe",
    "field_step",
    "ghost_planes",
    "imaged",
    "inject",
    "is_finite",
    "keep_shell",
    "lock",
    "memory_step",
    "mirror",
    "new_memory",
    "new_state",
    "on_host",
    "product",
    "put_back_shell",
    "record",
    "record_shares",
    "reserve",
    "reserve_host",
    "row_products",
    "set_threads",
    "settle",
    "snapshot",
    "square",
    "stepper",
    "time_step",
    "to_device",
    "to_host",
    "work_done",
    "zeros",
]

NAME = "cuda"
OWN_MEMORY = True
WHOLE_MEMORY_FIELDS = False
#: ghost rows along y have no way from GPU to GPU yet
CUTS_ROWS = False

#: kernels return before they have computed
ASYNCHRONOUS = True

#: numbers below the smallest normal one are made zeros
FLUSHES = True

#: how ghost planes come to MPI
ghost_planes = CudaGhostPlanes

#: none for a free surface inside the grid
mirror = None

#: none for gathers
row_products = None

#: the numerics class: that of the CPU's v3 and v4, whose bits these kernels have
CLASS = "fma"


def set_threads(n: int) -> None:
    """Use `n` threads for what is computed on the host."""
    cpu.set_threads(n)


def describe() -> dict[str, object]:
    """Return the facts of the device: name, numerics class, threads of the host; raises as `library.chosen`."""
    gpu = chosen()
    return {
        "device": NAME,
        "isa": f"sm_{gpu.capability[0]}{gpu.capability[1]}",
        "class": CLASS,
        "threads": cpu.in_use()[0],
        "name": gpu.name,
        "memory_bytes": gpu.memory,
        "driver": availability().driver,
    }


def work_done() -> dict[str, int]:
    """Return the work of this process on its GPU so far (`counters`), and its largest memory."""
    return {**counters(), "memory": allocated()["device_peak"]}


def allocate(layout: Layout, dtype: type = np.float32) -> DeviceArray:
    """Return a padded array of zeros on the GPU."""
    if np.dtype(dtype) != np.float32:
        raise ConfigError(f"dtype {np.dtype(dtype)} on the cuda device", "use float32, or device = reference")
    return DeviceArray(layout.padded_shape)


def reserve(size: int, dtype: type = np.float32) -> DeviceArray:
    """Return `size` numbers on the GPU, contents left open."""
    return DeviceArray((size,), dtype, zeroed=False)


def reserve_host(size: int, dtype: type = np.float32) -> NDArray:
    """Return `size` numbers in page-locked memory of the host, contents left open."""
    return locked(size, dtype)


def copy(target: Any, source: Any) -> None:
    """Copy an array into another one of the same size, on the GPU or the host."""
    move(target, source)


def new_memory(problem: Problem) -> dict[str, Any]:
    """Return zeroed memory fields of the PML, of the shapes that `cpu.new_memory` gives."""
    if problem.boundary != "pml":
        return {}
    host = plan_of(problem).host
    return {
        f"{kind}_{axis}": DeviceArray(tuple(host.memory_shape(axis)))
        for kind in problem.memory_kinds
        for axis in problem.axes
    }


def new_state(problem: Problem) -> State:
    """Return a state at rest at time index 0."""
    plan_of(problem)

    def level() -> list[Any]:
        return [allocate(problem.layout) for _ in range(problem.n_fields)]

    return State(level(), level(), new_memory(problem))


def stepper(problem: Problem, work: Work, sharing: Sharing | None = None) -> Stepper:
    """Return a segment; for a slab one whose steps are queued in two parts."""
    return Segment(problem, work) if sharing is None else SlabParts(problem, work, sharing)


def memory_step(problem: Problem, state: State, box: Box) -> None:
    """Advance Psi of every axis inside the layer; all boxes come before the first `field_step`."""
    if problem.boundary == "pml" and box.size:
        plan = plan_of(problem).pointer
        call("subsalt_cuda_memory_step", plan, levels(state), corner(box.lo), corner(box.hi))


def field_step(problem: Problem, state: State, box: Box) -> None:
    """Write the next time level over `state.prev` in `box`; `state.rotate` comes after all boxes."""
    if box.size:
        plan = plan_of(problem).pointer
        call("subsalt_cuda_field_step", plan, levels(state), corner(box.lo), corner(box.hi))


def time_step(problem: Problem, state: State) -> None:
    """Do `memory_step` and `field_step` on the whole grid."""
    whole = Box((0, 0, 0), problem.layout.shape3)
    memory_step(problem, state, whole)
    field_step(problem, state, whole)


def apply_l(problem: Problem, fields: list[Any], box: Box) -> list[Any]:
    """Return L u in `box` without the layer: [lap p], [(Dxx + Dyy) p, Dzz q] or [lap p - V p, V q]."""
    out = [DeviceArray(box.shape, zeroed=False) for _ in range(problem.n_fields)]
    if box.size:
        plan = plan_of(problem).pointer
        call("subsalt_cuda_apply_l", plan, fields_of(fields), fields_of(out), corner(box.lo), corner(box.hi))
    return out
