"""Warnings that a check of the same job has printed: a run counts them instead of printing them again.

`check` writes them to ``JOB.check/warnings.json``, next to its map. A warning counts as seen when its code and its
message, with all its numbers, are those that were printed, wherever its files lie; what has changed since is printed in
full. Without the file, or with a damaged one, every warning is printed.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from subsalt.errors import Finding, ResourceError

if TYPE_CHECKING:
    from subsalt.cli.output import Out
    from subsalt.job.base import BaseJob

NAME = "warnings.json"


def folder_of(job: BaseJob) -> Path:
    """Return the folder in which `check` writes its pictures by default."""
    return job.base / f"{job.name}.check"


def remember(job: BaseJob, findings: Iterable[Finding]) -> None:
    """Write down the warnings that were printed; a folder that cannot be written to is no error."""
    from subsalt.io.publish import publish_text

    folder = folder_of(job)
    printed = [mark(f) for f in findings if f.level == "warning"]
    with contextlib.suppress(ResourceError, OSError):
        if folder.is_dir() and not folder.is_symlink():
            publish_text(folder / NAME, json.dumps({"printed": printed}, indent=1) + "\n")


def mark(finding: Finding) -> tuple[str, str]:
    """Return code and message of a finding, its files without folders: a resumed run names them by whole paths."""
    return finding.code, re.sub(r"\S*/", "", finding.message)


def seen(job: BaseJob) -> set[tuple[str, str]]:
    """Return the marks of the warnings that the last check of a job printed."""
    from subsalt.io.regular_files import read_json

    try:
        printed = read_json(folder_of(job) / NAME)["printed"]
        return {(code, message) for code, message in printed}
    except (OSError, ValueError, TypeError, KeyError):
        return set()


def show_new(job: BaseJob, findings: Iterable[Finding], out: Out) -> None:
    """Print the warnings that no check of this job has printed, and how many it has."""
    warnings = [f for f in findings if f.level == "warning"]
    before = set() if out.verbose else seen(job)
    new = [f for f in warnings if mark(f) not in before]
    out.findings(new)
    say_untried(job, new, out)
    if count := len(warnings) - len(new):
        where = f": {_command(job)}" if _command(job) else ""
        out.note(f"{count} warning{'s' * (count > 1)}, as in check{where}")


def say_untried(job: BaseJob, findings: Iterable[Finding], out: Out) -> None:
    """Print where the cures of warnings are tried, when they were not."""
    from subsalt.job.judging import untried

    if untried(job, findings):
        out.note(
            f"these cures were not tried: {_command(job) or 'subsalt check'} tries each before it shows it"
        )


def _command(job: BaseJob) -> str:
    """Return the command that checks a job; empty where its file is gone."""
    return f"subsalt check {job.path}" if job.path is not None and job.path.is_file() else ""
