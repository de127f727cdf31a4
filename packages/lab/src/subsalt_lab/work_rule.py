"""How much work a layout does in weak scaling: by ranks, cores or sockets, or as told for each number of ranks.

Founding document 003 asked both questions: how a fixed size per core holds over more cores, and what a socket gains
from more of its cores at a fixed size per socket.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from subsalt_lab.asked import wrong
from subsalt_lab.layouts import Layout

#: names of rules; the second is an old name of the first
NAMES = ("ranks", "linear", "cores", "sockets", "fixed")


@dataclass(frozen=True)
class WorkRule:
    """The work of a layout.

    Parameters
    ----------
    name : str
        ``"fixed"`` (strong scaling), ``"ranks"``, ``"cores"``, ``"sockets"``, or ``"told"``.
    told : tuple of (int, float)
        Ranks and work of ``"told"``.
    """

    name: str = "fixed"
    told: tuple[tuple[int, float], ...] = ()

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
        told = tuple((int(p[1]), float(p[2])) for p in pairs if p)
        bad = len(told) != len(pairs) or len(dict(told)) != len(told)
        if bad or any(work <= 0 or not math.isfinite(work) for _, work in told):
            raise wrong(
                f"--work {text}: no rule",
                f"use one of {', '.join(NAMES)}, or the work for each number of ranks, such as 1:1000,2:2000,4:4000",
            )
        return cls("told", told)

    @property
    def is_weak(self) -> bool:
        """Whether layouts do different work."""
        return self.name != "fixed"

    def of(self, layout: Layout, per_socket: int) -> float:
        """Return the work of a layout, in any unit.

        Parameters
        ----------
        layout : Layout
            Its ranks and threads.
        per_socket : int
            Cores of a socket.

        Raises
        ------
        ConfigError
            When the work of so many ranks was not told (E128).
        """
        cores = layout.ranks * layout.threads
        if self.name == "told":
            known = dict(self.told)
            if layout.ranks not in known:
                raise wrong(
                    f"--work says nothing about {layout.ranks} ranks",
                    f"add {layout.ranks}:WORK, or leave {layout.ranks} out of --ranks",
                )
            return known[layout.ranks]
        of = {"ranks": layout.ranks, "cores": cores, "sockets": sockets_of(cores, per_socket)}
        return float(of.get(self.name, 1))

    def __str__(self) -> str:
        return ",".join(f"{r}:{w:g}" for r, w in self.told) if self.told else self.name


def sockets_of(cores: int, per_socket: int) -> int:
    """Return the sockets that so many cores fill, one after the other."""
    return -(-cores // max(1, per_socket))
