"""What a time step needs to know (`Problem`) and what it advances (`State`); the same for every device."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.kernels.fields import MEMORY, Layout
from subsalt.kernels.packing import Scale
from subsalt.numerics.stencil import first_derivative, second_derivative

BoundaryKind = Literal["pml", "damping", "none"]

#: names of the wavefields of each medium, in the order of `State.curr`
FIELD_NAMES = {"isotropic": ("p",), "vti": ("p", "q"), "tti": ("p", "q")}

#: share of the Laplacian in V w = D.(n (n.D w)) + share (lap - D.D) w: it keeps the pseudo-S wave of the shortest
#: wavelengths away from the P wave; constant in space, or the operator is no longer symmetric (physics page, 2.1)
TILT_SHARE = 0.2


#: in the cache of a problem: what a device made of its parameters alone, for all problems that have the same arrays
MODEL = "model"


@dataclass
class Problem:
    """One medium on one computational grid, discretised: everything that stays constant over the time steps.

    Parameters
    ----------
    layout : Layout
        Shape and padding of the arrays.
    medium : str
        ``"isotropic"``, ``"vti"`` or ``"tti"``.
    order : int
        Order of the stencil in space.
    dt : float
        Time step, s.
    spacing3 : tuple of float
        (dx, dy, dz), m; dy is not used in 2-D.
    params : dict of ndarray
        Padded arrays: ``m`` = (vp dt)^2, for VTI and TTI ``e`` = 1 + 2 epsilon, ``s`` = sqrt(1 + 2 delta), and
        for TTI the symmetry axis ``nx``, ``ny`` (3-D only), ``nz``: a unit vector. Zero in halo and padding. In
        the PML and the `radius` cells inside its edge the axis must be vertical.
    boundary : {"pml", "damping", "none"}
        Absorbing layer.
    widths : tuple of int
        Cells of the layer at x low, x high, y low, y high, z low, z high; 0 where there is none.
    sigma : tuple of ndarray, 3 x (n,), float64
        Damping profile per axis, 1/s, zero outside the layer.
    decay : tuple of ndarray, 3 x (n,), float64
        exp(-sigma dt) per axis, 1 outside the layer.
    free_surface : bool
        Row z = 0 is the surface: p = q = 0 there, odd images above.
    dtype : numpy float type
        float32, or float64 on the reference device.
    scales : dict of Scale
        Empty, or for every array of `params` what its 16-bit numbers stand for; `param` gives the values.
    """

    layout: Layout
    medium: str
    order: int
    dt: float
    spacing3: tuple[float, float, float]
    params: dict[str, NDArray]
    boundary: BoundaryKind = "none"
    widths: tuple[int, int, int, int, int, int] = (0, 0, 0, 0, 0, 0)
    sigma: tuple[NDArray, NDArray, NDArray] | None = None
    decay: tuple[NDArray, NDArray, NDArray] | None = None
    free_surface: bool = False
    dtype: type = np.float32
    scales: dict[str, Scale] = field(default_factory=dict)
    cache: dict[str, object] = field(default_factory=dict, repr=False)  # what a device derives once

    @property
    def model_storage(self) -> str:
        """``"f32"``, or ``"u16"`` when the parameters are packed into 16 bits."""
        return "u16" if self.scales else "f32"

    def param(self, name: str) -> NDArray:
        """Return a parameter as padded values in the dtype of the fields, unpacked when it is packed (a copy then)."""
        if not self.scales:
            return self.params[name]
        return self.layout.pad(self.scales[name].unpack(self.layout.view(self.params[name])), self.dtype)

    @property
    def radius(self) -> int:
        """Stencil radius M."""
        return self.layout.radius

    @property
    def axes(self) -> tuple[int, ...]:
        """Axes that have derivatives: 0, 1, 2, or 0, 2 in 2-D."""
        return (0, 1, 2) if self.layout.ndim == 3 else (0, 2)

    @property
    def n_fields(self) -> int:
        """Wavefields of the medium: 1, or 2 for VTI and TTI."""
        return len(FIELD_NAMES[self.medium])

    @property
    def axis_names(self) -> tuple[str, ...]:
        """Names of the parameters that hold the symmetry axis, one per axis of `axes`; none but for TTI."""
        return tuple("n" + "xyz"[axis] for axis in self.axes) if self.medium == "tti" else ()

    @property
    def memory_kinds(self) -> tuple[str, ...]:
        """Memory fields that every axis with a PML has, all of one size."""
        return MEMORY[self.medium]

    def travelling(self, level: list[NDArray]) -> list[NDArray]:
        """Return the fields of a time level with derivatives along x, whose ghost planes travel: q only in TTI."""
        return level if self.medium == "tti" else level[:1]

    def second(self, axis: int) -> NDArray:
        """Return c_0 .. c_M divided by h^2, in the dtype of the fields."""
        h = self.spacing3[axis]
        return np.array([c / h**2 for c in second_derivative(self.order)], dtype=self.dtype)

    def first(self, axis: int) -> NDArray:
        """Return d_1 .. d_M divided by h, in the dtype of the fields."""
        h = self.spacing3[axis]
        return np.array([d / h for d in first_derivative(self.order)], dtype=self.dtype)


@dataclass
class State:
    """Two time levels of every wavefield, the memory of the layer, and the index of the current sample.

    Parameters
    ----------
    prev, curr : list of ndarray
        Padded arrays u[it-1], u[it], one per field.
    memory : dict of ndarray
        Memory fields of the layer; their format belongs to the device.
    it : int
        Time index of `curr`.
    """

    prev: list[NDArray]
    curr: list[NDArray]
    memory: dict[str, NDArray] = field(default_factory=dict)
    it: int = 0

    def rotate(self) -> None:
        """Make the freshly written level the current one."""
        self.prev, self.curr = self.curr, self.prev
        self.it += 1

    def arrays(self) -> list[NDArray]:
        """Return every array that a restart needs."""
        return [*self.prev, *self.curr, *(self.memory[k] for k in sorted(self.memory))]

    def clear(self) -> None:
        """Set everything to zero and the time index to 0."""
        for a in self.arrays():
            a.fill(0)
        self.it = 0
