"""What rules look at, and the registry they stand in."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey
from subsalt.acquisition.wavelet import Wavelet
from subsalt.earth.grid import Frame, Grid
from subsalt.earth.model_like import ModelLike
from subsalt.earth.planes import Planes
from subsalt.errors import Finding
from subsalt.propagation.options import ImagingOptions, PropagationOptions

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


def slabs(
    values: NDArray[Any] | Planes, most: int = 1 << 24, lo: int = 0, hi: int | None = None
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield (first index along axis 0, part) of a volume, so that no copy of all of it is ever made.

    Parameters
    ----------
    most : int
        Values of a part of an array in memory; planes in files know best how many to read at a time.
    lo, hi : int
        First plane and end; all when left out.
    """
    end = len(values) if hi is None else hi
    if isinstance(values, Planes):
        yield from values.slabs(lo, end)
        return
    step = max(1, most // max(1, values[:1].size))
    for start in range(lo, end, step):
        yield start, values[start : min(end, start + step)]


def first_index(mask: NDArray[np.bool_], start: int) -> tuple[int, ...]:
    """Return the index of the first True in a slab that begins at `start`."""
    where = np.unravel_index(int(np.argmax(mask)), mask.shape)
    return (int(where[0]) + start, *(int(i) for i in where[1:]))


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


@dataclass
class SampledShot:
    """A shot with its traces, (nr, nt), one of a few that are read to be looked at."""

    shot: Shot
    data: NDArray[np.float32]


@dataclass
class Context:
    """All that is known of a job before it runs; what could not be had is None.

    Parameters
    ----------
    parameters : dict of Parameter
        Model parameters by name.
    resampling : bool
        The job gives a grid on which all volumes are interpolated.
    model : ModelLike, optional
        On its grid, smoothed, before the anisotropy gate.
    survey : Survey, optional
        Recorded, or to be modelled.
    scan : ScanResult, optional
        What the files say.
    wavelet : Wavelet, optional
        Sampled at the time step.
    propagation, imaging : options
        From the job.
    samples : list of SampledShot
        Traces of a few shots.
    modelling : bool
        The survey is to be modelled, so it has no traces.
    judge_breaks : bool
        First arrivals and moveout are judged.
    facts : dict
        Numbers that rules leave for the output of `subsalt check`.
    """

    parameters: dict[str, Parameter] = field(default_factory=dict)
    resampling: bool = False
    model: ModelLike | None = None
    survey: Survey | None = None
    scan: Any = None
    wavelet: Wavelet | None = None
    propagation: PropagationOptions = field(default_factory=PropagationOptions)
    imaging: ImagingOptions = field(default_factory=ImagingOptions)
    samples: list[SampledShot] = field(default_factory=list)
    modelling: bool = False
    judge_breaks: bool = True
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def velocity(self) -> ModelLike | None:
        """The model when its velocities can be trusted: else rules would only repeat a wrong unit."""
        return None if self.facts.get("_vp_wrong") else self.model

    def has(self, part: str) -> bool:
        """Return whether a part of the context is there and not empty."""
        if part in ("model", "velocity") and self.facts.get("_grid_wrong"):
            # positions, steps and frequencies against it would only repeat that
            return False
        value = getattr(self, part)
        return value is not None and (not isinstance(value, list | dict) or len(value) > 0)


Check = Callable[[Context], Iterator[Finding]]


@dataclass(frozen=True)
class Rule:
    """A check with its subject and the parts of the context it needs."""

    name: str
    subject: str
    needs: tuple[str, ...]
    check: Check


RULES: list[Rule] = []


def rule(subject: str, *needs: str) -> Callable[[Check], Check]:
    """Register a function as a rule of `subject` that needs these parts of the context."""

    def register(check: Check) -> Check:
        RULES.append(Rule(check.__name__.lstrip("_"), subject, needs, check))
        return check

    return register


def run_rules(context: Context, rules: list[Rule]) -> list[Finding]:
    """Return the findings of all rules whose needs are met."""
    out: list[Finding] = []
    for item in rules:
        if all(context.has(part) for part in item.needs):
            out += list(item.check(context))
    return out


def error(code: str, message: str, fix: str, **evidence: object) -> Finding:
    """Return a finding that stops a run."""
    return Finding(code, "error", message, fix, dict(evidence))


def warning(code: str, message: str, fix: str, **evidence: object) -> Finding:
    """Return a finding that is shown."""
    return Finding(code, "warning", message, fix, dict(evidence))


def ok(message: str, **evidence: object) -> Finding:
    """Return a finding of what is in order."""
    return Finding("I000", "ok", message, "", dict(evidence))
