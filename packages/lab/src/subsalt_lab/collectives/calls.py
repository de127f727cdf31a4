"""One collective call with its buffers, and whether its answer is right: integers in doubles, which add up exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: bytes of an element
ELEMENT = 8
#: values repeat after so many elements: a prime, so that blocks of any power of two differ
PERIOD = 251


class Call:
    """A collective of one size on communicators of one size.

    Parameters
    ----------
    mpi : module
        mpi4py.MPI.
    collective : str
        One of `choice.COLLECTIVES`.
    nbytes : int
        Bytes of one call, as `choice.COLLECTIVES` counts them; a multiple of `ELEMENT`, 0 for a barrier.
    ranks, rank : int
        Size of the communicator, and the rank in it.

    Notes
    -----
    Rank r gives v[i] = (r + 1) (i mod 251 + 1), so that sums over P ranks are P (P + 1) / 2 (i mod 251 + 1): integers
    below 2^53 for any P up to 8 million, whatever the order of additions.
    """

    def __init__(self, mpi: Any, collective: str, nbytes: int, ranks: int, rank: int) -> None:
        self.mpi, self.collective, self.ranks, self.rank = mpi, collective, ranks, rank
        n = nbytes // ELEMENT
        self.pattern = np.arange(n) % PERIOD + 1.0
        parts = ranks if collective == "alltoall" else 1
        self.given: NDArray[np.float64] = np.concatenate([(rank + 1.0) * self.pattern] * parts)
        if collective == "alltoall":
            # what goes to rank s carries its number too
            self.given += np.repeat(np.arange(ranks, dtype=np.float64), n)
        many = n * (ranks if collective in ("allgather", "alltoall") else 1)
        self.got = np.full(many, -1.0)

    def on(self, comm: Any) -> Callable[[], object]:
        """Return the call on a communicator as a function without arguments, for a loop."""
        kind = self.mpi.DOUBLE
        given, got = [self.given, kind], [self.got, kind]
        if self.collective == "barrier":
            return lambda: comm.Barrier()
        if self.collective == "bcast":
            # the root sends what it has, the others receive into the same place
            buffer = given if self.rank == 0 else got
            return lambda: comm.Bcast(buffer, 0)
        if self.collective == "reduce":
            into = got if self.rank == 0 else None
            return lambda: comm.Reduce(given, into, self.mpi.SUM, 0)
        if self.collective == "allreduce":
            return lambda: comm.Allreduce(given, got, self.mpi.SUM)
        if self.collective == "allgather":
            return lambda: comm.Allgather(given, got)
        return lambda: comm.Alltoall(given, got)

    def forget(self) -> None:
        """Overwrite the answer, so that an old one is not taken for a new one."""
        self.got[:] = -1.0

    def right(self) -> bool:
        """Return whether this rank holds the right answer, exactly."""
        p = self.pattern
        if self.collective == "barrier" or (self.collective in ("bcast", "reduce") and self.idle):
            return True
        if self.collective in ("allreduce", "reduce"):
            expected = self.ranks * (self.ranks + 1) / 2 * p
        elif self.collective == "bcast":
            expected = p
        else:
            mine = self.rank if self.collective == "alltoall" else 0
            expected = np.concatenate([(r + 1.0) * p + mine for r in range(self.ranks)])
        return bool(np.array_equal(self.got, expected))

    @property
    def idle(self) -> bool:
        """Whether this rank receives nothing: the root of a broadcast, all others of a reduction."""
        return (self.rank == 0) == (self.collective == "bcast")
