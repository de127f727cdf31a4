"""Self-adjoint VTI acoustics in stress form (Duveneck et al. 2008; Duveneck and Bakker 2011).

    p_tt = v^2 [(1 + 2 epsilon) (Dxx + Dyy) p + sqrt(1 + 2 delta) Dzz q + ...]
    q_tt = v^2 [sqrt(1 + 2 delta) (Dxx + Dyy) p + Dzz q + ...]

C = v^2 [[1 + 2 epsilon, s], [s, 1]] with s = sqrt(1 + 2 delta) is positive exactly where delta <= epsilon.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.model import EarthModel
from subsalt.errors import ModelError
from subsalt.kernels.problem import Layout, Plane
from subsalt.physics import isotropic


def parameters(model: EarthModel, layout: Layout, dt: float, dtype: type = np.float32) -> dict[str, NDArray]:
    """Return the padded model arrays of the step: ``m`` = (vp dt)^2, ``e`` = 1 + 2 epsilon, ``s`` = sqrt(1 + 2 delta).

    Raises
    ------
    ModelError
        When delta > epsilon anywhere: the model must pass `EarthModel.anisotropy_gate` first.
    """
    return {name: layout.pad_planes(plane, dtype) for name, plane in planes(model, layout, dt).items()}


def planes(model: EarthModel, layout: Layout, dt: float) -> dict[str, Plane]:
    """Return by array of `parameters` what makes the (ny, nz) points of one x index, in double precision."""
    assert model.epsilon is not None
    assert model.delta is not None
    if (model.delta > model.epsilon).any():
        raise ModelError(
            "delta exceeds epsilon at some nodes", "pass the model through anisotropy_gate", code="E520"
        )
    epsilon, delta = model.epsilon.reshape(layout.shape3), model.delta.reshape(layout.shape3)
    return isotropic.planes(model, layout, dt) | {
        "e": lambda ix: 1 + 2 * epsilon[ix].astype(np.float64),
        "s": lambda ix: np.sqrt(1 + 2 * delta[ix].astype(np.float64)),
    }
