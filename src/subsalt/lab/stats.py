"""What samples say: the median, how far they spread, and ratios of samples of the same round."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: draws of a bootstrap
BOOTSTRAP = 4000


@dataclass(frozen=True)
class Summary:
    """The middle of some samples and how far they spread.

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


def summary(samples: Sequence[float]) -> Summary:
    """Return median and spread of at least one sample."""
    if not samples:
        raise ValueError("no samples")
    middle = statistics.median(samples)
    if len(samples) < 2 or middle == 0:
        return Summary(middle, 0.0, len(samples))
    low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
    return Summary(middle, (high - low) / 2 / abs(middle), len(samples))


def ratio(over: Sequence[float], under: Sequence[float]) -> Summary:
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
