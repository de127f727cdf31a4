"""The ranks a plan is made for: how many, how much memory each may take, and how many threads it has."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from subsalt.errors import ConfigError
from subsalt.host import available_memory, usable_cores
from subsalt.kernels import threads_to_use
from subsalt.plan.gpu import PlannedGpu

if TYPE_CHECKING:
    from subsalt.parallel.comm import Comm

#: part of the free memory that a plan fills when it may choose: the page cache lives on the rest, and with it input
COMFORT = 0.8
#: resident size of the program with all that it imports and has read of a small job, before the first array, where this
#: was not measured (subsalt.plan.program)
PROGRAM = 86_000_000


def refuse_below_one(numbers: Mapping[str, int | None]) -> None:
    """Refuse numbers, by the name of their option, that are given and not positive."""
    for name, value in numbers.items():
        if value is not None and value < 1:
            raise ConfigError(f"{name} {value} is not positive", "give 1 or more", code="E125")


@dataclass(frozen=True)
class World:
    """Ranks and what each of them has.

    Parameters
    ----------
    ranks : int
        All of them.
    memory_per_rank : int
        Bytes that a rank may take in all, program included.
    threads : int
        Threads of each rank.
    ranks_per_node : int
        Ranks that share one node, its memory and its cores.
    given : bool
        The memory is a limit that the user gave, not the free memory.
    running : bool
        The ranks run: their memory is free beside what they hold already.
    gpu : PlannedGpu or None
        GPU on which every rank computes; None: its processor.
    program : int
        Bytes of a rank before its first array (`subsalt.plan.program`).
    """

    ranks: int
    memory_per_rank: int
    threads: int
    ranks_per_node: int
    given: bool = False
    running: bool = False
    gpu: PlannedGpu | None = None
    program: int = PROGRAM

    @classmethod
    def planned(cls, ranks: int = 1, memory_per_rank: int | None = None, threads: int | None = None) -> World:
        """Return a world to be started: on this machine, or anywhere when its memory per rank is given.

        Raises
        ------
        ConfigError
            When a number is not positive.
        """
        refuse_below_one({"--ranks": ranks, "--threads": threads, "--memory-per-rank": memory_per_rank})
        cores = usable_cores()
        if threads is None and os.environ.get("OMP_NUM_THREADS"):
            threads = threads_to_use()  # as the run will
        if memory_per_rank is not None:
            each = threads or cores
            return cls(ranks, memory_per_rank, each, max(1, min(ranks, cores // each)), given=True)
        each = threads or max(1, cores // ranks)
        return cls(ranks, available_memory() // ranks, each, ranks)

    @classmethod
    def of(cls, comm: Comm, threads: int, gpu: PlannedGpu | None = None) -> World:
        """Return the world of running ranks; collective.

        The ranks of a node share what is free there; the least share of all rules, and so does the smallest GPU.
        """
        hosts = comm.allgather(comm.host)
        mine = hosts.count(comm.host)
        least = int(comm.min(available_memory() // mine))
        most = max(hosts.count(h) for h in hosts)
        shared = None if gpu is None else gpu.agreed(comm)
        return cls(comm.size, least, threads, most, running=True, gpu=shared)

    def holding(self, held: int) -> World:
        """Return the world with the memory of a rank in all, of ranks that hold so many bytes once they run."""
        return (
            replace(self, memory_per_rank=self.memory_per_rank + held, running=False)
            if self.running
            else self
        )

    @property
    def comfortable(self) -> int:
        """Bytes per rank that leave room beside them; all of it when the user gave a limit."""
        return self.memory_per_rank if self.given else int(COMFORT * self.memory_per_rank)


def group_sizes(ranks: int, wanted: int, largest: int | None = None, shots: int | None = None) -> list[int]:
    """Return the sizes of the groups, largest first: as many groups as `wanted` allows, which share all ranks.

    Parameters
    ----------
    ranks, wanted : int
        Ranks, and how many of them per shot.
    largest : int, optional
        No group has more; ranks that are left over then stay idle.
    shots : int, optional
        No more groups than shots.
    """
    most = ranks if largest is None else min(ranks, largest)
    count = max(1, ranks // max(1, wanted))
    if shots is not None:
        count = max(1, min(count, shots))
    used = min(ranks, count * most)
    return [used // count + (i < used % count) for i in range(count)]


#: bytes that MPI adds to it in every rank, shared memory between ranks included (MPICH 5 of the wheel)
MPI = 17_000_000
