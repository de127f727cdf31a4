"""Shots that fail: tried once more at the end of the survey, then quarantined with all that is needed to examine them.

A failure belongs to the shot when trying again may help or nothing else is touched: traces that are wrong or cannot be
read, a wavefield that blows up, too little memory. What cannot be written stops the run: the next shot would meet it
too.
"""

from __future__ import annotations

import json
import traceback
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
from subsalt.io.publish import make_folder, publish_array, publish_text
from subsalt.parallel.comm import Comm

if TYPE_CHECKING:
    from subsalt.earth.grid import Box
    from subsalt.run.ledger import Ledger

FOLDER = "quarantine"
#: failures of a shot after which it is set aside
TRIES = 2
#: bytes of traces that are copied beside the record of a failure
MOST_TRACES = 256 << 20


def belongs_to_shot(error: BaseException, group: Comm) -> bool:
    """Return whether an error is a failure of the shot in hand, which all ranks of its group have met together."""
    if isinstance(error, DataError | NumericalFailure):
        return True
    known = (
        isinstance(error, MemoryError | CorruptionError | MissingInputError)
        # a read that failed; writes have codes of their own
        or (isinstance(error, ResourceError) and error.code == "E601")
    )
    return known and (group.size == 1 or getattr(error, "agreed_ranks", 0) >= group.size)


def words_of(error: BaseException) -> str:
    """Return an error for people, its code first."""
    if isinstance(error, SubsaltError):
        return f"{error.code} {error}"
    return f"{type(error).__name__}: {error}".rstrip(": ")


def record_path(folder: Path, shot: int) -> Path:
    """Return the record of a shot's failures in a run directory."""
    return folder / FOLDER / f"shot_{shot:06d}.json"


def read_record(folder: Path, shot: int) -> dict[str, Any]:
    """Return the record of a shot's failures, empty when there is none."""
    try:
        found = json.loads(record_path(folder, shot).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def record(
    folder: Path,
    survey: Survey,
    shot: Shot,
    window: Box,
    error: BaseException,
    where: dict[str, object],
) -> None:
    """Publish what is known of a failure beside those before it; called by one rank.

    Parameters
    ----------
    folder : Path
        The run directory.
    survey, shot : Survey, Shot
        What failed.
    window : Box
        Its part of the model.
    error : BaseException
        How.
    where : dict
        Rank and host.
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
    failure = where | {"reason": words_of(error), "traceback": traceback.format_exception(error)}
    name = _copy_traces(folder, survey, shot)
    add(folder, shot.id, failure, facts | ({"copy": name} if name else {}))


def add(folder: Path, shot: int, failure: dict[str, object], facts: dict[str, Any] | None = None) -> None:
    """Publish one more failure of a shot.

    Parameters
    ----------
    failure : dict
        ``reason``, and what else is known.
    facts : dict, optional
        The shot's inputs.
    """
    known = read_record(folder, shot)
    failures = known.get("failures")
    now = {"time": datetime.now(UTC).isoformat(timespec="seconds"), **failure}
    known |= {"shot": shot, **(facts or {})}
    known["failures"] = [*(failures if isinstance(failures, list) else []), now]
    make_folder(folder / FOLDER)
    publish_text(record_path(folder, shot), json.dumps(known, indent=1) + "\n")


def _copy_traces(folder: Path, survey: Survey, shot: Shot) -> str:
    """Keep the traces as they were read; return the name of the file, empty when they could not be."""
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


def forget(folder: Path, shot: int) -> None:
    """Remove the records of a shot that has succeeded after all."""
    if not (folder / FOLDER).is_dir():
        return
    for path in (record_path(folder, shot), folder / FOLDER / f"shot_{shot:06d}.traces.npy"):
        path.unlink(missing_ok=True)


def fail(ledger: Ledger, shot: int, reason: str) -> bool:
    """Write a failure into the ledger, and set the shot aside when it is one too many; return whether it was."""
    aside = ledger.fail(shot, reason) >= TRIES
    if aside:
        ledger.quarantine(shot, reason)
    return aside
