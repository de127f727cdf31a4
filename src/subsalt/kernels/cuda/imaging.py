"""Imaging operations on wavefields on the GPU: snapshots, sums over time, shells.

Arrays are on the GPU. An array of the host is copied there first, and results for it are copied back.
"""

from __future__ import annotations

import ctypes
from typing import Any

from subsalt.earth.grid import Box
from subsalt.kernels.cuda.arrays import DeviceArray, move, to_device
from subsalt.kernels.cuda.plan import fields_of, plan_of
from subsalt.kernels.cuda_library import call, corner
from subsalt.kernels.problem import Problem
from subsalt.kernels.shell import Shell


def snapshot(problem: Problem, fields: list[Any], out: Any, box: Box) -> None:
    """Write the imaged field, p or (p + q) / 2, in `box` to `out` (shape of the box), on the GPU or the host."""
    _check_box(problem, box, out=out)
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


def correlate(problem: Problem, image: Any, u: Any, fields: list[Any], box: Box, scale: float) -> None:
    """Accumulate image += (scale u) w, with w the imaged field of `fields` in `box`."""
    _check_box(problem, box, image=image, u=u)
    if box.size:
        plan, there = plan_of(problem).pointer, to_device(u)
        low, high = corner(box.lo), corner(box.hi)
        call(
            "subsalt_cuda_correlate", plan, image.pointer, there.pointer, fields_of(fields), low, high, scale
        )


def square(problem: Problem, illumination: Any, u: Any, scale: float) -> None:
    """Accumulate illumination += (scale u) u (arrays of one shape)."""
    _check_sizes("the illumination", illumination.size, u=u)
    if illumination.size:
        there = to_device(u)  # lives until the call
        call("subsalt_cuda_square", illumination.pointer, there.pointer, illumination.size, scale)


def product(image: Any, u: Any, w: Any, scale: float) -> None:
    """Accumulate image += (scale u) w of two snapshots, with the bits of `correlate` (arrays of one shape)."""
    _check_sizes("the image", image.size, u=u, w=w)
    if image.size:
        here, there = to_device(u), to_device(w)
        call("subsalt_cuda_product", image.pointer, here.pointer, there.pointer, image.size, scale)


def keep_shell(problem: Problem, fields: list[Any], shell: Shell, out: Any) -> None:
    """Copy the shell of every field to `out` (fields, cells), on the GPU or the host."""
    _check_shapes("the shell", (problem.n_fields, shell.cells), record=out)
    room = out if isinstance(out, DeviceArray) else DeviceArray(out.shape, zeroed=False)
    _shell(problem, fields, shell, room, put_back=False)
    if room is not out:
        move(out, room)


def put_back_shell(problem: Problem, fields: list[Any], shell: Shell, record: Any) -> None:
    """Write `record` (fields, cells) over the shell of every field, and over its odd images above a free surface."""
    _check_shapes("the shell", (problem.n_fields, shell.cells), record=record)
    _shell(problem, fields, shell, to_device(record), put_back=True)


def is_finite(problem: Problem, fields: list[Any]) -> bool:
    """Return whether every point of every field is finite."""
    finite = ctypes.c_int32()
    call("subsalt_cuda_is_finite", plan_of(problem).pointer, fields_of(fields), ctypes.byref(finite))
    return bool(finite.value)


def _shell(problem: Problem, fields: list[Any], shell: Shell, record: DeviceArray, *, put_back: bool) -> None:
    _check_box(problem, shell.box)
    if not shell.box.size:
        return
    call(
        "subsalt_cuda_shell",
        plan_of(problem).pointer,
        fields_of(fields),
        corner(shell.box.lo),
        corner(shell.box.hi),
        corner(shell.widths),
        record.pointer,
        int(put_back),
    )


def _check_box(problem: Problem, box: Box, **arrays: Any) -> None:
    """Refuse a box that leaves the grid, and arrays of another shape: the plug-in takes pointers as they are."""
    inside = all(0 <= l <= h <= n for l, h, n in zip(box.lo, box.hi, problem.layout.shape3, strict=True))
    if box.size and not inside:
        raise ValueError(f"the box {box.lo} to {box.hi} leaves the grid {problem.layout.shape3}")
    _check_shapes("the box", box.shape, **arrays)


def _check_shapes(what: str, shape: tuple[int, ...], **arrays: Any) -> None:
    for name, array in arrays.items():
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}, {what} {shape}")


def _check_sizes(what: str, size: int, **arrays: Any) -> None:
    for name, array in arrays.items():
        if array.size != size:
            raise ValueError(f"{name} has {array.size} numbers, {what} {size}")
