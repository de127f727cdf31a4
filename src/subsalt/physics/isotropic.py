"""Isotropic constant-density acoustics: p_tt = v^2 (lap p + f)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.model import EarthModel
from subsalt.kernels.problem import Layout, Plane


def parameters(model: EarthModel, layout: Layout, dt: float, dtype: type = np.float32) -> dict[str, NDArray]:
    """Return the padded model arrays of the step: ``m`` = (vp dt)^2, dimension m^2.

    Parameters
    ----------
    model : EarthModel
        Model on the computational grid, layer included.
    layout : Layout
        Padding.
    dt : float
        Time step, s.
    """
    return {name: layout.pad_planes(plane, dtype) for name, plane in planes(model, layout, dt).items()}


def planes(model: EarthModel, layout: Layout, dt: float) -> dict[str, Plane]:
    """Return by array of `parameters` what makes the (ny, nz) points of one x index, in double precision."""
    vp = model.vp.reshape(layout.shape3)
    return {"m": lambda ix: (vp[ix].astype(np.float64) * dt) ** 2}
