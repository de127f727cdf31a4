"""Recording on a slab: per-plane partial sums, added in x order whichever ranks own the planes.

A recorded sample is the sum over the planes of a receiver's support of the sum of each plane, in x order. A receiver
belongs to the rank that owns the first plane on which it has a weight. That rank keeps a running sum over its planes
while wavefields propagate; ranks further on keep each plane's sum for itself. After the last step those are sent to the
receiver's rank, which adds them plane by plane. The result has the bits of one process, which it would not have if
every rank added up its own planes first.

A plane's sum is one chain of additions through its rows. Where rows are cut a receiver therefore belongs to the ranks
of one slab of y, that of the middle row of its support, which read the other rows from their ghosts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.injection import Points, supports
from subsalt.kernels.work import Recorder
from subsalt.parallel.comm import Comm
from subsalt.parallel.decomp import Slab
from subsalt.propagation.domain import Domain
from subsalt.propagation.halo import swap


@dataclass(frozen=True)
class Further:
    """Planes of receivers that belong to other ranks, in x order and within a plane in survey order.

    Parameters
    ----------
    row : ndarray, (k,)
        Receiver.
    owner : ndarray, (k,)
        Rank that owns the plane.
    points : Points
        Points on the whole computational grid, each with weights on one plane only.
    """

    row: NDArray[np.intp]
    owner: NDArray[np.intp]
    points: Points


@dataclass
class SlabRecorder:
    """The part of the recording at receivers that one rank does.

    Parameters
    ----------
    points : Points
        All receivers, on the whole computational grid.
    rows : ndarray
        Receivers that belong to this rank.
    begun : Recorder
        Running sums of these receivers over the planes owned here.
    further : Further
        Planes of receivers that belong to other ranks.
    single : Recorder
        The samples of those planes.
    column : ndarray
        Receivers that belong to the ranks with the same rows along y.
    flushes : bool
        Whether the kernels flush subnormal numbers to zero; sums over ranks then do so, too.
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
        """The recorders that are active during the time steps."""
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


def recorded_counts(index: NDArray[np.float64], domain: Domain) -> tuple[int, int]:
    """Return how many series `SlabRecorder` allocates for positions in cells of the grid, before weights are made.

    Returns
    -------
    own : int
        Receivers that the rank records for itself.
    single : int
        Single planes of receivers that it sends and gets; what it sends, it has twice.
    """
    support = domain.options.support
    first, last = supports(index[:, 0], support)
    if len(domain.rows) > 1:
        low, high = supports(index[:, 1], support)
        middle, across = (low + high) // 2, domain.across
        mine = (middle >= across.lo) & (middle < across.hi)
        first, last = first[mine], last[mine]
    lo, hi = domain.slab.lo, domain.slab.hi
    own = (first >= lo) & (first < hi)
    sent = np.minimum(last, hi - 1)[first < lo] - lo + 1
    got = last[own] - hi + 1
    return int(own.sum()), int(2 * np.maximum(sent, 0).sum() + np.maximum(got, 0).sum())


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
