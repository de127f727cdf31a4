"""The velocity of a time migration: constant, functions, eta of layers and media."""

import numpy as np
import pytest

from subsalt.acquisition.survey import TimeAxis
from subsalt.methods.kirchhoff.velocity.time_velocity import ConstantVelocity, VelocityFunction

TIME = TimeAxis(251, 0.008)
POINTS = np.array([[0.0, 0.0], [1250.0, -40.0], [1e6, 5e6]])


def test_a_constant_is_the_same_everywhere():
    v, eta = ConstantVelocity(2345.0).at(POINTS, TIME)
    assert v.dtype == np.float32
    assert v.shape == (3, 251)
    assert (v == 2345).all()
    assert eta is None


def test_eta_comes_with_a_constant():
    _, eta = ConstantVelocity(2000.0, eta=0.07).at(POINTS, TIME)
    assert eta is not None
    assert eta.dtype == np.float32
    assert (eta == np.float32(0.07)).all()


def test_a_function_is_linear_between_its_times():
    v, _ = VelocityFunction([0.4, 1.2], [1500.0, 1900.0]).at(POINTS[:1], TIME)
    assert v[0, [0, 50, 100, 150, 250]].tolist() == [1500, 1500, 1700, 1900, 1900]


def test_curved_rays_of_one_velocity_are_straight():
    v, eta = VelocityFunction([0.0, 2.0], [2000.0, 2000.0], curved=True).at(POINTS[:1], TIME)
    assert eta is not None
    assert np.abs(eta).max() < 1e-11
    assert (v == 2000).all()


def test_eta_of_the_medium_is_added_to_that_of_the_layers():
    t, v = [0.0, 1.0, 2.0], [1500.0, 2000.0, 2600.0]
    _, layers = VelocityFunction(t, v, curved=True).at(POINTS[:1], TIME)
    _, both = VelocityFunction(t, v, eta=0.1, curved=True).at(POINTS[:1], TIME)
    assert layers is not None
    assert both is not None
    assert layers[0, -1] > 0.01
    # both are rounded to float32 after a sum in double precision
    np.testing.assert_allclose(both, layers + 0.1, rtol=3e-7)


def test_an_image_that_begins_late_bends_rays_as_one_that_begins_at_zero():
    velocity = VelocityFunction([0.0, 1.0, 2.0], [1500.0, 2000.0, 2600.0], curved=True)
    _, whole = velocity.at(POINTS[:1], TIME)
    _, late = velocity.at(POINTS[:1], TimeAxis(151, 0.008, 0.8))
    assert whole is not None
    assert late is not None
    assert late[0] == pytest.approx(whole[0, 100:], rel=1e-6)


def test_scaling_leaves_eta_alone():
    velocity = VelocityFunction([0.0, 2.0], [1500.0, 2600.0], curved=True)
    v, eta = velocity.at(POINTS, TIME)
    w, same = velocity.scaled(1.05).at(POINTS, TIME)
    np.testing.assert_allclose(w, 1.05 * v, rtol=2e-7)
    # the ratio of the moments does not know the unit of velocity
    np.testing.assert_allclose(same, eta, rtol=1e-5, atol=1e-9)
