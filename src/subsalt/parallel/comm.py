"""The ranks of a run: a communicator, agreement on errors, and control messages.

Everything here is for setting up, for the phases between time steps and for the end of a run. Messages are JSON or
arrays, never pickled objects, and a rank that waits for another leaves its core to others. The halo of a wavefield has
its own persistent requests in `halo`, built on `Comm.mpi`.

mpi4py is imported when a launcher started more than one rank, and only then: a process alone is a world of one, in
which every function here costs nothing.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from subsalt.errors import ParallelError, SubsaltError
from subsalt.parallel import mpi_library
from subsalt.parallel.mpi_library import launched, thread_multiple
from subsalt.parallel.relay import describe, rebuild
from subsalt.parallel.waiting import wait

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Comm",
    "Json",
    "close",
    "single",
    "speaks",
    "stay_alone",
    "thread_multiple",
    "world",
    "world_if_started",
]

#: what JSON can carry
Json = Any


class Comm:
    """Some ranks that work together; made by `world`, `single` and `split`.

    Parameters
    ----------
    mpi : mpi4py.MPI.Intracomm, optional
        None in a world of one that never touches MPI.
    """

    def __init__(self, mpi: Any | None = None) -> None:
        self.mpi = mpi
        self.rank: int = 0 if mpi is None else mpi.Get_rank()
        self.size: int = 1 if mpi is None else mpi.Get_size()
        self.host = os.uname().nodename

    @property
    def is_root(self) -> bool:
        """Whether this is rank 0, which speaks and writes for all."""
        return self.rank == 0

    def __repr__(self) -> str:
        return f"Comm(rank {self.rank} of {self.size} on {self.host})"

    # -- parts ---------------------------------------------------------------------------------------------------

    def split(self, color: int, key: int | None = None) -> Comm:
        """Return the communicator of the ranks that gave the same color; collective.

        Parameters
        ----------
        color : int
            Number of the part, from 0 upwards.
        key : int, optional
            Order of ranks in the part; the order here when left out.
        """
        if self.mpi is None:
            return Comm()
        return _registered(Comm(self.mpi.Split(color, self.rank if key is None else key)))

    def on_host(self) -> Comm:
        """Return the communicator of the ranks that share this host's memory, in the order here; collective."""
        if self.mpi is None:
            return Comm()
        return _registered(Comm(self.mpi.Split_type(mpi_library.module().COMM_TYPE_SHARED, self.rank)))

    def duplicate(self) -> Comm:
        """Return a duplicate of the communicator, with separate messages; collective."""
        return Comm() if self.mpi is None else _registered(Comm(self.mpi.Dup()))

    def free(self) -> None:
        """Give the communicator back; collective. The world, and what is left at the end, frees itself."""
        if self.mpi is not None and self in _open:
            _open.remove(self)
            self.mpi.Free()

    # -- errors --------------------------------------------------------------------------------------------------

    def agree(self, error: BaseException | None = None) -> None:
        """Raise on every rank when any rank brings an error; collective.

        All raise what the lowest failing rank brought: the same type, message, cure, code and exit code. Several
        findings (`FindingsError`) are merged. When rank 0 is not among those that failed, the message names the rank
        and its host.

        Parameters
        ----------
        error : BaseException, optional
            Error on this rank.
        """
        if self.mpi is None:
            if error is not None:
                raise error
            return
        brought = None if error is None else describe(error)
        # one small reduction is all that a call without errors costs
        if self._failed(error is not None) == 0:
            return
        answers = self.allgather({"host": self.host, "error": brought})
        errors = [(r, t["host"], t["error"]) for r, t in enumerate(answers) if t["error"] is not None]
        raise self._agreed(rebuild(errors, error, self.rank)) from None

    def _failed(self, here: bool) -> int:
        import numpy as np

        count = np.array([int(here)], np.int64)
        assert self.mpi is not None
        wait(self.mpi.Iallreduce(mpi_library.module().IN_PLACE, count).Test)
        return int(count[0])

    def _agreed(self, error: BaseException) -> BaseException:
        # how many ranks raise this: the frame around a command ends quietly when all of them do
        error.agreed_ranks = self.size  # type: ignore[attr-defined]
        return error

    def together(self) -> AbstractContextManager[None]:
        """Return a context whose end is collective: an exception inside on any rank is raised on all.

        Collective calls inside must themselves fail on all ranks or on none.
        """
        return self._together()

    @contextmanager
    def _together(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self.agree(error)
        else:
            self.agree()

    def abort(self, error: BaseException, say: Callable[[SubsaltError], None] | None = None) -> NoReturn:
        """Say an error once and end all ranks of the world, with the exit code of its class; needs no other rank.

        Parameters
        ----------
        error : BaseException
            Error on this rank.
        say : callable, optional
            Shows it; a line on standard error when left out.
        """
        code = int(getattr(error, "exit_code", 70))
        everywhere = world_if_started()
        if everywhere is not None and everywhere.size > 1:
            # many ranks often fail of one cause: the first one ends the others before they say the same
            time.sleep(min(0.5 * everywhere.rank, 3.0))
        known = _named(error, everywhere)
        if say is not None:
            say(known)
        else:
            print(f"error {known.code}  {known}", file=sys.stderr)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                continue
        mpi_library.end_all(code)

    # -- messages ------------------------------------------------------------------------------------------------

    def bcast(self, value: Json = None, root: int = 0) -> Json:
        """Return the value of `root` on every rank; collective.

        Parameters
        ----------
        value : JSON
            Numbers, texts, lists, dictionaries with text keys; of `root` only. Tuples arrive as lists.
        root : int
            The rank that knows it.
        """
        if self.mpi is None:
            return value
        import numpy as np

        data, error = b"", None
        if self.rank == root:
            try:
                data = _encode(value)
            except (TypeError, ValueError) as wrong:
                error = wrong
        length = np.array([-1 if error is not None else len(data)], np.int64)
        wait(self.mpi.Ibcast(length, root).Test)
        if length[0] < 0:
            raise self._agreed(error or ParallelError(f"rank {root} sent what is no JSON", code="E714"))
        buffer = np.frombuffer(bytearray(data or length[0].item()), np.uint8)
        self.mpi.Bcast(buffer, root)
        return value if self.rank == root else json.loads(buffer.tobytes())

    def gather(self, value: Json) -> list[Json] | None:
        """Return the values of all ranks in their order on rank 0, None elsewhere; collective."""
        if self.mpi is None:
            return [value]
        import numpy as np

        data, lengths = self._lengths(value)
        into = np.empty(int(lengths.sum()) if self.is_root else 0, np.uint8)
        self.mpi.Gatherv(data, [into, lengths] if self.is_root else None, 0)
        return _decode(into, lengths) if self.is_root else None

    def allgather(self, value: Json) -> list[Json]:
        """Return the values of all ranks in their order, on every rank; collective."""
        if self.mpi is None:
            return [value]
        import numpy as np

        data, lengths = self._lengths(value)
        into = np.empty(int(lengths.sum()), np.uint8)
        self.mpi.Allgatherv(data, [into, lengths])
        return _decode(into, lengths)

    def _lengths(self, value: Json) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the value as bytes, and the number of bytes of every rank."""
        import numpy as np

        try:
            text, error = _encode(value), None
        except (TypeError, ValueError) as wrong:
            text, error = b"", wrong
        data = np.frombuffer(text, np.uint8)
        lengths = np.empty(self.size, np.int64)
        assert self.mpi is not None
        own = np.array([-1 if error else len(data)], np.int64)
        wait(self.mpi.Iallgather(own, lengths).Test)
        if (bad := np.flatnonzero(lengths < 0)).size:
            raise self._agreed(error or ParallelError(f"rank {bad[0]} gave what is no JSON", code="E714"))
        return data, lengths

    def bcast_array(self, a: NDArray[Any]) -> None:
        """Fill `a` on every rank with the values of rank 0; collective.

        Parameters
        ----------
        a : ndarray
            C-contiguous, of one shape and dtype on all ranks.
        """
        if not a.flags.c_contiguous or a.dtype.hasobject:
            raise ValueError(f"an array to send must be contiguous and plain; it has dtype {a.dtype}")
        if self.mpi is not None and a.size:
            import numpy as np

            wait(self.mpi.Ibcast(a.reshape(-1).view(np.uint8), 0).Test)

    def gather_array(self, a: NDArray[Any]) -> list[NDArray[Any]] | None:
        """Return the one-dimensional arrays of all ranks in their order on rank 0, None elsewhere; collective.

        Parameters
        ----------
        a : ndarray, (n,)
            Array of one plain dtype on all ranks; n may differ.
        """
        if self.mpi is None:
            return [a]
        import numpy as np

        counts = np.array(self.allgather(len(a)), np.int64) * a.dtype.itemsize
        into = np.empty(int(counts.sum()) if self.is_root else 0, np.uint8)
        data = np.ascontiguousarray(a).view(np.uint8)
        self.mpi.Gatherv(data, [into, counts] if self.is_root else None, 0)
        ends = counts.cumsum()
        parts = [into[e - n : e].view(a.dtype) for e, n in zip(ends, counts, strict=True)]
        return parts if self.is_root else None

    def allgather_array(self, a: NDArray[Any]) -> NDArray[Any]:
        """Return the one-dimensional arrays of all ranks, in their order and as one, on every rank; collective.

        Parameters
        ----------
        a : ndarray, (n,)
            Array of one plain dtype on all ranks; n may differ.
        """
        if self.mpi is None:
            return a
        import numpy as np

        counts = np.array(self.allgather(len(a)), np.int64) * a.dtype.itemsize
        into = np.empty(int(counts.sum()), np.uint8)
        self.mpi.Allgatherv(np.ascontiguousarray(a).view(np.uint8), [into, counts])
        return into.view(a.dtype)

    def max(self, x: Any) -> Any:
        """Return the largest of all ranks' numbers, on every rank; collective."""
        return max(self.allgather(x))

    def min(self, x: Any) -> Any:
        """Return the smallest of all ranks' numbers, on every rank; collective."""
        return min(self.allgather(x))

    def sum(self, x: int) -> int:
        """Return the sum of all ranks' integers, on every rank; collective. Sums of floats depend on their order."""
        if not isinstance(x, int):
            raise TypeError(f"only integers are summed over ranks; {x!r} is {type(x).__name__}")
        return sum(self.allgather(x))


# -- the world -------------------------------------------------------------------------------------------------------

#: communicators that were made and not yet freed, oldest first
_open: list[Comm] = []
_world: Comm | None = None


def _registered(comm: Comm) -> Comm:
    _open.append(comm)
    return comm


def single() -> Comm:
    """Return a world of one that never touches MPI."""
    return Comm()


def world() -> Comm:
    """Return the communicator of all ranks; the first call starts MPI when a launcher started more than one.

    Raises
    ------
    ParallelError
        When several ranks were started, but cannot reach each other: without mpi4py, or with the library of another
        MPI than the launcher's.
    """
    global _world
    if _world is None:
        launch = launched()
        if launch is None or launch.size == 1:
            mpi_library.count_alone()
            _world = single()
        else:
            _world = Comm(mpi_library.start(launch, _free_all))
        if mpi_library.COUNTING in os.environ:
            _world.agree(mpi_library.counting_error() if _world.is_root else None)
    return _world


def stay_alone() -> None:
    """Make the world that of this process alone, whatever launched it; before the first call of `world`."""
    global _world
    _world = single()


def close() -> None:
    """End MPI before the interpreter does, and be a world of one from here on; collective."""
    mpi_library.finish(_free_all)
    stay_alone()


def _free_all() -> None:
    """Give back all communicators that were made and not freed; collective."""
    for comm in reversed(_open):
        if comm.mpi is not None:
            comm.mpi.Free()
    _open.clear()


def world_if_started() -> Comm | None:
    """Return the world if `world` has been called before."""
    return _world


def speaks() -> bool:
    """Return whether this process prints for all: rank 0, also before MPI was started."""
    launch = launched()
    return launch is None or launch.rank == 0


def _named(error: BaseException, everywhere: Comm | None) -> SubsaltError:
    """Return the error with the rank it came from, when there are several."""
    known = error if isinstance(error, SubsaltError) else None
    if known is None:
        known = SubsaltError(f"{type(error).__name__}: {error}", code="E001")
        known.exit_code = int(getattr(error, "exit_code", 70))
    if everywhere is not None and everywhere.size > 1 and not everywhere.is_root:
        known.message += f" (rank {everywhere.rank} on {everywhere.host})"
    return known


def _encode(value: Json) -> bytes:
    return json.dumps(value).encode()


def _decode(data: NDArray[Any], lengths: NDArray[Any]) -> list[Json]:
    ends = lengths.cumsum()
    return [json.loads(data[e - n : e].tobytes()) for e, n in zip(ends, lengths, strict=True)]
