"""The memory of a step of the iteration: the process with the state holds arrays of the model in double precision."""

from __future__ import annotations

import math

from subsalt.earth.grid import Grid
from subsalt.errors import MemoryPlanError
from subsalt.host import available_memory
from subsalt.kernels.sizes import DOUBLE

#: arrays that are held at once: state before and after, gradient, illumination, mask, preconditioner and their products
HELD = 16


def step_bytes(grid: Grid) -> int:
    """Return the bytes of a step on the grid of the waves, on rank 0."""
    return HELD * DOUBLE * math.prod(grid.shape)


def refuse_large_step(grid: Grid) -> None:
    """Refuse a grid whose steps do not fit into the memory that is free.

    Raises
    ------
    MemoryPlanError
        E610: with what a step needs and what there is.
    """
    need, have = step_bytes(grid), available_memory()
    if need > have:
        points = " x ".join(map(str, grid.shape))
        raise MemoryPlanError(
            f"a step of the iteration needs {need / 1e9:.2f} GB on rank 0, {HELD} arrays of {points} points in double "
            f"precision, and {have / 1e9:.2f} GB are available",
            f"give rank 0 {need / 1e9:.2f} GB, or compute fewer points: a smaller model, or a larger spacing as "
            "[propagation] grid",
            code="E610",
        )
