"""The shot in rock of the benchmark of accuracy: its box, its model, its kept traces."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def modules():
    """Import the modules of the benchmark, which are no package, and forget them afterwards."""
    folders = [str(ROOT / "benchmarks" / "peers"), str(ROOT / "benchmarks")]
    names = ["protocol", "rock_case", "subsalt_rock", "rock_reference"]
    before = list(sys.path)
    sys.path[:0] = folders
    try:
        yield {n: importlib.import_module(n) for n in names}
    finally:
        for n in names:
            sys.modules.pop(n, None)
        # other tests look for modules in these folders, too
        sys.path[:] = before


@pytest.mark.parametrize("ndim", [2, 3])
def test_source_receivers_and_sides_are_nodes_of_grids_of_quarter_points(modules, ndim):
    case = modules["rock_case"]
    for points in (3.0, 3.25, 4.5, modules["rock_reference"].POINTS):
        setting = case.Setting("iso", 8, case.SHORTEST / points, ndim=ndim)
        for where in (setting.source[None], setting.receivers, setting.box.T):
            nodes = (where - setting.box[:, 0]) / setting.spacing
            assert nodes == pytest.approx(np.rint(nodes), abs=1e-9)
        assert (setting.receivers > setting.box[:, 0]).all()
        assert (setting.receivers < setting.box[:, 1]).all()
        assert np.array(setting.shape) == pytest.approx(np.ptp(setting.box, axis=1) / setting.spacing + 1)


def test_the_rock_is_what_it_is_said_to_be(modules):
    case = modules["rock_case"]
    far = [np.array(-8.0), np.array(-8.0)]
    speed = [float(case.velocity([*far, np.array(z)])) for z in (0.0, 20.0, case.DEEP)]
    # the lens is 12 radii away
    assert speed == pytest.approx([1500.0, 3000.0, 4950.0], rel=1e-6)
    lens = case.velocity(list(case.LENS)) / case.background(case.LENS[2])
    assert lens == pytest.approx(1.08, rel=1e-6)
    z = np.linspace(27, 29, 2001)
    along = case.velocity([np.full_like(z, -8.0), np.full_like(z, -8.0), z]) / case.background(z)
    assert along[1000] == pytest.approx(1.05, rel=1e-6)
    # the rise of an integrated Gaussian, by its slope in the middle
    local = 3600 / 1500
    slope = (along[1001] - along[999]) / (z[1001] - z[999])
    assert slope == pytest.approx(0.1 / (np.sqrt(2 * np.pi) * case.RISE * local), rel=1e-3)


def test_the_medium_is_isotropic_around_what_stands_above_and_upright_at_the_sides(modules):
    case = modules["rock_case"]
    setting = case.Setting("tti", 8, case.SHORTEST / 3, ndim=2)
    middle = setting.volumes(20 * case.SHORTEST)
    depth = np.arange(setting.shape[1]) / 3
    assert (middle["epsilon"][depth <= 5] == 0).all()
    assert middle["epsilon"][depth >= 9] == pytest.approx(0.2)
    assert middle["delta"][depth >= 9] == pytest.approx(0.1)
    assert middle["theta"][(depth >= 10) & (depth <= 30)] == pytest.approx(np.radians(30))
    assert (setting.volumes(-2 * case.SHORTEST)["theta"] == 0).all()
    assert (middle["theta"][(depth <= 6) | (depth >= 34)] == 0).all()


def test_the_first_arrivals_of_the_kept_traces_are_those_of_the_gradient(modules):
    case, reference = modules["rock_case"], modules["rock_reference"]
    traces = reference.kept("rock2d-iso")
    setting = case.Setting("iso", 8, case.SHORTEST / 3, ndim=2)
    assert traces.shape == (len(setting.receivers), case.SAMPLES)
    # rays of a velocity that grows linearly are circles (acosh form); the lens is missed by the nearer ones
    growth = (case.BOTTOM - case.TOP) / (case.DEEP * case.SHORTEST)
    top = case.TOP + growth * setting.source[1]
    offset = np.abs(setting.receivers[:5, 0])
    arrival = np.arccosh(1 + (growth * offset) ** 2 / (2 * top * top)) / growth
    peaks = np.abs(traces[:5]).argmax(axis=1) * case.DT
    # a wave in 2-D lags by an eighth of a period, and its largest value is a peak or a trough beside it
    assert peaks - arrival - 1.5 / case.F0 == pytest.approx(0, abs=0.5 / case.F0)


def test_a_coarse_grid_of_the_box_has_the_kept_traces_to_its_accuracy(modules):
    case, reference = modules["rock_case"], modules["rock_reference"]
    setting = case.Setting("iso", 8, case.SHORTEST / 3.521, ndim=2)
    error, each = reference.relative(reference.model(setting), reference.kept("rock2d-iso"))
    assert error < 0.01
    assert max(each) < 0.01
