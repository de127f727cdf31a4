"""How the ranks of a group cut a grid: slabs along x, or blocks in x and y, whose shape follows from the grid alone.

A rank of a block has number ``i py + j``: slab i of x, slab j of y, of which there are px and py. Slabs alone are
py = 1. In 2-D there is no y to cut.

The automatic shape has the least cost of its largest part, in points of a time step::

    cost = work pace + (points sent along x) / 2 + (points sent along y)

with the work of a point in the PML as in `parallel.decomp`, and the pace of steps one by one over passes as in
`kernels.passes`; what is sent along y is copied together first. Slabs are left only for a shape that costs `GAIN` less,
and there are never more parts than there could be slabs. The rule knows no machine, so that ranks, plans and runs agree
on a shape without a message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from subsalt.acquisition.injection import HICKS
from subsalt.errors import ConfigError
from subsalt.kernels.passes import DEEPEST, PACE, Cuts, depth_for
from subsalt.parallel.decomp import LAYER_TENTHS, Slab, cut, ghosts_of_neighbours, largest_group

#: how a grid may be cut: as the rule says, along x alone, or into so many parts along x and y
Decomp = Literal["auto", "slabs"] | tuple[int, int]

#: part of the cost of slabs that blocks must save
GAIN = 0.1

#: points of a step that a point sent along x and along y costs, per field
SENT = 0.5, 1.0

Cut = tuple[tuple[Slab, ...], tuple[Slab, ...]]


@dataclass(frozen=True)
class GridFootprint:
    """A computational grid seen from above.

    Parameters
    ----------
    nx, ny : int
        Points; ny = 1 in 2-D.
    medium : {"isotropic", "vti", "tti"}
        Rules the width of the halo.
    radius : int
        Radius M of the stencil.
    layer : int
        Cells of the PML at every end; 0 for a damping layer or none, which keep no Psi.
    support : int
        Half the width of the support of a receiver, cells: a block has so many ghost rows.
    """

    nx: int
    ny: int
    medium: str
    radius: int
    layer: int
    support: int = HICKS.radius

    def along(self, axis: int, parts: int) -> tuple[Slab, ...]:
        """Return the cut along x (0) or y (1).

        Raises
        ------
        ConfigError
            When parts would be thinner than their halo.
        """
        n = (self.nx, self.ny)[axis]
        if axis == 1 and parts == 1:
            return (Slab(0, 1, n, 0, n, 0, 0),)
        layer, least = (self.layer, self.layer), self.support * axis
        made = cut(
            n, parts, medium=self.medium, radius=self.radius, layer=layer, least=least, axis="xy"[axis]
        )
        return tuple(made)

    def most(self, axis: int) -> int:
        """Return the most parts along x (0) or y (1)."""
        if axis == 1 and self.ny == 1:
            return 1
        n, layer = (self.nx, self.ny)[axis], (self.layer, self.layer)
        return largest_group(n, self.medium, self.radius, layer, self.support * axis)

    def fields(self, axis: int) -> int:
        """Return the fields whose ghosts along x (0) or y (1) travel."""
        return 1 if self.medium == "isotropic" or (self.medium == "vti" and axis == 0) else 2

    def pace(self, xs: Sequence[Slab], py: int) -> float:
        """Return the time of a step over that in the deepest passes."""
        if (len(xs), py) == (1, 1) or self.medium == "tti":
            return 1.0
        if py > 1:
            return PACE[1]
        return PACE[min(depth_for(c, DEEPEST) for c in set(cuts_of(xs, self.radius, self.layer)))]

    def cost(self, xs: Sequence[Slab], ys: Sequence[Slab]) -> float:
        """Return the cost of the part that costs most, in points of a column of the grid."""
        pace = self.pace(xs, len(ys))
        return max(self._part(x, y, pace) for x in self._sides(0, xs) for y in self._sides(1, ys))

    def _sides(self, axis: int, slabs: Sequence[Slab]) -> list[tuple[int, int, int]]:
        """Return points owned, those of them in the layer, and those sent, of every kind of part along an axis."""
        width = 0 if axis == 1 and self.ny == 1 else self.layer
        sides: dict[tuple[int, int, int], None] = {}
        for slab in slabs:
            first, last = slab.clip(width, slab.nx - width)
            own = slab.hi - slab.lo
            sides[own, own - max(0, last - first), sum(ghosts_of_neighbours(slabs, slab))] = None
        return list(sides)

    def _part(self, x: tuple[int, int, int], y: tuple[int, int, int], pace: float) -> float:
        extra = LAYER_TENTHS[self.medium] / 10 - 1
        work = x[0] * y[0] + extra * (x[1] * y[0] + x[0] * y[1])
        sent = SENT[0] * self.fields(0) * x[2] * y[0] + SENT[1] * self.fields(1) * y[2] * x[0]
        return pace * work + sent


def cuts_of(slabs: Sequence[Slab], radius: int, layer: int) -> list[Cuts]:
    """Return the slabs of an axis as time steps see them."""
    return [
        Cuts(s.planes, *s.owned_local, *ghosts_of_neighbours(slabs, s), radius, s.layer_widths(layer, layer))
        for s in slabs
    ]


def shapes(ranks: int, most: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the cuts of a grid into so many parts along x and y, of which there may be `most` along each."""
    for py in range(1, min(ranks, most[1]) + 1):
        if ranks % py == 0 and ranks // py <= most[0]:
            yield ranks // py, py


def no_rows(decomp: tuple[int, int], why: str) -> ConfigError:
    """Return the error of blocks where rows along y cannot be cut."""
    px, py = decomp
    cure = f"leave decomp out, or set [parallel] decomp = [{px * py}, 1]"
    return ConfigError(f"[parallel] decomp = [{px}, {py}]: {why}", cure, code="E719")


def slabs_alone(decomp: Decomp) -> Decomp:
    """Return the cut for a device that cannot cut rows; refuse a request for one that does."""
    if isinstance(decomp, str):
        return "slabs"
    if decomp[1] > 1:
        raise no_rows(decomp, "ranks on GPUs have slabs along x")
    return decomp


@lru_cache(maxsize=256)
def cut_footprint(plane: GridFootprint, ranks: int, decomp: Decomp = "auto") -> Cut:
    """Return how a group of ranks cuts a grid.

    Parameters
    ----------
    plane : GridFootprint
        The grid.
    ranks : int
        Ranks of the group.
    decomp : "auto", "slabs" or tuple of int
        Parts along x and y; a group of another number of ranks is cut as under "auto".

    Raises
    ------
    ConfigError
        When parts would be thinner than their halo, or a grid in 2-D is to be cut along y.
    """
    if plane.ny == 1 and not isinstance(decomp, str) and decomp[1] > 1:
        raise no_rows(decomp, "a 2-D model has no rows along y")
    if plane.ny == 1 or ranks == 1 or decomp == "slabs":
        return plane.along(0, ranks), plane.along(1, 1)
    if not isinstance(decomp, str) and decomp[0] * decomp[1] == ranks:
        return plane.along(0, decomp[0]), plane.along(1, decomp[1])
    slabs: Cut = plane.along(0, ranks), plane.along(1, 1)
    best, least = slabs, plane.cost(*slabs) * (1 - GAIN)
    for px, py in shapes(ranks, (plane.most(0), plane.most(1))):
        try:
            made = plane.along(0, px), plane.along(1, py)
        except ConfigError:
            continue  # a smaller number may be refused where its cuts meet the layer
        cost = plane.cost(*made)
        if py > 1 and cost < least:
            best, least = made, cost
    return best
