"""What is asked for: which collectives, of which sizes, on how many ranks, and how thoroughly."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from subsalt_lab.asked import choices, words, wrong
from subsalt_lab.collectives.calls import ELEMENT
from subsalt_lab.collectives.choice import COLLECTIVES
from subsalt_lab.collectives.knobs import Threads

#: sizes when nothing is asked for
SIZES = "8:4M"
QUICK_SIZES = "8:512K:16"
#: rounds in a start, and starts: fewer give no verdict
LEAST_ROUNDS, LEAST_STARTS = 15, 3
_BINARY = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True)
class Wanted:
    """One collective on communicators of one size, at several sizes.

    Parameters
    ----------
    collective : str
        One of `choice.COLLECTIVES`.
    ranks : int
        Of the communicator.
    sizes : tuple of int
        Bytes, ascending, as `choice.COLLECTIVES` counts them; (0,) for a barrier.
    """

    collective: str
    ranks: int
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Request:
    """What is measured.

    Parameters
    ----------
    wanted : tuple of Wanted
        What.
    rounds : int
        Samples of each algorithm in a start.
    starts : int
        Starts of the program; each is a new draw of what a start is given.
    threads : str
        What the program asks MPI for: ``"multiple"``, as mpi4py and subsalt do, or ``"single"``.
    oversubscribe : bool
        Measure also more ranks than idle cores; the result is marked and never applied.
    timeout : float
        Seconds that one start may take.
    python : str
        The interpreter that runs the worker.
    seed : int
        Of the order in which things are done.
    """

    wanted: tuple[Wanted, ...]
    rounds: int = LEAST_ROUNDS
    starts: int = 5
    threads: Threads = "multiple"
    oversubscribe: bool = False
    timeout: float = 300.0
    python: str = sys.executable
    seed: int = 0

    @property
    def ranks(self) -> list[int]:
        """Numbers of ranks that are started, ascending."""
        return sorted({w.ranks for w in self.wanted})

    @property
    def collectives(self) -> list[str]:
        """Collectives that are measured, in the order of `choice.COLLECTIVES`."""
        asked = {w.collective for w in self.wanted}
        return [c for c in COLLECTIVES if c in asked]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a result."""
        return {
            "wanted": [
                {"collective": w.collective, "ranks": w.ranks, "sizes": list(w.sizes)} for w in self.wanted
            ],
            "rounds": self.rounds,
            "starts": self.starts,
            "threads": self.threads,
            "oversubscribe": self.oversubscribe,
            "seed": self.seed,
        }


def everything(ranks: Sequence[int], collectives: Sequence[str], sizes: Sequence[int]) -> tuple[Wanted, ...]:
    """Return every collective on every number of ranks at every size."""
    return tuple(
        Wanted(c, p, (0,) if c == "barrier" else tuple(sizes))
        for p in sorted(set(ranks))
        for c in collectives
    )


def collectives_of(given: Sequence[str] | None) -> list[str]:
    """Return the collectives of ``--collectives``; all of them when it was not given."""
    return choices("--collectives", given, COLLECTIVES, COLLECTIVES)


def ranks_of(given: Sequence[str] | None, default: int) -> list[int]:
    """Return the numbers of ``--np``, ascending.

    Raises
    ------
    ConfigError
        When one is no number from 2 up: one rank has nobody to talk to.
    """
    if given is None:
        return [max(2, default)]
    found = words(given)
    bad = [w for w in found if not w.isdecimal() or int(w) < 2]
    if bad or not found:
        raise wrong(f"--np {' '.join(bad)}: not numbers of ranks from 2 up", "use such as --np 2,4")
    return sorted({int(w) for w in found})


def size_text(nbytes: int) -> str:
    """Return a size as options take it, such as ``"32K"``."""
    for unit in ("G", "M", "K"):
        if nbytes >= _BINARY[unit] and nbytes % _BINARY[unit] == 0:
            return f"{nbytes // _BINARY[unit]}{unit}"
    return str(nbytes)


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d+)([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    nbytes = int(found[1]) * _BINARY[found[2].upper()] if found else 0
    if not ELEMENT <= nbytes <= 1 << 31 or nbytes % ELEMENT:
        raise wrong(
            f"--sizes {text}: no size of whole double-precision numbers from {ELEMENT} bytes to 2G",
            f"use multiples of {ELEMENT}, such as --sizes 8:4M or --sizes 8,1K,1M (K is 1024)",
        )
    return nbytes


def sizes_of(given: Sequence[str]) -> list[int]:
    """Return the sizes of ``--sizes``, bytes, ascending.

    Parameters
    ----------
    given : sequence of str
        ``"8,1K,1M"``, or ``"8:4M"``: both, and what lies between by factors of 4; ``"8:4M:2"``: by factors of 2.
    """
    found = set()
    for word in words(given):
        first, *more = word.split(":")
        if len(more) > 2 or (len(more) == 2 and more[1] not in ("2", "4", "8", "16")):
            raise wrong(
                f"--sizes {word}: not understood", "use FROM:TO, or FROM:TO:FACTOR with 2, 4, 8 or 16"
            )
        low = _size(first)
        high = _size(more[0]) if more else low
        factor = int(more[1]) if len(more) == 2 else 4
        if high < low:
            raise wrong(f"--sizes {word}: {more[0]} is less than {first}", "put the smaller size first")
        while low < high:
            found.add(low)
            low *= factor
        found.add(high)
    if not found:
        raise wrong("--sizes is empty", f"use such as --sizes {SIZES}")
    return sorted(found)
