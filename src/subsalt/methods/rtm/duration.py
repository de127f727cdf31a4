"""Seconds of reverse time migration, from the rates measured on a machine; a model, never a result."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from subsalt.acquisition.survey import Shot
from subsalt.machine.machine_file import Machine
from subsalt.methods.rtm.grouping import Decision
from subsalt.methods.rtm.need import Needs
from subsalt.methods.rtm.phases import shot_phases, survey_phases
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.methods.rtm.speed import rates_for
from subsalt.plan.duration import Duration
from subsalt.plan.model.network import HOW
from subsalt.plan.rates import Rates, step_seconds
from subsalt.plan.surroundings import KERNELS, Network, Surroundings


def duration_of(
    needs: Needs,
    decision: Decision,
    machine: Machine | None,
    why_not: str = "",
    files: Mapping[str, int] | None = None,
    *,
    pictures: bool = False,
    around: Surroundings | None = None,
    shots: Sequence[Shot] | None = None,
) -> Duration:
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
    files : mapping of str to int, optional
        Bytes that the run writes, by what they are.
    pictures : bool
        Pictures are drawn.
    around : Surroundings, optional
        Network and files; the network as the machine was measured when None.
    shots : sequence of Shot, optional
        Those that are left to be done; all when None.

    Notes
    -----
    A rank has the rate of its node over the ranks of the node. A shot takes as long as its slowest slab; shots are
    dealt to groups as they come free, so the survey takes as long as an even share of all, and at least its last shot.
    """
    done = {s.id: _steps(needs, decision, s) for s in needs.shots}
    point_steps = sum(done[s.id] * math.prod(needs.domain(s).grid.shape3) for s in needs.shots)
    needs = needs.on(decision.world.gpu)
    found = rates_for(needs, decision.world, machine, why_not)
    if isinstance(found, str):
        return Duration(None, None, point_steps, [found])
    left = list(needs.shots if shots is None else shots)
    around = around or Surroundings(Network.of(machine))
    gpu = decision.world.gpu
    share = 1.0 / (decision.world.ranks_per_node if gpu is None else gpu.sharing)
    seconds = [_shot_seconds(needs, s, decision, found) / share for s in left] or [0.0]
    total = max(max(seconds), math.ceil(len(seconds) / decision.groups) * sum(seconds) / len(seconds))
    sharing = decision.world.ranks_per_node
    nodes = -(-decision.world.ranks // decision.world.ranks_per_node)
    largest = needs.worst_shots[0]

    def phases(around: Surroundings) -> dict[str, float]:
        return survey_phases(
            needs, decision, found, files or {}, pictures=pictures, around=around, shots=left
        )

    whole = phases(around)
    waiting, notes = _halo(decision, around, whole, phases)
    return Duration(
        total,
        max(seconds),
        point_steps,
        [_note(found, sharing, nodes), *notes],
        shot_phases(needs, largest, decision, found, around=around),
        whole,
        waiting,
        found.core,
        found.date,
    )


def _halo(
    decision: Decision,
    around: Surroundings,
    whole: Mapping[str, float],
    phases: Callable[[Surroundings], Mapping[str, float]],
) -> tuple[float | None, list[str]]:
    """Return the seconds that time steps wait for ghost planes, and what must be said of them."""
    group = decision.group_size
    if group == 1:
        return 0.0, []
    per_node = decision.world.ranks_per_node
    link = around.network.between(group, per_node)
    if link is None:
        where = "" if group <= per_node else " over two nodes, or give --network"
        return None, [f"halo: not known, counted as hidden under time steps: measure with {HOW}{where}"]
    bare = phases(replace(around, network=Network()))
    names = (*KERNELS, "propagation")
    waiting = sum(whole.get(n, 0.0) - bare.get(n, 0.0) for n in names)
    return waiting, [f"halo: what no time step hides; {link.text()}"]


def _note(rates: Rates, sharing: int, nodes: int) -> str:
    """Return what the figures rest on."""
    if rates.source:
        return rates.source + (f"; {nodes} nodes are alike" if nodes > 1 else "")
    if rates.core == rates.layer:
        what = f"model: {rates.core / 1e6:.0f} M point-steps/s, measured with {_threads(rates)}"
    else:
        what = (
            f"model: {rates.core / 1e6:.0f} M point-steps/s outside the layer and {rates.layer / 1e6:.0f} M inside, "
            f"measured with {_threads(rates)} at {rates.n}^3"
        )
    return (
        what
        + (f" on {rates.date[:10]}" if rates.date else "")
        + (f" by version {rates.version}" if rates.version else "")
        + (", marked noisy" if rates.noisy else "")
        + (f"; {sharing} ranks of a node share it" if sharing > 1 else "; a rank has a node for itself")
        + (f", {nodes} nodes are alike" if nodes > 1 else "")
    )


def _threads(rates: Rates) -> str:
    return f"{rates.threads} thread{'s' * (rates.threads != 1)}"


def _steps(needs: Needs, decision: Decision, shot: Shot) -> int:
    """Return the time steps of all wavefields of a shot."""
    choice = decision.choice_of(shot, decision.group_size)
    if choice is not None:
        return choice.counts.source_steps + choice.counts.receiver_steps
    return (2 if isinstance(needs.setup, MigrationSetup) else 1) * (needs.setup.axis.nt - 1)


def _shot_seconds(needs: Needs, shot: Shot, decision: Decision, rates: Rates) -> float:
    """Return the seconds of the slowest rank of a shot if every rank had the rates of a node."""
    setup = needs.setup
    slabs = needs.slabs(shot, decision.group_size)
    shape3 = needs.domain(shot).grid.shape3
    step = step_seconds(shape3, setup.model.grid.ndim, setup.propagation, slabs, rates)
    return _steps(needs, decision, shot) * step
