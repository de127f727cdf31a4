"""Numbers of inlines and crosslines: the numbers in a survey of the planes of a grid along x and along y."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid

#: a node this far from a whole number of lines, in lines, still lies on one: spacings are rounded to centimetres
BETWEEN = 1e-3
#: what 32 bits of a trace header hold
LARGEST = 2**31 - 1


@dataclass(frozen=True)
class LineNumbers:
    """Numbers of the lines of a grid, whole and equally spaced.

    Parameters
    ----------
    first_inline, inline_step : int
        Number of the plane at the first x, and from one plane to the next; the step may be negative, not zero.
    first_crossline, crossline_step : int
        The same along y.
    """

    first_inline: int = 1
    inline_step: int = 1
    first_crossline: int = 1
    crossline_step: int = 1

    def inlines(self, first: int, n: int) -> NDArray[np.int64]:
        """Return the inline numbers of `n` planes from the plane `first`, (n,)."""
        return self.first_inline + self.inline_step * np.arange(first, first + n, dtype=np.int64)

    def crosslines(self, n: int) -> NDArray[np.int64]:
        """Return the first `n` crossline numbers, (n,)."""
        return self.first_crossline + self.crossline_step * np.arange(n, dtype=np.int64)

    def last(self, nx: int, ny: int) -> tuple[int, int]:
        """Return the last inline and the last crossline of a grid of nx by ny nodes."""
        return (
            self.first_inline + self.inline_step * (nx - 1),
            self.first_crossline + self.crossline_step * (ny - 1),
        )

    def described(self, nx: int, ny: int) -> str:
        """Return the numbers of a grid of nx by ny nodes in words."""
        inline, crossline = self.last(nx, ny)
        return (
            f"inlines {self.first_inline} to {inline} in steps of {self.inline_step}, "
            f"crosslines {self.first_crossline} to {crossline} in steps of {self.crossline_step}"
        )

    def on(self, own: Grid, other: Grid) -> LineNumbers | None:
        """Return the numbers of the lines of another grid of the same axes.

        Parameters
        ----------
        own : Grid
            Grid whose lines have these numbers, 3-D.
        other : Grid
            Another grid in the same local coordinates.

        Returns
        -------
        LineNumbers or None
            None where a node of `other` lies between lines, or its number does not fit a trace header.
        """
        if own.ndim != 3 or other.ndim != 3:
            return None
        numbers: list[int] = []
        for axis, (first, step) in enumerate(
            ((self.first_inline, self.inline_step), (self.first_crossline, self.crossline_step))
        ):
            at = (other.origin[axis] - own.origin[axis]) / own.spacing[axis]
            every = other.spacing[axis] / own.spacing[axis]
            start, stride = round(at), round(every)
            last = at + every * (other.shape[axis] - 1)
            if (
                stride < 1
                or abs(at - start) > BETWEEN
                or abs(last - start - stride * (other.shape[axis] - 1)) > BETWEEN
            ):
                return None
            numbers += [first + step * start, step * stride]
        moved = LineNumbers(*numbers)
        ends = (moved.first_inline, moved.first_crossline, *moved.last(*other.shape[:2]))
        return moved if all(-LARGEST <= n <= LARGEST for n in ends) else None
