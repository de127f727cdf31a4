"""Which ranks are worth a pair: on one socket, on one node, on two nodes; one pair alone and many at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from subsalt_lab.network.lines import Rank
from subsalt_lab.topology import Topology

#: from near to far
PLACES = ("socket", "node", "across")


@dataclass(frozen=True)
class Pairs:
    """Pairs of ranks that send at the same time.

    Parameters
    ----------
    where : str
        One of `PLACES`, for all of them.
    pairs : tuple of tuple of int
        Ranks; no rank is in two.
    """

    where: str
    pairs: tuple[tuple[int, int], ...]

    @property
    def ranks(self) -> int:
        """How many ranks take part."""
        return 2 * len(self.pairs)

    def text(self) -> str:
        """Return what the command line of the program carries."""
        return ",".join(f"{a}-{b}" for a, b in self.pairs)


def between(a: Rank, b: Rank) -> str:
    """Return how far two ranks are from each other.

    Ranks that may use processors of several sockets may be on different ones: they count as on one node, unless the
    node has no second socket.
    """
    if a.host != b.host:
        return "across"
    same = len(a.sockets) == 1 and a.sockets == b.sockets
    return "socket" if same else "node"


def of_all(ranks: Iterable[Rank]) -> str:
    """Return how far the ranks are from each other that are farthest."""
    return max((between(a, b) for a, b in combinations(ranks, 2)), key=PLACES.index, default="socket")


def choose(ranks: Sequence[Rank]) -> list[Pairs]:
    """Return the sets of pairs that are measured, one pair of each kind and then as many as there are at once.

    Notes
    -----
    Many at once are all inside of one node, or all between the same two nodes: what they share is that node's memory,
    or the way between those two. Document 003 calls one rank of a node SN, and several VN.
    """
    hosts: dict[str, list[int]] = defaultdict(list)
    for number, rank in enumerate(ranks):
        hosts[rank.host].append(number)
    sets: list[Pairs] = []
    for where in PLACES:
        groups = (
            [(a, b) for a, b in combinations(hosts.values(), 2)]
            if where == "across"
            else [(members, members) for members in hosts.values()]
        )
        best = max((_disjoint(ranks, a, b, where) for a, b in groups), key=len, default=())
        sets += [Pairs(where, best[:n]) for n in sorted({min(1, len(best)), len(best)} - {0})]
    return sets


def _disjoint(
    ranks: Sequence[Rank], first: Sequence[int], second: Sequence[int], where: str
) -> tuple[tuple[int, int], ...]:
    """Return pairs with one rank of each group, as far from each other as asked, every rank at most once."""
    used: set[int] = set()
    pairs = []
    for a in first:
        b = next(
            (b for b in second if a != b and not {a, b} & used and between(ranks[a], ranks[b]) == where), None
        )
        if b is not None:
            used |= {a, b}
            pairs.append((a, b))
    return tuple(pairs)


def cores_of(cpus: Iterable[int]) -> int:
    """Return how many cores some hardware threads lie on, on this node; other nodes count as like it."""
    return len(Topology.here(usable=set(cpus)).cores)


def oversubscribed(ranks: Iterable[Rank], cores: Callable[[Iterable[int]], int] = cores_of) -> bool:
    """Whether ranks must share cores: more of them than cores that they may use, on any node.

    Parameters
    ----------
    ranks : iterable of Rank
        All of them.
    cores : callable
        As `cores_of`.
    """
    ranks = list(ranks)
    for host in {r.host for r in ranks}:
        here = [r for r in ranks if r.host == host]
        together = frozenset().union(*(r.cpus for r in here))
        room = cores(together) if together else here[0].online
        same_place = Counter(r.cpus for r in here if r.cpus)
        if len(here) > room or any(n > cores(cpus) for cpus, n in same_place.items()):
            return True
    return False
