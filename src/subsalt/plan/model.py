"""Seconds of one shot by phase on some nodes that share it (kernel, halo, input, image), and of a survey.

What everything rests on, for the block of the node that has most of it::

    kernel  = steps * points of the largest block / rate
    halo    = steps * wavefields * (faces * a + ghost planes * 4 bytes / B)
    init    = model arrays * 4 bytes of block and ghost planes / min(rate of a node, limit / nodes)
    traces  = 2 steps * 4 bytes of its surface with ghost planes / the same
    image   = image arrays * 4 bytes of its block / the same

A survey deals its shots to groups of nodes: rounds, what is lost behind the last ones, the sum of their images.

`Blocks` says how many points a rank has of a grid, and how many it exchanges. `reached` says how much of a grid a
wavefield from rest has reached, on the mean of its steps; what lies beyond is not computed. Rows along z are advanced
from their top to the last number that is not zero (`native/isa/front.hpp`), on a GPU all in the box of such numbers
(`native/cuda/reached.cu`: `reached_box`). Ahead of a wave the numbers of a scheme fall off like an Airy function, whose
width grows with the cube root of the steps, until they are flushed to zero.

What a run has beside its cores: the network between its ranks, and its files.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.machine.machine_file import Machine
from subsalt.machine.storage import publishing_known
from subsalt.numerics.stencil import Stencil
from subsalt.plan import network
from subsalt.plan.network import Link

Shape = tuple[int, int, int]

#: cells ahead of the wave over the cube root of the steps, by the kind of weights and their order, in 2-D and in 3-D,
#: where waves are weaker: what fits the fronts of tests/lab/test_model_front.py, 60 to 200 steps at 0.95 of the bound
AHEAD = {
    "taylor": {
        2: (5.0, 4.5),
        4: (12.5, 11.0),
        6: (16.0, 14.0),
        8: (18.0, 16.0),
        10: (20.5, 18.0),
        12: (22.0, 19.5),
        14: (23.5, 21.0),
        16: (25.0, 23.0),
    },
    "fitted": {
        4: (12.5, 11.0),
        6: (17.0, 14.5),
        8: (20.5, 17.5),
        10: (24.0, 21.5),
        12: (28.0, 25.5),
        14: (31.5, 30.0),
        16: (35.0, 35.0),
    },
}
#: rows along x and y, points and times that stand for all
ROWS, POINTS, TIMES = 24, 32, 12
#: a box with so much of a grid is advanced as the whole of it
FILLED = 0.9


def reached(
    shape3: Shape, points: ArrayLike, cells: float, steps: int, stencil: Stencil | None = None
) -> float:
    """Return the part of the points of a grid that is advanced, on the mean of the steps.

    Parameters
    ----------
    shape3 : tuple of int
        Points of the grid, layer included.
    points : array_like, (n, 3)
        Where waves begin, in cells of the grid.
    cells : float
        Cells that a wave travels in a step.
    steps : int
        From rest.
    stencil : Stencil, optional
        Weights in space, whose reach and kind say how far numbers run ahead; the default ones when None.
    """
    stencil = stencil or Stencil.of(8)
    where = np.atleast_2d(np.asarray(points, dtype=np.float64))
    if steps < 1 or not len(where):
        return 1.0
    where = where[:: -(-len(where) // POINTS)]
    x, y = np.meshgrid(_some(shape3[0]), _some(shape3[1]), indexing="ij")
    # to the nearest point, and its depth
    apart = np.hypot(x[..., None] - where[:, 0], y[..., None] - where[:, 1])
    times = steps * (np.arange(TIMES) + 0.5) / TIMES
    ahead = AHEAD[stencil.kind][stencil.order][0 if shape3[1] == 1 else 1]
    parts = [_part(apart, where[:, 2], cells * n + ahead * np.cbrt(n), shape3[2]) for n in times]
    return float(np.mean(parts))


def reached_box(
    shape3: Shape,
    points: ArrayLike,
    cells: float,
    steps: int,
    stencil: Stencil | None = None,
    beyond: float = 0.0,
) -> float:
    """Return the part of the points of a grid in the box that is advanced on a GPU, on the mean of the steps.

    Parameters
    ----------
    shape3, points, cells, steps, stencil
        As for `reached`.
    beyond : float
        Cells by which the box is larger on all sides, on the mean of its looks.
    """
    stencil = stencil or Stencil.of(8)
    where = np.atleast_2d(np.asarray(points, dtype=np.float64))
    if steps < 1 or not len(where):
        return 1.0
    times = steps * (np.arange(TIMES) + 0.5) / TIMES
    ahead = AHEAD[stencil.kind][stencil.order][0 if shape3[1] == 1 else 1]
    radius = (cells * times + ahead * np.cbrt(times) + beyond)[:, None]
    low, high = np.maximum(where.min(axis=0) - radius, 0), where.max(axis=0) + radius + 1
    sides = np.clip((np.minimum(high, shape3) - low) / shape3, 0.0, 1.0)
    parts = sides.prod(axis=1)
    return float(np.where(parts < FILLED, parts, 1.0).mean())


def _part(apart: NDArray[np.float64], depth: NDArray[np.float64], radius: float, nz: int) -> float:
    """Return the part of the rows above the waves of all points, `radius` cells away from each."""
    down = np.where(apart <= radius, depth + np.sqrt(np.maximum(0.0, radius**2 - apart**2)), 0.0)
    return float(np.minimum(1.0, down.max(axis=-1) / nz).mean())


def _some(n: int) -> NDArray[np.float64]:
    """Return the middles of equal parts of n rows, no more than `ROWS`."""
    count = min(n, ROWS)
    return (np.arange(count) + 0.5) * n / count - 0.5


@dataclass(frozen=True)
class Blocks:
    """A grid cut into `counts` blocks along each axis, as even as whole planes allow.

    Parameters
    ----------
    shape : tuple of int
        Points along x, y, z.
    counts : tuple of int
        Blocks along each axis.
    """

    shape: Shape
    counts: Shape

    @property
    def number(self) -> int:
        """Blocks in all."""
        return math.prod(self.counts)

    @property
    def largest(self) -> Shape:
        """Points of the largest block along each axis."""
        x, y, z = (-(-n // c) for n, c in zip(self.shape, self.counts, strict=True))
        return x, y, z

    @property
    def mean(self) -> float:
        """Points of a block on the mean."""
        return math.prod(self.shape) / self.number

    @property
    def imbalance(self) -> float:
        """Points of the largest block over those of the mean one: 1.15 with 6 planes where the mean is 5.2."""
        return math.prod(self.largest) / self.mean

    def exchanged(self, ghost: int) -> tuple[int, int]:
        """Return the faces of the block with most neighbours, and the points that it sends through them.

        Parameters
        ----------
        ghost : int
            Planes of points that a neighbour holds.
        """
        sides = [min(2, c - 1) for c in self.counts]
        x, y, z = self.largest
        areas = (y * z, x * z, x * y)
        return sum(sides), ghost * sum(s * a for s, a in zip(sides, areas, strict=True))


def slabs(shape: Shape, parts: int) -> Blocks:
    """Return a grid cut along x alone; no more parts than planes."""
    return Blocks(shape, (max(1, min(parts, shape[0])), 1, 1))


@lru_cache(maxsize=256)
def cubes(shape: Shape, parts: int) -> Blocks:
    """Return the cut into `parts` blocks that has the least to exchange, of equals the most even one."""
    cuts = [Blocks(shape, c) for c in _factors(parts) if all(a <= n for a, n in zip(c, shape, strict=True))]
    if not cuts:
        raise ValueError(f"{parts} blocks do not fit a grid of {shape}")
    return min(cuts, key=lambda b: (b.exchanged(1)[1], b.imbalance, b.counts))


def _factors(n: int) -> list[Shape]:
    """Return all ordered triples of numbers whose product is n."""
    divisors = [d for d in range(1, math.isqrt(n) + 1) if n % d == 0]
    divisors += [n // d for d in divisors if d * d != n]
    return [(a, b, n // a // b) for a in divisors for b in divisors if (n // a) % b == 0]


def tail_loss(shots: int, groups: int) -> float:
    """Return the part of the groups' time that is lost behind the last shots when all shots take alike."""
    return 1.0 - shots / (groups * math.ceil(shots / groups))


def survey_seconds(shots: int, groups: int, shot: float) -> float:
    """Return the seconds of a survey whose shots take `shot` each: rounds of one shot per group."""
    return math.ceil(shots / groups) * shot


def sum_seconds(
    points: int, shots: int, workers: int, summed: float, files: FileRates | None, nodes: int
) -> float:
    """Return the seconds of summing the images of all shots in shot order.

    Every worker sums planes of its own over all shots, so that all partial images are read once, whatever the number
    of workers; that is no reduction over a tree, which would be faster and would depend on the number of ranks.

    Parameters
    ----------
    points : int
        Points in the partial images of a shot, all accumulators together.
    shots : int
        Images.
    workers : int
        Ranks that sum.
    summed : float
        Bytes that a worker reads, checks and adds per second.
    files : FileRates, optional
        Limits what the nodes read together.
    nodes : int
        Number of nodes that the workers run on.
    """
    rate = workers * summed
    if files is not None:
        rate = min(rate, nodes * files.reading(nodes))
    return FLOAT * points * shots / rate


#: bytes of a number of a wavefield, a model and an image
FLOAT = 4


@dataclass(frozen=True)
class FileRates:
    """How fast files are read and written.

    Parameters
    ----------
    read, write : float
        Bytes per second of one node.
    limit : float
        Bytes per second of all nodes together; no limit when infinite.
    """

    read: float
    write: float
    limit: float = math.inf

    def reading(self, nodes: int) -> float:
        """Return bytes per second of each of some nodes that read at the same time."""
        return min(self.read, self.limit / nodes)

    def writing(self, nodes: int) -> float:
        """Return bytes per second of each of some nodes that write at the same time."""
        return min(self.write, self.limit / nodes)


@dataclass(frozen=True)
class ShotProblem:
    """One shot.

    Parameters
    ----------
    shape : tuple of int
        Points along x, y, z.
    steps : int
        Times that every point is advanced; what of the shot counts as one step is up to the rate.
    wavefields : int
        Arrays that travel between neighbours in a step.
    ghost : int
        Planes of points beyond a cut.
    model_arrays, image_arrays : int
        Arrays that are read first and written last.
    """

    shape: Shape
    steps: int
    wavefields: int = 2
    ghost: int = 4
    model_arrays: int = 3
    image_arrays: int = 1


def kernel_seconds(blocks: Blocks, steps: int, rate: float) -> float:
    """Return the seconds of the time steps of the largest block, `rate` in points per second of a node."""
    return steps * math.prod(blocks.largest) / rate


def halo_seconds(blocks: Blocks, problem: ShotProblem, link: Link) -> float:
    """Return the seconds of all exchanges, one face after the other, when nothing is computed meanwhile."""
    faces, points = blocks.exchanged(problem.ghost)
    w = problem.wavefields
    return problem.steps * link.seconds(w * FLOAT * points, w * faces)


def exposed(halo: float, core: float) -> float:
    """Return what of the seconds of an exchange no computation hides: `core` is computed while messages travel."""
    return max(0.0, halo - core)


def core_seconds(blocks: Blocks, problem: ShotProblem, rate: float) -> float:
    """Return the seconds of the time steps of what lies more than the ghost planes away from any cut of the block."""
    inside = [
        max(0, n - min(2, c - 1) * problem.ghost) for n, c in zip(blocks.largest, blocks.counts, strict=True)
    ]
    return problem.steps * math.prod(inside) / rate


def init_seconds(blocks: Blocks, problem: ShotProblem, files: FileRates) -> float:
    """Return the seconds of reading the model arrays, each node its block and the ghost planes beside it."""
    held = _held(blocks, problem.ghost)
    return problem.model_arrays * FLOAT * math.prod(held) / files.reading(blocks.number)


def trace_bytes(blocks: Blocks, problem: ShotProblem) -> int:
    """Return the bytes of source and receiver traces that the busiest node reads: those on its surface."""
    x, y, _ = _held(blocks, problem.ghost)
    return 2 * problem.steps * FLOAT * x * y


def trace_seconds(blocks: Blocks, problem: ShotProblem, files: FileRates) -> float:
    """Return the seconds of reading them."""
    surface = blocks.counts[0] * blocks.counts[1]
    return trace_bytes(blocks, problem) / files.reading(surface)


def image_seconds(blocks: Blocks, problem: ShotProblem, files: FileRates) -> float:
    """Return the seconds of writing the image, each node its block."""
    return problem.image_arrays * FLOAT * math.prod(blocks.largest) / files.writing(blocks.number)


def _held(blocks: Blocks, ghost: int) -> Shape:
    """Return the points of the largest block with its ghost planes."""
    x, y, z = (n + min(2, c - 1) * ghost for n, c in zip(blocks.largest, blocks.counts, strict=True))
    return x, y, z


@dataclass(frozen=True)
class Predicted:
    """Seconds by phase of a shot on some nodes.

    Parameters
    ----------
    blocks : Blocks
        How the grid was cut.
    phases : dict of str to float
        Seconds; what is not known is missing.
    efficiency : float or None
        Seconds of an even share without a halo over those predicted for kernel and halo; None without a halo.
    unknown : dict of str to str
        Why a phase is missing.
    """

    blocks: Blocks
    phases: dict[str, float]
    efficiency: float | None
    unknown: dict[str, str] = field(default_factory=dict)


def predict(
    problem: ShotProblem,
    blocks: Blocks,
    rate: float,
    link: Link | None,
    files: FileRates | None = None,
    *,
    overlapped: bool = False,
) -> Predicted:
    """Return the seconds of a shot by phase.

    Parameters
    ----------
    problem : ShotProblem
        The shot.
    blocks : Blocks
        One for each node.
    rate : float
        Points per second of a node.
    link : Link, optional
        Between neighbours.
    files : FileRates, optional
        For model, traces and image; they are left out without.
    overlapped : bool
        Messages travel while the core of a block is computed; else one after the other.
    """
    phases, unknown = {"kernel": kernel_seconds(blocks, problem.steps, rate)}, {}
    ideal = problem.steps * blocks.mean / rate
    efficiency: float | None = None
    if blocks.number == 1:
        phases["halo"] = 0.0
    elif link is None:
        unknown["halo"] = "not known: measure with subsalt lab network, or give --network"
    else:
        halo = halo_seconds(blocks, problem, link)
        phases["halo"] = exposed(halo, core_seconds(blocks, problem, rate)) if overlapped else halo
    if "halo" in phases:
        efficiency = ideal / (phases["kernel"] + phases["halo"])
    if files is not None:
        phases |= {
            "init": init_seconds(blocks, problem, files),
            "traces": trace_seconds(blocks, problem, files),
            "image": image_seconds(blocks, problem, files),
        }
    return Predicted(blocks, phases, efficiency, unknown)


@dataclass(frozen=True)
class Network:
    """The links between the ranks of a run, by place.

    Parameters
    ----------
    links : mapping of str to Link
        ``"node"`` and ``"across"``; what is missing is not known.
    """

    links: dict[str, Link] = field(default_factory=dict)

    @classmethod
    def of(cls, machine: Machine | None, given: Link | None = None) -> Network:
        """Return what the lab measured; `given` stands for what lies between nodes."""
        links = {where: network.link_of(machine, where) for where in ("node", "across")}
        if given is not None:
            links["across"] = given
        return cls({where: link for where, link in links.items() if link is not None})

    def between(self, ranks: int, per_node: int) -> Link | None:
        """Return the slowest link of a group of ranks that follow each other, `per_node` of them on a node."""
        return self.links.get("node" if ranks <= per_node else "across")


#: bytes per second of files that are read, checked and mapped; written and published; summed
READ, WRITE, SUM = 4e8, 3e8, 1e9


#: seconds of a published file
PUBLISH = 0.02


#: files that ledger, logs and summaries publish, or take as long as, whatever the survey
LEDGER_FILES = 8


#: seconds of the rules that are checked before a run, without those that grow with the model: 0.4 to 0.7 s on Zen 4
CHECK = 0.5


#: seconds of the pictures of an image in 2-D and in 3-D, and of the report: 1.0 to 1.5 and 1.5 to 2.2 s on Zen 4, Intel
#: (family 6, model 167), fold and hits of a time migration included; and of a page of its gathers
PICTURES, GATHER_PAGE, REPORT = {2: 1.2, 3: 1.9}, 0.8, 0.1


#: phases in which wavefields are advanced
KERNELS = ("source", "receivers")


@dataclass(frozen=True)
class Surroundings:
    """Network and files that a run uses.

    Parameters
    ----------
    network : Network
        Links between ranks; exchanges over links that are not known count as hidden under the time steps.
    files : FileRates
        Bytes per second of a rank, and of all ranks together.
    publish : float
        Seconds of a published file, whatever is in it.
    """

    network: Network = field(default_factory=Network)
    files: FileRates = field(default_factory=lambda: FileRates(READ, WRITE))
    publish: float = PUBLISH

    @classmethod
    def of(
        cls, machine: Machine | str | None, folder: Path, link: Link | None = None, limit: float = math.inf
    ) -> Self:
        """Return what was measured, and what is assumed of the rest.

        Parameters
        ----------
        machine : Machine, str or None
            With what was measured; or why there is none.
        folder : Path
            Where the run writes; need not exist.
        link : Link, optional
            Link between nodes, where it is given.
        limit : float
            Bytes per second that files take and give to all ranks together.
        """
        known = None if isinstance(machine, str) else machine
        publish, write = publishing_known(known, folder) or (PUBLISH, WRITE)
        return cls(Network.of(known, link), FileRates(READ, write, limit), publish)


HERE = Surroundings()
