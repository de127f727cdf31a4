"""Reading a job of any method: which class of job the content of a file asks for."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.errors import ConfigError, Finding, FindingsError
from subsalt.methods import DEFAULT, METHODS, method_of

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob


def read_job(path: str | Path) -> BaseJob:
    """Read and validate a job file of any method; see `BaseJob.from_toml`."""
    job: BaseJob = method_of(DEFAULT).job_class().from_toml(path)
    return job


def class_of(raw: dict[str, Any], line: int = 0) -> type[BaseJob]:
    """Return the class of job that the content of a file asks for; `line` is where its `method` stands, if anywhere.

    Raises
    ------
    FindingsError
        When there is no such method; exit code 78.
    """
    method = raw.get("method", DEFAULT)
    if isinstance(method, str) and method in METHODS:
        kind: type[BaseJob] = method_of(method).job_class()
        return kind
    known = ", ".join(METHODS)
    close = difflib.get_close_matches(str(method).lower(), METHODS, n=1)
    where = f"method (line {line})" if line else "method"
    finding = Finding(
        "E104",
        "error",
        f"{where}: {method!r} is not one of {known}",
        f"did you mean {close[0]!r}?" if close else f"use one of {known}",
        {"key": "method", "line": line or None},
    )
    raise FindingsError([finding], exit_code=ConfigError.exit_code)


def without_method(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a file for validation: the key of the default method says nothing."""
    return {k: v for k, v in raw.items() if (k, v) != ("method", DEFAULT)}
