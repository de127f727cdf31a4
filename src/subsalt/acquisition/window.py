"""The part of the model that a shot needs."""

from __future__ import annotations

import math

import numpy as np

from subsalt.acquisition.survey import Shot
from subsalt.earth.grid import Box
from subsalt.earth.model_like import ModelLike
from subsalt.errors import GeometryError


def shot_window(model: ModelLike, shot: Shot, aperture: float | None) -> Box:
    """Return the model window of a shot: its sources and receivers plus the aperture on both sides in x and y.

    Parameters
    ----------
    aperture : float or None
        m; None takes the whole model.

    Raises
    ------
    GeometryError
        When the window does not meet the model.
    """
    shape = model.grid.shape3
    if aperture is None:
        return Box((0, 0, 0), shape)
    index = model.grid.to_index(np.concatenate([shot.src[None], shot.rcv]))
    lo, hi = [0, 0, 0], list(shape)
    for axis in (0, 1):
        if axis == 1 and model.grid.ndim == 2:
            continue
        reach = aperture / model.grid.spacing3[axis]
        lo[axis] = max(0, math.floor(float(index[:, axis].min()) - reach))
        hi[axis] = min(shape[axis], math.ceil(float(index[:, axis].max()) + reach) + 1)
        if hi[axis] <= lo[axis]:
            raise GeometryError(
                f"shot {shot.id} lies outside the model by more than the aperture of {aperture:g} m",
                "correct the coordinates, or leave the shot out",
                code="E320",
            )
    return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))
