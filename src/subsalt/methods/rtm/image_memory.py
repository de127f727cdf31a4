"""Memory of summing the partial images of shots and of finishing the image, before any of it is allocated.

What `subsalt.methods.rtm.image_sum` allocates is counted here: the sums, what carries them to the grid of the image,
and what condition, filter and mute take beside them. Tests hold these bytes against those of NumPy's arrays.
"""

from __future__ import annotations

import math
from itertools import pairwise

from subsalt.kernels.sizes import DOUBLE, FLOAT
from subsalt.methods.rtm.companion import accumulators_of
from subsalt.methods.rtm.conditions import condition_of
from subsalt.methods.rtm.image_sum import ILLUMINATION, divides_shots, held_reach, sums_bytes
from subsalt.methods.rtm.setup import MigrationSetup


def carried_bytes(setup: MigrationSetup, planes: int) -> tuple[int, int]:
    """Return the bytes of the sums on so many planes of the image, and what carrying them there takes beside; 0 where
    they stand there.

    One sum after the other is carried, along one axis after the other, illumination first (`ImageSum.light`).
    """
    if not setup.carries:
        return 0, 0
    count, lit = condition_of(setup.imaging.condition).per_point(), _has_light(setup)
    if divides_shots(setup):
        count, lit = 1, False
    (_, ny, nz), waves = setup.image_grid.shape3, setup.model.grid.shape3
    ahead = math.ceil(planes * waves[0] / setup.image_grid.shape3[0])
    # along z, along y and along x
    steps = [DOUBLE * n for n in (ahead * waves[1] * nz, ahead * ny * nz, planes * ny * nz)]
    if setup.image_grid.ndim == 2:
        del steps[1]
    one = steps[-1]
    # what an axis makes stands beside what it takes; the sum itself is counted already
    most = max([steps[0], *(a + b for a, b in pairwise(steps))]) - one
    return count * one, max(most, one - (count - 1) * one) if lit else most


def _has_light(setup: MigrationSetup) -> bool:
    return ILLUMINATION in condition_of(setup.imaging.condition).accumulators


def finishing_bytes(setup: MigrationSetup, points: int) -> int:
    """Return the bytes that making so many points of the image of its sums takes beside them (`ImageSum.steps`)."""
    imaging, topography = setup.imaging, setup.propagation.topography is not None
    condition = condition_of(imaging.condition)
    # of a Laplacian: the sum over axes, an array with edges, a term and one more
    derived = 4 * DOUBLE
    held = 0 if condition.name == "cross-correlation" else DOUBLE
    most = [0 if held == 0 else derived if condition.reach else 2 * DOUBLE]
    if divides_shots(setup):
        held = most[0] = 0
    if imaging.filter == "laplacian":
        most.append(held + derived)
        held = DOUBLE
    if imaging.top_mute > 0:
        # below a surface its ramp has as many points
        most.append(held + (5 if topography else 1) * DOUBLE)
        held = DOUBLE
    if topography:
        most.append(held + DOUBLE + 1)
        held = DOUBLE
    most.append(held + FLOAT * (1 + _has_light(setup)))
    return max(most) * points


def summing_bytes(setup: MigrationSetup, ranks: int) -> dict[str, int]:
    """Return the bytes by array of summing partial images and finishing, where ranks share the planes."""
    nx, ny, nz = setup.image_grid.shape3
    planes = min(nx, -(-nx // ranks) + 2 * held_reach(setup))
    summed = math.ceil(planes * ny * nz * (setup.model.grid.size / setup.image_grid.size))
    count = len(accumulators_of(setup))
    # a shot's planes, once as read; divided by its illumination, in double precision with what a division takes
    read = 2 * FLOAT * count if not divides_shots(setup) else (FLOAT + DOUBLE) * count + 2 * DOUBLE
    carried, beside = carried_bytes(setup, planes)
    finishing = carried + finishing_bytes(setup, planes * ny * nz)
    return {
        "image": sums_bytes(setup, summed) + carried,
        "working space": max(read * summed, carried + beside, finishing) - carried,
        "geometry of the image": nx * ny * 3 * DOUBLE,
    }
