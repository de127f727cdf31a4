"""An error on its way between ranks: as JSON, and back as the same exception."""

from __future__ import annotations

import builtins
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from subsalt import errors
from subsalt.errors import Finding, FindingsError, ParallelError, SubsaltError

#: rank, host, and what `describe` made of the error there
Failure = tuple[int, str, dict[str, Any]]


def describe(error: BaseException) -> dict[str, Any]:
    """Return an error as JSON can carry it."""
    facts: dict[str, Any] = {
        "type": type(error).__name__,
        "message": str(getattr(error, "message", error)),
        "exit_code": getattr(error, "exit_code", None),
        "agreed": hasattr(error, "agreed_ranks"),
        "trace": "".join(traceback.format_exception(error)),
    }
    if isinstance(error, SubsaltError):
        facts |= {"fix": error.fix, "code": error.code}
    elif isinstance(error, OSError):
        facts |= {"errno": error.errno, "strerror": error.strerror, "filename": _text(error.filename)}
    if isinstance(error, FindingsError):
        facts["findings"] = [asdict(f) | {"evidence": plain(f.evidence)} for f in error.findings]
    return facts


def rebuild(failures: Sequence[Failure], own: BaseException | None, rank: int) -> BaseException:
    """Return the error that all ranks raise: that of the lowest rank that has one.

    Parameters
    ----------
    failures : sequence of (rank, host, dict)
        Errors of all ranks that have one, in the order of ranks.
    own : BaseException or None
        This rank's own error: kept, with its traceback, where it is the one to raise.
    rank : int
        This rank.
    """
    first, host, what = failures[0]
    several = [t for t in failures if "findings" in t[2]]
    if "findings" in what and len(several) > 1:
        error: BaseException = _merged(several)
    elif first == rank and own is not None:
        error = own
    else:
        error = _same(what)
        error.add_note(f"on rank {first} ({host}):\n{what['trace']}")
    if first != 0 and not what["agreed"] and isinstance(error, SubsaltError):
        error.message += f" (rank {first} on {host})"
        error.args = (error.message, *error.args[1:])
    return error


def _same(what: dict[str, Any]) -> BaseException:
    """Return an exception of the same type, message and codes."""
    name, message = what["type"], what["message"]
    kind = getattr(errors, name, None)
    if "findings" in what:
        return _merged([(0, "", what)])
    if isinstance(kind, type) and issubclass(kind, SubsaltError):
        known = kind(message, what["fix"], what["code"])
        known.exit_code = what["exit_code"]
        return known
    if what.get("errno") is not None:
        return OSError(what["errno"], what["strerror"], what["filename"])
    kind = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, BaseException):
        try:
            return kind(message)
        except TypeError:  # some, such as UnicodeDecodeError, want more than a text
            pass
    other = ParallelError(f"{name}: {message}", "see --debug", code=what.get("code", "E714"))
    other.exit_code = 70 if what["exit_code"] is None else what["exit_code"]
    return other


def _merged(failures: Sequence[Failure]) -> FindingsError:
    """Return the findings of several ranks as one error, each said once."""
    findings: list[Finding] = []
    for _, _, what in failures:
        findings += [f for f in (Finding(**x) for x in what["findings"]) if f not in findings]
    return FindingsError(findings, failures[0][2]["exit_code"])


def _text(name: object) -> str | None:
    return None if name is None else str(name)


def plain(value: Any) -> Any:
    """Return a value that JSON can carry."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return str(value)
