"""One time step of a shot that ranks share, by the cut of its grid: slabs along x, or blocks in x and y. A model.

What it rests on, for the part of the grid that takes longest::

    kernel   = (points outside the layer / rate + points of the layer / rate there) * pace
    halo     = messages * a + bytes / B + copies of what does not lie in one piece, out and in
    exposed  = what of the halo the points that do not travel leave uncovered
    step     = kernel + exposed

Pace is what steps one by one take over those of the measured passes (`kernels.passes.PACE`): slabs do as many in a pass
as suit the thinnest, blocks one. Not counted: fluxes of TTI and Psi that both sides of a cut compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from subsalt.errors import ConfigError
from subsalt.kernels.passes import PACE
from subsalt.parallel.decomp import Slab, ghosts_of_neighbours
from subsalt.plan.model import FLOAT, Shape, exposed
from subsalt.plan.network import Link
from subsalt.plan.rates import Rates
from subsalt.propagation.blocks import Cut, GridFootprint, shapes
from subsalt.propagation.options import PropagationOptions
from subsalt.report.table import Column


@dataclass(frozen=True)
class Side:
    """A part of one axis: points owned, those of them outside the layer, and those that neighbours hold."""

    own: int
    inside: int
    ghosts: tuple[int, int]

    @property
    def sides(self) -> int:
        """Neighbours along the axis."""
        return sum(a > 0 for a in self.ghosts)


def sides_of(slabs: Sequence[Slab], width: int) -> list[Side]:
    """Return the parts of an axis with layers of `width` points at its ends."""
    sides = []
    for slab in slabs:
        first, last = slab.clip(width, slab.nx - width)
        sides.append(Side(slab.hi - slab.lo, max(0, last - first), ghosts_of_neighbours(slabs, slab)))
    return sides


@dataclass(frozen=True)
class Travel:
    """Messages that a part sends in a time step.

    Parameters
    ----------
    points : int
        That neighbours hold of it.
    nbytes, messages : int
        Bytes and number of messages, of all fields that are exchanged.
    packed : int
        Bytes that are copied together before they are sent, and apart when they are received.
    core : float
        Share of its points that do not travel.
    """

    points: int
    nbytes: int
    messages: int
    packed: int
    core: float

    @classmethod
    def of(cls, plane: GridFootprint, nz: int, x: Side, y: Side) -> Travel:
        """Return that of the part of two sides; along y in a tilted medium with the ghost planes of x."""
        rows = x.own + (sum(x.ghosts) if plane.medium == "tti" and y.sides else 0)
        faces = sum(x.ghosts) * y.own * nz, sum(y.ghosts) * rows * nz
        nbytes = sum(FLOAT * plane.fields(axis) * points for axis, points in enumerate(faces))
        messages = sum(plane.fields(axis) * side.sides for axis, side in enumerate((x, y)))
        core = max(0, x.own - sum(x.ghosts)) * max(0, y.own - sum(y.ghosts)) / (x.own * y.own)
        return cls(sum(faces), nbytes, messages, nbytes if y.sides else 0, core)

    def seconds(self, link: Link, copy: float) -> float:
        """Return the seconds of its messages, one after the other, and of copies at `copy` bytes per second."""
        return link.seconds(self.nbytes, self.messages) + 2 * self.packed / copy


@dataclass(frozen=True)
class ExchangeTime:
    """The ghost planes of a time step, on the rank that waits longest.

    Parameters
    ----------
    seconds : float
        Seconds of its messages, one after the other.
    exposed : float
        Seconds of these that no computation hides.
    nbytes : int
        That all ranks of the group send.
    """

    seconds: float
    exposed: float
    nbytes: int


def exchange_of(
    plane: GridFootprint, nz: int, cut: Cut, step: float, link: Link, copy: float
) -> ExchangeTime:
    """Return what the exchange of one time step takes.

    Parameters
    ----------
    plane : GridFootprint
        The computational grid from above.
    nz : int
        Its points along z.
    cut : tuple of sequence of Slab
        Slabs along x and along y.
    step : float
        Seconds of a time step of the slowest part.
    link : Link
        Between neighbours.
    copy : float
        Bytes per second that a rank copies in memory.

    Notes
    -----
    What neighbours hold is computed first; its messages travel while the rest is (`kernels.steps`).
    """
    xs, ys = (sides_of(slabs, 0) for slabs in cut)
    most = max(x.own for x in xs) * max(y.own for y in ys)
    worst, nbytes = ExchangeTime(0.0, 0.0, 0), 0
    for x in xs:
        for y in ys:
            travel = Travel.of(plane, nz, x, y)
            nbytes += travel.nbytes
            seconds = travel.seconds(link, copy)
            inner = travel.core * step * x.own * y.own / most
            now = ExchangeTime(seconds, exposed(seconds, inner), 0)
            worst = max(worst, now, key=lambda e: (e.exposed, e.seconds))
    return ExchangeTime(worst.seconds, worst.exposed, nbytes)


@dataclass(frozen=True)
class CutStep:
    """Time of a time step with one cut.

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
        """Seconds of the step; without a known network, those of the kernel alone."""
        return self.kernel + (self.exposed or 0.0)


@dataclass(frozen=True)
class StepModel:
    """Inputs from which the time steps of a shot on many ranks are predicted.

    Parameters
    ----------
    plane : GridFootprint
        The computational grid of the shot from above.
    nz : int
        Its points along z.
    options : PropagationOptions
        Layer and free surface.
    rates : Rates
        Rates of a node.
    sharing : int
        Ranks of a node.
    link : Link or None
        Between ranks.
    """

    plane: GridFootprint
    nz: int
    options: PropagationOptions
    rates: Rates
    sharing: int
    link: Link | None

    def of(self, counts: tuple[int, int]) -> CutStep:
        """Return the step with so many parts along x and y; a `ConfigError` where they would be too thin."""
        xs, ys = (self.plane.along(axis, parts) for axis, parts in enumerate(counts))
        pace, width = self.plane.pace(xs, len(ys)), self.options.layer_cells
        kinds = (
            dict.fromkeys(sides_of(slabs, 0 if slabs[0].nx == 1 else width)) for slabs in (xs, ys)
        )  # each once
        along_x, along_y = kinds
        steps = [self._part(counts, x, y, pace) for x in along_x for y in along_y]
        return max(steps, key=lambda s: s.seconds)

    def slabs(self, ranks: int) -> CutStep:
        """Return the step on slabs; where they would be too thin, on as many ranks as have one."""
        return self._fastest(ranks, (self.plane.most(0), 1))

    def blocks(self, ranks: int) -> CutStep:
        """Return the step on blocks of the shape that takes least time, slabs among them; as `slabs`."""
        return self._fastest(ranks, (self.plane.most(0), self.plane.most(1)))

    def _fastest(self, ranks: int, most: tuple[int, int]) -> CutStep:
        """Return the fastest step on as many of the ranks as have a part, of which `most` lie along x and y."""
        for n in range(min(ranks, most[0] * most[1]), 1, -1):
            possible = [s for s in map(self._possible, shapes(n, most)) if s is not None]
            if possible:
                return min(possible, key=lambda s: (s.seconds, s.cut[1]))
        return self.of((1, 1))

    def efficiency(self, step: CutStep, ranks: int) -> float:
        """Return the seconds of an even share of the step on all ranks over those it takes."""
        return self.of((1, 1)).kernel / (ranks * step.seconds)

    def _possible(self, counts: tuple[int, int]) -> CutStep | None:
        try:
            return self.of(counts)
        except ConfigError:
            return None

    def _part(self, counts: tuple[int, int], x: Side, y: Side, pace: float) -> CutStep:
        tops = 1 if self.options.free_surface else 2
        deep = max(0, self.nz - tops * self.options.layer_cells)
        own, inside = x.own * y.own * self.nz, x.inside * y.inside * deep
        seconds = self.sharing * pace * (inside / self.rates.core + (own - inside) / self.rates.layer)
        travel = Travel.of(self.plane, self.nz, x, y)
        halo = hidden = None
        if travel.messages == 0:
            halo = hidden = 0.0
        elif self.link is not None:
            halo = travel.seconds(self.link, self.rates.parts.copy / self.sharing)
            hidden = exposed(halo, travel.core * seconds)
        return CutStep(counts, (x.own, y.own, self.nz), travel.points / own, seconds, halo, hidden)


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
    step : CutStep
        The time step with that cut.
    efficiency : float
        Against an even share of the points on all ranks, no halo.
    """

    nodes: int
    cores: int
    ranks: int
    kind: str
    step: CutStep
    efficiency: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON and for the table."""
        step = self.step
        return {
            "nodes": self.nodes,
            "cores": self.cores,
            "cut": f"{self.kind} {step.cut[0]} x {step.cut[1]}",
            "ranks": step.ranks,
            "part": " x ".join(map(str, step.part)),
            "ghosts": step.ghosts,
            "kernel": step.kernel,
            "halo": step.halo,
            "exposed": step.exposed,
            "step": step.seconds,
            "efficiency": self.efficiency,
        }


def steps_of(model: StepModel, nodes: int, ranks: int, threads: int) -> list[StepRow]:
    """Return the rows of some nodes: slabs, and blocks in 3-D."""
    kinds = {"slabs": model.slabs(ranks)}
    if model.plane.ny > 1:
        kinds["blocks"] = model.blocks(ranks)
    return [
        StepRow(nodes, ranks * threads, ranks, kind, step, model.efficiency(step, ranks))
        for kind, step in kinds.items()
    ]


def step_assumptions(model: StepModel) -> list[str]:
    """Return what the table of time steps rests on, in words."""
    tti = "fluxes that both sides of a cut compute are not counted" if model.plane.medium == "tti" else ""
    pace = f"steps one by one take {PACE[1]:g} times the measured ones, which do several in a pass"
    copied = f"what blocks send is copied twice, at {model.rates.parts.copy / 1e9:.2g} GB/s of a node"
    halo = "the halo is not known, and left out" if model.link is None else f"halo: {model.link.text()}"
    return [
        "time steps: the largest shot on all ranks at once; the rate of a node holds for parts of any size",
        f"time steps: {tti or pace}",
        f"time steps: {halo}; {copied}; points that do not travel hide it",
    ]
