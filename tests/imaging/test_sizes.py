"""The bytes of snapshots and states are those of the arrays that hold them."""

import numpy as np
import pytest

import subsalt as ss
from subsalt.imaging.setup import MigrationSetup
from subsalt.imaging.sizes import snapshot_bytes, state_bytes
from subsalt.options import ImagingOptions, PropagationOptions
from subsalt.propagator import Propagator


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
        assert state_bytes(setup, shot) == sum(a.nbytes for a in state.arrays())
        field = np.zeros(prop.interior.shape, prop.dtype)
        assert snapshot_bytes(setup, shot) == field.nbytes
