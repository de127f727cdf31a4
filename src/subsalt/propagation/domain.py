"""The computational grid of a window, and what of it one rank has.

The computational grid is the window of the model, a margin so that no source or receiver support reaches the layer, and
the layer. A group of ranks cuts it into slabs along x (`subsalt.parallel.decomp`); everything a rank computes with is
then an ordinary grid of the planes it holds, with local indices from the first of them on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition import injection
from subsalt.earth.grid import Box, Grid
from subsalt.kernels.passes import Cuts, depth_for
from subsalt.kernels.problem import Layout
from subsalt.kernels.tuning import DEEPEST
from subsalt.numerics.stencil import radius_of
from subsalt.parallel.decomp import Slab, asked_of, cut
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
        reach_lo, reach_hi = injection.support_reach(index, grid.ndim)
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
    """The computational grid of one window and the slab of it that one rank owns.

    Parameters
    ----------
    model_grid : Grid
        Of the whole model.
    window : Box
        The part of the model that is propagated in, in indices of the model.
    options : PropagationOptions
        Boundary, layer, order.
    pad : tuple of int
        Cells added around the window (`padding`).
    slabs : tuple of Slab
        Of all ranks of the group; one slab of all planes without a group.
    rank : int
        Whose slab is `slab`.
    """

    model_grid: Grid
    window: Box
    options: PropagationOptions
    pad: tuple[int, int, int, int, int, int]
    slabs: tuple[Slab, ...]
    rank: int = 0

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
            Which rank of how many that share the window.

        Raises
        ------
        ConfigError
            When the slabs would be thinner than their halo.
        """
        rank, ranks = part
        pad = padding(model_grid.window(window), options, points)
        width = options.layer_cells if options.boundary == "pml" else 0
        nx = window.shape[0] + pad[0] + pad[1]
        slabs = cut(nx, ranks, medium=medium, radius=radius_of(options.order), layer=(width, width))
        return cls(model_grid, window, options, pad, tuple(slabs), rank)

    @property
    def slab(self) -> Slab:
        """What this rank owns."""
        return self.slabs[self.rank]

    @property
    def outer(self) -> Box:
        """The whole computational grid, in indices of the model."""
        lo = tuple(l - p for l, p in zip(self.window.lo, self.pad[0::2], strict=True))
        hi = tuple(h + p for h, p in zip(self.window.hi, self.pad[1::2], strict=True))
        return Box(lo, hi)  # type: ignore[arg-type]

    @property
    def held(self) -> Box:
        """The planes this rank holds, in indices of the model."""
        return self._planes(self.outer, self.outer.lo[0], self.slab.first, self.slab.last)

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
        x_lo, x_hi, *rest = self.widths
        return (*self.slab.layer_widths(x_lo, x_hi), *rest)  # type: ignore[return-value]

    @cached_property
    def layout(self) -> Layout:
        """Shape and padding of the arrays of the planes held."""
        return Layout(self.held.shape, radius_of(self.options.order), self.model_grid.ndim)

    @property
    def owned(self) -> Box:
        """The planes owned, in local indices."""
        return self._planes(Box((0, 0, 0), self.layout.shape3), 0, *self.slab.owned_local)

    @property
    def interior(self) -> Box:
        """The part of the window in the planes owned, in local indices; may be empty."""
        first = self.slab.first
        lo, hi = self._window_planes()
        whole = Box(
            tuple(self.pad[0::2]),  # type: ignore[arg-type]
            tuple(p + n for p, n in zip(self.pad[0::2], self.window.shape, strict=True)),  # type: ignore[arg-type]
        )
        return self._planes(whole, 0, lo - first, hi - first)

    @property
    def image_box(self) -> Box:
        """The part of the window in the planes owned, in indices of the model; may be empty."""
        return self._planes(self.window, self.outer.lo[0], *self._window_planes())

    def cuts_of(self, slab: Slab | None = None) -> Cuts:
        """Return a slab, this rank's when None, as its time steps see it."""
        slab = slab or self.slab
        layer = slab.layer_widths(*self.widths[:2]) if self.options.boundary == "pml" else (0, 0)
        sent = asked_of(self.slabs, slab)
        return Cuts(slab.planes, *slab.owned_local, *sent, self.layout.radius, layer)

    def common_depth(self, threads: int = 1) -> int:
        """Return the steps of a pass that suit all slabs; in 2-D the threads of a rank share them.

        Ranks need not agree on it for the bits, but a rank that sends after four steps and one that asks after six wait
        for each other: 4 ranks on 2 cores (VTI 256^3, `benchmarks/ranks.py`) took 1.1 to 1.2 times as long as with four
        steps everywhere.
        """
        shared = threads if self.layout.ndim == 2 else 1
        return min(depth_for(self.cuts_of(slab), DEEPEST, shared) for slab in self.slabs)

    def points(self, positions: NDArray[np.float64]) -> injection.Points:
        """Return supports and weights of local positions (n, 3), m, on the whole computational grid.

        Raises
        ------
        GeometryError
            When a position, or its support, lies outside it.
        """
        index = self.grid.to_index(np.atleast_2d(positions))
        surface = 0 if self.options.free_surface else None
        return injection.sinc_points(self.grid.shape3, index, self.grid.ndim, free_surface_row=surface)

    def mine(self, points: injection.Points) -> tuple[injection.Points, NDArray[np.intp]]:
        """Return what of points of the whole grid lies on the planes owned, in local indices, and which points."""
        return points.on_planes(self.slab.lo, self.slab.hi, self.slab.first)

    def _window_planes(self) -> tuple[int, int]:
        """Return the planes of the window that are owned, counted on the whole computational grid."""
        return self.slab.clip(self.pad[0], self.pad[0] + self.window.shape[0])

    @staticmethod
    def _planes(box: Box, origin: int, lo: int, hi: int) -> Box:
        """Return the planes [lo, hi), counted from `origin`, of a box."""
        return Box((origin + lo, *box.lo[1:]), (origin + hi, *box.hi[1:]))
