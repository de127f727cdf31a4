"""Self-adjoint TTI acoustics: VTI with its symmetry axis along n (docs/theory/rtm.md).

    p_tt = v^2 [(1 + 2 epsilon) (lap - V) p + sqrt(1 + 2 delta) V q + ...]
    q_tt = v^2 [sqrt(1 + 2 delta) (lap - V) p + V q + ...]

V is the second derivative along n in the form ``V = sum_i D_i n_i sum_j n_j D_j`` plus a term of the order of the
scheme that keeps it from vanishing at the Nyquist wavenumber; rotated operators in this order of products are
self-adjoint whatever the tilt does from node to node (Zhang, Zhang and Zhang 2011, Geophysics 76).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.earth import tilt
from subsalt.earth.model import EarthModel
from subsalt.kernels.problem import Layout
from subsalt.physics import vti


def parameters(model: EarthModel, layout: Layout, dt: float, dtype: type = np.float32) -> dict[str, NDArray]:
    """Return the padded model arrays of the step: those of VTI and the axis ``nx``, ``ny`` (3-D only), ``nz``.

    Parameters
    ----------
    model : EarthModel
        On the computational grid, the tilt tapered towards its layer; theta None is upright.
    layout : Layout
        Padding.
    dt : float
        Time step, s.

    Raises
    ------
    ModelError
        When delta > epsilon anywhere: the model must pass `EarthModel.anisotropy_gate` first.

    Notes
    -----
    Single-precision components are rounded towards zero (`tilt.towards_zero`).
    """
    out = vti.parameters(model, layout, dt, dtype)
    names = ("nx", "ny", "nz") if layout.ndim == 3 else ("nx", "nz")
    padded: list[NDArray] = [np.zeros(layout.padded_shape, dtype=dtype) for _ in names]
    theta = None if model.theta is None else model.theta.reshape(layout.shape3)
    phi = None if model.phi is None else model.phi.reshape(layout.shape3)
    upright = np.zeros(layout.shape3[1:], dtype=np.float32)
    for ix in range(layout.shape3[0]):
        parts = tilt.axis(
            upright if theta is None else theta[ix], None if phi is None else phi[ix], layout.ndim
        )
        for a, part in zip(padded, parts, strict=True):
            layout.view(a)[ix] = part if dtype is np.float64 else tilt.towards_zero(part)
    return out | dict(zip(names, padded, strict=True))
