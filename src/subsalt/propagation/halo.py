"""The halo: ghost planes of a wavefield come from the ranks that own them, by requests that are built once.

A plane block of a padded array is contiguous, so that messages go straight from array to array. Where rows are cut as
well, blocks of planes and rows are copied together (`Packed`). Both time levels of a state have their own persistent
requests, since the next level is written into one and then into the other array.

A tilted medium reads across the corners of a block as well. They come without a message to a rank across a corner:
planes travel along x first, then rows along y, with those of the ghost planes (`_Stage`).

`start` begins an exchange, `poke` makes progress on it (a message moves little while its rank computes), `finish` waits
for it, without burning the time of other ranks on the same cores.

Kernels of a GPU return before they have computed, so that the planes are not written yet at `start`: the messages then
begin in the first `poke` or `finish` that finds them written. Where MPI cannot reach the memory that computes,
the planes go through memory of the host (`GhostPlanes` of the device). On a GPU `finish` waits for the messages only:
later kernels wait for the planes on the device.

A rank that must stop cannot just leave, since its neighbours wait for its planes. It announces a time index at which
all ranks stop (`stop_soon`). This index travels with the ghost planes, one slab per step, in a number of their padding
that no step reads or writes; it is zero otherwise. Where the host cannot read the planes, it is a separate message.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.kernels.device import Device, GhostPlanes, InPlace
from subsalt.parallel import mpi_library
from subsalt.parallel.comm import Comm
from subsalt.parallel.decomp import Slab
from subsalt.parallel.mpi_library import reaches_gpus
from subsalt.parallel.waiting import wait

#: tags of ghost planes (2 per field and axis: upwards and downwards), of words beside them, and of arrays sent after
#: the time steps
TAG, TAG_WORD, TAG_ARRAYS = 7200, 7210, 7220

#: steps that a rank does at most between two looks at `Halo.stop`: those of a pass, and one in progress
LAG = 8


@dataclass
class HaloTraffic:
    """Cost of the exchanges of a halo: seconds in `finish`, bytes sent, number of exchanges."""

    waited: float = 0.0
    bytes: int = 0
    exchanges: int = 0

    def add(self, now: HaloTraffic, before: HaloTraffic) -> None:
        """Add the traffic of a halo between two readings of its counters."""
        self.waited += now.waited - before.waited
        self.bytes += now.bytes - before.bytes
        self.exchanges += now.exchanges - before.exchanges


@dataclass
class _Link:
    """A block of planes to a neighbour and one from it, and the tags of the two, the one received first."""

    other: int
    sent: Any
    received: Any
    tags: tuple[int, int]


class Packed(InPlace):
    """Blocks of planes and rows, copied together: MPI takes what lies in one piece.

    Parameters
    ----------
    sent, received : sequence of ndarray
        Blocks of padded arrays, by link; rows are whole.
    """

    def __init__(self, sent: Sequence[NDArray[Any]], received: Sequence[NDArray[Any]]) -> None:
        super().__init__(
            [np.empty_like(a, order="C") for a in sent], [np.empty_like(a, order="C") for a in received]
        )
        self._from, self._to = sent, received

    def leave(self) -> None:
        """Copy what is sent."""
        for packed, block in zip(self.sent, self._from, strict=True):
            packed[...] = block

    def arrive(self) -> None:
        """Copy what was received to where it belongs."""
        for block, packed in zip(self._to, self.received, strict=True):
            block[...] = packed


@dataclass
class _Stage:
    """The requests of what travels at the same time, bytes sent, and the words in the messages of neighbours."""

    planes: GhostPlanes
    requests: list[Any] = field(default_factory=list)
    sent: int = 0
    word_to: list[NDArray] = field(default_factory=list)
    word_from: list[NDArray] = field(default_factory=list)


class Halo:
    """Exchange of the ghost planes of one state; to make one is collective.

    Parameters
    ----------
    group : Comm
        The ranks that share the shot, in the order of their slabs.
    cut : sequence of sequence of Slab
        Slabs of x and of y (`propagation.blocks`).
    radius : int
        Planes of padding in front of plane 0 in every array; of rows, where they are cut.
    levels : sequence of sequence of array
        By time level: the padded arrays whose ghost planes travel, p or p and q. The first array of a level names it.
    kernels : module
        The device of the arrays: its `ghost_planes` brings them to MPI.
    along_x : int, optional
        Arrays of a level whose ghosts along x travel, the first ones; all when None. Along y all do.
    corners : bool
        Ghost rows travel with those of the ghost planes.
    """

    def __init__(
        self,
        group: Comm,
        cut: tuple[Sequence[Slab], Sequence[Slab]],
        radius: int,
        levels: Sequence[Sequence[Any]],
        kernels: Device,
        *,
        along_x: int | None = None,
        corners: bool = False,
    ) -> None:
        self.traffic = HaloTraffic()
        #: the time index at which all ranks stop; None: none is known of
        self.stop: int | None = None
        self._reach = len(cut[0]) + len(cut[1]) - 1 + LAG
        # all ranks alike: it decides which messages there are
        by_mpi = not kernels.ASYNCHRONOUS or all(group.allgather(reaches_gpus().yes))
        share = _Share(cut, group.rank, radius, corners)
        self._levels: dict[int, list[_Stage]] = {}
        for arrays in levels:
            x, y = share.planes(arrays[:along_x]), share.rows(arrays)
            stages = [x + y] if not corners or not y else [x, y]
            self._levels[id(arrays[0])] = [
                _stage(group, links, kernels, by_mpi, packed=len(cut[1]) > 1) for links in stages if links
            ]
        # what has requests must not go away before them
        self._arrays = [a for arrays in levels for a in arrays]
        self._active: list[_Stage] = []
        self._under_way = False
        self._start_all, self._test_all = mpi_library.start_all(), mpi_library.test_all()

    def start(self, level: Sequence[Any]) -> None:
        """Begin the exchange of a time level; the planes that neighbours hold must have been written, or queued."""
        self._active, self._under_way = list(self._levels[id(level[0])]), False
        for stage in self._active:
            self.traffic.bytes += stage.sent
        self.traffic.exchanges += 1
        if self._active:
            self._leave(self._active[0])

    def _leave(self, stage: _Stage) -> None:
        """Bring the planes of a stage on their way."""
        stage.planes.leave()
        self._set_out(stage)

    def _set_out(self, stage: _Stage) -> bool:
        """Start the messages once the planes can be sent; return whether they have started."""
        if not self._under_way and stage.planes.left():
            if self.stop is not None:
                for word in stage.word_to:
                    word[0] = self.stop
            self._start_all(stage.requests)
            self._under_way = True
        return self._under_way

    def poke(self) -> bool:
        """Make progress on the exchange; return whether it is complete."""
        while self._active:
            stage = self._active[0]
            if not self._set_out(stage) or not self._test_all(stage.requests):
                return False
            for word in stage.word_from:
                if word[0]:
                    self._stop_at(int(word[0]))
            stage.planes.arrive()
            del self._active[0]
            self._under_way = False
            if self._active:
                self._leave(self._active[0])
        return True

    def stop_soon(self, it: int) -> None:
        """Let all ranks stop at one time index, a few steps after `it`, when all are sure to know."""
        self._stop_at(it + self._reach)

    def _stop_at(self, it: int) -> None:
        self.stop = it if self.stop is None else min(self.stop, it)

    def finish(self) -> None:
        """Wait until the ghost planes have come and what was sent may be written over."""
        begin = time.perf_counter()
        wait(self.poke)
        self.traffic.waited += time.perf_counter() - begin

    def free(self) -> None:
        """Free the requests; an exchange that is incomplete after an error is left to the end of MPI."""
        if self._active:
            return
        for stages in self._levels.values():
            for stage in stages:
                for request in stage.requests:
                    request.Free()
                stage.planes.free()
        self._levels = {}


@dataclass
class _Share:
    """The part of a grid that a rank of a group exchanges.

    Parameters
    ----------
    cut : tuple of sequence of Slab
        Parts along x and along y.
    rank, radius, corners
        As for `Halo`.
    """

    cut: tuple[Sequence[Slab], Sequence[Slab]]
    rank: int
    radius: int
    corners: bool

    @property
    def at(self) -> tuple[int, int]:
        """Number of the rank's slab along x and along y."""
        return divmod(self.rank, len(self.cut[1]))

    def planes(self, arrays: Sequence[Any]) -> list[_Link]:
        """Return the blocks of planes that travel along x; of a block its own rows."""
        rows = self.cut[1]
        if len(rows) == 1:
            return self._links(0, arrays, lambda a, some: a[some])
        lo, hi = rows[self.at[1]].owned_local
        own = slice(self.radius + lo, self.radius + hi)
        return self._links(0, arrays, lambda a, some: a[some, own])

    def rows(self, arrays: Sequence[Any]) -> list[_Link]:
        """Return the blocks of rows that travel along y, of the planes owned, with corners of all that are held."""
        slab = self.cut[0][self.at[0]]
        lo, hi = (0, slab.planes) if self.corners else slab.owned_local
        planes = slice(self.radius + lo, self.radius + hi)
        return self._links(1, arrays, lambda a, some: a[planes, some])

    def _links(self, axis: int, arrays: Sequence[Any], block: Callable[[Any, slice], Any]) -> list[_Link]:
        slabs, me = self.cut[axis], self.at[axis]
        own, apart = slabs[me], len(self.cut[1]) if axis == 0 else 1
        lo, hi = own.owned_local
        out = []

        def some(a: Any, first: int, count: int) -> Any:
            return block(a, slice(self.radius + first, self.radius + first + count))

        for number, a in enumerate(arrays):
            up = TAG + 4 * axis + 2 * number
            down = up + 1
            if me > 0:
                ghosts = slabs[me - 1].ghost_hi
                sent, received = some(a, lo, ghosts), some(a, 0, own.ghost_lo)
                out.append(_Link(self.rank - apart, sent, received, (up, down)))
            if me < len(slabs) - 1:
                ghosts = slabs[me + 1].ghost_lo
                sent, received = some(a, hi - ghosts, ghosts), some(a, hi, own.ghost_hi)
                out.append(_Link(self.rank + apart, sent, received, (down, up)))
        return out


def _stage(group: Comm, links: Sequence[_Link], kernels: Device, by_mpi: bool, *, packed: bool) -> _Stage:
    """Return the persistent requests of one stage of one time level."""
    mpi = group.mpi
    assert mpi is not None
    sent, received = [l.sent for l in links], [l.received for l in links]
    planes: GhostPlanes = Packed(sent, received) if packed else kernels.ghost_planes(sent, received, by_mpi)
    out = _Stage(planes)

    def link(to: Any, here: Any, other: int, tags: tuple[int, int]) -> None:
        out.requests.append(mpi.Recv_init(here, other, tags[0]))
        out.requests.append(mpi.Send_init(to, other, tags[1]))
        out.sent += to.nbytes

    for l, to, here in zip(links, planes.sent, planes.received, strict=True):
        link(to, here, l.other, l.tags)
        if planes.on_host:
            out.word_to.append(to.reshape(-1)[:1])
            out.word_from.append(here.reshape(-1)[:1])
        elif l.tags[0] in (TAG, TAG + 1):  # one word per neighbour
            words = np.zeros((2, 1), dtype=np.float32)
            link(words[0], words[1], l.other, (l.tags[0] - TAG + TAG_WORD, l.tags[1] - TAG + TAG_WORD))
            out.word_to.append(words[0])
            out.word_from.append(words[1])
    return out


def swap(group: Comm, send: Mapping[int, NDArray], receive: Mapping[int, NDArray]) -> None:
    """Send contiguous arrays to ranks of a group, and fill arrays from others; for between time loops.

    Parameters
    ----------
    send, receive : mapping of int to ndarray
        Arrays by rank; both sides know shapes and types beforehand.
    """
    if not send and not receive:
        return
    mpi = group.mpi
    assert mpi is not None
    test_all = mpi_library.test_all()
    requests = [mpi.Irecv(a, rank, TAG_ARRAYS) for rank, a in receive.items()]
    requests += [mpi.Isend(a, rank, TAG_ARRAYS) for rank, a in send.items()]
    wait(lambda: test_all(requests))
