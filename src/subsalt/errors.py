"""Exceptions of the package, the findings of checks, and the exit codes of the command.

An error states the problem with the names and values that matter (`message`), then the cure (`fix`), and carries a
stable `code`, explained in `messages.toml`. Every class also derives from the natural builtin, so that
``except ValueError`` works for callers who do not know subsalt.

What other distributions add to the program by entry points: the lab brings commands, messages, and a counter of MPI
calls. Nothing of them is imported before it is asked for.

What the code of every error and warning means and how to fix it (`subsalt explain CODE`).

The texts are data, in ``messages.toml`` beside this module, and in the files that other installed packages name by
the entry point ``subsalt.messages``. They are read when the first code is looked up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

TEXTS = Path(__file__).with_name("messages.toml")


@dataclass(frozen=True)
class Entry:
    """One code with its texts.

    Parameters
    ----------
    code : str
        ``E...`` for errors, ``W...`` for warnings.
    title, meaning, cure : str
        What it is called, what it means, how to fix it.
    """

    code: str
    title: str
    meaning: str
    cure: str

    @property
    def level(self) -> str:
        """``"error"`` or ``"warning"``."""
        return "error" if self.code.startswith("E") else "warning"


@cache
def entries() -> dict[str, Entry]:
    """Return all entries by code, sorted by number."""
    import tomllib

    files = [TEXTS, *extensions(MESSAGES).values()]
    tables = {
        code: t for file in files for code, t in tomllib.loads(file.read_text(encoding="utf-8")).items()
    }
    # a text is one paragraph: its line breaks are spaces
    return {
        code: Entry(code, **{k: " ".join(v.split()) for k, v in tables[code].items()})
        for code in sorted(tables, key=lambda c: (c[1:], c[0]))
    }


def lookup(code: str) -> Entry | None:
    """Return the entry of a code, None when there is none; case does not matter."""
    return entries().get(code.strip().upper())


def suggest(text: str) -> str:
    """Return a cure for a code that does not exist."""
    import difflib

    close = difflib.get_close_matches(text.upper(), list(entries()), n=3)
    if close:
        return f"did you mean {', '.join(close)}?"
    return "codes look like E412; keys like imaging.aperture"


Level = Literal["error", "warning", "unchecked", "ok"]


def install(extra: str) -> str:
    """Return the command that installs an optional part of the package, as published and from a clone."""
    return f"pip install 'subsalt-imaging[{extra}]', or in a clone pip install -e '.[{extra}]'"


class SubsaltError(Exception):
    """Base of every error raised on purpose.

    Parameters
    ----------
    message : str
        What is wrong, with names and values.
    fix : str, optional
        How to mend it, in one line.
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
        Its time step or sample.
    reason : str
        What is wrong with it.
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
        One line: how to mend it.
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
        """The fix as it is printed: of a long list of traces the beginning, since ``--json`` has it whole."""
        short = _LONG_LIST.sub(r'\1..."', self.fix)
        return short if short == self.fix else f"{short} (--json has the whole list)"


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
    found = list(findings)
    if any(f.level == "error" or (strict and f.level != "ok") for f in found):
        raise FindingsError(found)
    return found


#: groups of entry points: sub-commands, files of messages, and the class that counts the MPI calls of a process
COMMANDS, MESSAGES, MPI_PROFILE = "subsalt.commands", "subsalt.messages", "subsalt.mpi_profile"


def extensions(group: str) -> dict[str, Any]:
    """Return what is installed of a group, by name."""
    from importlib.metadata import entry_points

    return {point.name: point.load() for point in entry_points(group=group)}


def lab_missing(what: str) -> DeviceError:
    """Return the error of asking for a part of the lab where it is not installed."""
    return DeviceError(
        f"{what} is part of the package subsalt-lab, which is not installed",
        "pip install subsalt-lab, or in a clone pip install -e packages/lab",
        code="E904",
    )
