"""The check of a job of least-squares migration: the rules of a migration, and what an exact adjoint asks for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from subsalt.errors import ConfigError, Finding, SubsaltError
from subsalt.methods.lsrtm.flow import ModelledFlow
from subsalt.methods.lsrtm.grids import refuse_other_grid
from subsalt.methods.rtm.check import check_rtm
from subsalt.parallel.comm import world

if TYPE_CHECKING:
    from subsalt.job.checking import CheckResult
    from subsalt.methods.lsrtm.job import LeastSquaresJob


def check_least_squares(job: LeastSquaresJob) -> CheckResult:
    """Apply the rules of reverse time migration, and look at the steps of `[[signal]]`, mask and start; collective."""
    result = check_rtm(job)
    comm = world()
    findings: list[Finding] = []
    with comm.together():
        if comm.is_root and not result.has_errors:
            for look in (lambda: ModelledFlow.of(job.load_survey()), lambda: refuse_other_grid(job)):
                try:
                    look()
                except SubsaltError as error:
                    findings.append(Finding(error.code, "error", error.message, error.fix))
    said = comm.bcast([vars(f) for f in findings])
    added = [Finding(**f) for f in said]
    codes = [*result.codes, *[ConfigError.exit_code] * len(added)]
    return replace(result, findings=[*result.findings, *added], codes=codes)
