"""The check of a job of any method: its result, and the loader that turns errors into findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeVar

from subsalt.errors import Finding, FindingsError, SubsaltError
from subsalt.io.segy.exclude import short_names
from subsalt.job.cures import for_list_of_steps
from subsalt.job.judging import judged
from subsalt.methods import method_of
from subsalt.parallel.comm import world

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob

T = TypeVar("T")


@dataclass
class CheckResult:
    """The findings of a check, and the objects that it loaded.

    Parameters
    ----------
    findings : list of Finding
        All findings, including those that confirm that something is in order.
    context : Context or KirchhoffContext
        Objects that the rules examined, as far as they could be loaded, with `facts`.
    codes : list of int
        Exit codes of the errors that loading raised, in order.
    """

    findings: list[Finding]
    context: Any
    codes: list[int] = field(default_factory=list)

    @property
    def facts(self) -> dict[str, Any]:
        """Facts of the checked job, for the page and for ``--json``."""
        return {k: v for k, v in self.context.facts.items() if not k.startswith("_")}

    @property
    def has_errors(self) -> bool:
        """Whether a run would be refused."""
        return any(f.level == "error" for f in self.findings)

    def refuses(self, strict: bool = False) -> bool:
        """Whether a run would be refused; when `strict`, for warnings and what could not be checked, too."""
        return self.has_errors or (strict and any(f.level != "ok" for f in self.findings))

    def exit_code(self, strict: bool = False) -> int:
        """Return 0, or the exit code of the first error: 78 job, 66 missing input, else 65 data."""
        if self.has_errors:
            return self.codes[0] if self.codes else 65
        return 65 if self.refuses(strict) else 0


def check_job(job: BaseJob) -> CheckResult:
    """Apply every rule to a job of any method; the result is kept with the job until it forgets what was read.

    Notes
    -----
    Reads the models, all trace headers, and some traces. In a run of several ranks the call is collective: rank 0
    applies the rules, and all return the same findings. Cures are tried where one process runs.
    """

    def tried() -> CheckResult:
        result, check = _untried(job), method_of(job.method).check
        if world().size == 1:
            findings = judged(job, result.findings, lambda other: list(check(other).findings))
            result = replace(result, findings=findings)
        return _for_steps(job, result)

    result: CheckResult = job.remember("check", tried)
    return result


def check_before_run(job: BaseJob, strict: bool = False) -> CheckResult:
    """Apply every rule to a job that is to run; cures are tried only where the run is refused.

    A run that goes on does not wait for trials of cures, which take many times as long as the check. Collective like
    `check_job`.

    Parameters
    ----------
    job : BaseJob
        The job.
    strict : bool
        Whether warnings, and what could not be checked, refuse the run, too.
    """
    if job.knows("check"):
        return check_job(job)
    result = _untried(job)
    return check_job(job) if result.refuses(strict) else _for_steps(job, result)


def _untried(job: BaseJob) -> CheckResult:
    """Return what the rules of the method of a job find, cures untried; kept with the job."""
    result: CheckResult = job.remember("findings", lambda: method_of(job.method).check(job))
    return result


def _for_steps(job: BaseJob, result: CheckResult) -> CheckResult:
    """Return a result whose cures are written as the steps of its job are."""
    if not job.steps_in_list:
        return result
    return replace(result, findings=[replace(f, fix=for_list_of_steps(f.fix)) for f in result.findings])


#: findings that a single file does not cause: its own headers leave traces out, the job describes all files, or the
#: model may explain the first breaks
NOT_FILE_SPECIFIC = {"W230", "W231", "W241", "W358"}


def with_files_left_out(findings: list[Finding], job: BaseJob) -> list[Finding]:
    """Return the findings; a finding about one file of several gets a further cure that leaves this file out."""
    from subsalt.job.inputs import data_files

    try:
        paths = [str(p) for p in data_files(job)]
    except SubsaltError:
        return findings
    if len(paths) < 2:
        return findings
    short, given = short_names(paths), [str(e) for e in job.data.excluded()]
    out = []
    for f in findings:
        named = _named_in(f.message, paths)
        alone = len(named) == 1 and not f.evidence.get("more_files") and "more files" not in f.message
        if f.is_fault and alone and f.code not in NOT_FILE_SPECIFIC and "exclude" not in f.fix:
            key = ", ".join([*given, f'{{file = "{short[named[0]]}"}}'])
            f = replace(f, fix=f"{f.fix}{'; ' * bool(f.fix)}to leave the file out: [data] exclude = [{key}]")
        out.append(f)
    return out


def _named_in(message: str, paths: list[str]) -> list[str]:
    """Return the files that a message names, each by its path or the end of it."""
    known = {PurePath(p).parts for p in paths}
    names = {parts[-1] for parts in known}
    words = {PurePath(w.rstrip(":;,.)")).parts for w in message.split()}
    words = {w for w in words if w and w[-1] in names}
    return [p for p in paths if any(_ends_alike(PurePath(p).parts, w) for w in words)]


def _ends_alike(path: tuple[str, ...], word: tuple[str, ...]) -> bool:
    """Return whether one of two paths is the end of the other."""
    n = min(len(path), len(word))
    return path[-n:] == word[-n:]


class Loader:
    """Calls loaders and turns their errors into findings."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.codes: list[int] = []

    def __call__(self, load: Callable[[], T]) -> T | None:
        """Return the result of `load`; None when it raised, which becomes a finding."""
        try:
            return load()
        except FindingsError as error:
            self.findings += error.findings
            self.codes.append(error.exit_code)
        except SubsaltError as error:
            self.findings.append(Finding(error.code, "error", error.message, error.fix))
            self.codes.append(error.exit_code)
        return None
