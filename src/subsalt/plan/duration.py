"""Seconds in the kernels, from the rates that `subsalt lab kernels` measured on a machine; a model, never a result."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from subsalt.imaging.setup import MigrationSetup
from subsalt.lab.machine import Machine
from subsalt.plan.grouping import Decision
from subsalt.plan.need import Needs
from subsalt.plan.rates import Rates, kernel_rates, step_seconds
from subsalt.survey import Shot


@dataclass(frozen=True)
class Duration:
    """What the kernels of a survey take.

    Parameters
    ----------
    seconds : float or None
        Of the whole survey; None when no rate is known.
    shot_seconds : float or None
        Of the largest shot.
    point_steps : int
        Grid points times time steps of all wavefields.
    notes : list of str
        What is assumed, or why there is no figure.
    """

    seconds: float | None
    shot_seconds: float | None
    point_steps: int
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "kind": "model",
            "kernel_seconds": self.seconds,
            "largest_shot_seconds": self.shot_seconds,
            "point_steps": self.point_steps,
            "notes": self.notes,
        }


def duration_of(needs: Needs, decision: Decision, machine: Machine | None, why_not: str = "") -> Duration:
    """Return the seconds that the kernels take over the survey.

    Parameters
    ----------
    needs : Needs
        Setup and survey.
    decision : Decision
        How ranks share shots.
    machine : Machine, optional
        With rates of kernels.
    why_not : str
        Why there is no machine.

    Notes
    -----
    A rank has the rate of its node over the ranks of the node. A shot takes as long as its slowest slab; shots are
    dealt to groups as they come free, so the survey takes as long as an even share of all, and at least its last shot.
    """
    point_steps = sum(_steps(needs) * math.prod(needs.domain(s).grid.shape3) for s in needs.shots)
    found: Rates | str = why_not
    if machine is not None:
        setup, world = needs.setup, decision.world
        threads = world.threads * world.ranks_per_node
        found = kernel_rates(needs.medium, setup.model.grid.ndim, setup.propagation, machine, threads)
    if isinstance(found, str):
        return Duration(None, None, point_steps, [found])
    share = 1.0 / decision.world.ranks_per_node
    seconds = [_shot_seconds(needs, s, decision, found) / share for s in needs.shots]
    total = max(max(seconds), math.ceil(len(seconds) / decision.groups) * sum(seconds) / len(seconds))
    sharing = decision.world.ranks_per_node
    nodes = -(-decision.world.ranks // decision.world.ranks_per_node)
    notes = [
        f"model: {found.core / 1e6:.0f} M point-steps/s outside the layer and {found.layer / 1e6:.0f} M inside, "
        f"measured with {found.threads} threads at {found.n}^3"
        + (", marked noisy" if found.noisy else "")
        + (f"; {sharing} ranks of a node share it" if sharing > 1 else "; a rank has a node for itself")
        + (f", {nodes} nodes are alike" if nodes > 1 else ""),
        "not counted: reading, mapping of traces, imaging, exchange of halos, writing",
    ]
    return Duration(total, max(seconds), point_steps, notes)


def _steps(needs: Needs) -> int:
    """Return the time steps of all wavefields of a shot."""
    wavefields = 2 if isinstance(needs.setup, MigrationSetup) else 1
    return wavefields * (needs.setup.axis.nt - 1)


def _shot_seconds(needs: Needs, shot: Shot, decision: Decision, rates: Rates) -> float:
    """Return the seconds of the slowest rank of a shot if every rank had the rates of a node."""
    setup = needs.setup
    slabs = needs.slabs(shot, decision.group_size)
    shape3 = needs.domain(shot).grid.shape3
    return _steps(needs) * step_seconds(shape3, setup.model.grid.ndim, setup.propagation, slabs, rates)
