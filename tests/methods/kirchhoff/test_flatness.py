import numpy as np
import pytest

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError
from subsalt.view.flatness import moved, peak, residual_moveout, semblance

TIME = TimeAxis(500, 0.004)
OFFSET = np.arange(200.0, 3201.0, 125.0)
SPEED = np.full(TIME.nt, 2000.0)


def pulse(t):
    """Return a Ricker wavelet of 25 Hz."""
    a = (np.pi * 25 * t) ** 2
    return (1 - 2 * a) * np.exp(-a)


def gather(events, ratio):
    """Return a gather of events at t0 that lies along what migration with 2000 m/s leaves of 2000 ratio m/s."""
    q = (ratio**-2 - 1) / 2000.0**2
    t = TIME.values()
    return sum(pulse(t - np.sqrt(t0**2 + q * OFFSET[:, None] ** 2)) for t0 in events)


def test_semblance_of_equal_traces_is_one_and_of_noise_one_over_their_number():
    flat = np.tile(pulse(TIME.values() - 1.0), (16, 1))
    near = np.abs(TIME.values() - 1.0) < 0.05
    # cumulated sums of 500 terms: relative rounding 500 eps
    np.testing.assert_allclose(semblance(flat, TIME)[near], 1.0, atol=500 * np.finfo(float).eps)
    noise = np.random.default_rng(3).standard_normal((16, 5000))
    got = semblance(noise, TimeAxis(5000, 0.004)).mean()
    # 5000 / 41 independent windows, each (chi2 of 41) / 16 with a spread of sqrt(2 / 41) / 16: three of their mean
    assert got == pytest.approx(1 / 16, abs=3 * np.sqrt(2 / 41) / 16 / np.sqrt(5000 / 41))


def test_muted_samples_say_nothing():
    flat = np.tile(pulse(TIME.values() - 1.0), (16, 1))
    flat[3:, :250] = 0.0
    s = semblance(flat, TIME)
    assert not s[:250].any()
    assert s[252] > 0.99


def test_reading_along_a_curve_is_exact_for_what_is_linear():
    t = TIME.values()
    q = np.full(TIME.nt, 3e-9)
    line = np.tile(5.0 + t, (len(OFFSET), 1))
    got = moved(line, OFFSET, TIME, q)
    expected = 5.0 + np.sqrt(t**2 + 3e-9 * OFFSET[:, None] ** 2)
    inside = expected - 5.0 < TIME.duration - TIME.dt
    np.testing.assert_allclose(got[inside], expected[inside], rtol=1e-12)
    assert not got[expected - 5.0 > TIME.duration].any()


@pytest.mark.parametrize("ratio", [0.94, 1.0, 1.05])
def test_the_ratio_that_flattens_is_found(ratio):
    moveout = residual_moveout(gather([0.8, 1.4], ratio), OFFSET, TIME, SPEED)
    assert len(moveout.picks) >= 2
    # the scan has a step of 0.15 / 20; the parabola through three of them is better than half of it
    np.testing.assert_allclose(moveout.picks[:, 1], ratio, atol=0.15 / 20 / 2)
    assert moveout.mean_ratio == pytest.approx(ratio, abs=0.15 / 20 / 2)
    # an event lies where it is at zero offset: its energy spreads over half a semblance window
    for t0 in (0.8, 1.4):
        assert np.abs(moveout.picks[:, 0] - t0).min() < 0.04


def test_what_lies_beyond_the_scan_is_not_picked():
    moveout = residual_moveout(gather([1.0], 0.9), OFFSET, TIME, SPEED, widest=0.04)
    assert not len(moveout.picks)
    assert np.isnan(moveout.mean_ratio)
    with pytest.raises(ConfigError, match="widest"):
        residual_moveout(gather([1.0], 1.0), OFFSET, TIME, SPEED, widest=1.5)


def test_the_peak_of_a_parabola_is_exact():
    at = np.array([0.9, 0.95, 1.0, 1.05])
    assert peak(at, 3 - (at - 0.97) ** 2) == pytest.approx(0.97, abs=1e-9)
    assert peak(at, at) == 1.05
