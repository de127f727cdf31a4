"""The methods of mpi4py that the built-in profile counts, and the bytes each carries: the rules of the interposer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

#: how many bytes a call carries, from its communicator and arguments: what this rank gives, or the room it offers
Rule = Callable[..., int]


def size_of(spec: Any) -> int:
    """Return the bytes of a buffer as mpi4py takes it: an array, or a list of an array and counts.

    Parameters
    ----------
    spec : buffer, or sequence of buffer and counts
        ``[array, counts]``, ``[array, (counts, displacements)]``; an array on a GPU; None and IN_PLACE are 0.
    """
    import numpy as np

    if hasattr(spec, "__cuda_array_interface__"):
        return int(spec.nbytes)
    if isinstance(spec, list | tuple):
        view = memoryview(spec[0])
        counts = spec[1][0] if len(spec) > 1 and isinstance(spec[1], tuple) else spec[-1]
        if len(spec) > 1 and isinstance(counts, int | list | np.ndarray | np.integer):
            return int(np.sum(counts)) * view.itemsize
        return view.nbytes
    return 0 if spec is None or isinstance(spec, int) else memoryview(spec).nbytes


def _to(comm: Any, buf: Any, rank: int = 0, *_: Any, **named: Any) -> int:
    other = named.get("dest", named.get("source", rank))
    return 0 if other == comm.nobody else size_of(buf)


def _own(_: Any, send: Any, *__: Any, **___: Any) -> int:
    return size_of(send)


def _block(comm: Any, send: Any, receive: Any = None, *_: Any, **__: Any) -> int:
    """Return what is sent; in place the block of this rank among those received."""
    if not comm.is_in_place(send):
        return size_of(send)
    if isinstance(receive, list | tuple):
        counts = receive[1][0] if isinstance(receive[1], tuple) else receive[1]
        return int(counts[comm.rank]) * memoryview(receive[0]).itemsize
    return size_of(receive) // comm.size


def _either(comm: Any, send: Any, receive: Any = None, *_: Any, **__: Any) -> int:
    return size_of(receive if comm.is_in_place(send) else send)


def _received(_: Any, send: Any, receive: Any = None, *__: Any, **___: Any) -> int:
    return size_of(receive)


#: methods of a communicator: the bytes they carry, None for those that carry none
BLOCKING: Mapping[str, Rule | None] = {
    "Send": _to,
    "Ssend": _to,
    "Recv": _to,
    "Bcast": _own,
    "Gather": _block,
    "Gatherv": _block,
    "Allgather": _block,
    "Allgatherv": _block,
    "Scatter": _received,
    "Scatterv": _received,
    "Alltoall": _either,
    "Alltoallv": _either,
    "Reduce": _either,
    "Allreduce": _either,
    "Barrier": None,
    "Free": None,
}
POSTED: Mapping[str, Rule | None] = {
    "Isend": _to,
    "Issend": _to,
    "Irecv": _to,
    "Ibcast": _own,
    "Igather": _block,
    "Iallgather": _block,
    "Iallgatherv": _block,
    "Ialltoall": _either,
    "Ireduce": _either,
    "Iallreduce": _either,
    "Ibarrier": None,
}
PERSISTENT: Mapping[str, Rule] = {"Send_init": _to, "Recv_init": _to}
#: methods that make a communicator, each collective over the one it is made from
MAKING = ("Split", "Split_type", "Dup", "Create")
#: methods of a request
REQUEST = ("Test", "Wait", "Cancel", "Free", "Start")
