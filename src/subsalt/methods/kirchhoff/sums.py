"""What a block has summed so far: image traces, hits and fold, and how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import LocationBox
from subsalt.methods.kirchhoff.cutting import Block


@dataclass
class Sums:
    """The accumulators of a block.

    Parameters
    ----------
    block : Block
        Locations and image traces.
    image : ndarray, (locations, classes, nt), float32
        Sums of traces.
    hits : ndarray, (locations, nt + 1), int32
        Differences along time of the number of traces that reach a sample, of all classes of the block.
    fold : ndarray, (locations, groups), int32
        Traces that reach a location, by class; for a single image of all classes, by the classes of all traces.
    next : int
        First trace of the table that is not in it.
    contributions : int
        Samples that were added.
    traces : int
        Traces that were read for it.
    settle : callable
        Brings the arrays up to date, which a device that sums may not have done yet; before they are stored.
    """

    block: Block
    image: NDArray[np.float32]
    hits: NDArray[np.int32]
    fold: NDArray[np.int32]
    next: int = 0
    contributions: int = 0
    traces: int = 0
    settle: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)

    @classmethod
    def zeros(cls, block: Block, nt: int, groups: int) -> Sums:
        """Return the sums of a block before its first trace.

        Parameters
        ----------
        groups : int
            Classes that are counted in `fold`.
        """
        n = block.locations
        return cls(
            block,
            np.zeros((n, block.classes, nt), np.float32),
            np.zeros((n, nt + 1), np.int32),
            np.zeros((n, groups), np.int32),
        )

    @property
    def nt(self) -> int:
        """Samples of an image trace."""
        return self.image.shape[2]


def rows_of(outer: LocationBox, inner: LocationBox) -> NDArray[np.int64]:
    """Return the rows of the locations of a box among those of a box around it."""
    i = np.arange(inner.i0 - outer.i0, inner.i1 - outer.i0)
    j = np.arange(inner.j0 - outer.j0, inner.j1 - outer.j0)
    return (i[:, None] * (outer.j1 - outer.j0) + j[None, :]).reshape(-1)
