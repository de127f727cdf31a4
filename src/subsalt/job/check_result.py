"""What the checks of a job return, and what keeps the errors of loading among the findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from subsalt.errors import Finding, FindingsError, SubsaltError

T = TypeVar("T")


@dataclass
class CheckResult:
    """What was found, and what was loaded on the way.

    Parameters
    ----------
    findings : list of Finding
        Everything, what is in order included.
    context : Context or KirchhoffContext
        What the rules looked at, as far as it could be had, with `facts`.
    codes : list of int
        Exit codes of the errors that loading raised, in order.
    """

    findings: list[Finding]
    context: Any
    codes: list[int] = field(default_factory=list)

    @property
    def facts(self) -> dict[str, Any]:
        """Numbers for people and programs."""
        return {k: v for k, v in self.context.facts.items() if not k.startswith("_")}

    @property
    def has_errors(self) -> bool:
        """Whether a run would be refused."""
        return any(f.level == "error" for f in self.findings)

    def exit_code(self, strict: bool = False) -> int:
        """Return 0, or the exit code of the first error: 78 job, 66 missing input, else 65 data."""
        if self.has_errors:
            return self.codes[0] if self.codes else 65
        return 65 if strict and any(f.level == "warning" for f in self.findings) else 0


class Loader:
    """Calls loaders and keeps what they raise as findings."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.codes: list[int] = []

    def __call__(self, load: Callable[[], T]) -> T | None:
        """Return what `load` returns; None when it raised, which is then a finding."""
        try:
            return load()
        except FindingsError as error:
            self.findings += error.findings
            self.codes.append(error.exit_code)
        except SubsaltError as error:
            self.findings.append(Finding(error.code, "error", error.message, error.fix))
            self.codes.append(error.exit_code)
        return None
