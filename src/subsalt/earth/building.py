"""The volumes of an earth model from its parameters: on one grid, smoothed, with one form of each axis.

Volumes stay planes, which are read from files and computed when somebody asks for them. A model in memory reads all of
them at once, a model of files some at a time, with the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.earth import director, tilt
from subsalt.earth.grid import Grid
from subsalt.earth.model import angle_problems, raise_problems, value_problems
from subsalt.earth.parameter import Parameter
from subsalt.earth.planes import Constant, Held, Mapped, Planes
from subsalt.earth.regrid import same_grid
from subsalt.earth.volumes import Angles, Axis, Part, Resampled, Smoothed
from subsalt.errors import ModelError
from subsalt.parallel.comm import Comm

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
        That for the symmetry axis, m; 0: none.
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
        Of the model.
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
            zero = Constant(self.grid.shape, 0.0)
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
        Between grids the axis is interpolated and not its angles, see `subsalt.earth.director`.
        """
        if angles is None:
            return {}
        axis = self._axis(*angles, comm)
        if self.smoothing.axis > 0:
            read = [axis.theta] if axis.phi is None else [axis.theta, axis.phi]
            average = Smoothed(read, self.grid, self.smoothing.axis, self.smoothing.top, self._director)
            axis = self._of_director(average.fields, read, average.step)
        return {"theta": axis.theta} | ({} if axis.phi is None else {"phi": axis.phi})

    def _on(self, grid: Grid, parameter: Parameter) -> Planes:
        """Return a parameter as planes of `grid`."""
        if parameter.depths is not None:
            profile = np.interp(grid.axis(-1), parameter.depths, np.asarray(parameter.values))
            return Constant(grid.shape, profile.astype(np.float32))
        if parameter.grid is None:
            assert isinstance(parameter.values, float)
            return Constant(grid.shape, parameter.values)
        self._refuse_other_grids(parameter, grid)
        values = _planes(parameter)
        return values if same_grid(parameter.grid, grid) else Resampled([values], parameter.grid, grid)

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
            "mend the header, or add [grid] to interpolate all on one",
            code="E402",
        )

    def _averaged(self, name: str, volume: Planes) -> Planes:
        """Return a smoothed volume; of vp the slowness is averaged, which keeps traveltimes."""

        def valid(a: Part) -> list[Part]:
            raise_problems(list(value_problems(name, a)))
            return [(1.0 / a).astype(np.float32) if name == "vp" else a]

        def back(averages: list[Part]) -> Part:
            return (np.float32(1.0) / averages[0]).astype(np.float32) if name == "vp" else averages[0]

        return Smoothed([volume], self.grid, self.smoothing.sigma, self.smoothing.top, valid, back)

    def _radians(self, parameter: Parameter, grid: Grid) -> Planes:
        """Return an angle on `grid`, radians; an azimuth from another grid by its direction on the map."""
        other = parameter.grid
        if not self.resampling or other is None or same_grid(other, grid) or other.ndim != grid.ndim:
            return Mapped(
                self._on(grid, parameter), lambda a: (DEGREE * a.astype(np.float64)).astype(np.float32)
            )

        def halved(a: Part) -> list[director.Field]:
            # half the angle: its director has the period of the angle itself
            return director.of_angles(0.5 * DEGREE * a.astype(np.float64), None)

        def doubled(parts: list[Part]) -> Part:
            return np.float32(2.0) * director.to_angles(list(parts))["theta"]

        return Resampled([_planes(parameter)], other, grid, halved, doubled)

    def _axis(self, read: list[Planes], home: Grid, comm: Comm) -> Axis:
        """Return the axis in the one form of `tilt.normalised`; collective, all must know whether any is turned."""
        grid, ndim = self.grid, self.grid.ndim
        turned = ndim == 3 and tilt.needs_turning(*limits_of(read[0], comm))

        def normalised(theta: Part, phi: Part | None = None) -> Angles:
            raise_problems(list(angle_problems(theta, phi, ndim)))
            return tilt.normalised(theta, phi, ndim, turned)

        if home is grid or home.ndim != ndim or same_grid(home, grid):
            step = max(p.step for p in read)
            azimuth = ndim == 3 and (len(read) > 1 or turned)
            return Axis(
                lambda lo, hi: normalised(*(p.read(lo, hi) for p in read)), grid.shape, read, step, azimuth
            )
        between = Resampled(read, home, grid, lambda *parts: self._director(*normalised(*parts)))
        return self._of_director(between.fields, read, between.step)

    def _director(self, theta: Part, phi: Part | None = None) -> list[director.Field]:
        """Return the field of an axis that can be interpolated and averaged."""
        if self.grid.ndim == 3 and phi is None:
            phi = np.zeros_like(theta)
        return director.of_angles(theta, phi)

    def _of_director(
        self, fields: Callable[[int, int], list[NDArray]], read: list[Planes], step: int
    ) -> Axis:
        """Return the axis of what became of a director."""
        ndim = self.grid.ndim

        def make(lo: int, hi: int) -> Angles:
            angles = director.to_angles(fields(lo, hi))
            return tilt.normalised(angles["theta"], angles.get("phi"), ndim, False)

        return Axis(make, self.grid.shape, read, step, ndim == 3)


def _planes(parameter: Parameter) -> Planes:
    values = parameter.values
    return values if isinstance(values, Planes) else Held(np.ascontiguousarray(values, dtype=np.float32))


def limits_of(planes: Planes, comm: Comm) -> tuple[float, float]:
    """Return the smallest and largest value of a volume; collective, every rank reads its share."""
    nx, low, high = len(planes), math.inf, -math.inf
    with comm.together():
        for _, part in planes.slabs(nx * comm.rank // comm.size, nx * (comm.rank + 1) // comm.size):
            low, high = min(low, float(part.min())), max(high, float(part.max()))
    return comm.min(low), comm.max(high)
