"""Time steps one by one in Python, over the kernels of any device: of a whole grid, or of the part that a rank owns.

The shells of a slab or block are computed first; the exchange of ghost planes then overlaps with the core. These steps
serve NumPy, tilted media on slabs, blocks, and work that needs Python after every step. Fields, samples and images are
those of the whole grid, bit for bit: every point is computed by one rank, from the same values and in the same order of
operations, and what is injected into it is added in survey order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box
from subsalt.kernels.device import Device
from subsalt.kernels.passes import Cuts
from subsalt.kernels.problem import Problem, State
from subsalt.kernels.stepper import Alone, Sharing, Stepwise
from subsalt.kernels.work import Shells, Source, Work

if TYPE_CHECKING:
    from subsalt.acquisition.injection import Points

#: points of a piece of the core between two pokes, and pieces at most
PIECE, MOST_PIECES = 1 << 19, 8

#: rows of a piece per thread in tilted media, which are cut along y: fluxes on either side of a piece are made twice,
#: and tiles of so many rows do that anyway
TILTED_ROWS = 64


@dataclass(frozen=True)
class Regions:
    """How the part of a grid that a rank owns is computed, in local indices.

    Parameters
    ----------
    psi : Box
        Where Psi is advanced: the owned cells, and M beyond a cut in or near the layer of its axis.
    shells : tuple of Box
        Cells that neighbours hold as ghosts, without overlap: computed before the exchange starts.
    core : tuple of Box
        Owned cells between the shells; none in a thin part.
    pieces : tuple of Box
        The core as it is computed, with a poke after each.
    """

    psi: Box
    shells: tuple[Box, ...]
    core: tuple[Box, ...]
    pieces: tuple[Box, ...]

    @classmethod
    def of(
        cls, problem: Problem, cuts: Cuts, threads: int = 1, *, rows: Cuts | None = None, cut: bool = True
    ) -> Regions:
        """Return the regions of a slab, or with `rows` of a block; the core in pieces or, if not `cut`, as a whole."""
        rows = rows or Cuts.whole(problem.layout.shape3[1], problem.radius)
        nz = problem.layout.shape3[2]
        owned = Box((cuts.lo, rows.lo, 0), (cuts.hi, rows.hi, nz))
        (x0, x1), (y0, y1) = (_psi_planes(problem, c) for c in (cuts, rows))
        psi = Box((x0, y0, 0), (x1, y1, nz))
        if any(c.sent_lo + c.sent_hi >= c.hi - c.lo for c in (cuts, rows)):
            return cls(psi, (owned,), (), ())
        shells, core = [], owned
        for axis, c in enumerate((cuts, rows)):
            if c.sent_lo:
                shell, core = core.split(axis, c.lo + c.sent_lo)
                shells.append(shell)
            if c.sent_hi:
                core, shell = core.split(axis, c.hi - c.sent_hi)
                shells.append(shell)
        pieces = _pieces(problem, core, threads) if cut else (core,)
        return cls(psi, tuple(shells), (core,), pieces)


def _psi_planes(problem: Problem, cuts: Cuts) -> tuple[int, int]:
    """Return the planes whose Psi is needed: with M ghosts beyond a cut when the layer of x reaches into them."""
    lo, hi, radius = cuts.lo, cuts.hi, cuts.radius
    if problem.boundary != "pml":
        return lo, hi
    below = radius if lo > radius and cuts.near_layer(lo - radius, lo) else 0
    above = radius if cuts.planes - hi > radius and cuts.near_layer(hi, hi + radius) else 0
    return lo - below, hi + above


def _pieces(problem: Problem, whole: Box, threads: int) -> tuple[Box, ...]:
    """Cut the core into pieces of about `PIECE` points: along x, of a tilted volume along y."""
    count = min(MOST_PIECES, whole.size // PIECE)
    axis = 1 if problem.medium == "tti" and problem.layout.ndim == 3 else 0
    if problem.medium == "tti":
        count = min(count, whole.shape[1] // (TILTED_ROWS * threads) if axis == 1 else 1)
    count = max(1, min(count, whole.shape[axis]))
    pieces, rest = [], whole
    for i in range(1, count):
        first, rest = rest.split(axis, whole.lo[axis] + whole.shape[axis] * i // count)
        pieces.append(first)
    return (*pieces, rest)


class _PointsInBoxes:
    """A source's points in some boxes; None: everywhere."""

    def __init__(self, source: Source, boxes: tuple[Box, ...] | None) -> None:
        self.samples = source.samples
        self.parts: list[tuple[Points, NDArray | slice]] = []
        if boxes is None:
            self.parts.append((source.points, slice(None)))
        for box in boxes or ():
            points, rows = source.points.inside(box)
            if len(rows):
                self.parts.append((points, rows))

    def inject(self, kernels: Device, problem: Problem, fields: list[NDArray], now: int) -> None:
        """Add the samples of time index `now`."""
        if now < self.samples.shape[1]:
            values = self.samples[:, now]
            for points, rows in self.parts:
                kernels.inject(problem, fields, points, values[rows])


class PythonSteps(Stepwise):
    """One step per call, of the slab of a rank.

    Parameters
    ----------
    kernels : Device
        Computes.
    problem : Problem
        The planes held.
    work : Work
        Sources, recorders and the like, whose points have weights on owned planes only. Without tiles.
    sharing : Sharing, optional
        How the wavefield is shared with other ranks; None: all planes are owned.
    """

    def __init__(self, kernels: Device, problem: Problem, work: Work, sharing: Sharing | None = None) -> None:
        super().__init__(problem, kernels.is_finite)
        self.kernels = kernels
        self.work, self.exchange = work, Alone() if sharing is None else sharing.exchange
        cuts = Cuts.whole(problem.layout.shape3[0], problem.radius) if sharing is None else sharing.cuts
        rows = None if sharing is None else sharing.rows
        waits = kernels.ASYNCHRONOUS
        threads = 1 if waits else int(kernels.describe()["threads"])
        self.regions = Regions.of(problem, cuts, threads, rows=rows, cut=not waits and sharing is not None)
        self.in_shells = [_PointsInBoxes(s, self.regions.shells) for s in work.sources]
        core = None if sharing is None else self.regions.core
        self.in_core = [_PointsInBoxes(s, core) for s in work.sources]
        #: across cuts of y a receiver is recorded with the help of ghost rows
        self.records_ghosts = rows is not None
        #: a device may do a whole grid faster in one go
        self.at_once = sharing is None and work.inner is None
        inner = Box((0, 0, 0), problem.layout.shape3) if work.inner is None else work.inner
        self.shells = [shell.intersect(inner) for shell in self.regions.shells]
        self.pieces = [piece.intersect(inner) for piece in self.regions.pieces]

    def begin(self, state: State) -> None:
        """Fetch the ghost planes of the newest level."""
        self.exchange.start(self.problem.travelling(state.curr))
        self.exchange.finish()

    def steps(self, state: State, n: int) -> None:
        """Do one step, and all that it carries."""
        kernels, problem, work = self.kernels, self.problem, self.work
        if self.at_once:
            kernels.time_step(problem, state)
        else:
            self._shells_then_core(state)
        for part in self.in_core:
            part.inject(kernels, problem, state.prev, state.it)
        state.rotate()
        if problem.mirror is not None and kernels.mirror is not None:
            kernels.mirror(problem, state)
        shell_step(kernels, problem, state.curr, state.it, work.shells)
        if self.records_ghosts:
            self.exchange.finish()
        for rec in work.recorders:
            if state.it < rec.data.shape[1]:
                rec.data[:, state.it] = kernels.record(problem, state.curr, rec.points)
        imaging_step(kernels, problem, state, work)
        self.exchange.finish()

    def _shells_then_core(self, state: State) -> None:
        """Write the next level over the one before: what neighbours hold of it first, which then travels."""
        kernels, problem, work = self.kernels, self.problem, self.work
        kernels.memory_step(problem, state, self.regions.psi)
        for shell in self.shells:
            kernels.field_step(problem, state, shell)
        for part in self.in_shells:
            part.inject(kernels, problem, state.prev, state.it)
        if (
            work.shells is not None and work.shells.put_back
        ):  # before these planes travel, and again after the core
            shell_step(kernels, problem, state.prev, state.it + 1, work.shells)
        self.exchange.start(problem.travelling(state.prev))
        for piece in self.pieces:
            kernels.field_step(problem, state, piece)
            self.exchange.poke()
        if kernels.ASYNCHRONOUS:  # while the core is computed: what is asked for next may wait for that
            self.exchange.finish()


def shell_step(
    kernels: Device, problem: Problem, fields: list[NDArray], it: int, shells: Shells | None
) -> None:
    """Keep the shell of the level of time index `it`, or put it back."""
    record = shells.row(it) if shells is not None and shells.shell.cells else None
    if shells is None or record is None:
        return
    act = kernels.put_back_shell if shells.put_back else kernels.keep_shell
    act(problem, fields, shells.shell, record)


def imaging_step(kernels: Device, problem: Problem, state: State, work: Work) -> None:
    """Do what imaging asks for at the time index of the state."""
    snapshots, correlation = work.snapshots, work.correlation
    if snapshots is not None and snapshots.box.size and state.it in snapshots.fields:
        copy = snapshots.fields[state.it]
        if copy is not None:
            kernels.snapshot(problem, state.curr, copy, snapshots.box)
        if snapshots.energy is not None:
            whole = copy is not None and copy.dtype != np.int16
            w = copy if whole else kernels.imaged(problem, state.curr, snapshots.box)
            kernels.square(problem, snapshots.energy, w, snapshots.scale)
    if correlation is not None and correlation.box.size and state.it in correlation.fields:
        u = correlation.fields[state.it]
        kernels.correlate(problem, correlation.image, u, state.curr, correlation.box, correlation.scale)
