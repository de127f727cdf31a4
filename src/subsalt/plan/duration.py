"""Seconds in the kernels, from the rates that `subsalt lab kernels` measured on a machine; a model, never a result."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from subsalt.decomp import Slab
from subsalt.imaging.setup import MigrationSetup
from subsalt.lab.machine import Machine
from subsalt.plan.grouping import Decision
from subsalt.plan.need import Needs
from subsalt.survey import Shot

#: how to get a rate
HOW = "subsalt lab kernels"


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


@dataclass(frozen=True)
class Rates:
    """Points per second of a node, inside the absorbing layer and elsewhere."""

    core: float
    layer: float
    threads: int
    n: int
    noisy: bool


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
    found = _rates(needs, decision, machine) if machine is not None else why_not
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
    nx, ny, nz = needs.domain(shot).grid.shape3
    width = needs.setup.propagation.layer_cells
    tops = 1 if needs.setup.propagation.free_surface else 2
    across = ny - 2 * width if needs.setup.model.grid.ndim == 3 else ny
    row = max(0, across) * max(0, nz - tops * width)

    def seconds(slab: Slab) -> float:
        first, last = slab.clip(width, nx - width)
        inside = (last - first) * row
        return inside / rates.core + ((slab.hi - slab.lo) * ny * nz - inside) / rates.layer

    return _steps(needs) * max(map(seconds, needs.slabs(shot, decision.group_size)))


def _rates(needs: Needs, decision: Decision, machine: Machine) -> Rates | str:
    """Return the rates of a node, or why there are none."""
    setup, world = needs.setup, decision.world
    if setup.model.grid.ndim == 2:
        return f"no time: {HOW} measures kernels in 3-D, this model is 2-D"
    options = setup.propagation
    case = {
        "medium": needs.medium,
        "dim": 3,
        "order": options.order,
        "model_storage": options.model_storage,
        "loop": "segment",
    }
    what = f"{needs.medium}, order {options.order}, {options.model_storage}"
    rows = machine.find("kernels", boundary="none", **case)
    if not rows:
        return f"no time: {HOW} has not measured {what}"
    cores = int(machine.machine.get("cores") or 1)
    wanted = min(cores, world.threads * world.ranks_per_node)
    row = next((r for r in rows if r.get("threads") == wanted), None)
    if row is None:
        known = ", ".join(sorted({str(r.get("threads")) for r in rows}))
        return f"no time: {HOW} has measured {what} with {known} threads, {wanted} are planned per node"
    same = {k: row[k] for k in ("isa", "threads", "n") if k in row}
    core = float(row["points_per_s"])
    if options.boundary == "none":
        return Rates(core, core, wanted, int(row["n"]), bool(row.get("noisy")))
    layered = machine.find("kernels", boundary=options.boundary, **case, **same)
    if not layered:
        return f"no time: {HOW} has not measured {what} with boundary {options.boundary}"
    n, width = int(row["n"]), int(layered[0]["layer_cells"])
    inside = (n - 2 * width) ** 3
    spent = n**3 / float(layered[0]["points_per_s"]) - inside / core
    # a layer is never cheaper than the core; noise may say so
    layer = min(core, (n**3 - inside) / spent) if spent > 0 else core
    return Rates(core, layer, wanted, n, bool(row.get("noisy") or layered[0].get("noisy")))
