"""The shot of `lab checkpoint`: a VTI medium, a line of receivers, and as many checkpoints as asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, TimeAxis
from subsalt.acquisition.wavelet import ricker
from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.errors import ConfigError, MemoryPlanError
from subsalt.host import available_memory, human
from subsalt.methods.rtm.arrays import RankArrays
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.propagation.options import ImagingOptions, PropagationOptions

SPACING = 10.0
#: cells of the absorbing layer on all sides
LAYER = 12
#: cells between receivers
RECEIVERS_EVERY = 2
#: Hz
F0 = 15.0
#: bytes of the snapshots that go to the threads of the store in one piece, at most
PIECE = 64 << 20
#: bytes per point of the grid that a shot takes, its checkpoints aside: two levels of two fields, the model as it is
#: made and as it is used, sums and layer, and what padding adds
PER_POINT = 64


@dataclass(frozen=True)
class CheckpointCase:
    """The shot that is migrated.

    Parameters
    ----------
    grid : tuple of int
        Points along x, y, z, layer included.
    samples : int
        Time steps of either wavefield.
    strategy : {"store", "revolve"}
        Snapshots of the imaged field, or states that the schedule asks for.
    threads : int
        That compute.
    """

    grid: tuple[int, int, int]
    samples: int
    strategy: str
    threads: int

    def scheme(self, checkpoints: int, *, on_disk: bool) -> Scheme:
        """Return the scheme that keeps `checkpoints` of them, or as many as come next.

        Raises
        ------
        ConfigError
            When there are not so many time steps.
        """
        if not 1 <= checkpoints <= self.samples:
            raise ConfigError(
                f"{checkpoints} checkpoints of {self.samples} time steps",
                "keep 1 to as many as there are steps",
                code="E104",
            )
        if self.strategy == "revolve":
            # a state for every step to choose from; x_0 needs no slot
            slots = min(checkpoints, self.samples)
            memory, disk = (0, slots) if on_disk else (slots, 0)
            return Scheme("revolve", self.samples, 1, memory_slots=memory, disk_slots=disk)
        step = self.samples // checkpoints
        if not on_disk:
            return Scheme("store", self.samples, step)
        chunk = max(1, min(checkpoints, PIECE // self.snapshot_bytes))
        return Scheme("store", self.samples, step, snapshots_on="disk", chunk=chunk)

    def setup(self, image_step: int) -> MigrationSetup:
        """Return what the shot is migrated with, imaged every `image_step` steps."""
        options = PropagationOptions(threads=self.threads, layer=LAYER)
        dt = self.model.choose_dt(options.weights, None, 0.0)
        # the wavelet begins at time zero: as many steps as the record has samples
        record = TimeAxis(self.samples, dt)
        return MigrationSetup.build(
            self.model, ricker(F0, dt), record, options, ImagingOptions(image_step=image_step)
        )

    @cached_property
    def model(self) -> EarthModel:
        """The medium: velocity grows with depth, anisotropy is constant."""
        grid = Grid(tuple(n - 2 * LAYER for n in self.grid), (SPACING,) * 3)
        vp = np.empty(grid.shape, np.float32)
        vp[:] = np.linspace(2000.0, 3000.0, grid.shape[2], dtype=np.float32)
        epsilon, delta = (np.full(grid.shape, value, np.float32) for value in (0.2, 0.1))
        return EarthModel(grid, vp, epsilon, delta)

    @property
    def shot(self) -> Shot:
        """One source in the middle of a line of receivers."""
        nx, ny, _ = self.model.grid.shape3
        y = ny // 2 * SPACING
        x = np.arange(0, nx, RECEIVERS_EVERY) * SPACING
        src = np.array([nx // 2 * SPACING + 3.0, y + 1.0, 2 * SPACING])
        return Shot(1, src, np.stack([x, np.full_like(x, y), np.full_like(x, SPACING)], axis=1))

    def traces(self) -> NDArray[np.float32]:
        """Return a pulse on every trace, later with offset."""
        setup = self.setup(self.samples)
        t = setup.record.values().astype(np.float32)
        arrival = (0.3 * t[-1] + self.shot.offset / 2000.0).astype(np.float32)
        a = (np.float32(math.pi * F0) * (t[None] - arrival[:, None])) ** 2
        return ((1 - 2 * a) * np.exp(-a)).astype(np.float32)

    def refuse_too_large(self) -> None:
        """Refuse a grid that the memory does not hold, before anything of its size is made.

        Raises
        ------
        MemoryPlanError
            With a grid that fits.
        """
        need, have = PER_POINT * math.prod(self.grid), available_memory()
        if need > have:
            n = int((0.9 * have / PER_POINT) ** (1 / 3))
            raise MemoryPlanError(
                f"a shot on {' x '.join(map(str, self.grid))} points takes about {human(need)}, {human(have)} are free",
                f"use a smaller --grid, such as {n},{n},{n}",
                code="E787",
            )

    @property
    def snapshot_bytes(self) -> int:
        """Bytes of a snapshot of the imaged field."""
        return RankArrays.of(self.setup(self.samples), self.shot).snapshot()

    @property
    def record_bytes(self) -> int:
        """Bytes of what is put and got."""
        if self.strategy == "store":
            return self.snapshot_bytes
        return RankArrays.of(self.setup(self.samples), self.shot).propagator.state
