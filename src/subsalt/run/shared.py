"""What the ranks of a run do once for all: hash the inputs, see whether they have the same folder before them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from subsalt.errors import CannotCreateError
from subsalt.io.publish import sha256_file
from subsalt.numerics.side_by_side import each
from subsalt.parallel.comm import Comm
from subsalt.run.lock import NAME as LOCK

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob


def inputs_of(job: BaseJob, world: Comm) -> list[dict[str, object]]:
    """Return path, size and SHA-256 of every input file, each hashed by one rank. Collective."""
    with world.together():
        files = [(key, path) for key, paths in job.input_files().items() for path in paths]
        numbers = range(world.rank, len(files), world.size)

        def facts_of(i: int) -> dict[str, object]:
            key, path = files[i]
            return {"key": key, "path": str(path), "bytes": path.stat().st_size, "sha256": sha256_file(path)}

        mine = dict(zip(numbers, each(facts_of, numbers), strict=True))
    found = {int(i): facts for some in world.allgather(mine) for i, facts in some.items()}
    return [found[i] for i in range(len(files))]


def check_shared(folder: Path, world: Comm, lock: str = LOCK) -> None:
    """Refuse a folder that is not the same one on all nodes. Collective.

    Raises
    ------
    CannotCreateError
        On all ranks, naming one that does not see what rank 0 wrote.
    """
    path = folder / lock
    lease = world.bcast(_lease(path) if world.is_root else None)
    failure = None
    if _lease(path) != lease:
        failure = CannotCreateError(
            f"{folder} is not the same folder on all nodes: what rank 0 wrote there is missing",
            "choose a folder on a file system that all nodes share",
            code="E830",
        )
    world.agree(failure)


def _lease(path: Path) -> object:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None
