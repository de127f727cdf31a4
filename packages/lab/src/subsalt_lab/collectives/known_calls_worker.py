"""One rank that makes collective calls with known answers.

Started by ``python -m subsalt_lab.collectives.known_calls_worker REQUEST`` under a launcher.

Every rank appends a line to its own file after each step, so that what was done is known when a call ends the program.
Between the steps the ranks wait for each other by messages between pairs: no collective call stands between two steps.
Sums are of whole numbers in double precision, and thus exact in any order; the operation that does not commute is the
composition of permutations of three things, numbered 0 to 5.
"""

from __future__ import annotations

import json
import sys
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.io.publish import append_line

Array = NDArray[np.float64]

#: bytes of one element
ELEMENT = 8
_THREE = list(permutations(range(3)))
#: COMPOSED[a, b]: the number of the permutation that does b after a
COMPOSED = np.array(
    [[_THREE.index(tuple(b[a[i]] for i in range(3))) for b in _THREE] for a in _THREE], dtype=np.float64
)


def compose(a: Array, b: Array) -> Array:
    """Return the permutations that do `b` after `a`, element by element; associative, and does not commute."""
    return COMPOSED[a.astype(np.intp), b.astype(np.intp)]


def given(rank: int, count: int, operation: str) -> Array:
    """Return what a rank gives to a call: whole numbers below 1000, or permutations."""
    where = np.arange(count, dtype=np.int64)
    if operation == "order":
        return ((where * 5 + rank * (where % 3 + 1)) % 6).astype(np.float64)
    return ((where * 7 + rank * 131) % 1000).astype(np.float64)


def together(size: int, count: int, operation: str) -> Array:
    """Return the answer of a reduction over ranks 0 ... size - 1, in that order."""
    out = given(0, count, operation)
    for rank in range(1, size):
        part = given(rank, count, operation)
        out = compose(out, part) if operation == "order" else out + part
    return out


class Caller:
    """Makes the calls of one rank.

    Parameters
    ----------
    mpi : module
        mpi4py.MPI.
    """

    def __init__(self, mpi: Any) -> None:
        self.mpi, self.world = mpi, mpi.COMM_WORLD
        self._comms: dict[tuple[str, int], Any] = {("world", self.world.Get_size()): self.world}
        self._order = mpi.Op.Create(self._composed, commute=False)

    def _composed(self, left: Any, right: Any, datatype: Any) -> None:
        a, b = np.frombuffer(left, np.float64), np.frombuffer(right, np.float64)
        b[:] = compose(a, b)

    def comm(self, kind: str, ranks: int) -> Any:
        """Return a communicator; MPI.COMM_NULL on ranks outside of it. Collective the first time."""
        if (kind, ranks) not in self._comms:
            # the last ranks, in the opposite order: no rank has the number it has in the world
            inside = self.world.Get_rank() >= self.world.Get_size() - ranks
            color = 0 if inside else self.mpi.UNDEFINED
            self._comms[kind, ranks] = self.world.Split(color, -self.world.Get_rank())
        return self._comms[kind, ranks]

    def wait(self) -> None:
        """Let all ranks come together, by messages between pairs."""
        token = np.zeros(1)
        if self.world.Get_rank() == 0:
            for direction in (self.world.Recv, self.world.Send):
                for other in range(1, self.world.Get_size()):
                    direction(token, other)
        else:
            self.world.Send(token, 0)
            self.world.Recv(token, 0)

    def step(self, step: dict[str, Any]) -> str:
        """Make the calls of a step and return what came of it: ``"right"``, ``"wrong: ..."`` or ``"raised: ..."``."""
        comm = self.comm(step["comm"], step["ranks"])
        self.wait()
        if comm == self.mpi.COMM_NULL:
            return "right"
        try:
            for _ in range(step.get("calls", 1)):
                wrong = self._call(comm, step)
                if wrong:
                    return f"wrong: {wrong}"
        except self.mpi.Exception as error:
            return f"raised: {error.Get_error_string()}"
        return "right"

    def _call(self, comm: Any, step: dict[str, Any]) -> str:
        """Make one call and return what is wrong with its answer."""
        size, rank, count = comm.Get_size(), comm.Get_rank(), step["bytes"] // ELEMENT
        root = size - 1 if step.get("root") == "last" else 0
        kind, operation = step["collective"], step.get("operation", "sum")
        in_place, mine = step.get("in_place", False), given(rank, count, operation)
        if kind == "barrier":
            comm.Barrier()
            return ""
        if kind == "bcast":
            out = given(root, count, operation) if rank == root else np.full(count, -1.0)
            comm.Bcast(out, root)
            return _compare(out, given(root, count, operation))
        if kind in ("allreduce", "reduce"):
            op = self._order if operation == "order" else self.mpi.SUM
            out = mine.copy() if in_place else np.full(count, -1.0)
            to_all = kind == "allreduce"
            give = self.mpi.IN_PLACE if in_place and (to_all or rank == root) else mine
            if to_all:
                comm.Allreduce(give, out, op)
            else:
                comm.Reduce(give, out if rank == root else None, op, root)
            return _compare(out, together(size, count, operation)) if to_all or rank == root else ""
        # parts of all ranks, one after the other
        out = np.full((size, count), -1.0)
        if kind == "allgather":
            out[rank] = mine
            comm.Allgather(self.mpi.IN_PLACE if in_place else mine, out)
            return _compare(out, np.stack([given(r, count, operation) for r in range(size)]))
        send = np.stack([given(rank * size + r, count, operation) for r in range(size)])
        if in_place:
            out[:] = send
        comm.Alltoall(self.mpi.IN_PLACE if in_place else send, out)
        return _compare(out, np.stack([given(r * size + rank, count, operation) for r in range(size)]))


def _compare(out: Array, expected: Array) -> str:
    bad = np.flatnonzero(out.ravel() != expected.ravel())
    if not len(bad):
        return ""
    i = int(bad[0])
    return (
        f"{len(bad)} of {out.size} elements; element {i} is {out.ravel()[i]:g}, not {expected.ravel()[i]:g}"
    )


def main() -> None:
    """Make the calls of a request."""
    request = json.loads(Path(sys.argv[1]).read_text())
    import mpi4py

    mpi4py.rc.thread_level = request["threads"]
    from mpi4py import MPI

    MPI.COMM_WORLD.Set_errhandler(MPI.ERRORS_RETURN)
    caller = Caller(MPI)
    report = Path(sys.argv[1]).parent / f"rank-{MPI.COMM_WORLD.Get_rank()}.jsonl"
    for number, step in enumerate(request["steps"]):
        append_line(report, json.dumps([number, caller.step(step)]))
    caller.wait()


if __name__ == "__main__":
    main()
