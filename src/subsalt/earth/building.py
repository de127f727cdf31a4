"""The volumes of an earth model from its parameters: on one grid, smoothed, with one form of each axis.

Volumes are read from files and computed plane by plane, on demand. A model in memory reads all planes at once, a model
of files some at a time, with the same bits.

The symmetry axis of a tilted medium needs a form that can be averaged. An axis n and its opposite -n are the same, and
azimuths jump at 180 degrees, so that angles must be neither interpolated nor smoothed. Instead, the product n n is
averaged, which has no sign: in 2-D by the double angle, (cos 2 theta, sin 2 theta), in 3-D by its six components. The
axis of the average is its principal direction. All functions are those of `fixedmath`, since the axis affects the
image.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt import _native
from subsalt.earth import tilt
from subsalt.earth.grid import Frame, Grid
from subsalt.earth.model import angle_problems, raise_problems, value_problems
from subsalt.earth.planes import ConstantPlanes, InMemoryPlanes, MappedPlanes, Parameter, Planes
from subsalt.earth.volumes import Angles, Part, ResampledPlanes, SmoothedPlanes, SymmetryAxis, same_grid
from subsalt.errors import ModelError
from subsalt.numerics import fixedmath
from subsalt.numerics.side_by_side import cuts, each
from subsalt.parallel.comm import Comm

Field = NDArray[Any]

#: squarings of n n: the power 2^8 of its eigenvalues leaves 1e-11 of a second direction nine tenths as strong
SQUARINGS = 8


def of_angles(theta: NDArray, phi: NDArray | None) -> list[Field]:
    """Return the field that stands for the axis: two components without `phi` (2-D), six with it (3-D).

    Parameters
    ----------
    theta, phi : ndarray
        Tilt and azimuth, radians; in 2-D phi is None and theta has a sign.
    """
    if phi is None:
        return [fixedmath.cos(2.0 * theta), fixedmath.sin(2.0 * theta)]
    across = fixedmath.sin(theta)
    x, y, z = across * fixedmath.cos(phi), across * fixedmath.sin(phi), fixedmath.cos(theta)
    return [x * x, x * y, x * z, y * y, y * z, z * z]


def to_angles(field: list[Field]) -> dict[str, NDArray[np.float32]]:
    """Return theta (2-D: -90 to 90 degrees; 3-D: 0 to 90) and in 3-D phi of an averaged director, radians.

    Notes
    -----
    Where an average has no direction (axes at right angles in equal parts), some axis of them is returned. In 3-D it is
    the principal direction of the average, found by compiled code (``native/signal/director.hpp``).
    """
    if len(field) == 2:
        c, s = (np.asarray(a, dtype=np.float64) for a in field)
        return {"theta": (0.5 * _angle(s, c)).astype(np.float32)}
    shape = field[0].shape
    parts = [np.ascontiguousarray(a, dtype=np.float64).reshape(-1) for a in field]
    theta, phi = np.empty(parts[0].size, np.float32), np.empty(parts[0].size, np.float32)

    def some(cut: slice) -> None:
        _native.principal_angles(*(a[cut] for a in parts), theta[cut], phi[cut], SQUARINGS)

    each(some, cuts(theta.size, theta.size))
    return {"theta": theta.reshape(shape), "phi": phi.reshape(shape)}


def _angle(y: Field, x: Field) -> Field:
    """Return the angle of the vector (x, y) in -pi to pi; 0 where it has no length."""
    length = np.sqrt(x * x + y * y)
    length = np.where(length > 0, length, 1.0)
    # the arc sine of the smaller component: that of a value near one loses half of its digits
    small = fixedmath.asin(np.minimum(np.minimum(np.abs(x), np.abs(y)) / length, 1.0))
    a = np.where(np.abs(y) > np.abs(x), 0.5 * fixedmath.PI - small, small)
    a = np.where(x < 0, fixedmath.PI - a, a)
    return np.where(y < 0, -a, a)


#: one degree, radians
DEGREE = math.pi / 180.0


@dataclass(frozen=True)
class Smoothing:
    """The Gaussian averages of a model.

    Parameters
    ----------
    sigma : float
        Standard deviation for slowness, epsilon and delta, m; 0: none.
    axis : float
        Length for the symmetry axis, m; 0: none.
    top : float, optional
        Depth above which nothing is changed, m.
    """

    sigma: float = 0.0
    axis: float = 0.0
    top: float | None = None


@dataclass(frozen=True)
class Builder:
    """Makes the volumes of a model out of its parameters.

    Parameters
    ----------
    grid : Grid
        Grid of the model.
    resampling : bool
        Volumes on other grids are interpolated; else they are refused.
    smoothing : Smoothing
        After that.
    """

    grid: Grid
    resampling: bool
    smoothing: Smoothing

    def scalars(self, given: dict[str, Parameter]) -> dict[str, Planes]:
        """Return vp, epsilon and delta; of the last two both or none.

        Raises
        ------
        ModelError
            When a volume stands on another grid and nothing asks for interpolation.
        """
        volumes: dict[str, Planes] = {}
        for name in ("vp", "epsilon", "delta"):
            if name in given:
                volumes[name] = self._on(self.grid, given[name])
        if "epsilon" in volumes or "delta" in volumes:
            zero = ConstantPlanes(self.grid.shape, 0.0)
            volumes |= {n: volumes.get(n, zero) for n in ("epsilon", "delta")}
        if self.smoothing.sigma > 0:
            volumes = {n: self._averaged(n, p) for n, p in volumes.items()}
        return volumes

    def angles(self, given: dict[str, Parameter]) -> tuple[list[Planes], Grid] | None:
        """Return theta and, where it is given, phi, radians, and the grid of the first of them; None without theta."""
        if "theta" not in given:
            return None
        angles = [given[name] for name in ("theta", "phi") if name in given]
        own = [p.grid for p in angles if p.grid is not None]
        home = own[0] if self.resampling and own else self.grid
        return [self._radians(p, home) for p in angles], home

    def axis(self, angles: tuple[list[Planes], Grid] | None, comm: Comm) -> dict[str, Planes]:
        """Return theta and, where it is not zero, phi of the symmetry axis; empty without `angles`; collective.

        Notes
        -----
        Between grids the axis is interpolated and not its angles.
        """
        if angles is None:
            return {}
        axis = self._axis(*angles, comm)
        if self.smoothing.axis > 0:
            read = [axis.theta] if axis.phi is None else [axis.theta, axis.phi]
            average = SmoothedPlanes(read, self.grid, self.smoothing.axis, self.smoothing.top, self._director)
            axis = self._of_director(average.fields, read, average.step)
        return {"theta": axis.theta} | ({} if axis.phi is None else {"phi": axis.phi})

    def _on(self, grid: Grid, parameter: Parameter) -> Planes:
        """Return a parameter as planes of `grid`."""
        if parameter.depths is not None:
            profile = np.interp(grid.axis(-1), parameter.depths, np.asarray(parameter.values))
            return ConstantPlanes(grid.shape, profile.astype(np.float32))
        if parameter.grid is None:
            assert isinstance(parameter.values, float)
            return ConstantPlanes(grid.shape, parameter.values)
        self._refuse_other_grids(parameter, grid)
        values = _planes(parameter)
        return values if same_grid(parameter.grid, grid) else ResampledPlanes([values], parameter.grid, grid)

    def _refuse_other_grids(self, parameter: Parameter, grid: Grid) -> None:
        """Raise when a volume of a file cannot be had on `grid`."""
        name, own = parameter.name, parameter.grid
        assert own is not None
        if own.ndim != grid.ndim:
            raise ModelError(
                f"{name} has {own.ndim} axes, the grid has {grid.ndim}",
                "use models of the same dimension",
                code="E401",
            )
        if self.resampling or same_grid(own, grid):
            return
        if own.shape != grid.shape:
            raise ModelError(
                f"{name} has shape {own.shape}, the grid has {grid.shape}",
                f"resample {name} to the grid, or add [grid] to interpolate all on one",
                code="E401",
            )
        raise ModelError(
            f"{name} has spacing {own.spacing} and origin {own.origin}, "
            f"vp has {grid.spacing} and {grid.origin}",
            "correct the header, or add [grid] to interpolate all on one",
            code="E402",
        )

    def _averaged(self, name: str, volume: Planes) -> Planes:
        """Return a smoothed volume; of vp the slowness is averaged, which keeps traveltimes."""

        def valid(a: Part) -> list[Part]:
            raise_problems(list(value_problems(name, a)))
            return [(1.0 / a).astype(np.float32) if name == "vp" else a]

        def back(averages: list[Part]) -> Part:
            return (np.float32(1.0) / averages[0]).astype(np.float32) if name == "vp" else averages[0]

        return SmoothedPlanes([volume], self.grid, self.smoothing.sigma, self.smoothing.top, valid, back)

    def _radians(self, parameter: Parameter, grid: Grid) -> Planes:
        """Return an angle on `grid`, radians; an azimuth from another grid by its direction on the map."""
        other = parameter.grid
        if not self.resampling or other is None or same_grid(other, grid) or other.ndim != grid.ndim:
            return MappedPlanes(
                self._on(grid, parameter), lambda a: (DEGREE * a.astype(np.float64)).astype(np.float32)
            )

        def halved(a: Part) -> list[Field]:
            # half the angle: its director has the period of the angle itself
            return of_angles(0.5 * DEGREE * a.astype(np.float64), None)

        def doubled(parts: list[Part]) -> Part:
            return np.float32(2.0) * to_angles(list(parts))["theta"]

        return ResampledPlanes([_planes(parameter)], other, grid, halved, doubled)

    def _axis(self, read: list[Planes], home: Grid, comm: Comm) -> SymmetryAxis:
        """Return the axis in the one form of `tilt.normalised`; collective, all must know whether any is turned."""
        grid, ndim = self.grid, self.grid.ndim
        turned = ndim == 3 and tilt.needs_turning(*limits_of(read[0], comm))

        def normalised(theta: Part, phi: Part | None = None) -> Angles:
            raise_problems(list(angle_problems(theta, phi, ndim)))
            return tilt.normalised(theta, phi, ndim, turned)

        if home is grid or home.ndim != ndim or same_grid(home, grid):
            step = max(p.step for p in read)
            azimuth = ndim == 3 and (len(read) > 1 or turned)
            return SymmetryAxis(
                lambda lo, hi: normalised(*(p.read(lo, hi) for p in read)), grid.shape, read, step, azimuth
            )
        between = ResampledPlanes(read, home, grid, lambda *parts: self._director(*normalised(*parts)))
        return self._of_director(between.fields, read, between.step)

    def _director(self, theta: Part, phi: Part | None = None) -> list[Field]:
        """Return the field of an axis that can be interpolated and averaged."""
        if self.grid.ndim == 3 and phi is None:
            phi = np.zeros_like(theta)
        return of_angles(theta, phi)

    def _of_director(
        self, fields: Callable[[int, int], list[NDArray]], read: list[Planes], step: int
    ) -> SymmetryAxis:
        """Return the axis of what became of a director."""
        ndim = self.grid.ndim

        def make(lo: int, hi: int) -> Angles:
            angles = to_angles(fields(lo, hi))
            return tilt.normalised(angles["theta"], angles.get("phi"), ndim, False)

        return SymmetryAxis(make, self.grid.shape, read, step, ndim == 3)


def _planes(parameter: Parameter) -> Planes:
    values = parameter.values
    return (
        values
        if isinstance(values, Planes)
        else InMemoryPlanes(np.ascontiguousarray(values, dtype=np.float32))
    )


def limits_of(planes: Planes, comm: Comm) -> tuple[float, float]:
    """Return the smallest and largest value of a volume; collective, every rank reads its share."""
    nx, low, high = len(planes), math.inf, -math.inf
    with comm.together():
        for _, part in planes.slabs(nx * comm.rank // comm.size, nx * (comm.rank + 1) // comm.size):
            low, high = min(low, float(part.min())), max(high, float(part.max()))
    return comm.min(low), comm.max(high)


def azimuths_on_grid(phi: Parameter, frame: Frame) -> Parameter:
    """Return azimuths as they are counted on the grid, from local x towards local y, degrees.

    Parameters
    ----------
    phi : Parameter
        Its ``given["counted_from"]`` says where its values are counted from: ``"x"`` (or nothing) local x, towards
        local y; ``"map x"`` map x, towards map y; ``"north"`` map y, clockwise.
    frame : Frame
        Frame of the local coordinates.
    """
    start: tilt.CountedFrom = phi.given.get("counted_from", "x")
    if start == "x":
        return phi

    def turned(values: NDArray[Any] | float) -> NDArray[np.float32]:
        given = np.asarray(values, np.float64)
        on_map = 90.0 - given if start == "north" else given
        local = on_map - math.degrees(frame.azimuth)
        local = -local if frame.flip else local
        if phi.depths is not None:
            # one turn for all depths: between two of them the angle itself is interpolated
            return (local - 360.0 * np.round(np.mean(local) / 360.0)).astype(np.float32)
        # above -180 up to 180, whatever was given
        return (180.0 - np.mod(180.0 - local, 360.0)).astype(np.float32)

    values = phi.values
    if isinstance(values, Planes):
        return replace(phi, values=MappedPlanes(values, turned))
    return replace(phi, values=float(turned(values)) if np.ndim(values) == 0 else turned(values))
