"""The check of a job in a run of several ranks: rank 0 applies the rules, all go through the model for it.

The other ranks wait for what rank 0 asks of all: their share of a pass over the files, or to open the model together.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

from subsalt import check
from subsalt.check.context import PartSummary, combine, summarise_part
from subsalt.earth.planes import Planes
from subsalt.errors import Finding, SubsaltError
from subsalt.job.checking import CheckResult
from subsalt.job.load import load_parameters
from subsalt.job.opening import share_headers
from subsalt.parallel.comm import Comm
from subsalt.parallel.relay import plain

if TYPE_CHECKING:
    from subsalt.earth.model_like import ModelLike
    from subsalt.job.job import Job


class Alone:
    """Goes through the model of a job for the rules, on this process alone."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def parameters(self) -> dict[str, check.Parameter]:
        """Return the parameters of the model, summarised when somebody asks."""
        given: dict[str, check.Parameter] = self.job.remember("parameters", lambda: load_parameters(self.job))
        return given

    def model(self) -> ModelLike:
        """Return the model."""
        return self.job.open_model()


def on_ranks(job: Job, comm: Comm, rules: Callable[[Job, Alone], CheckResult]) -> CheckResult:
    """Return what `rules` find on rank 0, on all ranks; collective.

    Parameters
    ----------
    rules : callable
        Goes through the model by what it is given.

    Returns
    -------
    CheckResult
        On rank 0 with everything that was loaded on the way; elsewhere the findings alone.
    """
    if not comm.is_root:
        while isinstance(asked := comm.bcast(), str):
            # rank 0 has it too, and makes a finding of it
            with suppress(SubsaltError):
                ASKED[asked](job, comm)
        findings = [Finding(**f) for f in asked["findings"]]
        return CheckResult(findings, check.Context(), asked["codes"])
    told: dict[str, list[object]] = {"findings": [], "codes": []}
    try:
        result = rules(job, _Together(job, comm))
        told["findings"] = [asdict(f) | {"evidence": plain(f.evidence)} for f in result.findings]
        told["codes"] = list(result.codes)
    finally:
        # also when a rule breaks: the others must not wait for more
        comm.bcast(told)
    return result


class _Together(Alone):
    """Goes through the model with all ranks; used on rank 0."""

    def __init__(self, job: Job, comm: Comm) -> None:
        super().__init__(job)
        self.comm = comm

    def parameters(self) -> dict[str, check.Parameter]:
        """Return the parameters of the model, summarised."""
        self.comm.bcast("summaries")
        return _summaries(self.job, self.comm)

    def model(self) -> ModelLike:
        """Return the model, opened on all ranks."""
        self.comm.bcast("model")
        return _model(self.job, self.comm)


def _summaries(job: Job, comm: Comm) -> dict[str, check.Parameter]:
    """Return the parameters of the model; on rank 0 with the summaries of their files, a share from every rank."""
    parts: dict[str, PartSummary] = {}
    share_headers(job, comm)
    with comm.together():
        given: dict[str, check.Parameter] = job.remember("parameters", lambda: load_parameters(job))
        for name, p in given.items():
            if isinstance(p.values, Planes):
                n = len(p.values)
                parts[name] = summarise_part(
                    p.values, n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
                )
    for name, own in parts.items():
        told = comm.gather([own.bad, own.first_bad, own.low, own.high])
        samples = comm.gather_array(own.sample)
        if told is not None and samples is not None:
            whole = [
                PartSummary(bad, None if first is None else tuple(first), low, high, sample)
                for (bad, first, low, high), sample in zip(told, samples, strict=True)
            ]
            given[name].summary = combine(given[name].volume.size, whole)
    return given


def _model(job: Job, comm: Comm) -> ModelLike:
    return job.open_model()


#: what rank 0 may ask of all ranks
ASKED: dict[str, Callable[[Job, Comm], object]] = {"summaries": _summaries, "model": _model}
