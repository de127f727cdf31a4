"""Groups of ranks: each takes a shot at a time, and cuts its window into slabs along x, one per rank."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

from subsalt.kernels import cores
from subsalt.parallel.comm import Comm
from subsalt.parallel.waiting import announced
from subsalt.plan import group_sizes
from subsalt.propagation import devices
from subsalt.run.scheduler import LOOK


@dataclass(frozen=True)
class Groups:
    """The groups of a run, as one rank sees them.

    Parameters
    ----------
    world : Comm
        All ranks.
    group : Comm
        The ranks that share a shot with this one. An idle rank is alone in it.
    channel : Comm
        All ranks, with messages of their own: for the scheduling of shots.
    index : int
        Which group this rank is in, from 0; -1 for an idle rank.
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
        """Whether this rank takes no shots: it takes part in the image sum alone."""
        return self.index < 0

    def facts(self) -> dict[str, object]:
        """Return what a report says of them."""
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


def form(world: Comm, ranks_per_shot: int, largest: int | None = None, shots: int | None = None) -> Groups:
    """Return the groups of all ranks; collective.

    Parameters
    ----------
    world : Comm
        All ranks.
    ranks_per_shot : int
        Wanted size; all ranks are one group when there are fewer.
    largest : int, optional
        Ranks among which the smallest window of the survey can be cut (`subsalt.parallel.decomp.largest_group`).
    shots : int, optional
        Shots to be done: groups beyond their number would have nothing to do.
    """
    sizes = group_sizes(world.size, ranks_per_shot, largest, shots)
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
    return Groups(world, group, world.duplicate(), index, sizes)


def threads_for(world: Comm, asked: int | None) -> int | None:
    """Return the threads of this rank: `asked`, or its share of the cores that it may use. Collective.

    Returns
    -------
    int or None
        None leaves the choice to the kernels, as for a process alone.
    """
    mine = [world.host, sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []]
    ranks = world.allgather(mine)
    if asked is not None or world.size == 1 or os.environ.get("OMP_NUM_THREADS"):
        return asked
    return share_of_cores(ranks, world.rank, cores())


def share_of_cores(ranks: Sequence[Sequence], rank: int, here: int) -> int:
    """Return how many of the `here` cores of a rank are its own.

    Parameters
    ----------
    ranks : sequence of (host, cores)
        Of every rank: the numbers of the cores that it may use. A launcher that binds gives every rank its own, others
        give all ranks of a node all cores.
    """
    host, own = ranks[rank]
    sharing = sum(1 for h, c in ranks if h == host and (set(c) & set(own) or not own))
    return max(1, here // max(1, sharing))
