"""Filters of the image, and what is injected at receivers."""

from __future__ import annotations

import numpy as np
import pytest

from subsalt.acquisition.survey import Shot, TimeAxis
from subsalt.acquisition.wavelet import ricker
from subsalt.earth.grid import Grid
from subsalt.methods.rtm.conditions import ImagingSums, SourceNormalised
from subsalt.methods.rtm.filters import laplacian, top_mute
from subsalt.methods.rtm.traces import end_taper, propagation_axis, receiver_area
from subsalt.numerics.fixedmath import ramp


def test_laplacian_of_a_quadratic_is_constant_in_the_interior() -> None:
    grid = Grid((21, 19, 23), (10.0, 20.0, 5.0))
    x, y, z = np.meshgrid(*(grid.axis(i) for i in range(3)), indexing="ij")
    inside = laplacian(x**2 + 2 * y**2 - 3 * z**2, grid)[4:-4, 4:-4, 4:-4]
    # 2 + 4 - 6; rounding: values of 1e5, divided by h^2 = 25, some 30 operations
    assert np.abs(inside - 0.0).max() < 30 * 1.2e5 * 6 / 25 * np.finfo(float).eps * 4


def test_top_mute_is_zero_above_and_one_below_its_ramp() -> None:
    grid = Grid((3, 101), (10.0, 10.0))
    muted = top_mute(np.ones((3, 1, 101)), grid, 200.0)
    assert (muted[..., :21] == 0).all()
    assert (muted[..., 30:] == 1).all()
    assert 0 < muted[0, 0, 25] < 1


def test_ramp_is_monotone_from_zero_to_one() -> None:
    r = ramp(np.linspace(-1, 2, 301))
    assert r[0] == 0
    assert r[-1] == 1
    assert (np.diff(r) >= 0).all()


def test_receiver_areas_of_line_lattice_and_scatter() -> None:
    x = np.array([0.0, 10.0, 20.0, 40.0, 50.0])
    line = Shot(1, np.zeros(3), np.stack([x, 0 * x, 0 * x], axis=1))
    # the hole between 20 and 40 is not filled beyond twice the usual spacing
    np.testing.assert_allclose(receiver_area(line, 2), [10, 10, 15, 15, 10])
    gx, gy = np.meshgrid(np.arange(4) * 25.0, np.arange(3) * 50.0, indexing="ij")
    lattice = Shot(1, np.zeros(3), np.stack([gx.ravel(), gy.ravel(), 0 * gx.ravel()], axis=1))
    np.testing.assert_allclose(receiver_area(lattice, 3), 25.0 * 50.0)
    rng = np.random.default_rng(1)
    scatter = Shot(1, np.zeros(3), np.concatenate([rng.uniform(0, 100, (50, 2)), np.zeros((50, 1))], axis=1))
    area = receiver_area(scatter, 3)
    assert area.sum() == pytest.approx(np.ptp(scatter.rcv[:, 0]) * np.ptp(scatter.rcv[:, 1]))


@pytest.mark.parametrize("degrees", [0.0, 0.1, 10.0, 45.0, 90.0, 135.0])
@pytest.mark.parametrize("wiggle", [0.0, 0.01, 1.0, 5.0])
def test_a_streamer_that_feathers_weighs_like_a_straight_one(degrees: float, wiggle: float) -> None:
    """The bounding box gave 0.4 to 4900 m^2 for these, and every shot of a survey another weight."""
    u = np.arange(100) * 10.0
    v = wiggle * np.sin(u / 150.0)
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    shot = Shot(1, np.zeros(3), np.stack([c * u - s * v, s * u + c * v, 0 * u], axis=1))
    area = receiver_area(shot, 3)
    # positions are rounded to millimetres; the principal direction is that of the line to 5 m in 300
    np.testing.assert_allclose(area, 10.0, atol=2e-3 + 10.0 * (wiggle / 150.0))
    assert area.sum() == pytest.approx(1000.0, rel=1e-3)


def test_end_taper_touches_only_the_end() -> None:
    traces = np.ones((2, 200), dtype=np.float32)
    tapered = end_taper(traces, TimeAxis(200, 0.004), 0.05)
    assert (tapered[:, :180] == 1).all()
    assert tapered[0, -1] < 0.05
    assert (traces == 1).all()


def test_end_taper_is_one_step_from_one_to_zero_over_the_samples_asked_for() -> None:
    """The step is odd about its middle, between the last sample left alone and the first behind the record."""
    n = 13
    weights = end_taper(np.ones((1, 200), np.float32), TimeAxis(200, 0.004), n * 0.004)[0]
    assert (np.flatnonzero(weights != 1) == np.arange(200 - n, 200)).all()
    last = weights[-n:].astype(float)
    assert (np.diff(last) < 0).all()
    assert last[-1] > 0
    # two weights rounded to float32, each at most one
    np.testing.assert_allclose(last + last[::-1], 1.0, atol=2**-23)
    # a cubic whose slope is zero at both ends: x^2 (3 - 2 x)
    assert last[-1] == pytest.approx((1 / (n + 1)) ** 2 * (3 - 2 / (n + 1)), rel=1e-6)


def test_propagation_starts_with_an_early_wavelet_and_covers_the_record() -> None:
    record = TimeAxis(251, 0.004)
    axis = propagation_axis(record, ricker(10.0, 0.001, delay=0.0), 0.0013)
    assert axis.t0 <= 0.0
    assert axis.duration >= record.duration
    assert propagation_axis(record, ricker(10.0, 0.001), 0.0013).t0 == 0.0


def test_the_floor_of_the_illumination_is_a_share_of_its_mean_over_the_whole_image() -> None:
    """Not of its maximum, which stands at a source and grows as the grid gets finer; nor of the planes at hand."""
    rng = np.random.default_rng(5)
    shape = (6, 1, 9)
    energy, product = rng.uniform(0.5, 2.0, shape), rng.normal(size=shape)
    energy[2, 0, 1] = 1e4  # beside a source
    whole = (float(energy.sum()), energy.size)
    wanted = product / (energy + 0.03 * energy.mean())
    for planes in (slice(0, 6), slice(3, 6)):
        fields = {"correlation": product[planes], "illumination": energy[planes]}
        sums = ImagingSums(fields, Grid((6, 9), (10.0, 10.0)), 0.03, whole)
        np.testing.assert_allclose(SourceNormalised.finish(sums), wanted[planes], rtol=1e-14)
