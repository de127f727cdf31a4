"""Time steps of a slab on a device that computes beside the host: nothing is waited for but ghost planes.

What `subsalt.propagation.slab_steps` does step by step, with the same bits and the same messages. Each step is asked
for in two parts, of the segments of the device: the shells, whose planes then travel, and the core with all that comes
after it. The host waits for the messages while the core is computed, and is never more than a step ahead of the device:
planes are sent when they have been computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from subsalt.earth.grid import Box
from subsalt.errors import DeviceError
from subsalt.kernels.device import Device
from subsalt.kernels.problem import Problem, State
from subsalt.propagation.domain import Domain
from subsalt.propagation.halo import Halo
from subsalt.propagation.segment import FINITE_EVERY, Source, Work, has_segment
from subsalt.propagation.slab_steps import Regions, planes_box, travelling

#: planes [lo, hi) by range
Planes = tuple[tuple[int, int], ...]

#: where a problem keeps the parts of sources on its shells and core, and how many at most: those of two wavefields
_PARTS, MOST_KEPT = "slab.parts", 8


def has_parts(kernels: Device, work: Work) -> bool:
    """Return whether this work on a slab can be asked for in parts."""
    return kernels.ASYNCHRONOUS and has_segment(kernels, work)


def by_parts(
    kernels: Device,
    problem: Problem,
    state: State,
    n: int,
    work: Work,
    domain: Domain,
    halo: Halo,
    not_finite: Callable[[State], None],
) -> None:
    """Advance a slab from hook to hook; collective over the group, and nothing but ghost planes travels.

    The arguments are those of `slab_steps.by_slab`.
    """
    regions = Regions.of(problem, domain, cut=False)
    shells, core = (_boxes(problem, planes, work.inner) for planes in (regions.shells, regions.core))
    put_back = work.shells if work.shells is not None and work.shells.put_back else None
    front = kernels.Segment(
        problem, on_planes(problem, work.sources, regions.shells), (), None, None, put_back, work.inner
    )
    rest = kernels.Segment(
        problem,
        on_planes(problem, work.sources, regions.core),
        work.recorders,
        work.snapshots,
        work.correlation,
        work.shells,
        work.inner,
    )
    finite, last = True, state.it + n
    halo.stop = None
    halo.start(travelling(problem, state.curr))
    halo.finish()
    for stop in work.stops(state.it, n):
        with _finished(front, rest):
            while state.it < stop and state.it != halo.stop:
                front.part(state, state.it, regions.psi, shells, last=False, until=stop)
                halo.start(travelling(problem, state.prev))
                rest.part(state, state.it, None, core, last=True, until=stop)
                halo.finish()
                state.rotate()
                looked_at = state.it % FINITE_EVERY == 0 or state.it == last
                if finite and looked_at and not kernels.is_finite(problem, state.curr):
                    finite = False
                    not_finite(state)
                    halo.stop_soon(state.it)
                if work.progress is not None:
                    work.progress(state.it)
        if state.it < stop:
            return
        if work.hook is not None and work.hook_at(stop):
            work.hook(state)


def on_planes(problem: Problem, sources: Sequence[Source], planes: Planes) -> list[Source]:
    """Return the points of sources on some planes, in their order, with their samples; kept for the next call.

    A wavefield is advanced many times with the same sources, and what a device makes of points is kept with these.
    """
    kept = problem.cache.setdefault(_PARTS, {})
    assert isinstance(kept, dict)
    out = []
    for source in sources:
        key = id(source), planes
        if key not in kept:
            while len(kept) >= MOST_KEPT:
                kept.pop(next(iter(kept)))
            kept[key] = source, _parts(source, planes)  # the source too: its id must stay its own
        out += kept[key][1]
    return out


def _parts(source: Source, planes: Planes) -> list[Source]:
    """Return the points of a source on some planes, range by range."""
    out = []
    for lo, hi in planes:
        points, rows = source.points.on_planes(lo, hi)
        if len(rows):
            all_of_them = len(rows) == len(source.points)
            samples = source.samples if all_of_them else np.asfortranarray(source.samples[rows])
            out.append(Source(points, samples))
    return out


def _boxes(problem: Problem, planes: Planes, inner: Box | None) -> list[Box]:
    """Return what is computed on some planes."""
    boxes = [planes_box(problem, some) for some in planes]
    return boxes if inner is None else [b.intersect(inner) for b in boxes]


@contextmanager
def _finished(*segments: Any) -> Iterator[None]:
    """Bring all that segments give to where it belongs when the block ends, also by an error."""
    try:
        yield
    except BaseException:
        with suppress(DeviceError):  # what has been raised says more
            for segment in segments:
                segment.finish()
        raise
    for segment in segments:
        segment.finish()
