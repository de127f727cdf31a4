"""Moving the old result of a run directory to ``previous/``; nothing is overwritten.

The moves are renames inside one file system, listed in a note before the first. If the program is stopped between two
of them, the next start completes them first.
"""

from __future__ import annotations

import json
from pathlib import Path

from subsalt.io import own
from subsalt.io.faults import ask
from subsalt.io.publish import explained, make_folder, publish_text, remove, sync_folder
from subsalt.io.run_folder import CONTENTS
from subsalt.run.lock import RunLock

PREVIOUS = "previous"
NOTE = "previous.json"


def set_aside(folder: Path, run_id: str) -> Path:
    """Move the result of a run directory to ``previous/ID``; return where it is now.

    Only for a directory whose ledger is closed.

    Parameters
    ----------
    folder : Path
        The run directory.
    run_id : str
        Id of the run that is moved; its first letters name the new place.

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
    """Complete a `set_aside` that was interrupted; return where the old result is, None when there was none."""
    if not (folder / NOTE).exists():
        return None
    with RunLock(folder):
        try:
            name = json.loads(own.read_text(folder / NOTE))["to"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        place = folder / PREVIOUS / Path(str(name)).name
        if not (folder / PREVIOUS).is_dir() or place.name not in own.names_in(folder / PREVIOUS):
            return None
        _move(folder, place)
    return place


def _move(folder: Path, place: Path) -> None:
    for pattern in CONTENTS:
        for path in sorted(folder.glob(pattern)):
            with explained(path, 0):
                ask("rename", str(path))
                own.replace(path, place / path.name)
    with explained(place, 0):
        sync_folder(place)
        sync_folder(folder)
    remove(folder / NOTE)
    with explained(folder, 0):
        sync_folder(folder)
