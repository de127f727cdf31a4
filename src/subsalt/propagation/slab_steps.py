"""Time steps of a slab: its shells first, then the exchange of ghost planes under the core.

The loop in Python over the kernels of any device. It is what tilted media, NumPy and thin slabs use, and the reference
of faster ways. Fields, samples and images are those of the whole grid, bit for bit: every plane is computed by one
rank, from the same values and in the same order of operations, and what is injected into it is added in survey order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from numpy.typing import NDArray

from subsalt.acquisition.injection import Points
from subsalt.earth.grid import Box
from subsalt.kernels.device import Device
from subsalt.kernels.problem import Problem, State
from subsalt.parallel.comm import Comm
from subsalt.parallel.decomp import Slab
from subsalt.propagation.domain import Domain
from subsalt.propagation.halo import Halo
from subsalt.propagation.segment import FINITE_EVERY, Source, Work, imaging_step, shell_step

#: points of a piece of the core between two pokes, and pieces at most
PIECE, MOST_PIECES = 1 << 19, 8

#: rows of a piece per thread in tilted media, which are cut along y: fluxes on either side of a piece are made twice,
#: and tiles of so many rows do that anyway
TILTED_ROWS = 64


@dataclass(frozen=True)
class Regions:
    """How the owned planes of a slab are computed, in local indices.

    Parameters
    ----------
    psi : Box
        Where Psi is advanced: the planes owned, and M beyond a cut in or near the layer of x.
    shells : tuple of (int, int)
        Planes that neighbours hold as ghosts: computed before the exchange starts.
    core : tuple of (int, int)
        The planes between them; none in a thin slab.
    pieces : tuple of Box
        The core as it is computed, with a poke after each.
    """

    psi: Box
    shells: tuple[tuple[int, int], ...]
    core: tuple[tuple[int, int], ...]
    pieces: tuple[Box, ...]

    @classmethod
    def of(cls, problem: Problem, domain: Domain, threads: int = 1, *, cut: bool = True) -> Regions:
        """Return the regions of the slab of a domain; the core in pieces or, if not `cut`, as a whole."""
        slab, radius = domain.slab, problem.radius
        lo, hi = slab.owned_local
        below, above = asked_of(domain.slabs, slab)
        psi = planes_box(problem, _psi_planes(problem, lo, hi, radius, slab))
        if below + above >= hi - lo:
            return cls(psi, ((lo, hi),), (), ())
        shells = [(lo, lo + below)] * (below > 0) + [(hi - above, hi)] * (above > 0)
        core = lo + below, hi - above
        pieces = _pieces(problem, core, threads) if cut else (planes_box(problem, core),)
        return cls(psi, tuple(shells), (core,), pieces)


def planes_box(problem: Problem, planes: tuple[int, int]) -> Box:
    """Return the box of some planes."""
    return Box((planes[0], 0, 0), (planes[1], *problem.layout.shape3[1:]))


def asked_of(slabs: tuple[Slab, ...], slab: Slab) -> tuple[int, int]:
    """Return how many planes the neighbours below and above hold of a slab."""
    below = slabs[slab.rank - 1].ghost_hi if slab.rank > 0 else 0
    above = slabs[slab.rank + 1].ghost_lo if slab.rank < slab.ranks - 1 else 0
    return below, above


def _psi_planes(problem: Problem, lo: int, hi: int, radius: int, slab: Slab) -> tuple[int, int]:
    """Return the planes whose Psi is needed: with M ghosts beyond a cut when the layer of x reaches into them."""
    if problem.boundary != "pml":
        return lo, hi
    front, back = problem.widths[0], slab.planes - problem.widths[1]

    def in_layer(first: int, last: int) -> bool:
        return first < front or last > back

    below = radius if slab.ghost_lo > radius and in_layer(lo - radius, lo) else 0
    above = radius if slab.ghost_hi > radius and in_layer(hi, hi + radius) else 0
    return lo - below, hi + above


def _pieces(problem: Problem, core: tuple[int, int], threads: int) -> tuple[Box, ...]:
    """Cut the core into pieces of about `PIECE` points: along x, of a tilted volume along y."""
    whole = planes_box(problem, core)
    count = min(MOST_PIECES, whole.size // PIECE)
    axis = 1 if problem.medium == "tti" and problem.layout.ndim == 3 else 0
    if problem.medium == "tti":
        count = min(count, whole.shape[1] // (TILTED_ROWS * threads) if axis == 1 else 1)
    count = max(1, min(count, whole.shape[axis]))
    pieces, rest = [], whole
    for i in range(1, count):
        first, rest = rest.split(axis, whole.lo[axis] + whole.shape[axis] * i // count)
        pieces.append(first)
    return (*pieces, rest)


class _Feed:
    """A source's points on some planes."""

    def __init__(self, source: Source, planes: tuple[tuple[int, int], ...]) -> None:
        self.samples = source.samples
        self.parts: list[tuple[Points, NDArray]] = []
        for lo, hi in planes:
            points, rows = source.points.on_planes(lo, hi)
            if len(rows):
                self.parts.append((points, rows))

    def inject(self, kernels: Device, problem: Problem, fields: list[NDArray], now: int) -> None:
        """Add the samples of time index `now`."""
        if now < self.samples.shape[1]:
            values = self.samples[:, now]
            for points, rows in self.parts:
                kernels.inject(problem, fields, points, values[rows])


def by_slab(
    kernels: Device,
    problem: Problem,
    state: State,
    n: int,
    work: Work,
    domain: Domain,
    halo: Halo,
    not_finite: Callable[[State], None],
) -> None:
    """Advance a slab step by step; collective over the group, and nothing but ghost planes travels.

    Parameters
    ----------
    problem, state
        Of the planes held.
    n : int
        Steps.
    work : Work
        Its points have weights on owned planes only.
    not_finite : callable
        Called with the state, once, when it is no longer finite (looked at every `FINITE_EVERY` steps and at last).
        The steps go on until all ranks know (`Halo.stop_soon`): the others wait for ghost planes.
    """
    waits = kernels.ASYNCHRONOUS
    threads = 1 if waits else int(kernels.describe()["threads"])
    regions = Regions.of(problem, domain, threads, cut=not waits)
    shells = [planes_box(problem, planes) for planes in regions.shells]
    in_shells = [_Feed(s, regions.shells) for s in work.sources]
    in_core = [_Feed(s, regions.core) for s in work.sources]
    finite, halo.stop = True, None
    halo.start(travelling(problem, state.curr))
    halo.finish()
    whole = Box((0, 0, 0), problem.layout.shape3)
    inner = whole if work.inner is None else work.inner
    for i in range(n):
        kernels.memory_step(problem, state, regions.psi)
        for shell in shells:
            kernels.field_step(problem, state, shell.intersect(inner))
        for feed in in_shells:
            feed.inject(kernels, problem, state.prev, state.it)
        if work.shells is not None and work.shells.put_back:  # before these planes travel, and again below
            shell_step(kernels, problem, state.prev, state.it + 1, work.shells)
        halo.start(travelling(problem, state.prev))
        for piece in regions.pieces:
            kernels.field_step(problem, state, piece.intersect(inner))
            halo.poke()
        if waits:  # while the core is computed: what is asked for below may wait for that
            halo.finish()
        for feed in in_core:
            feed.inject(kernels, problem, state.prev, state.it)
        state.rotate()
        shell_step(kernels, problem, state.curr, state.it, work.shells)
        for rec in work.recorders:
            if state.it < rec.data.shape[1]:
                rec.data[:, state.it] = kernels.record(problem, state.curr, rec.points)
        imaging_step(kernels, problem, state, work)
        halo.finish()
        if work.hook is not None and work.hook_at(state.it):
            work.hook(state)
        looked_at = state.it % FINITE_EVERY == 0 or i == n - 1
        if finite and looked_at and not kernels.is_finite(problem, state.curr):
            finite = False
            not_finite(state)
            halo.stop_soon(state.it)
        if work.progress is not None:
            work.progress(state.it)
        if state.it == halo.stop:
            return


def travelling(problem: Problem, level: list[NDArray]) -> list[NDArray]:
    """Return the fields of a time level whose ghost planes are exchanged: q has no derivative along x but in TTI."""
    return level if problem.medium == "tti" else level[:1]


def halo_of(kernels: Device, domain: Domain, problem: Problem, state: State, group: Comm) -> Halo:
    """Return the exchange of ghost planes of a state; collective."""
    levels = [travelling(problem, level) for level in (state.prev, state.curr)]
    return Halo(group, domain.slabs, problem.radius, levels, kernels)
