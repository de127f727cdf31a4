"""Which strategy a shot takes: the fastest that fits, and why.

Plan and run ask the same function with the same numbers, on every rank, and get the same scheme.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from subsalt.checkpoint.choice.candidates import Candidate, candidates
from subsalt.checkpoint.choice.footprint import Sizes
from subsalt.checkpoint.choice.inputs import ChoiceInputs
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.checkpoint.schedule.tasks import Counts

#: a candidate further down the list must be faster by this part to be taken: disk and recomputing have their risks
WORTH = 0.02


@dataclass(frozen=True)
class Choice:
    """How a shot recovers its source wavefield, and how else it could."""

    #: taken; when nothing fits, the one that needs the least memory
    best: Candidate
    #: all, the best included, in the order in which they are preferred when equal
    alternatives: tuple[Candidate, ...]
    #: one line
    why: str
    #: inputs of the choice, with the memory that the options leave
    inputs: ChoiceInputs

    @property
    def fits(self) -> bool:
        """Whether the best is possible."""
        return not self.best.problem

    @property
    def lacks_device(self) -> bool:
        """Whether the best is not possible for want of memory of the GPU."""
        return not self.fits and self.best.need.device > self.inputs.device

    @property
    def scheme(self) -> Scheme:
        """The scheme of the best."""
        assert self.best.scheme is not None
        return self.best.scheme

    @property
    def counts(self) -> Counts:
        """The counts of the best."""
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


@lru_cache(maxsize=1 << 12)
def choose(sizes: Sizes, inputs: ChoiceInputs) -> Choice:
    """Return the fastest way to do a shot that fits; the same numbers give the same answer everywhere.

    Parameters
    ----------
    sizes : Sizes
        Steps, and bytes of snapshots and states on the rank that has most.
    inputs : ChoiceInputs
        Options, and the memory and speed of a rank.

    Raises
    ------
    ConfigError
        When snapshots in 16 bits are asked for on a GPU.
    """
    inputs = inputs.within(on_device=sizes.on_device)
    judged = tuple(_judged(c, inputs) for c in candidates(sizes, inputs))
    possible = [c for c in judged if not c.problem]
    if not possible:
        least = _least(judged, inputs)
        return Choice(least, judged, f"nothing fits; {least.name} needs the least", inputs)
    fastest = min(c.seconds for c in possible)
    best = next(c for c in possible if c.seconds <= fastest * (1 + WORTH))
    return Choice(best, judged, _why(best, possible, inputs.options), inputs)


def _least(judged: tuple[Candidate, ...], inputs: ChoiceInputs) -> Candidate:
    """Return what was asked for and needs least memory: the plan says by how much it does not fit."""
    real = [c for c in judged if c.scheme]
    wanted = [c for c in real if not _unwanted(c, inputs.options)] or real
    return min(
        wanted,
        key=lambda c: (c.need.disk > inputs.disk, max(0, c.need.device - inputs.device), c.need.memory),
    )


def _judged(candidate: Candidate, inputs: ChoiceInputs) -> Candidate:
    """Return a candidate with its problem."""
    if candidate.problem:
        return candidate
    problem = _unwanted(candidate, inputs.options)
    for what, need, have in (
        ("device memory", candidate.need.device, inputs.device),
        ("memory", candidate.need.memory, inputs.memory),
        ("disk", candidate.need.disk, inputs.disk),
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
    if options.compression == "zfp" and place in ("memory", "device"):
        return 'compression = "zfp" is for what lies on disk'
    if strategy == "boundary" and options.strategy == "auto":
        if options.exact:
            return "right to rounding only: exact = false allows it"
        if options.compression != "none":
            return f'compression = "{options.compression}" is for snapshots and states'
    return ""


def _why(best: Candidate, possible: list[Candidate], options: CheckpointOptions) -> str:
    """Return one line on why `best` was taken."""
    others = [c for c in possible if c is not best]
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
