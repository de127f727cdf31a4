"""Weights fitted to the waveform: what all weights keep, and the points that they promise."""

from __future__ import annotations

import importlib.util
import sys
from decimal import Decimal
from math import pi
from pathlib import Path

import numpy as np
import pytest

from subsalt.numerics import stencil
from thorough import ALL, some

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "fit_stencils.py"


@pytest.fixture(scope="module")
def program():
    spec = importlib.util.spec_from_file_location(PROGRAM.stem, PROGRAM)
    module = importlib.util.module_from_spec(spec)
    sys.modules[PROGRAM.stem] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[PROGRAM.stem]


@pytest.mark.parametrize("order", [4, 8, 16])
def test_taylor_weights_are_those_of_the_time_step(program, order):
    weights = program.taylor(order)
    np.testing.assert_allclose(weights.second, stencil.second_derivative(order)[1:], rtol=1e-13)
    np.testing.assert_allclose(weights.first, stencil.first_derivative(order), rtol=1e-13)


def test_points_of_taylor_weights_by_an_independent_sum(program):
    """Waves along an axis of an isotropic medium, whose error is a sum over the spectrum."""
    waves = program.Waves("upright", 40.0, fine=True)
    weights, points = program.taylor(8), 5.0
    along = int(np.argmin(np.abs(waves.waves - [0, 0, 1]).sum(axis=1)))
    x = np.linspace(0.02, 1.25, 120)
    k = 2 * pi / points * x
    c = stencil.second_derivative(8)
    velocity = np.sqrt(-(c[0] + 2 * sum(c[j] * np.cos(j * k) for j in range(1, 5)))) / k
    spectrum = (2.5 * x) ** 2 * np.exp(-((2.5 * x) ** 2))
    difference = np.abs(np.exp(2j * pi * 40 * x * (velocity - 1)) - 1)
    expected = np.linalg.norm(spectrum * difference) / np.linalg.norm(spectrum)
    assert waves.errors(weights, points)[along] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("family", ["upright", "tilted"])
def test_weights_keep_what_stability_needs_and_their_promise(program, family):
    waves = program.Waves(family, 40.0)
    points = {"upright": 9.5, "tilted": 11.0}[family]
    # of axes and directions there are many: weights fitted to some of them keep the promise in all
    some_waves = program.Waves(family, 40.0)
    step = 1 if ALL or family == "upright" else 3
    some_waves.axes, some_waves.waves = waves.axes[::step], waves.waves[::step]
    weights = program.fitted(family, 4, points, some_waves)
    second, first = program.decimals(weights)
    assert sum(k * k * c for k, c in enumerate(second, start=1)) == 1
    assert sum(2 * k * d for k, d in enumerate(first, start=1)) == 1
    assert all(x == x.quantize(Decimal(1).scaleb(-program.PLACES)) for x in second + first)
    # no net of wavenumbers of the program's own: these are drawn
    k = np.sort(np.random.default_rng(1).uniform(0.001, pi, 20_000))
    assert np.all(weights.k2(k) >= weights.k1(k) ** 2)
    assert np.all(np.diff(weights.k2(k)) > 0)
    # Taylor weights are wrong by more on this grid: the fit is what keeps the promise
    assert waves.worst(weights, points) < 0.01 < waves.worst(program.taylor(4), points)


# the others of the tilted ones: tests/physics/test_fitted_stencils.py, by waves of media of their own
@pytest.mark.parametrize(
    ("family", "order"),
    [
        *(("upright", order) for order in stencil.FITTED_ORDERS),
        *(("tilted", order) for order in some(stencil.FITTED_ORDERS, 2)),
    ],
)
def test_the_weights_in_use_keep_the_promise_beside_them(program, order, family):
    """The file, judged again; in more directions than it was fitted to at order 8 upright, all in `make test-all`."""
    tilted, weights = family == "tilted", stencil.Stencil(order, "fitted")
    again = program.Weights(np.array(weights.second(tilted)[1:]), np.array(weights.first(tilted)))
    waves = program.Waves(family, 40.0, fine=ALL or (order == 8 and not tilted))
    assert not tilted or waves.share == weights.tilt_share()
    # points in the file have three decimals
    assert waves.worst(again, weights.points(tilted) + 1e-3) < 0.01
    assert again.stable()
