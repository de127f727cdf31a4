"""One parameter of an earth model as it is given, before it is on the grid of the model, and what it holds."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Frame, Grid
from subsalt.earth.planes import Planes, first_index, slabs
from subsalt.errors import Finding

#: values a median is taken of, spread over the volume
MEDIAN_OF = 2_000_000


@dataclass(frozen=True)
class Summary:
    """What a volume holds.

    Parameters
    ----------
    size, bad : int
        Number of values, and of those that are not finite.
    first_bad : tuple of int or None
        Index of the first value that is not finite.
    low, high, median : float
        Of the finite values; NaN when there is none. The median is that of an evenly spread sample.
    """

    size: int
    bad: int
    first_bad: tuple[int, ...] | None
    low: float
    high: float
    median: float


@dataclass(frozen=True)
class PartSummary:
    """What some planes of a volume hold: what `Summary` says, and those of the sampled values that they have."""

    bad: int
    first_bad: tuple[int, ...] | None
    low: float
    high: float
    sample: NDArray[Any]


def summarise_part(values: NDArray[Any] | Planes, lo: int, hi: int) -> PartSummary:
    """Return the summary of the planes `lo` to `hi` of a volume, in one pass slab by slab."""
    bad, first, low, high = 0, None, np.inf, -np.inf
    every, row = max(1, values.size // MEDIAN_OF), math.prod(values.shape[1:])
    sampled = [np.empty(0, values.dtype)]
    for start, part in slabs(values, lo=lo, hi=hi):
        finite = np.isfinite(part)
        count = part.size - int(np.count_nonzero(finite))
        if count and first is None:
            first = first_index(~finite, start)
        bad += count
        if count < part.size:
            low = min(low, float(np.min(part, where=finite, initial=np.inf)))
            high = max(high, float(np.max(part, where=finite, initial=-np.inf)))
        # the values of the whole that stand at multiples of `every`
        sampled.append(part.reshape(-1)[-start * row % every :: every].copy())
    return PartSummary(bad, first, low, high, np.concatenate(sampled))


def combine(size: int, parts: Sequence[PartSummary]) -> Summary:
    """Return the summary of a volume of `size` values from those of its parts, in their order."""
    bad = sum(p.bad for p in parts)
    first = next((p.first_bad for p in parts if p.first_bad is not None), None)
    low, high = min(p.low for p in parts), max(p.high for p in parts)
    sample = np.concatenate([p.sample for p in parts])
    sample = sample[np.isfinite(sample)]
    median = float(np.median(sample)) if sample.size else float("nan")
    if bad == size:
        low = high = float("nan")
    return Summary(size, bad, first, low, high, median)


def summarise(values: NDArray[Any] | Planes) -> Summary:
    """Return the summary of a volume."""
    return combine(values.size, [summarise_part(values, 0, len(values))])


@dataclass
class Parameter:
    """One model parameter as the job gives it, in SI, before anything is checked.

    Parameters
    ----------
    name : str
        vp, epsilon, delta, theta or phi.
    values : ndarray, Planes or float
        Volume of a file on `grid`, in memory or yet to be read; a function of depth, or a constant; angles in degrees.
    grid, frame : Grid, Frame, optional
        Of the file.
    depths : ndarray, optional
        Depths of `values` when it is a function of depth, m.
    source : str
        Where it comes from, for messages.
    unit : str, optional
        Unit that the job or the file declares for the values of a file.
    findings : list of Finding
        What the reader of the file noticed.
    given : dict
        The keys of its table in the job, for cures that can be pasted.
    """

    name: str
    values: NDArray[Any] | Planes | float
    grid: Grid | None = None
    frame: Frame | None = None
    depths: NDArray[np.float64] | None = None
    source: str = ""
    unit: str | None = None
    findings: list[Finding] = field(default_factory=list)
    given: dict[str, Any] = field(default_factory=dict)

    def table(self, **changes: object) -> str:
        """Return the parameter as the job would give it with other keys: ``vp = {file = "vp.rsf", unit = "ft/s"}``."""
        keys = {"file": self.source} | self.given | changes
        # a JSON text or number is one of TOML, too
        inside = ", ".join(f"{k} = {json.dumps(v)}" for k, v in keys.items() if v is not None)
        return f"{self.name} = {{{inside}}}"

    @property
    def volume(self) -> NDArray[Any] | Planes:
        """The values as something with an axis to go along, see `slabs`."""
        return self.values if isinstance(self.values, Planes) else np.atleast_1d(np.asarray(self.values))

    @cached_property
    def summary(self) -> Summary:
        """Range, median and what is not finite, computed once."""
        return summarise(self.volume)
