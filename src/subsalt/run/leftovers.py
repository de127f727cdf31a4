"""Leftovers of killed ranks outside the run directory: noted while they run, removed at the next start."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from subsalt.io import own
from subsalt.io.publish import remove, show_text
from subsalt.parallel.comm import Comm
from subsalt.parallel.shared_memory import mapped, remove_left
from subsalt.run.lock import boot_id

#: the note in the run directory
NAME = "shared-memory.json"


@contextmanager
def noted_memory(folder: Path, world: Comm) -> Iterator[None]:
    """Remove the shared memory of ranks that were killed in this directory; note that of the current ones. Collective.

    Only for a directory whose lock rank 0 holds, so that no rank of an earlier start can be running.

    Notes
    -----
    A file is removed when the note names it, it belongs to this user, it was made on this machine since its last boot,
    and no process has it in memory. When the block ends with an error, the note stays, since ranks that are ended
    together leave their files.
    """
    before = world.bcast(_read(folder) if world.is_root else None)
    here = {"host": platform.node(), "boot": boot_id()}
    remove_left(n for one in before if {k: one.get(k) for k in here} == here for n in _names(one))
    now = world.allgather({**here, "names": mapped()})
    blocks = [
        dict(one) for one in {json.dumps(one, sort_keys=True): one for one in now}.values() if one["names"]
    ]
    if world.is_root and blocks:
        show_text(folder / NAME, json.dumps(blocks) + "\n")
    elif world.is_root and before:
        remove(folder / NAME)
    yield
    if world.is_root and blocks:
        remove(folder / NAME)


def _read(folder: Path) -> list[dict[str, Any]]:
    """Return the note of the start before; empty when there is none that can be read."""
    try:
        note = json.loads(own.read_text(folder / NAME))
    except (OSError, ValueError, RecursionError):
        return []
    return [one for one in note if isinstance(one, dict)] if isinstance(note, list) else []


def _names(one: dict[str, Any]) -> list[str]:
    names = one.get("names")
    return [n for n in names if isinstance(n, str)] if isinstance(names, list) else []
