"""The models and layers that the lab times kernels on: one medium on n^3 points, different everywhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box
from subsalt.kernels import cpu
from subsalt.kernels.problem import Layout, Problem
from subsalt.numerics.stencil import radius_of

DT, SPACING = 1e-3, (10.0, 10.0, 10.0)
#: cells of each kind of layer on all six sides
LAYERS = {"none": 0, "pml": 12, "damping": 40}


def profile(n: int, width: int) -> NDArray[np.float64]:
    """Return a quadratic damping profile, 1/s."""
    s = np.zeros(n)
    ramp = 300.0 * ((1 + np.arange(width)) / max(width, 1)) ** 2
    s[:width], s[n - width :] = ramp[::-1], ramp
    return s


def axis_of(theta: NDArray, phi: NDArray) -> dict[str, NDArray]:
    """Return the components of the symmetry axis of tilt theta and azimuth phi, radians."""
    across = np.sin(theta)
    return {"nx": across * np.cos(phi), "ny": across * np.sin(phi), "nz": np.cos(theta)}


class KernelModel:
    """One medium on n^3 points, all points counted, on the host.

    Parameters
    ----------
    n : int
        Points per axis, layer included.
    medium : str
        ``"isotropic"``, ``"vti"`` or ``"tti"``.
    order : int
        Order of the stencil in space.
    """

    def __init__(self, n: int, medium: str, order: int) -> None:
        self.n, self.medium, self.order = n, medium, order
        self.layout = Layout((n, n, n), radius_of(order), 3)
        self.box = Box((0, 0, 0), self.layout.shape3)
        #: uniform in [0, 1), the source of every number here
        self.noise = np.random.default_rng(0).random(self.layout.shape3, dtype=np.float32)
        self.start = self.noise - np.float32(0.5)
        self.params = self._parameters()

    def _parameters(self) -> dict[str, NDArray]:
        """Return the model: 1400 to 4000 m/s, epsilon 0 to 0.25, delta -0.1 to 0, any tilt; different everywhere."""
        ranges = {"m": (2.0, 16.0)}
        if self.medium != "isotropic":
            ranges |= {"e": (1.0, 1.5), "s": (0.9, 1.0)}
        values = {name: lo + (hi - lo) * self.noise for name, (lo, hi) in ranges.items()}
        if self.medium == "tti":
            values |= axis_of(np.float32(np.pi / 2) * self.noise, np.float32(40.0) * self.noise)
        return {name: self._filled(v) for name, v in values.items()}

    def _upright(self, boundary: str) -> dict[str, NDArray]:
        """Return the model with the axis upright where the layer needs it: in a PML and the radius inside its edge."""
        if boundary != "pml" or self.medium != "tti":
            return dict(self.params)
        edge = LAYERS[boundary] + self.layout.radius
        inner = (slice(edge, -edge),) * 3
        values = {
            "nx": np.zeros_like(self.noise),
            "ny": np.zeros_like(self.noise),
            "nz": np.ones_like(self.noise),
        }
        for name, v in values.items():
            v[inner] = self.layout.view(self.params[name])[inner]
        return self.params | {name: self._filled(v) for name, v in values.items()}

    def _filled(self, values: NDArray) -> NDArray:
        out = cpu.allocate(self.layout)
        self.layout.view(out)[...] = values
        return out

    def problem(self, boundary: str) -> Problem:
        """Return the problem of a time step with a layer."""
        width = LAYERS[boundary]
        sigma = tuple(profile(n, width) for n in self.layout.shape3)
        decay = tuple(np.exp(-s * DT) for s in sigma)
        return Problem(
            self.layout,
            self.medium,
            self.order,
            DT,
            SPACING,
            self._upright(boundary),
            boundary,  # type: ignore[arg-type]
            (width,) * 6,
            sigma,  # type: ignore[arg-type]
            decay,  # type: ignore[arg-type]
        )
