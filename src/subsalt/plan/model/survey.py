"""Shots dealt to groups of nodes: rounds, what is lost behind the last ones, the sum of their images."""

from __future__ import annotations

import math

from subsalt.plan.model.shot import FLOAT, Files


def groups_of(nodes: int, per_shot: int, shots: int) -> int:
    """Return the groups of `per_shot` nodes that work at the same time: no more than shots."""
    return max(1, min(shots, nodes // per_shot))


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
