"""Memory that one rank of a run needs, by array: the worst rank of the worst shot, for any size of a group."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from subsalt import physics
from subsalt.acquisition.survey import Shot, Survey
from subsalt.checkpoint.choice.choose import Choice, choose
from subsalt.checkpoint.choice.footprint import Sizes
from subsalt.earth.grid import Box
from subsalt.earth.streamed import StreamedModel
from subsalt.kernels.sizes import DOUBLE
from subsalt.methods.rtm.arrays import ALONE, FLOAT, Part, RankArrays, Setup
from subsalt.methods.rtm.conditions import condition_of
from subsalt.methods.rtm.image_memory import summing_bytes
from subsalt.methods.rtm.image_sum import ILLUMINATION, gathers_bytes
from subsalt.methods.rtm.memory import (
    modelled_shot_memory,
    prepared_memory,
    shot_memory,
    sizes_of,
)
from subsalt.methods.rtm.node_inputs import NodeInputs
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.numerics.stencil import radius_of
from subsalt.parallel import decomp
from subsalt.parallel.decomp import Slab
from subsalt.plan.gpu import PIN, PlannedGpu
from subsalt.plan.world import MPI, PROGRAM
from subsalt.propagation.blocks import GridFootprint, slabs_alone
from subsalt.propagation.domain import Domain

#: the libraries of tapers around sources in anisotropic media, beside that
TAPERS = 15_000_000


#: bytes that the driver of a GPU maps in every process (assumed)
CUDA = 300_000_000

#: a trace in the survey: position of its receiver and number in the files
TRACE_ENTRY = 4 * DOUBLE

#: a trace of the files while their headers become a survey (measured, 10^6 and 10^7 traces: 554 and 549)
READING = 560


def headers_of(survey: Survey) -> int:
    """Return how many traces the files of a survey have; 0 when it was not read from files."""
    count = survey.notes.get("traces_in_files", 0)
    return count if isinstance(count, int) else 0


@dataclass(frozen=True)
class RankNeed:
    """Memory of the rank that takes most.

    Parameters
    ----------
    arrays : dict of str to int
        Bytes by array in the stage that takes most; they sum to the peak.
    stage : str
        ``"headers"``, ``"shots"``, ``"image"`` or ``"pictures"``.
    shot : int
        Id of the shot.
    part : Domain or None
        Part of the shot on that rank; None when one rank processes a shot alone.
    choice : Choice or None
        How the largest shot recovers its source wavefield; None where nothing is imaged, or all snapshots are kept.
    device : dict of str to int
        Bytes by array in the memory of a GPU, of the rank that takes most there.
    ahead : bool
        There is room to prepare the next shot while one is computed.
    """

    arrays: dict[str, int]
    stage: str
    shot: int
    part: Domain | None
    choice: Choice | None = None
    device: dict[str, int] = field(default_factory=dict)
    ahead: bool = False

    @property
    def total(self) -> int:
        """Bytes in all, of the host."""
        return sum(self.arrays.values())

    @property
    def pinned(self) -> int:
        """Bytes of the host that are locked in memory, which a GPU reads and writes by itself."""
        return sum(size for name, size in self.arrays.items() if name.startswith("pinned"))

    @property
    def on_device(self) -> int:
        """Bytes of the memory of a GPU in all."""
        return sum(self.device.values())


@dataclass(eq=False)
class Needs:
    """The memory of ranks for one setup and survey, by size of their group.

    Parameters
    ----------
    setup : MigrationSetup or ModellingSetup
        Setup of the computation.
    shots : sequence of Shot
        Shots of the survey.
    ranks : int
        All ranks; more than one read their planes alone, a single one holds the model.
    threads : int
        Threads of each rank.
    checkpointing : NodeInputs, optional
        Inputs to the choice of a strategy; when None, all snapshots are in memory.
    streamed : bool
        One rank alone reads the planes of the model that it needs, too.
    gpu : PlannedGpu, optional
        Where wavefields are computed; None: on the processor.
    pictures : bool
        Those of the image are drawn at last.
    headers : int
        Traces whose headers are read at first, those of shots that are not selected included.
    program : int
        Bytes of a rank before its first array.
    at_once : int
        Shots that a process alone computes side by side, each by its share of the threads.
    """

    setup: Setup
    shots: Sequence[Shot]
    ranks: int = 1
    threads: int = 1
    checkpointing: NodeInputs | None = None
    streamed: bool = field(default=False, kw_only=True)
    gpu: PlannedGpu | None = field(default=None, kw_only=True)
    pictures: bool = field(default=False, kw_only=True)
    headers: int = field(default=0, kw_only=True)
    program: int = field(default=PROGRAM, kw_only=True)
    at_once: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.setup, MigrationSetup):
            self.checkpointing = None
        if self.gpu is not None:
            self.setup = on_slabs(self.setup)
        self.medium = physics.medium_of(self.setup.model, self.setup.propagation.medium)
        self.radius = radius_of(self.setup.propagation.order)
        self._known: dict[tuple[int, int | None], RankNeed] = {}
        self._sizes: dict[tuple, Sizes] = {}
        self._device_budgets: dict[int, int] = {}

    def window(self, shot: Shot) -> Box:
        """Return the window of a shot on the grid of the model."""
        return self.setup.window(shot)

    def arrays(self, shot: Shot, part: Part = ALONE) -> RankArrays:
        """Return what a rank of a group has of a shot, by array."""
        return RankArrays.of(self.setup, shot, part)

    def domain(self, shot: Shot, part: Part = ALONE) -> Domain:
        """Return the computational grid of a shot, and what a rank of a group has of it."""
        return self.arrays(shot, part).domain

    @cached_property
    def extents(self) -> dict[int, tuple[int, int]]:
        """Planes along x and rows along y of the computational grid of every shot, by id."""
        return {s.id: self.domain(s).grid.shape3[:2] for s in self.shots}

    def seen_from_above(self, shot: Shot) -> tuple[GridFootprint, int]:
        """Return the computational grid of a shot, and its points along z."""
        domain = self.domain(shot)
        return domain.plane, domain.grid.shape3[2]

    @cached_property
    def worst_shots(self) -> list[Shot]:
        """The shot with the largest window and the one with the most receivers, one of each."""
        largest = max(self.shots, key=lambda s: self.window(s).size)
        busiest = max(self.shots, key=lambda s: len(s.rcv))
        return [largest] if largest is busiest else [largest, busiest]

    @property
    def points(self) -> int:
        """Points of the largest window."""
        return self.window(self.worst_shots[0]).size

    @cached_property
    def step_bytes(self) -> int:
        """Bytes that a time step of the largest shot moves: levels of the wavefield, and its model."""
        held = self.arrays(self.worst_shots[0]).propagator
        return held.wavefields + held.model_arrays

    @cached_property
    def least_point_steps(self) -> int:
        """Points times time steps of a wavefield of the smallest shot."""
        return (self.setup.axis.nt - 1) * min(self.domain(s).grid.size for s in self.shots)

    @cached_property
    def volumes(self) -> tuple[str, ...]:
        """Parameters of the model that are used. Collective at first when ranks read the model together."""
        return tuple(self.setup.model.as_medium(self.medium).volumes)

    @cached_property
    def mean_speed(self) -> float:
        """The mean of the slowest vp and the fastest wave, m/s. Collective as `volumes`."""
        return 0.5 * (self.setup.model.vp_min + self.setup.model.fastest)

    @cached_property
    def largest_group(self) -> int:
        """Ranks that can share every shot of the survey: the narrowest one rules, or as many as there are blocks."""
        options = self.setup.propagation
        if not isinstance(options.decomp, str):
            return options.decomp[0] * options.decomp[1]
        width = options.layer_cells if options.boundary == "pml" else 0
        return decomp.largest_group(
            min(nx for nx, _ in self.extents.values()), self.medium, self.radius, (width, width)
        )

    def parts(self, shot: Shot, group: int) -> list[Domain]:
        """Return what each of `group` ranks has of a shot."""
        return self.domain(shot, (0, group)).everybody()

    def changed(self, setup: Setup, ranks: int | None = None) -> Needs:
        """Return the needs of the same survey with another setup, or of more ranks."""
        return replace(self, setup=setup, ranks=ranks or self.ranks)

    def choosing(self, checkpointing: NodeInputs) -> Needs:
        """Return the needs of the same survey with other strategies to choose from."""
        return replace(self, checkpointing=checkpointing)

    def on(self, gpu: PlannedGpu | None) -> Needs:
        """Return the needs of the same survey on a GPU, or without."""
        return self if gpu == self.gpu else replace(self, gpu=gpu)

    def side_by_side(self, at_once: int) -> Needs:
        """Return the needs of the same survey with so many shots at once in a process alone."""
        return replace(self, at_once=at_once)

    def without_pictures(self) -> Needs:
        """Return the needs of the same survey when nothing is drawn."""
        return replace(self, pictures=False)

    def for_group(self, group: int, limit: int | None = None) -> RankNeed:
        """Return the memory of the rank that takes most when `group` ranks share a shot.

        Parameters
        ----------
        group : int
            Ranks per shot.
        limit : int, optional
            Bytes that a rank has: strategies are chosen that fit into them. No limit when None.
        """
        if (group, limit) not in self._known:
            stages = self._stages(group, limit)
            most = max(stages, key=lambda need: need.total)
            # the rank that takes most of its GPU need not be the one that takes most of its host
            most_there = max(stages, key=lambda n: n.on_device).device
            ahead = any(n.ahead for n in stages)
            self._known[group, limit] = replace(most, device=most_there, ahead=ahead)
        return self._known[group, limit]

    def fits(self, group: int, limit: int) -> bool:
        """Return whether every rank has the memory, and its snapshots and states the room they are given."""
        need = self.for_group(group, limit)
        return need.total <= limit and self.fits_device(need) and (need.choice is None or need.choice.fits)

    def fits_device(self, need: RankNeed) -> bool:
        """Return whether the GPU has the memory, where there is one."""
        return self.gpu is None or need.on_device <= self.gpu.limit

    def _stages(self, group: int, limit: int | None) -> list[RankNeed]:
        needs = []
        budget = self.budget(group, limit)
        settled = self.checkpointing
        for shot in self.worst_shots:
            choice = self.choice(shot, group, budget, settled) if settled is not None else None
            if settled is not None and choice is not None:
                settled = settled.settled(choice)
            stored = None if choice is None else choice.best.need
            for here in distinct(self.parts(shot, group)):
                part = here.rank, group
                arrays = self._in_hand(shot, part, None if stored is None else stored.arrays)
                device = self._device(shot, part) | (stored.on_device if stored is not None else {})
                needs.append(RankNeed(arrays, "shots", shot.id, here if group > 1 else None, choice, device))
        needs = self._with_next(needs, group, limit)
        if isinstance(self.setup, MigrationSetup):
            after = [("image", summing_bytes(self.setup, self.ranks) | gathers_bytes(self.setup, self.ranks))]
            if self.pictures:
                after.append(("pictures", self._pictures(self.setup)))
            for stage, arrays in after:
                needs.append(RankNeed(self.held() | arrays, stage, self.shots[0].id, None, needs[0].choice))
        if self.headers:
            before = {"program": self.program, "headers of all traces": READING * self.headers}
            needs.append(RankNeed(before, "headers", self.shots[0].id, None, needs[0].choice))
        return needs

    def _with_next(self, needs: list[RankNeed], group: int, limit: int | None) -> list[RankNeed]:
        """Return the needs of shots on a GPU with the next one prepared beside them, where `limit` has room for it."""
        setup = self.setup
        alone = self.gpu is None or group > 1 or len(self.shots) == 1
        if alone or limit is None or not isinstance(setup, MigrationSetup):
            return needs
        more = max(prepared_memory(setup, self.arrays(s)) for s in self.worst_shots)
        # the working space is for preparing too: of the first shot alone, before another is prepared
        beside = [
            need.arrays | {"next shot": max(0, more - need.arrays.get("working space", 0))} for need in needs
        ]
        if max(sum(arrays.values()) for arrays in beside) > limit:
            return needs
        return [replace(n, arrays=arrays, ahead=True) for n, arrays in zip(needs, beside, strict=True)]

    def budget(self, group: int, limit: int | None) -> int:
        """Return the bytes that snapshots and states of a shot may take on every rank of a group."""
        if limit is None:
            return 1 << 62
        bare = [
            sum(self._in_hand(shot, (part.rank, group), {}).values())
            for shot in self.worst_shots
            for part in distinct(self.parts(shot, group))
        ]
        return (limit - max(bare)) // self.at_once

    def device_budget(self, group: int) -> int:
        """Return the bytes of its GPU that snapshots and states may take on every rank of a group."""
        if self.gpu is None:
            return 0
        if group not in self._device_budgets:
            bare = [
                sum(self._device(shot, (part.rank, group)).values())
                for shot in self.worst_shots
                for part in distinct(self.parts(shot, group))
            ]
            self._device_budgets[group] = self.gpu.limit - max(bare)
        return self._device_budgets[group]

    def sizes(self, shot: Shot, group: int, rank: int | None = None) -> Sizes:
        """Return a shot as a schedule sees it, with the bytes of one rank, or of the rank that has most of it."""
        setup = self.setup
        assert isinstance(setup, MigrationSetup)
        domain = self.domain(shot, (0, group))
        # shots whose windows are alike share an answer; receivers have no part in it
        halved = self.checkpointing is not None and self.checkpointing.options.halved
        key = domain.grid.shape3, domain.pad, self.window(shot).shape, group, rank
        if key not in self._sizes:
            ranks = [part.rank for part in distinct(self.parts(shot, group))] if rank is None else [rank]
            parts = [self.arrays(shot, (r, group)) for r in ranks]
            self._sizes[key] = sizes_of(setup, parts, on_device=self.gpu is not None, halved=halved)
        return self._sizes[key]

    def choice(self, shot: Shot, group: int, budget: int, how: NodeInputs | None = None) -> Choice:
        """Return what a shot does within a budget; the same on every rank that asks.

        Parameters
        ----------
        shot : Shot
            Its window and the parts of its group rule.
        group : int
            Ranks that share it.
        budget : int
            Bytes of memory on every rank.
        how : NodeInputs, optional
            That of this object when None.
        """
        how = how or self.checkpointing
        assert how is not None
        how = how.among(self.at_once)
        # locked memory is made once, and used by all shots
        pin = math.inf if self.gpu is None else PIN * len(self.shots)
        inputs = how.for_shot(self.parts(shot, group), budget, self.device_budget(group), pin)
        return choose(self.sizes(shot, group), inputs)

    def held(self) -> dict[str, int]:
        """Return what a rank holds whatever it does, also before its first shot."""
        grid = self.setup.model.grid
        traces = sum(len(s.rcv) for s in self.shots)
        tapered = self.medium != "isotropic" and self.setup.propagation.source_taper
        held = {"program": self.program + (TAPERS if tapered else 0), "survey": traces * TRACE_ENTRY}
        if self.gpu is not None:
            held["CUDA"] = CUDA
        if self.ranks > 1:
            held["MPI"] = MPI
        elif not self.streamed:
            names = self.setup.model.as_medium(self.medium).volumes
            # angles stand in degrees, as they were read and checked, beside those in radians
            count = len(names) + sum(name in ("theta", "phi") for name in names)
            held["model volumes"] = FLOAT * grid.size * count
            if isinstance(self.setup, MigrationSetup) and self.setup.carries:
                held["model as given"] = FLOAT * self.setup.image_grid.size * count
        elif isinstance(self.setup.model, StreamedModel) and (size := self.setup.model.cached_bytes):
            held["model volumes"] = size
        return held

    def _in_hand(self, shot: Shot, part: Part, snapshot_arrays: Mapping[str, int] | None) -> dict[str, int]:
        """Return what a rank holds while it computes as many shots as this one as it does side by side."""
        need = self._shot(shot, part, snapshot_arrays)
        return self.held() | {name: self.at_once * size for name, size in need.items()}

    def _shot(
        self, shot: Shot, part: Part, snapshot_arrays: Mapping[str, int] | None = None
    ) -> dict[str, int]:
        setup, arrays, there = self.setup, self.arrays(shot, part), self.gpu is not None
        if isinstance(setup, MigrationSetup):
            several = len(self.shots) > 1
            need = shot_memory(
                setup, arrays, several=several, image=False, snapshot_arrays=snapshot_arrays, on_device=there
            )
        else:
            need = modelled_shot_memory(arrays, setup.record.nt, setup.axis.nt, on_device=there)
        if self.gpu is None:
            rings = max(1, self.threads // self.at_once) * arrays.propagator.tilt_scratch
            return need | ({"fluxes of the threads": rings} if rings else {})
        if part[1] > 1:
            need["pinned ghost planes"] = self._ghosts(shot, part)
        return {name: size for name, size in need.items() if size}

    def _ghosts(self, shot: Shot, part: Part) -> int:
        """Return the bytes of ghost planes of both time levels, sent and received, on their way through the host.

        None are needed where MPI reaches the memory of GPUs; which it does is known once ranks run.
        """
        domain = self.domain(shot, part)
        slab, (_, rows, row) = domain.slab, domain.layout.padded_shape
        travel = 2 if self.medium == "tti" else 1
        return 2 * travel * 2 * (slab.ghost_lo + slab.ghost_hi) * rows * row * FLOAT

    def _device(self, shot: Shot, part: Part) -> dict[str, int]:
        """Return what a shot takes of the memory of a GPU beside snapshots and states; nothing without one."""
        if self.gpu is None:
            return {}
        setup = self.setup
        sums = condition_of(setup.imaging.condition).per_point() if isinstance(setup, MigrationSetup) else 0
        need = self.arrays(shot, part).on_gpu(setup.axis.nt, sums)
        return ({"driver (assumed)": self.gpu.context} if self.gpu.context else {}) | need

    def _pictures(self, setup: MigrationSetup) -> dict[str, int]:
        """Return what drawing takes of the rank that draws: the image with its illumination, and what a picture needs.

        Alone it has all planes; beside others a share of them, and the rest as a file that it looks at.
        """
        grid = setup.image_grid
        # all that draws: runs without pictures do not load it
        from subsalt.view.pages import picture_bytes

        nx = grid.shape3[0]
        share = FLOAT * grid.size * -(-nx // self.ranks) // nx
        light = ILLUMINATION in condition_of(setup.imaging.condition).accumulators
        whole = FLOAT * grid.size if self.ranks > 1 else 0
        return {"image": (1 + light) * share + whole, "pictures": picture_bytes(grid)}


def on_slabs(setup: Setup) -> Setup:
    """Return the setup of a survey whose ranks cut grids along x alone."""
    options = setup.propagation
    return replace(setup, propagation=replace(options, decomp=slabs_alone(options.decomp)))


def distinct(parts: Sequence[Domain]) -> list[Domain]:
    """Return the parts of which one may be the largest: the ends with the layer, their neighbours, the thickest.

    Those between are alike, except for receivers; of groups of eight and fewer all are returned.
    """
    if len(parts) <= 8:
        return list(parts)
    chosen = [_distinct(slabs) for slabs in parts[0].cut]
    return [p for p in parts if p.slab in chosen[0] and p.across in chosen[1]]


def _distinct(slabs: Sequence[Slab]) -> set[Slab]:
    """Return the slabs of an axis that need not be alike."""
    thickest = max(slabs, key=lambda s: s.planes)
    return {*slabs[:3], *slabs[-3:], slabs[len(slabs) // 2], thickest}
