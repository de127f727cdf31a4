"""Time steps of a slab on a device that computes asynchronously: the host waits only for ghost planes.

The bits and messages are those of `subsalt.kernels.steps`. Each step is queued in two parts, as segments of the device:
the shells, whose planes are then sent, and the core with all later work. The host waits for the messages while the core
is computed, and is never more than a step ahead of the device, since planes are sent once they have been computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

import numpy as np

from subsalt.earth.grid import Box
from subsalt.errors import DeviceError
from subsalt.kernels.cuda.imaging import is_finite
from subsalt.kernels.cuda.segment import Segment
from subsalt.kernels.problem import Problem, State
from subsalt.kernels.stepper import Sharing, Stepwise
from subsalt.kernels.steps import Regions
from subsalt.kernels.work import Source, Work

#: where a problem keeps the parts of sources on its shells and core, and how many at most: those of two wavefields
_PARTS, MOST_KEPT = "slab.parts", 8


class SlabParts(Stepwise):
    """One step per call, queued in two parts.

    Parameters
    ----------
    problem : Problem
        The planes held.
    work : Work
        Sources, recorders and the like, whose points have weights on owned planes only.
    sharing : Sharing
        How the wavefield is shared with other ranks.
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
    cache = problem.cache.setdefault(_PARTS, {})
    assert isinstance(cache, dict)
    out = []
    for source in sources:
        key = id(source), boxes
        if key not in cache:
            while len(cache) >= MOST_KEPT:
                cache.pop(next(iter(cache)))
            cache[key] = source, _parts(source, boxes)  # the source too: its id must stay its own
        out += cache[key][1]
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
    """Return the parts of boxes that are computed."""
    return list(boxes) if inner is None else [b.intersect(inner) for b in boxes]
