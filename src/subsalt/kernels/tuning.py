"""How a segment cuts its work: rows of y per tile, time steps in one pass over memory. It changes no bit."""

from __future__ import annotations

import os

from subsalt.errors import ConfigError
from subsalt.kernels.problem import Problem

#: rows per tile, steps per pass
Cut = tuple[int, int]


def forced_rows() -> int | None:
    """Return the rows per tile that the environment variable ``SUBSALT_TILE_ROWS`` asks for."""
    text = os.environ.get("SUBSALT_TILE_ROWS", "").strip()
    if not text:
        return None
    if not text.isdigit() or int(text) < 1:
        raise ConfigError(f"SUBSALT_TILE_ROWS = {text!r}", "use a whole number from 1 upwards, or unset it")
    return int(text)


def cut(problem: Problem, threads: int, isa: str) -> Cut:
    """Return how a segment of this problem is cut."""
    rows = forced_rows()
    return (rows or 0, 2)
