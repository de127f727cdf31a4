"""The sum over shots by planes: any cut gives the bits of the whole."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from subsalt.acquisition.survey import TimeAxis
from subsalt.acquisition.wavelet import ricker
from subsalt.earth.grid import Box, Grid
from subsalt.earth.model import EarthModel
from subsalt.methods.rtm.engine import ShotImage
from subsalt.methods.rtm.image_sum import ImageSum, light_of
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.propagation.options import ImagingOptions, PropagationOptions

CASES = [
    (shape, condition, filter_, illumination)
    for shape in ((23, 31), (23, 4, 11))
    for condition in ("source-normalised", "cross-correlation", "inverse-scattering")
    for filter_ in ("none", "laplacian")
    for illumination in ("survey", "shot")
]


def parts(setup):
    """Return three partial images with windows of their own; the first is narrower than a Laplacian."""
    nx, ny, nz = setup.model.grid.shape3
    rng = np.random.default_rng(11)
    out = []
    for shot, (lo, hi) in enumerate([(9, 12), (0, 15), (6, nx)], 1):
        box = Box((lo, 0, 0), (hi, ny, nz))
        # over so many orders of magnitude that sums in double precision round too: then their order shows
        sums = {
            name: (10.0 ** rng.uniform(-10, 10, box.shape) * _signs(name, rng, box)).astype(np.float32)
            for name in ImageSum(setup).condition.accumulators
        }
        out.append(ShotImage(shot, box, sums, 0, 0.0))
    return out


def _signs(name, rng, box):
    return 1.0 if name == "illumination" else rng.choice([-1.0, 1.0], box.shape)


def setup_of(shape, condition, filter_, illumination):
    grid = Grid(shape, (10.0,) * len(shape))
    imaging = ImagingOptions(
        condition=condition, filter=filter_, illumination=illumination, top_mute=40.0, image_step=1
    )
    return MigrationSetup.build(
        EarthModel(grid, 2000.0), ricker(15, 0.001), TimeAxis(101, 0.004), PropagationOptions(), imaging
    )


def cut(part, lo, hi):
    """Return the planes [lo, hi) of a partial image, as a rank reads them."""
    a, b = max(lo, part.box.lo[0]), min(hi, part.box.hi[0])
    b = max(a, b)
    first = part.box.lo[0]
    sums = {n: v[a - first : b - first] for n, v in part.sums.items()}
    return replace(part, box=Box((a, *part.box.lo[1:]), (b, *part.box.hi[1:])), sums=sums)


@pytest.mark.parametrize(("shape", "condition", "filter_", "illumination"), CASES)
def test_any_cut_gives_the_bits_of_the_whole(shape, condition, filter_, illumination):
    setup = setup_of(shape, condition, filter_, illumination)
    shots = parts(setup)
    whole = ImageSum(setup)
    for part in shots:
        whole.add(part)
    image, light = whole.finish(), whole.illumination()
    assert image.shape == shape
    assert np.abs(image).max() > 0
    for edges in ([0, 23], [0, 1, 2, 23], [0, 5, 5, 13, 23], list(range(24))):
        slabs = [ImageSum(setup, (a, b)) for a, b in pairwise(edges)]
        running = 0.0
        for slab in slabs:
            for part in shots:
                slab.add(cut(part, *slab.held), (light_of(part.sums), part.box.size))
            running = slab.light(running)
        np.testing.assert_array_equal(np.concatenate([s.finish(running) for s in slabs]), image)
        if light is not None:
            np.testing.assert_array_equal(np.concatenate([s.illumination() for s in slabs]), light)


def test_the_order_of_additions_shows():
    """The test above is able to fail: another order of shots, or another way to the total, changes bits."""
    setup = setup_of((23, 31), "source-normalised", "none", "survey")
    shots = parts(setup)
    whole, turned = ImageSum(setup), ImageSum(setup)
    for part in shots:
        whole.add(part)
    for part in shots[::-1]:
        turned.add(part)
    assert (whole.fields["correlation"] != turned.fields["correlation"]).any()
    lower, upper = ImageSum(setup, (0, 11)), ImageSum(setup, (11, 23))
    for slab in (lower, upper):
        for part in shots:
            slab.add(part)
    assert lower.light() + upper.light() != whole.light() == upper.light(lower.light())
