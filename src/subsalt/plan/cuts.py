"""One time step of a shot that ranks share, by the cut of its grid: slabs along x, or blocks in x and y. A model.

What it rests on, for the part of the grid that takes longest::

    kernel   = (points outside the layer / rate + points of the layer / rate there) * pace
    halo     = messages * a + bytes / B + copies of the rows that travel along y
    exposed  = what of the halo the points that do not travel leave uncovered
    step     = kernel + exposed

Pace is what steps one by one take over those of the measured passes (`kernels.passes.PACE`): slabs do as many in a pass
as suit the thinnest, blocks one. Not counted: fluxes of TTI and Psi that both sides of a cut compute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from subsalt.acquisition.injection import RADIUS
from subsalt.errors import ConfigError
from subsalt.kernels.passes import PACE, Cuts, depth_for
from subsalt.kernels.tuning import DEEPEST
from subsalt.numerics.stencil import radius_of
from subsalt.parallel.decomp import Slab, asked_of, cut, largest_group
from subsalt.plan.model import FLOAT, Shape, exposed
from subsalt.plan.network import Link
from subsalt.plan.rates import Rates
from subsalt.propagation.options import PropagationOptions
from subsalt.report.table import Column


@dataclass(frozen=True)
class SharedGrid:
    """The computational grid of a shot that ranks share.

    Parameters
    ----------
    shape3 : tuple of int
        Points, layer included; ny = 1 in 2-D.
    medium : {"isotropic", "vti", "tti"}
        Rules what travels.
    options : PropagationOptions
        Order and layer.
    """

    shape3: Shape
    medium: str
    options: PropagationOptions

    @property
    def radius(self) -> int:
        """Radius M of the stencil."""
        return radius_of(self.options.order)

    @property
    def layer(self) -> tuple[int, int]:
        """Cells of the PML at either end of x and y."""
        width = self.options.layer_cells if self.options.boundary == "pml" else 0
        return width, width

    def along(self, axis: int, parts: int) -> list[Slab]:
        """Return the cut along x (0) or y (1); a `ConfigError` where parts would be too thin."""
        if axis == 1 and parts == 1:
            return [Slab(0, 1, self.shape3[1], 0, self.shape3[1], 0, 0)]
        n, least = self.shape3[axis], RADIUS * axis
        return cut(n, parts, medium=self.medium, radius=self.radius, layer=self.layer, least=least)

    def most(self, axis: int) -> int:
        """Return the most parts along x (0) or y (1)."""
        if axis == 1 and self.shape3[1] == 1:
            return 1
        least = RADIUS * axis
        return largest_group(self.shape3[axis], self.medium, self.radius, self.layer, least)

    def fields(self, axis: int) -> int:
        """Return the fields that travel along an axis: where receivers are recorded across a cut of y, q does too."""
        return 1 if self.medium == "isotropic" or (self.medium == "vti" and axis == 0) else 2


@dataclass(frozen=True)
class Side:
    """A part of one axis: points owned, those of them outside the layer, and those that neighbours hold."""

    own: int
    inside: int
    asked: tuple[int, int]

    @property
    def sides(self) -> int:
        """Neighbours along the axis."""
        return sum(a > 0 for a in self.asked)


@dataclass(frozen=True)
class CutStep:
    """What a time step takes with one cut.

    Parameters
    ----------
    cut : tuple of int
        Parts along x and y.
    part : tuple of int
        Points of the part that takes longest.
    ghosts : float
        Points that its neighbours hold of it, over its own.
    kernel : float
        Seconds of its points.
    halo, exposed : float or None
        Seconds of its messages, and what of them nothing hides; None where the network is not known.
    """

    cut: tuple[int, int]
    part: Shape
    ghosts: float
    kernel: float
    halo: float | None
    exposed: float | None

    @property
    def ranks(self) -> int:
        """Ranks that have a part."""
        return self.cut[0] * self.cut[1]

    @property
    def seconds(self) -> float:
        """Of the step; without a known network those of the kernel."""
        return self.kernel + (self.exposed or 0.0)


@dataclass(frozen=True)
class StepModel:
    """What steps of a shot on many ranks are predicted from.

    Parameters
    ----------
    grid : SharedGrid
        Of the shot.
    rates : Rates
        Of a node.
    sharing : int
        Ranks of a node.
    link : Link or None
        Between ranks.
    """

    grid: SharedGrid
    rates: Rates
    sharing: int
    link: Link | None

    def of(self, counts: tuple[int, int]) -> CutStep:
        """Return the step with so many parts along x and y; a `ConfigError` where they would be too thin."""
        xs, ys = (self.grid.along(axis, parts) for axis, parts in enumerate(counts))
        pace = self._pace(xs, counts)
        steps = [self._part(counts, x, y, pace) for x in self._sides(0, xs) for y in self._sides(1, ys)]
        return max(steps, key=lambda s: s.seconds)

    def slabs(self, ranks: int) -> CutStep:
        """Return the step on slabs; where they would be too thin, on as many ranks as have one."""
        return self._fastest(ranks, (self.grid.most(0), 1))

    def blocks(self, ranks: int) -> CutStep:
        """Return the step on blocks of the shape that takes least time, slabs among them; as `slabs`."""
        return self._fastest(ranks, (self.grid.most(0), self.grid.most(1)))

    def _fastest(self, ranks: int, most: tuple[int, int]) -> CutStep:
        """Return the fastest step on as many of the ranks as have a part, of which `most` lie along x and y."""
        for n in range(min(ranks, most[0] * most[1]), 1, -1):
            found = [s for s in map(self._possible, shapes(n, most)) if s is not None]
            if found:
                return min(found, key=lambda s: (s.seconds, s.cut[1]))
        return self.of((1, 1))

    def efficiency(self, step: CutStep, ranks: int) -> float:
        """Return the seconds of an even share of the step on all ranks over those it takes."""
        whole = self.of((1, 1))
        return whole.kernel / (ranks * step.seconds)

    def _possible(self, counts: tuple[int, int]) -> CutStep | None:
        try:
            return self.of(counts)
        except ConfigError:
            return None

    def _pace(self, xs: Sequence[Slab], counts: tuple[int, int]) -> float:
        """Return what a step takes over one of the measured passes."""
        grid = self.grid
        if counts == (1, 1) or grid.medium == "tti":
            return 1.0
        if counts[1] > 1:
            return PACE[1]
        layers = [s.layer_widths(*grid.layer) for s in xs]
        cuts = [
            Cuts(s.planes, *s.owned_local, *asked_of(xs, s), grid.radius, layer)
            for s, layer in zip(xs, layers, strict=True)
        ]
        return PACE[min(depth_for(c, DEEPEST) for c in set(cuts))]

    def _sides(self, axis: int, slabs: Sequence[Slab]) -> list[Side]:
        """Return the kinds of parts along an axis, each once."""
        n, width = self.grid.shape3[axis], self.grid.options.layer_cells
        width = 0 if n == 1 else width
        found = []
        for slab in slabs:
            first, last = slab.clip(width, n - width)
            found.append(Side(slab.hi - slab.lo, max(0, last - first), asked_of(slabs, slab)))
        return list(dict.fromkeys(found))

    def _part(self, counts: tuple[int, int], x: Side, y: Side, pace: float) -> CutStep:
        grid, nz = self.grid, self.grid.shape3[2]
        tops = 1 if grid.options.free_surface else 2
        deep = max(0, nz - tops * grid.options.layer_cells)
        own, inside = x.own * y.own * nz, x.inside * y.inside * deep
        seconds = self.sharing * pace * (inside / self.rates.core + (own - inside) / self.rates.layer)
        # what is sent along y in a tilted medium has the ghost planes of x with it
        rows = x.own + (sum(x.asked) if grid.medium == "tti" else 0)
        faces = sum(x.asked) * y.own * nz, sum(y.asked) * rows * nz
        nbytes = [FLOAT * grid.fields(axis) * points for axis, points in enumerate(faces)]
        messages = sum(grid.fields(axis) * side.sides for axis, side in enumerate((x, y)))
        core = max(0, x.own - sum(x.asked)) * max(0, y.own - sum(y.asked)) / (x.own * y.own)
        halo = hidden = None
        if self.link is not None or messages == 0:
            copied = 2 * nbytes[1] * self.sharing / self.rates.parts.copy
            halo = 0.0 if self.link is None else self.link.seconds(sum(nbytes), messages) + copied
            hidden = exposed(halo, core * seconds)
        return CutStep(counts, (x.own, y.own, nz), sum(faces) / own, seconds, halo, hidden)


def shapes(ranks: int, most: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the cuts of a grid into so many parts along x and y, of which there may be `most` along each."""
    for py in range(1, min(ranks, most[1]) + 1):
        if ranks % py == 0 and ranks // py <= most[0]:
            yield ranks // py, py


#: columns of the table of time steps
COLUMNS = (
    Column("nodes", "nodes", "d"),
    Column("cores", "cores", "d"),
    Column("cut", "cut"),
    Column("ranks", "ranks used", "d"),
    Column("part", "largest part"),
    Column("ghosts", "ghosts %", ".0f", 100),
    Column("kernel", "kernel ms", ".3f", 1e3),
    Column("halo", "halo ms", ".3f", 1e3),
    Column("exposed", "not hidden ms", ".3f", 1e3),
    Column("step", "step ms", ".3f", 1e3),
    Column("efficiency", "efficiency", ".2f"),
)


@dataclass(frozen=True)
class StepRow:
    """The steps of a shot that all ranks of some nodes share, with one of the cuts.

    Parameters
    ----------
    nodes, cores, ranks : int
        How many.
    kind : {"slabs", "blocks"}
        The cut.
    found : CutStep
        Its step.
    efficiency : float
        Against an even share of the points on all ranks, no halo.
    """

    nodes: int
    cores: int
    ranks: int
    kind: str
    found: CutStep
    efficiency: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON and for the table."""
        found = self.found
        return {
            "nodes": self.nodes,
            "cores": self.cores,
            "cut": f"{self.kind} {found.cut[0]} x {found.cut[1]}",
            "ranks": found.ranks,
            "part": " x ".join(map(str, found.part)),
            "ghosts": found.ghosts,
            "kernel": found.kernel,
            "halo": found.halo,
            "exposed": found.exposed,
            "step": found.seconds,
            "efficiency": self.efficiency,
        }


def steps_of(model: StepModel, nodes: int, ranks: int, threads: int) -> list[StepRow]:
    """Return the rows of some nodes: slabs, and blocks in 3-D."""
    kinds = {"slabs": model.slabs(ranks)}
    if model.grid.shape3[1] > 1:
        kinds["blocks"] = model.blocks(ranks)
    return [
        StepRow(nodes, ranks * threads, ranks, kind, step, model.efficiency(step, ranks))
        for kind, step in kinds.items()
    ]


def step_assumptions(model: StepModel) -> list[str]:
    """Return what the table of time steps rests on, in words."""
    tti = "fluxes that both sides of a cut compute are not counted" if model.grid.medium == "tti" else ""
    pace = f"steps one by one take {PACE[1]:g} times the measured ones, which do several in a pass"
    copied = (
        f"rows that travel along y are copied twice, at {model.rates.parts.copy / 1e9:.2g} GB/s of a node"
    )
    halo = "the halo is not known, and left out" if model.link is None else f"halo: {model.link.text()}"
    return [
        "time steps: the largest shot on all ranks at once; the rate of a node holds for parts of any size",
        f"time steps: {tti or pace}",
        f"time steps: {halo}; {copied}; points that do not travel hide it",
    ]
