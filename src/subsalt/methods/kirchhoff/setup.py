"""What all blocks of a time migration share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.methods.kirchhoff.classes import Classes
from subsalt.methods.kirchhoff.options import KirchhoffOptions

if TYPE_CHECKING:
    from subsalt.acquisition.image_grid import TimeVelocity
    from subsalt.io.prestack.table import TraceTable


@dataclass(frozen=True)
class KirchhoffSetup:
    """Everything that is chosen once per migration.

    Parameters
    ----------
    grid : ImageGrid
        Output locations and times.
    velocity : TimeVelocity
        Rms velocity, and eta.
    table : TraceTable
        All traces, in canonical order.
    options : KirchhoffOptions
        Operator, antialias, mutes.
    classes : Classes
        Image traces of a location.
    weights : ndarray, (n,), float32
        Midpoint area per trace, `trace_weights`.
    """

    grid: ImageGrid
    velocity: TimeVelocity
    table: TraceTable
    options: KirchhoffOptions
    classes: Classes
    weights: NDArray[np.float32]

    @cached_property
    def group(self) -> NDArray[np.int32]:
        """Class of every trace, -1 for those of none."""
        return self.classes.group_of(self.table.offset, self.table.azimuth)

    @property
    def nt(self) -> int:
        """Samples of an image trace."""
        return self.grid.time.nt
