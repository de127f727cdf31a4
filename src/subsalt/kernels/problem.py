"""The discretised problem of a time step (`Problem`) and its wavefield (`State`); the same for every device.

Model arrays may be stored as 16-bit numbers: half the bytes, at an error that is known beforehand. A packed array holds
u = 0 .. 65535 and stands for ``scale u + offset``:

- ``m`` = (vp dt)^2 has offset 0 and the scale of its maximum, so that halo, padding and a free surface stay exactly
  zero. Rounded to the nearest: velocity is off by at most ``scale / (4 m)`` of itself.
- ``e`` = 1 + 2 epsilon and ``s`` = sqrt(1 + 2 delta) have a power of two as scale and a multiple of it as offset. Their
  values are float32 numbers as they are, and 1 is one of them where the range holds it: isotropic nodes stay so. e is
  rounded up and s down: s^2 <= e, the condition of stability (delta <= epsilon), survives.

Unpacking gives the same float32 numbers in NumPy and in every compiled instruction set, so that the fields are those of
float32 storage on the unpacked model, bit for bit.

`Layout` is the layout of wavefields in memory; `Field` and `ModelArray` list the arrays of each medium.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError
from subsalt.numerics.side_by_side import cuts, each
from subsalt.numerics.stencil import Kind, Stencil

if TYPE_CHECKING:
    from subsalt.kernels.mirror import Mirror

#: makes the (ny, nz) points of one x index
Plane = Callable[[int], NDArray]

#: floats in front of z = 0 in every row: one AVX-512 vector, so that z = 0 is aligned and the halo fits for any order
Z_FRONT = 16

#: floats, 4096 bytes: rows or planes that far apart share the same few lines of a first-level cache, and a stencil
#: reads 9 of each
SAME_SETS = 1024


@dataclass(frozen=True)
class Field:
    """One row of the table of fields."""

    name: str
    symbol: str
    unit: str
    meaning: str
    in_state: bool  # part of what a checkpoint saves
    in_snapshot: bool  # part of the imaged field


@dataclass(frozen=True)
class ModelArray:
    """One row of the table of model arrays."""

    name: str
    symbol: str
    unit: str
    meaning: str


_ISOTROPIC = (ModelArray("m", "(v dt)^2", "m^2", "squared way of a P wave in one step"),)
_THOMSEN = (
    ModelArray("e", "1 + 2 epsilon", "1", "horizontal over vertical stiffness"),
    ModelArray("s", "sqrt(1 + 2 delta)", "1", "coupling of p and q"),
)
_AXIS = (
    ModelArray("nx", "sin theta cos phi", "1", "symmetry axis along x"),
    ModelArray("ny", "sin theta sin phi", "1", "symmetry axis along y"),
    ModelArray("nz", "cos theta", "1", "symmetry axis along z"),
)

#: wavefields of each medium
FIELDS: dict[str, tuple[Field, ...]] = {
    "isotropic": (Field("p", "p", "source unit / m", "pressure", True, True),),
    "vti": (
        Field("p", "p", "source unit / m", "horizontal stress", True, True),
        Field("q", "q", "source unit / m", "vertical stress", True, True),
    ),
    "tti": (
        Field("p", "p", "source unit / m", "stress across the symmetry axis", True, True),
        Field("q", "q", "source unit / m", "stress along the symmetry axis", True, True),
    ),
}

#: model arrays of the time step, padded like the wavefields; of the axis 2-D has no ny
PARAMETERS: dict[str, tuple[ModelArray, ...]] = {
    "isotropic": _ISOTROPIC,
    "vti": (*_ISOTROPIC, *_THOMSEN),
    "tti": (*_ISOTROPIC, *_THOMSEN, *_AXIS),
}

#: memory fields that a PML keeps along every axis, all of one size
MEMORY: dict[str, tuple[str, ...]] = {
    "isotropic": ("psi", "zeta"),
    "vti": ("psi", "zeta"),
    "tti": ("psi", "zeta", "zeta2"),
}


def parameter_names(medium: str, ndim: int) -> tuple[str, ...]:
    """Return the names of the model arrays of a medium in 2 or 3 dimensions, in the order of the table."""
    return tuple(row.name for row in PARAMETERS[medium] if ndim == 3 or row.name != "ny")


@dataclass(frozen=True)
class Layout:
    """Padded arrays of one computational grid: halo of `radius` planes in x and y, `Z_FRONT` floats before z = 0.

    A padded array has shape (nx + 2 radius, ny + 2 radius, row) in 3-D, with one row of y more where planes would meet
    in cache, and (nx + 2 radius, 1, row) in 2-D; `row` is a multiple of 16 and leaves at least `radius` floats behind
    the last point. Halo and padding of wavefields and of the
    model arrays are zero and stay zero.

    Parameters
    ----------
    shape3 : tuple of int
        (nx, ny, nz) of the computational grid, absorbing layer included; ny = 1 in 2-D.
    radius : int
        Half the order of the stencil.
    ndim : int
        2 or 3.
    """

    shape3: tuple[int, int, int]
    radius: int
    ndim: int

    @property
    def row(self) -> int:
        """Floats per padded row; never a multiple of 4096 bytes, which costs a third of the speed."""
        row = Z_FRONT + 16 * (-(-(self.shape3[2] + self.radius) // 16))
        return row if row % SAME_SETS else row + 16

    @property
    def y_halo(self) -> int:
        """Halo rows on each side in y."""
        return self.radius if self.ndim == 3 else 0

    @property
    def padded_shape(self) -> tuple[int, int, int]:
        """Shape of a padded array; with one row more in y where fewer planes then meet in cache."""
        nx, ny, _ = self.shape3
        rows = ny + 2 * self.y_halo
        met, met_with_one_more = (math.gcd(n * self.row, SAME_SETS) for n in (rows, rows + 1))
        if self.ndim == 3 and met >= SAME_SETS // 2 and met_with_one_more < met:
            rows += 1
        return nx + 2 * self.radius, rows, self.row

    @property
    def numbers(self) -> int:
        """Numbers of a padded array."""
        return math.prod(self.padded_shape)

    @property
    def interior(self) -> tuple[slice, slice, slice]:
        """Slices that select the (nx, ny, nz) points of a padded array."""
        nx, ny, nz = self.shape3
        r, h = self.radius, self.y_halo
        return slice(r, r + nx), slice(h, h + ny), slice(Z_FRONT, Z_FRONT + nz)

    def view(self, padded: NDArray) -> NDArray:
        """Return the interior of a padded array, without a copy."""
        return padded[self.interior]

    def pad(self, values: NDArray, dtype: type = np.float32) -> NDArray:
        """Return a zero-padded copy of an (nx, ny, nz) array."""
        out: NDArray = np.zeros(self.padded_shape, dtype=dtype)
        out[self.interior] = values
        return out

    def pad_planes(self, plane: Plane, dtype: type = np.float32) -> NDArray:
        """Return a zero-padded array of which ``plane(ix)`` makes the (ny, nz) points of one x index.

        What the planes are made from may be in double precision without a copy of the whole grid in it.
        """
        out: NDArray = np.zeros(self.padded_shape, dtype=dtype)
        inner = self.view(out)

        def fill(cut: slice) -> None:
            for ix in range(cut.start, cut.stop):
                inner[ix] = plane(ix)

        each(fill, cuts(self.shape3[0], math.prod(self.shape3)))
        return out


#: the largest 16-bit number
TOP = 65535

#: rounding of each array: m to the nearest number, e up, s down
ROUND = {"m": np.rint, "e": np.ceil, "s": np.floor}


@dataclass(frozen=True)
class Scale:
    """The values of an array of 16-bit numbers u: ``scale u + offset``; both are float32 numbers."""

    scale: float
    offset: float = 0.0

    @classmethod
    def from_zero(cls, largest: float) -> Scale:
        """Return the scale of values from 0 to `largest`, which is not exceeded."""
        scale = np.float32(largest / TOP)
        if float(scale * np.float32(TOP)) > largest:
            scale = np.nextafter(scale, np.float32(0))
        return cls(float(scale))

    @classmethod
    def between(cls, low: float, high: float) -> Scale:
        """Return the finest power of two whose 16-bit multiples hold [low, high] and are float32 numbers."""
        # one number less: low and high are rounded outwards to multiples of the scale
        finest = max((high - low) / (TOP - 1), max(abs(low), abs(high), 1.0) * 2.0**-23)
        scale = 2.0 ** math.ceil(math.log2(finest))
        return cls(scale, math.floor(low / scale) * scale)

    def pack(self, name: str, values: NDArray) -> NDArray[np.uint16]:
        """Return the 16-bit numbers of values of the array `name`; what is positive in m stays so."""
        u = ROUND[name]((np.asarray(values, dtype=np.float64) - self.offset) / self.scale)
        if name == "m":
            u = np.maximum(u, np.asarray(values) > 0)
        if not (u.min(initial=0) >= 0 and u.max(initial=0) <= TOP):
            raise ConfigError(
                f"values of {name} lie outside {self.offset:g} to {self.offset + TOP * self.scale:g}, which the "
                "16-bit numbers stand for",
                "make the scales from the whole model",
            )
        return u.astype(np.uint16)

    def unpack(self, u: NDArray[np.uint16]) -> NDArray[np.float32]:
        """Return the values as float32: one rounding for m, none for e and s."""
        return np.float32(self.scale) * u.astype(np.float32) + np.float32(self.offset)


def pack(problem: Problem) -> None:
    """Pack the float32 parameters of a problem in place, with scales from its own values.

    For benchmarks and tests; a survey takes its scales from the whole model (`subsalt.physics.storage`).

    Raises
    ------
    ConfigError
        For TTI, whose step computes more than it reads.
    """
    if problem.medium == "tti":
        raise ConfigError("model_storage = 'u16' with a TTI medium", "use f32", code="E123")
    for name, padded in list(problem.params.items()):
        inner = problem.layout.view(padded).astype(np.float64)
        scale = (
            Scale.from_zero(inner.max())
            if name == "m"
            else Scale.between(float(inner.min()), float(inner.max()))
        )
        problem.scales[name] = scale
        problem.params[name] = problem.layout.pad(scale.pack(name, inner), np.uint16)
    problem.cache.clear()


BoundaryKind = Literal["pml", "damping", "none"]

#: names of the wavefields of each medium, in the order of `State.curr`
FIELD_NAMES = {"isotropic": ("p",), "vti": ("p", "q"), "tti": ("p", "q")}

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
        Empty, or the scale of the 16-bit numbers of every array of `params`; `param` gives the values.
    stencil : {"taylor", "fitted"}
        Kind of the weights in space.
    mirror : Mirror, optional
        Operators of a free surface inside the grid; nodes above it have m = 0.
    depth_scale : ndarray, (nz,), float64, optional
        a = dzeta/dz at the nodes of a stretched depth axis, whose coordinate zeta has the spacing dz: the fields are
        then a^(1/2) p (`subsalt.kernels.depth_rows`). None: depth is uniform, and they are p.
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
    stencil: Kind = "taylor"
    mirror: Mirror | None = None
    depth_scale: NDArray[np.float64] | None = None
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
        """Names of the parameters that hold the symmetry axis, one per axis of `axes`; none except in TTI."""
        return tuple("n" + "xyz"[axis] for axis in self.axes) if self.medium == "tti" else ()

    @property
    def memory_kinds(self) -> tuple[str, ...]:
        """Memory fields that every axis with a PML has, all of one size."""
        return MEMORY[self.medium]

    def travelling(self, level: list[NDArray]) -> list[NDArray]:
        """Return the fields of a time level with derivatives along x, whose ghost planes travel: q only in TTI."""
        return level if self.medium == "tti" else level[:1]

    @property
    def weights(self) -> Stencil:
        """The weights of this order and kind."""
        return Stencil(self.order, self.stencil)

    @property
    def tilted(self) -> bool:
        """Whether the medium has the operators of a tilted axis."""
        return self.medium == "tti"

    def second(self, axis: int) -> NDArray:
        """Return c_0 .. c_M divided by h^2, in the dtype of the fields."""
        h = self.spacing3[axis]
        return np.array([c / h**2 for c in self.weights.second(self.tilted)], dtype=self.dtype)

    def first(self, axis: int) -> NDArray:
        """Return d_1 .. d_M divided by h, in the dtype of the fields."""
        h = self.spacing3[axis]
        return np.array([d / h for d in self.weights.first(self.tilted)], dtype=self.dtype)


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
    whole : bool
        Waves have come so far that no row is cut any more (`native/isa/front.hpp`); False where that is not known.
        It spares a look at every row and has no part in any number.
    """

    prev: list[NDArray]
    curr: list[NDArray]
    memory: dict[str, NDArray] = field(default_factory=dict)
    it: int = 0
    whole: bool = False

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
        self.it, self.whole = 0, False
