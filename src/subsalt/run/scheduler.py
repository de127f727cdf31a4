"""Scheduling of units: rank 0 assigns them, one at a time, to the next group that asks.

Only rank 0 knows which units are planned, running and done. The first rank of another group reports the outcome of its
unit and asks for the next one in one message; a thread on rank 0 answers while its main thread computes. Where the MPI
library has no threads (MPI_THREAD_MULTIPLE), rank 0 answers between the time steps of its own units.

The ranks of a group share a unit: the window of a shot is cut into slabs along x, one per rank.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from subsalt.kernels import cores
from subsalt.parallel.comm import Comm
from subsalt.parallel.mpi_library import thread_multiple
from subsalt.parallel.waiting import announced
from subsalt.plan import group_sizes
from subsalt.propagation import devices

#: bytes of a message, and letters of a reason that surely fit
MESSAGE, REASON = 4096, 600
#: seconds between two looks for a message: short for a unit, and long for a core
LOOK = 0.005
#: seconds between two messages of a group about how far its unit is
TELL = 1.0

#: outcome of a unit: {"unit": id, "sha256": ..., "seconds": ...} or {"unit": id, "reason": ...}
Outcome = dict[str, Any]


class UnitQueue:
    """The units still to be done, on rank 0; several threads may call.

    Parameters
    ----------
    units : sequence of int
        Ids, in the order in which they are assigned.
    groups : int
        Number of groups.
    on_start : callable
        ``on_start(unit, rank)`` before a unit is assigned to the group whose first rank this is.
    on_outcome : callable
        ``on_outcome(outcome)`` when a group reports the outcome of a unit; returns whether it is to be tried again.
    """

    def __init__(
        self,
        units: Sequence[int],
        groups: int = 1,
        on_start: Callable[[int, int], None] = lambda unit, rank: None,
        on_outcome: Callable[[Outcome], bool | None] = lambda outcome: None,
    ) -> None:
        self._left = deque(units)
        self._groups, self.on_start, self.on_outcome = groups, on_start, on_outcome
        self._lock = threading.Lock()
        self._halted = False
        self.finished = 0
        #: called with reports of groups on the progress of a unit: ``on_heard(unit, fraction, phase, host, count)``
        self.on_heard: Callable[[int, float, str, str, int], None] = lambda *said: None

    def halt(self) -> None:
        """Hand out no further unit; those that have started are finished. Any thread may call it."""
        self._halted = True

    def next(
        self, outcome: Outcome | None = None, ready: int | None = None, rank: int = 0
    ) -> dict[str, int | None]:
        """Take the outcome of a group's unit; return its next unit, and the one to prepare for meanwhile.

        Parameters
        ----------
        outcome : dict, optional
            Outcome of the unit before.
        ready : int, optional
            The unit that this group has prepared for.
        rank : int
            First rank of the group.

        Returns
        -------
        dict
            ``unit``: None when there is none left. ``next``: its traces may be read already; None while fewer units
            are left than groups, since then the first free group should get them.
        """
        with self._lock:
            if outcome is not None:
                self._over(outcome)
            if self._halted:
                return {"unit": None, "next": None}
            unit = ready if ready is not None else self._take()
            if unit is not None:
                self.on_start(unit, rank)
            following = self._take() if unit is not None and len(self._left) >= self._groups else None
            return {"unit": unit, "next": following}

    def take(self, rank: int = 0) -> int | None:
        """Return the next unit of a group that prepares for none ahead; None when there is none left."""
        with self._lock:
            unit = None if self._halted else self._take()
            if unit is not None:
                self.on_start(unit, rank)
            return unit

    def over(self, outcome: Outcome) -> None:
        """Take the outcome of a unit whose group takes no other one."""
        with self._lock:
            self._over(outcome)

    @property
    def halted(self) -> bool:
        """Whether no further unit is handed out."""
        return self._halted

    @property
    def waiting(self) -> int:
        """Units that are not handed out yet."""
        return 0 if self._halted else len(self._left)

    def _over(self, outcome: Outcome) -> None:
        if self.on_outcome(outcome):
            # at the end: the cause may have passed by then
            self._left.append(outcome["unit"])
        else:
            self.finished += 1

    def _take(self) -> int | None:
        return self._left.popleft() if self._left else None


class Scheduler:
    """Assigns units on rank 0: its own group asks directly, the others by messages. A context manager.

    Parameters
    ----------
    queue : UnitQueue
        Queue of the units.
    channel : Comm
        All ranks, with messages of their own.
    others : int
        Groups on other ranks; each of them reports when it has nothing left to do.
    """

    def __init__(self, queue: UnitQueue, channel: Comm, others: int) -> None:
        self.queue, self._asking, self._host = queue, others, channel.host
        self._mpi: Any = channel.mpi
        self._buffer = np.zeros(MESSAGE, np.uint8)
        self._request: Any = None
        self._failure: BaseException | None = None
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    def __enter__(self) -> Scheduler:
        if self._asking:
            self._request = self._mpi.Irecv(self._buffer)
            if thread_multiple():
                self._thread = threading.Thread(target=self._serve, name="scheduler", daemon=True)
                self._thread.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if self._request is not None:
            # left behind by an error: nobody will send what it waits for
            self._request.Cancel()
            self._request.Wait()
            self._request = None

    def next(self, outcome: Outcome | None = None, ready: int | None = None) -> dict[str, int | None]:
        """Return the next unit of rank 0's own group, see `UnitQueue.next`."""
        self.poll()
        return self.queue.next(outcome, ready)

    def poll(self) -> None:
        """Answer what has arrived, where no thread does; raise what went wrong while a thread answered."""
        if self._failure is not None:
            raise self._failure
        if self._thread is None:
            while self._answer():
                pass

    def tell(self, unit: int, fraction: float, phase: str, count: int = 0) -> None:
        """Report the progress of a unit of rank 0's own group."""
        self.queue.on_heard(unit, fraction, phase, self._host, count)

    def wait(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Return when no other group has anything left to do.

        Parameters
        ----------
        meanwhile : callable, optional
            Called occasionally.
        """
        if self._asking:
            with announced():
                while self._asking and self._failure is None:
                    self.poll()
                    meanwhile()
                    time.sleep(LOOK)
        self.poll()

    def _serve(self) -> None:
        try:
            while self._asking and not self._stop.is_set():
                if not self._answer():
                    time.sleep(LOOK)
        except BaseException as error:
            self._failure = error

    def _answer(self) -> bool:
        """Answer one message, if there is one."""
        if self._request is None or not self._request.Test():
            return False
        message = _unpack(self._buffer)
        if "fraction" in message:
            self._request = self._mpi.Irecv(self._buffer)
            said = (message[k] for k in ("unit", "fraction", "phase", "host", "count"))
            self.queue.on_heard(*said)
            return True
        # the next message may come as soon as this one is answered
        self._asking -= bool(message["last"])
        self._request = self._mpi.Irecv(self._buffer) if self._asking else None
        if not message["last"]:
            answer = self.queue.next(message["outcome"], message["ready"], message["rank"])
            self._mpi.Send(_pack(answer), message["rank"])
        return True


class Worker:
    """The first rank of another group: asks rank 0 for units.

    Parameters
    ----------
    channel : Comm
        All ranks, with messages of their own.
    """

    def __init__(self, channel: Comm) -> None:
        self._channel = channel
        self._mpi: Any = channel.mpi
        self._telling: Any = None
        self._announced_at = 0.0

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def next(self, outcome: Outcome | None = None, ready: int | None = None) -> dict[str, int | None]:
        """Report the last unit and return the next one, see `UnitQueue.next`. Waits without using a core."""
        if outcome is not None and "reason" in outcome:
            outcome = {**outcome, "reason": outcome["reason"][:REASON]}
        if self._telling is not None:
            with announced():
                while not self._telling.Test():
                    time.sleep(LOOK)
            self._telling = None
        answer = np.zeros(MESSAGE, np.uint8)
        request = self._mpi.Irecv(answer, 0)
        message = {"rank": self._channel.rank, "outcome": outcome, "ready": ready, "last": False}
        self._mpi.Send(_pack(message), 0)
        with announced():
            while not request.Test():
                time.sleep(LOOK)
        task: dict[str, int | None] = _unpack(answer)
        if task["unit"] is None:
            self._mpi.Send(_pack({"last": True}), 0)
        return task

    def tell(self, unit: int, fraction: float, phase: str, count: int = 0) -> None:
        """Report the progress of a unit and its contributions, at most once in `TELL` seconds, without waiting."""
        now = time.monotonic()
        if now - self._announced_at < TELL or (self._telling is not None and not self._telling.Test()):
            return
        self._announced_at = now
        said = {
            "unit": unit,
            "fraction": fraction,
            "phase": phase,
            "host": self._channel.host,
            "count": count,
        }
        self._telling = self._mpi.Isend(_pack(said), 0)

    def poll(self) -> None:
        """Do nothing: only rank 0 is asked."""

    def wait(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Do nothing: rank 0 waits for the others."""


def _pack(value: dict[str, Any]) -> np.ndarray:
    """Return a message as bytes of fixed length."""
    data = json.dumps(value, ensure_ascii=False).encode()
    if len(data) > MESSAGE:
        raise ValueError(f"a message of {len(data)} bytes is longer than {MESSAGE}")
    return np.frombuffer(data.ljust(MESSAGE), np.uint8)


def _unpack(message: np.ndarray) -> Any:
    return json.loads(message.tobytes())


@dataclass(frozen=True)
class RankGroups:
    """The groups of a run, as one rank sees them.

    Parameters
    ----------
    world : Comm
        All ranks.
    group : Comm
        The ranks that share a unit with this one. An idle rank is alone in it.
    channel : Comm
        All ranks, with messages of their own: for the scheduling of units.
    index : int
        Number of the group of this rank, from 0; -1 for an idle rank.
    sizes : list of int
        Ranks of every group.
    """

    world: Comm
    group: Comm
    channel: Comm
    index: int
    sizes: list[int]

    @property
    def idle(self) -> bool:
        """Whether this rank takes no units: it takes part in the image sum alone."""
        return self.index < 0

    def facts(self) -> dict[str, object]:
        """Return the facts of the ranks for reports."""
        gpus = devices.gpus()
        return {
            "ranks": self.world.size,
            "nodes": len(set(self.world.allgather(self.world.host))),
            "groups": self.sizes,
            "idle_ranks": self.world.size - sum(self.sizes),
            **(gpus.facts() if gpus is not None else {}),
        }

    def rest(self) -> None:
        """Wait for all ranks without using a core; collective."""
        if self.channel.mpi is not None:
            everybody = self.channel.mpi.Ibarrier()
            with announced():
                while not everybody.Test():
                    time.sleep(LOOK)

    def free(self) -> None:
        """Give the communicators back; collective."""
        self.channel.free()
        self.group.free()


def form(
    world: Comm, ranks_per_unit: int, largest: int | None = None, units: int | None = None
) -> RankGroups:
    """Return the groups of all ranks; collective.

    Parameters
    ----------
    world : Comm
        All ranks.
    ranks_per_unit : int
        Wanted size; all ranks are one group when there are fewer.
    largest : int, optional
        Ranks among which the smallest window of the survey can be cut (`subsalt.parallel.decomp.largest_group`).
    units : int, optional
        Units to be done: groups beyond their number would have nothing to do.
    """
    sizes = group_sizes(world.size, ranks_per_unit, largest, units)
    # ranks of a node are neighbours, nodes in the order of their first rank: most halos stay inside a node
    hosts = world.allgather(world.host)
    order = sorted(range(world.size), key=lambda r: (hosts.index(hosts[r]), r))
    place, index, first = order.index(world.rank), -1, 0
    for i, size in enumerate(sizes):
        if first <= place < first + size:
            index = i
        first += size
    # every idle rank is a part by itself
    group = world.split(index if index >= 0 else len(sizes) + place, place)
    return RankGroups(world, group, world.duplicate(), index, sizes)


def threads_for(world: Comm, wanted: int | None) -> int | None:
    """Return the threads of this rank: `wanted`, or its share of the cores that it may use. Collective.

    Returns
    -------
    int or None
        None leaves the choice to the kernels, as for a process alone.
    """
    mine = [world.host, sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []]
    ranks = world.allgather(mine)
    if wanted is not None or world.size == 1 or os.environ.get("OMP_NUM_THREADS"):
        return wanted
    return share_of_cores(ranks, world.rank, cores())


def share_of_cores(ranks: Sequence[Sequence], rank: int, here: int) -> int:
    """Return how many of the `here` cores of a rank are its own.

    Parameters
    ----------
    ranks : sequence of (host, cores)
        Host of every rank and the numbers of the cores that it may use. A launcher that binds gives every rank its own
        cores, others give all ranks of a node all cores.
    """
    host, own = ranks[rank]
    sharing = sum(1 for h, c in ranks if h == host and (set(c) & set(own) or not own))
    return max(1, here // max(1, sharing))
