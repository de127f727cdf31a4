"""The job of a run directory: what `resume`, `reimage` and `play` begin with."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from subsalt.errors import ConfigError, CorruptionError, FindingsError, MissingInputError
from subsalt.run.identity import place_of
from subsalt.run.ledger import settings_of

if TYPE_CHECKING:
    from subsalt.job.job import Job

RESOLVED = "job.resolved.toml"


def job_of_run(folder: Path) -> Job:
    """Return the job of a run directory, as it was resolved when the run began.

    Names of files count from the folder of the job file, which the ledger keeps; for a run that was moved together with
    its job from the same place beside it, for one of an older version from the folder around the run directory.

    Raises
    ------
    MissingInputError
        When the folder is none, or holds no run.
    CorruptionError
        When the job of the run cannot be read.
    """
    from subsalt.job.job import Job

    folder = Path(folder)
    if not folder.is_dir():
        what = "is no run directory" if folder.exists() else "does not exist"
        raise MissingInputError(f"{folder} {what}", "give the directory that `migrate` made", code="E110")
    path = folder / RESOLVED
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MissingInputError(
            f"{folder} holds no run: {RESOLVED} is not in it",
            "give the directory that `migrate` made",
            code="E110",
        ) from None
    except (OSError, ValueError) as error:
        raise CorruptionError(
            f"{path} cannot be read: {error}",
            "run the same job file again with `subsalt migrate`",
            code="E641",
        ) from error
    known = settings_of(folder)
    base, name = Path(known.get("base", "")), known.get("name") or "job"
    if not known.get("base") or not base.is_dir():
        base = (folder.resolve() / known.get("from_run", "..")).resolve()
        base = base if base.is_dir() else folder.resolve().parent
    try:
        job = Job.from_dict(raw, base, name=name)
    except (ConfigError, FindingsError) as error:
        raise CorruptionError(
            f"{path} is no job of this version: {error.message}",
            "run the job file again with `subsalt migrate`",
            code="E641",
        ) from error
    job.goes_on_at(place_of(known, job))
    return job
