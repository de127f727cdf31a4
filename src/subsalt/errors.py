"""Exceptions of the package, the findings of checks, and the exit codes of the command.

An error states the problem with the names and values that matter (`message`), then the cure (`fix`), and carries a
stable `code`, explained in `messages.toml`. Every class also derives from the natural builtin, so that
``except ValueError`` works for callers who do not know subsalt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Level = Literal["error", "warning", "unchecked", "ok"]


def install(extra: str) -> str:
    """Return the command that installs an optional part of the package, which is on no index yet."""
    if Path(__file__).parents[2].joinpath("pyproject.toml").is_file():
        return f"in the clone: pip install -e '.[{extra}]'"
    return (
        f"pip install 'subsalt-imaging[{extra}]'"  # installed from a wheel: pip fetches what the extra adds
    )


class SubsaltError(Exception):
    """Base of every error raised on purpose.

    Parameters
    ----------
    message : str
        The problem, with names and values.
    fix : str, optional
        How to correct it, in one line.
    code : str, optional
        Stable identifier such as ``"E412"``.
    """

    exit_code = 70
    default_code = "E001"

    def __init__(self, message: str, fix: str = "", code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.code = code or self.default_code

    def __str__(self) -> str:
        return f"{self.message}; {self.fix}" if self.fix else self.message


class ConfigError(SubsaltError, ValueError):
    """The job file or an option is wrong."""

    exit_code = 78
    default_code = "E100"


class UnknownOptionError(ConfigError, TypeError):
    """A function has no argument of this name."""


class DataError(SubsaltError, ValueError):
    """Input data are wrong."""

    exit_code = 65
    default_code = "E200"


class SegyError(DataError):
    """A SEG-Y or SU file cannot be read as such."""

    default_code = "E210"


class GeometryError(DataError):
    """Sources and receivers do not make sense, alone or on the model."""

    default_code = "E300"


class ModelError(DataError):
    """A model volume is wrong: values, units, or its grid."""

    default_code = "E400"


class MissingInputError(SubsaltError, FileNotFoundError):
    """An input file is not there."""

    exit_code = 66
    default_code = "E110"


class StabilityError(DataError):
    """The time step or the medium makes the scheme unstable."""

    default_code = "E500"


class ResourceError(SubsaltError, OSError):
    """Memory, disk or a device does not suffice."""

    exit_code = 74
    default_code = "E600"


class MemoryPlanError(ResourceError, MemoryError):
    """The job does not fit into memory."""

    exit_code = 69
    default_code = "E610"


@dataclass(frozen=True)
class Change:
    """One change to a job or its ranks, and the bytes of the rank that takes most after it, beside those it has."""

    text: str
    need: int
    limit: int

    @property
    def fits(self) -> bool:
        """Whether the rank has the memory after it."""
        return self.need <= self.limit

    @classmethod
    def more_memory(cls, amount: str, need: int) -> Change:
        """Return the change that is always left: `amount` of memory for every rank."""
        text = f"give every rank at least {amount}: fewer ranks on a node, or a larger one"
        return cls(text, need, need)


class DiskError(ResourceError):
    """A file or folder cannot be written, or the disk is full."""

    default_code = "E620"


class CannotCreateError(ResourceError):
    """An output file or folder cannot be created."""

    exit_code = 73
    default_code = "E630"


class CorruptionError(ResourceError):
    """A file of a run directory fails its checksum."""

    default_code = "E640"


class SnapshotDamaged(CorruptionError):
    """A snapshot or state in scratch is not what was stored: missing, cut short, changed, or another one.

    Parameters
    ----------
    key : int
        Time step or sample that it should hold.
    reason : str
        The damage, in words.
    fix : str
        The cure.
    """

    default_code = "E650"

    def __init__(self, key: int, reason: str, fix: str = "what is damaged is computed again") -> None:
        super().__init__(f"snapshot {key}: {reason}", fix)
        self.key, self.reason = key, reason


class DeviceError(SubsaltError, RuntimeError):
    """The asked-for device or instruction set is not available."""

    exit_code = 69
    default_code = "E700"


class ParallelError(SubsaltError, RuntimeError):
    """MPI is not usable as it was started, or a rank of it was lost."""

    exit_code = 69
    default_code = "E711"


class NumericalFailure(SubsaltError, ArithmeticError):
    """The wavefield became non-finite or grew without bound."""

    exit_code = 65
    default_code = "E510"


class DemoFailure(SubsaltError, AssertionError):
    """The demo's image is not right: this build of the program computes wrongly on this machine."""

    default_code = "E812"


#: a text of more numbers and ranges than anybody reads
_LONG_LIST = re.compile(r'("[\d, -]{80,120},)[\d, -]{80,}"')
#: an array of numbers of which a reader needs the first few: eight or more
_LONG_ARRAY = re.compile(r"\[(\d+(?:, \d+){4})((?:, \d+){3,})\]")


@dataclass(frozen=True)
class Finding:
    """One result of a check: what, the evidence, and the cure.

    Parameters
    ----------
    code : str
        ``E...`` for errors, ``W...`` for warnings, ``I...`` for what was found in order, or could not be looked at.
    level : {"error", "warning", "unchecked", "ok"}
        Errors stop a run; warnings, and what could not be checked, never do (unless ``--strict``). ``ok`` says that
        something was looked at and agrees.
    message : str
        One line: what was found, with names and values.
    fix : str
        How to correct it, in one line.
    evidence : dict
        Numbers behind the message, for ``--json``.
    """

    code: str
    level: Level
    message: str
    fix: str = ""
    evidence: dict[str, object] = field(default_factory=dict)

    @property
    def is_fault(self) -> bool:
        """Whether it is an error or a warning."""
        return self.level in ("error", "warning")

    @property
    def short_fix(self) -> str:
        """The fix as it is printed: the beginning of a long list of traces, which ``--json`` prints whole."""
        short = _LONG_ARRAY.sub(
            lambda m: f"[{m[1]}, ... {m[1].count(',') + 1 + m[2].count(',')} numbers]",
            _LONG_LIST.sub(r'\1..."', self.fix),
        )
        return short if short == self.fix else f"{short} (-v and --json print the whole list)"


class FindingsError(DataError):
    """Several findings at once; the exit code is the one of the first error's class.

    Parameters
    ----------
    findings : sequence of Finding
        All findings, warnings included.
    """

    def __init__(self, findings: Sequence[Finding], exit_code: int | None = None) -> None:
        self.findings = list(findings)
        bad = [f for f in self.findings if f.level == "error"]
        super().__init__(
            "; ".join(f"{f.code} {f.message}" for f in bad) or "no error", code=bad[0].code if bad else "E001"
        )
        self.fix = bad[0].fix if len(bad) == 1 else ""
        self.exit_code = exit_code if exit_code is not None else 65


class GeometryFindings(FindingsError, GeometryError):
    """Several findings on sources and receivers at once."""


def raise_on_errors(findings: Iterable[Finding], strict: bool = False) -> list[Finding]:
    """Raise `FindingsError` when a finding is an error; return the findings otherwise.

    Parameters
    ----------
    findings : iterable of Finding
        Results of checks.
    strict : bool
        Treat warnings, and what could not be checked, as errors.
    """
    listed = list(findings)
    if any(f.level == "error" or (strict and f.level != "ok") for f in listed):
        raise FindingsError(listed)
    return listed


def processor_too_old(missing: Sequence[str]) -> DeviceError:
    """Return the error of a processor that lacks these instructions."""
    return DeviceError(
        f"this processor lacks {', '.join(missing)}, which subsalt and NumPy need (x86-64-v2)",
        "in a virtual machine, let it show the processor of its host (QEMU: -cpu host); else use a newer machine",
        code="E707",
    )


def lab_missing(what: str) -> DeviceError:
    """Return the error of asking for a part of the lab where it is not installed."""
    return DeviceError(
        f"{what} is part of the package subsalt-lab, which is not installed",
        "in the clone: pip install -e packages/lab; elsewhere install its wheel",
        code="E904",
    )
