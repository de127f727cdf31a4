"""Functions at places: bilinear over regular sets and lines, inverse distance elsewhere; one point, one result."""

import numpy as np
import pytest

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.survey import TimeAxis
from subsalt.methods.kirchhoff.velocity.fields import NEAREST, Functions

TIME = TimeAxis(3, 0.5)
#: rotated by atan(3/4), 25 m and 50 m between lines
GRID = ImageGrid((10, 30, 1), (100, 200, 2), (5e5, 6e6), (-15.0, 20.0), (20.0, 15.0), TIME)


def functions(places, values, **keys):
    # given by indices of the grid
    places = np.asarray(places, dtype=np.float64) * (1, 2) + (10, 100)
    return Functions(
        places, [np.zeros(1)] * len(places), [np.array([float(v)]) for v in values], GRID, **keys
    )


def at(field, index):
    """Return the values at fractional indices (n, 2) of the grid."""
    (ax, ay), (bx, by) = GRID.steps
    i, j = np.asarray(index, dtype=np.float64).T
    points = np.stack([GRID.corner[0] + i * ax + j * bx, GRID.corner[1] + i * ay + j * by], axis=-1)
    return field.sample(points, TIME)[:, 0]


def test_one_function_holds_everywhere():
    assert at(functions([(3, 4)], [1800]), [(0, 0), (20, 50)]).tolist() == [1800, 1800]


def test_a_regular_set_is_bilinear():
    i, j = np.meshgrid([0, 10, 20], [0, 25, 50], indexing="ij")
    places = np.stack([i.ravel(), j.ravel()], axis=-1)

    def truth(i, j):
        return 1500 + 7 * i + 3 * j + 0.1 * i * j

    order = np.random.default_rng(1).permutation(9)
    field = functions(places[order], truth(*places[order].T))
    wanted = np.random.default_rng(2).uniform((0, 0), (20, 50), (200, 2))
    # line numbers count in millionths: half of one, times gradients of at most 12 and 5 / 2 per number
    np.testing.assert_allclose(at(field, wanted), truth(*wanted.T), rtol=0, atol=0.5e-6 * (12 + 5 / 2))


def test_beyond_the_outermost_functions_values_continue():
    field = functions([(5, 10), (5, 20), (15, 10), (15, 20)], [1000, 2000, 3000, 4000])
    got = at(field, [(0, 0), (0, 15), (20, 50), (10, 50)])
    np.testing.assert_allclose(got, [1000, 1500, 4000, 3000], rtol=1e-11)


def test_inlines_with_functions_at_places_of_their_own():
    field = functions([(0, 0), (0, 40), (10, 5), (10, 20), (10, 35)], [1000, 2000, 3000, 3300, 3000])
    # on the lines: 1000 + 25 j, and 3000 + 20 (j - 5); between them the mean
    np.testing.assert_allclose(at(field, [(0, 10), (10, 10), (5, 10)]), [1250, 3100, 2175], rtol=1e-11)


def test_a_line_of_cdps_takes_no_notice_of_the_inline():
    field = functions([(7, 0), (3, 40)], [1000, 2000], axes=(False, True))
    np.testing.assert_allclose(at(field, [(0, 10), (20, 10), (0, 99)]), [1250, 1250, 2000], rtol=1e-11)


def scattered(n, seed=3):
    rng = np.random.default_rng(seed)
    return rng.uniform((0, 0), (20, 50), (n, 2)), rng.uniform(1500, 3000, n)


@pytest.mark.parametrize("n", [3, 8, 9, 40])
def test_scattered_functions_are_met_and_bound_what_lies_between(n):
    places, values = scattered(n)
    field = functions(places, values)
    # 1e-9 m beside a function others weigh (1e-9 / distance)^2: nothing
    np.testing.assert_allclose(at(field, places), values, rtol=1e-10)
    between = at(field, np.random.default_rng(5).uniform((0, 0), (20, 50), (300, 2)))
    assert between.min() >= values.min() - 1e-9
    assert between.max() <= values.max() + 1e-9
    assert np.ptp(between) > 100


def test_scattered_functions_make_no_jumps():
    places, values = scattered(40)
    field = functions(places, values)
    way = np.stack([np.linspace(0, 20, 4001), np.linspace(3, 47, 4001)], axis=-1)
    # 0.6 m a step over functions some 150 m apart: a jump where the nearest eight change would stand out
    steps = np.abs(np.diff(at(field, way)))
    assert steps.max() < 0.03 * np.ptp(values)


def test_functions_of_one_value_make_that_value():
    places, _ = scattered(30)
    np.testing.assert_allclose(at(functions(places, [1777] * 30), places[::3] + 0.4), 1777, rtol=1e-14)


def test_as_many_equally_near_functions_as_count_weigh_the_same():
    # on a circle around the point: no ninth is farther than the eight
    angle = 2 * np.pi * np.arange(NEAREST + 1) / (NEAREST + 1)
    si, sj = GRID.spacing
    places = np.stack([10 + 100 * np.cos(angle) / si, 25 + 100 * np.sin(angle) / sj], axis=-1)
    got = at(functions(places, np.arange(NEAREST + 1.0)), [(10, 25)])[0]
    assert 0 <= got <= NEAREST


@pytest.mark.parametrize("kind", ["lines", "scattered"])
def test_a_point_has_its_value_whatever_is_asked_with_it(kind):
    places, values = scattered(30)
    if kind == "lines":
        places[:, 0] = np.round(places[:, 0] / 10) * 10
    field = functions(places, values)
    wanted = np.random.default_rng(7).uniform((-5, -5), (25, 55), (700, 2))
    whole = at(field, wanted)
    assert np.array_equal(whole, np.concatenate([at(field, wanted[k : k + 1]) for k in range(700)]))


def test_times_are_those_of_each_function():
    field = Functions(
        np.array([[10.0, 100.0], [10.0, 120.0]]),
        [np.array([0.0, 1.0]), np.array([0.5])],
        [np.array([1000.0, 2000.0]), np.array([3000.0])],
        GRID,
    )
    (bx, by) = GRID.steps[1]
    middle = np.array([[GRID.corner[0] + 5 * bx, GRID.corner[1] + 5 * by]])
    np.testing.assert_allclose(field.sample(middle, TIME), [[2000, 2250, 2500]], rtol=1e-11)
    facts = field.describe()
    assert facts["functions"] == 2
    assert facts["between"] == "linear"
    assert facts["crossline_range"] == [100, 120]
