"""Filters of traces and values between samples: against direct sums, closed forms, and their own transposes."""

import numpy as np
import pytest

from subsalt.numerics.filters import Filter, convolve, half_integral, minimum_phase, zero_phase
from subsalt.numerics.interpolation import Resampling, shifted, weights

EPS = np.finfo(np.float64).eps
RNG = np.random.default_rng(3)


def pairs(a, b):
    """Return sums of products that should agree, over the size of their terms."""
    return abs(float((a[0] * a[1]).sum() - (b[0] * b[1]).sum())) / (
        np.linalg.norm(a[0]) * np.linalg.norm(a[1])
    )


@pytest.mark.parametrize(
    ("nt", "taps", "first"), [(1, 1, 0), (5, 3, -1), (17, 40, -20), (100, 60, 3), (64, 9, -70)]
)
def test_convolution_is_the_direct_sum(nt, taps, first):
    """Lags beyond the record act on nothing; the transform rounds some log2(N) times."""
    x, h = RNG.standard_normal((11, nt)), RNG.standard_normal(taps)
    wide = np.zeros((11, nt))
    for j, value in enumerate(h):
        lag = first + j
        if abs(lag) < nt:
            wide[:, max(lag, 0) : nt + min(lag, 0)] += value * x[:, max(-lag, 0) : nt - max(lag, 0)]
    got = convolve(x, Filter(h, first))
    assert np.abs(got - wide).max() <= 40 * EPS * np.abs(h).sum() * np.abs(x).max()
    # float32 is rounded once, at the end
    single = convolve(x.astype(np.float32), Filter(h, first))
    same = convolve(x.astype(np.float32).astype(np.float64), Filter(h, first))
    np.testing.assert_array_equal(single, same.astype(np.float32))


def test_traces_and_threads_beside_a_trace_change_no_bit():
    x, f = RNG.standard_normal((19, 90)).astype(np.float32), Filter(RNG.standard_normal(30), -12)
    whole = convolve(x, f)
    np.testing.assert_array_equal(convolve(x[7:8], f)[0], whole[7])
    np.testing.assert_array_equal(convolve(x[3:], f, threads=2), whole[3:])


def test_a_zero_phase_filter_has_the_amplitude_asked_for():
    """The response of a smooth amplitude, and no phase; its taps mirror each other to the last bit."""
    f = zero_phase(lambda f: np.exp(-(((f - 30) / 6) ** 2)), 200, 0.004)
    np.testing.assert_array_equal(f.taps, f.taps[::-1])
    frequency = np.linspace(0, 125, 40)
    real, imag = f.response(frequency, 0.004)
    # at zero frequency e^-25, whose kink there is all that lags beyond the record could hold
    np.testing.assert_allclose(real, np.exp(-(((frequency - 30) / 6) ** 2)), atol=1e-10)
    assert np.abs(imag).max() < 1e-12


def test_minimum_phase_finds_the_factor_with_its_zeros_inside():
    """|1 - 0.7 z| |1 + 0.5 z| is the amplitude of many filters, of which one is causal with a causal inverse."""
    z = lambda f: np.exp(-2j * np.pi * f * 0.004)  # noqa: E731
    got = minimum_phase(lambda f: np.abs((1 - 0.7 * z(f)) * (0.5 + z(f))), 40, 0.004)
    want = np.convolve([1.0, -0.7], [1.0, 0.5])
    assert got.first == 0
    # the cepstrum folds back with 0.7^n / n at n = 512
    np.testing.assert_allclose(got.taps[:5], [*want, 0, 0], atol=1e-12)


def test_the_half_integral_twice_is_the_integral():
    """Of a pulse without a mean; above 0.8 of Nyquist, four times its own frequency, it has next to nothing."""
    nt, dt = 400, 0.004
    h = half_integral(nt, dt)
    t = dt * np.arange(nt) - 0.4
    a = (np.pi * 25 * t) ** 2
    pulse, integral = (1 - 2 * a) * np.exp(-a), t * np.exp(-a)
    twice = convolve(convolve(pulse[None], h), h)[0]
    # the pulse has 16^2 e^-16 of its spectrum there, 3e-5 of its peak
    assert np.abs(twice - integral).max() < 1e-3 * np.abs(integral).max()
    # the kernel 1 / sqrt(pi t) ends with the record, at T: the rest of it, a series of ratio e^{-i w dt}, is next to
    # all
    w = 2 * np.pi * np.array([20.0, 60.0, 95.0])
    real, imag = h.response(w / (2 * np.pi), dt)
    error = np.abs((real + 1j * imag) * np.sqrt(1j * w) - 1)
    rest = dt / (2 * np.sin(w * dt / 2)) / np.sqrt(np.pi * nt * dt)
    assert (error < 1.1 * rest * np.sqrt(w)).all()


def test_shifts_by_parts_of_a_sample():
    """A pulse below 0.9 of Nyquist arrives where it should to 1e-5 (Kaiser's 100 dB); whole samples exactly."""
    i = np.arange(300)
    pulse = lambda t: np.cos(0.8 * np.pi * t) * np.exp(-(((t - 150) / 30) ** 2))  # noqa: E731
    by = np.array([0.37, -2.61, 5.0])
    got = shifted(np.tile(pulse(i), (3, 1)), by)
    np.testing.assert_allclose(got, [pulse(i - s) for s in by], atol=1e-5)
    np.testing.assert_array_equal(got[2, 5:], pulse(i)[:-5])
    x, y, by = (
        RNG.standard_normal((4, 120)),
        RNG.standard_normal((4, 120)),
        np.array([0.3, -7.0, -200.0, 0.0]),
    )
    assert pairs((shifted(x, by), y), (x, shifted(y, by, transpose=True))) < 100 * EPS


@pytest.mark.parametrize("step", [2.0, 1.7, 0.6])
def test_another_axis_keeps_what_it_can_carry_and_nothing_else(step):
    i, edge = np.arange(400), min(1.0, 1.0 / step)
    at = step * np.arange(int(399 / step))
    tone = lambda part: np.cos(np.pi * part * (i - 200)) * np.exp(-(((i - 200) / 60) ** 2))  # noqa: E731
    passed, folded = 0.75 * edge, 1.06 * edge
    cutoff = 1.0 if step <= 1 else edge / 1.1
    want = np.cos(np.pi * passed * (at - 200)) * np.exp(-(((at - 200) / 60) ** 2))
    axes = Resampling(400, at, cutoff)
    np.testing.assert_allclose(axes.apply(tone(passed)[None])[0], want, atol=3e-5)
    if step > 1:
        assert np.abs(axes.apply(tone(folded)[None])).max() < 3e-5
    np.testing.assert_allclose(axes.apply(np.ones((1, 400)))[0, 80:-80], 1, atol=1e-14)
    x, y = RNG.standard_normal((3, 400)), RNG.standard_normal((3, len(at)))
    assert pairs((axes.apply(x), y), (x, axes.transpose(y))) < 100 * EPS


def test_compiled_sums_are_the_weighted_ones():
    """Against the weights written out, with windows that hang over both ends of the record."""
    x, at = RNG.standard_normal((2, 30)), np.array([0.0, 0.4, 13.5, 28.9, 40.0])
    got = Resampling(30, at, 0.8).apply(x)
    w, half = weights(at - np.floor(at), 0.8)
    for j, position in enumerate(np.floor(at).astype(int)):
        inside = [(k, position + 1 - half + k) for k in range(2 * half)]
        want = sum(w[j, k] * x[:, i] for k, i in inside if 0 <= i < 30)
        np.testing.assert_allclose(got[:, j], want, atol=100 * EPS)
    single = Resampling(30, at, 0.8).apply(x.astype(np.float32))
    np.testing.assert_array_equal(
        single, Resampling(30, at, 0.8).apply(x.astype(np.float32).astype(float)).astype("f")
    )
    np.testing.assert_array_equal(shifted(x, np.array([2.3, -4.6]))[1], shifted(x[1:], np.array([-4.6]))[0])
