"""Surface-offset gathers: which offset lights a point of the image of a shot, and the classes that share it.

The traces of a shot are migrated as they are, I, and times their offsets, J, with one source wavefield. Where a
reflection makes the image, both have its shape, and J / I is the offset of the traces that it came from (Giboli et al.
2012). An image crosses zero, so the quotient is that of least squares over half a wavelength around a depth::

    h(z) = sum I'' J'' / sum I'' I''

with second derivatives along depth, in which smooth noise has no weight. The image at a point goes to the two classes
whose offsets lie on either side of h, in linear parts. So the classes of every shot add up to its image.

References
----------
Giboli, M., Baina, R., Nicoletis, L., Duquet, B. (2012), Reverse time migration surface offset gathers part 1: a new
method to produce classical common image gathers, SEG Expanded Abstracts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot
from subsalt.errors import ConfigError
from subsalt.methods.rtm.conditions import WHOLE, LagAxis, Lags
from subsalt.propagation.options import GatherOptions

#: name of the correlation of weighted traces among the accumulators of a shot
WEIGHTED = "offset-weighted correlation"

#: classes up to the largest offset when nobody says how far apart they lie
CLASSES = 20


@dataclass(frozen=True)
class OffsetAxis(LagAxis):
    """Classes of surface offset: half offsets between the wavefields are zero, `lags` are the offsets of classes."""

    @property
    def name(self) -> str:
        """``"offset"``."""
        return "offset"

    @property
    def key(self) -> str:
        """Name of the axis in files and datasets."""
        return "offset"

    @property
    def meaning(self) -> str:
        """Meaning of its numbers, in words."""
        return "offset of source and receiver, m"


@dataclass(frozen=True)
class OffsetClasses(Lags):
    """The offset gathers of a survey: classes and columns; they are summed and finished as half offsets are.

    Parameters
    ----------
    half_window : int
        Samples of depth on either side over which the offset that lights a point is found.
    """

    axes: tuple[OffsetAxis, ...]
    half_window: int = field(default=1, kw_only=True)

    @cached_property
    def shifts(self) -> NDArray[np.int64]:
        """Half offsets between the wavefields, (n, 2): zero for every class."""
        return np.zeros((len(self.centres), 2), np.int64)

    @property
    def centres(self) -> tuple[float, ...]:
        """Offsets of the classes, m, ascending."""
        return self.axes[0].lags

    def divided(self, image: NDArray[np.float64], weighted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the parts of an image of one shot that belong to every class, (..., classes, nz); their sum is it.

        Parameters
        ----------
        image, weighted : ndarray, (..., nz)
            Correlations of the traces, and of those that are weighted by their offsets.
        """
        first, step = self.centres[0], self.centres[1] - self.centres[0]
        lit = np.abs(lighting_offset(image, weighted, self.half_window))
        place = np.clip((lit - first) / step, 0.0, len(self.centres) - 1.0)
        below = np.floor(place)
        above = (place - below) * image
        out = np.zeros((*image.shape[:-1], len(self.centres), image.shape[-1]))
        for n in range(len(self.centres)):
            out[..., n, :] = np.where(below == n, image - above, 0.0) + np.where(below == n - 1, above, 0.0)
        return out


def lighting_offset(
    image: NDArray[np.float64], weighted: NDArray[np.float64], half_window: int
) -> NDArray[np.float64]:
    """Return the offset that lights every point of columns (..., nz), m; zero where the image is straight."""
    a, b = _second_difference(image), _second_difference(weighted)
    over, under = _smooth(a * b, half_window), _smooth(a * a, half_window)
    # the squares of what is far below single precision are noise
    seen = under > np.finfo(np.float64).tiny
    lit: NDArray[np.float64] = np.zeros(image.shape)
    np.divide(over, under, out=lit, where=seen)
    return lit


def _second_difference(a: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return second differences along the last axis, zero at both ends."""
    out = np.zeros(a.shape)
    out[..., 1:-1] = a[..., 2:] - 2.0 * a[..., 1:-1] + a[..., :-2]
    return out


def _smooth(a: NDArray[np.float64], half: int) -> NDArray[np.float64]:
    """Return the sum over a triangle of `half` samples on either side, along the last axis, in fixed order."""
    n = a.shape[-1]
    wide = np.pad(a, [(0, 0)] * (a.ndim - 1) + [(half, half)])
    out: NDArray[np.float64] = np.zeros(a.shape)
    for k in range(-half, half + 1):
        out += (1.0 - abs(k) / (half + 1.0)) * wide[..., half + k : half + k + n]
    return out


def offsets_of(shot: Shot, ndim: int) -> NDArray[np.float64]:
    """Return the horizontal offset of every receiver from the source, (nr,), m; with its sign in 2-D.

    A Fresnel zone around the source holds offsets of both signs: their mean is zero, that of their lengths is not.
    """
    apart = shot.rcv[:, :2] - shot.src[:2]
    if ndim == 2:
        return np.asarray(apart[:, 0], np.float64)
    return np.asarray(np.sqrt(apart[:, 0] * apart[:, 0] + apart[:, 1] * apart[:, 1]))


def offset_axis(options: GatherOptions, shots: Sequence[Shot], ndim: int) -> OffsetAxis:
    """Return the classes that options ask for, those of the survey where they are silent.

    The first class begins at zero: class n holds offsets around (n + 1/2) steps.

    Raises
    ------
    ConfigError
        E756: fewer than two classes.
    """
    most = (
        options.max
        if options.max is not None
        else max(float(np.abs(offsets_of(s, ndim)).max()) for s in shots)
    )
    step = options.step or _round_up(most / CLASSES)
    count = math.ceil(most / step - WHOLE) if step > 0 else 0
    if count < 2:
        raise ConfigError(
            f"offset gathers to max = {most:g} m in steps of {step:g} m: there is no second class",
            f"use a step of {most / 2:g} m or less, or a larger max"
            if most > 0
            else "leave them out: every receiver is at its source",
            code="E756",
        )
    return OffsetAxis(0, (0,) * count, tuple(step * (n + 0.5) for n in range(count)))


def _round_up(length: float) -> float:
    """Return the next length of the form 1, 2 or 5 times a power of ten; 0 of 0."""
    if length <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(length))
    return next(f * power for f in (1.0, 2.0, 5.0, 10.0) if f * power >= length * (1 - WHOLE))
