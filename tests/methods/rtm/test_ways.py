"""`subsalt.migrate` on arrays with every strategy: the same image, less memory, nothing left behind."""

import numpy as np
import pytest

import subsalt as ss
from subsalt.errors import ConfigError, MemoryPlanError

GRID = ss.Grid((61, 41), (10.0, 10.0))
SURVEY = ss.Survey.from_arrays(
    [[200.0, 20.0], [400.0, 20.0]], [[x, 10.0] for x in range(0, 601, 50)], nt=121, dt=0.004
)


@pytest.fixture(scope="module")
def case():
    """A model of one step, its data, and the image of them with all snapshots in memory."""
    vp = np.full(GRID.shape, 2000.0, np.float32)
    vp[:, 25:] = 2400.0
    wavelet = ss.ricker(f0=15, dt=0.001)
    data = ss.forward(ss.EarthModel(GRID, vp), SURVEY, wavelet).survey
    smooth = ss.EarthModel(GRID, np.full(GRID.shape, 2000.0, np.float32))

    def image(**options):
        return ss.migrate(smooth, data, wavelet, **options).image

    return image, image()


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "revolve", "slots": 2, "block": 3},
        {"strategy": "revolve", "memory": 500_000},
        {"strategy": "store", "place": "disk"},
        {"strategy": "revolve", "place": "both", "slots": 1, "disk_slots": 2, "block": 4},
    ],
)
def test_the_image_has_the_same_bits(case, tmp_path, options):
    image, plain = case
    got = image(checkpoint=ss.CheckpointOptions(directories=(str(tmp_path),), **options))
    np.testing.assert_array_equal(got, plain)
    assert not list(tmp_path.rglob("*.snap"))


def test_boundary_is_right_to_rounding(case):
    image, plain = case
    got = image(checkpoint=ss.CheckpointOptions(strategy="boundary"))
    # physics.md 7: below 1e-4 relative in single precision
    assert np.linalg.norm(got - plain) < 1e-4 * np.linalg.norm(plain)
    assert not np.array_equal(got, plain)


def test_what_does_not_fit_is_refused(case):
    image, _ = case
    with pytest.raises(MemoryPlanError, match="disk"):
        image(checkpoint=ss.CheckpointOptions(strategy="store", place="disk"))
    with pytest.raises(MemoryPlanError, match="too little"):
        image(checkpoint=ss.CheckpointOptions(memory=1000))
    with pytest.raises(ConfigError, match="run"):
        image(checkpoint=ss.CheckpointOptions(keep="both"))
