"""How many frames of a movie, and which points of their grid, fit into a given number of bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from subsalt.errors import ConfigError

#: frames below which points are given up for frames, and frames that there must be
SMOOTH, FEWEST = 60, 24
#: most frames, unless it is said how many samples lie between two
MOST_FRAMES = 240


def raw_bytes(shape: Sequence[int], samples: int, fields: int, size_step: int, every: int) -> int:
    """Return the bytes of the levels of a movie: every `size_step`-th point of `shape`, every `every`-th sample."""
    points = math.prod(-(-n // size_step) for n in shape)
    return points * -(-samples // every) * fields


def thinning(
    shape: Sequence[int],
    samples: int,
    fields: int,
    max_bytes: float,
    *,
    size: int | None = None,
    every: int | None = None,
) -> tuple[int, int]:
    """Return the strides (grid points, samples) at which a movie fits.

    Parameters
    ----------
    shape : sequence of int
        Grid points of the shot's window.
    samples, fields : int
        Imaged samples, and fields shown.
    max_bytes : float
        Most bytes of the levels.
    size : int, optional
        Most points along an axis; as many as fit when left out.
    every : int, optional
        Samples from one frame to the next; chosen when left out, at most `MOST_FRAMES` frames.

    Raises
    ------
    ConfigError
        The request doesn't fit.
    """
    most = -(-samples // every) if every else min(samples, MOST_FRAMES)
    steps = [max(1, -(-max(shape) // size))] if size else range(1, max(1, max(shape) // 32) + 1)
    fits: tuple[int, int] | None = None
    for step in steps:
        frames = min(most, int(max_bytes // raw_bytes(shape, 1, fields, step, 1)))
        if (every and frames < most) or frames < min(most, FEWEST):
            continue
        fits = step, every or -(-samples // frames)
        if every or frames >= min(most, SMOOTH):
            return fits
    if fits:
        return fits
    needed = raw_bytes(shape, most, fields, steps[-1], 1)
    raise ConfigError(
        f"a movie of {most} frames takes {needed / 1e6:.3g} MB even with every {ordinal(steps[-1])} grid point, "
        f"and {max_bytes / 1e6:.3g} MB are allowed",
        "give a larger --max-size, a smaller --size, a larger --every or fewer --fields, or use --serve",
        code="E850",
    )


def ordinal(n: int) -> str:
    """Return the word for the n-th, such as 3rd."""
    last = 0 if n % 100 in (11, 12, 13) or n % 10 > 3 else n % 10
    return f"{n}{'thstndrd'[2 * last : 2 * last + 2]}"
