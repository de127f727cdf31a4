"""The check of a job of least-squares migration: the rules of a migration, what an exact adjoint asks for, and
the memory of a step.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from subsalt.errors import Finding, SubsaltError
from subsalt.inversion.draws import refuse_large_subset
from subsalt.methods.lsrtm.comparing import compared
from subsalt.methods.lsrtm.flow import ModelledFlow
from subsalt.methods.lsrtm.grids import refuse_unfit_files
from subsalt.methods.lsrtm.noise import noise_of_job
from subsalt.methods.lsrtm.step_memory import refuse_large_step
from subsalt.methods.rtm.check import check_rtm
from subsalt.parallel.comm import world

if TYPE_CHECKING:
    from subsalt.job.checking import CheckResult
    from subsalt.methods.lsrtm.job import LeastSquaresJob


def check_least_squares(job: LeastSquaresJob) -> CheckResult:
    """Apply the rules of reverse time migration, and look at steps, mask, start and memory of a step; collective."""
    result = check_rtm(job)
    comm = world()
    findings: list[Finding] = []
    codes: list[int] = []
    with comm.together():
        if comm.is_root and not result.has_errors:
            looks = (
                lambda: noise_of_job(job, ModelledFlow.of(job.load_survey())),
                lambda: refuse_unfit_files(job),
                lambda: _refuse_large_subset(job),
                lambda: compared(job.load_survey(), job.inversion.compare_shots),
                lambda: refuse_large_step(job.open_propagation_model().grid),
            )
            for look in looks:
                try:
                    look()
                except SubsaltError as error:
                    findings.append(Finding(error.code, "error", error.message, error.fix))
                    codes.append(error.exit_code)
    said = comm.bcast(([vars(f) for f in findings], codes))
    added = [Finding(**f) for f in said[0]]
    return replace(result, findings=[*result.findings, *added], codes=[*result.codes, *said[1]])


def _refuse_large_subset(job: LeastSquaresJob) -> None:
    """Raise when an iteration would draw more shots than there are (E104)."""
    subset = job.inversion.subset
    if subset != "all":
        refuse_large_subset(subset, len(job.load_survey().shots))
