"""Bytes of what a shot leaves behind: a snapshot of the imaged field, and a state that a wavefield goes on from."""

from __future__ import annotations

import math

from subsalt import kernels, physics
from subsalt.acquisition.survey import Shot
from subsalt.kernels.fields import FIELDS, MEMORY
from subsalt.methods.rtm.memory import (
    ALONE,
    DOUBLE,
    FLOAT,
    Part,
    allocated,
    domain_of,
    layer_bytes,
    layer_sizes,
)
from subsalt.methods.rtm.reversal import shell_of
from subsalt.methods.rtm.setup import MigrationSetup


def snapshot_bytes(setup: MigrationSetup, shot: Shot, part: Part = ALONE) -> int:
    """Return the bytes of a snapshot: the imaged field in what a rank has of the window of the shot."""
    domain = domain_of(setup.model, setup.propagation, setup.window(shot), shot, part)
    return word_of(setup) * domain.interior.size


def state_bytes(setup: MigrationSetup, shot: Shot, part: Part = ALONE) -> int:
    """Return the bytes of a state: two time levels of every field, halo and padding included, and the layer's memory.

    Notes
    -----
    The sum of `subsalt.kernels.problem.State.arrays`. Halos of a slab are among them: a state goes on as it was without
    a message.
    """
    options = setup.propagation
    domain = domain_of(setup.model, options, setup.window(shot), shot, part)
    medium = physics.medium_of(setup.model, options.medium)
    padded = math.prod(domain.layout.padded_shape)
    levels = 2 * len(FIELDS[medium])
    kinds = len(MEMORY[medium]) if options.boundary == "pml" else 0
    if kernels.get(options.device).WHOLE_MEMORY_FIELDS:
        return word_of(setup) * padded * (levels + kinds * setup.model.grid.ndim)
    layer = layer_sizes(domain.layout, options.layer_cells, options.free_surface, sum(domain.held_widths[:2]))
    return FLOAT * (padded * levels + kinds * sum(layer))


def held_state_bytes(setup: MigrationSetup, shot: Shot, part: Part = ALONE) -> int:
    """Return the bytes of memory that the arrays of a state take: large ones lie on whole huge pages of their own."""
    options = setup.propagation
    if kernels.get(options.device).WHOLE_MEMORY_FIELDS:
        return state_bytes(setup, shot, part)
    domain = domain_of(setup.model, options, setup.window(shot), shot, part)
    medium = physics.medium_of(setup.model, options.medium)
    levels = 2 * len(FIELDS[medium]) * allocated(FLOAT * math.prod(domain.layout.padded_shape))
    widths = sum(domain.held_widths[:2])
    kinds = len(MEMORY[medium])
    return levels + layer_bytes(
        domain.layout, options.boundary, options.layer_cells, options.free_surface, kinds, widths
    )


def level_bytes(setup: MigrationSetup, shot: Shot, part: Part = ALONE) -> int:
    """Return the bytes of one time level of all fields, padding included."""
    domain = domain_of(setup.model, setup.propagation, setup.window(shot), shot, part)
    fields = FIELDS[physics.medium_of(setup.model, setup.propagation.medium)]
    return word_of(setup) * len(fields) * math.prod(domain.layout.padded_shape)


def shell_bytes(setup: MigrationSetup, shot: Shot, part: Part = ALONE) -> int:
    """Return the bytes of the shell of all fields at one time step, for the boundary strategy."""
    domain = domain_of(setup.model, setup.propagation, setup.window(shot), shot, part)
    medium = physics.medium_of(setup.model, setup.propagation.medium)
    return word_of(setup) * len(FIELDS[medium]) * shell_of(domain, medium).cells


def word_of(setup: MigrationSetup) -> int:
    """Return the bytes of a number of a wavefield."""
    return DOUBLE if setup.propagation.dtype == "float64" else FLOAT
