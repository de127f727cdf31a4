"""Statistics of samples: median and spread, ratios of samples of the same round, and significant differences."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: draws of a bootstrap
BOOTSTRAP = 4000


@dataclass(frozen=True)
class MedianSpread:
    """Median and spread of samples.

    Parameters
    ----------
    median : float
        Median of the samples; a mean would follow the one sample that something else disturbed.
    spread : float
        Half the interquartile range over the median; 0 with one sample.
    n : int
        Samples.
    """

    median: float
    spread: float
    n: int


def summary(samples: Sequence[float]) -> MedianSpread:
    """Return median and spread of at least one sample."""
    if not samples:
        raise ValueError("no samples")
    middle = statistics.median(samples)
    if len(samples) < 2 or middle == 0:
        return MedianSpread(middle, 0.0, len(samples))
    low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
    return MedianSpread(middle, (high - low) / 2 / abs(middle), len(samples))


def ratio(over: Sequence[float], under: Sequence[float]) -> MedianSpread:
    """Return the summary of over[i] / under[i]: what happened to a whole round cancels.

    Parameters
    ----------
    over, under : sequence of float
        Samples of the same rounds, in the same order.
    """
    return summary([a / b for a, b in zip(over, under, strict=True)])


def interval(over: Sequence[float], under: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """Return the bootstrap confidence interval of median(over) / median(under), samples of different rounds.

    Parameters
    ----------
    over, under : sequence of float
        Samples, at least one each. With one sample nothing is known of the spread: the interval is everything positive.
    level : float
        Probability that the ratio lies inside.

    Notes
    -----
    Percentile bootstrap (Efron 1979): both sets are drawn again with replacement. The draws are seeded: the same
    samples give the same interval.
    """
    if min(len(over), len(under)) < 2:
        return 0.0, math.inf
    draw = np.random.default_rng(0)

    def medians(samples: Sequence[float]) -> NDArray[np.float64]:
        values = np.asarray(samples, dtype=np.float64)
        return np.median(values[draw.integers(0, len(values), (BOOTSTRAP, len(values)))], axis=1)

    ratios = np.sort(medians(over) / medians(under))
    outside = (1.0 - level) / 2.0
    return float(ratios[int(outside * BOOTSTRAP)]), float(ratios[int((1.0 - outside) * BOOTSTRAP)])


@dataclass(frozen=True)
class Paired:
    """Savings of a change, from rounds that each have a time before and one after it.

    Parameters
    ----------
    median_saving : float
        Median over the rounds of before - after, s.
    low, high : float
        Ends of its confidence interval.
    ratio : float
        Median over the rounds of before / after; above 1: faster after the change.
    ratio_low, ratio_high : float
        Ends of its confidence interval.
    p : float
        How probable differences at least as one-sided are when the change does nothing.
    n : int
        Rounds.
    level : float
        Confidence of the intervals.
    """

    median_saving: float
    low: float
    high: float
    ratio: float
    ratio_low: float
    ratio_high: float
    p: float
    n: int
    level: float = 0.95

    @property
    def significant(self) -> bool:
        """Whether the difference is more than chance: its interval excludes 0, and `p` is small enough.

        The interval alone would call three rounds of noise a difference in one case of four.
        """
        return (self.low > 0.0 or self.high < 0.0) and self.p <= 1.0 - self.level


def paired(
    before: Sequence[float],
    after: Sequence[float],
    level: float = 0.95,
    groups: Sequence[int] | None = None,
) -> Paired:
    """Compare times of the same rounds, in the same order.

    Parameters
    ----------
    before, after : sequence of float
        Seconds, positive, at least one each.
    level : float
        Confidence of the intervals.
    groups : sequence of int, optional
        Which start of the program each round belongs to. Rounds of one start share what the start was given (cores,
        pages of memory); only another start is a new draw of that.

    Notes
    -----
    Percentile bootstrap of the medians (Efron 1979) over rounds; with groups first over groups, then over the rounds of
    each (Davison and Hinkley 1997, section 3.8). The draws are seeded: the same samples give the same interval.
    `Paired.p` is that of the exact sign test over rounds, two-sided; with groups that of Student's t of the medians of
    log(before / after) of the groups, since rounds of one group are no independent draws.
    """
    b, a = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if b.shape != a.shape or b.ndim != 1 or not b.size:
        raise ValueError(f"{b.size} samples before, {a.size} after; rounds have one of each")
    if not ((b > 0).all() and (a > 0).all()):
        raise ValueError("times must be positive numbers")
    saved, over = b - a, b / a
    label = tuple(groups) if groups is not None else (0,) * b.size
    members = _members(label)
    outside = (1.0 - level) / 2.0

    def ends(values: NDArray[np.float64]) -> tuple[float, float]:
        if b.size < 2:
            return -math.inf, math.inf
        medians = np.sort(_medians(values, label))
        return float(medians[int(outside * BOOTSTRAP)]), float(medians[int((1.0 - outside) * BOOTSTRAP)])

    if len(members) > 1:
        p = t_test([float(np.median(np.log(over[m]))) for m in members])
    else:
        p = sign_test(saved)
    low, high = ends(saved)
    ratio_low, ratio_high = ends(over)
    return Paired(
        float(np.median(saved)),
        low,
        high,
        float(np.median(over)),
        max(ratio_low, 0.0),
        ratio_high,
        p,
        b.size,
        level,
    )


def _members(label: Sequence[int]) -> list[NDArray[np.int64]]:
    """Return the indices of each group."""
    groups = np.asarray(label)
    return [np.flatnonzero(groups == g) for g in np.unique(groups)]


def _medians(values: NDArray[np.float64], label: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the median of each bootstrap draw of the values: ten times as fast as to gather and sort all draws."""
    counts, size = _counts(label)
    order = np.argsort(values)
    # of each draw, how many samples are at most the first, second, ... smallest value
    within = np.cumsum(counts[order], axis=0, dtype=counts.dtype)
    ordered = values[order]
    low, high = (ordered[(within <= k).sum(axis=0, dtype=counts.dtype)] for k in ((size - 1) // 2, size // 2))
    return (low + high) / 2.0


# a tuner compares hundreds of sets of samples of the same shape
@lru_cache(maxsize=4)
def _counts(label: tuple[int, ...]) -> tuple[NDArray[np.unsignedinteger[Any]], int]:
    """Return how often each bootstrap draw has each sample, (samples, draws), and how many samples a draw has."""
    drawn = _draws(label)
    counts = np.zeros((len(label), BOOTSTRAP), np.min_scalar_type(len(label)))
    lines = np.arange(BOOTSTRAP)
    for samples in drawn.T:
        counts[samples, lines] += 1
    return counts, drawn.shape[1]


def _draws(label: tuple[int, ...]) -> NDArray[np.int64]:
    """Return indices of samples, one line per bootstrap draw; every line has as many groups as there are."""
    draw = np.random.default_rng(0)
    members = _members(label)
    many = min(len(m) for m in members)
    if len(members) == 1:
        return draw.integers(0, many, (BOOTSTRAP, many))
    # groups of different length: as many rounds of each as the shortest has, the lines must be equally long
    table = np.stack([draw.permutation(m)[:many] for m in members])
    which = draw.integers(0, len(members), (BOOTSTRAP, len(members), 1))
    rounds = draw.integers(0, many, (BOOTSTRAP, len(members), many))
    return table[which, rounds].reshape(BOOTSTRAP, -1)


def sign_test(differences: Sequence[float] | NDArray[np.float64]) -> float:
    """Return the probability that signs are at least as one-sided by chance: exact, two-sided; zeros don't count."""
    values = np.asarray(differences, dtype=np.float64)
    plus, minus = int((values > 0).sum()), int((values < 0).sum())
    n = plus + minus
    tail = sum(math.comb(n, k) for k in range(min(plus, minus) + 1)) / 2**n
    return min(1.0, 2.0 * tail)


def t_test(values: Sequence[float]) -> float:
    """Return the probability of a mean at least as far from 0 by chance: Student's t, two-sided."""
    from scipy.special import stdtr

    n = len(values)
    if n < 2:
        return 1.0
    middle, off = statistics.fmean(values), statistics.stdev(values)
    if off == 0.0:
        return 1.0 if middle == 0.0 else 0.0
    return float(2.0 * stdtr(n - 1, -abs(middle) / (off / math.sqrt(n))))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted for having made all these comparisons, in the order given (Holm 1979).

    The chance that any of those at or below a level is there by accident is that level at most, however the
    comparisons depend on each other.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


@dataclass(frozen=True)
class StraightLine:
    """A straight line through measured points.

    Parameters
    ----------
    intercept, slope : float
        y = intercept + slope x.
    worst : float
        Largest distance of a point from it: relative to y when the fit was, else in the unit of y.
    """

    intercept: float
    slope: float
    worst: float


def fit_line(x: Sequence[float], y: Sequence[float], *, relative: bool = True) -> StraightLine:
    """Return the least-squares line through at least two points.

    Parameters
    ----------
    x, y : sequence of float
        Points; y positive when `relative`.
    relative : bool
        Make the relative errors small: each point is divided by its y, so that 4 KiB counts as much as 4 MiB.
    """
    s, t = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    weight = 1.0 / t if relative else np.ones(len(t))
    system = np.stack([weight, s * weight], axis=1)
    (a, slope), *_ = np.linalg.lstsq(system, t * weight, rcond=None)
    return StraightLine(float(a), float(slope), float(np.abs(system @ [a, slope] - t * weight).max()))
