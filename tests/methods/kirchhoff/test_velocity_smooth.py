"""Averages over time and map: what they keep, how long they are, and that blocks of points see the same bits."""

import numpy as np
import pytest

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.survey import TimeAxis
from subsalt.methods.kirchhoff.velocity.fields import ConstantField, Profile, TimeField
from subsalt.methods.kirchhoff.velocity.load import SmoothedField, averaged, cosine_weights

TIME = TimeAxis(101, 0.01)
GRID = ImageGrid((1, 60, 1), (1, 80, 1), (1000.0, 2000.0), (0.0, 25.0), (12.5, 0.0), TIME)


class Map(TimeField):
    """A function of x and y, the same at all times."""

    def __init__(self, function):
        self.function = function

    def sample(self, points, time):
        return np.repeat(self.function(points[:, 0], points[:, 1])[:, None], time.nt, axis=1)


@pytest.mark.parametrize("length", [2.5, 3.0, 8.0, 41.3])
def test_weights_are_a_raised_cosine_of_that_length(length):
    w = cosine_weights(length)
    k = np.arange(len(w)) - len(w) // 2
    assert abs(k).max() < length / 2 <= abs(k).max() + 1
    assert w.sum() == pytest.approx(1, abs=1e-15)
    np.testing.assert_allclose(
        w, np.cos(np.pi * k / length) ** 2 / (np.cos(np.pi * k / length) ** 2).sum(), rtol=1e-13
    )


def test_a_length_of_a_sample_is_no_average():
    assert cosine_weights(2.0).tolist() == [1]
    assert cosine_weights(0.0).tolist() == [1]


def test_averages_of_an_axis():
    values = np.arange(12.0).reshape(3, 4)
    np.testing.assert_allclose(averaged(values, np.array([0.25, 0.5, 0.25]), 1), values[:, 1:3])
    np.testing.assert_allclose(averaged(values, np.array([0.25, 0.5, 0.25]), 0), values[1:2])


def test_trends_stay_what_they_are():
    field = Map(lambda x, y: 1500 + 0.1 * x - 0.05 * y)
    smooth = SmoothedField(field, GRID, 0.1, 500.0, 400.0)
    points = GRID.positions()[::37]
    # sums of some hundred products of about 1500
    np.testing.assert_allclose(smooth.sample(points, TIME), field.sample(points, TIME), rtol=1e-13)


def test_time_alone_is_the_weighted_mean_of_the_samples():
    profile = Profile([0.0, 0.5, 0.5001, 1.0], [1500, 1500, 2500, 2500])
    smooth = SmoothedField(profile, GRID, 0.2)
    got = smooth.sample(GRID.positions()[:1], TIME)[0]
    w = cosine_weights(20.0)
    longer = profile.sample(GRID.positions()[:1], TimeAxis(119, 0.01, -0.09))[0]
    np.testing.assert_allclose(got, np.convolve(longer, w, "valid"), rtol=1e-14)
    assert got[:40].max() == pytest.approx(1500)
    assert got[61:].min() == pytest.approx(2500)
    assert 1900 < got[50] < 2100


def test_the_end_of_the_image_leaves_no_mark():
    profile = Profile([0.0, 1.0, 2.0], [1500, 2500, 2600])
    smooth = SmoothedField(profile, GRID, 0.3)
    long = smooth.sample(GRID.positions()[:1], TimeAxis(201, 0.01))
    short = smooth.sample(GRID.positions()[:1], TIME)
    assert np.array_equal(short, long[:, :101])


def test_a_step_on_the_map_is_as_wide_as_the_average():
    field = Map(lambda x, y: np.where(y < 2700.0, 1500.0, 2500.0))
    smooth = SmoothedField(field, GRID, inline=400.0)
    line = GRID.positions()[::80]
    got = smooth.sample(line, TIME)[:, 0]
    y = line[:, 1]
    # nodes stand 50 m apart, so that an edge is known to within one of them
    assert np.allclose(got[y < 2700 - 250], 1500)
    assert np.allclose(got[y > 2700 + 250], 2500)
    middle = np.interp(2000.0, got, y)
    assert abs(middle - 2700) <= 50
    assert (np.diff(got) >= -1e-9).all()


@pytest.mark.parametrize(
    "lengths", [(0.1, 0.0, 0.0), (0.0, 600.0, 0.0), (0.05, 120.0, 900.0), (0.0, 60.0, 30.0)]
)
def test_a_point_has_its_value_whatever_is_asked_with_it(lengths):
    field = Map(lambda x, y: 2000 + 300 * np.sin(x / 200) * np.cos(y / 300))
    smooth = SmoothedField(field, GRID, *lengths)
    short = TimeAxis(7, 0.01)
    points = np.concatenate([GRID.positions(), GRID.positions()[:50] + np.array([3.1, -4.7])])
    whole = smooth.sample(points, short)
    rng = np.random.default_rng(3)
    for _ in range(12):
        some = rng.permutation(len(points))[: int(rng.integers(1, 300))]
        assert np.array_equal(smooth.sample(points[some], short), whole[some])


def test_a_line_is_averaged_along_itself():
    line = ImageGrid((1, 1, 1), (1, 200, 1), (0.0, 0.0), (0.0, 25.0), (25.0, 0.0), TIME)
    field = Map(lambda x, y: 2000 + 100 * np.sin(2 * np.pi * x / 500))
    got = SmoothedField(field, line, crossline=500.0).sample(line.positions()[30:170], TIME)[:, 0]
    # the raised cosine of ten nodes over one period of a sine keeps half of it; lines between nodes a tenth of a period
    # apart cut its peaks by cos(pi / 10) at most
    assert 50 * np.cos(np.pi / 10) - 1e-9 <= np.abs(got - 2000).max() <= 50 + 1e-9


def test_what_is_averaged_is_said():
    facts = SmoothedField(ConstantField(2000.0), GRID, 0.2, 0.0, 300.0).describe()
    assert facts["smooth"] == {"time_s": 0.2, "crossline_m": 300.0}
