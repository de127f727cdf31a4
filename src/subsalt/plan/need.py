"""What one rank of a run takes, by array: the worst rank of the worst shot, for any size of a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from subsalt import decomp, physics
from subsalt.decomp import Slab
from subsalt.domain import Domain
from subsalt.grid import Box
from subsalt.imaging.conditions import condition_of
from subsalt.imaging.filters import LAPLACIAN_REACH
from subsalt.imaging.memory import (
    ALONE,
    DOUBLE,
    FLOAT,
    Part,
    domain_of,
    modelled_shot_memory,
    shot_memory,
    tilt_scratch,
)
from subsalt.imaging.setup import MigrationSetup, shot_window
from subsalt.modelling import ModellingSetup
from subsalt.stencil import radius_of
from subsalt.survey import Shot

#: resident size of the program with all it imports and has read of a small job, before the first array (measured:
#: benchmarks/plan_against_measured.py)
PROGRAM = 72_000_000

#: the libraries of tapers around sources in anisotropic media, beside that
TAPERS = 15_000_000

#: what MPI adds to it in every rank, shared memory between ranks included (MPICH 5 of the wheel)
MPI = 17_000_000

#: a trace in the survey: position of its receiver and number in the files
TRACE_ENTRY = 3 * DOUBLE + DOUBLE

Setup = MigrationSetup | ModellingSetup


@dataclass(frozen=True)
class RankNeed:
    """Memory of the rank that takes most.

    Parameters
    ----------
    arrays : dict of str to int
        Bytes by array in the stage that takes most; they sum to the peak.
    stage : str
        ``"shots"`` or ``"image"``.
    shot : int
        Id of the shot.
    slab : Slab or None
        Its planes; None when one rank does a shot alone.
    """

    arrays: dict[str, int]
    stage: str
    shot: int
    slab: Slab | None

    @property
    def total(self) -> int:
        """Bytes in all."""
        return sum(self.arrays.values())


class Needs:
    """The memory of ranks for one setup and survey, by size of their group.

    Parameters
    ----------
    setup : MigrationSetup or ModellingSetup
        What is computed.
    shots : sequence of Shot
        Of the survey.
    ranks : int
        All ranks; more than one read their planes alone, a single one holds the model.
    threads : int
        Of each rank.
    """

    def __init__(self, setup: Setup, shots: Sequence[Shot], ranks: int = 1, threads: int = 1) -> None:
        self.setup, self.shots, self.ranks, self.threads = setup, list(shots), ranks, threads
        self.medium = physics.medium_of(setup.model, setup.propagation.medium)
        self.radius = radius_of(setup.propagation.order)
        self._known: dict[int, RankNeed] = {}

    def window(self, shot: Shot) -> Box:
        """Return the window of a shot on the grid of the model."""
        setup = self.setup
        aperture = setup.imaging.aperture if isinstance(setup, MigrationSetup) else setup.aperture
        return shot_window(setup.model, shot, aperture)

    def domain(self, shot: Shot, part: Part = ALONE) -> Domain:
        """Return the computational grid of a shot, and what a rank of a group has of it."""
        return domain_of(self.setup.model, self.setup.propagation, self.window(shot), shot, part)

    @cached_property
    def planes(self) -> dict[int, int]:
        """Planes along x of the computational grid of every shot, by id."""
        return {s.id: self.domain(s).slab.nx for s in self.shots}

    @cached_property
    def worst_shots(self) -> list[Shot]:
        """The shot with the largest window and the one with the most receivers, one of each."""
        largest = max(self.shots, key=lambda s: self.window(s).size)
        busiest = max(self.shots, key=lambda s: len(s.rcv))
        return [largest] if largest is busiest else [largest, busiest]

    @cached_property
    def largest_group(self) -> int:
        """Ranks that can share every shot of the survey: the narrowest one rules."""
        options = self.setup.propagation
        width = options.layer_cells if options.boundary == "pml" else 0
        return decomp.largest_group(min(self.planes.values()), self.medium, self.radius, (width, width))

    def slabs(self, shot: Shot, group: int) -> list[Slab]:
        """Return how `group` ranks cut a shot."""
        return list(self.domain(shot, (0, group)).slabs)

    def of(self, group: int) -> RankNeed:
        """Return the memory of the rank that takes most when `group` ranks share a shot."""
        if group not in self._known:
            self._known[group] = max(self._stages(group), key=lambda need: need.total)
        return self._known[group]

    def _stages(self, group: int) -> list[RankNeed]:
        found = []
        for shot in self.worst_shots:
            for slab in distinct(self.slabs(shot, group)):
                arrays = self.held() | self._shot(shot, (slab.rank, group))
                found.append(RankNeed(arrays, "shots", shot.id, slab if group > 1 else None))
        if isinstance(self.setup, MigrationSetup):
            found.append(RankNeed(self.held() | self._image(self.setup), "image", self.shots[0].id, None))
        return found

    def held(self) -> dict[str, int]:
        """Return what a rank holds whatever it does, also before its first shot."""
        grid = self.setup.model.grid
        traces = sum(len(s.rcv) for s in self.shots)
        tapered = self.medium != "isotropic" and self.setup.propagation.source_taper
        held = {"program": PROGRAM + (TAPERS if tapered else 0), "survey": traces * TRACE_ENTRY}
        if self.ranks > 1:
            held["MPI"] = MPI
        else:
            names = self.setup.model.as_medium(self.medium).volumes
            # angles stand in degrees, as they were read and checked, beside those in radians
            count = len(names) + sum(name in ("theta", "phi") for name in names)
            held["model volumes"] = FLOAT * grid.size * count
        return held

    def _shot(self, shot: Shot, part: Part) -> dict[str, int]:
        setup = self.setup
        if isinstance(setup, MigrationSetup):
            need = shot_memory(setup, shot, several=len(self.shots) > 1, image=False, part=part)
        else:
            need = modelled_shot_memory(
                setup.model,
                setup.propagation,
                self.window(shot),
                shot,
                (setup.record.nt, setup.axis.nt),
                part,
            )
        if self.medium == "tti":
            need["fluxes of the threads"] = self.threads * tilt_scratch(self.domain(shot, part).layout)
        return need

    def _image(self, setup: MigrationSetup) -> dict[str, int]:
        """Return what summing and finishing the image takes, each rank a share of its planes."""
        nx, ny, nz = setup.model.grid.shape3
        condition = condition_of(setup.imaging.condition)
        reach = condition.reach + (LAPLACIAN_REACH if setup.imaging.filter == "laplacian" else 0)
        points = min(nx, -(-nx // self.ranks) + 2 * reach) * ny * nz
        parts = len(condition.accumulators)
        sums = 1 if setup.imaging.illumination == "shot" else parts
        return {
            "image": sums * DOUBLE * points,
            # a shot's planes, once as read; or what finishing holds beside the sums
            "working space": max(2 * parts * FLOAT, 3 * DOUBLE + FLOAT) * points,
            "geometry of the image": nx * ny * 3 * DOUBLE,
        }


def distinct(slabs: Sequence[Slab]) -> list[Slab]:
    """Return the slabs of which one may be the largest: the ends with the layer, their neighbours, the thickest.

    Those between are alike, but for receivers; of groups of eight and fewer all are returned.
    """
    if len(slabs) <= 8:
        return list(slabs)
    thickest = max(slabs, key=lambda s: s.planes)
    middle = slabs[len(slabs) // 2]
    return list(dict.fromkeys([*slabs[:3], *slabs[-3:], middle, thickest]))
