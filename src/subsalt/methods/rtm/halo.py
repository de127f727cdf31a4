"""What the exchange of ghost planes adds to the time steps of a shot that ranks share: what no computation hides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from subsalt.lab.model.network import Link
from subsalt.lab.model.shot import exposed
from subsalt.methods.rtm.memory import FLOAT
from subsalt.parallel.decomp import Slab, asked_of


@dataclass(frozen=True)
class Exchange:
    """The ghost planes of a time step, on the rank that waits longest.

    Parameters
    ----------
    seconds : float
        Of its messages, one after the other.
    exposed : float
        What of them no computation hides.
    nbytes : int
        That all ranks of the group send.
    """

    seconds: float
    exposed: float
    nbytes: int


def exchange_of(slabs: Sequence[Slab], plane: int, fields: int, step: float, link: Link) -> Exchange:
    """Return what the exchange of one time step takes.

    Parameters
    ----------
    slabs : sequence of Slab
        Of the group.
    plane : int
        Points of a plane of constant x.
    fields : int
        Arrays that travel.
    step : float
        Seconds of a time step of the slowest slab.
    link : Link
        Between neighbours.

    Notes
    -----
    The planes that neighbours hold are computed first; their messages travel while the others are (`kernels.steps`).
    """
    most = max(s.hi - s.lo for s in slabs)
    worst = Exchange(0.0, 0.0, 0)
    nbytes = 0
    for slab in slabs:
        asked = asked_of(slabs, slab)
        size = fields * FLOAT * plane * sum(asked)
        nbytes += size
        seconds = link.seconds(size, fields * sum(a > 0 for a in asked))
        inner = max(0, slab.hi - slab.lo - sum(asked)) * step / most
        now = Exchange(seconds, exposed(seconds, inner), 0)
        worst = max(worst, now, key=lambda e: (e.exposed, e.seconds))
    return Exchange(worst.seconds, worst.exposed, nbytes)


def plane_points(shape3: tuple[int, int, int]) -> int:
    """Return the points of a plane of constant x."""
    return math.prod(shape3[1:])
