"""Opening a run directory for a job: what every method of migration does on rank 0 before its first unit of work.

An old result is set aside first where that is asked for: what a run directory holds of it moves to ``previous/``, and
nothing is overwritten.

The moves are renames inside one file system, listed in a note before the first: a stop between two of them is made
good by the next start, before it looks at anything else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from subsalt.errors import ConfigError
from subsalt.io.faults import ask
from subsalt.io.publish import explained, make_folder, publish_text, remove, sync_folder
from subsalt.run.ledger import Ledger
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


def open_run(
    stack: ExitStack,
    folder: Path,
    begin: Callable[[Ledger], None],
    recompute: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> Ledger:
    """Return the ledger of a run directory, which is made when missing, tied to the job.

    Parameters
    ----------
    stack : ExitStack
        Closes the ledger.
    folder : Path
        The run directory.
    begin : callable
        ``begin(ledger)`` ties the directory to job and inputs, or refuses, see `begin_run`.
    recompute : bool
        The result of another job in the directory is set aside, in ``previous``, instead of refused.
    say : callable, optional
        Told where it went.

    Raises
    ------
    ConfigError
        When the directory belongs to another job.
    CannotCreateError
        When another process works in it.
    """
    make_folder(folder, 0o700)  # on shared scratch a run is its owner's
    finish_setting_aside(folder)
    ledger = stack.enter_context(Ledger(folder))
    try:
        begin(ledger)
    except ConfigError as changed:
        if not recompute or changed.code not in ("E810", "E860"):
            raise
        old = ledger.get("run_id") or ""
        ledger.close()
        say(f"the old result is now in {set_aside(folder, old)}")
        ledger = stack.enter_context(Ledger(folder))
        begin(ledger)
    return ledger
