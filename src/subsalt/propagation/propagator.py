"""One wavefield on one computational grid: the model window, its absorbing layer, and `advance(state, n)`.

The computational grid is the window of the model, a margin so that no source or receiver support reaches the layer, and
the layer. Inside the margin and the layer the model is continued from its edge. A group of ranks shares it in slabs
along x or blocks in x and y (`subsalt.propagation.domain`); every rank then holds and advances its own part, with the
bits of one process.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from subsalt import kernels, physics
from subsalt.acquisition import injection
from subsalt.earth.grid import Box, Grid
from subsalt.earth.model import EarthModel
from subsalt.earth.model_like import ModelLike
from subsalt.earth.topography import Topography
from subsalt.errors import ConfigError, NumericalFailure
from subsalt.kernels.mirror import Mirror
from subsalt.kernels.problem import MODEL, Problem, Scale, State
from subsalt.kernels.stepper import Sharing
from subsalt.kernels.work import Correlation, Hook, Recorder, Shells, Snapshots, Source, Work
from subsalt.parallel.comm import Comm
from subsalt.parallel.decomp import Slab
from subsalt.physics import storage
from subsalt.propagation import absorbing_layer, tapers
from subsalt.propagation.domain import Domain
from subsalt.propagation.halo import Halo, HaloTraffic
from subsalt.propagation.march import by_step, march, stepper_of
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.slab_recorder import SlabRecorder
from subsalt.propagation.topography import TOGETHER, carriers, images, mirror_of, not_with


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
    group : Comm, optional
        The ranks that share the wavefield: each owns a part of the computational grid, and everything here is in
        indices of what it holds. All of them make the same propagator and call `advance` with the same steps.

    Notes
    -----
    Of a group, what is exchanged between ranks is built once per state; `free` gives it back, as does the end of a
    ``with`` block.
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
        group: Comm | None = None,
    ) -> None:
        self.options = options
        self.dt = dt
        self.model_grid = model.grid
        self.window = window if window is not None else model.grid.box
        self.kernels = kernels.get(options.device)
        self.dtype: type = np.float64 if options.dtype == "float64" else np.float32
        self.medium = physics.medium_of(model, options.medium)
        self.grid = model.grid.window(self.window)
        self.group = group if group is not None and group.size > 1 else None
        part = (self.group.rank, self.group.size) if self.group is not None else (0, 1)
        self.domain = Domain.of(model.grid, self.window, options, self.medium, points, part)
        #: the planes that this rank owns of the computational grid; None: it has the whole of it
        self.slab: Slab | None = self.domain.slab if self.group is not None else None
        #: the whole computational grid
        self.comp_grid: Grid = self.domain.grid
        self.layout = self.domain.layout
        #: the owned cells, and the part of the window in them, in indices of the held cells
        self.owned, self.interior = self.domain.owned, self.domain.interior
        #: that part of the window, in indices of the model
        self.image_box = self.domain.image_box
        #: cost of the exchanges of ghost planes so far
        self.traffic = HaloTraffic()
        self._halos: list[tuple[State, Halo]] = []
        #: one number, shared with propagators made from this one
        self._advanced = [0]
        self.problem = self._problem(
            self._local(model, taper_at), model, vmax if vmax is not None else model.fastest
        )

    def _local(self, model: ModelLike, taper_at: NDArray[np.float64] | None) -> EarthModel:
        """Return the model on the planes held, changed where the scheme needs it."""
        domain = self.domain
        local = model.window(domain.held)
        if self.medium != "isotropic" and taper_at is not None and self.options.source_taper:
            cells = self.options.source_taper
            local = tapers.elliptical_near(local, taper_at, cells, model, domain.grid, domain.first)
        if self.medium == "tti":
            local = tapers.upright_at_layers(
                local, self.options, domain.widths, domain.grid.shape3, domain.first
            )
        return local

    def _profiles(self, spacing3: tuple[float, float, float], vmax: float) -> list[NDArray[np.float64]]:
        """Return the damping profile of every axis on the planes held, 1/s."""
        opts, widths = self.options, self.domain.widths
        layer = absorbing_layer.Layer(opts.boundary, opts.layer_cells)
        sigma = [
            layer.profile(n, widths[2 * i], widths[2 * i + 1], spacing3[i], vmax)
            for i, n in enumerate(self.comp_grid.shape3)
        ]
        if self.domain.depth_scale is not None:
            # a layer of as many cells is as much thicker as its spacing is larger
            sigma[2] *= self.domain.depth_scale
        return [s[at : at + n] for s, at, n in zip(sigma, self.domain.first, self.layout.shape3, strict=True)]

    def _problem(self, local: EarthModel, whole: ModelLike, vmax: float) -> Problem:
        """Return the discretised problem on the planes held."""
        opts = self.options
        sigma = decay = None
        if opts.boundary != "none":
            sigma = tuple(self._profiles(local.grid.spacing3, vmax))
            decay = tuple(absorbing_layer.decay(s, self.dt) for s in sigma)
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
        mirror = None
        if opts.topography is not None:
            mirror = self._mirror(opts.topography, params, sigma)
        return Problem(
            self.layout,
            self.medium,
            opts.order,
            self.dt,
            local.grid.spacing3,
            params,
            opts.boundary,
            self.domain.held_widths,
            sigma,  # type: ignore[arg-type]
            decay,  # type: ignore[arg-type]
            opts.free_surface,
            self.dtype,
            scales,
            opts.weights.kind,
            mirror,
            depth_scale=self.domain.depth_scale,
        )

    def _mirror(
        self, surface: Topography, params: dict[str, NDArray], sigma: Sequence[NDArray[np.float64]] | None
    ) -> Mirror:
        """Return the mirror of a free surface inside the grid, above which the medium is taken out."""
        computes = self.kernels.mirror is not None
        wrong = not_with(self.options, self.medium, shared=self.group is not None, computes=computes)
        if wrong:
            raise ConfigError(f"topography together with {' and '.join(wrong)}", TOGETHER, code="E754")
        grid, opts = self.comp_grid, self.options
        m = self.layout.view(params["m"])
        m[~carriers(surface, grid)] = 0

        def scale(at: NDArray[np.intp]) -> NDArray[np.float64]:
            """Return the factor of the Laplacian in a step, at nodes (n, 3)."""
            here: NDArray[np.float64] = m[tuple(at.T)].astype(np.float64)
            if opts.boundary != "damping":
                return here
            assert sigma is not None
            return here / (1.0 + self.dt * sum(s[at[:, axis]] for axis, s in enumerate(sigma)))

        return mirror_of(surface, grid, self.layout, opts.weights, scale, opts.support, self.dtype)

    @property
    def point_count(self) -> int:
        """Points owned of the computational grid, layer included: what one step of one wavefield counts."""
        return self.owned.size

    @property
    def points_advanced(self) -> int:
        """Points of all steps of this rank so far that were computed, not those that a wavefield has not reached."""
        return self._advanced[0]

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
        return self.domain.points(positions)

    def source(self, positions: NDArray[np.float64], samples: NDArray) -> Source:
        """Return a source of `samples` (n, nt), in source units, at local positions (n, 3)."""
        scaled = np.asarray(samples, dtype=np.float64) / self.comp_grid.cell_volume
        if self.options.topography is not None:
            # what of a support lies above the surface comes back with the opposite sign, as the image of the source
            mirrored, which = images(self.options.topography, positions, self.comp_grid, self.options.support)
            positions, scaled = (
                np.concatenate([positions, mirrored]),
                np.concatenate([scaled, -scaled[which]]),
            )
        points = self.domain.sources(positions)
        if self.slab is not None:
            points, rows = self.domain.mine(points)
            scaled = scaled[rows]
        # time-major in memory: every step takes one sample of all points
        return Source(points, np.asfortranarray(scaled, dtype=self.dtype))

    def recorder(self, positions: NDArray[np.float64], nt: int) -> Recorder | SlabRecorder:
        """Return a zeroed recorder of `nt` samples at local positions (n, 3)."""
        pts = self.points(positions)
        if self.slab is not None:
            return SlabRecorder.of(pts, self.domain, nt, self.dtype, flushes=self.kernels.FLUSHES)
        return Recorder(pts, np.zeros((len(pts.base), nt), dtype=self.dtype, order="F"))

    def recorded(self, recorder: Recorder | SlabRecorder) -> tuple[NDArray[np.intp], NDArray]:
        """Return which positions of a recorder this rank has the samples of, and those, (n, nt); collective."""
        if isinstance(recorder, Recorder):
            return np.arange(len(recorder.points)), recorder.data
        assert self.group is not None
        return recorder.complete(self.group, self.domain)

    def record_again(self, state: State, recorder: Recorder | SlabRecorder) -> None:
        """Record the present sample of a wavefield whose newest level was changed in place since; collective.

        The next `advance` fetches the ghost planes of that level; what receivers need of them comes here.
        """
        if self.group is not None and len(self.domain.rows) > 1:
            halo = self._halo(self.group, state)
            before = replace(halo.traffic)
            halo.start(self.problem.travelling(state.curr))
            halo.finish()
            self.traffic.add(halo.traffic, before)
        for part in [recorder] if isinstance(recorder, Recorder) else recorder.parts:
            part.data[:, state.it] = self.kernels.record(self.problem, state.curr, part.points)

    def advance(
        self,
        state: State,
        n: int,
        *,
        sources: Sequence[Source] = (),
        recorders: Sequence[Recorder | SlabRecorder] = (),
        snapshots: Snapshots | None = None,
        correlation: Correlation | None = None,
        hook: Hook | None = None,
        at: Container[int] | None = None,
        progress: Callable[[int], None] | None = None,
        boxes: Sequence[Box] | None = None,
        loop: Literal["python"] | None = None,
        shells: Shells | None = None,
        inner: Box | None = None,
        check_last: bool = True,
    ) -> None:
        """Advance `state` by `n` time steps; collective over the group, in which only ghost planes travel.

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
            Called occasionally with the time index reached.
        boxes : sequence of Box, optional
            Index boxes that tile the computational grid, computed one after the other; the whole grid when None.
            The fields do not depend on the tiling. Not for slabs.
        loop : {"python"}, optional
            Force the loop in Python over single steps, the reference of the compiled segment.
        shells : Shells, optional
            The shell of a box, kept after every step or put back (`subsalt.reversal`).
        inner : Box, optional
            The only part of the grid that is advanced; not with a PML.
        check_last : bool
            Look whether the field is finite after the last step; False where more steps follow.

        Raises
        ------
        NumericalFailure
            When the field is no longer finite (checked every 50 steps and after the last one). A group stops
            together, some steps after one of its ranks has noticed.
        KeyboardInterrupt
            Within a fraction of a second, or one step where that takes longer. The state then stands between two steps.
        """
        size = self.owned.size if inner is None else inner.size
        taps = [part for r in recorders for part in ([r] if isinstance(r, Recorder) else r.parts)]
        work = Work(
            sources, taps, snapshots, correlation, hook, at, progress, boxes or (), shells, inner, check_last
        )
        failures: list[tuple[int, NumericalFailure]] = []

        def blown_up(now: State) -> None:
            failures.append((now.it, self._blow_up(now)))

        if self.group is not None:
            self._advance_slab(self.group, state, n, work, blown_up, compiled=loop != "python")
            self._advanced[0] += n * size
            step = failures[0][0] if failures else state.it + 1
            earliest = self.group.min(step)  # it is the one that all ranks raise
            self.group.agree(failures[0][1] if failures and step == earliest else None)
            return
        if loop == "python" or work.boxes:
            if not by_step(self.kernels, self.problem, state, n, work):
                blown_up(state)
            self._advanced[0] += n * size
        else:
            stepper = stepper_of(self.kernels, self.problem, work)
            march(stepper, state, n, work, blown_up=blown_up)
            self._advanced[0] += stepper.points or n * size
        if failures:
            raise failures[0][1]

    def _advance_slab(
        self,
        group: Comm,
        state: State,
        n: int,
        work: Work,
        blown_up: Callable[[State], None],
        *,
        compiled: bool,
    ) -> None:
        """Advance the part of this rank."""
        if work.boxes:
            raise ConfigError("boxes do not tile the slab of a rank", "leave boxes out with a group")
        halo = self._halo(group, state)
        before = replace(halo.traffic)
        threads = int(str(self.kernels.describe()["threads"]))
        depth = 1 if len(self.domain.rows) > 1 else self.domain.common_depth(threads)
        sharing = Sharing(self.domain.cuts_of(), depth, halo, self.domain.row_cuts)
        stepper = stepper_of(self.kernels, self.problem, work, sharing, compiled=compiled)
        march(stepper, state, n, work, halo, blown_up)
        self.traffic.add(halo.traffic, before)

    def _halo(self, group: Comm, state: State) -> Halo:
        """Return the exchange of a state, built once."""
        for known, halo in self._halos:
            if known is state:
                return halo
        halo = Halo(
            group,
            self.domain.cut,
            self.problem.radius,
            (state.prev, state.curr),
            self.kernels,
            along_x=len(self.problem.travelling(state.curr)),
            corners=self.problem.tilted,
        )
        self._halos.append((state, halo))
        return halo

    def without_layer(self) -> Propagator:
        """Return a propagator of the same medium on the same grid, planes and arrays, of which no side absorbs.

        The scheme is then symmetric in time: two levels in reverse order run backwards.
        """
        out = copy.copy(self)
        shared = {name: made for name, made in self.problem.cache.items() if name == MODEL}
        out.problem = replace(
            self.problem, boundary="none", widths=(0, 0, 0, 0, 0, 0), sigma=None, decay=None, cache=shared
        )
        out.domain = replace(self.domain, options=replace(self.options, boundary="none"))
        out._halos = []
        return out

    def free(self) -> None:
        """Free the memory of the exchanges of a group; the next `advance` would allocate it again."""
        for _, halo in self._halos:
            halo.free()
        self._halos = []

    def __enter__(self) -> Propagator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.free()

    def _blow_up(self, state: State) -> NumericalFailure:
        """Return the error that names the first cell that is not finite and the medium there."""
        field = self.layout.view(self.kernels.to_host(state.curr[0]))
        where = np.argwhere(~np.isfinite(field))
        cell = tuple(int(v) for v in where[0]) if len(where) else (0, 0, 0)
        m = float(self.layout.view(self.problem.param("m"))[cell])
        whole = [i + first for i, first in zip(cell, self.domain.first, strict=True)]
        at = self.comp_grid.at_nodes(np.array([whole]))[0]
        return NumericalFailure(
            f"the wavefield is not finite at step {state.it}, first at x = {at[0]:g}, y = {at[1]:g}, z = {at[2]:g} m "
            f"(vp there {math.sqrt(m) / self.dt:.5g} m/s)",
            "check the input traces and the model there; a smaller dt is more robust",
        )
