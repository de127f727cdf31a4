"""What the rules find in a job, with the cures as the rules offer them.

To try cures takes a check for each, and a test that pastes a cure into its job checks that itself. With
``SUBSALT_TESTS=all`` they are tried, too. Trials have tests of their own, `tests/job/test_judging.py` and
`test_planted.py`.
"""

from __future__ import annotations

from subsalt.job.base import BaseJob
from subsalt.job.checking import CheckResult, check_job
from subsalt.methods import method_of
from thorough import ALL


def rules_on(job: BaseJob) -> CheckResult:
    """Return the result of a check without trials of cures."""
    return check_job(job) if ALL else method_of(job.method).check(job)
