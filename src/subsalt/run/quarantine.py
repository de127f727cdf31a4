"""Units that fail: tried once more at the end of the survey, then quarantined, with a record for examination.

A failure belongs to a unit when another try may help, or when other units are not affected: traces that are wrong or
cannot be read, a wavefield that blows up, too little memory. A failed write stops the run: the next unit would fail
to write, too.
"""

from __future__ import annotations

import json
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.acquisition.survey import Shot, Survey
from subsalt.errors import (
    CorruptionError,
    DataError,
    MissingInputError,
    NumericalFailure,
    ResourceError,
    SubsaltError,
)
from subsalt.io import own
from subsalt.io.publish import make_folder, publish_array, publish_text
from subsalt.parallel.comm import Comm
from subsalt.run.ledger import Ledger

if TYPE_CHECKING:
    from subsalt.earth.grid import Box

FOLDER = "quarantine"
#: failures of a unit after which it is quarantined
TRIES = 2
#: largest size of the copy of the traces in the record of a failure, bytes
MOST_TRACES = 256 << 20


def belongs_to_shot(error: BaseException, group: Comm) -> bool:
    """Return whether an error is a failure of the current shot, met by all ranks of its group together."""
    if isinstance(error, DataError | NumericalFailure):
        return True
    known = (
        isinstance(error, MemoryError | CorruptionError | MissingInputError)
        # a read that failed; writes have codes of their own
        or (isinstance(error, ResourceError) and error.code == "E601")
    )
    return known and (group.size == 1 or getattr(error, "agreed_ranks", 0) >= group.size)


def describe_error(error: BaseException) -> str:
    """Return the text of an error, its code first."""
    if isinstance(error, SubsaltError):
        return f"{error.code} {error}"
    return f"{type(error).__name__}: {error}".rstrip(": ")


def record_path(folder: Path, unit: int, number: int = 0) -> Path:
    """Return the record of a unit's failures in a round of a run."""
    of_round = f".round_{number:03d}" if number else ""
    return folder / FOLDER / f"shot_{unit:06d}{of_round}.json"


def traces_path(folder: Path, unit: int) -> Path:
    """Return the copy of the traces of a unit that failed."""
    return folder / FOLDER / f"shot_{unit:06d}.traces.npy"


def read_record(folder: Path, unit: int, number: int = 0) -> dict[str, Any]:
    """Return the record of a unit's failures in a round, empty when there is none."""
    try:
        content = json.loads(own.read_text(record_path(folder, unit, number)))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def record_failure(
    folder: Path,
    survey: Survey,
    shot: Shot,
    window: Box,
    error: BaseException,
    where: dict[str, object],
    number: int = 0,
) -> None:
    """Publish a failure, after those before it; called by one rank.

    Parameters
    ----------
    folder : Path
        The run directory.
    survey, shot : Survey, Shot
        The survey, and the shot that failed.
    window : Box
        Part of the model of the shot.
    error : BaseException
        Its error.
    where : dict
        Rank and host.
    number : int
        Number of the current round.
    """
    index = shot.trace_index
    facts: dict[str, Any] = {
        "source": [float(c) for c in shot.src],
        "receivers": len(shot.rcv),
        "receivers_from": [float(c) for c in shot.rcv.min(axis=0)] if len(shot.rcv) else [],
        "receivers_to": [float(c) for c in shot.rcv.max(axis=0)] if len(shot.rcv) else [],
        "window": {"lo": list(window.lo), "hi": list(window.hi)},
        "traces": {
            "files": list(survey.source_files),
            "first": None if index is None or not len(index) else int(index.min()),
            "last": None if index is None or not len(index) else int(index.max()),
        },
    }
    failure = where | {"reason": describe_error(error), "traceback": traceback.format_exception(error)}
    name = _copy_traces(folder, survey, shot)
    add_failure(folder, shot.id, failure, facts | ({"copy": name} if name else {}), number)


def add_failure(
    folder: Path,
    unit: int,
    failure: dict[str, object],
    facts: dict[str, Any] | None = None,
    number: int = 0,
) -> None:
    """Publish one more failure of a unit.

    Parameters
    ----------
    failure : dict
        ``reason``, and further facts of the failure.
    facts : dict, optional
        Inputs of the unit.
    number : int
        The round in which it failed.
    """
    known = read_record(folder, unit, number)
    failures = known.get("failures")
    now = {"time": datetime.now(UTC).isoformat(timespec="seconds"), **failure}
    known |= {"shot": unit, **({"round": number} if number else {}), **(facts or {})}
    known["failures"] = [*(failures if isinstance(failures, list) else []), now]
    make_folder(folder / FOLDER)
    publish_text(record_path(folder, unit, number), json.dumps(known, indent=1) + "\n")


def _copy_traces(folder: Path, survey: Survey, shot: Shot) -> str:
    """Copy the traces of a shot as they were read; return the name of the file, empty when there is none."""
    name = f"{FOLDER}/shot_{shot.id:06d}.traces.npy"
    if (folder / name).exists() or 4 * len(shot.rcv) * survey.time.nt > MOST_TRACES:
        return name if (folder / name).exists() else ""
    try:
        data = survey.traces(shot)
    except (SubsaltError, OSError, MemoryError):
        return ""
    make_folder(folder / FOLDER)
    publish_array(folder / name, data)
    return name


def forget_failures(folder: Path, unit: int, number: int = 0) -> None:
    """Remove the records of a unit that has succeeded after all."""
    if not (folder / FOLDER).is_dir():
        return
    for path in (record_path(folder, unit, number), traces_path(folder, unit)):
        with suppress(FileNotFoundError):
            own.unlink(path)


def count_failure(ledger: Ledger, unit: int, reason: str) -> bool:
    """Count a failure in the ledger, and quarantine the unit at the last one; return whether it was quarantined."""
    aside = ledger.fail(unit, reason) >= TRIES
    if aside:
        ledger.quarantine(unit, reason)
    return aside
