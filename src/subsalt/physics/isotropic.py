"""Isotropic constant-density acoustics: p_tt = v^2 (lap p + f)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.fields import Layout
from subsalt.model import EarthModel


def parameters(model: EarthModel, layout: Layout, dt: float, dtype: type = np.float32) -> dict[str, NDArray]:
    """Return the padded model arrays of the step: ``m`` = (vp dt)^2, dimension m^2.

    Parameters
    ----------
    model : EarthModel
        On the computational grid, layer included.
    layout : Layout
        Padding.
    dt : float
        Time step, s.
    """
    vp = model.vp.reshape(layout.shape3)
    return {"m": layout.pad_planes(lambda ix: (vp[ix].astype(np.float64) * dt) ** 2, dtype)}
