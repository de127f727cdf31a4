"""What a computational grid changes of the model: elliptical around sources, upright at the layers.

Both keep the scheme free of what it cannot carry, the slow wave of a point source and a tilt inside a PML, and change
the medium only where that is needed.

Absorbing layers: their widths and the damping profile.

The profile of a layer of N cells of length L = N h is::

    sigma = (m + 1) vmax ln(1/R) / (2 L) (d/L)^m,      d/L = 1/N .. 1 from the inner edge outwards

with R the reflection at normal incidence of the continuous problem. It is the sigma of the symmetric PML and
the s of the damping term alike (physics page, sections 4.1 and 4.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.earth import tilt
from subsalt.earth.grid import Box, Grid
from subsalt.earth.model import EarthModel
from subsalt.earth.model_like import ModelLike
from subsalt.errors import ConfigError
from subsalt.numerics import fixedmath
from subsalt.numerics.stencil import radius_of
from subsalt.propagation.options import PropagationOptions


def elliptical_near(
    local: EarthModel,
    positions: NDArray[np.float64],
    cells: float,
    whole: ModelLike,
    grid: Grid,
    first: tuple[int, int, int] = (0, 0, 0),
) -> EarthModel:
    """Return a model with epsilon lowered to delta around positions, where it is not so already.

    Parameters
    ----------
    local : EarthModel
        The model on the planes of the computational grid that are held here.
    positions : ndarray, (n, 3)
        Local positions, m.
    cells : float
        Radius over which epsilon returns to its value, in cells; within 2 cells it equals delta.
    whole : ModelLike
        The whole model: what stands at positions beyond the planes held.
    grid : Grid
        The whole computational grid.
    first : tuple of int
        First point of it that is held.

    Notes
    -----
    A source in a medium with epsilon > delta excites a slow pseudo-S wave; in an elliptical medium it does not. With a
    radius of 5 to 8 cells of 10 m the delay of the P wave perpendicular to the axis stays near 1 to 2 ms (physics page,
    2.2); it grows with the cells.

    The planes held get the bits they have when the whole grid is held: in the box of all that is near a position every
    node goes through the same arithmetic, also where the ramp is 1.
    """
    if local.epsilon is None or local.delta is None:
        return local
    shape = grid.shape3
    index = np.rint(grid.to_index(positions)).astype(int)
    inside = ((index >= 0) & (index < np.array(shape))).all(axis=1)
    nodes = np.unique(index[inside], axis=0)
    at_nodes = np.array(grid.origin3) + nodes * np.array(grid.spacing3)
    nodes = nodes[whole.at(at_nodes, "epsilon") != whole.at(at_nodes, "delta")]
    if not len(nodes):
        return local
    reach = math.ceil(cells) + 1
    lo = [int(max(0, v)) for v in nodes.min(axis=0) - reach]
    hi = [int(min(n, v)) for v, n in zip(nodes.max(axis=0) + reach + 1, shape, strict=True)]
    last = [at + n for at, n in zip(first, local.grid.shape3, strict=True)]
    near = Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2])).intersect(
        Box(first, (last[0], last[1], last[2]))
    )
    if not near.size:
        return local
    e, d = local.epsilon.reshape(local.grid.shape3), local.delta.reshape(local.grid.shape3)
    cut = tuple(slice(l - at, h - at) for l, h, at in zip(near.lo, near.hi, first, strict=True))
    ramp = np.clip((_distance(near, nodes, reach) - 2.0) / max(cells - 2.0, 1.0), 0.0, 1.0)
    smooth = ramp * ramp * (3.0 - 2.0 * ramp)
    lowered = e.copy()
    lowered[cut] = d[cut] + smooth * (e[cut] - d[cut])
    return replace(local, epsilon=lowered.reshape(local.grid.shape))


def _distance(near: Box, nodes: NDArray[np.int_], reach: int) -> NDArray[np.float64]:
    """Return the distance, in cells, of every point of a box to the nearest of `nodes`; infinite beyond `reach`."""
    axis = np.arange(-reach, reach + 1) ** 2
    around = (
        axis[:, None, None] + axis[:, None] + axis
    )  # whole numbers: their roots are the same bits everywhere
    squared = np.full(near.shape, np.inf)
    for node in nodes:
        lo, hi = np.maximum(node - reach, near.lo), np.minimum(node + reach + 1, near.hi)
        if (lo < hi).all():
            here = tuple(map(slice, lo - near.lo, hi - near.lo))
            there = tuple(map(slice, lo - node + reach, hi - node + reach))
            np.minimum(squared[here], around[there], out=squared[here])
    return np.sqrt(squared)


def upright_cells(
    options: PropagationOptions, widths: tuple[int, int, int, int, int, int]
) -> list[int | None]:
    """Return on how many cells of each side the axis has to be upright, layer included; None: none.

    Parameters
    ----------
    options : PropagationOptions
        Boundary, order and free surface.
    widths : tuple of int
        Cells of the layer on the six sides.
    """
    m = radius_of(options.order)
    quiet = [w + m if w and options.boundary == "pml" else None for w in widths]
    if options.free_surface:
        quiet[4] = m + 1
    return quiet


def upright_at_layers(
    local: EarthModel,
    options: PropagationOptions,
    widths: tuple[int, int, int, int, int, int],
    shape3: tuple[int, int, int] | None = None,
    first: tuple[int, int, int] = (0, 0, 0),
) -> EarthModel:
    """Return the model on a computational grid with its tilt tapered to zero in front of a PML and a free surface.

    Parameters
    ----------
    local : EarthModel
        On the planes of the computational grid that are held here, layer included.
    options : PropagationOptions
        Boundary, order and free surface.
    widths : tuple of int
        Cells of the layer on the six sides of the whole computational grid.
    shape3 : tuple of int, optional
        Points of the whole computational grid; those of `local` when None.
    first : tuple of int
        The first of them that is held.

    Notes
    -----
    A PML with a tilted axis in it is unstable. theta is zero in the layer and in the M cells inside it where its terms
    still act, and returns to its value over the next `tilt.TAPER_CELLS` cells; likewise in row 0 to M of a free
    surface, where the fields are continued as odd images. These cells are taken from the window: the outermost M + 10
    cells of a window have less tilt than the model. A damping layer and reflecting sides need no taper.
    """
    if local.theta is None:
        return local
    quiet = upright_cells(options, widths)
    held = local.grid.shape3
    theta = local.theta.reshape(held).copy()
    for axis, factor in enumerate(tilt.taper(shape3 or held, quiet)):
        some: list[slice] = [slice(None)] * 3
        some[axis] = slice(first[axis], first[axis] + held[axis])
        theta *= factor[tuple(some)]
    return replace(local, theta=theta.reshape(local.grid.shape))


LayerKind = Literal["pml", "damping", "none"]

#: cells of a layer when none are asked for
DEFAULT_WIDTH: dict[str, int] = {"pml": 12, "damping": 40, "none": 0}

#: thinner layers reflect visibly: 1e-3 at normal incidence for a PML, some percent at 30 degrees for damping
WEAK_BELOW: dict[str, int] = {"pml": 8, "damping": 40, "none": 0}


@dataclass(frozen=True)
class Layer:
    """An absorbing layer; what is left out takes its default by kind and width.

    Parameters
    ----------
    kind : {"pml", "damping", "none"}
        Symmetric PML (default), damping term, or reflecting sides.
    width : int, optional
        Cells per side: 12 for a PML, 40 for damping; fewer than 8 or 40 are `weak`.
    m : float, optional
        Exponent of the profile: 2, or 1.5 for a PML of 8 cells or fewer.
    reflection : float, optional
        R of the profile: for a PML of N cells ``10^(-(N-2)/2)``, not below 1e-8 (1e-5 at 12 cells); 1e-2 for
        damping.
    """

    kind: LayerKind = "pml"
    width: int | None = None
    m: float | None = None
    reflection: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in DEFAULT_WIDTH:
            raise ConfigError(f"boundary kind = {self.kind!r}", "use pml, damping or none", code="E150")
        width = DEFAULT_WIDTH[self.kind] if self.width is None else int(self.width)
        if self.kind == "none":
            width = 0
        elif width < 1:
            raise ConfigError(
                f"a {self.kind} layer of {width} cells",
                f"use {DEFAULT_WIDTH[self.kind]} cells, or boundary = none",
                code="E151",
            )
        object.__setattr__(self, "width", width)
        object.__setattr__(self, "m", self._default_m(width) if self.m is None else float(self.m))
        r = self._default_reflection(width) if self.reflection is None else float(self.reflection)
        object.__setattr__(self, "reflection", r)
        if not 0 < r < 1 or not 0 < self.exponent <= 8:
            raise ConfigError(
                f"boundary reflection = {r:g} and m = {self.exponent:g}",
                "use a reflection between 0 and 1 and an exponent m from 1 to 4",
                code="E152",
            )

    def _default_m(self, width: int) -> float:
        return 1.5 if self.kind == "pml" and width <= 8 else 2.0

    def _default_reflection(self, width: int) -> float:
        if self.kind != "pml":
            return 1e-2
        # 10^(-(N-2)/2) by multiplications, whose bits do not depend on the C library
        r = fixedmath.power(0.1, max(0.5, (width - 2) / 2))
        return max(1e-8, float(r))

    @property
    def cells(self) -> int:
        """Width in cells as a number."""
        return self.width or 0

    @property
    def exponent(self) -> float:
        """Exponent m as a number."""
        return 2.0 if self.m is None else self.m

    @property
    def r(self) -> float:
        """Reflection R as a number."""
        return 1e-2 if self.reflection is None else self.reflection

    @property
    def is_weak(self) -> bool:
        """The layer is too thin to absorb well."""
        return self.cells < WEAK_BELOW[self.kind]

    def profile(self, n: int, lo: int, hi: int, h: float, vmax: float) -> NDArray[np.float64]:
        """Return sigma of one axis (function `profile`); `lo` and `hi` are the widths of its two sides."""
        return profile(n, lo, hi, h, vmax, m=self.exponent, r=self.r)


def profile(n: int, lo: int, hi: int, h: float, vmax: float, *, m: float, r: float) -> NDArray[np.float64]:
    """Return the damping profile along one axis.

    Parameters
    ----------
    n : int
        Points of the axis, layers included.
    lo, hi : int
        Cells of the layer at the first and at the last point; 0 where there is none.
    h : float
        Spacing, m.
    vmax : float
        Largest velocity, sqrt(1 + 2 epsilon) included, m/s.
    m, r : float
        Exponent and reflection of the profile.

    Returns
    -------
    sigma : ndarray, (n,), float64
        Damping rate, 1/s; zero outside the layers.
    """
    if lo < 0 or hi < 0 or lo + hi > n:
        raise ConfigError(
            f"layers of {lo} and {hi} cells do not fit on an axis of {n} points",
            "enlarge the grid",
            code="E153",
        )
    sigma = np.zeros(n)
    for width, side in ((lo, sigma[:lo][::-1]), (hi, sigma[n - hi :])):
        if width:
            d = np.arange(1, width + 1, dtype=np.float64) / width
            top = (m + 1.0) * vmax * -float(fixedmath.log(r)) / (2.0 * width * h)
            side[:] = top * fixedmath.power(d, m)
    return sigma


def decay(sigma: ArrayLike, dt: float) -> NDArray[np.float64]:
    """Return the factor of the PML recursion, ``b = exp(-sigma dt)``, in double precision."""
    return fixedmath.exp(-np.asarray(sigma, dtype=np.float64) * dt)
