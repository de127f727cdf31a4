"""What rules look at, and the registry they stand in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey
from subsalt.acquisition.wavelet import Wavelet
from subsalt.earth.model_like import ModelLike
from subsalt.earth.parameter import Parameter
from subsalt.errors import Finding
from subsalt.propagation.options import ImagingOptions, PropagationOptions


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
