"""The march over the time steps of one wavefield, whatever advances it, on one rank or on the slab of one.

`march` asks a stepper for steps from hook to hook and ends when the wavefield is no longer finite. `by_step` is the
reference, apart from it: a loop in Python over the kernels of any device on a whole grid, whose bits every stepper has.

The user's file of tile sizes that were found fastest: ``$XDG_CACHE_HOME/subsalt/tiles.json``, or ``~/.cache``.

Recording on a slab: per-plane partial sums, added in x order whoever owns the planes.

A recorded sample is the sum over the planes of a receiver's support of the sum of each plane, in x order. A receiver
belongs to the rank that owns the first plane on which it has a weight. That rank keeps a running sum over its planes
while wavefields propagate; ranks further on keep each plane's sum for itself. After the last step those are sent to the
receiver's rank, which adds them plane by plane. The result has the bits of one process, which it would not have if
every rank added up its own planes first.

A plane's sum is one chain of additions through its rows. Where rows are cut a receiver therefore belongs to the ranks
of one slab of y, that of the middle row of its support, which read the other rows from their ghosts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.injection import Points
from subsalt.errors import SubsaltError
from subsalt.io.publish import make_folder, publish_text
from subsalt.kernels import tuning
from subsalt.kernels.device import Device
from subsalt.kernels.problem import Problem, State
from subsalt.kernels.steps import PythonSteps, imaging_step, shell_step
from subsalt.kernels.work import FINITE_EVERY, Alone, Exchange, Recorder, Sharing, Stepper, Work
from subsalt.parallel.comm import Comm
from subsalt.parallel.decomp import Slab
from subsalt.propagation.domain import Domain
from subsalt.propagation.halo import swap


def cache_file() -> Path:
    """Return where the cuts of this user are kept."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "subsalt" / "tiles.json"


class TileCache:
    """A `kernels.tuning.Memory` on disk.

    Damaged, absent or not writable it is no error: a cut is soon found anew.
    """

    def read(self) -> dict[str, tuning.Cut]:
        """Return the cuts by name; empty when there is nothing to be read."""
        try:
            cuts = json.loads(cache_file().read_text())["cuts"]
            return {str(k): tuple(int(number) for number in cut) for k, cut in cuts.items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError):
            return {}

    def write(self, name: str, value: tuning.Cut) -> None:
        """Add an entry; the file appears complete or not at all."""
        cuts = {**self.read(), name: value}
        text = json.dumps({"cuts": {k: list(cuts[k]) for k in sorted(cuts)}}, indent=1)
        with suppress(OSError, RuntimeError, SubsaltError):
            path = cache_file()
            make_folder(path.parent)
            publish_text(path, text)


# tiles found fastest serve the next process of this user too
tuning.remember_in(TileCache())


def stepper_of(
    kernels: Device, problem: Problem, work: Work, sharing: Sharing | None = None, *, compiled: bool = True
) -> Stepper:
    """Return what advances a wavefield: what the device chooses, or steps in Python.

    Parameters
    ----------
    kernels : Device
        Computes.
    problem : Problem
        The planes held.
    work : Work
        What the steps carry.
    sharing : Sharing, optional
        With other ranks.
    compiled : bool
        False: steps in Python in any case.
    """
    chosen = kernels.stepper(problem, work, sharing) if compiled and work.compiles else None
    return PythonSteps(kernels, problem, work, sharing) if chosen is None else chosen


def march(
    stepper: Stepper,
    state: State,
    n: int,
    work: Work,
    exchange: Exchange | None = None,
    blown_up: Callable[[State], None] = lambda state: None,
) -> bool:
    """Advance `state` by `n` steps; return whether it was finite where it was looked at (`Work.check_last`).

    Collective over a group, in which nothing but ghost planes travels.

    Parameters
    ----------
    stepper : Stepper
        Advances.
    state : State
        Changed in place.
    n : int
        Steps.
    work : Work
        That of the stepper; its hook is called here.
    exchange : Exchange, optional
        That of the stepper; None where a rank has the wavefield to itself.
    blown_up : callable
        Called with the state, once, when it is no longer finite. The steps go on until all ranks know
        (`Exchange.stop_soon`): the others wait for ghost planes.
    """
    exchange = Alone() if exchange is None else exchange
    finite, last, exchange.stop = True, state.it + n, None
    stepper.begin(state)
    for until in work.stops(state.it, n):
        with stepper.arriving():
            while state.it < until and state.it != exchange.stop:
                end = until if exchange.stop is None else min(until, exchange.stop)
                look = work.check_last and end == last
                fine = stepper.advance(state, end - state.it, FINITE_EVERY, look, work.progress)
                if finite and not fine:
                    finite = False
                    blown_up(state)
                    exchange.stop_soon(state.it)
        if state.it == exchange.stop:
            break
        if work.hook is not None and work.hook_at(until):
            work.hook(state)
    return finite


def by_step(kernels: Device, problem: Problem, state: State, n: int, work: Work) -> bool:
    """Advance step by step; return whether the field is finite (looked at every `FINITE_EVERY` steps and at last)."""
    for i in range(n):
        if work.inner is not None:
            kernels.field_step(problem, state, work.inner)
        elif work.boxes:
            for box in work.boxes:
                kernels.memory_step(problem, state, box)
            for box in work.boxes:
                kernels.field_step(problem, state, box)
        else:
            kernels.time_step(problem, state)
        now = state.it
        state.rotate()
        for src in work.sources:
            if now < src.samples.shape[1]:
                kernels.inject(problem, state.curr, src.points, src.samples[:, now])
        if problem.mirror is not None and kernels.mirror is not None:
            kernels.mirror(problem, state)
        shell_step(kernels, problem, state.curr, state.it, work.shells)
        for rec in work.recorders:
            if state.it < rec.data.shape[1]:
                rec.data[:, state.it] = kernels.record(problem, state.curr, rec.points)
        imaging_step(kernels, problem, state, work)
        if work.hook is not None and work.hook_at(state.it):
            work.hook(state)
        if (state.it % FINITE_EVERY == 0 or i == n - 1) and not kernels.is_finite(problem, state.curr):
            return False
        if work.progress is not None:
            work.progress(state.it)
    return True


@dataclass(frozen=True)
class Further:
    """Planes of receivers that belong to other ranks, in x order and within a plane in survey order.

    Parameters
    ----------
    row : ndarray, (k,)
        Receiver.
    owner : ndarray, (k,)
        Its rank.
    points : Points
        Of the whole computational grid, each with weights on one plane only.
    """

    row: NDArray[np.intp]
    owner: NDArray[np.intp]
    points: Points


@dataclass
class SlabRecorder:
    """What one rank records of receivers.

    Parameters
    ----------
    points : Points
        All receivers, on the whole computational grid.
    rows : ndarray
        Receivers that belong to this rank.
    begun : Recorder
        Their running sums over the planes owned here.
    further : Further
        Planes of receivers that belong to other ranks.
    single : Recorder
        The samples of those planes.
    column : ndarray
        Receivers that belong to the ranks with the same rows along y.
    flushes : bool
        What adds them up makes zeros of numbers below the smallest normal one.
    """

    points: Points
    rows: NDArray[np.intp]
    begun: Recorder
    further: Further
    single: Recorder
    column: NDArray[np.intp]
    flushes: bool = False

    @classmethod
    def of(cls, points: Points, domain: Domain, nt: int, dtype: type, *, flushes: bool) -> SlabRecorder:
        """Return a zeroed recorder of `nt` samples; `flushes`: of kernels that flush (`kernels.cpu.FLUSHES`)."""
        slab, across = domain.slab, domain.across
        column = in_column(points, domain.rows, across.rank)
        here = points[column]
        own = belong_to(here, domain.slabs, slab.rank)
        beyond = further_planes(here, domain.slabs, slab.rank)
        made = []
        for some in (here[own], beyond.points):
            # a weight on one plane is moved to local indices; none is left out
            local, _ = some.on_planes(slab.lo, slab.hi, slab.first)
            if len(domain.rows) > 1:
                local, _ = local.between(1, across.first, across.last, across.first)
            made.append(Recorder(local, np.zeros((len(local), nt), dtype=dtype, order="F")))
        return cls(points, column[own], made[0], beyond, made[1], column, flushes)

    @property
    def parts(self) -> list[Recorder]:
        """What records during the time steps."""
        return [r for r in (self.begun, self.single) if len(r.points)]

    def complete(self, group: Comm, domain: Domain) -> tuple[NDArray[np.intp], NDArray]:
        """Return the receivers that belong to this rank and their samples (n, nt); collective, after the time steps."""
        slabs, rank, nt = domain.slabs, domain.slab.rank, self.begun.data.shape[1]

        def number(other: int) -> int:
            """Return the rank of the group that has another slab of the same rows."""
            return other * len(domain.rows) + domain.across.rank

        send = {
            number(int(owner)): np.ascontiguousarray(self.single.data[self.further.owner == owner])
            for owner in np.unique(self.further.owner)
        }
        parts, here = {}, self.points[self.column]
        for other in range(rank + 1, len(slabs)):
            if slabs[other].lo >= slabs[rank].hi + self.points.width:
                break
            theirs = further_planes(here, slabs, other)
            row = self.column[theirs.row[theirs.owner == rank]]
            if len(row):
                parts[number(other)] = row, np.empty((len(row), nt), dtype=self.begun.data.dtype)
        swap(group, send, {other: data for other, (_, data) in parts.items()})
        data = self.begun.data
        for row, block in parts.values():  # ranks ascend, and planes within them: x order for every receiver
            # within a plane receivers ascend: where they do not, the next plane has begun
            planes = np.split(np.arange(len(row)), np.flatnonzero(np.diff(row) <= 0) + 1)
            for of_plane in planes:
                at = np.searchsorted(self.rows, row[of_plane])
                total = data[at] + block[of_plane]
                data[at] = flushed(total) if self.flushes else total
        return self.rows, data


def flushed(values: NDArray) -> NDArray:
    """Return numbers, zeros of their sign where they are below the smallest normal one, as processors flush them."""
    return np.where(np.abs(values) < np.finfo(values.dtype).tiny, np.copysign(0, values), values)


def belong_to(points: Points, slabs: tuple[Slab, ...], rank: int) -> NDArray[np.intp]:
    """Return the points whose first plane with a weight a rank owns."""
    first = points.planes[:, 0]
    return np.nonzero((first >= slabs[rank].lo) & (first < slabs[rank].hi))[0]


def in_column(points: Points, rows: tuple[Slab, ...], number: int) -> NDArray[np.intp]:
    """Return the points whose middle row with a weight lies in one of the slabs of y."""
    if len(rows) == 1:
        return np.arange(len(points))
    spans = points.spans(1)
    middle = (spans[:, 0] + spans[:, 1] - 1) // 2
    return np.nonzero((middle >= rows[number].lo) & (middle < rows[number].hi))[0]


def further_planes(points: Points, slabs: tuple[Slab, ...], rank: int) -> Further:
    """Return the planes of a slab that hold weights of points which belong to ranks below."""
    slab = slabs[rank]
    ends = np.array([s.hi for s in slabs])
    planes = points.planes
    late = np.nonzero((planes[:, 0] < slab.lo) & (planes[:, 1] > slab.lo))[0]
    owner = np.searchsorted(ends, planes[late, 0], side="right")

    def by_plane() -> Iterator[tuple[NDArray, NDArray, Points]]:
        for ix in range(slab.lo, min(slab.hi, slab.lo + points.width)):
            of_plane, which = points[late].on_planes(ix, ix + 1)
            yield late[which], owner[which], of_plane

    row, of, pieces = zip(*by_plane(), strict=True)
    together = Points(np.concatenate([p.base for p in pieces]), np.concatenate([p.weights for p in pieces]))
    return Further(np.concatenate(row), np.concatenate(of), together)
