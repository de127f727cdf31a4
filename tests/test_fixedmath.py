"""The fixed-order elementary functions against the C library and exact series.

Tolerance: both sides round the result once and evaluate it with an error of about one unit in the last place,
2.2e-16; 1e-15 leaves a factor of two beyond the sum of both.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from subsalt.numerics import fixedmath

TOLERANCE = 1e-15
RNG = np.random.default_rng(7)


def libm(function, x):
    return np.array([function(v) for v in x])


def relative(a, b):
    return float(np.max(np.abs(a - b) / np.abs(b)))


def test_exp():
    x = np.concatenate([RNG.uniform(-700, 700, 20000), RNG.uniform(-1, 1, 20000), [0.0, -0.0, 1.0, 709.7]])
    assert relative(fixedmath.exp(x), libm(math.exp, x)) < TOLERANCE
    assert fixedmath.exp(0.0) == 1.0


def test_exp_at_the_limits():
    got = fixedmath.exp([-np.inf, -800.0, 710.0, np.inf])
    np.testing.assert_array_equal(got, [0.0, 0.0, np.inf, np.inf])
    assert np.isnan(fixedmath.exp(np.nan))
    # subnormal results have fewer bits: one unit there is 5e-324
    assert abs(float(fixedmath.exp(-740.0)) - math.exp(-740.0)) <= 5e-324


def test_log():
    x = np.concatenate(
        [2.0 ** RNG.uniform(-1000, 1000, 20000), 1 + RNG.uniform(-1e-3, 1e-3, 20000), [5e-324, 1e-310]]
    )
    x = x[x != 1.0]
    assert relative(fixedmath.log(x), libm(math.log, x)) < TOLERANCE
    np.testing.assert_array_equal(fixedmath.log([1.0, 0.0, np.inf]), [0.0, -np.inf, np.inf])
    assert np.isnan(fixedmath.log([-1.0, np.nan])).all()


@pytest.mark.parametrize("size", [1e-8, 1.0, 10.0, 1e4, 1e7])
def test_sin_cos(size):
    x = RNG.uniform(-size, size, 20000)
    assert relative(fixedmath.sin(x), libm(math.sin, x)) < TOLERANCE
    assert relative(fixedmath.cos(x), libm(math.cos, x)) < TOLERANCE


def test_sin_cos_near_multiples_of_half_pi():
    # a double misses k pi/2 by 1e-16 k or so; the reduction keeps 1e-28 of that, far below any use of it
    x = np.arange(1, 100001) * (np.pi / 2)
    for ours, theirs in ((fixedmath.sin, math.sin), (fixedmath.cos, math.cos)):
        want = libm(theirs, x)
        assert (np.abs(ours(x) - want) <= TOLERANCE * np.abs(want) + 1e-28).all()


def test_sin_refuses_what_it_cannot_reduce():
    assert np.isnan(fixedmath.sin([1e8, np.inf, np.nan])).all()
    assert np.isnan(fixedmath.cos([-1e8, np.inf, np.nan])).all()


def test_asin():
    x = np.concatenate([RNG.uniform(-1, 1, 20000), 1 - np.logspace(-16, -1, 500), [1e-9, 0.5, 1.0, -1.0]])
    assert relative(fixedmath.asin(x), libm(math.asin, x)) < TOLERANCE
    assert np.isnan(fixedmath.asin([1.1, -2.0, np.nan])).all()


def test_sinc():
    x = np.concatenate([RNG.uniform(-20, 20, 20000), [1e-9, 0.25, 0.5, 0.75]])
    exact = libm(lambda v: math.sin(math.pi * math.fmod(v, 2.0)) / (math.pi * v), x)
    # fmod is exact, the reference loses 2 pi units in the last place of its angle
    assert float(np.max(np.abs(fixedmath.sinc(x) - exact))) < 4 * TOLERANCE
    np.testing.assert_array_equal(fixedmath.sinc([0.0, 1.0, -3.0, 17.0]), [1.0, 0.0, 0.0, 0.0])


def test_bessel_i0():
    def exact(x):
        q, term, total, k = Fraction(x) ** 2 / 4, Fraction(1), Fraction(1), 1
        while term > total / 10**18 or k <= x:
            term = term * q / (k * k)
            total, k = total + term, k + 1
        return float(total)

    x = np.concatenate([RNG.uniform(0, 30, 60), [0.0, 6.31, 12.53]])
    # Horner's rule over about x + 10 terms that matter: half a unit each, damped by the factor below one
    assert relative(fixedmath.bessel_i0(x), libm(exact, x)) < 4 * TOLERANCE
    assert np.isnan(fixedmath.bessel_i0(31.0))


def test_power():
    x = RNG.uniform(0, 1, 1000)
    for exponent in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 8.0):
        np.testing.assert_allclose(fixedmath.power(x, exponent), x**exponent, rtol=8 * TOLERANCE)
    np.testing.assert_allclose(fixedmath.power(x, 2.3), x**2.3, rtol=30 * TOLERANCE)
    assert fixedmath.power(0.0, 2.3) == 0.0


def test_total_and_dot_follow_the_order():
    x = RNG.standard_normal(1001)
    y = RNG.standard_normal(1001)
    total = product = 0.0
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        total += a
        product += a * b
    assert fixedmath.total(x) == total
    assert fixedmath.dot(x, y) == product


def test_shapes_are_kept():
    assert fixedmath.exp(np.zeros((2, 3, 4))[:, ::2]).shape == (2, 2, 4)
    assert fixedmath.cos(0.0).shape == ()
    assert fixedmath.sin(np.zeros(0)).shape == (0,)
