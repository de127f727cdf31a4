"""Request for a measurement: which collectives, of which sizes, on how many ranks, and how thoroughly."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from subsalt_lab.collectives.calls import ELEMENT
from subsalt_lab.collectives.choice import COLLECTIVES
from subsalt_lab.collectives.knobs import Threads
from subsalt_lab.option_values import choices, words, wrong

if TYPE_CHECKING:
    from subsalt_lab.pmpi.records import MpiProfile


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
        Ranks of the communicator.
    sizes : tuple of int
        Bytes, ascending, as `choice.COLLECTIVES` counts them; (0,) for a barrier.
    """

    collective: str
    ranks: int
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class TuningRequest:
    """The measurement to run.

    Parameters
    ----------
    wanted : tuple of Wanted
        Collectives to measure, with ranks and sizes.
    rounds : int
        Samples of each algorithm in a start.
    starts : int
        Starts of the program; each is a new draw of what a start is given.
    threads : str
        Level of thread support that programs request: ``"multiple"``, as mpi4py and subsalt do, or ``"single"``.
    oversubscribe : bool
        Measure also more ranks than idle cores; the result is marked and never applied.
    timeout : float
        Seconds that one start may take.
    python : str
        The interpreter that runs the worker.
    seed : int
        Seed of the order of the measurements.
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
        names = {w.collective for w in self.wanted}
        return [c for c in COLLECTIVES if c in names]

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
        When one is not a number from 2 up: one rank has no partner.
    """
    if given is None:
        return [max(2, default)]
    numbers = words(given)
    bad = [w for w in numbers if not w.isdecimal() or int(w) < 2]
    if bad or not numbers:
        raise wrong(f"--np {' '.join(bad)}: not numbers of ranks from 2 up", "use such as --np 2,4")
    return sorted({int(w) for w in numbers})


def size_text(nbytes: int) -> str:
    """Return a size as options take it, such as ``"32K"``."""
    for unit in ("G", "M", "K"):
        if nbytes >= _BINARY[unit] and nbytes % _BINARY[unit] == 0:
            return f"{nbytes // _BINARY[unit]}{unit}"
    return str(nbytes)


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    nbytes = int(match[1]) * _BINARY[match[2].upper()] if match else 0
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
    sizes = set()
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
            sizes.add(low)
            low *= factor
        sizes.add(high)
    if not sizes:
        raise wrong("--sizes is empty", f"use such as --sizes {SIZES}")
    return sorted(sizes)


#: share of the wall time below which a place is left alone
LEAST_SHARE = 0.01


@dataclass(frozen=True)
class Heavy:
    """One place that takes time.

    Parameters
    ----------
    collective : str
        One of `COLLECTIVES`.
    ranks : int
        Ranks of the communicator.
    nbytes : int
        Mean size of a call there, as `choice.COLLECTIVES` counts it.
    share : float
        Part of the wall time, mean over the ranks of the program.
    """

    collective: str
    ranks: int
    nbytes: int
    share: float


def heavy(profile: MpiProfile, least: float = LEAST_SHARE) -> list[Heavy]:
    """Return the places that take more than `least` of the wall time, the heaviest first.

    Notes
    -----
    Waiting for late ranks is in these times too, and no algorithm saves that: they are an upper bound.
    """
    wall = sum(profile.wall)
    by_place: dict[tuple[str, int, int], tuple[float, int, int]] = {}
    for row in profile.calls:
        collective = row.call.removeprefix("MPI_").lower()
        # rows of single call sites repeat what stands in the rows of all sites
        if row.site or collective not in COLLECTIVES or row.comm_size < 2:
            continue
        bins = row.sizes if collective != "barrier" else ()
        for b in bins:
            key = collective, row.comm_size, b.bytes_from
            seconds, calls, nbytes = by_place.get(key, (0.0, 0, 0))
            by_place[key] = seconds + b.seconds, calls + b.calls, nbytes + b.bytes
        if collective == "barrier":
            key = collective, row.comm_size, 0
            seconds, calls, _ = by_place.get(key, (0.0, 0, 0))
            by_place[key] = seconds + row.seconds, calls + row.calls, 0
    out = []
    for (collective, ranks, _), (seconds, calls, nbytes) in by_place.items():
        share = seconds / wall if wall > 0 else 0.0
        if share > least and calls:
            # a profile counts all that a rank gives to an alltoall, a size here is that for one other rank
            mean = nbytes / calls / (ranks if collective == "alltoall" else 1)
            out.append(Heavy(collective, ranks, round(mean), share))
    return sorted(out, key=lambda h: -h.share)


def wanted(places: Sequence[Heavy]) -> tuple[Wanted, ...]:
    """Return what is measured for these places: their sizes, with half and twice of them, for neighbours must agree."""
    sizes: dict[tuple[str, int], set[int]] = {}
    for h in places:
        near = {0} if h.collective == "barrier" else {_whole(f * h.nbytes) for f in (0.5, 1.0, 2.0)}
        sizes.setdefault((h.collective, h.ranks), set()).update(near)
    return tuple(Wanted(c, p, tuple(sorted(some))) for (c, p), some in sizes.items())


def _whole(nbytes: float) -> int:
    """Return the nearest size of whole elements, one at least."""
    return ELEMENT * max(1, round(nbytes / ELEMENT))
