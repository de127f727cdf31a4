"""Time steps of a slab by compiled code: several steps in one pass over memory, the exchange of ghost planes under it.

What `subsalt.propagation.slab_steps` does step by step, with the same bits and the same messages.
"""

from __future__ import annotations

from collections.abc import Callable

from subsalt.kernels import cpu, tuning
from subsalt.kernels.device import Device
from subsalt.kernels.passes import Cuts, depth_for
from subsalt.kernels.problem import Problem, State
from subsalt.kernels.slab import SlabSegment
from subsalt.parallel.decomp import Slab
from subsalt.propagation.domain import Domain
from subsalt.propagation.halo import Halo
from subsalt.propagation.segment import FINITE_EVERY, Work, has_segment
from subsalt.propagation.slab_steps import asked_of


def has_passes(kernels: Device, problem: Problem, work: Work) -> bool:
    """Return whether this work on a slab can be done in passes."""
    return kernels is cpu and problem.medium != "tti" and has_segment(kernels, work)


def cuts_of(domain: Domain, slab: Slab | None = None) -> Cuts:
    """Return a slab of a domain, this rank's when None, as its passes see it."""
    slab = slab or domain.slab
    layer = slab.layer_widths(*domain.widths[:2]) if domain.options.boundary == "pml" else (0, 0)
    radius = domain.layout.radius
    return Cuts(slab.planes, *slab.owned_local, *asked_of(domain.slabs, slab), radius, layer)


def common_depth(domain: Domain) -> int:
    """Return the steps of a pass that suit all slabs of a domain.

    Ranks need not agree on it for the bits, but a rank that sends after four steps and one that asks after six wait for
    each other: 4 ranks on 2 cores (VTI 256^3, `benchmarks/ranks.py`) took 1.1 to 1.2 times as long as with four steps
    everywhere.
    """
    return min(depth_for(cuts_of(domain, slab), tuning.DEEPEST) for slab in domain.slabs)


def by_passes(
    problem: Problem,
    state: State,
    n: int,
    work: Work,
    domain: Domain,
    halo: Halo,
    not_finite: Callable[[State], None],
) -> None:
    """Advance a slab from hook to hook; collective over the group, and nothing but ghost planes travels.

    The arguments are those of `slab_steps.by_slab`. That the wavefield is not finite, progress and Ctrl-C are noticed
    after passes.
    """
    segment = SlabSegment(
        problem,
        cuts_of(domain),
        work.sources,
        work.recorders,
        work.snapshots,
        work.correlation,
        work.shells,
        work.inner,
        depth=common_depth(domain),
    )
    finite, last = True, state.it + n
    halo.stop = None
    halo.start(state.curr)
    for stop in work.stops(state.it, n):
        while state.it < stop and state.it != halo.stop:
            before = state.it
            end = stop if halo.stop is None else min(stop, halo.stop)
            segment.advance(state, end - state.it, halo)
            looked_at = state.it // FINITE_EVERY > before // FINITE_EVERY or state.it == last
            if finite and looked_at and not cpu.is_finite(problem, state.curr):
                finite = False
                not_finite(state)
                halo.stop_soon(state.it)
            if work.progress is not None:
                work.progress(state.it)
        if state.it < stop:
            break
        if work.hook is not None and work.hook_at(stop):
            halo.finish()
            work.hook(state)
    halo.finish()
