"""A time step on many ranks by the cut of the grid: by hand, beside the exchange of slabs, and of the fastest shape."""

import pytest

from subsalt.errors import ConfigError
from subsalt.kernels.passes import PACE
from subsalt.plan.cuts import StepModel, exchange_of, steps_of
from subsalt.plan.network import Link
from subsalt.plan.rates import Parts, Rates
from subsalt.propagation.blocks import GridFootprint, cut_footprint, shapes
from subsalt.propagation.options import PropagationOptions

SHAPE = (96, 64, 50)
#: 4 bytes take a second, so that bytes can be counted
SLOW = Link(0.0, 4.0, "across", "given")
RATES = Rates(1e6, 1e6, 1, 100, False, Parts(copy=8.0))


def model(medium="isotropic", shape=SHAPE, link=SLOW, boundary="damping"):
    options = PropagationOptions(boundary=boundary)
    nx, ny, nz = shape
    plane = GridFootprint(nx, ny, medium, 4, options.layer_cells if boundary == "pml" else 0)
    return StepModel(plane, nz, options, RATES, 1, link)


def test_a_block_by_hand():
    step = model("tti").of((2, 2))
    # parts of 48 x 32; each has one neighbour along x and one along y, which hold 8 planes and 8 rows of p and q
    assert step.part == (48, 32, 50)
    x, y = 8 * 32 * 50, 8 * (48 + 8) * 50  # along y with the ghost planes of x
    assert step.ghosts == pytest.approx((x + y) / (48 * 32 * 50))
    # two fields; a second for a number on its way, and one for its two copies at 8 bytes a second
    assert step.halo == pytest.approx(2 * (x + y) * 2)
    assert step.kernel == pytest.approx(48 * 32 * 50 / 1e6)
    core = (48 - 8) * (32 - 8) / (48 * 32)
    assert step.exposed == pytest.approx(step.halo - core * step.kernel)
    assert step.seconds == step.kernel + step.exposed


def test_slabs_have_the_exchange_of_a_run():
    prediction = model("tti")
    step = prediction.of((3, 1))
    cut = cut_footprint(prediction.plane, 3)
    assert len(cut[0]) == 3
    run = exchange_of(prediction.plane, SHAPE[2], cut, step.kernel, SLOW, 1.0)
    assert step.halo == pytest.approx(run.seconds)
    assert step.exposed == pytest.approx(run.exposed)


def test_steps_one_by_one_take_longer_than_passes():
    whole, slabs, blocks = (model().of(counts) for counts in ((1, 1), (2, 1), (2, 2)))
    # slabs of 48 planes do several steps in a pass
    assert slabs.kernel < PACE[1] * whole.kernel / 2
    assert blocks.kernel == pytest.approx(PACE[1] * whole.kernel / 4)
    assert model("tti").of((2, 2)).kernel == pytest.approx(whole.kernel / 4)


@pytest.mark.parametrize("medium", ["isotropic", "vti", "tti"])
@pytest.mark.parametrize("boundary", ["damping", "pml"])
def test_blocks_use_more_ranks_than_slabs_and_are_no_slower(medium, boundary):
    prediction = model(medium, boundary=boundary, link=Link(1e-6, 1e9, "across", "given"))
    for ranks in (1, 4, 24, 1000):
        slabs, blocks = prediction.slabs(ranks), prediction.blocks(ranks)
        assert slabs.ranks <= blocks.ranks <= ranks
        assert slabs.cut[1] == 1
        if slabs.ranks == blocks.ranks:
            assert blocks.seconds <= slabs.seconds
    # no part is thinner than what its neighbour holds of it
    most = prediction.plane.most(0), prediction.plane.most(1)
    assert blocks.ranks <= most[0] * most[1]
    with pytest.raises(ConfigError):
        prediction.of((most[0] + 1, 1))


def test_shapes_are_all_that_have_so_many_parts():
    assert list(shapes(12, (6, 4))) == [(6, 2), (4, 3), (3, 4)]
    assert list(shapes(13, (6, 4))) == []


def test_without_a_network_there_is_no_halo_and_lines_have_no_rows_to_cut():
    (row,) = steps_of(model(shape=(96, 1, 50), link=None), 10, 20, 2)
    said = row.to_dict()
    assert (said["nodes"], said["cores"], said["halo"]) == (10, 40, None)
    assert said["cut"] == "slabs 20 x 1"
    assert said["step"] == said["kernel"]
