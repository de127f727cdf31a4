"""One wavefield on one computational grid: the model window, its absorbing layer, and `advance(state, n)`.

The computational grid is the window of the model, a margin so that no source or receiver support reaches the layer, and
the layer. Inside the margin and the layer the model is continued from its edge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from subsalt import boundary, injection, kernels, physics, tapers
from subsalt.errors import NumericalFailure
from subsalt.fields import Layout
from subsalt.grid import Box, Grid
from subsalt.kernels.packing import Scale
from subsalt.kernels.problem import Problem, State
from subsalt.model import EarthModel, ModelLike
from subsalt.options import PropagationOptions
from subsalt.physics import storage
from subsalt.segment import (
    Correlation,
    Hook,
    Recorder,
    Snapshots,
    Source,
    Work,
    by_segment,
    by_step,
    has_segment,
)
from subsalt.stencil import radius_of


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


class Propagator:
    """Advance wavefields of one medium on the window of a model.

    Parameters
    ----------
    model : ModelLike
        The whole model, already past `anisotropy_gate`.
    options : PropagationOptions
        Scheme, boundary, device.
    dt : float
        Time step, s; below the stability bound of the *whole* model, so that all windows share it.
    window : Box, optional
        Part of the model to propagate in; everything when None.
    points : ndarray, (n, 3), optional
        Local positions of all sources and receivers to be used; their support rules the margin.
    taper_at : ndarray, (n, 3), optional
        Positions around which anisotropy is made elliptical (`PropagationOptions.source_taper`).
    vmax : float, optional
        Velocity that rules the layer, m/s; that of the whole model when None.
    """

    def __init__(
        self,
        model: ModelLike,
        options: PropagationOptions,
        dt: float,
        *,
        window: Box | None = None,
        points: NDArray[np.float64] | None = None,
        taper_at: NDArray[np.float64] | None = None,
        vmax: float | None = None,
    ) -> None:
        self.options = options
        self.dt = dt
        self.model_grid = model.grid
        self.window = window if window is not None else model.grid.box
        self.kernels = kernels.get(options.device)
        self.dtype: type = np.float64 if options.dtype == "float64" else np.float32
        self.medium = physics.medium_of(model, options.medium)
        self.grid = model.grid.window(self.window)
        self.pad = padding(self.grid, options, points)
        lo = tuple(l - p for l, p in zip(self.window.lo, self.pad[0::2], strict=True))
        hi = tuple(h + p for h, p in zip(self.window.hi, self.pad[1::2], strict=True))
        outer = Box(lo, hi)  # type: ignore[arg-type]
        self.comp_grid: Grid = model.grid.window(outer)
        self.layout = Layout(self.comp_grid.shape3, radius_of(options.order), model.grid.ndim)
        #: the window, in indices of the computational grid
        self.interior = Box(
            tuple(self.pad[0::2]),  # type: ignore[arg-type]
            tuple(p + n for p, n in zip(self.pad[0::2], self.grid.shape3, strict=True)),  # type: ignore[arg-type]
        )
        local = model.window(outer)
        if self.medium != "isotropic" and taper_at is not None and options.source_taper:
            local = tapers.elliptical_near(local, taper_at, options.source_taper)
        if self.medium == "tti":
            local = tapers.upright_at_layers(local, options, self.widths)
        self.problem = self._problem(local, model, vmax if vmax is not None else model.fastest)

    @property
    def widths(self) -> tuple[int, int, int, int, int, int]:
        """Cells of the layer at x low, x high, y low, y high, z low, z high; 0 where there is none."""
        w = self.options.layer_cells
        y = w if self.layout.ndim == 3 else 0
        return w, w, y, y, 0 if self.options.free_surface else w, w

    def _problem(self, local: EarthModel, whole: ModelLike, vmax: float) -> Problem:
        """Return the discretised problem on the computational grid."""
        opts, shape, widths = self.options, self.layout.shape3, self.widths
        sigma = decay = None
        if opts.boundary != "none":
            layer = boundary.Layer(opts.boundary, opts.layer_cells)
            sigma = tuple(
                layer.profile(shape[i], widths[2 * i], widths[2 * i + 1], local.grid.spacing3[i], vmax)
                for i in range(3)
            )
            decay = tuple(boundary.decay(s, self.dt) for s in sigma)
        scales: dict[str, Scale] = {}
        if opts.model_storage == "u16":
            storage.refuse_tti(self.medium, opts.model_storage)
            scales = storage.scales_of(whole, self.medium, self.dt)
            params = storage.packed_parameters(local, self.medium, self.layout, self.dt, scales)
        else:
            params = physics.MEDIA[self.medium].parameters(local, self.layout, self.dt, self.dtype)
        if opts.free_surface:
            first_row = [slice(None), slice(None), slice(0, 1)]
            self.layout.view(params["m"])[tuple(first_row)] = 0  # p = q = 0 on the surface row
        return Problem(
            self.layout,
            self.medium,
            opts.order,
            self.dt,
            local.grid.spacing3,
            params,
            opts.boundary,
            widths,
            sigma,  # type: ignore[arg-type]
            decay,  # type: ignore[arg-type]
            opts.free_surface,
            self.dtype,
            scales,
        )

    @property
    def point_count(self) -> int:
        """Points of the computational grid, layer included: what one step of one wavefield counts."""
        return math.prod(self.layout.shape3)

    def new_state(self) -> State:
        """Return a wavefield at rest."""
        return self.kernels.new_state(self.problem)

    def points(self, positions: NDArray[np.float64]) -> injection.Points:
        """Return the interpolation weights of local positions (n, 3), m, on the computational grid.

        Raises
        ------
        GeometryError
            When a position, or its support, lies outside the computational grid.
        """
        index = self.comp_grid.to_index(np.atleast_2d(positions))
        surface = 0 if self.options.free_surface else None
        return injection.sinc_points(self.layout.shape3, index, self.layout.ndim, free_surface_row=surface)

    def source(self, positions: NDArray[np.float64], samples: NDArray) -> Source:
        """Return a source of `samples` (n, nt), in source units, at local positions (n, 3)."""
        scaled = np.asarray(samples, dtype=np.float64) / self.comp_grid.cell_volume
        # time-major in memory: every step takes one sample of all points
        return Source(self.points(positions), np.asfortranarray(scaled, dtype=self.dtype))

    def recorder(self, positions: NDArray[np.float64], nt: int) -> Recorder:
        """Return a zeroed recorder of `nt` samples at local positions (n, 3)."""
        pts = self.points(positions)
        return Recorder(pts, np.zeros((len(pts.base), nt), dtype=self.dtype, order="F"))

    def advance(
        self,
        state: State,
        n: int,
        *,
        sources: Sequence[Source] = (),
        recorders: Sequence[Recorder] = (),
        snapshots: Snapshots | None = None,
        correlation: Correlation | None = None,
        hook: Hook | None = None,
        at: Container[int] | None = None,
        progress: Callable[[int], None] | None = None,
        boxes: Sequence[Box] | None = None,
        loop: Literal["python"] | None = None,
    ) -> None:
        """Advance `state` by `n` time steps.

        Parameters
        ----------
        state : State
            Changed in place.
        n : int
            Steps.
        sources : sequence of Source
            Sample ``state.it`` of each acts in the next step; past its end a source is silent.
        recorders : sequence of Recorder
            Each records the new sample after every step.
        snapshots : Snapshots, optional
            Copied after the steps that make their time indices.
        correlation : Correlation, optional
            Products with other fields, summed after the steps that make their time indices.
        hook : callable, optional
            Called with the state after the steps that make the time indices in `at`.
        at : container of int, optional
            Time indices of the hook; after every step when None. The fewer, the faster: all steps between two hooks are
            one call of compiled code.
        progress : callable, optional
            Called now and then with the time index reached.
        boxes : sequence of Box, optional
            Index boxes that tile the computational grid, computed one after the other; the whole grid when None.
            The fields do not depend on the tiling.
        loop : {"python"}, optional
            Force the loop in Python over single steps, the reference of the compiled segment.

        Raises
        ------
        NumericalFailure
            When the field is no longer finite (looked at every 50 steps and after the last one).
        KeyboardInterrupt
            Within a fraction of a second, or one step where that takes longer. The state then stands between two steps.
        """
        work = Work(sources, recorders, snapshots, correlation, hook, at, progress, boxes or ())
        if loop != "python" and has_segment(self.kernels, work):
            finite = by_segment(self.kernels, self.problem, state, n, work)
        else:
            finite = by_step(self.kernels, self.problem, state, n, work)
        if not finite:
            self._blow_up(state)

    def _blow_up(self, state: State) -> None:
        """Raise, naming the first cell that is not finite and the medium there."""
        field = self.layout.view(state.curr[0])
        where = np.argwhere(~np.isfinite(field))
        cell = tuple(int(v) for v in where[0]) if len(where) else (0, 0, 0)
        m = float(self.layout.view(self.problem.param("m"))[cell])
        at = [
            o + h * i for o, h, i in zip(self.comp_grid.origin3, self.comp_grid.spacing3, cell, strict=True)
        ]
        raise NumericalFailure(
            f"the wavefield is not finite at step {state.it}, first at x = {at[0]:g}, y = {at[1]:g}, z = {at[2]:g} m "
            f"(vp there {math.sqrt(m) / self.dt:.5g} m/s)",
            "check the input traces and the model there; a smaller dt is more robust",
        )
