"""Model arrays in 16 bits: the scales of a survey, the error they mean, and the packed arrays of a window.

The scales come from the whole model, so that every window of it holds the same numbers. How values become 16-bit
numbers, and why the scheme stays stable, stands in `subsalt.kernels.problem`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.model import EarthModel
from subsalt.earth.model_like import ModelLike
from subsalt.errors import ConfigError
from subsalt.kernels.problem import TOP, Layout, Plane, Scale
from subsalt.physics import isotropic, vti

#: relative error of the velocity from which on it is worth a warning: 1 ms after a second
VELOCITY_ERROR = 1e-3

_PLANES = {"isotropic": isotropic.planes, "vti": vti.planes}


@dataclass(frozen=True)
class StorageError:
    """Largest difference between a model and what its 16-bit arrays stand for.

    Parameters
    ----------
    vp : float
        Relative to vp, at the slowest node.
    epsilon, delta : float
        Absolute: epsilon is too large, delta too small by up to this; 0 in isotropic media.
    """

    vp: float
    epsilon: float
    delta: float

    def __str__(self) -> str:
        text = f"vp within {self.vp:.1e} of itself"
        return (
            text + f", epsilon within {self.epsilon:.1e}, delta within {self.delta:.1e}"
            if self.epsilon
            else text
        )


def refuse_tti(medium: str, storage: str) -> None:
    """Refuse 16-bit storage of a TTI medium, whose step computes more than it reads.

    Raises
    ------
    ConfigError
        E123.
    """
    if storage == "u16" and medium == "tti":
        raise ConfigError(
            "model_storage = 'u16' in a TTI medium: 16-bit models are for isotropic and VTI media",
            "leave model_storage out, or use medium = 'vti' to ignore the tilt",
            code="E123",
        )


def scales_of(model: ModelLike, medium: str, dt: float) -> dict[str, Scale]:
    """Return the scale of the 16-bit numbers of each array.

    Parameters
    ----------
    model : ModelLike
        The whole model, past the gate.
    medium : {"isotropic", "vti"}
        Medium that it is propagated as.
    dt : float
        Time step, s.
    """
    scales = {"m": Scale.from_zero((model.limits("vp")[1] * dt) ** 2)}
    if medium == "isotropic":
        return scales
    low, high = model.limits("delta")  # near sources epsilon is lowered to delta
    scales["e"] = Scale.between(1 + 2 * low, 1 + 2 * model.limits("epsilon")[1])
    scales["s"] = Scale.between(np.sqrt(1 + 2 * low), np.sqrt(1 + 2 * high))
    return scales


def storage_error(model: ModelLike, medium: str) -> StorageError:
    """Return bounds of the error of 16-bit storage of a model.

    Notes
    -----
    m is off by half a number, v = sqrt(m) / dt by half of that in relative terms; e is rounded up and s down by less
    than a number, epsilon = (e - 1) / 2 and delta = (s^2 - 1) / 2.
    """
    slow, fast = model.limits("vp")
    vp = (fast / slow) ** 2 / (4 * TOP)
    if medium == "isotropic":
        return StorageError(vp, 0.0, 0.0)
    scales = scales_of(model, medium, 1.0)
    top = float(np.sqrt(1 + 2 * model.limits("delta")[1]))
    return StorageError(vp, scales["e"].scale / 2, top * scales["s"].scale)


def packed_parameters(
    model: EarthModel, medium: str, layout: Layout, dt: float, scales: dict[str, Scale]
) -> dict[str, NDArray[np.uint16]]:
    """Return the padded 16-bit arrays of the step for a window of the model, made plane by plane.

    Parameters
    ----------
    model : EarthModel
        Model on the computational grid, layer included.
    scales : dict of Scale
        Scales of the whole model (`scales_of`).
    """

    def packed(name: str, plane: Plane) -> NDArray[np.uint16]:
        return layout.pad_planes(lambda ix: scales[name].pack(name, plane(ix)), np.uint16)

    return {name: packed(name, plane) for name, plane in _PLANES[medium](model, layout, dt).items()}
