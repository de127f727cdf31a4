"""What of a program's collectives is worth tuning: those places that take more than a hundredth of its time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from subsalt_lab.collectives.calls import ELEMENT
from subsalt_lab.collectives.choice import COLLECTIVES
from subsalt_lab.collectives.request import Wanted

if TYPE_CHECKING:
    from subsalt_lab.pmpi.records import Profile

#: share of the wall time below which a place is left alone
LEAST_SHARE = 0.01


@dataclass(frozen=True)
class Heavy:
    """One place that takes time.

    Parameters
    ----------
    collective : str
        One of `COLLECTIVES`.
    ranks : int
        Of the communicator.
    nbytes : int
        Mean size of a call there, as `choice.COLLECTIVES` counts it.
    share : float
        Part of the wall time, mean over the ranks of the program.
    """

    collective: str
    ranks: int
    nbytes: int
    share: float


def heavy(profile: Profile, least: float = LEAST_SHARE) -> list[Heavy]:
    """Return the places that take more than `least` of the wall time, the heaviest first.

    Notes
    -----
    Waiting for late ranks is in these times too, and no algorithm saves that: they are an upper bound.
    """
    wall = sum(profile.wall)
    found: dict[tuple[str, int, int], tuple[float, int, int]] = {}
    for row in profile.calls:
        collective = row.call.removeprefix("MPI_").lower()
        # rows of single call sites repeat what stands in the rows of all sites
        if row.site or collective not in COLLECTIVES or row.comm_size < 2:
            continue
        bins = row.sizes if collective != "barrier" else ()
        for b in bins:
            key = collective, row.comm_size, b.bytes_from
            seconds, calls, nbytes = found.get(key, (0.0, 0, 0))
            found[key] = seconds + b.seconds, calls + b.calls, nbytes + b.bytes
        if collective == "barrier":
            key = collective, row.comm_size, 0
            seconds, calls, _ = found.get(key, (0.0, 0, 0))
            found[key] = seconds + row.seconds, calls + row.calls, 0
    out = []
    for (collective, ranks, _), (seconds, calls, nbytes) in found.items():
        share = seconds / wall if wall > 0 else 0.0
        if share > least and calls:
            # a profile counts all that a rank gives to an alltoall, a size here is that for one other rank
            mean = nbytes / calls / (ranks if collective == "alltoall" else 1)
            out.append(Heavy(collective, ranks, round(mean), share))
    return sorted(out, key=lambda h: -h.share)


def wanted(places: Sequence[Heavy]) -> tuple[Wanted, ...]:
    """Return what is measured for these places: their sizes, with half and twice of them, for neighbours must agree."""
    sizes: dict[tuple[str, int], set[int]] = {}
    for h in places:
        near = {0} if h.collective == "barrier" else {_whole(f * h.nbytes) for f in (0.5, 1.0, 2.0)}
        sizes.setdefault((h.collective, h.ranks), set()).update(near)
    return tuple(Wanted(c, p, tuple(sorted(some))) for (c, p), some in sizes.items())


def _whole(nbytes: float) -> int:
    """Return the nearest size of whole elements, one at least."""
    return ELEMENT * max(1, round(nbytes / ELEMENT))
