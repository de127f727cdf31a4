"""Seconds of a run by phase, named as the run names them: a model from measured rates, never a result.

What takes long is in the kernels, with rates of the job's own medium and size. The rest is counted by its bytes, with
figures that hold within a factor of two on ordinary machines and matter in short runs alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from subsalt.checkpoint.choice import Choice
from subsalt.checkpoint.footprint import disk_traffic
from subsalt.imaging.conditions import condition_of
from subsalt.imaging.memory import FLOAT, receivers_on
from subsalt.imaging.setup import MigrationSetup
from subsalt.plan.grouping import Decision
from subsalt.plan.need import Needs, distinct
from subsalt.plan.rates import Parts, Rates, step_seconds
from subsalt.survey import Shot

#: bytes per second of files that are read, checked and mapped; written and published; summed
READ, WRITE, SUM = 4e8, 3e8, 1e9
#: seconds of a published file, and of a sample of a trace brought to the time step
PUBLISH, TRACE_SAMPLE = 0.02, 5e-8
#: seconds of ledger, checks and summaries whatever the survey
LEDGER = 0.15
#: of pictures, and of the report
PICTURES, REPORT = 2.0, 0.1

#: phases in which wavefields are advanced
KERNELS = ("source", "receivers")


def shot_phases(
    needs: Needs, shot: Shot, decision: Decision, rates: Rates, group: int = 0
) -> dict[str, float]:
    """Return the seconds of one shot by phase, on the slowest rank of its group.

    Parameters
    ----------
    needs : Needs
        Setup and survey.
    shot : Shot
        Which one.
    decision : Decision
        How ranks share shots, and what each shot does.
    rates : Rates
        Of a node.
    group : int
        Ranks that share the shot; the smallest group of the decision when 0.
    """
    setup, sharing = needs.setup, decision.world.ranks_per_node
    group = group or decision.group_size
    domain, parts = needs.domain(shot), rates.parts
    slabs = needs.slabs(shot, group)
    step = sharing * step_seconds(domain.grid.shape3, setup.model.grid.ndim, setup.propagation, slabs, rates)
    steps = setup.axis.nt - 1
    planes = max(s.hi - s.lo for s in slabs) / domain.grid.shape3[0]
    points = planes * math.prod(domain.grid.shape3)
    making = sharing * points / parts.setup
    traces = max(receivers_on(needs.domain(shot, (s.rank, group)), shot) for s in distinct(slabs))
    if not isinstance(setup, MigrationSetup):
        written = FLOAT * setup.record.nt * len(shot.rcv)
        return {"setup": making, "propagation": steps * step, "output": PUBLISH + written / WRITE}
    choice = decision.choice_of(shot, group)
    window = planes * needs.window(shot).size
    snapshot, product = (sharing * window / r for r in (parts.snapshot, parts.product))
    samples = len(setup.imaged_samples)
    injection = sharing * steps * traces * parts.injection
    found = {
        "trace input": FLOAT * traces * setup.record.nt / READ,
        "traces": TRACE_SAMPLE * traces * setup.axis.nt,
        "setup": making,
        "source": (samples * setup.image_step if choice is None else choice.counts.source_steps) * step
        + samples * snapshot,
        "receivers": steps * step + samples * product + injection,
    }
    if choice is not None:
        found |= _kept(choice, needs, shot, group, decision, parts, found)
    accumulators = len(condition_of(setup.imaging.condition).accumulators)
    found["partial image"] = 2 * PUBLISH + accumulators * FLOAT * window / WRITE
    return found


def _kept(
    choice: Choice,
    needs: Needs,
    shot: Shot,
    group: int,
    decision: Decision,
    parts: Parts,
    found: dict[str, float],
) -> dict[str, float]:
    """Return the seconds of snapshots and states that do not hide behind time steps."""
    how, counts = needs.checkpointing, choice.counts
    assert how is not None
    sharing, sizes = decision.world.ranks_per_node, needs.sizes(shot, group)
    written, read = disk_traffic(choice.scheme, counts, sizes)
    put, get = written * sharing / how.put, read * sharing / how.get
    copies = (counts.states_stored_memory + counts.states_loaded_memory) * sizes.state
    return {
        "snapshots": max(0.0, put - found["source"]) + max(0.0, get - found["receivers"]),
        "states": sharing * copies / parts.copy,
    }


def survey_phases(
    needs: Needs, decision: Decision, rates: Rates, files: Mapping[str, int], *, pictures: bool = False
) -> dict[str, float]:
    """Return the seconds of the whole run by phase, as rank 0 spends them.

    Parameters
    ----------
    needs, decision, rates
        As in `shot_phases`.
    files : mapping of str to int
        Bytes that the run writes, by what they are (`plan.disk`).
    pictures : bool
        Pictures are drawn.
    """
    setup, parts = needs.setup, rates.parts
    shots = [shot_phases(needs, s, decision, rates) for s in needs.shots]
    # an even share of all shots, and at least the longest
    longest = max(sum(s.values()) for s in shots)
    mean = sum(sum(s.values()) for s in shots) / len(shots)
    share = max(longest, math.ceil(len(shots) / decision.groups) * mean) / (mean * len(shots))
    total = {name: share * sum(s.get(name, 0.0) for s in shots) for name in shots[0]}
    grid = setup.model.grid
    volumes = 1 + sum(
        n in ("epsilon", "delta", "theta", "phi") for n in setup.model.as_medium(needs.medium).volumes
    )
    found = {"start": parts.start, "check": 0.1 + volumes * FLOAT * grid.size / READ, "ledger": LEDGER}
    if isinstance(setup, MigrationSetup):
        choice = decision.choice
        if choice is not None:
            # the next shots use the memory of the first
            arrays = choice.best.need.arrays
            first = sum(arrays.get(n, 0) for n in ("snapshots", "states", "shells"))
            total["setup"] += decision.world.ranks_per_node * first / parts.touch
        found["image sum"] = files.get("partial images", 0) / (SUM * decision.world.ranks)
        found["output"] = 4 * PUBLISH + files.get("image", 0) / WRITE
        found["pictures"] = PICTURES if pictures else 0.0
        found["report"] = REPORT
    return found | total
