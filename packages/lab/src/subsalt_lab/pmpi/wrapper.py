"""The built-in profile: MPI calls counted where Python makes them, for machines without a compiler for the interposer.

SUBSALT_MPI_PROFILE=FILE lets every communicator of a run count the calls made through it, and its requests too. What
comes out is a profile like any other; it costs about a microsecond per call, and nothing where the variable is not set.
The time of a call is that of the method of mpi4py, less what mpi4py itself takes for one that does nothing.

The methods of mpi4py that the built-in profile counts, and the bytes each carries: the rules of the interposer.

What one rank counts of its own MPI calls in Python, in the words in which the interposer writes it.
"""

from __future__ import annotations

import json
import os
import shlex
import statistics
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from subsalt.errors import DiskError, SubsaltError
from subsalt.parallel.mpi_library import PROFILE

#: probes that say something together; s of one that was interrupted and says nothing
ENOUGH, INTERRUPTED = 8, 50e-6


@dataclass(slots=True)
class CounterRow:
    """Calls of one function on one communicator in one phase."""

    calls: int = 0
    seconds: float = 0.0
    bytes: int = 0
    least: float = float("inf")
    most: float = 0.0
    #: by length of their bytes in bits: calls, seconds, bytes
    sizes: dict[int, list[Any]] = field(default_factory=dict)
    #: calls with a probe before them, and what the probes took beyond what was allowed for
    probes: int = 0
    beyond: float = 0.0

    @property
    def net(self) -> float:
        """Seconds less what the calls took around MPI as the probes found it: caches are colder than in a trial.

        A call with a probe before it is warm, and owes nothing beyond what was allowed for.
        """
        owed = (self.calls - self.probes) * self.beyond / self.probes if self.probes >= ENOUGH else 0.0
        return max(0.0, self.seconds - owed)

    def add(self, seconds: float, size: int | None) -> None:
        """Count one call of `size` bytes, None where the function carries none."""
        self.calls += 1
        self.seconds += seconds
        self.least, self.most = min(self.least, max(0.0, seconds)), max(self.most, seconds)
        if size is not None:
            self.bytes += size
            bin_ = self.sizes.setdefault(size.bit_length(), [0, 0.0, 0])
            bin_[0] += 1
            bin_[1] += seconds
            bin_[2] += size


class CallCounts:
    """The calls of this rank, by thread, function, communicator and phase, and the seconds of its phases.

    Parameters
    ----------
    clock : callable
        Returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.began = self._since = clock()
        self.phase, self._phases = 0, dict[int, float]()
        # every thread has rows of its own: nothing is locked
        self._main = threading.main_thread().ident
        self._rows: dict[int | None, dict[tuple[str, str, int, int], CounterRow]] = {self._main: {}}

    def tell(self, number: int) -> None:
        """Begin a phase, as `MPI_Pcontrol` does; of the main thread."""
        if number != self.phase:
            self._leave(self.clock())
            self.phase = number

    def _leave(self, now: float) -> None:
        self._phases[self.phase] = self._phases.get(self.phase, 0.0) + now - self._since
        self._since = now

    def add(self, call: str, comm: tuple[str, int], seconds: float, size: int | None = None) -> None:
        """Count one call.

        Parameters
        ----------
        call : str
            Such as ``"MPI_Bcast"``.
        comm : (str, int)
            Name and ranks of its communicator; empty and 0 without one.
        seconds : float
            That it took.
        size : int, optional
            Bytes, of functions that carry some.
        """
        self._row(call, comm).add(seconds, size)

    def probed(self, call: str, comm: tuple[str, int], beyond: float) -> None:
        """Note what a call that does nothing took, just before one that does, beyond what is allowed for.

        Parameters
        ----------
        call, comm
            See `add`.
        beyond : float
            Seconds; may be negative.
        """
        if beyond < INTERRUPTED:
            row = self._row(call, comm)
            row.probes += 1
            row.beyond += beyond

    def _row(self, call: str, comm: tuple[str, int]) -> CounterRow:
        thread = threading.get_ident()
        rows = self._rows.setdefault(thread, {})
        key = (call, *comm, self.phase if thread == self._main else 0)
        row = rows.get(key)
        if row is None:
            row = rows[key] = CounterRow()
        return row

    def raw(self, rank: int, host: str) -> dict[str, Any]:
        """Return all of it, as the interposer writes the part of a rank; the time ends here."""
        now = self.clock()
        self._leave(now)
        calls = [
            {
                "call": call,
                "main": int(thread == self._main),
                "phase": phase,
                "site": "",
                "comm": comm,
                "size": ranks,
                "calls": row.calls,
                "seconds": row.net,
                "least": row.least,
                "most": row.most,
                "bytes": row.bytes,
                "sizes": [[bits, *values] for bits, values in sorted(row.sizes.items())],
            }
            for thread, rows in list(self._rows.items())
            for (call, comm, ranks, phase), row in rows.items()
        ]
        return {
            "rank": rank,
            "host": host,
            "wall": now - self.began,
            "init": 0.0,
            "phases": [[number, seconds] for number, seconds in self._phases.items()],
            "objects": [],
            "calls": calls,
        }


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


#: times that something is tried whose own cost is wanted; calls of which one has a probe before it: a prime, for bursts
#: of looks have a length of their own
TRIES, EVERY = 200, 17
#: a call without communicator
NO_COMM = ("", 0)


def _call(method: str, of: str = "") -> str:
    """Return the name in C of a method of mpi4py, of a communicator or a request."""
    if method in MAKING or (not of and method == "Free"):
        return f"MPI_Comm_{method.lower()}"
    return "MPI_Request_free" if method == "Free" else f"MPI_{method}"


class Wrapper:
    """Counts what this process does in MPI, from here to `finish`.

    Parameters
    ----------
    path : str
        Where rank 0 writes the profile.
    mpi : module, optional
        mpi4py.MPI, started; None for a process alone.
    version : str
        Version of the library, in its own words.
    aside : callable, optional
        Callback that gets `PROFILE` before our own calls, for another profile of the run, and the phase after them.
    """

    def __init__(
        self,
        path: str,
        mpi: Any | None = None,
        version: str = "no MPI",
        aside: Callable[[int], Any] | None = None,
    ) -> None:
        self.path, self.mpi, self.version = Path(path), mpi, version
        self.aside = aside or (lambda number: None)
        self.counts = CallCounts()
        self.world: Any = None
        self._refused = False
        self._calls, self._main = 0, threading.main_thread().ident
        self._idle: list[Any] = []
        self._looks: dict[int, tuple[float, Callable[[], Any]]] = {}
        if mpi is not None:
            self._requests = _request_classes(self, mpi)
            self._cost = _costs(mpi, self.counts.clock)
            self._idle.append(_idle(mpi))
            counted = _communicator(self, mpi, self._requests)
            self.world = counted(mpi.COMM_WORLD)
            self.world.comm_label = ("world", mpi.COMM_WORLD.Get_size())

    def tell(self, number: int) -> None:
        """Begin a phase."""
        self.counts.tell(number)

    def error(self) -> SubsaltError | None:
        """Return why nothing can be written, before anything is counted in vain."""
        folder = self.path.parent
        if self.path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            self._refused = True
            return DiskError(
                f"SUBSALT_MPI_PROFILE={self.path}: no file can be written there",
                "name a file in a folder that exists and that you may write to",
                code="E910",
            )
        return None

    def timed(
        self,
        call: str,
        comm: tuple[str, int],
        free: float,
        work: Callable[[], Any],
        size: int | None = None,
        probe: Callable[[], Any] | None = None,
    ) -> Any:
        """Do a call and count it; `free` seconds of it are not MPI's.

        Occasionally `probe`, a call of the same kind that does nothing, is timed before it: after a time step the code
        around MPI is not in the caches, and takes several times as long as in a row of such calls.
        """
        clock = self.counts.clock
        if probe is not None and self._turn():
            self.aside(PROFILE)
            begin = clock()
            probe()
            self.counts.probed(call, comm, clock() - begin - free)
            self.aside(self.counts.phase)
        begin = clock()
        answer = work()
        self.counts.add(call, comm, clock() - begin - free, size)
        return answer

    def _turn(self) -> bool:
        """Return whether this call is one with a probe; those of other threads have none."""
        self._calls += 1
        return self._calls % EVERY == 0 and threading.get_ident() == self._main

    def free_of(self, method: str) -> float:
        """Return the seconds that mpi4py takes for a call that does nothing."""
        return self._cost["test" if method in REQUEST else "post"]

    def start_all(self, requests: Sequence[Any]) -> None:
        """Start persistent requests, counted."""
        work = partial(self.mpi.Prequest.Startall, requests)  # type: ignore[union-attr]
        free, probe = self._nothing(len(requests))
        self.timed("MPI_Startall", NO_COMM, free, work, probe=probe)

    def test_all(self, requests: Sequence[Any]) -> bool:
        """Return whether all requests are complete, counted."""
        work = partial(self.mpi.Request.Testall, requests)  # type: ignore[union-attr]
        free, probe = self._nothing(len(requests))
        return bool(self.timed("MPI_Testall", NO_COMM, free, work, probe=probe))

    def look(self) -> None:
        """Look at a request of nothing."""
        self._idle[0].Test()

    def _nothing(self, count: int) -> tuple[float, Callable[[], Any]]:
        """Return what mpi4py takes for so many requests of nothing, and a look at them."""
        if count not in self._looks:
            assert self.mpi is not None
            self.aside(PROFILE)
            while len(self._idle) < count:
                self._idle.append(_idle(self.mpi))
            look = partial(self.mpi.Request.Testall, self._idle[:count])
            self._looks[count] = _typical(look, self.counts.clock), look
            self.aside(self.counts.phase)
        return self._looks[count]

    def finish(self, pickup: Callable[[], None] = lambda: None) -> None:
        """Write the profile; collective, at the end of the program.

        Parameters
        ----------
        pickup : callable
            Called once nothing is counted any more, before ranks send what they have.
        """
        comm = None if self.mpi is None else self.mpi.COMM_WORLD
        rank = 0 if comm is None else comm.Get_rank()
        own = self.counts.raw(rank, os.uname().nodename)
        pickup()
        ranks = [own] if comm is None else _gathered(comm, own)
        if ranks is not None and not self._refused:
            try:
                self._write(ranks)
            except (SubsaltError, OSError) as error:
                print(f"warning: the MPI profile is not written: {error}", file=sys.stderr, flush=True)

    def _write(self, ranks: list[dict[str, Any]]) -> None:
        from subsalt.io.publish import publish_text
        from subsalt_lab.pmpi.raw import SCHEMA, profile_of

        command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
        profile = profile_of({"schema": SCHEMA, "ranks": ranks}, command, self.version)
        text = json.dumps(replace(profile, source="wrapper").to_dict())
        publish_text(self.path, text + "\n")


def _gathered(comm: Any, own: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return what all ranks counted on rank 0; collective. By messages that are not counted."""
    import numpy as np

    text = np.frombuffer(json.dumps(own).encode(), np.uint8)
    lengths = np.empty(comm.Get_size(), np.int64)
    comm.Gather(np.array([len(text)], np.int64), lengths if comm.Get_rank() == 0 else None, 0)
    if comm.Get_rank():
        comm.Send(text, 0)
        return None
    parts: list[bytes | bytearray] = [text.tobytes()]
    for rank, length in enumerate(lengths[1:].tolist(), 1):
        parts.append(bytearray(length))
        comm.Recv(parts[-1], rank)
    return [json.loads(part) for part in parts]


def _typical(work: Callable[[], Any], clock: Callable[[], float]) -> float:
    """Return the median time of many tries."""
    times = []
    for _ in range(TRIES):
        begin = clock()
        work()
        times.append(clock() - begin)
    return statistics.median(times)


def _idle(mpi: Any) -> Any:
    """Return a request of nothing: a look at it takes mpi4py as long as any, and MPI returns at once.

    A look at a persistent request that is not started would make the library look for messages, as every other look
    does: that is the time which is to be counted, and must not be taken off.
    """
    return mpi.Request()


def _costs(mpi: Any, clock: Callable[[], float]) -> dict[str, float]:
    """Return the seconds that mpi4py takes around calls in which MPI has nothing to do.

    Returns
    -------
    dict
        ``test``: a look at a request of nothing; ``post``: a message to no rank.
    """
    idle = _idle(mpi)
    return {
        "test": _typical(idle.Test, clock),
        "post": _typical(partial(mpi.COMM_SELF.Send, bytearray(8), mpi.PROC_NULL), clock),
    }


def _request_classes(wrapper: Wrapper, mpi: Any) -> tuple[type, type]:
    """Return the classes of requests and persistent requests that are counted."""

    def method(plain: Any, name: str) -> Any:
        call, free = _call(name, "request"), None

        def counted(self: Any, *given: Any, **named: Any) -> Any:
            nonlocal free
            free = wrapper.free_of(name) if free is None else free
            probe = wrapper.look if name == "Test" else None
            return wrapper.timed(call, NO_COMM, free, partial(plain, self, *given, **named), probe=probe)

        return counted

    made = []
    for base in (mpi.Request, mpi.Prequest):
        names = [n for n in REQUEST if hasattr(base, n)]
        made.append(type(f"Counted{base.__name__}", (base,), {n: method(getattr(base, n), n) for n in names}))
    return made[0], made[1]


def _communicator(wrapper: Wrapper, mpi: Any, requests: tuple[type, type]) -> type:
    """Return the class of communicators that are counted."""
    base, (request, persistent) = mpi.Intracomm, requests

    def method(name: str, rule: Rule | None, kind: type | None) -> Any:
        plain, call = getattr(base, name), _call(name)

        def counted(self: Any, *given: Any, **named: Any) -> Any:
            size = None if rule is None else rule(self, *given, **named)
            free = wrapper.free_of(name)
            answer = wrapper.timed(call, self.comm_label, free, partial(plain, self, *given, **named), size)
            return answer if kind is None else kind(answer)

        return counted

    def making(name: str) -> Any:
        plain, call = getattr(base, name), _call(name)

        def counted(self: Any, *given: Any, **named: Any) -> Any:
            free = wrapper.free_of(name)
            answer = wrapper.timed(call, self.comm_label, free, partial(plain, self, *given, **named))
            number, self.made = self.made, self.made + 1
            if answer == mpi.COMM_NULL:
                return answer
            if not isinstance(answer, kind):
                answer = kind(answer)
            # the name on which all its members agree, as the interposer gives it (comms.c)
            first = answer.Get_group().Translate_ranks([0], mpi.COMM_WORLD.Get_group())[0]
            answer.comm_label = (f"{self.comm_label[0]}/{number}.{first}", answer.Get_size())
            return answer

        return counted

    methods: dict[str, Any] = {n: method(n, rule, None) for n, rule in BLOCKING.items()}
    methods |= {n: method(n, rule, request) for n, rule in POSTED.items()}
    methods |= {n: method(n, rule, persistent) for n, rule in PERSISTENT.items()}
    methods |= {n: making(n) for n in MAKING}
    methods |= {
        "comm_label": ("", 0),
        "made": 0,
        "nobody": mpi.PROC_NULL,
        "is_in_place": staticmethod(
            lambda given: given is mpi.IN_PLACE or (isinstance(given, int) and given == mpi.IN_PLACE)
        ),
    }
    kind = type("CountedIntracomm", (base,), methods)
    return kind
