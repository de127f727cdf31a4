"""Time steps of a slab on a device that computes beside the host: nothing is waited for but ghost planes.

What `subsalt.kernels.steps` does, with the same bits and the same messages. Each step is asked for in two parts, of the
segments of the device: the shells, whose planes then travel, and the core with all that comes after it. The host waits
for the messages while the core is computed, and is never more than a step ahead of the device: planes are sent when
they have been computed.

What imaging does with wavefields on the GPU: snapshots, sums over time, shells.

Arrays are on the GPU; where one of the host is given it is brought there, or what was computed is brought back.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np

from subsalt.earth.grid import Box
from subsalt.errors import DeviceError
from subsalt.kernels.cuda.arrays import DeviceArray, move, to_device
from subsalt.kernels.cuda.library import call, corner
from subsalt.kernels.cuda.plan import fields_of, plan_of
from subsalt.kernels.cuda.segment import Segment
from subsalt.kernels.problem import Problem, State
from subsalt.kernels.shell import Shell
from subsalt.kernels.stepper import Sharing, Stepwise
from subsalt.kernels.steps import Regions
from subsalt.kernels.work import Source, Work


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


#: where a problem keeps the parts of sources on its shells and core, and how many at most: those of two wavefields
_PARTS, MOST_KEPT = "slab.parts", 8


class SlabParts(Stepwise):
    """One step per call, asked for in two parts.

    Parameters
    ----------
    problem : Problem
        The planes held.
    work : Work
        Its points have weights on owned planes only.
    sharing : Sharing
        With other ranks.
    """

    def __init__(self, problem: Problem, work: Work, sharing: Sharing) -> None:
        super().__init__(problem, is_finite)
        self.exchange = sharing.exchange
        regions = Regions.of(problem, sharing.cuts, cut=False)
        self.psi = regions.psi
        self.shells, self.core = (_in_inner(boxes, work.inner) for boxes in (regions.shells, regions.core))
        put_back = work.shells if work.shells is not None and work.shells.put_back else None
        in_shells = in_boxes(problem, work.sources, regions.shells)
        self.front = Segment(problem, Work(in_shells, shells=put_back, inner=work.inner))
        in_core = in_boxes(problem, work.sources, regions.core)
        self.rest = Segment(problem, replace(work, sources=in_core))

    def begin(self, state: State) -> None:
        """Fetch the ghost planes of the newest level."""
        self.exchange.start(self.problem.travelling(state.curr))
        self.exchange.finish()

    def steps(self, state: State, n: int) -> None:
        """Ask for one step; what the host reads or writes in it may be read ahead for all `n`."""
        until = state.it + n
        self.front.part(state, state.it, self.psi, self.shells, last=False, until=until)
        self.exchange.start(self.problem.travelling(state.prev))
        self.rest.part(state, state.it, None, self.core, last=True, until=until)
        self.exchange.finish()
        state.rotate()

    @contextmanager
    def arriving(self) -> Iterator[None]:
        """Bring all that came out to where it belongs when the block ends, also by an error."""
        try:
            yield
        except BaseException:
            with suppress(DeviceError):  # what has been raised says more
                self._finish()
            raise
        self._finish()

    def _finish(self) -> None:
        self.front.finish()
        self.rest.finish()


def in_boxes(problem: Problem, sources: Sequence[Source], boxes: tuple[Box, ...]) -> list[Source]:
    """Return the points of sources in some boxes, in their order, with their samples; kept for the next call.

    A wavefield is advanced many times with the same sources, and what a device makes of points is kept with these.
    """
    kept = problem.cache.setdefault(_PARTS, {})
    assert isinstance(kept, dict)
    out = []
    for source in sources:
        key = id(source), boxes
        if key not in kept:
            while len(kept) >= MOST_KEPT:
                kept.pop(next(iter(kept)))
            kept[key] = source, _parts(source, boxes)  # the source too: its id must stay its own
        out += kept[key][1]
    return out


def _parts(source: Source, boxes: tuple[Box, ...]) -> list[Source]:
    """Return the points of a source in some boxes, box by box."""
    out = []
    for box in boxes:
        points, rows = source.points.inside(box)
        if len(rows):
            all_of_them = len(rows) == len(source.points)
            samples = source.samples if all_of_them else np.asfortranarray(source.samples[rows])
            out.append(Source(points, samples))
    return out


def _in_inner(boxes: tuple[Box, ...], inner: Box | None) -> list[Box]:
    """Return what is computed of some boxes."""
    return list(boxes) if inner is None else [b.intersect(inner) for b in boxes]
