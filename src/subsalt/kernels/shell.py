"""The shell of a box: the cells within some cells of its faces, and the order in which a record holds them.

What lies inside a shell as wide as a stencil reaches can be computed without the world outside. A wavefield that has
gone forward runs backwards in time inside, when the shell is put back after every step (`methods.rtm.reversal`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box

Widths = tuple[int, int, int, int, int, int]


@dataclass(frozen=True)
class Shell:
    """The cells of a box within `widths` cells of its faces.

    Parameters
    ----------
    box : Box
        Index box of the computational grid.
    widths : tuple of int
        Cells from the faces inwards: x low, x high, y low, y high, z low, z high; 0 where nothing is kept. Opposite
        ones fit into the box (`Shell.of` makes them fit).
    """

    box: Box
    widths: Widths

    @classmethod
    def of(cls, box: Box, widths: Widths) -> Shell:
        """Return the shell of a box that may be thinner than both its faces ask for: it then is the whole box."""
        fit = []
        for axis, n in enumerate(box.shape):
            low = min(max(0, widths[2 * axis]), n)
            fit += [low, min(max(0, widths[2 * axis + 1]), n - low)]
        return cls(box, (fit[0], fit[1], fit[2], fit[3], fit[4], fit[5]))

    @property
    def inside(self) -> Box:
        """The cells of the box that are not in the shell; may be empty."""
        lo = tuple(l + w for l, w in zip(self.box.lo, self.widths[0::2], strict=True))
        hi = tuple(h - w for h, w in zip(self.box.hi, self.widths[1::2], strict=True))
        return Box(lo, hi)  # type: ignore[arg-type]

    @property
    def cells(self) -> int:
        """Cells of the shell, of one field."""
        return cells_of(self.box.shape, self.widths)

    def mask(self) -> NDArray[np.bool_]:
        """Return where in the box the shell is; a record holds these cells in the order of the array."""
        out: NDArray[np.bool_] = np.ones(self.box.shape, dtype=bool)
        nx, ny, nz = self.box.shape
        x0, x1, y0, y1, z0, z1 = self.widths
        out[x0 : nx - x1, y0 : ny - y1, z0 : nz - z1] = False
        return out


def cells_of(shape: tuple[int, int, int], widths: Widths) -> int:
    """Return the cells of a shell in a box of some shape."""
    inside = (n - widths[2 * a] - widths[2 * a + 1] for a, n in enumerate(shape))
    return math.prod(shape) - math.prod(max(0, n) for n in inside)
