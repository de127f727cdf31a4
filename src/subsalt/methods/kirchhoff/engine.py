"""The sum over the traces of one block: traces come in blocks, are prepared, and added to the image traces in order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.kernels.kirchhoff import Adder, Where, block_sum
from subsalt.kernels.kirchhoff_arguments import Medium
from subsalt.methods.kirchhoff.block_reach import reach
from subsalt.methods.kirchhoff.cutting import Block, block_bytes
from subsalt.methods.kirchhoff.partial_image import Sums
from subsalt.methods.kirchhoff.prepare import prepare, prepared_bytes, prepared_shape
from subsalt.methods.kirchhoff.setup import KirchhoffSetup
from subsalt.timing import Phases

if TYPE_CHECKING:
    from subsalt.methods.kirchhoff.options import KirchhoffOptions

#: bytes of prepared traces that are summed in one call, where nothing else is asked: they stay in a large cache while
#: the locations pass over them; rates are flat from 64 traces of the default (131 kB each) upwards,
#: and many classes, which share the traces of a call, gain up to 4 % from twice as many
PREPARED = 32 << 20
#: fewest and most traces of a block
FEWEST, MOST = 16, 4096
#: samples of velocities that are made at one time
VELOCITIES = 1 << 20


def antialias_spacing(setup: KirchhoffSetup) -> tuple[float, float]:
    """Return the spacing, m, that antialiasing protects along inline and crossline numbers.

    Where the options give none it is that of the numbered bins, which hold the midpoints, whatever increments of them
    are put out.
    """
    return setup.options.antialias_spacing or setup.grid.numbered_spacing


def trace_block(nt: int, options: KirchhoffOptions, memory: int | None = None) -> int:
    """Return the traces of a block for "auto".

    Parameters
    ----------
    nt : int
        Samples of a trace.
    options : KirchhoffOptions
        Bands and interpolation, which tell the size of a prepared trace.
    memory : int, optional
        Bytes that prepared traces may take.
    """
    room = PREPARED if memory is None else min(PREPARED, memory)
    return int(min(max(room // prepared_bytes(nt, options), FEWEST), MOST))


def select(setup: KirchhoffSetup, block: Block) -> NDArray[np.int64]:
    """Return the traces that a block sums, as ascending indices into the table: those in reach, of its classes."""
    points = setup.grid.positions(block.box)
    aperture = setup.options.aperture
    near = reach(setup.table, points, farthest(setup, points) if aperture is None else aperture)
    group = setup.group[near]
    if setup.classes.kind == "image":
        return near[group >= 0]
    return near[(group >= block.c0) & (group < block.c1)]


def farthest(setup: KirchhoffSetup, points: NDArray[np.float64]) -> float:
    """Return a distance, m, from which on no midpoint adds anything to some locations, whatever the aperture.

    Notes
    -----
    The legs sum to ``t >= 2 |x_m| / (v sqrt(1 + 2 eta))``: at the distance returned the fastest wave comes behind the
    end of the traces. With a dip limit, ``|x_m| <= (v t0 / 2) tan(dip)``.
    """
    fastest, most_eta, end = 0.0, 0.0, max(setup.table.time.duration, 0.0)
    deepest = setup.grid.time.duration
    if setup.datum is not None:
        end -= min(0.0, float(setup.datum.late.min(initial=0.0)))
        deepest = float(setup.datum.below(points).t0(setup.grid.time).max(initial=0.0))
    for a in range(0, len(points), step := max(1, VELOCITIES // setup.nt)):
        v, eta = setup.velocity.at(points[a : a + step], setup.grid.time)
        fastest = max(fastest, float(v.max()))
        most_eta = max(most_eta, 0.0 if eta is None else float(eta.max()))
    limit = 0.5 * fastest * math.sqrt(1.0 + 2.0 * most_eta) * end
    if setup.options.dip is not None:
        limit = min(limit, 0.5 * fastest * deepest * math.tan(math.radians(setup.options.dip)))
    # far above any rounding of the sum: times of float32
    return limit * (1.0 + 1e-4) + 1.0


def start(setup: KirchhoffSetup, block: Block) -> Sums:
    """Return the sums of a block before its first trace."""
    return Sums.zeros(block, setup.nt, groups_of(setup, block))


def groups_of(setup: KirchhoffSetup, block: Block) -> int:
    """Return the classes that the fold of a block counts."""
    return setup.classes.groups if setup.classes.kind == "image" else block.classes


def bytes_of(setup: KirchhoffSetup, block: Block) -> int:
    """Return the bytes that a block takes while it is summed; the velocity is taken to have an eta."""
    return block_bytes(block.locations, block.classes, groups_of(setup, block), setup.nt, True)


def velocities(
    setup: KirchhoffSetup, points: NDArray[np.float64]
) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """Return velocity and eta (n, nt) at map positions, made some locations at a time: fields are of double numbers."""
    v = np.empty((len(points), setup.nt), np.float32)
    eta = None
    step = max(1, VELOCITIES // setup.nt)
    for a in range(0, len(points), step):
        rows = slice(a, a + step)
        v[rows], e = setup.velocity.at(points[rows], setup.grid.time)
        if e is not None:
            eta = np.empty_like(v) if eta is None else eta
            eta[rows] = e
    return v, eta


def migrate_block(
    setup: KirchhoffSetup,
    sums: Sums,
    traces: Iterable[tuple[NDArray[np.int64], NDArray[np.float32]]],
    threads: int,
    phases: Phases,
    after: Callable[[Sums], None] = lambda sums: None,
    whole: Callable[[], AbstractContextManager[Any]] = nullcontext,
    device: str = "cpu",
) -> None:
    """Add traces to the sums of a block.

    Parameters
    ----------
    setup : KirchhoffSetup
        Setup that all blocks share.
    sums : Sums
        Sums of the block so far; complete at the end, also when it ends early, and after `Sums.settle`.
    traces : iterable of (index, samples)
        Blocks of traces in canonical order: indices into the table, ascending, and their samples (n, nt).
    threads : int
        That prepare and sum.
    phases : Phases
        Takes the seconds, by "trace input", "prepare", "sum", "progress" and "velocity".
    after : callable
        ``after(sums)`` behind every block of traces; sums may be stored then, once they are settled.
    whole : callable
        Makes the context in which sums are changed: nothing should interrupt it.
    device : str
        Where they are summed: "cpu" or "cuda".

    Notes
    -----
    Every output sample adds its traces one after the other in the order of the table, so that the sums do not depend on
    how traces and locations are cut, on threads, or on the device. A GPU sums a block of traces while the CPU prepares
    the next one.
    """
    points = setup.grid.positions(sums.block.box)
    with phases("velocity"):
        medium = Medium(*velocities(setup, points), setup.below(points))
    where = Where(
        sums.image,
        sums.hits,
        sums.fold,
        points,
        np.asarray(setup.grid.axes(), np.float64),
        medium,
        setup.grid.time,
        setup.options,
        antialias_spacing(setup),
    )
    before = sums.contributions
    with block_sum(device, where, setup.table.time.dt, threads) as adder:

        def settle() -> None:
            with phases("sum"), whole():
                sums.contributions = before + adder.fetch()

        sums.settle = settle
        try:
            _add_all(setup, sums, adder, traces, threads, phases, after, whole)
        finally:
            # also for a sum that is stopped: it is stored, and resumed from there
            sums.settle = _nothing
            settle()


def _nothing() -> None:
    """Do nothing."""


def _add_all(
    setup: KirchhoffSetup,
    sums: Sums,
    adder: Adder,
    traces: Iterable[tuple[NDArray[np.int64], NDArray[np.float32]]],
    threads: int,
    phases: Phases,
    after: Callable[[Sums], None],
    whole: Callable[[], AbstractContextManager[Any]],
) -> None:
    options, table = setup.options, setup.table
    first = 0 if setup.classes.kind == "image" else sums.block.c0
    before = sums.contributions
    source = iter(traces)
    while True:
        with phases("trace input"):
            following = next(source, None)
        if following is None:
            return
        index, samples = following
        with phases("sum"):
            room = adder.room(prepared_shape(len(index), table.time.nt, options))
        with phases("prepare"):
            behind = int(index[-1]) + 1
            group = setup.group[index] - first
            slot = np.zeros_like(group) if setup.classes.kind == "image" else group
            # class by class, in order within each: the same additions, with the image traces of one class in the caches
            order = np.argsort(slot, kind="stable")
            index, samples, group, slot = index[order], samples[order], group[order], slot[order]
            prepared = prepare(samples, table.time, options, threads, out=room, numbers=table.number[index])
            geometry = setup.geometry(index, slot.astype(np.int32), group.astype(np.int32))
        with phases("sum"), whole():
            sums.contributions = before + adder.add(prepared, geometry)
            sums.next = behind
            sums.traces += len(index)
        with phases("progress"):
            after(sums)
