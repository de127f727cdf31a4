"""How far the symmetry axis turns from cell to cell, and how rough it is."""

import numpy as np
import pytest
from layouts import checkerboard

from subsalt.check.tilt_turn import STEEPEST_TURN, roughness, turn_per_cell
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel


def test_the_turn_of_an_axis_is_that_between_neighbours():
    # a linear swing of 3 degrees per cell along x, 4 along z: neighbours along z differ most
    ix, iz = np.meshgrid(np.arange(12), np.arange(9), indexing="ij")
    model = EarthModel(
        Grid((12, 9), (10.0, 10.0)), 2000.0, 0.2, 0.1, theta=np.deg2rad(3.0 * ix + 4.0 * iz - 40.0)
    )
    # arccos of a float64 cosine at 4 degrees: the float32 angles are good to 1e-7 rad, its slope is 1 / sin 4
    np.testing.assert_allclose(turn_per_cell(model), 4.0, atol=1e-4)


def test_an_axis_has_no_arrow():
    # -89 and 89 degrees are 2 degrees apart
    theta = np.where(np.arange(10)[:, None] % 2, 89.0, -89.0) * np.ones((10, 8))
    model = EarthModel(Grid((10, 8), (10.0, 10.0)), 2000.0, 0.2, 0.1, theta=np.deg2rad(theta))
    assert turn_per_cell(model).max() == pytest.approx(2.0, abs=1e-4)


def test_roughness_is_that_of_noise_and_not_of_a_fold(monkeypatch):
    x = np.arange(40)[:, None] * np.ones((40, 30))
    grid = Grid((40, 30), (10.0, 10.0))
    # 5 degrees per cell through the horizontal and round: no axis is off the mean of its neighbours
    turning = EarthModel(grid, 2000.0, 0.2, 0.1, theta=np.deg2rad((5.0 * x + 90.0) % 180.0 - 90.0))
    assert roughness(turning) < 1e-3
    # +4 and -4 degrees in turn: 8 off the mean along both axes
    noisy = EarthModel(grid, 2000.0, 0.2, 0.1, theta=np.deg2rad(checkerboard(4.0, (40, 30))))
    assert roughness(noisy) == pytest.approx(8.0, rel=1e-5)
    random = np.deg2rad(np.random.default_rng(4).uniform(-90, 90, (40, 30)))
    anything = EarthModel(grid, 2000.0, 0.2, 0.1, theta=random)
    whole = roughness(anything)
    monkeypatch.setattr("subsalt.check.tilt_turn.SLAB", 90)
    assert roughness(anything) == pytest.approx(whole, rel=1e-12)


def test_a_rough_tilt_matters_only_where_waves_feel_it():
    epsilon = np.zeros((20, 16))
    epsilon[:, 8:] = 0.2
    theta = np.deg2rad(checkerboard(30.0, (20, 16)))
    model = EarthModel(Grid((20, 16), (10.0, 10.0)), 2000.0, epsilon, 0.5 * epsilon, theta=theta)
    too_steep = turn_per_cell(model) > STEEPEST_TURN
    # the last isotropic row has an anisotropic neighbour
    assert too_steep[:, 7:].all()
    assert not too_steep[:, :7].any()


def test_slabs_do_not_change_the_turn(monkeypatch):
    rng = np.random.default_rng(1)
    theta, phi = rng.uniform(0, 1.5, (7, 6, 5)), rng.uniform(-3, 3, (7, 6, 5))
    model = EarthModel(Grid((7, 6, 5), (10.0,) * 3), 2000.0, 0.2, 0.1, theta=theta, phi=phi)
    whole = turn_per_cell(model)
    monkeypatch.setattr("subsalt.check.tilt_turn.SLAB", 60)
    np.testing.assert_array_equal(turn_per_cell(model), whole)
    # each component by itself, the plain way
    n = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
    along_x = np.degrees(np.arccos(np.abs((n[:, 1:] * n[:, :-1]).sum(axis=0))))
    assert (whole[1:] >= along_x - 1e-3).all()
    assert (whole[:-1] >= along_x - 1e-3).all()
