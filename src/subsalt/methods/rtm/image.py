"""The image of a run: every rank sums its planes over all shots, in survey order, from the partial images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Survey
from subsalt.earth.grid import Box
from subsalt.errors import CorruptionError, DataError
from subsalt.methods.rtm.blank import refuse_blank
from subsalt.methods.rtm.image_sum import ILLUMINATION, ImageSum, light_of, open_partial, read_partial
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.parallel.comm import Comm
from subsalt.run.ledger import Ledger

#: bytes of a partial image that are held while its illumination is summed
_PIECE = 32 << 20


@dataclass(frozen=True)
class ImagePlanes:
    """The planes of the image that one rank has, from the plane `first`.

    Parameters
    ----------
    image, illumination : ndarray, (planes, ...), float32
        `illumination` is None where the imaging condition accumulates none.
    """

    first: int
    image: NDArray[np.float32]
    illumination: NDArray[np.float32] | None

    def inside(self, region: Box) -> ImagePlanes:
        """Return what of these planes lies in a region of the image, counted from the beginning of the region."""
        lo = min(max(self.first, region.lo[0]), region.hi[0])
        hi = max(min(self.first + len(self.image), region.hi[0]), lo)
        x, y, z = Box((lo - self.first, *region.lo[1:]), (hi - self.first, *region.hi[1:])).slices
        cut = (x, z) if self.image.ndim == 2 else (x, y, z)
        light = None if self.illumination is None else np.ascontiguousarray(self.illumination[cut])
        return ImagePlanes(lo - region.lo[0], np.ascontiguousarray(self.image[cut]), light)


def share(planes: int, world: Comm) -> tuple[int, int]:
    """Return the planes [lo, hi) of the image that this rank sums."""
    return planes * world.rank // world.size, planes * (world.rank + 1) // world.size


def sum_image(
    setup: MigrationSetup, survey: Survey, ledger: Ledger | None, images: Path, world: Comm
) -> ImagePlanes:
    """Return this rank's planes of the finished image. Collective.

    Parameters
    ----------
    ledger : Ledger or None
        On rank 0.

    Raises
    ------
    CorruptionError
        When a partial image does not have the checksum that the ledger knows; that shot is done again by the next run.
    DataError
        When no shot succeeded, or nothing is in their traces.
    ConfigError, NumericalFailure
        When the image is zero throughout, or not finite somewhere (`subsalt.run.blank`).
    """
    hashes = {int(k): str(v) for k, v in world.bcast(list(ledger.hashes().items()) if ledger else None)}
    if not hashes:
        reasons = world.bcast([str(r.get("reason", "")) for r in ledger.rows()] if ledger else None)
        raise DataError(
            f"no shot could be migrated; the first failed with: {reasons[0]}", "see events.jsonl", "E820"
        )
    total = ImageSum(setup, share(setup.model.grid.shape3[0], world))
    order = [s.id for s in survey.shots if s.id in hashes]
    lights = _lights(images, order, hashes, world) if total.by_shot else {}
    damaged: list[int] = []
    failure: Exception | None = None
    for shot in order:
        try:
            part = read_partial(images, shot, hashes[shot], *total.held)
        except CorruptionError as error:
            damaged, failure = [shot], error
            break
        total.add(part, lights.get(shot))
    _release(ledger, damaged, world)
    world.agree(failure)
    light = 0.0
    if ILLUMINATION in total.fields:
        # one chain of additions through all planes: rank by rank
        for rank in range(world.size):
            light = world.bcast(total.light(light) if rank == world.rank else None, root=rank)
    image = total.finish(light)
    refuse_blank(total, image, light, survey, world)
    return ImagePlanes(total.planes[0], image, total.illumination())


def _lights(
    images: Path, order: list[int], hashes: Mapping[int, str], world: Comm
) -> dict[int, tuple[float, int]]:
    """Return the illumination of each shot summed over its window, and the points of the window; collective."""
    found = []
    for shot in order[world.rank :: world.size]:
        light = 0.0
        try:
            with open_partial(images, shot, hashes[shot]) as file:
                lo, hi = file.layout.box.lo[0], file.layout.box.hi[0]
                step = max(1, _PIECE // max(1, file.layout.plane_bytes))
                for first in range(lo, hi, step):
                    light = light_of(file.read(first, min(first + step, hi)), light)
                found.append([shot, light, file.layout.box.size])
        except CorruptionError:
            # the rank that adds the damaged planes finds it again, and says it
            found.append([shot, 0.0, 1])
    return {shot: (light, size) for some in world.allgather(found) for shot, light, size in some}


def _release(ledger: Ledger | None, damaged: list[int], world: Comm) -> None:
    """Plan the shots with damaged partial images again; collective."""
    for some in world.allgather(damaged):
        for shot in some:
            if ledger is not None:
                ledger.release(shot)
