"""The bytes of snapshots and states are those of the arrays that hold them."""

import numpy as np
import pytest
import scheme_cases

import subsalt as ss
from subsalt.checkpoint.choice.footprint import Sizes, footprint
from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.checkpoint.storage.scratch import Scratch
from subsalt.checkpoint.storage.transfers import Stripes
from subsalt.kernels.sizes import allocated
from subsalt.methods.rtm.arrays import RankArrays
from subsalt.methods.rtm.engine import migrate_shot
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.propagation.options import ImagingOptions, PropagationOptions
from subsalt.propagation.propagator import Propagator


def setup_of(shape, medium, **options):
    """Return a setup on a small model and a shot in its middle."""
    grid = ss.Grid(shape, (10.0,) * len(shape))
    model = ss.EarthModel(grid, 2000.0, 0.1, 0.05, 0.4)
    middle = [5.0 * n for n in shape[:-1]]
    survey = ss.Survey.from_arrays([[*middle, 20.0]], [[*middle, 10.0]], nt=101, dt=0.004)
    propagation = PropagationOptions(medium=medium, **options)
    wavelet = ss.ricker(f0=20, dt=1e-3)
    return MigrationSetup.build(
        model, wavelet, survey.time, propagation, ImagingOptions(aperture=60.0)
    ), survey.shots[0]


@pytest.mark.parametrize("medium", ["isotropic", "vti", "tti"])
@pytest.mark.parametrize("shape", [(41, 33), (31, 27, 29)])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"free_surface": True, "order": 4, "layer": 9},
        {"boundary": "none"},
        {"boundary": "damping", "layer": 7},
        {"device": "reference"},
        {"device": "reference", "dtype": "float64"},
    ],
)
def test_as_the_arrays_of_a_propagator(shape, medium, options) -> None:
    setup, shot = setup_of(shape, medium, **options)
    positions = np.concatenate([shot.src[None], shot.rcv])
    with Propagator(
        setup.model, setup.propagation, setup.axis.dt, window=setup.window(shot), points=positions
    ) as prop:
        state = prop.new_state()
        arrays = RankArrays.of(setup, shot)
        assert arrays.propagator.state == sum(a.nbytes for a in state.arrays())
        field = np.zeros(prop.interior.shape, prop.dtype)
        assert arrays.snapshot() == field.nbytes


@pytest.mark.parametrize(
    ("slots", "more"),
    [
        ((1, 3), {}),
        ((0, 2), {}),
        ((2, 9), {}),
        ((1, 40), {}),
        ((0, 0), {"strategy": "store", "snapshots_on": "disk"}),
    ],
)
def test_the_disk_of_a_scheme_is_what_its_files_take(tmp_path, monkeypatch, slots, more):
    setup, shot = scheme_cases.setup_of("iso 2-D"), scheme_cases.shot_of("iso 2-D")
    steps, k = setup.axis.nt - 1, setup.image_step
    kind = {"strategy": "revolve", "block": 2, "memory_slots": slots[0], "disk_slots": slots[1]}
    scheme = Scheme(steps=steps, image_step=k, **(more or kind))
    taken = []
    remove = Stripes.remove

    def removed(files):
        taken.append(sum(files.sizes()))
        remove(files)

    monkeypatch.setattr(Stripes, "remove", removed)
    scratch = Scratch("sizes", [tmp_path])
    traces = np.zeros((len(shot.rcv), setup.record.nt), np.float32)
    migrate_shot(setup, shot, traces, scheme=scheme, scratch=scratch)
    scratch.close()
    arrays = RankArrays.of(setup, shot)
    sizes = Sizes(steps, k, arrays.snapshot(), arrays.propagator.state)
    assert sum(taken) == footprint(scheme, sizes).disk > 0


def test_large_arrays_of_a_state_fill_huge_pages():
    setup, shot = scheme_cases.setup_of("vti 2-D"), scheme_cases.shot_of("vti 2-D")
    small = RankArrays.of(setup, shot)
    assert small.propagator.state_held == small.propagator.state
    grid = ss.Grid((1100, 1000), (10.0, 10.0))
    large = MigrationSetup.build(
        ss.EarthModel(grid, 2000.0),
        ss.ricker(20.0, 0.001),
        setup.record,
        PropagationOptions(boundary="none"),
        ImagingOptions(),
    )
    shot = ss.Survey.from_arrays([[500.0, 0.0, 20.0]], [[600.0, 0.0, 20.0]], nt=50, dt=0.002).shots[0]
    arrays = RankArrays.of(large, shot)
    level = arrays.propagator.state // 2
    assert arrays.propagator.state_held == 2 * allocated(level) > 2 * level
