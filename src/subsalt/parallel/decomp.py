"""Slabs: which planes of a computational grid along x each rank of a group owns, and how many beyond them it holds.

Rows along y are cut in the same way; a block is a slab of either axis (`subsalt.propagation.blocks`).

A time step of a plane reads p on M planes to either side, M the radius of the stencil. What a rank holds beyond its own
planes, its ghost planes, follows from that:

- M planes of p where nothing else is needed.
- 2 M planes of p where one of the M planes beyond the cut lies in an absorbing layer (PML) of x: the step reads Psi_x
  there, which every rank advances for itself from p up to M planes further on. It gets the bits its neighbour gets.
- 2 M planes of p and q in a tilted medium (TTI), whose outer derivative reads fluxes M planes away.

In isotropic and VTI media q has no derivative along x and does not travel. Receivers across a cut of y are recorded
from ghost rows, of q as well: `least` of them. The ghost planes of the model are read, not communicated.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
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
        Number of the slab along x, and number of slabs.
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


def cut(
    nx: int,
    ranks: int,
    *,
    medium: str,
    radius: int,
    layer: tuple[int, int] = (0, 0),
    least: int = 0,
    axis: str = "x",
) -> list[Slab]:
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
    least : int
        Ghost planes at every cut, at least.
    axis : {"x", "y"}
        Along which they are counted, for messages.

    Raises
    ------
    ConfigError
        When a slab would be thinner than the halo its neighbour holds of it; names the largest count that works.
    """
    if ranks < 1:
        raise ConfigError(f"a group of {ranks} ranks per shot", "use 1 or more", code="E720")
    slabs, thin = _cut(ranks, _Ghosts(nx, medium, radius, layer, least))
    if thin is None:
        return slabs
    most = largest_group(nx, medium, radius, layer, least)
    if thin.hi == thin.lo:
        why = f"{ranks} ranks for the {nx} planes of a shot along {axis}"
    else:
        why = (
            f"{ranks} ranks cut the {nx} planes of a shot along {axis}: slab {thin.rank} has {thin.hi - thin.lo}, and "
            f"the rank beside it needs {max(ghosts_of_neighbours(slabs, thin))} planes of it as ghosts"
        )
    at_most = f"use at most {most} rank{'s' * (most != 1)} per shot ([parallel] ranks_per_shot = {most})"
    cure = f"{at_most}, fewer ranks, or in 3-D blocks ([parallel] decomp)"
    if axis == "y":
        cure = f"use at most {most} along y in [parallel] decomp, or leave it out"
    raise ConfigError(why, cure, code="E720")


def largest_group(nx: int, medium: str, radius: int, layer: tuple[int, int] = (0, 0), least: int = 0) -> int:
    """Return the largest number of ranks that `cut` accepts; at least 1."""
    ghosts = _Ghosts(nx, medium, radius, layer, least)
    for ranks in range(max(1, nx // max(radius, least)), 1, -1):
        # the first slab that is too thin ends the trial of a cut
        if any(ghosts.suit(cuts) for cuts in (_even_work(nx, ranks, medium, layer), _even(nx, ranks))):
            return ranks
    return 1


def _cut(ranks: int, ghosts: _Ghosts) -> tuple[list[Slab], Slab | None]:
    """Return the slabs, and the first that is thinner than the halo its neighbour needs, or None."""
    nx = ghosts.nx
    slabs, thin = _between(list(_even_work(nx, ranks, ghosts.medium, ghosts.layer)), ghosts)
    return (slabs, thin) if thin is None else _between(list(_even(nx, ranks)), ghosts)


def _even(nx: int, ranks: int) -> Iterator[int]:
    """Yield cuts between which there are as many planes as between others, or one more."""
    return (nx * r // ranks for r in range(ranks + 1))


def _even_work(nx: int, ranks: int, medium: str, layer: tuple[int, int]) -> Iterator[int]:
    """Yield cuts between which planes cost about the same."""
    until = _work(nx, medium, layer)
    # the last plane at which no more than r parts of all work are done
    return (bisect_right(until, until[-1] * r, key=lambda done: done * ranks) - 1 for r in range(ranks + 1))


@lru_cache(maxsize=64)
def _work(nx: int, medium: str, layer: tuple[int, int]) -> tuple[int, ...]:
    """Return the cost of all planes below each, in tenths of a plane outside the layer."""
    tenths = LAYER_TENTHS[medium]
    cost = (tenths if ix < layer[0] or ix >= nx - layer[1] else 10 for ix in range(nx))
    return tuple(accumulate(cost, initial=0))


@dataclass(frozen=True)
class _Ghosts:
    """The ghost planes at cuts of a grid."""

    nx: int
    medium: str
    radius: int
    layer: tuple[int, int]
    least: int = 0

    def below(self, cut: int) -> int:
        """Return the planes that the rank above a cut holds below it."""
        return self._width(cut - self.radius, cut)

    def above(self, cut: int) -> int:
        """Return the planes that the rank below a cut holds above it."""
        return self._width(cut, cut + self.radius)

    def _width(self, first: int, last: int) -> int:
        """Return how many are held beyond a cut whose M next planes are [first, last)."""
        end = self.nx - self.layer[1]
        in_layer = first < self.layer[0] or max(first, end) < min(last, self.nx)
        return max(self.least, 2 * self.radius if in_layer or self.medium == "tti" else self.radius)

    def suit(self, cuts: Iterable[int]) -> bool:
        """Return whether every slab between cuts is as thick as what its neighbours hold of it."""
        for lo, hi in pairwise(cuts):
            needed = max(self.above(lo) if lo > 0 else 0, self.below(hi) if hi < self.nx else 0)
            if hi == lo or hi - lo < needed:
                return False
        return True


def _between(cuts: list[int], ghosts: _Ghosts) -> tuple[list[Slab], Slab | None]:
    """Return the slabs between cuts, and the first that is too thin, or None."""
    ranks = len(cuts) - 1
    slabs = [
        Slab(
            r,
            ranks,
            ghosts.nx,
            lo,
            hi,
            ghosts.below(lo) if r > 0 else 0,
            ghosts.above(hi) if r < ranks - 1 else 0,
        )
        for r, (lo, hi) in enumerate(pairwise(cuts))
    ]
    thin = next((s for s in slabs if s.hi == s.lo or s.hi - s.lo < max(ghosts_of_neighbours(slabs, s))), None)
    return slabs, thin


def ghosts_of_neighbours(slabs: Sequence[Slab], slab: Slab) -> tuple[int, int]:
    """Return how many planes the neighbours below and above hold of a slab."""
    below = slabs[slab.rank - 1].ghost_hi if slab.rank > 0 else 0
    above = slabs[slab.rank + 1].ghost_lo if slab.rank < slab.ranks - 1 else 0
    return below, above
