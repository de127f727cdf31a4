"""Which strategy a shot takes: the fastest that fits, and why.

Pure arithmetic on sizes, limits and rates. Plan and run ask the same function with the same numbers, on every rank, and
get the same scheme.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from subsalt.checkpoint.choice.candidates import candidates
from subsalt.checkpoint.choice.costs import Candidate, Limits, Rates
from subsalt.checkpoint.choice.sizes import Sizes
from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.checkpoint.schedule.tasks import Counts
from subsalt.propagation.options import CheckpointOptions

__all__ = ["Candidate", "Choice", "Limits", "Rates", "choose"]

#: a candidate further down the list must be faster by this part to be taken: disk and recomputing have their risks
WORTH = 0.02


@dataclass(frozen=True)
class Choice:
    """What a shot does, and what else it could.

    Parameters
    ----------
    best : Candidate
        Taken; when nothing fits, the one that needs the least memory.
    alternatives : list of Candidate
        All, the best included, in the order in which they are preferred when equal.
    why : str
        One line.
    limits : Limits
        What there is.
    """

    best: Candidate
    alternatives: list[Candidate]
    why: str
    limits: Limits

    @property
    def fits(self) -> bool:
        """Whether the best is possible."""
        return not self.best.problem

    @property
    def lacks_device(self) -> bool:
        """Whether the best is not possible for want of memory of the GPU."""
        return not self.fits and self.best.need.device > self.limits.device

    @property
    def scheme(self) -> Scheme:
        """Of the best."""
        assert self.best.scheme is not None
        return self.best.scheme

    @property
    def counts(self) -> Counts:
        """Of the best."""
        assert self.best.counts is not None
        return self.best.counts

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "strategy": self.best.name,
            "why": self.why,
            "taken": self.best.to_dict(),
            "alternatives": [c.to_dict() for c in self.alternatives],
        }


def choose(options: CheckpointOptions, sizes: Sizes, limits: Limits, rates: Rates) -> Choice:
    """Return the fastest way to do a shot that fits; the same numbers give the same answer everywhere.

    Parameters
    ----------
    options : CheckpointOptions
        What is asked for.
    sizes : Sizes
        Steps, and bytes of snapshots and states on the rank that has most.
    limits : Limits
        Of a rank.
    rates : Rates
        Of a rank.
    """
    if options.memory is not None:
        limits = replace(limits, memory=min(limits.memory, options.memory))
    if options.device_memory is not None:
        limits = replace(limits, device=min(limits.device, options.device_memory))
    if options.place == "device" and not sizes.on_device:
        # the same job on a processor: its memory is that of the host
        options = replace(options, place="memory")
    found = [_judged(c, options, limits) for c in candidates(options, sizes, limits, rates)]
    possible = [c for c in found if not c.problem]
    if not possible:
        # what was asked for and needs least memory: the plan says by how much it does not fit
        wanted = [c for c in found if c.scheme and not _unwanted(c, options)] or [
            c for c in found if c.scheme
        ]
        least = min(
            wanted,
            key=lambda c: (c.need.disk > limits.disk, max(0, c.need.device - limits.device), c.need.memory),
        )
        return Choice(least, found, f"nothing fits; {least.name} needs the least", limits)
    fastest = min(c.seconds for c in possible)
    best = next(c for c in possible if c.seconds <= fastest * (1 + WORTH))
    return Choice(best, found, _why(best, found, options), limits)


def _judged(candidate: Candidate, options: CheckpointOptions, limits: Limits) -> Candidate:
    """Return a candidate with its problem."""
    if candidate.problem:
        return candidate
    problem = _unwanted(candidate, options)
    for what, need, have in (
        ("device memory", candidate.need.device, limits.device),
        ("memory", candidate.need.memory, limits.memory),
        ("disk", candidate.need.disk, limits.disk),
    ):
        if not problem and need > have:
            problem = (
                f"needs {_size(need)} of {what}, {_size(have)} are there: {_size(need - have)} too little"
            )
    return replace(candidate, problem=problem)


def _unwanted(candidate: Candidate, options: CheckpointOptions) -> str:
    """Return which option speaks against a candidate."""
    strategy, place = candidate.name.split(", ")
    if options.strategy not in ("auto", strategy):
        return f'strategy = "{options.strategy}"'
    if options.place not in ("auto", place):
        return f'place = "{options.place}"'
    if options.compression != "none" and place in ("memory", "device"):
        return f'compression = "{options.compression}" is for what lies on disk'
    if strategy == "boundary" and options.strategy == "auto":
        if options.exact:
            return "right to rounding only: exact = false allows it"
        if options.compression != "none":
            return f'compression = "{options.compression}" is for snapshots and states'
    return ""


def _why(best: Candidate, found: list[Candidate], options: CheckpointOptions) -> str:
    """Return one line on why `best` was taken."""
    others = [c for c in found if c is not best and c.scheme and not c.problem]
    if not others:
        return "as asked for" if options.strategy != "auto" else "the only one that fits"
    next_best = min(others, key=lambda c: c.seconds)
    ratio = next_best.seconds / best.seconds if best.seconds else 1.0
    if ratio < 1 + WORTH:
        return f"as fast as {next_best.name}, and simpler"
    return f"predicted {ratio:.2f} times as fast as {next_best.name}"


def _size(count: int) -> str:
    """Return bytes for people."""
    return f"{count / 1e9:.2f} GB" if count >= 1e8 else f"{count / 1e6:.2f} MB"
