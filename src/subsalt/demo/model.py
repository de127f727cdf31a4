"""The earth model of the demo: VTI layers that dip, a salt body, and a flat reflector below it; built from formulas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel

#: 1500 x 1050 x 1275 m
GRID = Grid((101, 71, 86), (15.0, 15.0, 15.0))

SALT_CENTRE = (750.0, 525.0, 610.0)
SALT_AXES = (310.0, 260.0, 140.0)

Depth = Callable[[NDArray, NDArray], NDArray]


@dataclass(frozen=True)
class Reflector:
    """An interface with a known depth.

    Parameters
    ----------
    name : str
        For tables and pictures.
    depth : callable
        Depth in m as a function of x and y arrays, m.
    sign : int
        +1 where velocity rises across it, so that it images as a positive peak.
    where : tuple of float
        Local x, y around which its image is read, m.
    """

    name: str
    depth: Depth
    sign: int
    where: tuple[tuple[float, float], ...]


def _upper(x: NDArray, y: NDArray) -> NDArray:
    return 255.0 + 0.10 * (x - 750.0) + 0.0 * y


def _lower(x: NDArray, y: NDArray) -> NDArray:
    return 830.0 - 0.08 * (x - 750.0) + 0.06 * (y - 525.0)


def _salt_top(x: NDArray, y: NDArray) -> NDArray:
    r2 = ((x - SALT_CENTRE[0]) / SALT_AXES[0]) ** 2 + ((y - SALT_CENTRE[1]) / SALT_AXES[1]) ** 2
    with np.errstate(invalid="ignore"):  # nan beside the salt: there is no top
        return SALT_CENTRE[2] - SALT_AXES[2] * np.sqrt(1.0 - r2)


def _base(x: NDArray, y: NDArray) -> NDArray:
    return np.full(np.broadcast(x, y).shape, 1050.0)


REFLECTORS = (
    Reflector(
        "upper dipping layer", _upper, 1, ((600.0, 525.0), (750.0, 450.0), (750.0, 600.0), (900.0, 525.0))
    ),
    Reflector("top of salt", _salt_top, 1, ((690.0, 525.0), (750.0, 525.0), (810.0, 525.0), (750.0, 480.0))),
    Reflector(
        "lower dipping layer", _lower, 1, ((225.0, 525.0), (300.0, 450.0), (1125.0, 525.0), (1200.0, 525.0))
    ),
    Reflector(
        "flat reflector below salt",
        _base,
        1,
        ((690.0, 525.0), (750.0, 525.0), (810.0, 525.0), (750.0, 570.0)),
    ),
)


def true_model() -> EarthModel:
    """Return the model in which the survey is shot: layers, salt, base."""
    x, y, z = np.meshgrid(*(GRID.axis(i) for i in range(3)), indexing="ij")
    vp = np.full(GRID.shape, 1800.0, dtype=np.float32)
    epsilon, delta = np.zeros_like(vp), np.zeros_like(vp)
    for depth, v, e, d in (
        (_upper, 2100.0, 0.10, 0.05),
        (_lower, 2450.0, 0.14, 0.07),
        (_base, 3400.0, 0.10, 0.05),
    ):
        below = z >= depth(x, y)
        vp[below], epsilon[below], delta[below] = v, e, d
    r2 = sum(((a - c) / s) ** 2 for a, c, s in zip((x, y, z), SALT_CENTRE, SALT_AXES, strict=True))
    salt = r2 <= 1.0
    vp[salt], epsilon[salt], delta[salt] = 3800.0, 0.0, 0.0
    return EarthModel(GRID, vp, epsilon, delta)
