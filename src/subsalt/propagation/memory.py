"""The memory of a propagator and its wavefield, by array, before any is allocated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from subsalt import kernels, physics
from subsalt.earth.model_like import ModelLike
from subsalt.kernels.problem import FIELDS, parameter_names
from subsalt.kernels.sizes import (
    DOUBLE,
    FLOAT,
    HALF,
    TABLES,
    allocated,
    memory_numbers,
    points_bytes,
    tilt_scratch,
    whole_memory_numbers,
)
from subsalt.propagation.domain import Domain
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.topography import weights_bytes


@dataclass(frozen=True)
class PropagatorMemory:
    """Bytes of the arrays that a `Propagator` of these arguments makes, and of a `State` of it.

    Parameters
    ----------
    model : ModelLike
        Past the gate.
    options : PropagationOptions
        Layer, order, storage of the model, precision.
    domain : Domain
        The computational grid, and what of it the rank has.
    """

    model: ModelLike
    options: PropagationOptions
    domain: Domain

    @cached_property
    def medium(self) -> str:
        """Medium of the propagation: ``"isotropic"``, ``"vti"`` or ``"tti"``."""
        return physics.medium_of(self.model, self.options.medium)

    @property
    def word(self) -> int:
        """Bytes of a number of a wavefield."""
        return DOUBLE if self.options.dtype == "float64" else FLOAT

    @property
    def fields(self) -> int:
        """Wavefields that are advanced, of one time level."""
        return len(FIELDS[self.medium])

    @cached_property
    def _layer(self) -> list[int]:
        """Numbers of every memory field of the absorbing layer, of compiled kernels."""
        options, widths = self.options, self.domain.held_widths
        if options.boundary != "pml":
            return []
        layers = sum(widths[:2]), sum(widths[2:4])
        return memory_numbers(
            self.domain.layout, self.medium, options.layer_cells, options.free_surface, layers
        )

    @property
    def _whole(self) -> bool:
        """Whether memory fields are padded arrays like wavefields."""
        return kernels.get(self.options.device).WHOLE_MEMORY_FIELDS

    # what states take

    @property
    def level(self) -> int:
        """Bytes of one time level of all fields, padding included."""
        return self.word * self.fields * self.domain.layout.numbers

    @property
    def state(self) -> int:
        """Bytes of a state: two time levels of every field, halo and padding included, and the layer's memory.

        The sum of `State.arrays`, with the halos of a slab, so that a state can be resumed without a message.
        """
        memory = self._layer
        if self._whole and self.options.boundary == "pml":
            memory = whole_memory_numbers(self.domain.layout, self.medium)
        return 2 * self.level + self.word * sum(memory)

    @property
    def state_held(self) -> int:
        """Bytes of memory that the arrays of a state take: large ones lie on whole huge pages of their own."""
        return self.state if self._whole else self.wavefields + self.layer_held

    # what the host holds while one wavefield is propagated

    @property
    def wavefields(self) -> int:
        """Bytes of both time levels of all fields."""
        return 2 * self.fields * allocated(FLOAT * self.domain.layout.numbers)

    @property
    def layer_held(self) -> int:
        """Bytes of the memory fields of the absorbing layer."""
        return sum(allocated(FLOAT * n) for n in self._layer)

    @property
    def model_arrays(self) -> int:
        """Bytes of the model as the kernels read it."""
        return sum(map(allocated, self._parameters))

    @property
    def _parameters(self) -> list[int]:
        """Bytes of every array of the model."""
        word = HALF if self.options.model_storage == "u16" else FLOAT
        return [word * self.domain.layout.numbers for _ in parameter_names(self.medium, self.model.grid.ndim)]

    @cached_property
    def mirror(self) -> tuple[int, int]:
        """Bytes of the weights of a free surface inside the grid: while they are made, and in time steps."""
        surface, domain = self.options.topography, self.domain
        return (0, 0) if surface is None else weights_bytes(surface, domain.grid, domain.layout.radius)

    @property
    def window_volumes(self) -> int:
        """Bytes of the model of the window, epsilon also as it was before the taper around the sources."""
        volumes = self.model.as_medium(self.medium).volumes
        return (len(volumes) + ("epsilon" in volumes)) * FLOAT * math.prod(self.domain.layout.shape3)

    @property
    def tilt_scratch(self) -> int:
        """Bytes that every thread keeps beside the arrays, where the medium is tilted."""
        return tilt_scratch(self.domain.layout) if self.medium == "tti" else 0

    # what a GPU holds

    def on_gpu(self, receivers: int, steps: int, sums: int = 0) -> dict[str, int]:
        """Return the bytes by array that propagating one wavefield takes of a GPU; snapshots and states not counted.

        Parameters
        ----------
        receivers, steps : int
            Points, beside the source, and samples of each that are injected or recorded.
        sums : int
            Numbers that the accumulators of the imaging condition have for a point.
        """
        radius = self.options.support
        need = {
            "wavefields": 2 * self.fields * FLOAT * self.domain.layout.numbers,
            "model arrays": sum(self._parameters),
            "absorbing layer": FLOAT * sum(self._layer),
            "image accumulators": sums * FLOAT * self.domain.interior.size,
            "points and samples": sum(points_bytes(n, steps, radius) for n in (receivers, 1)) + TABLES,
        }
        return {name: size for name, size in need.items() if size}
