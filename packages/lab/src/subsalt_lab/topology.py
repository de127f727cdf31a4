"""Which hardware threads share a core, and where the threads of each rank go."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

CPUS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Topology:
    """The processor as this process may use it.

    Parameters
    ----------
    cores : tuple of tuple of int
        Hardware threads by core.
    sockets : tuple of int
        Number of the socket of each core; empty when the system does not say.
    """

    cores: tuple[tuple[int, ...], ...]
    sockets: tuple[int, ...] = ()

    @classmethod
    def here(cls, root: Path = CPUS, usable: set[int] | None = None) -> Topology:
        """Read it from /sys; without it every hardware thread counts as a core.

        Parameters
        ----------
        root : Path
            Where Linux lists processors.
        usable : set of int, optional
            Hardware threads that count; those of this process when None.
        """
        mine = usable if usable is not None else _usable()
        cores: dict[tuple[int, ...], int | None] = {}
        for cpu in sorted(mine):
            try:
                listed = (root / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text()
                siblings = tuple(sorted(parse_list(listed) & mine))
            except (OSError, ValueError):
                siblings = (cpu,)
            cores.setdefault(siblings or (cpu,), _socket(root, cpu))
        sockets = [n for n in cores.values() if n is not None]
        return cls(tuple(cores), tuple(sockets) if len(sockets) == len(cores) else ())

    @property
    def threads(self) -> int:
        """Hardware threads."""
        return sum(map(len, self.cores))

    @property
    def per_core(self) -> int:
        """Hardware threads of a core, of the core with the fewest; 1 without hyperthreads."""
        return min(map(len, self.cores))

    @property
    def per_socket(self) -> int:
        """Cores of a socket, of the one with the fewest; all of them when the system does not say."""
        return min(Counter(self.sockets).values(), default=len(self.cores))

    def place(self, ranks: int, threads: int, per_core: int = 1) -> list[list[int]] | None:
        """Return the hardware threads of each rank, neighbours on neighbouring cores; None when they do not fit.

        Parameters
        ----------
        ranks, threads : int
            Ranks and threads of the layout.
        per_core : int
            Threads on each core: 1, or `per_core` of this topology for hyperthreads.
        """
        slots = [core[i] for core in self.cores for i in range(min(per_core, len(core)))]
        if ranks * threads > len(slots):
            return None
        return [sorted(slots[r * threads : (r + 1) * threads]) for r in range(ranks)]


def _socket(root: Path, cpu: int) -> int | None:
    """Return the number of the socket of a hardware thread, None where the system does not say."""
    try:
        return int((root / f"cpu{cpu}" / "topology" / "physical_package_id").read_text())
    except (OSError, ValueError):
        return None


def parse_list(text: str) -> set[int]:
    """Return the numbers of a list as Linux writes it, such as ``0-3,8``."""
    numbers: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


def format_list(numbers: list[int] | set[int]) -> str:
    """Return numbers as Linux writes a list of processors."""
    runs: list[list[int]] = []
    for n in sorted(numbers):
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def _usable() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))
