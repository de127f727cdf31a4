"""What every imaging condition offers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box, Grid
from subsalt.kernels.device import Device
from subsalt.kernels.problem import Problem
from subsalt.kernels.work import Correlation, Snapshots


@dataclass
class ImagingSums:
    """Accumulated fields summed over the shots, on some planes of the image.

    Parameters
    ----------
    fields : dict of ndarray, (planes, ny, nz), float64
        By accumulator name.
    grid : Grid
        Of these planes.
    normalise : float
        Stabilisation lambda, relative to the mean illumination.
    illumination : tuple of float and int
        Sum of the illumination over the whole image, one value after the other, and its number of points.
    """

    fields: dict[str, NDArray[np.float64]]
    grid: Grid
    normalise: float
    illumination: tuple[float, int]


class Condition:
    """Base class: owns the accumulators of one shot, ``correlation`` (u w) and perhaps ``illumination`` (u^2).

    Parameters
    ----------
    kernels : module
        Kernels of the device.
    problem : Problem
        Of the receiver wavefield.
    box : Box
        The imaged window, in indices of the computational grid.
    """

    name: ClassVar[str]
    accumulators: ClassVar[tuple[str, ...]]
    #: planes on either side of a plane that `finish` looks at
    reach: ClassVar[int] = 0

    def __init__(self, kernels: Device, problem: Problem, box: Box) -> None:
        self.kernels, self.problem, self.box = kernels, problem, box
        self.sums: dict[str, NDArray] = {
            name: kernels.zeros(box.shape, problem.dtype) for name in self.accumulators
        }

    def snapshots(self, fields: Mapping[int, NDArray | None], scale: float) -> Snapshots:
        """Return what the source wavefield leaves: its imaged samples, and its energy where that is accumulated.

        Parameters
        ----------
        fields : mapping of int to ndarray, shape of the box, or None
            Room for the samples, by time index; None where the sample itself is not wanted.
        scale : float
            k dt, the time that a sample stands for.
        """
        return Snapshots(self.box, fields, self.sums.get("illumination"), scale)

    def correlation(self, fields: Mapping[int, NDArray], scale: float) -> Correlation:
        """Return how the receiver wavefield meets those samples, by its own time index."""
        return Correlation(self.box, fields, self.sums["correlation"], scale)

    @classmethod
    def finish(cls, sums: ImagingSums) -> NDArray[np.float64]:
        """Return the image on the planes of the sums; a plane is right when `reach` planes beyond it are there."""
        raise NotImplementedError
