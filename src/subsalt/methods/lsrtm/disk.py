"""The disk of a least-squares migration beside that of one migration: states, illumination and images by iteration."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from subsalt.kernels.sizes import DOUBLE
from subsalt.methods.lsrtm.course import FOLDER as IMAGES
from subsalt.methods.lsrtm.states import FOLDER as STATES
from subsalt.methods.rtm.arrays import FLOAT
from subsalt.methods.rtm.grouping import Grouping
from subsalt.methods.rtm.scratch import disks_of
from subsalt.plan.disk import disk_error

if TYPE_CHECKING:
    from subsalt.methods.lsrtm.job import LeastSquaresJob
    from subsalt.methods.lsrtm.sections import InversionSection
    from subsalt.methods.rtm.setup import MigrationSetup

#: arrays of the size of the model in a state; in one behind an iteration over drawn shots, and inside of it
ARRAYS, OF_DRAWS, HALFWAY = 3, 1, 2
#: states that are there at a time: the last one, that before it, and the one that is written
AT_A_TIME = 3


def kept_images(job: LeastSquaresJob) -> int:
    """Return how many iterations of a job leave their images, when it takes all that it may."""
    return sum(map(job.inversion.keeps, range(job.inversion.iterations + 1)))


def arrays_at_a_time(keys: InversionSection) -> int:
    """Return the arrays of the states that are on the disk at a time, at most."""
    held = [
        ARRAYS if not keys.draws else OF_DRAWS if keys.rounds.ends(number) else HALFWAY
        for number in range(min(keys.last_round, AT_A_TIME) + 1)
    ]
    # what follows repeats: by threes behind each other, beginning with a whole iteration or inside of one
    return max(sum(held[first : first + AT_A_TIME]) for first in range(len(held)))


def parts_of(job: LeastSquaresJob, setup: MigrationSetup, folder: Path) -> dict[str, int]:
    """Return the bytes that the iteration still writes into a run directory, which need not exist, by what they are."""
    points = math.prod(setup.model.grid.shape)
    wanted = {
        # and the illumination
        STATES: ("states", (arrays_at_a_time(job.inversion) + 1) * DOUBLE * points),
        IMAGES: ("images by iteration", kept_images(job) * FLOAT * setup.image_grid.size),
    }
    out = {}
    for name, (what, size) in wanted.items():
        # a run that goes on has some of them there
        there = sum(f.stat().st_size for f in (folder / name).glob("*"))
        out[what] = max(0, size - there)
    return out


def refuse_small_disk(job: LeastSquaresJob, setup: MigrationSetup, ranks: Grouping, folder: Path) -> None:
    """Refuse a run directory whose disk has no room for all that the run writes.

    Raises
    ------
    DiskError
        E663: with what takes the room.
    """
    if ranks.needs is None:
        return
    first, *others = disks_of(ranks.needs, ranks, folder, job.output.formats)
    refused = disk_error([first.holding(parts_of(job, setup, folder)), *others])
    if refused is not None:
        raise refused
