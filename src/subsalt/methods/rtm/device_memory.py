"""How much memory of a GPU a shot will need, by array, before any of it is allocated; snapshots and states not counted.

What the host holds beside it is in `subsalt.methods.rtm.memory`.
"""

from __future__ import annotations

import math

from subsalt import physics
from subsalt.acquisition.injection import RADIUS
from subsalt.acquisition.survey import Shot
from subsalt.earth.model_like import ModelLike
from subsalt.kernels.fields import FIELDS, MEMORY, parameter_names
from subsalt.methods.rtm.memory import FLOAT, HALF, layer_sizes, receivers_on
from subsalt.propagation.domain import Domain
from subsalt.propagation.options import PropagationOptions

#: of a point: first node of its support, weights along three axes, and its places in the tiles by which it is injected
POINT = 3 * FLOAT + 3 * 2 * RADIUS * FLOAT + 68

#: bytes of samples of points that are on the device at a time; twice, one part on its way
SAMPLES = 4 << 20

#: tables of a problem: profiles and stencils along the axes
TABLES = 64 << 10


def series_bytes(points: int, steps: int) -> int:
    """Return the bytes of the samples of points on the device: some time steps, twice (native/cuda/staging.hpp)."""
    row = FLOAT * points
    return 2 * row * min(steps, max(1, SAMPLES // row)) if points else 0


def device_memory(
    model: ModelLike, options: PropagationOptions, domain: Domain, shot: Shot, steps: int, sums: int = 0
) -> dict[str, int]:
    """Return the bytes by array that propagating one wavefield of `shot` takes of a GPU.

    Parameters
    ----------
    model : ModelLike
        Its medium rules.
    options : PropagationOptions
        Layer and storage of the model.
    domain : Domain
        The computational grid, and what of it the rank has.
    shot : Shot
        Source and receivers.
    steps : int
        Samples of what is injected or recorded.
    sums : int
        Accumulators of the imaging condition.
    """
    medium = physics.medium_of(model, options.medium)
    layout = domain.layout
    points = math.prod(layout.padded_shape)
    kinds = len(MEMORY[medium]) if options.boundary == "pml" else 0
    layer = layer_sizes(layout, options.layer_cells, options.free_surface, sum(domain.held_widths[:2]))
    word = HALF if options.model_storage == "u16" else FLOAT
    traces = receivers_on(domain, shot)
    need = {
        "wavefields": 2 * len(FIELDS[medium]) * FLOAT * points,
        "model arrays": len(parameter_names(medium, model.grid.ndim)) * word * points,
        "absorbing layer": kinds * FLOAT * sum(layer),
        "image accumulators": sums * FLOAT * domain.interior.size,
        "points and samples": (traces + 1) * POINT
        + series_bytes(traces, steps)
        + series_bytes(1, steps)
        + TABLES,
    }
    return {name: size for name, size in need.items() if size}
