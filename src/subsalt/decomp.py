"""Slabs: which planes of a computational grid along x each rank of a group owns, and how many beyond them it holds.

A time step of a plane reads p on M planes to either side, M the radius of the stencil. What a rank holds beyond its own
planes, its ghost planes, follows from that:

- M planes of p where nothing else is needed.
- 2 M planes of p where one of the M planes beyond the cut lies in an absorbing layer (PML) of x: the step reads Psi_x
  there, which every rank advances for itself from p up to M planes further on. It gets the bits its neighbour gets.
- 2 M planes of p and q in a tilted medium (TTI), whose outer derivative reads fluxes M planes away.

In isotropic and VTI media q has no derivative along x and does not travel. The ghost planes of the model are read, not
communicated.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate, pairwise

from subsalt.errors import ConfigError

#: time of a plane in the PML of x over that of another, in tenths, by medium: Psi and Zeta of x are read, advanced and
#: written as well (one core, order 8, 128 x 160 points per plane: 2.5, 1.9 and 1.5)
LAYER_TENTHS = {"isotropic": 25, "vti": 19, "tti": 15}


@dataclass(frozen=True)
class Slab:
    """The planes of one computational grid along x that one rank of a group owns, and its ghost planes.

    Parameters
    ----------
    rank, ranks : int
        Which slab of how many, counted along x.
    nx : int
        Planes of the computational grid: window, margin and layer.
    lo, hi : int
        Owned planes [lo, hi).
    ghost_lo, ghost_hi : int
        Planes held below and above them; 0 at the ends of the grid.
    """

    rank: int
    ranks: int
    nx: int
    lo: int
    hi: int
    ghost_lo: int
    ghost_hi: int

    @property
    def first(self) -> int:
        """First plane held; local index 0."""
        return self.lo - self.ghost_lo

    @property
    def last(self) -> int:
        """The plane behind the last one held."""
        return self.hi + self.ghost_hi

    @property
    def planes(self) -> int:
        """Planes held, ghost planes included."""
        return self.last - self.first

    @property
    def owned_local(self) -> tuple[int, int]:
        """Owned planes [lo, hi) in local indices."""
        return self.ghost_lo, self.ghost_lo + self.hi - self.lo

    def clip(self, lo: int, hi: int) -> tuple[int, int]:
        """Return the owned planes among [lo, hi) of the computational grid; empty ones begin where they end."""
        start = min(max(lo, self.lo), self.hi)
        return start, max(start, min(hi, self.hi))

    def layer_widths(self, low: int, high: int) -> tuple[int, int]:
        """Return how many held planes lie in layers of `low` and `high` planes at the ends of the grid."""
        return (
            min(max(low - self.first, 0), self.planes),
            min(max(self.last - (self.nx - high), 0), self.planes),
        )


def cut(nx: int, ranks: int, *, medium: str, radius: int, layer: tuple[int, int] = (0, 0)) -> list[Slab]:
    """Return the slabs of `ranks` ranks in x order: as even in work as possible, or in planes where that is too thin.

    Parameters
    ----------
    nx : int
        Planes of the computational grid.
    ranks : int
        Ranks of the group.
    medium : {"isotropic", "vti", "tti"}
        Rules the width of the halo.
    radius : int
        Radius M of the stencil.
    layer : tuple of int
        Planes of the PML at the low and the high end of x; zeros for a damping layer or none, which keep no Psi.

    Raises
    ------
    ConfigError
        When a slab would be thinner than the halo its neighbour holds of it; names the largest count that works.
    """
    if ranks < 1:
        raise ConfigError(f"a group of {ranks} ranks per shot", "use 1 or more", code="E720")
    slabs, thin = _cut(nx, ranks, medium, radius, layer)
    if thin is None:
        return slabs
    most = largest_group(nx, medium, radius, layer)
    if thin.hi == thin.lo:
        why = f"{ranks} ranks for the {nx} planes of a shot along x"
    else:
        why = (
            f"{ranks} ranks cut the {nx} planes of a shot along x: slab {thin.rank} has {thin.hi - thin.lo}, and "
            f"the rank beside it needs {_asked_of(thin, slabs)} planes of it as ghosts"
        )
    raise ConfigError(
        why,
        f"use at most {most} rank{'s' * (most != 1)} per shot ([parallel] ranks_per_shot = {most}), or fewer ranks",
        code="E720",
    )


def largest_group(nx: int, medium: str, radius: int, layer: tuple[int, int] = (0, 0)) -> int:
    """Return the largest number of ranks that `cut` accepts; at least 1."""
    for ranks in range(max(1, nx // radius), 1, -1):
        if _cut(nx, ranks, medium, radius, layer)[1] is None:
            return ranks
    return 1


def _cut(
    nx: int, ranks: int, medium: str, radius: int, layer: tuple[int, int]
) -> tuple[list[Slab], Slab | None]:
    """Return the slabs, and the first that is thinner than the halo its neighbour needs, or None."""
    even = [nx * r // ranks for r in range(ranks + 1)]
    slabs, thin = _between(_even_work(nx, ranks, medium, layer), nx, medium, radius, layer)
    return (slabs, thin) if thin is None else _between(even, nx, medium, radius, layer)


def _even_work(nx: int, ranks: int, medium: str, layer: tuple[int, int]) -> list[int]:
    """Return cuts between which planes cost about the same."""
    cost = [LAYER_TENTHS[medium] if ix < layer[0] or ix >= nx - layer[1] else 10 for ix in range(nx)]
    until = list(accumulate(cost, initial=0))
    # the last plane at which no more than r parts of all work are done
    return [bisect_right(until, until[-1] * r, key=lambda done: done * ranks) - 1 for r in range(ranks + 1)]


def _between(
    cuts: list[int], nx: int, medium: str, radius: int, layer: tuple[int, int]
) -> tuple[list[Slab], Slab | None]:
    """Return the slabs between cuts, and the first that is too thin, or None."""
    ranks = len(cuts) - 1

    def ghosts(beyond: range) -> int:
        """Return the ghost planes at a cut, of which `beyond` are the M next to it."""
        in_layer = any(ix < layer[0] or nx - layer[1] <= ix < nx for ix in beyond)
        return 2 * radius if in_layer or medium == "tti" else radius

    slabs = [
        Slab(
            r,
            ranks,
            nx,
            lo,
            hi,
            ghosts(range(lo - radius, lo)) if r > 0 else 0,
            ghosts(range(hi, hi + radius)) if r < ranks - 1 else 0,
        )
        for r, (lo, hi) in enumerate(pairwise(cuts))
    ]
    thin = next((s for s in slabs if s.hi == s.lo or s.hi - s.lo < _asked_of(s, slabs)), None)
    return slabs, thin


def _asked_of(slab: Slab, slabs: list[Slab]) -> int:
    """Return how many planes of a slab its neighbours hold at most."""
    below = slabs[slab.rank - 1].ghost_hi if slab.rank > 0 else 0
    above = slabs[slab.rank + 1].ghost_lo if slab.rank < slab.ranks - 1 else 0
    return max(below, above)
