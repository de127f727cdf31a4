"""Layouts of a run: how many ranks, how many threads each, on which hardware threads; and the work of each.

Founding document 003 asked two questions of weak scaling: how a fixed size per core holds over more cores, and what a
socket gains from more of its cores at a fixed size per socket. In both a layout has its work by a rule.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from subsalt_lab.option_values import wrong
from subsalt_lab.topology import Topology, format_list


@dataclass(frozen=True)
class RankLayout:
    """Ranks and threads of one run.

    Parameters
    ----------
    ranks, threads : int
        Ranks of the run, and threads of each rank.
    per_core : int
        Threads placed on each core: 1, or the hyperthreads of a core.
    pins : tuple of tuple of int
        Hardware threads of each rank; empty when the launcher and the system place them.
    cores, nodes : int
        Cores that work, and nodes; 0 until a start of this layout has told.
    oversubscribed : bool
        More threads than hardware threads: they take turns.
    """

    ranks: int
    threads: int
    per_core: int = 1
    pins: tuple[tuple[int, ...], ...] = ()
    cores: int = 0
    nodes: int = 0
    oversubscribed: bool = False

    @property
    def name(self) -> str:
        """Ranks x threads, with a mark for hyperthreads."""
        return f"{self.ranks} x {self.threads}{' HT' if self.per_core > 1 else ''}"

    @property
    def pin_lists(self) -> str:
        """The cores of every rank, as `subsalt_lab.pinned` reads them."""
        return ";".join(format_list(list(p)) for p in self.pins) or "-"

    def where(self, hosts: Sequence[dict[str, Any]]) -> RankLayout:
        """Return the layout with what its ranks saw: cores in use, nodes, and whether threads take turns.

        Parameters
        ----------
        hosts : sequence of mapping
            One per rank: its ``host``, the hardware threads ``cpus`` it may use, and how many of them share a core.
        """
        cores, crowded = 0, False
        for host in sorted({h["host"] for h in hosts}):
            here = [h for h in hosts if h["host"] == host]
            cpus = {c for h in here for c in h["cpus"]}
            wanted = len(here) * self.threads
            crowded |= wanted > len(cpus)
            # one thread a core as long as there are cores; hyperthreads share them
            there = max(1, len(cpus) // max(1, min(h["per_core"] for h in here)))
            cores += min(-(-wanted // self.per_core), there)
        return replace(self, cores=cores, nodes=len({h["host"] for h in hosts}), oversubscribed=crowded)


def layouts(
    ranks: Sequence[int], threads: Sequence[int], topology: Topology, *, pin: bool, hyperthreads: bool
) -> list[RankLayout]:
    """Return every combination of ranks and threads, smallest first.

    Parameters
    ----------
    ranks, threads : sequence of int
        Numbers of each.
    topology : Topology
        Topology of this node.
    pin : bool
        Give each rank hardware threads of its own, as far as there are enough.
    hyperthreads : bool
        Beside each layout, where the machine has them, one with all hardware threads of the same cores; these two are
        always pinned, for only so is it known what shares a core.
    """
    combinations: list[RankLayout] = []
    for r, t in sorted(product(ranks, threads), key=lambda rt: (rt[0] * rt[1], rt[0])):
        plain = topology.place(r, t)
        both = topology.place(r, t * topology.per_core, topology.per_core)
        paired = hyperthreads and topology.per_core > 1 and plain is not None and both is not None
        combinations.append(RankLayout(r, t, pins=_pins(plain) if pin or paired else ()))
        if paired:
            combinations.append(RankLayout(r, t * topology.per_core, topology.per_core, _pins(both)))
    return combinations


def usual(cores: int) -> list[int]:
    """Return 1, 2, 4, ... up to the cores, and the cores."""
    return sorted({*(1 << k for k in range(cores.bit_length())), cores})


def _pins(places: list[list[int]] | None) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(p) for p in places or ())


#: names of rules; the second is an old name of the first
NAMES = ("ranks", "linear", "cores", "sockets", "fixed")


@dataclass(frozen=True)
class WorkRule:
    """The work of a layout.

    Parameters
    ----------
    name : str
        ``"fixed"`` (strong scaling), ``"ranks"``, ``"cores"``, ``"sockets"``, or ``"given"``.
    given : tuple of (int, float)
        Ranks and work of ``"given"``.
    """

    name: str = "fixed"
    given: tuple[tuple[int, float], ...] = ()

    @classmethod
    def read(cls, text: str) -> WorkRule:
        """Return the rule of ``--work``.

        Raises
        ------
        ConfigError
            When it is none (E128).
        """
        if text in NAMES:
            return cls("ranks" if text == "linear" else text)
        pairs = [
            re.fullmatch(r"\s*(\d+)\s*:\s*(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*", w) for w in text.split(",")
        ]
        shares = tuple((int(p[1]), float(p[2])) for p in pairs if p)
        bad = len(shares) != len(pairs) or len(dict(shares)) != len(shares)
        if bad or any(work <= 0 or not math.isfinite(work) for _, work in shares):
            raise wrong(
                f"--work {text}: no rule",
                f"use one of {', '.join(NAMES)}, or the work for each number of ranks, such as 1:1000,2:2000,4:4000",
            )
        return cls("given", shares)

    @property
    def is_weak(self) -> bool:
        """Whether layouts do different work."""
        return self.name != "fixed"

    def of(self, layout: RankLayout, per_socket: int) -> float:
        """Return the work of a layout, in any unit.

        Parameters
        ----------
        layout : RankLayout
            Its ranks and threads.
        per_socket : int
            Cores of a socket.

        Raises
        ------
        ConfigError
            When the work for that number of ranks was not given (E128).
        """
        cores = layout.ranks * layout.threads
        if self.name == "given":
            known = dict(self.given)
            if layout.ranks not in known:
                raise wrong(
                    f"--work says nothing about {layout.ranks} ranks",
                    f"add {layout.ranks}:WORK, or leave {layout.ranks} out of --ranks",
                )
            return known[layout.ranks]
        of = {"ranks": layout.ranks, "cores": cores, "sockets": sockets_of(cores, per_socket)}
        return float(of.get(self.name, 1))

    def __str__(self) -> str:
        return ",".join(f"{r}:{w:g}" for r, w in self.given) if self.given else self.name


def sockets_of(cores: int, per_socket: int) -> int:
    """Return the sockets that so many cores fill, one after the other."""
    return -(-cores // max(1, per_socket))
