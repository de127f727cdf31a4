"""The job of a run directory, with which `resume`, `reimage` and `play` begin."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from subsalt.errors import ConfigError, CorruptionError, FindingsError, MissingInputError
from subsalt.io import own
from subsalt.io.run_folder import own_run
from subsalt.job.base import BaseJob, class_of
from subsalt.run.identity import differences, place_of
from subsalt.run.settings import resolved_of, settings_of

RESOLVED = "job.resolved.toml"


def job_of_run(folder: Path, say: Callable[[str], None] = lambda text: None) -> BaseJob:
    """Return the job of a run directory, as it was resolved when the run began.

    The job is in the ledger, which has a checksum; job.resolved.toml is a copy for people. Ledgers of versions before
    0.9 hold no job: then the file is used, as far as it agrees with the facts of the job in the ledger.

    File names are relative to the folder of the job file, which the ledger records. For a run that was moved together
    with its job they are relative to the new folder, for one of an older version to the folder around the run
    directory.

    Parameters
    ----------
    folder : Path
        The run directory.
    say : callable, optional
        Callback for progress text: the source of the job when the copy is missing or changed.

    Raises
    ------
    MissingInputError
        When the folder does not exist, or holds no run.
    CorruptionError
        When the job of the run cannot be read, or is not the one that the run was begun with.
    """
    folder = Path(folder)
    if not folder.is_dir():
        what = "is no run directory" if folder.exists() else "does not exist"
        raise MissingInputError(f"{folder} {what}", "give the directory that `migrate` made", code="E110")
    own_run(folder)
    known = settings_of(folder)
    _, stored = resolved_of(known)
    raw = _raw_job(folder, stored, say)
    job = _job_from(raw, folder, known)
    if not stored:
        _refuse_another(folder, job, known, say)
    job.goes_on_at(place_of(known, job))
    return job


def _raw_job(folder: Path, stored: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Return the tables of the job that the ledger holds, or of job.resolved.toml when it holds none."""
    path, text, error = folder / RESOLVED, "", None
    try:
        text = own.read_text(path)
    except FileNotFoundError:
        if not stored:
            raise MissingInputError(
                f"{folder} holds no run: {RESOLVED} is not in it",
                "give the directory that `migrate` made",
                code="E110",
            ) from None
    except (OSError, ValueError) as unreadable:
        error = unreadable
    try:
        if stored:
            if text != stored:
                say(f"{path} is not as the run wrote it: the job is the one in the ledger")
            return tomllib.loads(stored)
        if error is not None:
            raise error
        return tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as wrong:
        raise CorruptionError(
            f"{path} cannot be read: {wrong}",
            "run the same job file again with `subsalt migrate`",
            code="E641",
        ) from wrong


def _job_from(raw: dict[str, Any], folder: Path, known: Mapping[str, str]) -> BaseJob:
    """Return the job of these tables, its files counted from where the run was begun."""
    base, name = Path(known.get("base", "")), known.get("name") or "job"
    if not known.get("base") or not base.is_dir():
        base = (folder.resolve() / known.get("from_run", "..")).resolve()
        base = base if base.is_dir() else folder.resolve().parent
    try:
        return BaseJob.from_dict(class_of(raw).upgrade_resolved(raw), base, name=name)
    except (ConfigError, FindingsError) as error:
        raise CorruptionError(
            f"{folder / RESOLVED} is no job of this version: {error.message}",
            "run the job file again with `subsalt migrate`",
            code="E641",
        ) from error


def _refuse_another(folder: Path, job: BaseJob, known: Mapping[str, str], say: Callable[[str], None]) -> None:
    """Refuse a job from job.resolved.toml that is not the one in an older ledger.

    Raises
    ------
    CorruptionError
        With the keys that differ (E813).
    """
    try:
        begun = json.loads(known["key"])
        imaging = json.loads(known["imaging"]) if "imaging" in known else begun["job"].get("imaging", {})
        then = job.upgrade_resolved({**begun["job"], "imaging": imaging} if imaging else begun["job"])
    except (KeyError, TypeError, ValueError, AttributeError):
        say(f"no ledger says whether {folder / RESOLVED} is as the run wrote it: it is taken as it is")
        return
    changed = differences(then, json.loads(json.dumps(job.upgrade_resolved(job.of_the_image()))))
    if changed:
        raise CorruptionError(
            f"{folder / RESOLVED} is not the job that the run was begun with: {'; '.join(changed[:5])}",
            "run the job file itself again with `subsalt migrate JOB --run "
            f"{folder}`, which keeps what is finished",
            code="E813",
        )
