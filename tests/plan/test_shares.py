"""What a plan counts on a slab is what the slab then has."""

import numpy as np
import pytest

import subsalt as ss
from subsalt.kernels import cpu
from subsalt.kernels.problem import MEMORY
from subsalt.methods.rtm.arrays import RankArrays
from subsalt.methods.rtm.migrate import share_of
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.parallel.comm import single
from subsalt.propagation.options import ImagingOptions, PropagationOptions
from subsalt.propagation.propagator import Propagator
from subsalt.propagation.slab_recorder import SlabRecorder


def rank_of(rank, size):
    """Return a communicator that only says which rank it is."""
    out = single()
    made = type(out)()
    made.rank, made.size = rank, size
    return made


@pytest.mark.parametrize("ranks", [1, 2, 5])
@pytest.mark.parametrize("medium", ["isotropic", "tti"])
def test_receivers_planes_and_arrays_are_those_of_the_slab(medium, ranks):
    grid = ss.Grid((61, 13, 15), (10.0,) * 3)
    model = ss.EarthModel(grid, 2000.0, 0.1, 0.05, 0.3, 0.2).as_medium(medium)
    # every 17 m along x: off the nodes but for some; one on each side of many cuts
    rcv = [[x, 60.0, 20.0] for x in np.arange(0.0, 600.0, 17.0)]
    survey = ss.Survey.from_arrays([[300.0, 60.0, 20.0]], [rcv], nt=50, dt=0.004)
    options = PropagationOptions(layer=8)
    setup = MigrationSetup.build(model, ss.ricker(20.0, 0.001), survey.time, options, ImagingOptions())
    shot, window = survey.shots[0], grid.box
    single_planes = 0
    for rank in range(ranks):
        share = share_of(setup, shot, rank_of(rank, ranks))
        arrays = RankArrays(model, options, window, shot, (rank, ranks))
        domain = arrays.domain
        assert domain == share.domain
        assert domain.interior.size == share.image_box.size
        assert arrays.receivers == len(share.rows)
        points = np.concatenate([shot.src[None], shot.rcv])
        prop = Propagator(model, options, setup.axis.dt, points=points, group=rank_of(rank, ranks))
        assert prop.layout == domain.layout
        have = sum(a.nbytes for a in cpu.new_memory(prop.problem).values())
        assert len(prop.problem.memory_kinds) == len(MEMORY[medium])
        assert have == arrays.propagator.layer_held
        recorder = SlabRecorder.of(domain.points(shot.rcv), domain, 4, np.float32, flushes=True)
        own, planes = arrays.recorded
        assert own == len(recorder.begun.points)
        single_planes += planes - 3 * len(recorder.single.points)
    # every plane of a receiver that is sent is also got by somebody: twice where it comes from, once where it goes
    assert single_planes == 0
