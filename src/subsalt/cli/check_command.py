"""`subsalt check`: apply every rule, draw the pictures, print the findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from subsalt.cli import ranks, seen_warnings
from subsalt.cli.output import Out, finding_dict
from subsalt.cli.waiting import waiting
from subsalt.errors import CannotCreateError, DiskError, Finding, SubsaltError
from subsalt.parallel.comm import world

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob
    from subsalt.job.checking import CheckResult


def check(job: BaseJob, out: Out, out_dir: Path | None, draw: bool, strict: bool) -> int:
    """Check a job, draw it, and print the findings; return the exit code."""
    from subsalt.job.checking import check_job
    from subsalt.methods import method_of

    with ranks.together(), waiting("checking", out.as_json or out.quiet):
        result = with_disk(job, check_job(job))
    findings, picture, repairs = list(result.findings), None, None
    draw = draw and not out.mute  # one rank draws for all
    try:
        method, place = method_of(job.method), place_beside(job, out_dir)
        picture = method.draw_map(job, result, place) if draw else None
        repairs = method.draw_repairs(job, result, place) if draw else None
    except CannotCreateError as error:
        # what was found matters more than its picture
        cure = "choose a folder for the map with --out, or leave it out with --no-map"
        findings.append(Finding(error.code, "error", error.message, cure))
    out.findings(findings)
    if draw and out_dir is None and not out.quiet:
        seen_warnings.remember(job, findings)
    errors = sum(f.level == "error" for f in findings)
    warnings = sum(f.level == "warning" for f in findings)
    unchecked = sum(f.level == "unchecked" for f in findings)
    if picture is not None:
        out.row("map", str(picture))
    if repairs is not None:
        out.row("", f"{repairs} (symmetry axis, and what is repaired)")
    out.say(
        f"{errors} error{'s' * (errors != 1)}, {warnings} warning{'s' * (warnings != 1)}"
        + f", {unchecked} not checked" * (unchecked > 0)
        + ". nothing was started."
    )
    out.hint(findings)
    out.json(
        {
            "errors": errors,
            "warnings": warnings,
            "not_checked": unchecked,
            "map": picture,
            "anisotropy_map": repairs,
            "facts": result.facts,
            "findings": [finding_dict(f) for f in findings],
        }
    )
    return result.exit_code(strict) or (CannotCreateError.exit_code if errors else 0)


def with_disk(job: BaseJob, result: CheckResult) -> CheckResult:
    """Return what a check found, and the error of a disk that is too small for a run in the default directory.

    Notes
    -----
    A run looks at the disk of its own directory, which `--run` can name; so this is no rule of the job. The room is
    that of the plan, on one rank: ranks that are started together plan theirs right after the check.
    """
    from subsalt.plan.planning import plan_job

    if result.has_errors or job.data is None or world().size > 1:
        return result
    try:
        error = plan_job(job).error
    except SubsaltError:
        # what cannot be planned is said by `subsalt plan`, and by the run
        return result
    if not isinstance(error, DiskError):
        return result
    refusal = Finding(error.code, "error", error.message, error.fix)
    return replace(result, findings=[*result.findings, refusal], codes=[*result.codes, error.exit_code])


def place_beside(job: BaseJob, folder: Path | None) -> Callable[[str], Path]:
    """Return a function that makes the folder of the pictures, by default ``JOB.check``, and names a file in it."""
    from subsalt.io.publish import make_folder

    return lambda name: make_folder(folder if folder is not None else seen_warnings.folder_of(job)) / name
