"""Setup that all blocks of a time migration share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.kernels.kirchhoff_arguments import Below, TraceGeometry
from subsalt.methods.kirchhoff.classes import Classes
from subsalt.methods.kirchhoff.floating import FloatingDatum
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
    datum : FloatingDatum, optional
        Floating datum of acquisition on topography; without it all lies on one plane.
    """

    grid: ImageGrid
    velocity: TimeVelocity
    table: TraceTable
    options: KirchhoffOptions
    classes: Classes
    weights: NDArray[np.float32]
    datum: FloatingDatum | None = None

    @cached_property
    def group(self) -> NDArray[np.int32]:
        """Class of every trace, -1 for those of none."""
        return self.classes.group_of(self.table.offset, self.table.azimuth)

    def below(self, points: NDArray[np.float64]) -> Below | None:
        """Return the heights of image traces at map positions (n, 2); None where all lies on one plane."""
        return None if self.datum is None else self.datum.below(points)

    def geometry(
        self, index: NDArray[np.int64], slot: NDArray[np.int32], group: NDArray[np.int32] | None = None
    ) -> TraceGeometry:
        """Return positions, weights and heights of traces, which add to the image traces `slot`."""
        heights = () if self.datum is None else (self.datum.height[index], self.datum.late[index])
        table = self.table
        return TraceGeometry(table.src[index], table.rcv[index], self.weights[index], slot, group, *heights)

    @property
    def nt(self) -> int:
        """Samples of an image trace."""
        return self.grid.time.nt
