"""The earth model: vp, Thomsen parameters and tilt on a grid, its validity, and the stable time step of the scheme."""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.earth import tilt
from subsalt.earth.extremes import WaveExtremes, finite_range, wave_extremes
from subsalt.earth.grid import Box, Frame, Grid
from subsalt.earth.model_like import VOLUMES, AnisotropyRule, Medium, ModelLike, TimeStep, nearest_nodes
from subsalt.errors import ConfigError, Finding, ModelError
from subsalt.extensions import library
from subsalt.numerics.depth_axis import potential
from subsalt.numerics.side_by_side import cuts, each
from subsalt.numerics.stencil import Stencil

if TYPE_CHECKING:
    import xarray

__all__ = ["AnisotropyRule", "EarthModel", "Medium", "ModelLike"]

#: largest rounding error of an angle of pi or 2 pi in float32
_ANGLE_ROUNDING = 1e-6

#: units of the volumes, for messages
_UNITS = {"vp": "m/s", "epsilon": "fractions", "delta": "fractions", "theta": "radians", "phi": "radians"}


def _volume(name: str, values: ArrayLike, grid: Grid) -> NDArray[np.float32]:
    """Return `values` as a C-ordered float32 array on `grid`, or say why not."""
    a = np.asarray(values)
    if a.dtype.kind not in "fiu":
        raise ModelError(
            f"{name} is not real numbers: {values!r:.60}"
            if a.ndim == 0
            else f"{name} holds {a.dtype}, not real numbers",
            f"give {name} as a number or an array in {_UNITS[name]}",
            code="E405",
        )
    if a.ndim == 0:
        return np.full(grid.shape, a, dtype=np.float32)
    if a.shape != grid.shape:
        raise ModelError(
            f"{name} has shape {a.shape}, the grid has {grid.shape}",
            f"resample {name} to the grid",
            code="E401",
        )
    return np.ascontiguousarray(a, dtype=np.float32)


@dataclass
class EarthModel(TimeStep):
    """P velocity, Thomsen parameters and the tilt of their symmetry axis on a grid.

    Parameters
    ----------
    grid : Grid
        Grid of the values; local coordinates, m.
    vp : array_like, (nx, nz) or (nx, ny, nz), float32, or a number
        P velocity along the symmetry axis, m/s, positive.
    epsilon, delta : array_like of the same shape, or a number, optional
        Thomsen parameters, fractions. Both None: isotropic. One None: taken as zero.
    theta : array_like of the same shape, or a number, optional
        Tilt of the symmetry axis from +z, radians, -pi to pi. None: upright.
    phi : array_like of the same shape, or a number, optional
        Azimuth of the axis from +x towards +y, radians, -2 pi to 2 pi; None: zero. Without theta it has no meaning and
        is dropped. In 2-D the axis lies in the plane: phi is 0 or pi, and theta is positive towards +x.
    frame : Frame
        Position of the grid on the map.

    Raises
    ------
    ModelError
        On wrong shapes, values that are not finite, vp <= 0, 1 + 2 epsilon <= 0 or 1 + 2 delta <= 0, angles outside
        their range, or a 2-D model with an axis outside its plane.

    Notes
    -----
    delta <= epsilon is a condition of stability; `anisotropy_gate` repairs or refuses the nodes that break it.

    The axis ``(sin theta cos phi, sin theta sin phi, cos theta)`` has no arrow; theta and phi are kept in one form of
    each axis (`tilt.normalised`): theta from 0 to pi/2 in 3-D, above -pi/2 up to pi/2 in 2-D.
    """

    grid: Grid
    vp: NDArray[np.float32]
    epsilon: NDArray[np.float32] | None = None
    delta: NDArray[np.float32] | None = None
    theta: NDArray[np.float32] | None = None
    phi: NDArray[np.float32] | None = None
    frame: Frame = field(default_factory=Frame)
    _tilted: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        self.vp = _volume("vp", self.vp, self.grid)
        if self.epsilon is not None or self.delta is not None:
            self.epsilon = _volume("epsilon", 0.0 if self.epsilon is None else self.epsilon, self.grid)
            self.delta = _volume("delta", 0.0 if self.delta is None else self.delta, self.grid)
        self.theta = None if self.theta is None else _volume("theta", self.theta, self.grid)
        self.phi = None if self.phi is None or self.theta is None else _volume("phi", self.phi, self.grid)
        raise_problems(self.problems())
        if self.theta is not None:
            self.theta, self.phi = tilt.normalised(self.theta, self.phi, self.grid.ndim)
            self._tilted = bool(self.theta.any())

    def _repr_html_(self) -> str:
        return str(library("notebook_html").of_model(self))

    def to_xarray(self) -> xarray.Dataset:
        """Return the model as a dataset of xarray.

        Returns
        -------
        xarray.Dataset
            A variable for every parameter of the model, on dimensions x, (y,) z in m; z is positive down. Units are
            written as in the CF conventions; angles are in radians. Attributes hold the frame.

        Raises
        ------
        MissingInputError
            When xarray is not installed (E118).
        """
        dataset: xarray.Dataset = library("xarray_models").of_model(self)
        return dataset

    @classmethod
    def from_xarray(cls, dataset: Any) -> EarthModel:
        """Return the model of a dataset of xarray; the inverse of `to_xarray`, bit for bit.

        Parameters
        ----------
        dataset : xarray.Dataset or xarray.DataArray
            Variable ``vp``, and ``epsilon``, ``delta``, ``theta``, ``phi`` where it has them, on dimensions x, (y,) z
            in any order. Coordinates and values state their units; km, ft, km/s and degrees are converted. A DataArray
            without a name is vp.

        Raises
        ------
        DataError
            When a variable, coordinates or units are missing, or coordinates are not evenly spaced (E119).
        MissingInputError
            When xarray is not installed (E118).
        ModelError
            For values that are none of a model.

        Warns
        -----
        UserWarning
            When velocities look like those of another unit than their label says, with the code that `subsalt check`
            has for it, such as E412 for km/s.
        """
        model: EarthModel = library("xarray_models").to_model(dataset)
        return model

    def moved_to(self, frame: Frame) -> EarthModel:
        """Return the model at another place of the map; values are shared."""
        if frame == self.frame:
            return self
        moved = copy(self)
        moved.frame = frame
        return moved

    @property
    def medium(self) -> Medium:
        """``"isotropic"`` without Thomsen parameters, ``"tti"`` with a tilt that is not all zero, else ``"vti"``."""
        if self.epsilon is None:
            return "isotropic"
        return "tti" if self._tilted else "vti"

    @property
    def volumes(self) -> tuple[str, ...]:
        """Names of the parameters that the model has: vp, epsilon, delta, theta, phi."""
        return tuple(name for name in VOLUMES if getattr(self, name) is not None)

    def limits(self, name: str) -> tuple[float, float]:
        """Return the smallest and the largest value of a parameter."""
        span = finite_range(getattr(self, name))
        return span.low, span.high

    @property
    def tilt_is_idle(self) -> bool:
        """There is a tilt, but no anisotropy that it could turn."""
        return self._tilted and not any(a is not None and a.any() for a in (self.epsilon, self.delta))

    def as_medium(self, medium: str) -> EarthModel:
        """Return the model with what `medium` uses: ``"isotropic"`` drops anisotropy and tilt, ``"vti"`` the tilt.

        Under ``"tti"`` a model without theta gets one of zeros, so that its time step is that of the tilted scheme.
        """
        if medium == "isotropic":
            plain = self.epsilon is None and self.theta is None
            return self if plain else replace(self, epsilon=None, delta=None, theta=None, phi=None)
        if medium == "vti":
            return self if self.theta is None else replace(self, theta=None, phi=None)
        return self if self.theta is not None else replace(self, theta=np.zeros_like(self.vp))

    def problems(self) -> list[Finding]:
        """Return the problems of the values (not the shape): not finite, or outside the range of their name."""
        named = (("vp", self.vp), ("epsilon", self.epsilon), ("delta", self.delta))
        out = [f for name, a in named if a is not None for f in value_problems(name, a)]
        return out + list(angle_problems(self.theta, self.phi, self.grid.ndim))

    @property
    def vp_min(self) -> float:
        """Smallest vp, m/s."""
        return float(self.vp.min())

    @property
    def slowest(self) -> float:
        """Smallest phase velocity of P waves, v sqrt(1 + 2 min(0, delta, epsilon)), m/s; rules dispersion."""
        if self.epsilon is None or self.delta is None:
            return self.vp_min
        return float(self.slowest_by_depth.min())

    @property
    def slowest_by_depth(self) -> NDArray[np.float64]:
        """Smallest phase velocity of P waves at each depth of the grid, (nz,), m/s."""
        return self.extremes().slowest_by_depth

    @property
    def fastest(self) -> float:
        """Largest P velocity in any direction, v sqrt(1 + 2 max(0, epsilon)), m/s; rules the absorbing layer."""
        return self.extremes().fastest

    def max_eigenvalue(self, stencil: Stencil | int) -> float:
        """Return the largest eigenvalue of -C L over all nodes, 1/s^2 (physics page, section 3).

        Notes
        -----
        With a = S (1/dx^2 + 1/dy^2), b = S / dz^2 and T = (1 + 2 epsilon) a + b::

            isotropic  v^2 (a + b)
            VTI        v^2 (T + sqrt(T^2 - 8 (epsilon - delta) a b)) / 2
            TTI        v^2 max(1, 1 + 2 epsilon) (a + b)

        That of TTI, taken whenever there is a theta, holds for any tilt field. On a stretched depth axis b is a number
        of each depth.
        """
        return self.extremes(stencil).eigenvalue

    def extremes(self, stencil: Stencil | int = 8) -> WaveExtremes:
        """Return slowest and fastest waves, and the largest eigenvalue under a stencil, found in one pass."""
        weights, tilted = Stencil.of(stencil), self.theta is not None
        inv = [weights.nyquist(tilted) / h**2 for h in self.grid.spacing]
        down = np.full(self.grid.shape[-1], inv[-1])
        if self.grid.depth_axis is not None:
            down = self._along_depth(weights)
        both = None if self.epsilon is None or self.delta is None else (self.epsilon, self.delta)
        return wave_extremes(self.vp, both, (sum(inv[:-1]), down), tilted=tilted)

    def _along_depth(self, weights: Stencil) -> NDArray[np.float64]:
        """Return the largest eigenvalue of -d2/dz2 by depth, (nz,), 1/m^2."""
        scale, h = self.grid.depth_scale, self.grid.spacing[-1]
        assert scale is not None
        tilted = self.theta is not None
        bend = np.maximum(potential(scale, weights.second(tilted)), 0.0)
        return np.asarray((weights.nyquist(tilted) * scale * scale + bend) / (h * h))

    def _slabs(self) -> list[slice]:
        """Return slices along x of about a million points, one for a thread at a time."""
        return cuts(self.grid.shape[0], self.grid.size)

    def anisotropy_gate(self, rule: AnisotropyRule = "lower-delta") -> tuple[EarthModel, int]:
        """Return the model with delta <= epsilon everywhere, and the number of nodes that were changed.

        Parameters
        ----------
        rule : {"lower-delta", "raise-epsilon", "reject"}
            Choice where delta > epsilon, which makes the scheme unstable whatever the time step.
        """
        if self.epsilon is None or self.delta is None:
            return self, 0
        epsilon, delta = self.epsilon, self.delta
        n = sum(each(lambda cut: int(np.count_nonzero(delta[cut] > epsilon[cut])), self._slabs()))
        if n == 0:
            return self, 0
        if rule == "reject":
            bad = delta > epsilon
            f = _bad_values(
                "E520", "delta", self.delta, bad, "above epsilon", "correct the model or choose a repair"
            )
            raise ModelError(f.message, f.fix, code="E520")
        if rule == "lower-delta":
            return replace(self, delta=np.minimum(self.delta, self.epsilon)), n
        if rule == "raise-epsilon":
            return replace(self, epsilon=np.maximum(self.delta, self.epsilon)), n
        raise ConfigError(f"anisotropy = {rule!r}", "use lower-delta, raise-epsilon or reject")

    def window(self, box: Box) -> EarthModel:
        """Return the model in `box` of its grid; outside the grid the nearest value is continued."""
        grid = self.grid.window(box)

        def cut(a: NDArray[np.float32]) -> NDArray[np.float32]:
            return _continued(a.reshape(self.grid.shape3), box).reshape(grid.shape)

        volumes = (self.epsilon, self.delta, self.theta, self.phi)
        epsilon, delta, theta, phi = (None if a is None else cut(a) for a in volumes)
        return EarthModel(grid, cut(self.vp), epsilon, delta, theta, phi, self.frame)

    def volume(self, name: str) -> NDArray[np.float32] | None:
        """Return one parameter, None when the model does not have it."""
        values: NDArray[np.float32] | None = getattr(self, name)
        return values

    def values(self, name: str, box: Box) -> NDArray[np.float32]:
        """Return one parameter in a box inside the grid, (nx, ny, nz) of the box; no copy."""
        whole: NDArray[np.float32] = getattr(self, name)
        return whole.reshape(self.grid.shape3)[box.slices]

    def at(self, positions: NDArray[np.float64], name: str = "vp") -> NDArray[np.float32]:
        """Return a parameter at the nodes nearest to local positions (n, 3), m; outside the grid that of its edge."""
        whole: NDArray[np.float32] = getattr(self, name)
        return whole.reshape(self.grid.shape3)[tuple(nearest_nodes(self.grid, positions).T)]


def _continued(a: NDArray[np.float32], box: Box) -> NDArray[np.float32]:
    """Return the values of a volume in a box that may reach out of it; there the nearest value is continued."""
    out: NDArray[np.float32] = np.empty(box.shape, dtype=a.dtype)
    x, y, z = (
        np.clip(np.arange(lo, hi), 0, n - 1) for lo, hi, n in zip(box.lo, box.hi, a.shape, strict=True)
    )
    # what of y and z of the box lies in the volume, counted from the box
    (y0, z0), (y1, z1) = (
        [max(0, -lo) for lo in box.lo[1:]],
        [min(box.hi[i], a.shape[i]) - box.lo[i] for i in (1, 2)],
    )

    def fill(cut: slice) -> None:
        for ix in range(cut.start, cut.stop):
            plane, new = a[x[ix]], out[ix]
            if y0 >= y1 or z0 >= z1:  # it lies beside the volume
                new[...] = plane[np.ix_(y, z)]
                continue
            new[y0:y1, z0:z1] = plane[y[y0] : y[y1 - 1] + 1, z[z0] : z[z1 - 1] + 1]
            new[y0:y1, :z0], new[y0:y1, z1:] = new[y0:y1, z0 : z0 + 1], new[y0:y1, z1 - 1 : z1]
            new[:y0], new[y1:] = new[y0], new[y1 - 1]

    each(fill, cuts(box.shape[0], box.size))
    return out


def _bad_values(code: str, name: str, a: NDArray, bad: NDArray[np.bool_], what: str, fix: str) -> Finding:
    """Return a finding that counts bad values and names the first and the range of the good ones."""
    first = tuple(int(i[0]) for i in np.nonzero(bad))
    good = a[np.isfinite(a)]
    span = f"; finite values from {good.min():g} to {good.max():g}" if good.size else ""
    n = int(bad.sum())
    return Finding(
        code,
        "error",
        f"{name}: {n} of {a.size} values {what}, the first at index {first} = {a[first]:g}{span}",
        fix,
        {"count": n, "first": first},
    )


#: lower bounds of vp, epsilon and delta
_LOWEST = {"vp": 0.0, "epsilon": -0.5, "delta": -0.5}


def value_problems(name: str, a: NDArray[np.float32]) -> Iterator[Finding]:
    """Yield the problems of values of vp, epsilon or delta."""
    low, span = _LOWEST[name], finite_range(a)
    if span.bad:
        yield _bad_values("E410", name, a, ~np.isfinite(a), "not finite", "replace the bad values")
    elif span.low <= low:
        yield _bad_values("E411", name, a, a <= low, f"<= {low:g}", f"{name} must be above {low:g}")


def angle_problems(
    theta: NDArray[np.float32] | None, phi: NDArray[np.float32] | None, ndim: int
) -> Iterator[Finding]:
    """Yield the problems of theta and phi, radians."""
    for name, a, turns in (("theta", theta, 1), ("phi", phi, 2)):
        if a is None:
            continue
        span = finite_range(a)
        if span.bad:
            yield _bad_values("E410", name, a, ~np.isfinite(a), "not finite", "replace the bad values")
            continue
        # the limit as float32, as which NumPy compares it with values
        limit, most = ("pi" if turns == 1 else "2 pi"), float(np.float32(turns * math.pi + _ANGLE_ROUNDING))
        if max(-span.low, span.high) > most:
            fix = f"give radians from -{limit} to {limit}; np.deg2rad turns degrees into radians"
            yield _bad_values("E525", name, a, np.abs(a) > most, f"outside -{limit} to {limit}", fix)
        elif name == "phi" and ndim == 2:
            # float32 has pi to 9e-8
            off = (
                np.abs(np.abs(np.abs(a) - np.float32(math.pi)) - np.float32(math.pi / 2)) < math.pi / 2 - 1e-5
            )
            if off.any():
                fix = "leave phi out; theta is positive towards +x, negative towards -x"
                what = "neither 0 nor pi: the axis of a 2-D model lies in its plane"
                yield _bad_values("E526", name, a, off, what, fix)


def raise_problems(problems: list[Finding]) -> None:
    """Raise a ModelError that names all problems, when there is one."""
    if problems:
        raise ModelError("; ".join(f.message for f in problems), problems[0].fix, code=problems[0].code)
