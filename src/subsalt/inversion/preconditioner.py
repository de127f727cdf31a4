"""Diagonal estimates of the inverse Hessian of a linearised survey, and masks of models.

The Hessian of least-squares migration is J^T J. Its diagonal is, but for the part of the receivers, the illumination by
the sources: the sum over time of the squared source wavefield that a perturbation scatters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.errors import ConfigError
from subsalt.numerics import fixedmath


def by_illumination(illumination: ArrayLike, floor: float = 0.01) -> NDArray[np.float64]:
    """Return ``1 / (I + floor mean(I))`` scaled to a mean of 1 where light comes, and 0 where none comes.

    Parameters
    ----------
    illumination : array_like
        Sum over shots and time of the squared source wavefield; 0 or more.
    floor : float
        Part of the mean that is added: nothing is made louder than ``(1 + floor) / floor`` times the mean.

    Raises
    ------
    ConfigError
        When no light comes anywhere (E894).
    """
    light = np.asarray(illumination, dtype=np.float64)
    mean = fixedmath.total(light) / light.size
    if not mean > 0:
        raise ConfigError(
            "the illumination is zero throughout: it preconditions nothing",
            'look at source positions and records; or use precondition = "depth" or "none"',
            code="E894",
        )
    out = np.where(light > 0, 1.0 / (light + floor * mean), 0.0)
    return normalised(out)


def by_depth(shape: tuple[int, ...], depths: ArrayLike, power: float = 1.0) -> NDArray[np.float64]:
    """Return weights that grow with depth to a power, scaled to a mean of 1.

    Parameters
    ----------
    shape : tuple of int
        Shape of the model, depth last.
    depths : array_like, (nz,)
        Depth below the sources of every sample, m; what lies above counts as the first step below.
    power : float
        1 undoes the spreading of source and receiver wavefields in 2-D, 2 in 3-D.
    """
    z = np.asarray(depths, dtype=np.float64)
    positive = z[z > 0]
    least = float(positive.min()) if positive.size else 1.0
    weights = fixedmath.power(np.maximum(z, least), power)
    return normalised(np.broadcast_to(weights, shape).copy())


def masked(weights: NDArray[np.float64], mask: ArrayLike | None) -> NDArray[np.float64]:
    """Return the weights where a mask is not zero, times it.

    Raises
    ------
    ConfigError
        When the mask has another shape, or values that are negative or not finite (E896).
    """
    if mask is None:
        return weights
    values = np.asarray(mask, dtype=np.float64)
    if values.shape != weights.shape:
        raise ConfigError(
            f"the mask has shape {values.shape}, the model {weights.shape}",
            "make the mask on the grid of the model",
            code="E896",
        )
    bad = int(np.count_nonzero(~np.isfinite(values) | (values < 0)))
    if bad:
        raise ConfigError(
            f"the mask is negative or not finite at {bad} of {values.size} points",
            "give 0 where the model is kept, 1 where it may change",
            code="E896",
        )
    return weights * values


def normalised(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights over their mean where they are not zero; as they are when all are."""
    some = weights[weights > 0]
    return weights if not some.size else weights * (some.size / fixedmath.total(some))
