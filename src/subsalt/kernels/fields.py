"""How wavefields lie in memory, and the table of what a medium's state consists of."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.numerics.side_by_side import cuts, each

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
class Parameter:
    """One row of the table of model arrays."""

    name: str
    symbol: str
    unit: str
    meaning: str


_ISOTROPIC = (Parameter("m", "(v dt)^2", "m^2", "squared way of a P wave in one step"),)
_THOMSEN = (
    Parameter("e", "1 + 2 epsilon", "1", "horizontal over vertical stiffness"),
    Parameter("s", "sqrt(1 + 2 delta)", "1", "coupling of p and q"),
)
_AXIS = (
    Parameter("nx", "sin theta cos phi", "1", "symmetry axis along x"),
    Parameter("ny", "sin theta sin phi", "1", "symmetry axis along y"),
    Parameter("nz", "cos theta", "1", "symmetry axis along z"),
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
PARAMETERS: dict[str, tuple[Parameter, ...]] = {
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
