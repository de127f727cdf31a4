"""Setting an old result aside: what a run directory holds of it moves to ``previous/``, and nothing is overwritten.

The moves are renames inside one file system, listed in a note before the first: a stop between two of them is made good
by the next start, before it looks at anything else.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from subsalt.io.faults import ask
from subsalt.io.publish import explained, make_folder, publish_text, remove, sync_folder
from subsalt.run.lock import RunLock

PREVIOUS = "previous"
NOTE = "previous.json"
#: what a run writes into its directory; what else lies there is not touched. The ledger goes last: as long as it is
#: there, the directory belongs to the old job
CONTENTS = (
    "image.*",
    "illumination.*",
    "gathers.*",
    "hits.*",
    "fold.*",
    "report.html",
    "run.json",
    "job.resolved.toml",
    "events.jsonl",
    "progress.json",
    "pictures",
    "images",
    "restart",
    "quarantine",
    "snapshots",
    "ledger.json",
    "ledger.sqlite-shm",
    "ledger.sqlite-wal",
    "ledger.sqlite",
)


def set_aside(folder: Path, run_id: str) -> Path:
    """Move the result of a run directory to ``previous/ID``; return where it is now.

    Only for a directory whose ledger is closed.

    Parameters
    ----------
    folder : Path
        The run directory.
    run_id : str
        Of the run that is set aside; its first letters name the new place.

    Raises
    ------
    CannotCreateError
        When another process works in the directory.
    """
    with RunLock(folder):
        place = make_folder(folder / PREVIOUS) / (run_id[:8] or "run")
        number = 2
        while place.exists():
            place = place.with_name(f"{run_id[:8] or 'run'}-{number}")
            number += 1
        make_folder(place)
        publish_text(folder / NOTE, json.dumps({"to": place.name}) + "\n")
        _move(folder, place)
    return place


def finish_setting_aside(folder: Path) -> Path | None:
    """Go on where `set_aside` was stopped; return where the old result is now, None when nothing was to be done."""
    if not (folder / NOTE).exists():
        return None
    with RunLock(folder):
        try:
            name = json.loads((folder / NOTE).read_text())["to"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        place = folder / PREVIOUS / Path(str(name)).name
        if not place.is_dir():
            return None
        _move(folder, place)
    return place


def _move(folder: Path, place: Path) -> None:
    for pattern in CONTENTS:
        for path in sorted(folder.glob(pattern)):
            with explained(path, 0):
                ask("rename", str(path))
                os.replace(path, place / path.name)
    with explained(place, 0):
        sync_folder(place)
        sync_folder(folder)
    remove(folder / NOTE)
    with explained(folder, 0):
        sync_folder(folder)
