"""Traveltimes of time migration against exact rays: layers (curved rays) and VTI media (eta).

The leg of the migration, (t/2)^2 = (t0/2)^2 + x^2/v^2 - 2 eta x^4 / (v^2 ((t0/2)^2 v^2 + (1 + 2 eta) x^2)), x half the
offset, with the velocity and eta that `subsalt.methods.kirchhoff.velocity.time_velocity` gives.
"""

import numpy as np
import pytest

from subsalt.acquisition.survey import TimeAxis
from subsalt.analytic import traveltime
from subsalt.methods.kirchhoff.velocity.fields import Profile
from subsalt.methods.kirchhoff.velocity.time_velocity import ConstantVelocity, FieldVelocity, VelocityFunction

TIME = TimeAxis(601, 0.004)
HERE = np.zeros((1, 2))


def leg_time(offset, t0, v, eta):
    """Return the two-way time of a flat reflection at an offset, by the leg formula in double precision."""
    x, half = offset / 2, t0 / 2
    square = half**2 + (x / v) ** 2
    square -= 2 * eta * x**4 / (v**2 * (half**2 * v**2 + (1 + 2 * eta) * x**2))
    return 2 * np.sqrt(square)


def layered_reflection(thickness, velocity, n=4000):
    """Return offsets and two-way times of the reflection from below layers, by the ray parameter p.

    x(p) = 2 sum h p v / sqrt(1 - p^2 v^2),  t(p) = 2 sum h / (v sqrt(1 - p^2 v^2)): exact, no approximation.
    """
    h, v = np.asarray(thickness, float)[:, None], np.asarray(velocity, float)[:, None]
    # crowded towards grazing rays in the fastest layer
    p = np.sin(np.linspace(0, np.pi / 2, n, endpoint=False)) / v.max()
    cosine = np.sqrt(1 - (p * v) ** 2)
    return 2 * (h * p * v / cosine).sum(axis=0), 2 * (h / (v * cosine)).sum(axis=0)


def error_at(offset, thickness, velocity, curved):
    """Return computed minus exact time, s, of the reflection from below layers at an offset."""
    t0 = 2 * sum(h / v for h, v in zip(thickness, velocity, strict=True))
    ends = np.cumsum([2 * h / v for h, v in zip(thickness, velocity, strict=True)])
    field = FieldVelocity(Profile(ends, np.array(velocity, float), "layers"), None, curved)
    axis = TimeAxis(1001, t0 / 1000)
    v, eta = field.at(HERE, axis)
    x, t = layered_reflection(thickness, velocity)
    assert x[-1] > offset
    e = 0.0 if eta is None else float(eta[0, -1])
    return leg_time(offset, t0, float(v[0, -1]), e) - np.interp(offset, x, t)


LAYERS = [
    ([500, 500, 500], [1500, 2000, 2800]),
    ([300, 700, 400, 600], [1500, 1800, 2400, 3200]),
    ([200] * 10, list(1600 + 180 * np.arange(10))),
    ([400, 300, 500], [1480, 3000, 2200]),
]


@pytest.mark.parametrize(("thickness", "velocity"), LAYERS)
def test_curved_rays_leave_a_third_of_the_error_of_straight_ones(thickness, velocity):
    offset = 2.0 * sum(thickness)
    straight = error_at(offset, thickness, velocity, False)
    curved = error_at(offset, thickness, velocity, True)
    # rms velocity makes far reflections late: rays run where layers are fast
    assert straight > 0.02
    assert abs(curved) <= straight / 3


@pytest.mark.parametrize(("thickness", "velocity"), LAYERS)
def test_curved_rays_are_better_at_every_offset(thickness, velocity):
    for part in (0.5, 1.0, 1.5, 2.0, 2.5):
        straight, curved = (error_at(part * sum(thickness), thickness, velocity, c) for c in (False, True))
        assert abs(curved) < 0.75 * straight
        # and never off by more than a quarter of a period of 40 Hz before twice the depth
        assert part > 2 or abs(curved) < 0.0125


@pytest.mark.parametrize(("thickness", "velocity"), LAYERS)
def test_near_offsets_are_exact_either_way(thickness, velocity):
    offset = 0.2 * sum(thickness)
    for curved in (False, True):
        # next term of the moveout: 2 eta x^4 / (v^2 ...) at x = depth / 10, below 2 * 0.1 * 1e-4 / 4 of t0 / 2
        assert abs(error_at(offset, thickness, velocity, curved)) < 2e-5


def vti(eta, delta=0.1, vp=2000.0, depth=1000.0):
    """Return rms velocity, t0 and epsilon of a uniform VTI layer with this eta."""
    epsilon = delta + eta * (1 + 2 * delta)
    return vp * np.sqrt(1 + 2 * delta), 2 * depth / vp, epsilon


def vti_times(eta, delta):
    """Return (formula, exact, hyperbola) two-way times of a reflection below a VTI layer, at 41 offsets to 2 depths."""
    vp, depth = 2000.0, 1000.0
    v, t0, epsilon = vti(eta, delta, vp, depth)
    got_v, got_eta = ConstantVelocity(v, eta).at(HERE, TIME)
    offset = np.linspace(0, 2 * depth, 41)
    exact = 2 * traveltime(np.stack([offset / 2, np.full(41, depth)], axis=-1), vp, epsilon, delta)
    formula = leg_time(offset, t0, float(got_v[0, 0]), float(got_eta[0, 0]))
    return formula, exact, leg_time(offset, t0, v, 0.0)


@pytest.mark.parametrize("eta", [0.02, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_eta_meets_exact_times_of_vti_media(eta, delta):
    formula, exact, hyperbola = vti_times(eta, delta)
    # To first order in eta the formula is exact: t^2 = H - 2 eta x^4 / (v^4 H) with H = t0^2 / 4 + x^2 / v^2. What is
    # left is of order eta^2 (next test), with a factor that is largest for small eta: 0.24 up to offsets of 2 depths.
    assert np.abs(formula / exact - 1).max() < 0.25 * eta**2 + 1e-6
    assert np.abs(formula - exact).max() < np.abs(hyperbola - exact).max() / 5


def test_the_error_of_eta_is_of_second_order():
    worst = [np.abs(np.subtract(*vti_times(eta, 0.1)[:2])).max() for eta in (0.04, 0.02)]
    # times are float32 values of v and eta: 1e-7 of a second beside 5e-5
    assert 3.3 < worst[0] / worst[1] < 4.5


def test_no_eta_is_the_hyperbola_to_the_last_bit():
    x = np.linspace(0, 5000, 101)
    assert np.array_equal(leg_time(x, 1.2, 2200.0, 0.0), 2 * np.sqrt(0.6**2 + (x / 2 / 2200.0) ** 2))
    v, eta = ConstantVelocity(2200.0, 0.0).at(HERE, TIME)
    assert (eta == 0).all()
    assert ConstantVelocity(2200.0).at(HERE, TIME)[1] is None
    assert (v == 2200).all()


def test_elliptical_media_have_the_hyperbola_of_their_moveout_velocity():
    vp, delta, depth = 2000.0, 0.15, 1000.0
    offset = np.linspace(0, 4 * depth, 21)
    exact = 2 * traveltime(np.stack([offset / 2, np.full(21, depth)], axis=-1), vp, delta, delta)
    got = leg_time(offset, 2 * depth / vp, vp * np.sqrt(1 + 2 * delta), 0.0)
    np.testing.assert_allclose(got, exact, rtol=1e-9)


def test_functions_of_rms_velocity_bend_rays_as_their_layers_do():
    # layers given as such, and as the rms velocities that a user picks from them, every 40 ms
    thickness, velocity = LAYERS[2]
    ends = np.cumsum([2 * h / v for h, v in zip(thickness, velocity, strict=True)])
    layers = FieldVelocity(Profile(ends, np.array(velocity, float), "layers"), None, True)
    picks = np.arange(0.04, ends[-1] + 0.04, 0.04)
    sparse = TimeAxis(len(picks), 0.04, 0.04)
    picked = VelocityFunction(picks, layers.at(HERE, sparse)[0][0], curved=True)
    axis = TimeAxis(int(ends[-1] / 0.004), 0.004, 0.004)
    a, b = (f.at(HERE, axis)[1][0] for f in (layers, picked))
    # linear between picks: the interval velocity is off within 40 ms of a layer's end
    assert np.abs(a - b).max() < 0.1 * a.max()
