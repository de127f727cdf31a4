"""The interface of an earth model for migration, whether it lies in memory or is read in slabs."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box, Frame, Grid
from subsalt.errors import StabilityError
from subsalt.numerics.stencil import Stencil

if TYPE_CHECKING:
    from subsalt.earth.model import EarthModel
    from subsalt.earth.planes import Planes

Medium = Literal["isotropic", "vti", "tti"]
AnisotropyRule = Literal["lower-delta", "raise-epsilon", "reject"]

#: the volumes a model may have, in the order of its constructor
VOLUMES = ("vp", "epsilon", "delta", "theta", "phi")


#: default order in space, that of `PropagationOptions`
ORDER = 8


class ModelLike(Protocol):
    """A model on a grid: what it is as a whole in a few numbers, and its values in a box.

    `subsalt.earth.model.EarthModel` has all of it in memory, `subsalt.earth.streamed.StreamedModel` reads the planes
    of a box from files when it is asked for them. Both give the same bits.
    """

    @property
    def grid(self) -> Grid:
        """Where the values stand; local coordinates, m."""

    @property
    def frame(self) -> Frame:
        """Where the grid lies on the map."""

    def moved_to(self, frame: Frame) -> ModelLike:
        """Return the model at another place of the map; values are shared."""

    @property
    def medium(self) -> Medium:
        """``"isotropic"``, ``"vti"`` or ``"tti"``."""

    @property
    def tilt_is_idle(self) -> bool:
        """There is a tilt, but no anisotropy that it could turn."""

    @property
    def volumes(self) -> tuple[str, ...]:
        """Names of the parameters that the model has, of `VOLUMES`."""

    @property
    def vp_min(self) -> float:
        """Smallest vp, m/s."""

    @property
    def slowest(self) -> float:
        """Smallest phase velocity of P waves, m/s."""

    @property
    def slowest_by_depth(self) -> NDArray[np.float64]:
        """Smallest phase velocity of P waves at each depth of the grid, (nz,), m/s."""

    @property
    def fastest(self) -> float:
        """Largest P velocity in any direction, m/s."""

    def limits(self, name: str) -> tuple[float, float]:
        """Return the smallest and the largest value of a parameter."""

    def max_eigenvalue(self, stencil: Stencil | int) -> float:
        """Return the largest eigenvalue of -C L over all nodes, 1/s^2."""

    def stable_dt(self, stencil: Stencil | int = ORDER, *, order: int | None = None) -> float:
        """Return the largest stable time step, s."""

    def choose_dt(self, stencil: Stencil | int, dt: float | None = None, reserve: float = 0.0) -> float:
        """Return `dt` when it is stable, or 0.95 of the bound when it is None."""

    def as_medium(self, medium: str) -> ModelLike:
        """Return the model with what `medium` uses."""

    def anisotropy_gate(self, rule: AnisotropyRule = "lower-delta") -> tuple[ModelLike, int]:
        """Return the model with delta <= epsilon everywhere, and the number of nodes that were changed."""

    def window(self, box: Box) -> EarthModel:
        """Return the model in `box` of its grid, in memory; outside the grid the nearest value is continued."""

    def values(self, name: str, box: Box) -> NDArray[np.float32]:
        """Return one parameter in a box inside the grid, (nx, ny, nz) of the box."""

    def volume(self, name: str) -> NDArray[np.float32] | Planes | None:
        """Return one parameter as something that has planes along x; None when the model does not have it."""

    def at(self, positions: NDArray[np.float64], name: str = "vp") -> NDArray[np.float32]:
        """Return a parameter at the nodes nearest to local positions (n, 3), m; outside the grid that of its edge."""


class TimeStep:
    """The time step that the largest eigenvalue allows; `EarthModel` and `StreamedModel` share it."""

    def max_eigenvalue(self, stencil: Stencil | int) -> float:
        """Return the largest eigenvalue of -C L over all nodes, 1/s^2."""
        raise NotImplementedError

    def stable_dt(self, stencil: Stencil | int = ORDER, *, order: int | None = None) -> float:
        """Return the largest stable time step of the leapfrog scheme, s: 2 / sqrt(max_eigenvalue).

        Parameters
        ----------
        stencil : Stencil or int
            Weights in space; an order stands for the default ones.
        order : int, optional
            The order by its name in version 0.7.
        """
        if order is not None:
            warnings.warn("stable_dt(order=8) is now stable_dt(8)", DeprecationWarning, stacklevel=2)
            stencil = order
        return 2.0 / math.sqrt(self.max_eigenvalue(stencil))

    def choose_dt(self, stencil: Stencil | int, dt: float | None = None, reserve: float = 0.0) -> float:
        """Return `dt` when it is stable, or 0.95 of the bound when it is None.

        Parameters
        ----------
        stencil : Stencil or int
            Weights in space; an order stands for the default ones.
        dt : float, optional
            Time step asked for, s.
        reserve : float
            Part of the bound to be left free (`PropagationOptions.dt_reserve`).

        Raises
        ------
        StabilityError
            When `dt` is above the bound.
        """
        bound = self.stable_dt(stencil)
        if dt is None:
            return 0.95 * bound
        bound *= 1 - reserve
        if not 0 < dt <= bound:
            raise StabilityError(
                f"dt = {dt * 1e3:g} ms is above the stability bound of {bound * 1e3:.4g} ms ({Stencil.of(stencil)})",
                f"use dt <= {0.95 * bound * 1e3:.4g} ms, or leave dt out",
                code="E501",
            )
        return dt


def nearest_nodes(grid: Grid, positions: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the indices (n, 3) of the nodes nearest to local positions (n, 3), m, none outside the grid."""
    index = np.rint(grid.to_index(np.atleast_2d(positions))).astype(np.int64)
    return np.clip(index, 0, np.array(grid.shape3) - 1)
