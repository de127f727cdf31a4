"""Changes of the model on the computational grid: elliptical around sources, vertical axis near absorbing layers.

The first suppresses the slow wave of a point source, the second a tilt inside a PML, which the scheme cannot carry.
Both change the medium only where that is needed.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subsalt.earth import tilt
from subsalt.earth.grid import Box, Grid
from subsalt.earth.model import EarthModel
from subsalt.earth.model_like import ModelLike
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
    """Return a model with epsilon lowered to delta around positions, where it is larger.

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
    at_nodes = grid.at_nodes(nodes)
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
