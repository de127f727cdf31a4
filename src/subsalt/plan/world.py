"""The ranks a plan is made for: how many, how much memory each may take, and how many threads it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from subsalt.errors import ConfigError
from subsalt.host import available_memory, resident_memory, usable_cores

if TYPE_CHECKING:
    from subsalt.comm import Comm

#: part of the free memory that a plan fills when it may choose: the page cache lives on the rest, and with it input
COMFORT = 0.8


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
        Of each rank.
    ranks_per_node : int
        Ranks that share one node, its memory and its cores.
    given : bool
        The memory is what somebody asked to keep to, not what was found free.
    """

    ranks: int
    memory_per_rank: int
    threads: int
    ranks_per_node: int
    given: bool = False

    @classmethod
    def planned(cls, ranks: int = 1, memory_per_rank: int | None = None, threads: int | None = None) -> World:
        """Return a world to be started: on this machine, or anywhere when its memory per rank is given.

        Raises
        ------
        ConfigError
            When a number is not positive.
        """
        for name, value in (
            ("--ranks", ranks),
            ("--threads", threads),
            ("--memory-per-rank", memory_per_rank),
        ):
            if value is not None and value < 1:
                raise ConfigError(f"{name} {value} is not positive", "give 1 or more", code="E125")
        cores = usable_cores()
        if memory_per_rank is not None:
            each = threads or cores
            return cls(ranks, memory_per_rank, each, max(1, min(ranks, cores // each)), given=True)
        each = threads or max(1, cores // ranks)
        return cls(ranks, available_memory() // ranks, each, ranks)

    @classmethod
    def of(cls, comm: Comm, threads: int) -> World:
        """Return the world of running ranks; collective.

        The ranks of a node share what is free there; the least share of all rules.
        """
        hosts = comm.allgather(comm.host)
        mine = hosts.count(comm.host)
        share = available_memory() // mine + resident_memory()
        return cls(comm.size, int(comm.min(share)), threads, max(hosts.count(h) for h in hosts))

    @property
    def comfortable(self) -> int:
        """Bytes per rank that leave room beside them; all that was given when somebody said how much."""
        return self.memory_per_rank if self.given else int(COMFORT * self.memory_per_rank)
