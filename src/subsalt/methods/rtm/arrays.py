"""The arrays that one rank has of a shot, with their bytes: what the classes that allocate them say of the shot's grid.

Everything that plans memory, disk or traffic asks here; the tests hold these bytes against the arrays themselves. What
of them lives at the same time is in `subsalt.methods.rtm.memory`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from subsalt import physics
from subsalt.acquisition.survey import Shot
from subsalt.earth.grid import Box
from subsalt.earth.model_like import ModelLike
from subsalt.kernels.sizes import FLOAT as FLOAT
from subsalt.methods.rtm.modelling import ModellingSetup
from subsalt.methods.rtm.samples import WavefieldFormat
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.propagation.domain import Domain, shell_shape
from subsalt.propagation.memory import PropagatorMemory
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.slab_recorder import recorded_counts

Setup = MigrationSetup | ModellingSetup

#: rank and ranks of a group; one process alone
Part = tuple[int, int]
ALONE: Part = (0, 1)


@dataclass(frozen=True)
class RankArrays:
    """Arrays that one rank of a group has of a shot.

    Parameters
    ----------
    model : ModelLike
        Past the gate.
    options : PropagationOptions
        Layer, order, storage of the model, precision.
    window : Box
        The part of the model that the shot propagates in.
    shot : Shot
        Source and receivers.
    part : tuple of int
        Which rank of how many that share the shot.
    """

    model: ModelLike
    options: PropagationOptions
    window: Box
    shot: Shot
    part: Part = ALONE

    @classmethod
    def of(cls, setup: Setup, shot: Shot, part: Part = ALONE) -> RankArrays:
        """Return those of a shot in its window."""
        return cls(setup.model, setup.propagation, setup.window(shot), shot, part)

    @cached_property
    def domain(self) -> Domain:
        """The computational grid, and what of it the rank has."""
        points = np.concatenate([self.shot.src[None], self.shot.rcv])
        medium = physics.medium_of(self.model, self.options.medium)
        return Domain.of(self.model.grid, self.window, self.options, medium, points, self.part)

    @cached_property
    def propagator(self) -> PropagatorMemory:
        """Arrays of the propagator and of a state of it."""
        return PropagatorMemory(self.model, self.options, self.domain)

    @cached_property
    def _index(self) -> NDArray[np.float64]:
        """Receivers in cells of the computational grid."""
        return self.domain.grid.to_index(self.shot.rcv)

    @property
    def receivers(self) -> int:
        """Receivers whose support touches what is owned."""
        return self.domain.mine_count(self._index)

    @property
    def recorded(self) -> tuple[int, int]:
        """Receivers that the rank records for itself, and single planes of receivers that it sends and gets."""
        return recorded_counts(self._index, self.domain)

    def snapshot(self, *, halved: bool = False, fields: int = 1) -> int:
        """Return the bytes of a snapshot: the imaged field, or `fields`, in what the rank has of the window."""
        shape = self.domain.interior.shape
        if not self.domain.interior.size:
            return 0
        return (
            FLOAT * WavefieldFormat.of_fields(shape, np.dtype(self.options.dtype).type, halved, fields).words
        )

    @property
    def shell(self) -> int:
        """Bytes of the shell of all fields at one time step, for the boundary strategy; 0 where there is none."""
        if self.options.topography is not None:
            # steps of a box alone have no mirror (native/bindings/segment.cpp)
            return 0
        return self.propagator.word * math.prod(shell_shape(self.domain, self.propagator.medium))

    def on_gpu(self, steps: int, sums: int = 0) -> dict[str, int]:
        """Return the bytes by array that a wavefield takes of a GPU (`PropagatorMemory.on_gpu`)."""
        return self.propagator.on_gpu(self.receivers, steps, sums)
