"""Names of what a run writes into its directory, and opening that directory: what is in it is reached through no
link.
"""

from __future__ import annotations

from pathlib import Path

from subsalt.io import own
from subsalt.io.stored_marks import MARKS

#: what belongs to the result of a job, and is moved away with it; what else lies in the directory is not touched. The
#: ledger goes last: as long as it is there, the directory belongs to the old job
CONTENTS = (
    "image.*",
    "illumination.*",
    "gathers.*",
    "hits.*",
    "fold.*",
    "report.html",
    "run.json",
    "job.resolved.toml",
    MARKS,
    "events.jsonl",
    "progress.json",
    "pictures",
    "images",
    "attempts",
    "rounds",
    "iterations",
    "restart",
    "quarantine",
    "snapshots",
    "ledger.json",
    "ledger.sqlite-shm",
    "ledger.sqlite-wal",
    "ledger.sqlite",
)
#: where old results go, the note of a move in progress, the lock, a wish that the run ends, stacks of crashes, names of
#: shared memory, by what workers show that they see the folder, ledgers that were damaged
BESIDE = (
    "previous",
    "previous.json",
    "run.lock",
    "stop.json",
    "crash.r*.txt",
    "shared-memory.json",
    "shared-*.mark",
    "ledger.sqlite.damaged*",
    "ledger.sqlite-journal",
)
#: what is changed where it lies, not replaced
IN_PLACE = ("run.lock", "events.jsonl", "ledger.sqlite", "ledger.sqlite-*")
FOLDERS = (
    "pictures",
    "images",
    "attempts",
    "rounds",
    "iterations",
    "restart",
    "quarantine",
    "snapshots",
    "previous",
)


def own_run(folder: Path, *, writing: bool = False, deep: bool = True) -> Path:
    """Follow no link in a run directory from now on, and refuse those that are there; return the directory.

    Parameters
    ----------
    folder : Path
        The run directory, which need not exist; it may be a link itself.
    writing : bool
        Something will be written or removed: then folders of other users are refused as well, and second names of files
        that are changed where they lie.
    deep : bool
        Look into the folders as well. The report, which skips single links itself, need not.

    Raises
    ------
    CannotCreateError
        With the names of links and of files of other users (E655).
    """
    own.refuse_links(
        folder,
        (*CONTENTS, *BESIDE),
        in_place=IN_PLACE if writing else (),
        outermost=("previous",) if deep else ("*",),
        owned=writing,
    )
    return claim_run(folder)


def claim_run(folder: Path) -> Path:
    """Follow no link in a run directory from now on; return the directory. For ranks beside the one that looks."""
    own.claim(folder, FOLDERS)
    return folder
