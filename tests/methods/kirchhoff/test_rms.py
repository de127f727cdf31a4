"""Rms velocities of interval, layered and average velocities against integrals done by hand, and Dix back."""

import numpy as np
import pytest

from subsalt.methods.kirchhoff.velocity.rms import (
    MATCHED,
    dix,
    layer_eta,
    linear,
    rms_of_average,
    rms_of_interval,
    rms_of_layers,
)

EPS = np.finfo(np.float64).eps


def test_linear_meets_its_nodes_and_continues_beyond():
    t, v = np.array([0.5, 1.0, 2.0]), np.array([1500.0, 2000.0, 3000.0])
    at = np.array([0.0, 0.5, 0.75, 1.0, 1.25, 2.0, 9.0])
    assert linear(t, v, at).tolist() == [1500, 1500, 1750, 2000, 2250, 3000, 3000]


def test_one_node_is_a_constant():
    at = np.linspace(0, 3, 7)
    for convert in (linear, rms_of_interval, rms_of_layers, rms_of_average):
        np.testing.assert_allclose(convert(np.array([1.0]), np.array([2000.0]), at), 2000.0, rtol=4 * EPS)


def test_layers_are_the_sum_of_dix():
    t, v = np.array([1.0, 1.5, 2.0]), np.array([1500.0, 2500.0, 4000.0])
    got = rms_of_layers(t, v, np.array([0.0, 0.5, 1.0, 1.25, 2.0, 3.0]))
    energy = [1500**2, 1500**2, 1500**2, (1500**2 + 0.25 * 2500**2) / 1.25]
    energy += [(1500**2 + 0.5 * 2500**2 + 0.5 * 4000**2) / 2]
    energy += [(1500**2 + 0.5 * 2500**2 + 1.5 * 4000**2) / 3]
    # a dozen operations, each within half a unit in the last place
    np.testing.assert_allclose(got, np.sqrt(energy), rtol=12 * EPS)


def test_interval_velocity_that_grows_linearly_has_the_integral_of_its_square():
    a, b = 1500.0, 700.0
    at = np.linspace(0, 4, 41)
    got = rms_of_interval(np.array([0.0, 1.3, 2.0, 5.0]), a + b * np.array([0.0, 1.3, 2.0, 5.0]), at)
    exact = np.sqrt(a * a + a * b * at + b * b * at * at / 3)
    np.testing.assert_allclose(got, exact, rtol=20 * EPS)


def test_interval_velocities_that_begin_late_continue_to_time_zero():
    got = rms_of_interval(np.array([1.0, 2.0]), np.array([2000.0, 2000.0]), np.array([0.0, 0.3, 1.0, 2.0]))
    np.testing.assert_allclose(got, 2000.0, rtol=8 * EPS)


def test_average_velocity_becomes_rms_velocity():
    # v_int = a + b t has the average a + b t / 2
    a, b = 1800.0, 500.0
    t = np.array([0.0, 0.7, 1.9, 4.0])
    at = np.linspace(0, 4, 33)
    exact = np.sqrt(a * a + a * b * at + b * b * at * at / 3)
    np.testing.assert_allclose(rms_of_average(t, a + b * t / 2, at), exact, rtol=20 * EPS)


def test_rows_are_converted_each_by_itself():
    t, at = np.array([0.2, 1.0, 2.0]), np.linspace(0, 3, 11)
    v = np.array([[1500.0, 2000.0, 2600.0], [1480.0, 1900.0, 4000.0]])
    for convert in (linear, rms_of_interval, rms_of_layers, rms_of_average):
        both = convert(t, v, at)
        assert np.array_equal(both, np.stack([convert(t, row, at) for row in v]))


def test_dix_undoes_the_rms_velocity():
    t = 0.004 * np.arange(1, 801)
    v = rms_of_layers(np.array([1.0, 2.0, 3.2]), np.array([1500.0, 2500.0, 3500.0]), t)
    squared, beyond = dix(t, v)
    layers = np.where(np.arange(1, 801) <= 250, 1500.0, np.where(np.arange(1, 801) <= 500, 2500.0, 3500.0))
    # the difference of two energies t V^2 over dt loses t / dt of the precision, 800 here
    np.testing.assert_allclose(np.sqrt(squared), layers, rtol=800 * 8 * EPS)
    assert not beyond.any()


def test_dix_says_where_no_layer_has_these_rms_velocities():
    t = 0.1 * np.arange(1, 21)
    v = np.where(t < 1.05, 3000.0, 2500.0)
    squared, beyond = dix(t, v)
    # t V^2 falls from 1.0 x 9e6 to 1.1 x 6.25e6: the interval would need an imaginary velocity
    assert squared[10] < 0
    assert np.nonzero(beyond)[0].tolist() == [10]


def test_one_layer_bends_no_ray():
    eta, clamped = layer_eta(0.004 * np.arange(500), np.full((3, 500), 2000.0))
    # a ratio of sums of 500 equal terms: 1 within the rounding of 500 additions
    assert eta.shape == (3, 500)
    assert np.abs(eta).max() < 500 * 4 * EPS
    assert clamped == 0


def test_two_layers_have_the_eta_that_their_moments_give():
    t = 0.004 * np.arange(1, 501)
    v = rms_of_layers(np.array([1.0, 2.0]), np.array([1500.0, 3000.0]), t)
    mu1, mu2, mu4, mu6 = ((1500.0**j + 3000.0**j) / 2 for j in (1, 2, 4, 6))
    a = (mu4 / mu2**2 - 1) / 4
    b = (2 * (mu4 / mu2**2) ** 2 - mu6 / mu2**3 - mu4 / mu2**2) / 8
    # eta, from the series of the leg summed as a fraction, makes the leg formula equal to it at this y
    y = (MATCHED * mu1) ** 2 / mu2
    missing = a * y**2 / (1 + b / a * y)
    eta, clamped = layer_eta(t, v)
    assert 2 * eta[-1] * y**2 / (1 + (1 + 2 * eta[-1]) * y) == pytest.approx(missing, rel=1e-9)
    assert a / 2 < eta[-1] < a
    assert clamped == 0
    assert np.abs(eta[:250]).max() < 1e-12


def test_clamped_velocities_are_counted_and_leave_eta_finite():
    t = 0.1 * np.arange(0, 21)
    eta, clamped = layer_eta(t, np.where(t < 1.05, 3000.0, 2000.0))
    assert clamped == 1
    assert np.isfinite(eta).all()
    assert eta.min() >= 0
