"""The halo: ghost planes of a wavefield come from the ranks that own them, by requests that are built once.

A plane block of a padded array is contiguous, so that messages go straight from array to array. Both time levels of a
state have their own persistent requests, since the next level is written into one and then into the other array.

`start` begins an exchange, `poke` lets it go on (a message moves little on its own while its rank computes), `finish`
waits for it, without burning the time of other ranks on the same cores.

A rank that must stop cannot just leave: its neighbours wait for its planes. It says a time index at which all will
stop (`stop_soon`). The word travels with the ghost planes, one slab per step, in a number of their padding that no step
reads or writes; it is zero as long as all is well.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from subsalt import mpi_library
from subsalt.comm import Comm
from subsalt.decomp import Slab
from subsalt.waiting import wait

#: tags of ghost planes (2 per field: upwards and downwards in x) and of arrays sent after the time steps
TAG, TAG_ARRAYS = 7200, 7220

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
class _Level:
    """The requests of one time level, bytes sent, and the first number of every message to and from neighbours."""

    requests: list[Any] = field(default_factory=list)
    sent: int = 0
    word_to: list[NDArray] = field(default_factory=list)
    word_from: list[NDArray] = field(default_factory=list)


class Halo:
    """Exchange of the ghost planes of one state.

    Parameters
    ----------
    group : Comm
        The ranks that share the shot, in the order of their slabs.
    slabs : sequence of Slab
        Of all ranks of the group.
    radius : int
        Planes of padding in front of plane 0 in every array.
    levels : sequence of sequence of ndarray
        By time level: the padded arrays whose ghost planes travel, p or p and q. The first array of a level names it.
    """

    def __init__(
        self, group: Comm, slabs: Sequence[Slab], radius: int, levels: Sequence[Sequence[NDArray]]
    ) -> None:
        self.traffic = Traffic()
        #: the time index at which all ranks stop; None: none is known of
        self.stop: int | None = None
        self._reach = len(slabs) + LAG
        self._levels = {id(arrays[0]): self._requests(group, slabs, radius, arrays) for arrays in levels}
        # what has requests must not go away before them
        self._arrays = [a for arrays in levels for a in arrays]
        self._active: _Level | None = None
        self._start_all, self._test_all = mpi_library.start_all(), mpi_library.test_all()

    @staticmethod
    def _requests(group: Comm, slabs: Sequence[Slab], radius: int, arrays: Sequence[NDArray]) -> _Level:
        """Return the persistent requests of one time level."""
        mpi, rank = group.mpi, group.rank
        assert mpi is not None
        own = slabs[rank]
        lo, hi = own.owned_local
        out = _Level()
        for number, a in enumerate(arrays):
            up, down = TAG + 2 * number, TAG + 2 * number + 1

            def link(
                other: int, got: tuple[int, int], sent: tuple[int, int], tags: tuple[int, int], a: NDArray = a
            ) -> None:
                to, here = (a[radius + first : radius + first + count] for first, count in (sent, got))
                out.requests.append(mpi.Recv_init(here, other, tags[0]))
                out.requests.append(mpi.Send_init(to, other, tags[1]))
                out.sent += to.nbytes
                out.word_to.append(to.reshape(-1)[:1])
                out.word_from.append(here.reshape(-1)[:1])

            if rank > 0:
                asked = slabs[rank - 1].ghost_hi
                link(rank - 1, (0, own.ghost_lo), (lo, asked), (up, down))
            if rank < len(slabs) - 1:
                asked = slabs[rank + 1].ghost_lo
                link(rank + 1, (hi, own.ghost_hi), (hi - asked, asked), (down, up))
        return out

    def start(self, level: Sequence[NDArray]) -> None:
        """Begin the exchange of a time level; what neighbours hold of it must have been written."""
        self._active = chosen = self._levels[id(level[0])]
        if self.stop is not None:
            for word in chosen.word_to:
                word[0] = self.stop
        self._start_all(chosen.requests)
        self.traffic.bytes += chosen.sent
        self.traffic.exchanges += 1

    def poke(self) -> bool:
        """Let the exchange go on; return whether it is complete."""
        if self._active is None:
            return True
        if not self._test_all(self._active.requests):
            return False
        for word in self._active.word_from:
            if word[0]:
                self._stop_at(int(word[0]))
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
        self._levels = {}


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
