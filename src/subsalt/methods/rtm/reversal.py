"""A source wavefield backwards in time: from its last two levels and the shell that it left on its way forward.

Without damping the leapfrog scheme is symmetric in time::

    u[n+1] = 2 u[n] - u[n-1] + m L u[n] + s[n]      =>      u[n-1] = 2 u[n] - u[n+1] + m L u[n] + s[n]

so the same kernels run it backwards, with the source samples of the same sign. In the absorbing layer it is not, and
there the field is gone for good. What stands between is the shell: the cells within reach of the layer, in the part of
the grid that does not absorb. They are kept at every step and put back at every step; inside them the field comes back
to rounding. The reach is M cells, the radius of the stencil: the terms of a PML act in the M cells inside its edge, and
the first cell beyond them reads all M. In tilted media, whose derivatives are composed, it is 2 M.

References
----------
Clapp, R. G. (2008), Reverse time migration: saving the boundaries, Stanford Exploration Project 136, 137-144.
Dussaud, E., et al. (2008), Computational strategies for reverse-time migration, SEG Expanded Abstracts, 2267-2271.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subsalt.earth.grid import Box
from subsalt.kernels.problem import FIELDS, State
from subsalt.kernels.shell import Shell
from subsalt.kernels.work import Source
from subsalt.propagation.domain import Domain


def shell_of(domain: Domain, medium: str) -> Shell:
    """Return the shell of the un-damped points that a rank owns, in local indices.

    Sides without a layer need none: a free surface, or sides that reflect. Along x and y only the ends of the whole
    grid have one; what other ranks own is exchanged as on the way forward.
    """
    reach = shell_reach(domain, medium)
    widths = [reach if w else 0 for w in domain.widths]
    shape = domain.grid.shape3
    lo, hi = list(domain.widths[0::2]), [n - w for n, w in zip(shape, domain.widths[1::2], strict=True)]
    for axis, side in enumerate((domain.slab, domain.across)):
        first = min(max(lo[axis], side.lo), side.hi)
        last = max(min(hi[axis], side.hi), first)
        # what of the shells of the axis, counted on the whole grid, lies here
        widths[2 * axis] = max(0, lo[axis] + widths[2 * axis] - first)
        widths[2 * axis + 1] = max(0, last - (hi[axis] - widths[2 * axis + 1]))
        lo[axis], hi[axis] = first - side.first, last - side.first
    box = Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))
    return Shell.of(box, (widths[0], widths[1], widths[2], widths[3], widths[4], widths[5]))


def shell_shape(domain: Domain, medium: str) -> tuple[int, int]:
    """Return the shape of the shell of all fields at one time step: fields and cells."""
    return len(FIELDS[medium]), shell_of(domain, medium).cells


def shell_reach(domain: Domain, medium: str) -> int:
    """Return the cells of a shell from its face inwards."""
    return domain.layout.radius * (2 if medium == "tti" else 1)


@dataclass
class Backwards:
    """Turn a state and a source round in time.

    Parameters
    ----------
    last : int
        Time index at which the wavefield on its way forward stands. Time index n of it is ``last - n`` of the one that
        runs backwards.
    """

    last: int

    def state(self, state: State) -> State:
        """Return the same two levels in reverse order, sharing their arrays: n = last - 1 is the newest."""
        return State(state.curr, state.prev, {}, 1)

    def source(self, source: Source) -> Source:
        """Return a source that acts in the step from n to n - 1 with the sample that acted from n to n + 1."""
        samples = np.asarray(source.samples)
        used = np.zeros((samples.shape[0], self.last + 1), dtype=samples.dtype)
        n = min(samples.shape[1], self.last + 1)
        used[:, :n] = samples[:, :n]
        return Source(source.points, np.asfortranarray(used[:, ::-1]))
