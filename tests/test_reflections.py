"""Reflections and shallow stations modelled on a chosen grid: `accuracy` holds at every order, or is refused."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from subsalt import ormsby, ricker
from subsalt.acquisition.injection import HICKS, sinc_points, window_of
from subsalt.errors import ConfigError
from subsalt.numerics.stencil import FITTED_ORDERS, Stencil
from subsalt.propagation.folding import Waves, points_of_image, reflection_error
from subsalt.propagation.grid_choice import points_needed
from subsalt.propagation.options import PropagationOptions
from thorough import thorough

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
#: what is promised, for the travel of a wave and for what the interface adds
ACCURACY = 0.01
WAVELET = ricker(15.0, 0.0005)


@pytest.fixture(scope="module")
def reflections():
    """Return the module of `make prove-reflections`, whose small form this is."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield importlib.import_module("reflections")
    finally:
        sys.path.remove(str(BENCHMARKS))
        for name in ("reflections", "facts"):
            sys.modules.pop(name, None)


CASES = [
    *((order, {}) for order in (4, 10)),
    (12, {"above": 2060.0, "below": 2000.0}),
    (8, {"above": 1500.0, "below": 4500.0, "offset": 3.0}),
    *((order, {"epsilon": 0.2}) for order in (6, 16)),
    (14, {"epsilon": 0.2, "tilt": 0.6}),
]
#: with those above, every order alone and the harder cases at more of them
MORE_CASES = [
    *((order, {}) for order in FITTED_ORDERS if order not in (4, 10)),
    (8, {"above": 2060.0, "below": 2000.0}),
    (14, {"above": 1500.0, "below": 4500.0, "offset": 3.0}),
    (12, {"epsilon": 0.2}),
    *((order, {"epsilon": 0.2, "tilt": 0.6}) for order in (8, 12)),
]


@pytest.mark.parametrize(
    ("order", "case"),
    [*CASES, *(pytest.param(*c, marks=thorough) for c in MORE_CASES)],
    ids=lambda v: v if isinstance(v, int) else "_".join(v),
)
def test_a_reflection_is_right_wherever_the_interface_lies(reflections, order, case):
    """The other orders, media and contrasts are in `make prove-reflections`."""
    errors = reflections.reflection_errors(reflections.Reflection(**case), order, 2 if "tilt" in case else 3)
    assert max(errors) < ACCURACY, errors


@pytest.mark.parametrize("order", FITTED_ORDERS)
@pytest.mark.parametrize("depths", [(0.05, 0.05), (0.3, 0.5), (0.05, 8.0), (2.6, 1.25)])
def test_a_shallow_station_below_a_free_surface_is_right(reflections, order, depths):
    errors = reflections.station_errors(reflections.Station(*depths), order)
    assert max(errors) < ACCURACY, errors


def test_a_reflection_in_3d(reflections):
    case = reflections.Reflection(ndim=3, per_cell=2)
    assert max(reflections.reflection_errors(case, 8, 1)) < ACCURACY


def within(weights: Stencil, accuracy: float) -> None:
    """Assert that the points found hold, there and on finer grids, but for the digit that the travel may take."""
    needed = points_needed(weights, False, accuracy, WAVELET, imaging=False)
    points = np.linspace(needed.points, 12.0, 50)
    assert reflection_error(weights, False, Waves.of(WAVELET), points).max() <= 1.01 * accuracy


@pytest.mark.parametrize("order", FITTED_ORDERS)
def test_an_accuracy_that_every_order_reaches(order):
    within(Stencil(order, "fitted"), 0.03)


@pytest.mark.parametrize("accuracy", [0.003, 0.001])
@pytest.mark.parametrize("order", FITTED_ORDERS)
def test_an_accuracy_is_refused_with_weights_that_reach_it(order, accuracy):
    with pytest.raises(ConfigError, match="cannot be reached") as caught:
        points_needed(Stencil(order, "fitted"), False, accuracy, WAVELET, imaging=False)
    assert caught.value.code == "E546"
    cure = re.search(r'order = (\d+) and stencil = "(\w+)"', caught.value.fix)
    assert cure is not None
    within(Stencil(int(cure[1]), cure[2]), accuracy)


def test_what_decides_the_points():
    weights = Stencil(8, "fitted")
    modelling = points_needed(weights, False, ACCURACY, WAVELET, imaging=False)
    assert modelling.decided_by == "reflection"
    assert modelling.points == modelling.reflection == pytest.approx(4.4, abs=0.05)
    imaging = points_needed(Stencil(12, "fitted"), False, ACCURACY, WAVELET, imaging=True)
    assert imaging.decided_by == "image"
    assert imaging.points == pytest.approx(3.45, abs=0.03)
    assert points_needed(weights, False, ACCURACY, WAVELET, imaging=True).decided_by == "direct wave"
    # no order saves what folds, and none needs less than four points for the highest frequency that counts
    folding = [
        points_needed(Stencil(o, "fitted"), t, ACCURACY, WAVELET, imaging=False).reflection
        for o in (8, 10, 12, 14, 16)
        for t in (False, True)
    ]
    assert min(folding) > 4.0
    assert max(folding) < 1.03 * min(folding)


def test_a_wavelet_of_another_spectrum_takes_other_points():
    """Of a spectrum that ends at fmax as a wall, nothing folds from four points on but what the window lets through."""
    flat = ormsby(4.0, 8.0, 36.0, 40.0, 0.001)
    points = points_needed(Stencil(12, "fitted"), False, ACCURACY, flat, imaging=False)
    assert 4.0 < points.reflection * flat.fmax / 40.0 < 6.0
    assert points_of_image(flat, ACCURACY) * flat.fmax / 40.0 <= 4.0


@pytest.mark.parametrize("order", FITTED_ORDERS)
def test_weights_beside_a_free_surface_are_right_for_odd_waves(order):
    """To a third of the accuracy, on the coarsest grids that carry direct waves; also for grazing waves."""
    weights = Stencil(order, "fitted")
    depth = np.concatenate([[1e-4, 0.01], np.linspace(0.05, 7.95, 80)])
    index = np.column_stack([np.full(len(depth), 20.0), np.zeros(len(depth)), depth])
    points = sinc_points((40, 1, 40), index, 2, window_of(weights, chosen=True), free_surface_row=0)
    part = np.linspace(0.02, 1.0, 50)
    power = Waves.ricker().power[:50]
    nodes = points.base[:, 2, None] + np.arange(points.width)
    for oblique in (1.0, 0.5, 0.1):
        k = oblique * 2 * np.pi * part / weights.points()
        sampled = np.einsum(
            "nj,njk->nk", points.weights[:, 2].astype(np.float64), np.sin(nodes[:, :, None] * k)
        )
        exact = np.sin(depth[:, None] * k)
        error = np.sqrt(((sampled - exact) ** 2 @ power) / (exact**2 @ power))
        assert error.max() < ACCURACY / 3, depth[error.argmax()]


def test_the_model_s_grid_keeps_the_window():
    assert PropagationOptions().window == window_of(Stencil(8, "fitted")) == HICKS
    assert PropagationOptions(trace_error=1e-4).window.band is not None
