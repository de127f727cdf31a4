"""What samples say: the median, how far they spread, and ratios of samples of the same round."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


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
