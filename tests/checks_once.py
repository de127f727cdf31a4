"""Checks of jobs that are the same, with files that are the same, in the tests of one process: the first one is kept.

A third of what a small run takes is its check. Tests of what a run does afterwards need its findings, not its work: a
folder of such tests has `checks_once` in its ``conftest.py``.
"""

from __future__ import annotations

import os

import pytest

from subsalt.errors import SubsaltError
from subsalt.job import checking
from subsalt.job.base import BaseJob

#: what was found, by all that stands in a job, its folder, and size, time and number of every file that it names
_FOUND: dict[object, checking.CheckResult] = {}
#: more would only be kept, not met again
MOST = 64


def _what(job: BaseJob) -> object:
    files = [p for some in job.input_files().values() for p in some]
    stats = [(str(p), s.st_size, s.st_mtime_ns, s.st_ino) for p in files for s in [p.stat()]]
    variables = sorted((k, v) for k, v in os.environ.items() if k.startswith(("SUBSALT_", "OMP_", "XDG_")))
    return job.method, job.resolved_toml(), str(job.base), repr(job.run_place), repr(stats), repr(variables)


@pytest.fixture(autouse=True)
def checks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a job that was checked before be found as it was."""
    rules = checking._untried

    def untried(job: BaseJob) -> checking.CheckResult:
        if job.knows("findings"):
            return rules(job)
        try:
            what = _what(job)
        except (SubsaltError, OSError):
            return rules(job)
        if what not in _FOUND:
            if len(_FOUND) >= MOST:
                del _FOUND[next(iter(_FOUND))]
            _FOUND[what] = rules(job)
        return _FOUND[what]

    monkeypatch.setattr(checking, "_untried", untried)
