"""What a computational grid changes of the model: elliptical around sources, upright at the layers.

Both keep the scheme free of what it cannot carry, the slow wave of a point source and a tilt inside a PML, and change
the medium only where that is needed.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subsalt import tilt
from subsalt.grid import Box
from subsalt.model import EarthModel
from subsalt.options import PropagationOptions
from subsalt.stencil import radius_of


def elliptical_near(model: EarthModel, positions: NDArray[np.float64], cells: float) -> EarthModel:
    """Return the model with epsilon lowered to delta around positions, where it is not so already.

    Parameters
    ----------
    positions : ndarray, (n, 3)
        Local positions, m.
    cells : float
        Radius over which epsilon returns to its value, in cells; within 2 cells it equals delta.

    Notes
    -----
    A source in a medium with epsilon > delta excites a slow pseudo-S wave; in an elliptical medium it does not. With a
    radius of 5 to 8 cells the delay of the P wave perpendicular to the axis stays near 1 to 2 ms (physics page, 2.2).
    """
    if model.epsilon is None or model.delta is None:
        return model
    shape = model.grid.shape3
    e, d = model.epsilon.reshape(shape), model.delta.reshape(shape)
    index = np.rint(model.grid.to_index(positions)).astype(int)
    inside = ((index >= 0) & (index < np.array(shape))).all(axis=1)
    nodes = np.unique(index[inside], axis=0)
    nodes = nodes[e[tuple(nodes.T)] != d[tuple(nodes.T)]]
    if not len(nodes):
        return model
    from scipy.ndimage import (
        distance_transform_edt,  # compiled without run-time dispatch: the same bits everywhere
    )

    reach = math.ceil(cells) + 1
    near = Box(
        tuple(int(max(0, v)) for v in nodes.min(axis=0) - reach),  # type: ignore[arg-type]
        tuple(int(min(n, v)) for v, n in zip(nodes.max(axis=0) + reach + 1, shape, strict=True)),  # type: ignore[arg-type]
    )
    mask = np.ones(near.shape, dtype=bool)
    mask[tuple((nodes - np.array(near.lo)).T)] = False
    distance = distance_transform_edt(mask)
    ramp = np.clip((distance - 2.0) / max(cells - 2.0, 1.0), 0.0, 1.0)
    smooth = ramp * ramp * (3.0 - 2.0 * ramp)
    lowered = e.copy()
    d_near = d[near.slices]
    lowered[near.slices] = d_near + smooth * (e[near.slices] - d_near)
    return replace(model, epsilon=lowered.reshape(model.grid.shape))


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
    local: EarthModel, options: PropagationOptions, widths: tuple[int, int, int, int, int, int]
) -> EarthModel:
    """Return the model on a computational grid with its tilt tapered to zero in front of a PML and a free surface.

    Parameters
    ----------
    local : EarthModel
        On the computational grid, layer included.
    options : PropagationOptions
        Boundary, order and free surface.
    widths : tuple of int
        Cells of the layer on the six sides.

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
    theta = local.theta.reshape(local.grid.shape3).copy()
    for factor in tilt.taper(local.grid.shape3, quiet):
        theta *= factor
    return replace(local, theta=theta.reshape(local.grid.shape))
