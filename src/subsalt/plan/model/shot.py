"""Seconds of one shot by phase on some nodes that share it (kernel, halo, input, image), and of a survey.

What everything rests on, for the block of the node that has most of it::

    kernel  = steps * points of the largest block / rate
    halo    = steps * wavefields * (faces * a + ghost planes * 4 bytes / B)
    init    = model arrays * 4 bytes of block and ghost planes / min(rate of a node, limit / nodes)
    traces  = 2 steps * 4 bytes of its surface with ghost planes / the same
    image   = image arrays * 4 bytes of its block / the same

A survey deals its shots to groups of nodes: rounds, what is lost behind the last ones, the sum of their images.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from subsalt.plan.model.cut import Blocks, Shape
from subsalt.plan.model.network import Link


def tail_loss(shots: int, groups: int) -> float:
    """Return the part of the groups' time that is lost behind the last shots when all shots take alike."""
    return 1.0 - shots / (groups * math.ceil(shots / groups))


def survey_seconds(shots: int, groups: int, shot: float) -> float:
    """Return the seconds of a survey whose shots take `shot` each: rounds of one shot per group."""
    return math.ceil(shots / groups) * shot


def sum_seconds(
    points: int, shots: int, workers: int, summed: float, files: Files | None, nodes: int
) -> float:
    """Return the seconds of summing the images of all shots in shot order.

    Every worker sums planes of its own over all shots, so that all partial images are read once, whatever the number
    of workers; that is no reduction over a tree, which would be faster and would depend on the number of ranks.

    Parameters
    ----------
    points : int
        Of the partial images of a shot, all accumulators together.
    shots : int
        Images.
    workers : int
        Ranks that sum.
    summed : float
        Bytes that a worker reads, checks and adds per second.
    files : Files, optional
        Limits what the nodes read together.
    nodes : int
        Of the workers.
    """
    rate = workers * summed
    if files is not None:
        rate = min(rate, nodes * files.reading(nodes))
    return FLOAT * points * shots / rate


#: bytes of a number of a wavefield, a model and an image
FLOAT = 4


@dataclass(frozen=True)
class Files:
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
class Problem:
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


def halo_seconds(blocks: Blocks, problem: Problem, link: Link) -> float:
    """Return the seconds of all exchanges, one face after the other, when nothing is computed meanwhile."""
    faces, points = blocks.exchanged(problem.ghost)
    w = problem.wavefields
    return problem.steps * link.seconds(w * FLOAT * points, w * faces)


def exposed(halo: float, core: float) -> float:
    """Return what of the seconds of an exchange no computation hides: `core` is computed while messages travel."""
    return max(0.0, halo - core)


def core_seconds(blocks: Blocks, problem: Problem, rate: float) -> float:
    """Return the seconds of the time steps of what lies more than the ghost planes away from any cut of the block."""
    inside = [
        max(0, n - min(2, c - 1) * problem.ghost) for n, c in zip(blocks.largest, blocks.counts, strict=True)
    ]
    return problem.steps * math.prod(inside) / rate


def init_seconds(blocks: Blocks, problem: Problem, files: Files) -> float:
    """Return the seconds of reading the model arrays, each node its block and the ghost planes beside it."""
    held = _held(blocks, problem.ghost)
    return problem.model_arrays * FLOAT * math.prod(held) / files.reading(blocks.number)


def trace_bytes(blocks: Blocks, problem: Problem) -> int:
    """Return the bytes of source and receiver traces that the busiest node reads: those on its surface."""
    x, y, _ = _held(blocks, problem.ghost)
    return 2 * problem.steps * FLOAT * x * y


def trace_seconds(blocks: Blocks, problem: Problem, files: Files) -> float:
    """Return the seconds of reading them."""
    surface = blocks.counts[0] * blocks.counts[1]
    return trace_bytes(blocks, problem) / files.reading(surface)


def image_seconds(blocks: Blocks, problem: Problem, files: Files) -> float:
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
        Of kernel and halo: seconds of an even share without any halo over those predicted; None without a halo.
    unknown : dict of str to str
        Why a phase is missing.
    """

    blocks: Blocks
    phases: dict[str, float]
    efficiency: float | None
    unknown: dict[str, str] = field(default_factory=dict)


def predict(
    problem: Problem,
    blocks: Blocks,
    rate: float,
    link: Link | None,
    files: Files | None = None,
    *,
    overlapped: bool = False,
) -> Predicted:
    """Return the seconds of a shot by phase.

    Parameters
    ----------
    problem : Problem
        The shot.
    blocks : Blocks
        One for each node.
    rate : float
        Points per second of a node.
    link : Link, optional
        Between neighbours.
    files : Files, optional
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
