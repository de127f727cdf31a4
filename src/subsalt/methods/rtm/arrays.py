"""The arrays that one rank has of a shot, each with its bytes, before any of them is allocated.

Everything that plans memory, disk or traffic asks here; the tests hold these bytes against the arrays of a propagator.
What of them lives at the same time is in `subsalt.methods.rtm.memory`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from subsalt import kernels, physics
from subsalt.acquisition.injection import ON_NODE
from subsalt.acquisition.survey import Shot
from subsalt.earth.grid import Box
from subsalt.earth.model_like import ModelLike
from subsalt.kernels.problem import FIELDS, MEMORY, Layout, parameter_names
from subsalt.kernels.scaled16 import words16
from subsalt.methods.rtm.modelling import ModellingSetup
from subsalt.methods.rtm.reversal import shell_of
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.propagation.domain import Domain
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.topography import weights_bytes

Setup = MigrationSetup | ModellingSetup

#: rank and ranks of a group; one process alone
Part = tuple[int, int]
ALONE: Part = (0, 1)

HALF, FLOAT, DOUBLE = 2, 4, 8

#: a large padded array fills whole pages of this size
HUGE_PAGE = 2 << 20

#: planes along x that a tile of the TTI step does at a time
TILT_PLANES = 2

#: of a point on a GPU: first node of its support and its places in the tiles that inject it; and per node and axis
POINT, WEIGHTS = 3 * FLOAT + 68, 3 * 2 * FLOAT

#: bytes of samples of points that are on a GPU at a time; twice, one part on its way
SAMPLES = 4 << 20

#: tables of a problem on a GPU: profiles and stencils along the axes
TABLES = 64 << 10


@dataclass(frozen=True)
class RankArrays:
    """What one rank of a group has of a shot, by array.

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
    def medium(self) -> str:
        """What is propagated in."""
        return physics.medium_of(self.model, self.options.medium)

    @cached_property
    def domain(self) -> Domain:
        """The computational grid, and what of it the rank has."""
        points = np.concatenate([self.shot.src[None], self.shot.rcv])
        return Domain.of(self.model.grid, self.window, self.options, self.medium, points, self.part)

    # receivers

    def _supports(self, axis: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first and the last node of an axis of the computational grid on which a receiver has a weight."""
        x = self._index[:, axis]
        near = np.rint(x)
        node = np.abs(x - near) <= ON_NODE
        first = np.where(node, near, np.floor(x) - self.options.support + 1)
        return first.astype(np.int64), np.where(node, near, np.floor(x) + self.options.support).astype(
            np.int64
        )

    @cached_property
    def _index(self) -> NDArray[np.float64]:
        """Receivers in cells of the computational grid."""
        return self.domain.grid.to_index(self.shot.rcv)

    @property
    def receivers(self) -> int:
        """Receivers whose support touches what is owned."""
        here = np.ones(len(self._index), bool)
        for axis, side in enumerate((self.domain.slab, self.domain.across)):
            if side.ranks > 1:
                first, last = self._supports(axis)
                here &= (last >= side.lo) & (first < side.hi)
        return int(here.sum())

    @property
    def recorded(self) -> tuple[int, int]:
        """Receivers that the rank records for itself, and single planes of receivers that it sends and gets."""
        first, last = self._supports(0)
        if len(self.domain.rows) > 1:
            low, high = self._supports(1)
            middle, across = (low + high) // 2, self.domain.across
            mine = (middle >= across.lo) & (middle < across.hi)
            first, last = first[mine], last[mine]
        lo, hi = self.domain.slab.lo, self.domain.slab.hi
        own = (first >= lo) & (first < hi)
        sent = np.minimum(last, hi - 1)[first < lo] - lo + 1
        got = last[own] - hi + 1
        return int(own.sum()), int(2 * np.maximum(sent, 0).sum() + np.maximum(got, 0).sum())

    # numbers of arrays and of the points in them

    @property
    def points(self) -> int:
        """Points of a padded array."""
        return math.prod(self.domain.layout.padded_shape)

    @property
    def fields(self) -> int:
        """Wavefields that are advanced, of one time level."""
        return len(FIELDS[self.medium])

    @property
    def word(self) -> int:
        """Bytes of a number of a wavefield."""
        return DOUBLE if self.options.dtype == "float64" else FLOAT

    @property
    def layer(self) -> list[int]:
        """Floats of every memory field of the absorbing layer."""
        if self.options.boundary != "pml":
            return []
        layers = sum(self.domain.held_widths[:2]), sum(self.domain.held_widths[2:4])
        sizes = layer_sizes(self.domain.layout, self.options.layer_cells, self.options.free_surface, layers)
        return sizes * len(MEMORY[self.medium])

    @property
    def parameters(self) -> int:
        """Arrays of the model."""
        return len(parameter_names(self.medium, self.model.grid.ndim))

    # what is kept of a wavefield

    @property
    def snapshot(self) -> int:
        """Bytes of a snapshot: the imaged field in what the rank has of the window."""
        return self.word * self.domain.interior.size

    @property
    def snapshot16(self) -> int:
        """Bytes of a snapshot in 16 bits."""
        return FLOAT * words16(self.domain.interior.shape) if self.domain.interior.size else 0

    @property
    def level(self) -> int:
        """Bytes of one time level of all fields, padding included."""
        return self.word * self.fields * self.points

    @property
    def state(self) -> int:
        """Bytes of a state: two time levels of every field, halo and padding included, and the layer's memory.

        The sum of `subsalt.kernels.problem.State.arrays`. Halos of a slab are among them: a state goes on as it was
        without a message.
        """
        if kernels.get(self.options.device).WHOLE_MEMORY_FIELDS:
            kinds = len(MEMORY[self.medium]) if self.options.boundary == "pml" else 0
            return self.word * self.points * (2 * self.fields + kinds * self.model.grid.ndim)
        return FLOAT * (2 * self.fields * self.points + sum(self.layer))

    @property
    def state_held(self) -> int:
        """Bytes of memory that the arrays of a state take: large ones lie on whole huge pages of their own."""
        if kernels.get(self.options.device).WHOLE_MEMORY_FIELDS:
            return self.state
        return self.wavefields + self.layer_held

    @property
    def shell(self) -> int:
        """Bytes of the shell of all fields at one time step, for the boundary strategy; 0 where there is none."""
        if self.options.topography is not None:
            # steps of a box alone have no mirror (native/bindings/segment.cpp)
            return 0
        return self.word * self.fields * shell_of(self.domain, self.medium).cells

    # what the host holds while one wavefield is propagated

    @property
    def wavefields(self) -> int:
        """Bytes of both time levels of all fields."""
        return 2 * self.fields * allocated(FLOAT * self.points)

    @property
    def layer_held(self) -> int:
        """Bytes of the memory fields of the absorbing layer."""
        return sum(allocated(FLOAT * n) for n in self.layer)

    @property
    def model_arrays(self) -> int:
        """Bytes of the model as the kernels read it."""
        word = HALF if self.options.model_storage == "u16" else FLOAT
        return self.parameters * allocated(word * self.points)

    @property
    def mirror(self) -> int:
        """Bytes of the weights of a free surface inside the grid, while they are made."""
        return self._mirror[0]

    @property
    def mirror_kept(self) -> int:
        """Bytes of these weights in time steps."""
        return self._mirror[1]

    @cached_property
    def _mirror(self) -> tuple[int, int]:
        surface = self.options.topography
        return (
            (0, 0) if surface is None else weights_bytes(surface, self.domain.grid, self.domain.layout.radius)
        )

    @property
    def window_volumes(self) -> int:
        """Bytes of the model of the window, epsilon also as it was before the taper around the sources."""
        volumes = self.model.as_medium(self.medium).volumes
        return (len(volumes) + ("epsilon" in volumes)) * FLOAT * math.prod(self.domain.layout.shape3)

    @property
    def tilt_scratch(self) -> int:
        """Bytes of the flux rings that a thread keeps for a tile of the TTI step (native/isa/tti_rings.hpp)."""
        layout, planes = self.domain.layout, TILT_PLANES
        reach = layout.radius
        rows = min(layout.shape3[1], max(16, min(64, 64 * 272 // layout.row)))
        row = _vectors(layout.shape3[2]) + 64
        slots = 2 * (2 * reach + planes) + 2 * (reach + planes) + planes
        across = planes * (2 * reach + 1 if layout.ndim == 3 else 1)
        return FLOAT * row * (slots * rows + across + 2)

    # what a GPU holds

    def on_gpu(self, steps: int, sums: int = 0) -> dict[str, int]:
        """Return the bytes by array that propagating one wavefield takes of a GPU; snapshots and states not counted.

        Parameters
        ----------
        steps : int
            Samples of what is injected or recorded.
        sums : int
            Accumulators of the imaging condition.
        """
        word = HALF if self.options.model_storage == "u16" else FLOAT
        series = _series_bytes(self.receivers, steps) + _series_bytes(1, steps)
        need = {
            "wavefields": 2 * self.fields * FLOAT * self.points,
            "model arrays": self.parameters * word * self.points,
            "absorbing layer": FLOAT * sum(self.layer),
            "image accumulators": sums * FLOAT * self.domain.interior.size,
            "points and samples": (self.receivers + 1) * (POINT + self.options.support * WEIGHTS)
            + series
            + TABLES,
        }
        return {name: size for name, size in need.items() if size}


def _series_bytes(points: int, steps: int) -> int:
    """Return the bytes of the samples of points on the device: some time steps, twice (native/cuda/staging.hpp)."""
    row = FLOAT * points
    return 2 * row * min(steps, max(1, SAMPLES // row)) if points else 0


def allocated(size: int) -> int:
    """Return the bytes that a padded array of `size` bytes takes: large ones fill whole huge pages."""
    return size if size < 2 * HUGE_PAGE else -(-(size + 64) // HUGE_PAGE) * HUGE_PAGE


def layer_sizes(layout: Layout, width: int, free_surface: bool, layers: tuple[int, int]) -> list[int]:
    """Return the floats of one memory field of every axis of the PML, in rows along z of whole vectors.

    Parameters
    ----------
    layout : Layout
        Of the planes that are held.
    width : int
        Cells of the layer.
    free_surface : bool
        There is none at the top.
    layers : tuple of int
        Planes held that lie in the layers at the ends of x, and rows in those at the ends of y.
    """
    nx, ny, nz = layout.shape3
    row, window = _vectors(nz), _vectors(width + layout.radius)
    sizes = [layers[0] * ny * row, (1 if free_surface else 2) * window * nx * ny]
    if layout.ndim == 3:
        sizes.append(layers[1] * nx * row)
    return sizes


def _vectors(n: int) -> int:
    """Return `n` rounded up to whole vectors of 16 floats."""
    return -(-n // 16) * 16
