"""Imaging conditions: how source and receiver wavefield become an image.

Each condition names the fields it *accumulates* over the imaged samples of a shot, and *finishes* the sums of
all shots into an image. A new condition is one class here and one line in `CONDITIONS`.

References
----------
Claerbout (1971): zero-lag cross-correlation, I = sum u w dt. Op 't Root et al. (2012), Whitmore and Crawley (2012):
inverse scattering, which removes energy that travels the same way in both fields.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box, Grid
from subsalt.errors import ConfigError
from subsalt.kernels.device import Device
from subsalt.kernels.problem import Problem
from subsalt.kernels.work import Correlation, Snapshots
from subsalt.methods.rtm.filters import LAPLACIAN_REACH, laplacian


@dataclass
class ImagingSums:
    """Accumulated fields summed over the shots, on some planes of the image.

    Parameters
    ----------
    fields : dict of ndarray, (planes, ny, nz), float64
        By accumulator name.
    grid : Grid
        Grid of these planes.
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
        Problem of the receiver wavefield.
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
            name: kernels.zeros(shape, problem.dtype) for name, shape in self.shapes(box.shape).items()
        }

    @classmethod
    def shapes(cls, box: tuple[int, int, int]) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the accumulators on a box of some shape, by name."""
        return dict.fromkeys(cls.accumulators, box)

    @classmethod
    def per_point(cls) -> int:
        """Return the numbers that all accumulators together have for a point of the image."""
        return sum(math.prod(shape) for shape in cls.shapes((1, 1, 1)).values())

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


class CrossCorrelation(Condition):
    """Correlate source and receiver field at every imaged sample.

    Notes
    -----
    ``I(x) = k dt sum_n u(x, n) w(x, n)`` over every k-th sample; units of data times source.
    """

    name: ClassVar[str] = "cross-correlation"
    accumulators: ClassVar[tuple[str, ...]] = ("correlation",)

    @classmethod
    def finish(cls, sums: ImagingSums) -> NDArray[np.float64]:
        """Return the sum itself."""
        return sums.fields["correlation"].copy()


class SourceNormalised(Condition):
    """Correlate, and accumulate the energy of the source field beside it.

    Notes
    -----
    ``I(x) = sum u w / (sum u^2 + lambda mean(sum u^2))``, both summed over all shots first; lambda = 0.01 by
    default. Dimensionless when source and data have the same unit.

    In reflectivity mode a reflection coefficient, over the cosine of the angle of incidence: reflectors that are seen
    at wide angles come out larger.

    The floor is taken from the mean over the image. The maximum, which stands right at a source and grows
    without bound as the grid gets finer, would in 3-D lie above the illumination of the whole depth: a
    reflector of R = 0.2 at 330 m then images as 0.06.
    """

    name: ClassVar[str] = "source-normalised"
    accumulators: ClassVar[tuple[str, ...]] = ("correlation", "illumination")

    @classmethod
    def finish(cls, sums: ImagingSums) -> NDArray[np.float64]:
        """Divide correlation by stabilised illumination; zero where no source energy came at all."""
        illumination = sums.fields["illumination"]
        total, points = sums.illumination
        floor = sums.normalise * total / points
        if floor <= 0.0:
            return np.zeros_like(illumination)
        return sums.fields["correlation"] / (illumination + floor)


class InverseScattering(Condition):
    """Correlate both fields; weigh every pair of waves by 1 - cos of the angle between them.

    Notes
    -----
    The condition is ``IS = sum [u_t w_t / v^2 - grad u . grad w] dt`` with w in forward time. Two waves along
    n and n' meet in it with the factor ``k^2 (1 - n . n')``: nothing for waves that travel together, ``2 k^2
    cos^2`` of half the opening angle for source and reflected wave. Both fields obey the wave equation away
    from sources, so that ::

        lap(u w) = u w_tt / v^2 + w u_tt / v^2 + 2 grad u . grad w

    and, with sums by parts over time, for any v(x)::

        IS = - 1/2 lap sum u w dt

    Only the correlation has to be accumulated. Exact for isotropic media; with the imaged field of VTI media
    an approximation.
    """

    name: ClassVar[str] = "inverse-scattering"
    accumulators: ClassVar[tuple[str, ...]] = ("correlation",)
    reach: ClassVar[int] = LAPLACIAN_REACH

    @classmethod
    def finish(cls, sums: ImagingSums) -> NDArray[np.float64]:
        """Return -1/2 lap of the correlation."""
        return -0.5 * laplacian(sums.fields["correlation"], sums.grid)


CONDITIONS: dict[str, type[Condition]] = {
    "cross-correlation": CrossCorrelation,
    "source-normalised": SourceNormalised,
    "inverse-scattering": InverseScattering,
}


def condition_of(name: str) -> type[Condition]:
    """Return the condition class by its job-file name."""
    if name not in CONDITIONS:
        raise ConfigError(
            f"condition {name!r} is not one of {', '.join(CONDITIONS)}", "use source-normalised", "E130"
        )
    return CONDITIONS[name]
