"""What every imaging condition offers."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from subsalt.grid import Box, Grid
from subsalt.kernels.problem import Problem, State


@dataclass
class ImagingSums:
    """Accumulated fields summed over the shots, on the grid of the image.

    Parameters
    ----------
    fields : dict of ndarray, (nx, ny, nz), float64
        By accumulator name.
    grid : Grid
        Of the image.
    vp : ndarray, (nx, ny, nz), float32
        m/s.
    normalise : float
        Stabilisation lambda, relative to the mean illumination.
    """

    fields: dict[str, NDArray[np.float64]]
    grid: Grid
    vp: NDArray[np.float32]
    normalise: float


class Condition:
    """Base class: owns the accumulators of one shot.

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

    def __init__(self, kernels: ModuleType, problem: Problem, box: Box) -> None:
        self.kernels, self.problem, self.box = kernels, problem, box
        self.sums: dict[str, NDArray] = {
            name: np.zeros(box.shape, dtype=problem.dtype) for name in self.accumulators
        }

    def source_sample(self, u: NDArray, scale: float) -> None:
        """Take the source field u of one imaged sample, with `scale` = k dt; once per sample."""

    def sample(self, u: NDArray, state: State, scale: float) -> None:
        """Take source field `u` and receiver state of the same time."""
        raise NotImplementedError

    @classmethod
    def finish(cls, sums: ImagingSums) -> NDArray[np.float64]:
        """Return the image (nx, ny, nz) from the sums over all shots."""
        raise NotImplementedError
