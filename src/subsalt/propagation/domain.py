"""The computational grid of a window, the part of one rank, and the shell next to its absorbing layer.

The computational grid is the window of the model, a margin so that no source or receiver support reaches the layer, and
the layer. A group of ranks cuts it into slabs along x, or blocks in x and y (`subsalt.propagation.blocks`); each
rank then computes on an ordinary grid of the cells that it holds, with local indices from its first plane and row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from subsalt import kernels
from subsalt.acquisition import injection
from subsalt.earth.grid import Box, Grid
from subsalt.kernels.passes import DEEPEST, Cuts, depth_for
from subsalt.kernels.problem import FIELDS, Layout
from subsalt.kernels.shell import Shell
from subsalt.numerics.stencil import radius_of
from subsalt.parallel.decomp import Slab
from subsalt.propagation.blocks import Cut, GridFootprint, cut_footprint, cuts_of, slabs_alone
from subsalt.propagation.options import PropagationOptions


def padding(
    grid: Grid, options: PropagationOptions, points: NDArray[np.float64] | None = None
) -> tuple[int, int, int, int, int, int]:
    """Return the cells added around a window: x low, x high, y low, y high, z low, z high.

    The layer, and between it and the window as many cells as the support of the points needs: only outside the layer is
    the scheme its own adjoint.

    Parameters
    ----------
    grid : Grid
        The window.
    options : PropagationOptions
        Boundary and layer.
    points : ndarray, (n, 3), optional
        Local positions of sources and receivers, m.
    """
    width = options.layer_cells
    pad = [width] * 6
    if points is not None and len(points):
        index = grid.to_index(points)
        reach_lo, reach_hi = injection.support_reach(index, grid.ndim, options.support)
        first = np.floor(index - reach_lo + 1e-6).min(axis=0)
        last = np.ceil(index + reach_hi - 1e-6).max(axis=0)
        for axis in range(3):
            pad[2 * axis] += max(0, -int(first[axis]))
            pad[2 * axis + 1] += max(0, int(last[axis]) - (grid.shape3[axis] - 1))
    if grid.ndim == 2:
        pad[2] = pad[3] = 0
    if options.free_surface:
        pad[4] = 0
    return pad[0], pad[1], pad[2], pad[3], pad[4], pad[5]


@dataclass(frozen=True)
class Domain:
    """The computational grid of one window and the part of it that one rank owns.

    Parameters
    ----------
    model_grid : Grid
        Grid of the whole model.
    window : Box
        The part of the model in which waves propagate, in indices of the model.
    options : PropagationOptions
        Boundary, layer, order.
    pad : tuple of int
        Cells added around the window (`padding`).
    slabs : tuple of Slab
        Planes along x of the group's ranks; one slab of all planes without a group.
    rank : int
        Rank of the group that owns this part.
    rows : tuple of Slab
        Rows along y, counted as planes are; one slab of all rows where they are not cut. Rank ``i len(rows) + j`` has
        slab i of x and slab j of y.
    medium : {"isotropic", "vti", "tti"}
        Medium of the propagation.
    """

    model_grid: Grid
    window: Box
    options: PropagationOptions
    pad: tuple[int, int, int, int, int, int]
    slabs: tuple[Slab, ...]
    rank: int
    rows: tuple[Slab, ...]
    medium: str

    @classmethod
    def of(
        cls,
        model_grid: Grid,
        window: Box,
        options: PropagationOptions,
        medium: str,
        points: NDArray[np.float64] | None = None,
        part: tuple[int, int] = (0, 1),
    ) -> Domain:
        """Return the domain of one rank of a group.

        Parameters
        ----------
        medium : {"isotropic", "vti", "tti"}
            Rules the width of the halo.
        points : ndarray, (n, 3), optional
            Local positions of all sources and receivers, m: their supports rule the margin.
        part : tuple of int
            Rank and number of ranks that share the window.

        Raises
        ------
        ConfigError
            When a part would be thinner than its halo.
        """
        rank, ranks = part
        pad = padding(model_grid.window(window), options, points)
        width = options.layer_cells if options.boundary == "pml" else 0
        nx, ny = (window.shape[i] + pad[2 * i] + pad[2 * i + 1] for i in (0, 1))
        plane = GridFootprint(nx, ny, medium, radius_of(options.order), width, options.support)
        decomp = options.decomp
        if not kernels.get(options.device).CUTS_ROWS:
            decomp = slabs_alone(decomp)
        slabs, rows = cut_footprint(plane, ranks, decomp)
        return cls(model_grid, window, options, pad, slabs, rank, rows, medium)

    @property
    def slab(self) -> Slab:
        """The planes along x that this rank owns."""
        return self.slabs[self.rank // len(self.rows)]

    @property
    def across(self) -> Slab:
        """The rows along y that this rank owns."""
        return self.rows[self.rank % len(self.rows)]

    @property
    def cut(self) -> Cut:
        """Slabs of x and of y."""
        return self.slabs, self.rows

    @property
    def counts(self) -> tuple[int, int]:
        """Parts along x and y."""
        return len(self.slabs), len(self.rows)

    @property
    def plane(self) -> GridFootprint:
        """The whole computational grid from above."""
        nx, ny, _ = self.grid.shape3
        return GridFootprint(
            nx, ny, self.medium, radius_of(self.options.order), self._psi_width, self.options.support
        )

    def everybody(self) -> list[Domain]:
        """Return the parts of all ranks of the group."""
        return [replace(self, rank=rank) for rank in range(math.prod(self.counts))]

    @property
    def inside(self) -> int:
        """Points owned that lie outside the layer."""
        (x0, x1, y0, y1, z0, z1), (nx, ny, nz) = self.widths, self.grid.shape3
        (a, b), (c, d) = self.slab.clip(x0, nx - x1), self.across.clip(y0, ny - y1)
        return (b - a) * (d - c) * max(0, nz - z0 - z1)

    @property
    def steps_alone(self) -> bool:
        """Whether steps are taken one by one where one process does several in a pass."""
        if self.options.topography is not None:
            return True
        return len(self.rows) > 1 and self.medium != "tti"

    @property
    def first(self) -> tuple[int, int, int]:
        """The first point held, in indices of the whole computational grid."""
        return self.slab.first, self.across.first, 0

    @property
    def outer(self) -> Box:
        """The whole computational grid, in indices of the model."""
        lo = tuple(l - p for l, p in zip(self.window.lo, self.pad[0::2], strict=True))
        hi = tuple(h + p for h, p in zip(self.window.hi, self.pad[1::2], strict=True))
        return Box(lo, hi)  # type: ignore[arg-type]

    @property
    def held(self) -> Box:
        """The cells that this rank holds, in indices of the model."""
        x, y = self.slab, self.across
        return self._part(self.outer, self.outer.lo, (x.first, x.last), (y.first, y.last))

    @cached_property
    def grid(self) -> Grid:
        """The whole computational grid."""
        return self.model_grid.window(self.outer)

    @property
    def widths(self) -> tuple[int, int, int, int, int, int]:
        """Cells of the layer on the six sides of the whole computational grid; 0 where there is none."""
        w = self.options.layer_cells
        y = w if self.model_grid.ndim == 3 else 0
        return w, w, y, y, 0 if self.options.free_surface else w, w

    @property
    def held_widths(self) -> tuple[int, int, int, int, int, int]:
        """Cells of the layer on the six sides of what this rank holds."""
        x_lo, x_hi, y_lo, y_hi, z_lo, z_hi = self.widths
        return (*self.slab.layer_widths(x_lo, x_hi), *self.across.layer_widths(y_lo, y_hi), z_lo, z_hi)

    @cached_property
    def layout(self) -> Layout:
        """Shape and padding of the arrays of the held cells."""
        return Layout(self.held.shape, radius_of(self.options.order), self.model_grid.ndim)

    @property
    def owned(self) -> Box:
        """The cells that this rank owns, in local indices."""
        whole = Box((0, 0, 0), self.layout.shape3)
        return self._part(whole, (0, 0, 0), self.slab.owned_local, self.across.owned_local)

    @property
    def interior(self) -> Box:
        """The part of the window that is owned, in local indices; may be empty."""
        whole = Box(
            tuple(self.pad[0::2]),  # type: ignore[arg-type]
            tuple(p + n for p, n in zip(self.pad[0::2], self.window.shape, strict=True)),  # type: ignore[arg-type]
        )
        (x0, x1), (y0, y1) = self._window_part()
        (x, y, _) = self.first
        return self._part(whole, (0, 0, 0), (x0 - x, x1 - x), (y0 - y, y1 - y))

    @property
    def image_box(self) -> Box:
        """The part of the window that is owned, in indices of the model; may be empty."""
        return self._part(self.window, self.outer.lo, *self._window_part())

    @property
    def image_planes(self) -> Box:
        """The whole planes of the window that this rank writes, in indices of the model; may be empty.

        Ranks that share the planes of a slab write some of them each, in the order of the ranks.
        """
        x0, x1 = self._window_part()[0]
        j, py = self.rank % len(self.rows), len(self.rows)
        some = x0 + (x1 - x0) * j // py, x0 + (x1 - x0) * (j + 1) // py
        y0 = self.pad[2]
        return self._part(self.window, self.outer.lo, some, (y0, y0 + self.window.shape[1]))

    def cuts_of(self, slab: Slab | None = None) -> Cuts:
        """Return a slab of x, this rank's when None, as its time steps see it."""
        return cuts_of(self.slabs, self.layout.radius, self._psi_width)[(slab or self.slab).rank]

    @property
    def row_cuts(self) -> Cuts | None:
        """The rows of this rank as its time steps see them; None where rows are not cut."""
        if len(self.rows) == 1:
            return None
        return cuts_of(self.rows, self.layout.radius, self._psi_width)[self.across.rank]

    @property
    def _psi_width(self) -> int:
        """Cells of a layer that keeps Psi."""
        return self.options.layer_cells if self.options.boundary == "pml" else 0

    def common_depth(self, threads: int = 1) -> int:
        """Return the steps of a pass that suit all slabs; in 2-D the threads of a rank share them.

        Ranks need not agree on it for the bits, but a rank that sends after four steps and one that asks after six wait
        for each other: 4 ranks on 2 cores (VTI 256^3, `benchmarks/ranks.py`) took 1.1 to 1.2 times as long as with four
        steps everywhere.
        """
        shared = threads if self.layout.ndim == 2 else 1
        return min(depth_for(self.cuts_of(slab), DEEPEST, shared) for slab in self.slabs)

    def points(self, positions: NDArray[np.float64]) -> injection.Points:
        """Return supports and weights of local positions (n, 3), m, on the whole computational grid, to record there.

        Raises
        ------
        GeometryError
            When a position, or its support, lies outside it.
        """
        points = self._points(positions)
        return points if self.depth_scale is None else points.times_along_z(np.sqrt(1.0 / self.depth_scale))

    def sources(self, positions: NDArray[np.float64]) -> injection.Points:
        """Return supports and weights of local positions (n, 3), m, to inject there; errors as of `points`."""
        points, scale = self._points(positions), self.depth_scale
        return points if scale is None else points.times_along_z(scale * np.sqrt(scale))

    def _points(self, positions: NDArray[np.float64]) -> injection.Points:
        index = self.grid.to_index(np.atleast_2d(positions))
        surface = 0 if self.options.free_surface else None
        return injection.sinc_points(
            self.grid.shape3, index, self.grid.ndim, self.options.window, free_surface_row=surface
        )

    @cached_property
    def depth_scale(self) -> NDArray[np.float64] | None:
        """A = dzeta / dz along z of the computational grid (`subsalt.numerics.depth_axis`); None where it is uniform.

        The fields that are stepped are a^(1/2) times the pressure.
        """
        return self.grid.depth_scale

    def mine(self, points: injection.Points) -> tuple[injection.Points, NDArray[np.intp]]:
        """Return the parts of points of the whole grid that lie on owned cells, in local indices, and which points."""
        x, y = self.slab, self.across
        some, rows = points.on_planes(x.lo, x.hi, x.first)
        if len(self.rows) == 1:
            return some, rows
        some, here = some.between(1, y.lo, y.hi, y.first)
        return some, rows[here]

    def mine_count(self, index: NDArray[np.float64]) -> int:
        """Return how many points `mine` selects of positions in cells of the whole grid, before weights are made."""
        here = np.ones(len(index), bool)
        for axis, side in enumerate((self.slab, self.across)):
            if side.ranks > 1:
                first, last = injection.supports(index[:, axis], self.options.support)
                here &= (last >= side.lo) & (first < side.hi)
        return int(here.sum())

    def _window_part(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the planes and rows of the window that are owned, counted on the whole computational grid."""
        (x, y), (nx, ny, _) = self.pad[0:4:2], self.window.shape
        return self.slab.clip(x, x + nx), self.across.clip(y, y + ny)

    @staticmethod
    def _part(box: Box, origin: tuple[int, int, int], x: tuple[int, int], y: tuple[int, int]) -> Box:
        """Return the planes x and the rows y, counted from `origin`, of a box."""
        (x0, x1), (y0, y1), (at_x, at_y, _) = x, y, origin
        return Box((at_x + x0, at_y + y0, box.lo[2]), (at_x + x1, at_y + y1, box.hi[2]))


def shell_of(domain: Domain, medium: str) -> Shell:
    """Return the shell of the un-damped points that a rank owns, in local indices.

    Sides without a layer need none: a free surface, or sides that reflect. Along x and y only the ends of the whole
    grid have one; what other ranks own is exchanged as on the way forward.
    """
    reach = shell_reach(domain, medium)
    widths = [reach if w else 0 for w in domain.widths]
    shape = domain.grid.shape3
    lo, hi = list(domain.widths[0::2]), [n - w for n, w in zip(shape, domain.widths[1::2], strict=True)]
    for axis, side in enumerate((domain.slab, domain.across)):
        first = min(max(lo[axis], side.lo), side.hi)
        last = max(min(hi[axis], side.hi), first)
        # what of the shells of the axis, counted on the whole grid, lies here
        widths[2 * axis] = max(0, lo[axis] + widths[2 * axis] - first)
        widths[2 * axis + 1] = max(0, last - (hi[axis] - widths[2 * axis + 1]))
        lo[axis], hi[axis] = first - side.first, last - side.first
    box = Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))
    return Shell.of(box, (widths[0], widths[1], widths[2], widths[3], widths[4], widths[5]))


def shell_shape(domain: Domain, medium: str) -> tuple[int, int]:
    """Return the shape of the shell of all fields at one time step: fields and cells."""
    return len(FIELDS[medium]), shell_of(domain, medium).cells


def shell_reach(domain: Domain, medium: str) -> int:
    """Return the cells of a shell from its face inwards."""
    return domain.layout.radius * (2 if medium == "tti" else 1)
