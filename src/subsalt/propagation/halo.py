"""The halo: ghost planes of a wavefield come from the ranks that own them, by requests that are built once.

A plane block of a padded array is contiguous, so that messages go straight from array to array. Both time levels of a
state have their own persistent requests, since the next level is written into one and then into the other array.

`start` begins an exchange, `poke` lets it go on (a message moves little on its own while its rank computes), `finish`
waits for it, without burning the time of other ranks on the same cores.

Kernels that have only been asked for when they return (a GPU's) have not written the planes at `start`: the messages
then begin in the first `poke` or `finish` that finds them written. Where MPI cannot reach the memory that computes,
the planes go through memory of the host (`GhostPlanes` of the device). On a GPU `finish` waits for the messages alone:
what is computed after it waits for the planes on the device.

A rank that must stop cannot just leave: its neighbours wait for its planes. It says a time index at which all will
stop (`stop_soon`). The word travels with the ghost planes, one slab per step, in a number of their padding that no step
reads or writes; it is zero as long as all is well. Where the host cannot read the planes it is a message of its own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.kernels.device import Device, GhostPlanes
from subsalt.parallel import mpi_library
from subsalt.parallel.comm import Comm
from subsalt.parallel.decomp import Slab
from subsalt.parallel.mpi_library import reaches_gpus
from subsalt.parallel.waiting import wait

#: tags of ghost planes (2 per field: upwards and downwards in x), of words beside them, and of arrays sent after the
#: time steps
TAG, TAG_WORD, TAG_ARRAYS = 7200, 7210, 7220

#: steps that a rank does at most between two looks at `Halo.stop`: those of a pass, and one under way
LAG = 8


@dataclass
class Traffic:
    """What the exchanges of a halo took: seconds in `finish`, bytes sent, number of exchanges."""

    waited: float = 0.0
    bytes: int = 0
    exchanges: int = 0

    def add(self, now: Traffic, before: Traffic) -> None:
        """Add what a halo took between two looks."""
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


@dataclass
class _Level:
    """The requests of one time level, bytes sent, and the words in the messages to and from neighbours."""

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
    slabs : sequence of Slab
        Of all ranks of the group.
    radius : int
        Planes of padding in front of plane 0 in every array.
    levels : sequence of sequence of array
        By time level: the padded arrays whose ghost planes travel, p or p and q. The first array of a level names it.
    kernels : module
        The device of the arrays: its `ghost_planes` brings them to MPI.
    """

    def __init__(
        self,
        group: Comm,
        slabs: Sequence[Slab],
        radius: int,
        levels: Sequence[Sequence[Any]],
        kernels: Device,
    ) -> None:
        self.traffic = Traffic()
        #: the time index at which all ranks stop; None: none is known of
        self.stop: int | None = None
        self._reach = len(slabs) + LAG
        # all ranks alike: it decides which messages there are
        by_mpi = not kernels.ASYNCHRONOUS or all(group.allgather(reaches_gpus().yes))
        self._levels = {
            id(arrays[0]): _level(group, _links(slabs, group.rank, radius, arrays), kernels, by_mpi)
            for arrays in levels
        }
        # what has requests must not go away before them
        self._arrays = [a for arrays in levels for a in arrays]
        self._active: _Level | None = None
        self._under_way = False
        self._start_all, self._test_all = mpi_library.start_all(), mpi_library.test_all()

    def start(self, level: Sequence[Any]) -> None:
        """Begin the exchange of a time level; what neighbours hold of it must have been written, or asked for."""
        self._active, self._under_way = self._levels[id(level[0])], False
        self._active.planes.leave()
        self.traffic.bytes += self._active.sent
        self.traffic.exchanges += 1
        self._set_out(self._active)

    def _set_out(self, level: _Level) -> bool:
        """Start the messages when the planes are there to be sent; return whether they are under way."""
        if not self._under_way and level.planes.left():
            if self.stop is not None:
                for word in level.word_to:
                    word[0] = self.stop
            self._start_all(level.requests)
            self._under_way = True
        return self._under_way

    def poke(self) -> bool:
        """Let the exchange go on; return whether it is complete."""
        level = self._active
        if level is None:
            return True
        if not self._set_out(level) or not self._test_all(level.requests):
            return False
        for word in level.word_from:
            if word[0]:
                self._stop_at(int(word[0]))
        level.planes.arrive()
        self._active = None
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
        """Give the requests back; an exchange that is still going on (after an error) is left to the end of MPI."""
        if self._active is not None:
            return
        for level in self._levels.values():
            for request in level.requests:
                request.Free()
            level.planes.free()
        self._levels = {}


def _links(slabs: Sequence[Slab], rank: int, radius: int, arrays: Sequence[Any]) -> list[_Link]:
    """Return the blocks of planes that a rank exchanges of a time level."""
    own = slabs[rank]
    lo, hi = own.owned_local
    out = []

    for number, a in enumerate(arrays):
        up, down = TAG + 2 * number, TAG + 2 * number + 1

        def block(first: int, count: int, a: Any = a) -> Any:
            return a[radius + first : radius + first + count]

        if rank > 0:
            asked = slabs[rank - 1].ghost_hi
            out.append(_Link(rank - 1, block(lo, asked), block(0, own.ghost_lo), (up, down)))
        if rank < len(slabs) - 1:
            asked = slabs[rank + 1].ghost_lo
            out.append(_Link(rank + 1, block(hi - asked, asked), block(hi, own.ghost_hi), (down, up)))
    return out


def _level(group: Comm, links: Sequence[_Link], kernels: Device, by_mpi: bool) -> _Level:
    """Return the persistent requests of one time level."""
    mpi = group.mpi
    assert mpi is not None
    planes: GhostPlanes = kernels.ghost_planes([l.sent for l in links], [l.received for l in links], by_mpi)
    out = _Level(planes)

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
        By rank; both sides know shapes and types beforehand.
    """
    if not send and not receive:
        return
    mpi = group.mpi
    assert mpi is not None
    test_all = mpi_library.test_all()
    requests = [mpi.Irecv(a, rank, TAG_ARRAYS) for rank, a in receive.items()]
    requests += [mpi.Isend(a, rank, TAG_ARRAYS) for rank, a in send.items()]
    wait(lambda: test_all(requests))
