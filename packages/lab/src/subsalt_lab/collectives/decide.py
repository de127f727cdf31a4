"""Which differences between algorithms are more than chance, and what is therefore switched.

A switch is proposed only when all of this holds: the interval of default / candidate, over rounds and starts, lies
above 1.05; the comparison survives Holm's correction for all candidates of its place; the gain of a call is more than
three times what the clock takes; and a neighbouring size says the same of the same algorithm. "No change" is a result.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from subsalt.machine.stats import Paired, holm, paired, t_test
from subsalt_lab.collectives.choice import DEFAULT, Algorithm, AlgorithmChoice
from subsalt_lab.collectives.request import LEAST_ROUNDS, LEAST_STARTS
from subsalt_lab.collectives.sweep import AlgorithmSamples

#: the interval must lie above this
LEAST_RATIO = 1.05
#: chance of a wrong switch at one place
LEVEL = 0.05
#: times the floor of the clock that a gain must reach
FLOORS = 3.0
#: an algorithm that a neighbour uses is kept here too when it is within this of the fastest: fewer changes of algorithm
AS_GOOD = 1.03

Place = tuple[str, int, int]
#: says why an algorithm cannot be put into a file for this MPI; empty: it can
Writable = Callable[[Algorithm], str]


@dataclass(frozen=True)
class CandidateComparison:
    """A candidate against the library's own choice at one place.

    Parameters
    ----------
    default, candidate : AlgorithmSamples
        Samples of the library's own choice and of the candidate.
    p : float
        Chance of such a difference, corrected for all candidates of the place.
    """

    default: AlgorithmSamples
    candidate: AlgorithmSamples
    p: float

    @property
    def algorithm(self) -> Algorithm:
        """The candidate."""
        return self.candidate.algorithm

    @property
    def us(self) -> float:
        """Median time of a call, microseconds."""
        return self.candidate.us

    @cached_property
    def paired(self) -> Paired:
        """Default against candidate, over rounds within starts; times are those of a call, s."""
        before: list[float] = []
        after: list[float] = []
        groups: list[int] = []
        for number, (b, a) in enumerate(zip(self.default.seconds, self.candidate.seconds, strict=True)):
            n = min(len(a), len(b))
            before += b[:n]
            after += a[:n]
            groups += [number] * n
        return paired(before, after, groups=groups)

    @property
    def is_faster(self) -> bool:
        """Whether the medians alone differ enough; most candidates fail here, and need no bootstrap."""
        return self.us * LEAST_RATIO < self.default.us

    def convinces(self, floor: float) -> bool:
        """Whether ratio, correction and clock carry a switch, before neighbours are asked."""
        return (
            self.p <= LEVEL
            and self.is_faster
            and self.paired.ratio_low > LEAST_RATIO
            and self.paired.median_saving > FLOORS * floor
        )


@dataclass(frozen=True)
class PlaceVerdict:
    """Verdict on the algorithms at one place.

    Parameters
    ----------
    collective, comm_size, nbytes
        The place.
    default_us : float
        Median time of a call with the library's own choice, microseconds.
    best : CandidateComparison or None
        The candidate that was looked at last: what is switched to, or else the fastest; None when there is none.
    switch : bool
        Whether it is proposed.
    why : str
        In words.
    """

    collective: str
    comm_size: int
    nbytes: int
    default_us: float
    best: CandidateComparison | None
    switch: bool
    why: str

    def row(self) -> dict[str, Any]:
        """Return the row of a table."""
        columns = {
            "collective": self.collective,
            "ranks": self.comm_size,
            "bytes": self.nbytes,
            "default_us": self.default_us,
            "verdict": self.why,
            "switch": self.switch,
        }
        if self.best is not None:
            b = self.best
            columns |= {
                "best": b.algorithm.name,
                "best_us": b.us,
                "ratio": b.paired.ratio,
                "ratio_low": b.paired.ratio_low,
                "ratio_high": b.paired.ratio_high,
                "interval": f"{b.paired.ratio_low:.2f}-{b.paired.ratio_high:.2f}",
                "p": b.p,
            }
        return columns


def compared(default: AlgorithmSamples, candidates: Sequence[AlgorithmSamples]) -> list[CandidateComparison]:
    """Compare the candidates of one place with the library's own choice; those with too few samples are left out."""
    usable = [
        c for c in candidates if len(c.seconds) >= LEAST_STARTS and min(map(len, c.seconds)) >= LEAST_ROUNDS
    ]
    # one number a start, since rounds of a start are no independent draws
    chances = holm([t_test(_ratios(default, c)) for c in usable])
    return [CandidateComparison(default, c, p) for c, p in zip(usable, chances, strict=True)]


def _ratios(default: AlgorithmSamples, candidate: AlgorithmSamples) -> list[float]:
    """Return the median of log(default / candidate) of each start."""
    return [
        math.log(statistics.median(x / y for x, y in zip(b, a, strict=False)))
        for b, a in zip(default.seconds, candidate.seconds, strict=True)
    ]


def verdicts(
    samples: Sequence[AlgorithmSamples], floor: float = 0.0, writable: Writable = lambda algorithm: ""
) -> list[PlaceVerdict]:
    """Return what was found at every place, in the order of the samples.

    Parameters
    ----------
    samples : sequence of AlgorithmSamples
        Samples of all places; at each the library's own choice and the candidates.
    floor : float
        Time that reading the clock adds to a block, s.
    writable : callable
        Says why an algorithm cannot be switched to; such a one is never proposed.
    """
    by_place: dict[Place, list[AlgorithmSamples]] = {}
    for s in samples:
        by_place.setdefault(s.place, []).append(s)
    defaults: dict[Place, AlgorithmSamples] = {}
    compared_at: dict[Place, list[CandidateComparison]] = {}
    for place, some in by_place.items():
        own = [s for s in some if s.algorithm.is_default]
        if own:
            defaults[place] = own[0]
            compared_at[place] = compared(own[0], [s for s in some if not s.algorithm.is_default])
    return [_verdict(place, default, compared_at, floor, writable) for place, default in defaults.items()]


def _neighbours(place: Place, places: Mapping[Place, Any]) -> list[Place]:
    """Return the places of the next smaller and the next larger size."""
    sizes = sorted(n for c, p, n in places if (c, p) == place[:2])
    i = sizes.index(place[2])
    return [(*place[:2], sizes[j]) for j in (i - 1, i + 1) if 0 <= j < len(sizes)]


def _verdict(
    place: Place,
    default: AlgorithmSamples,
    by_place: Mapping[Place, Sequence[CandidateComparison]],
    floor: float,
    writable: Writable,
) -> PlaceVerdict:
    collective, ranks, nbytes = place
    beside = _neighbours(place, by_place)

    def verdict(best: CandidateComparison | None, why: str, switch: bool = False) -> PlaceVerdict:
        return PlaceVerdict(collective, ranks, nbytes, default.us, best, switch, why)

    def agrees(c: CandidateComparison) -> bool:
        # a barrier has one size: there is no choice
        return not beside or any(
            o.algorithm.name == c.algorithm.name and o.paired.ratio_low > 1.0
            for near in beside
            for o in by_place[near]
        )

    order = sorted(by_place[place], key=lambda c: c.us)
    if not order:
        return verdict(None, "no change: no other comes near the library's own choice")
    convincing = [c for c in order if c.convinces(floor)]
    allowed = [c for c in convincing if not writable(c.algorithm)]
    good = [c for c in allowed if agrees(c)]
    if good:
        # what is good at a neighbour too is preferred among those that are as good here
        beside_names = {o.algorithm.name for near in beside for o in by_place[near] if o.convinces(floor)}
        equals = [c for c in good if c.us <= AS_GOOD * good[0].us]
        lasting = [c for c in equals if c.algorithm.name in beside_names]
        return verdict((lasting or good)[0], "switch", switch=True)
    if allowed:
        return verdict(allowed[0], "no change: no neighbouring size agrees")
    if convincing:
        return verdict(convincing[0], f"no change: {writable(convincing[0].algorithm)}")
    best = order[0]
    if not best.is_faster:
        return verdict(best, "no change: the library's own choice is as good")
    if best.p > LEVEL:
        return verdict(best, f"no change: may be chance, with {len(order)} candidates (p = {best.p:.2g})")
    if best.paired.ratio_low <= LEAST_RATIO:
        return verdict(best, f"no change: not sure to be {LEAST_RATIO - 1:.0%} faster")
    return verdict(best, "no change: less than the clock can tell")


def choices(decided: Sequence[PlaceVerdict]) -> list[AlgorithmChoice]:
    """Return the switches, neighbouring sizes with the same algorithm joined.

    The border between two sizes is their geometric mean. Nothing is said of sizes below the smallest measured one (but
    8 bytes stand for all that is smaller) and above the largest.
    """
    groups: dict[tuple[str, int], list[PlaceVerdict]] = {}
    for v in decided:
        groups.setdefault((v.collective, v.comm_size), []).append(v)
    out = []
    for some in groups.values():
        some = sorted(some, key=lambda v: v.nbytes)
        sizes = [v.nbytes for v in some]
        first = 0
        while first < len(some):
            if not some[first].switch:
                first += 1
                continue
            name = _name(some[first])
            last = first
            while last + 1 < len(some) and some[last + 1].switch and _name(some[last + 1]) == name:
                last += 1
            out.append(_choice(some[first : last + 1], *_bin(sizes, first, last)))
            first = last + 1
    return out


def _name(v: PlaceVerdict) -> str:
    return v.best.algorithm.name if v.best is not None else DEFAULT


def _bin(sizes: Sequence[int], first: int, last: int) -> tuple[int, int | None]:
    """Return from (inclusive) and to (exclusive) of what the sizes from first to last stand for."""
    if sizes == [0]:
        return 0, None
    low = sizes[0] if first == 0 else _between(sizes[first - 1], sizes[first])
    high = sizes[-1] + 1 if last == len(sizes) - 1 else _between(sizes[last], sizes[last + 1])
    return 0 if first == 0 and low <= 8 else low, high


def _between(a: int, b: int) -> int:
    return round(math.sqrt(a * b))


def _choice(some: Sequence[PlaceVerdict], low: int, high: int | None) -> AlgorithmChoice:
    best = [v.best for v in some if v.best is not None]
    return AlgorithmChoice(
        some[0].collective,
        some[0].comm_size,
        low,
        high,
        best[0].algorithm,
        statistics.geometric_mean(v.default_us for v in some),
        statistics.geometric_mean(b.us for b in best),
        min(b.paired.ratio_low for b in best),
        max(b.paired.ratio_high for b in best),
    )


def decide(
    samples: Sequence[AlgorithmSamples], floor: float = 0.0, writable: Writable = lambda algorithm: ""
) -> list[AlgorithmChoice]:
    """Return the switches that the samples carry; none is a result too."""
    return choices(verdicts(samples, floor, writable))
