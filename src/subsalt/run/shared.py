"""What the ranks of a run do once for all: hash the inputs, see whether they have the same folder before them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from subsalt.earth.grid import Frame, Grid
from subsalt.errors import CannotCreateError, MemoryPlanError
from subsalt.io.publish import sha256_file
from subsalt.io.segy.rev1 import choose_scalar
from subsalt.io.volumes.volume import PLANE_FORMATS
from subsalt.methods.rtm.memory import available_memory
from subsalt.numerics.side_by_side import each
from subsalt.parallel.comm import Comm
from subsalt.run.lock import NAME as LOCK

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob
    from subsalt.job.job import Job

#: whole images that the writers of formats hold which ranks cannot write together
COPIES = 3


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


def check_formats(job: Job, grid: Grid, world: Comm, frame: Frame | None = None) -> None:
    """Refuse what could not be written in the end: formats that rank 0 would have to write alone and has no memory
    for, and map coordinates that are too large for SEG-Y.

    Raises
    ------
    GeometryError
        When the corners of the image do not fit.
    MemoryPlanError
        Naming them.
    """
    from subsalt.run.outputs import SUFFIX

    place, last = frame or Frame(), (np.array(grid.shape3) - 1) * np.array(grid.spacing3)
    corners = np.array(grid.origin3) + last * np.array([[x, y, 0.0] for x in (0, 1) for y in (0, 1)])
    choose_scalar(place.to_world(corners)[:, :2], "map coordinates of the image")
    alone = [n for n in job.output.formats if SUFFIX[n] not in PLANE_FORMATS]
    need = COPIES * 4 * grid.size
    if alone and world.is_root and need > available_memory():
        raise MemoryPlanError(
            f"[output] formats: {', '.join(alone)} take {need / 1e9:.2f} GB on one rank, "
            f"{available_memory() / 1e9:.2f} GB are available",
            'write segy and rsf, which all ranks write together, and convert them elsewhere with "subsalt export"',
            code="E831",
        )
