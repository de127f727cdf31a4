"""The kernels on a GPU, float32: the same functions as `subsalt.kernels.cpu`, with the same bits as its v3 and v4.

Arrays of states and images are `DeviceArray`; records and point samples stay on the host. What computes is the plug-in
of ``native/cuda`` (`library`), which is there where a CUDA compiler was. Work is asked for in one order and done in
it; a function that gives numbers to the host waits for them.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError
from subsalt.fields import Layout
from subsalt.grid import Box
from subsalt.kernels import cpu
from subsalt.kernels.cuda.arrays import DeviceArray, address, locked, move
from subsalt.kernels.cuda.library import call, chosen, corner, found
from subsalt.kernels.cuda.plan import fields_of, levels, plan_of
from subsalt.kernels.problem import Problem, State
from subsalt.kernels.shell import Shell

if TYPE_CHECKING:
    from subsalt.injection import Points

NAME = "cuda"

#: the numerics class: that of the CPU's v3 and v4, whose bits these kernels have
CLASS = "fma"


def set_threads(n: int) -> None:
    """Use `n` threads for what is computed on the host."""
    cpu.set_threads(n)


def describe() -> dict[str, object]:
    """Return what computes: device, its name, numerics class, threads of the host; raises as `library.chosen`."""
    gpu = chosen()
    return {
        "device": NAME,
        "isa": f"sm_{gpu.capability[0]}{gpu.capability[1]}",
        "class": CLASS,
        "threads": cpu.in_use()[0],
        "name": gpu.name,
        "memory": gpu.memory,
        "driver": found().driver,
    }


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


def is_finite(problem: Problem, fields: list[Any]) -> bool:
    """Return whether every point of every field is finite."""
    finite = ctypes.c_int32()
    call("subsalt_cuda_is_finite", plan_of(problem).pointer, fields_of(fields), ctypes.byref(finite))
    return bool(finite.value)


def snapshot(problem: Problem, fields: list[Any], out: Any, box: Box) -> None:
    """Write the imaged field, p or (p + q) / 2, in `box` to `out` (shape of the box), on the GPU or the host."""
    if not box.size:
        return
    room = out if isinstance(out, DeviceArray) else DeviceArray(box.shape, zeroed=False)
    plan = plan_of(problem).pointer
    call("subsalt_cuda_snapshot", plan, fields_of(fields), room.pointer, corner(box.lo), corner(box.hi))
    if room is not out:
        move(out, room)


def imaged(problem: Problem, fields: list[Any], box: Box) -> DeviceArray:
    """Return a copy of the imaged field, p or (p + q) / 2, in `box`."""
    out = DeviceArray(box.shape, zeroed=False)
    snapshot(problem, fields, out, box)
    return out


def _here(values: Any) -> DeviceArray:
    """Return an array on the GPU: itself, or a copy of one of the host."""
    if isinstance(values, DeviceArray):
        return values
    out = DeviceArray(values.shape, values.dtype, zeroed=False)
    out[...] = values
    return out


def correlate(problem: Problem, image: Any, u: Any, fields: list[Any], box: Box, scale: float) -> None:
    """Accumulate image += (scale u) w, with w the imaged field of `fields` in `box`."""
    if box.size:
        plan, there = plan_of(problem).pointer, _here(u)
        low, high = corner(box.lo), corner(box.hi)
        call(
            "subsalt_cuda_correlate", plan, image.pointer, there.pointer, fields_of(fields), low, high, scale
        )


def square(problem: Problem, illumination: Any, u: Any, scale: float) -> None:
    """Accumulate illumination += (scale u) u (arrays of one shape)."""
    if illumination.size:
        call("subsalt_cuda_square", illumination.pointer, _here(u).pointer, illumination.size, scale)


def product(image: Any, u: Any, w: Any, scale: float) -> None:
    """Accumulate image += (scale u) w of two snapshots, with the bits of `correlate` (arrays of one shape)."""
    if image.size:
        call("subsalt_cuda_product", image.pointer, _here(u).pointer, _here(w).pointer, image.size, scale)


def keep_shell(problem: Problem, fields: list[Any], shell: Shell, out: Any) -> None:
    """Copy the shell of every field to `out` (fields, cells), on the GPU or the host."""
    room = out if isinstance(out, DeviceArray) else DeviceArray(out.shape, zeroed=False)
    _shell(problem, fields, shell, room, put_back=False)
    if room is not out:
        move(out, room)


def put_back_shell(problem: Problem, fields: list[Any], shell: Shell, record: Any) -> None:
    """Write `record` (fields, cells) over the shell of every field, and over its odd images above a free surface."""
    _shell(problem, fields, shell, _here(record), put_back=True)


def _shell(problem: Problem, fields: list[Any], shell: Shell, record: DeviceArray, *, put_back: bool) -> None:
    box = shell.box
    call(
        "subsalt_cuda_shell",
        plan_of(problem).pointer,
        fields_of(fields),
        corner(box.lo),
        corner(box.hi),
        corner(shell.widths),
        record.pointer,
        int(put_back),
    )


def inject(problem: Problem, fields: list[Any], points: Points, values: NDArray) -> None:
    """Add a source sample at every point, through C; `values` (n,) on the host."""
    from subsalt.kernels.cuda.points import on_device

    samples = np.ascontiguousarray(values, dtype=np.float32)
    if len(samples):
        there = on_device(problem, points)
        call("subsalt_cuda_inject", plan_of(problem).pointer, fields_of(fields), there, address(samples))


def record(problem: Problem, fields: list[Any], points: Points) -> NDArray:
    """Return p, or (p + q) / 2, interpolated at every point, (n,), on the host."""
    from subsalt.kernels.cuda.points import on_device

    out = np.empty(len(points.base), dtype=np.float32)
    if len(out):
        call(
            "subsalt_cuda_record",
            plan_of(problem).pointer,
            fields_of(fields),
            on_device(problem, points),
            address(out),
        )
    return out
