"""The weights of a free surface that cuts through the grid: the mirror of its ghosts (`kernels.mirror`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box, Grid
from subsalt.earth.topography import ON_NODE, Topography
from subsalt.errors import ConfigError
from subsalt.kernels.mirror import Mirror
from subsalt.kernels.problem import Z_FRONT, Layout
from subsalt.numerics.stencil import Stencil
from subsalt.propagation.closure import Closure, closure_of, no_closure, nodes_read, stencil_at

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from subsalt.propagation.options import PropagationOptions

#: nodes of the interpolation at a mirror point, along each axis. Cubic polynomials (4) are no more accurate at 5 to 10
#: points per shortest wavelength: below a surface the field is nearly linear
NODES = 2
#: cells of ghosts beyond the reach of the stencil, which interpolations may ask for
MORE = 1
#: cells below the surface from which a node carries the field; nearer ones are ghosts. A node at a small depth d would
#: have the stiffness 1 / d: at 0.2 cells the fastest wave of the grid is still that of the stencil, at 0.1 cells it is
#: faster than the time step allows
NEAREST = 0.25
#: largest slope for which operators were tested (benchmarks/prove_topography.py)
STEEPEST = 1.2
#: terms that end the substitution: a float32 of order 1 has no such digits
LEAST = 1e-7
#: terms at most; planes and hills take 15 to 30
MOST_TERMS = 200
#: the cure of what it does not go with
TOGETHER = 'use medium = "isotropic", device = "cpu", model_storage = "f32", one rank per shot; or leave topography out'
#: ghosts whose interpolation is made at a time
AT_ONCE = 1 << 15


def not_with(
    options: PropagationOptions, medium: str, *, shared: bool = False, computes: bool = True
) -> list[str]:
    """Return the requested features that a free surface inside the grid cannot be combined with.

    Parameters
    ----------
    medium : str
        Medium of the propagation. In an anisotropic one the field has no odd extension across a tilted surface.
    shared : bool
        Whether ranks share a shot: mirror points may lie beyond the planes that a rank holds.
    computes : bool
        Whether the device has kernels for it (`Device.mirror`).
    """
    requested = {
        f"{medium} medium": medium != "isotropic",
        "ranks that share a shot": shared,
        f'device = "{options.device}"': not computes,
        'model_storage = "u16"': options.model_storage == "u16",
    }
    return [what for what, so in requested.items() if so]


def room(radius: int, support: int, ndim: int) -> int:
    """Return the cells that must lie between the surface and the top of the grid.

    Ghosts need as many as stencils reach and interpolations ask for beyond; image sources lie above the surface as far
    as half the diagonal of a support.
    """
    return max(radius + MORE, math.ceil(support * math.sqrt(ndim)))


def images(
    surface: Topography, points: NDArray[np.float64], grid: Grid, support: int
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the mirror points of those points whose support comes up to the surface, and which these are."""
    at = np.atleast_2d(points)
    foot = surface.foot(at, 0.5 * min(grid.spacing))
    reach = support * math.sqrt(grid.ndim) * max(grid.spacing)
    near = np.flatnonzero(np.sqrt(((at - foot) ** 2).sum(axis=1)) < reach)
    return 2 * foot[near] - at[near], near


def carriers(surface: Topography, grid: Grid) -> NDArray[np.bool_]:
    """Return the nodes that carry the field, (nx, ny, nz): those `NEAREST` cells or more below the surface."""
    out = surface.below(grid)
    h, origin = np.array(grid.spacing3), np.array(grid.origin3)
    # what lies deeper than two cells along z is not nearer at any slope that is accepted
    z = origin[2] + h[2] * np.arange(grid.shape3[2])
    at = np.argwhere(out & (z < surface.under(grid)[:, :, None] + 2 * h[2]))
    points: NDArray[np.float64] = origin + h * at
    apart = (points - surface.foot(points, 0.5 * min(grid.spacing))) / h
    out[tuple(at[np.sqrt((apart**2).sum(axis=1)) < NEAREST].T)] = False
    return out


def mirror_of(
    surface: Topography,
    grid: Grid,
    layout: Layout,
    weights: Stencil,
    scale: Callable[[NDArray[np.intp]], NDArray[np.float64]],
    support: int,
    dtype: type = np.float32,
) -> Mirror:
    """Return the mirror of a free surface on a computational grid.

    Parameters
    ----------
    weights : Stencil
        Stencil of the second derivative.
    scale : callable
        Factor of the Laplacian in a step, at nodes (n, 3) by index: (v dt)^2, and less in a damping layer.
    support : int
        Half the nodes of the support of a source; image sources lie as far above the surface as their sources below.
    dtype : numpy float type
        Type of the fields.

    Raises
    ------
    ConfigError
        E753, when the surface comes nearer to the top of the grid than `room`.
    """
    from scipy.sparse import csr_array

    grid = _upper(surface, grid, layout.radius)
    _refuse_high(surface, grid, room(layout.radius, support, grid.ndim))
    axes = (0, 1, 2) if grid.ndim == 3 else (0, 2)
    below = carriers(surface, grid)
    ghost, odd, exact = _ghosts(surface, grid, below, axes, layout.radius)
    closure = no_closure(below.size) if exact else _closure(surface, grid, below, ghost, odd, weights)
    times = scale(np.stack(np.unravel_index(closure.near, grid.shape3), axis=1))
    padded, total = _padded(layout, grid.shape3[2]), math.prod(layout.padded_shape)

    def made(rows: csr_array, factors: NDArray[np.float64] | float = 1.0, *, over: bool = True) -> csr_array:
        """Return rows, times a factor each, over the floats of a padded array unless not `over` it."""
        data = rows.data * np.repeat(np.broadcast_to(factors, rows.shape[0]), np.diff(rows.indptr))
        columns = padded[rows.indices] if over else rows.indices.astype(np.int32)
        shape = (rows.shape[0], total if over else rows.shape[1])
        return csr_array((data.astype(dtype), columns, rows.indptr.astype(np.int32)), shape=shape)

    return Mirror(
        padded[ghost],
        made(odd),
        padded[closure.near],
        made(closure.reach),
        made(closure.own, times),
        made(closure.spread, times, over=False),
    )


def _refuse_high(surface: Topography, grid: Grid, cells: int) -> None:
    """Refuse a surface that comes nearer than so many cells to the top of the grid."""
    if surface.below(grid)[:, :, : cells + 1].any():
        highest, top = float(surface.under(grid).min()), grid.origin3[2]
        least = cells * grid.spacing3[2]
        raise ConfigError(
            f"the free surface lies {highest - top:.4g} m below the top of the grid at its highest point; values above "
            f"it take {cells} nodes, {least:.4g} m",
            f"let the model begin at z = {highest - least - grid.spacing3[2]:.6g} m",
            code="E753",
        )


def _closure(
    surface: Topography,
    grid: Grid,
    below: NDArray[np.bool_],
    ghost: NDArray[np.intp],
    odd: csr_array,
    weights: Stencil,
) -> Closure:
    """Return the correction that makes the operator on the nodes that carry the field symmetric."""
    h, origin = np.array(grid.spacing3), np.array(grid.origin3)
    axes = (0, 1, 2) if grid.ndim == 3 else (0, 2)
    second = [(axis, [c / h[axis] ** 2 for c in weights.second()]) for axis in axes]
    stencil = stencil_at(ghost, below, second)
    near = nodes_read(odd, stencil)
    points: NDArray[np.float64] = origin + h * np.stack(np.unravel_index(near, grid.shape3), axis=1)
    distance = np.sqrt(((points - surface.foot(points, 0.5 * min(grid.spacing))) ** 2).sum(axis=1))
    return closure_of(ghost, odd, stencil, near, distance)


def _upper(surface: Topography, grid: Grid, radius: int) -> Grid:
    """Return the part of a grid that has to do with a surface: mirror points lie as deep below it as ghosts above."""
    lowest = (float(surface.under(grid).max()) - grid.origin3[2]) / grid.spacing3[2]
    nx, ny, nz = grid.shape3
    return grid.window(Box((0, 0, 0), (nx, ny, min(nz, math.ceil(lowest) + 4 * (radius + MORE)))))


def _ghosts(
    surface: Topography, grid: Grid, below: NDArray[np.bool_], axes: tuple[int, ...], radius: int
) -> tuple[NDArray[np.intp], csr_array, bool]:
    """Return the ghosts, their values from nodes below the surface, and whether all mirror points are nodes."""
    from scipy.sparse import csr_array, vstack

    places, parts, exact = [], [], True
    known = below.copy()
    new = _along_axes(below, axes, radius) & ~known
    # and what their interpolations ask for
    while new.any():
        at = np.argwhere(new)
        places.append(np.flatnonzero(new.ravel()))
        known |= new
        used = np.zeros(below.size, bool)
        for some in np.array_split(at, -(-len(at) // AT_ONCE)):
            index = _mirrored(surface, grid, some)
            exact &= bool((index == np.rint(index)).all())
            parts.append(_interpolation(index, grid.shape3, axes))
            used[parts[-1].indices] = True
        new = used.reshape(below.shape) & ~known
    ghost = np.concatenate(places)
    odd = _substituted(csr_array(vstack(parts)), ghost, below.ravel())
    return ghost, odd, exact


def _substituted(weights: csr_array, ghost: NDArray[np.intp], below: NDArray[np.bool_]) -> csr_array:
    """Return the values of ghosts from nodes below the surface alone: u_g = -(own u + others u_g), solved.

    By Jacobi's iteration: the share of a ghost right above the surface in its own mirror point comes up to 1.
    """
    from scipy.sparse import csr_array

    others = csr_array(weights[:, ghost])
    itself = others.diagonal()
    scale = np.repeat(-1.0 / (1.0 + itself), np.diff(weights.indptr))
    weights = csr_array((weights.data * scale, weights.indices, weights.indptr), shape=weights.shape)
    odd = term = _columns(weights, below)
    others = csr_array(weights[:, ghost])
    others.setdiag(0.0)
    others.eliminate_zeros()
    for _ in range(MOST_TERMS):
        if not term.nnz:
            return odd
        term = csr_array(others @ term)
        term.data[np.abs(term.data) < LEAST] = 0
        term.eliminate_zeros()
        odd = csr_array(odd + term)
    raise ConfigError(
        "the topography bends so sharply that values above it do not follow from those below",
        "average over a larger [propagation.topography] radius, or compute on a finer grid",
        code="E753",
    )


def _padded(layout: Layout, nz: int) -> NDArray[np.int32]:
    """Return the flat index in a padded array of every point of the upper `nz`, in the order of an array (nx, ny, nz).

    Raises
    ------
    ConfigError
        E754, when there are more than 2^31.
    """
    nx, ny, _ = layout.shape3
    planes, rows, row = layout.padded_shape
    if planes * rows * row >= 1 << 31:
        raise ConfigError(
            f"a free surface inside a grid of {planes * rows * row} points: its weights count up to 2^31",
            "make [imaging] aperture smaller",
            code="E754",
        )
    x, y, z = (
        np.arange(n, dtype=np.int32) + before
        for n, before in ((nx, layout.radius), (ny, layout.y_halo), (nz, Z_FRONT))
    )
    return ((x[:, None, None] * rows + y[None, :, None]) * row + z[None, None, :]).ravel()


def _within(mask: NDArray[np.bool_], axes: tuple[int, ...], cells: int) -> NDArray[np.bool_]:
    """Return the nodes from which one of the mask is within so many cells along every axis."""
    out = mask
    for axis in axes:
        grown = out.copy()
        for k in range(1, cells + 1):
            lo, hi = [slice(None)] * 3, [slice(None)] * 3
            lo[axis], hi[axis] = slice(k, None), slice(None, -k)
            grown[tuple(lo)] |= out[tuple(hi)]
            grown[tuple(hi)] |= out[tuple(lo)]
        out = grown
    return out


def _along_axes(mask: NDArray[np.bool_], axes: tuple[int, ...], cells: int) -> NDArray[np.bool_]:
    """Return the nodes that a stencil of the mask reads."""
    out = mask.copy()
    for axis in axes:
        out |= _within(mask, (axis,), cells)
    return out


def _columns(weights: csr_array, columns: NDArray[np.bool_]) -> csr_array:
    """Return the weights without the columns that are not kept."""
    out = weights.copy()
    out.data[~columns[out.indices]] = 0
    out.eliminate_zeros()
    return out


def _mirrored(surface: Topography, grid: Grid, at: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the mirror points of nodes, as fractional indices inside the grid."""
    h, origin = np.array(grid.spacing3), np.array(grid.origin3)
    points: NDArray[np.float64] = origin + h * at
    mirrored = 2 * surface.foot(points, 0.5 * min(grid.spacing)) - points
    index = np.clip((mirrored - origin) / h, 0, np.array(grid.shape3) - 1)
    node = np.rint(index)
    return np.where(np.abs(index - node) < ON_NODE, node, index)


def _interpolation(
    index: NDArray[np.float64], shape: tuple[int, int, int], axes: tuple[int, ...]
) -> csr_array:
    """Return the weights (n, points) of Lagrange's polynomials on `NODES` nodes per axis."""
    from scipy.sparse import csr_array

    n = len(index)
    columns, values = np.zeros((n, 1), np.int64), np.ones((n, 1))
    for axis in range(3):
        many = NODES if axis in axes else 1
        first = np.floor(index[:, axis]).astype(np.int64) - (many // 2 - 1)
        first = np.clip(first, 0, shape[axis] - many) if many > 1 else np.zeros(n, np.int64)
        x, w = index[:, axis] - first, np.ones((n, many))
        for i, j in product(range(many), range(many)):
            if i != j:
                w[:, i] *= (x - j) / (i - j)
        # of the axes so far: (n, nodes)
        columns = (
            columns[:, :, None] * shape[axis] + (first[:, None] + np.arange(many))[:, None, :]
        ).reshape(n, -1)
        values = (values[:, :, None] * w[:, None, :]).reshape(n, -1)
    start = np.arange(n + 1) * columns.shape[1]
    size = int(np.prod(shape))
    out = csr_array(
        (values.ravel(), columns.ravel().astype(np.int32 if size < 1 << 31 else np.int64), start),
        shape=(n, size),
    )
    out.eliminate_zeros()
    return out


#: entries of the row of a ghost by dimensions, and how many more on a slope of 1 (measured on hills and planes: 3.8 to
#: 4.6, 8.1 to 10.2, and 18 on a plane with slopes of 0.72 and 0.54)
ENTRIES, TILTED = {2: 4.2, 3: 10.2}, {2: 0.7, 3: 10.0}
#: bytes of an entry while the weights are made (measured: 31 to 40), of one that is used, of the six numbers beside it
#: that a ghost and a node below it have, and of a point of the upper part of the grid
MADE, USED, ROW, POINT = 42, 8, 24, 20


def weights_bytes(surface: Topography, grid: Grid, radius: int) -> tuple[int, int]:
    """Return the bytes that the weights of a free surface take while they are made, and later; from above."""
    depth = (surface.under(grid) - grid.origin3[2]) / grid.spacing3[2]
    top = np.ceil(depth + NEAREST)
    tilt = sum(float((np.diff(depth, axis=a) ** 2).sum()) for a in (0, 1)) / top.size
    # of a column: as many as stencils along z reach, or up to where those of its neighbours are below the surface
    ghosts = np.full(top.shape, float(radius))
    pairs = top.size * radius * (radius + 1) / 2
    for axis in (0, 1):
        for k in range(1, min(radius, top.shape[axis] - 1) + 1):
            lo, hi = [slice(None)] * 2, [slice(None)] * 2
            lo[axis], hi[axis] = slice(k, None), slice(None, -k)
            a, b = tuple(lo), tuple(hi)
            ghosts[a] = np.maximum(ghosts[a], top[a] - top[b])
            ghosts[b] = np.maximum(ghosts[b], top[b] - top[a])
            # a ghost of one column, and a node of the other that carries the field, in one stencil
            pairs += float(np.abs(top[a] - top[b]).sum())
    count = float(ghosts.sum())
    # R and its transpose; the stencil from either side, and the nodes below, which are about as many as ghosts
    of_ghost = ENTRIES[grid.ndim] + TILTED[grid.ndim] * tilt
    entries = 2 * of_ghost * count + 2 * pairs + 1.1 * count
    made = MADE * entries + POINT * _upper(surface, grid, radius).size
    return int(made), int(USED * entries + ROW * count)
