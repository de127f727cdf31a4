from __future__ import annotations

import numpy as np
import pytest

from subsalt.errors import ConfigError
from subsalt.propagation.absorbing_layer import Layer, decay, profile


def test_defaults():
    pml = Layer()
    assert (pml.width, pml.m) == (12, 2.0)
    assert pml.r == pytest.approx(1e-5)
    assert Layer("pml", 20).r == 1e-8
    assert Layer("pml", 30).r == 1e-8
    assert Layer("pml", 8).m == 1.5
    assert Layer("pml", 8).r == pytest.approx(1e-3)
    damping = Layer("damping")
    assert (damping.width, damping.m, damping.r) == (40, 2.0, 1e-2)
    assert Layer("none", 7).width == 0


def test_weak_layers_say_so():
    assert not Layer("pml").is_weak
    assert not Layer("damping").is_weak
    assert Layer("pml", 6).is_weak
    assert Layer("damping", 20).is_weak


@pytest.mark.parametrize("m", [1.5, 2.0, 3.0, 2.7])
def test_profile_formula(m):
    n, lo, hi, h, vmax, r = 50, 12, 8, 12.5, 4500.0, 1e-4
    sigma = profile(n, lo, hi, h, vmax, m=m, r=r)
    want = np.zeros(n)
    for k in range(1, lo + 1):
        want[lo - k] = (m + 1) * vmax * np.log(1 / r) / (2 * lo * h) * (k / lo) ** m
    for k in range(1, hi + 1):
        want[n - 1 - hi + k] = (m + 1) * vmax * np.log(1 / r) / (2 * hi * h) * (k / hi) ** m
    # a logarithm, a power and five products: some ten roundings
    np.testing.assert_allclose(sigma, want, rtol=1e-14)
    assert not sigma[lo : n - hi].any()


def test_profile_integrates_to_the_reflection():
    # R = exp(-2 integral sigma / v dz): the midpoint-like sum approaches it as the cells become small
    width, h, v, r = 4000, 0.01, 2000.0, 1e-3
    sigma = profile(width + 1, 0, width, h, v, m=2.0, r=r)
    assert np.exp(-2 * sigma.sum() * h / v) == pytest.approx(r, rel=width**-1 * 3 * np.log(1 / r))


def test_one_sided_and_empty():
    sigma = Layer().profile(40, 0, 12, 10.0, 3000.0)
    assert not sigma[:28].any()
    assert (np.diff(sigma[27:]) > 0).all()
    assert not Layer("none").profile(40, 0, 0, 10.0, 3000.0).any()
    both = Layer().profile(40, 12, 12, 10.0, 3000.0)
    np.testing.assert_array_equal(both, both[::-1])


def test_decay():
    sigma = np.array([0.0, 10.0, 900.0])
    np.testing.assert_allclose(decay(sigma, 1e-3), np.exp(-sigma * 1e-3), rtol=1e-15)
    assert decay(sigma, 1e-3)[0] == 1.0


@pytest.mark.parametrize(
    "bad", [("sponge",), ("pml", 0), ("damping", -1), ("pml", 12, 9.0), ("pml", 12, 2.0, 1.5)]
)
def test_wrong_layers(bad):
    with pytest.raises(ConfigError):
        Layer(*bad)


def test_layers_longer_than_the_axis():
    with pytest.raises(ConfigError, match="20 points"):
        profile(20, 12, 12, 10.0, 2000.0, m=2.0, r=1e-5)
