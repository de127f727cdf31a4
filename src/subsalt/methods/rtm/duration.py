"""Seconds of reverse time migration by phase, named as the run names them: a model from measured rates, never a result.

What takes long is in the kernels, with rates of the job's own medium and size. The rest is counted by its bytes, with
figures that hold within a factor of two on ordinary machines and matter in short runs alone.

The exchange of ghost planes adds to the time steps of a shot that ranks share what no computation hides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from subsalt.acquisition.survey import Shot
from subsalt.checkpoint.choice.choose import Choice
from subsalt.checkpoint.choice.footprint import disk_traffic, link_traffic
from subsalt.kernels import cpu
from subsalt.kernels.cuda.segment import look_after
from subsalt.machine.machine_file import Machine
from subsalt.methods.rtm.arrays import FLOAT
from subsalt.methods.rtm.companion import companions, sums_per_point
from subsalt.methods.rtm.conditions import condition_of
from subsalt.methods.rtm.grouping import Grouping
from subsalt.methods.rtm.need import Needs, distinct
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.methods.rtm.speed import CONTEXT_SECONDS, rates_for
from subsalt.numerics.stencil import radius_of
from subsalt.plan.cuts import exchange_of
from subsalt.plan.gpu import LAUNCHES, PIN
from subsalt.plan.model import (
    CHECK,
    HERE,
    KERNELS,
    LEDGER_FILES,
    PICTURES,
    READ,
    REPORT,
    SUM,
    Network,
    Surroundings,
    reached,
    reached_box,
    sum_seconds,
    survey_seconds,
)
from subsalt.plan.network import HOW
from subsalt.plan.prediction import Prediction, StepSeconds, Writes
from subsalt.plan.rates import Rates, step_seconds

#: seconds of a point of a sample that is separated into down-going and up-going waves, on one thread (measured,
#: columns of 256 to 1024 points)
SEPARATING = 50e-9

#: seconds of a product of two rows of gathers over those of a product of the image, by dimension: in 2-D rows come from
#: a cache; in 3-D they lie planes apart, and most come from memory (1.9 to 2.2 with 41 half offsets on a Zen 3)
ROWS_APART = {2: 1.0, 3: 2.0}

#: shots whose phases are computed one by one; of a larger survey so many stand for all
MOST_SHOTS = 64


@dataclass(frozen=True)
class RunTimes:
    """The seconds of a run by phase.

    Parameters
    ----------
    needs : Needs
        Setup and survey.
    decision : Grouping
        How ranks share shots, and what each shot does.
    rates : Rates
        Rates of a node.
    around : Surroundings
        Network and files.
    """

    needs: Needs
    decision: Grouping
    rates: Rates
    around: Surroundings = HERE

    def of_shot(self, shot: Shot, group: int = 0) -> dict[str, float]:
        """Return the seconds of one shot by phase, on the slowest rank of its group.

        Parameters
        ----------
        shot : Shot
            Which one.
        group : int
            Ranks that share the shot; the smallest group of the decision when 0.
        """
        needs, world, parts = self.needs, self.decision.world, self.rates.parts
        setup, threads = needs.setup, self.decision.threads
        group = group or self.decision.group_size
        domain, parts_of = needs.domain(shot), needs.parts(shot, group)
        step = self._step(shot, group)
        steps = setup.axis.nt - 1
        files = self.around.files
        read, write = files.reading(world.ranks), files.writing(world.ranks)
        points = max(p.owned.size for p in parts_of)
        share = points / math.prod(domain.grid.shape3)
        making = self.decision.sharing * points / parts.setup
        if not isinstance(setup, MigrationSetup):
            written = FLOAT * setup.record.nt * len(shot.rcv)
            return {
                "setup": making,
                "propagation": steps * step + setup.trace_map.seconds(len(shot.rcv), threads),
                "output": self.around.publish + written / write,
            }
        traces = max(needs.arrays(shot, (p.rank, group)).receivers for p in distinct(parts_of))
        choice = self.decision.choice_of(shot, group)
        source_reached, receivers_reached = _reached(needs, shot, group)
        window = share * needs.window(shot).size
        snapshot, product = (self.sharing * window / r for r in (parts.snapshot, parts.product))
        samples = len(setup.imaged_samples)
        injection = self.sharing * steps * traces * parts.injection
        source_steps = _source_steps(choice, samples * setup.image_step, source_reached, needs, shot)
        seconds = {
            "trace input": FLOAT * traces * setup.record.nt / read,
            "traces": setup.trace_map.seconds(traces, threads),
            "setup": making,
            "source": source_steps * step + samples * snapshot,
            "receivers": (1 + companions(setup))
            * (receivers_reached * steps * step + samples * product + injection),
        }
        if condition_of(setup.imaging.condition).separates:
            seconds["receivers"] += self.sharing * samples * window * SEPARATING / threads
        per_point = sums_per_point(setup)
        seconds["partial image"] = self.around.publish + per_point * FLOAT * window / write
        if setup.lags is not None:
            # the same operations as those of the image
            lags = setup.lags.inside(needs.window(shot)).share(0, group)
            rate = parts.product / ROWS_APART[setup.model.grid.ndim]
            seconds["receivers"] += self.sharing * samples * (lags.products / rate + window / parts.snapshot)
            seconds["partial image"] += self.around.publish + lags.bytes / write
        if choice is not None:
            seconds |= self._storing(choice, shot, group, seconds)
        if setup.flow is not None:
            # beside the shot before, on the same cores
            seconds["trace input"] += traces * setup.flow.per_trace / threads
        return seconds

    @property
    def sharing(self) -> int:
        """Shots, or parts of them, that share what the rates are of: a node, or a GPU."""
        gpu = self.decision.world.gpu
        return self.decision.sharing if gpu is None else gpu.sharing

    def _step(self, shot: Shot, group: int) -> float:
        """Return the seconds of a time step of the slowest slab, with what of its exchange nothing hides."""
        needs, gpu = self.needs, self.decision.world.gpu
        parts = needs.parts(shot, group)
        step = (self.decision.slower if gpu is None else self.sharing) * step_seconds(parts, self.rates)
        # values above a surface: their weights are read once a step
        step += self.sharing * needs.arrays(shot).propagator.mirror[1] / self.rates.parts.copy
        if gpu is not None:
            step = max(step, LAUNCHES * gpu.launch)
        per_node = self.decision.world.ranks_per_node
        link = self.around.network.between(group, per_node) if group > 1 else None
        if link is None:
            return step
        copy = self.rates.parts.copy / self.sharing
        return step + exchange_of(*needs.seen_from_above(shot), parts[0].cut, step, link, copy).exposed

    def _storing(
        self, choice: Choice, shot: Shot, group: int, seconds: Mapping[str, float]
    ) -> dict[str, float]:
        """Return the seconds of snapshots and states that do not hide behind time steps."""
        how, counts, gpu = self.needs.checkpointing, choice.counts, self.decision.world.gpu
        assert how is not None
        on_host, sizes = self.decision.sharing, self.needs.sizes(shot, group)
        written, read = disk_traffic(choice.scheme, counts, sizes)
        put, get = written * on_host / how.put, read * on_host / how.get
        copies = counts.states_stored_memory + counts.states_loaded_memory
        states = 0.0
        if gpu is not None:
            link = link_traffic(choice.scheme, counts, sizes)
            copies -= link.host_states
            put = max(put, gpu.sharing * link.samples_down / gpu.down)
            get = max(get, gpu.sharing * link.samples_up / gpu.up)
            states = gpu.sharing * (link.states_down / gpu.down + link.states_up / gpu.up)
        return {
            "snapshots": max(0.0, put - seconds["source"]) + max(0.0, get - seconds["receivers"]),
            "states": self.sharing * copies * sizes.state / self.rates.parts.copy + states,
        }

    def _behind_another(self, shot: dict[str, float], left: int) -> dict[str, float]:
        """Return the mean seconds of such a shot among those that are left, of which all but the first are prepared
        while another is computed.
        """
        preparing = sum(shot.get(name, 0.0) for name in PREPARED)
        if not self.decision.need.ahead or preparing == 0:
            return shot
        first = min(1.0, self.decision.groups / left)
        waited = max(0.0, preparing - (sum(shot.values()) - preparing))
        part = first + (1 - first) * waited / preparing
        return shot | {name: part * shot[name] for name in PREPARED if name in shot}

    def of_survey(self, writes: Writes, shots: Sequence[Shot]) -> dict[str, float]:
        """Return the seconds of the whole run by phase, as rank 0 spends them.

        Parameters
        ----------
        writes : Writes
            Files that the run writes in addition to partial images.
        shots : sequence of Shot
            Those that are left to be done.
        """
        needs, parts, world = self.needs, self.rates.parts, self.decision.world
        setup, files, around = needs.setup, writes.files, self.around
        total = self._of_shots(shots)
        grid = setup.model.grid
        seconds = {"start": parts.start, "check": CHECK + len(needs.volumes) * FLOAT * grid.size / READ}
        seconds["ledger"] = LEDGER_FILES * around.publish
        if world.gpu is not None:
            seconds["check"] = max(CONTEXT_SECONDS, seconds["check"])
        if isinstance(setup, MigrationSetup):
            choice = self.decision.choice
            if choice is not None and shots:
                # the next shots use the memory of the first
                arrays = choice.best.need.arrays
                first = sum(arrays.get(n, 0) for n in ("snapshots", "states", "shells"))
                pinned = sum(size for name, size in arrays.items() if name.startswith("pinned"))
                total["setup"] += self.decision.sharing * (first / parts.touch + pinned / PIN)
            flow = setup.flow
            if flow is not None and flow.of_gathers and len(shots) == len(needs.shots):
                # conditions on samples: ranks share a look at all shots before the first one; a resumed run knows
                look = FLOAT * setup.record.nt / around.files.reading(world.ranks) + flow.first_look
                total["trace input"] += sum(len(s.rcv) for s in shots) * look / world.ranks
            # nobody sums less than a plane
            workers = min(world.ranks, grid.shape3[0])
            partial = files.get("partial images", 0) // FLOAT
            seconds["image sum"] = sum_seconds(partial, 1, workers, SUM, around.files, workers)
            seconds["output"] = 4 * around.publish + files.get("image", 0) / around.files.writing(1)
            seconds["pictures"] = PICTURES[grid.ndim] if writes.pictures else 0.0
            seconds["report"] = REPORT
        return seconds | total

    def _of_shots(self, left: Sequence[Shot]) -> dict[str, float]:
        """Return the seconds of the shots by phase, on a rank that takes its share of them."""
        if not left:
            return {}
        stride = -(-len(left) // MOST_SHOTS)
        ids = {s.id for s in left}
        worst = [s for s in self.needs.worst_shots if s.id in ids]
        some = list({s.id: s for s in (*left[::stride], *worst)}.values())
        shots = [self._behind_another(self.of_shot(s), len(left)) for s in some]
        longest = max(sum(s.values()) for s in shots)
        mean = sum(sum(s.values()) for s in shots) / len(shots)
        groups = min(self.decision.groups, len(left))
        # an even share of all shots, and at least the longest
        spent = max(longest, survey_seconds(len(left), groups, mean))
        return {name: spent / (mean * len(shots)) * sum(s.get(name, 0.0) for s in shots) for name in shots[0]}


#: phases that the host may do for the next shot while a GPU computes one
PREPARED = ("trace input", "traces", "setup")


def _reached(needs: Needs, shot: Shot, group: int) -> tuple[float, float]:
    """Return the part of the grid that the source wavefield and that of the receivers reach, mean over their steps.

    Slabs and what lies below topography are computed whole (`native/isa/front.hpp`, `native/cuda/reached.cu`).
    """
    setup = needs.setup
    if group > 1 or setup.propagation.topography is not None or not cpu.leaves_out():
        return 1.0, 1.0
    domain = needs.domain(shot)
    grid = setup.model.grid
    # positions in cells of the computational grid; a third number, the depth, in 2-D as well
    first = [low - p for low, p in zip(domain.window.lo, domain.pad[::2], strict=True)]
    src, rcv = (grid.to_index(points) - first for points in (shot.src[None], shot.rcv))
    cells = needs.mean_speed * setup.axis.dt / min(grid.spacing)
    steps = setup.axis.nt - 1
    shape3 = domain.grid.shape3
    weights = setup.propagation.weights
    if needs.gpu is None:
        return reached(shape3, src, cells, steps, weights), reached(shape3, rcv, cells, steps, weights)
    looks = look_after(math.prod(shape3))
    if looks == 0:
        return 1.0, 1.0
    # between two looks a box grows by all that a step may reach
    reach = radius_of(weights.order) * (2 if needs.medium == "tti" else 1)
    beyond = max(0.0, (reach - cells) * looks / 2)
    return (
        reached_box(shape3, src, cells, steps, weights, beyond),
        reached_box(shape3, rcv, cells, steps, weights, beyond),
    )


def _source_steps(choice: Choice | None, forward: int, reached: float, needs: Needs, shot: Shot) -> float:
    """Return the time steps of the source wavefield, in steps of a whole computational grid.

    Where shells are kept, the way back is computed without any layer: its steps are those of the window alone. What is
    computed again begins anywhere, and is counted whole.
    """
    if choice is None:
        return reached * forward
    steps = choice.counts.source_steps
    if choice.scheme.strategy != "boundary":
        return reached * min(forward, steps) + max(0, steps - forward)
    part = needs.window(shot).size / math.prod(needs.domain(shot).grid.shape3)
    return reached * forward + part * max(0, steps - forward)


def prediction_of(
    needs: Needs,
    decision: Grouping,
    machine: Machine | str,
    writes: Writes = Writes(),
    around: Surroundings | None = None,
    shots: Sequence[Shot] | None = None,
) -> Prediction:
    """Return the seconds of a run by phase.

    Parameters
    ----------
    needs : Needs
        Setup and survey.
    decision : Grouping
        How ranks share shots.
    machine : Machine or str
        With rates of kernels; or why there is none.
    writes : Writes
        Files that the run writes at the end.
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
    rates = rates_for(needs, decision.world, machine)
    if isinstance(rates, str):
        return Prediction(notes=[rates], steps=StepSeconds(None, None, point_steps))
    left = list(needs.shots if shots is None else shots)
    around = around or Surroundings(Network.of(None if isinstance(machine, str) else machine))
    gpu = decision.world.gpu
    share = 1.0 / (decision.slower if gpu is None else gpu.sharing)
    seconds = [_shot_seconds(needs, s, decision, rates) / share for s in left] or [0.0]
    total = max(max(seconds), math.ceil(len(seconds) / decision.groups) * sum(seconds) / len(seconds))
    sharing = decision.world.ranks_per_node
    nodes = -(-decision.world.ranks // decision.world.ranks_per_node)
    largest = needs.worst_shots[0]

    def phases(around: Surroundings) -> dict[str, float]:
        return RunTimes(needs, decision, rates, around).of_survey(writes, left)

    whole = phases(around)
    waiting, notes = _halo(decision, around, whole, phases)
    steps = StepSeconds(
        total,
        max(seconds),
        point_steps,
        RunTimes(needs, decision, rates, around).of_shot(largest),
        waiting,
    )
    return Prediction(
        whole,
        [_note(rates, sharing, nodes), *notes],
        rates.core,
        rates.date,
        steps=steps,
    )


def _halo(
    decision: Grouping,
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


def _steps(needs: Needs, decision: Grouping, shot: Shot) -> int:
    """Return the time steps of all wavefields of a shot."""
    choice = decision.choice_of(shot, decision.group_size)
    fields = 1 + companions(needs.setup) if isinstance(needs.setup, MigrationSetup) else 0
    if choice is not None:
        return choice.counts.source_steps + fields * choice.counts.receiver_steps
    return (1 + fields) * (needs.setup.axis.nt - 1)


def _shot_seconds(needs: Needs, shot: Shot, decision: Grouping, rates: Rates) -> float:
    """Return the seconds of the slowest rank of a shot if every rank had the rates of a node."""
    step = step_seconds(needs.parts(shot, decision.group_size), rates)
    step += needs.arrays(shot).propagator.mirror[1] / rates.parts.copy
    return _steps(needs, decision, shot) * step
