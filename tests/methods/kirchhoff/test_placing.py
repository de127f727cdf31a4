"""Where an image grid lies on the map: corner points, origin and azimuth, numbers in the headers of traces."""

import math

import numpy as np
import pytest

from subsalt.errors import ConfigError, GeometryError
from subsalt.methods.kirchhoff.placing import from_azimuth, from_corners, from_numbers

#: bins of 25 x 12.5 m, turned by a 3-4-5 triangle
ALONG, ACROSS = (20.0, -15.0), (7.5, 10.0)


def at(il, xl, x0=4000.0, y0=7000.0):
    """Return the corner point of inline and crossline on the grid of the tests; (10, 100) lies at (x0, y0)."""
    i, j = il - 10, xl - 100
    return [il, xl, x0 + i * ALONG[0] + j * ACROSS[0], y0 + i * ALONG[1] + j * ACROSS[1]]


def test_three_corners_give_the_grid_exactly():
    placed = from_corners([at(10, 100), at(10, 300), at(60, 100)])
    assert placed.per_inline == ALONG
    assert placed.per_crossline == ACROSS
    assert placed.position(35, 200) == tuple(at(35, 200)[2:])
    assert placed.misfit == 0
    assert placed.skew < 1e-9


def test_a_fourth_corner_in_centimetres_is_fitted():
    rounded = [at(10, 100), at(10, 300), at(60, 100), at(60, 300)]
    rounded[3][2] += 0.04
    placed = from_corners(rounded)
    # four points of a plane: a quarter of the residual stays at each
    assert placed.misfit == pytest.approx(0.01, rel=1e-6)
    assert placed.per_inline[0] == pytest.approx(ALONG[0], abs=0.04 / 50)


def test_two_points_place_a_line():
    placed = from_corners([[1, 101, 0.0, 0.0], [1, 201, 300.0, 400.0]])
    assert placed.per_crossline == (3.0, 4.0)
    # the next inline would lie to the right of the line
    assert placed.per_inline == (4.0, -3.0)
    assert placed.position(1, 151) == (150.0, 200.0)


def test_swapped_coordinates_in_one_corner_are_refused_with_the_distances():
    points = [at(10, 100), at(10, 300), at(60, 100), at(60, 300)]
    points[2][2:] = points[2][3], points[2][2]
    with pytest.raises(ConfigError, match="no regular grid") as caught:
        from_corners(points)
    assert caught.value.code == "E760"
    assert "(60, 100)" in caught.value.message
    assert "x and y exchanged" in caught.value.fix


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([at(10, 100), at(60, 300)], "2 corner points do not say"),
        ([at(10, 100), at(20, 120), at(30, 140)], "lie on one line"),
        ([at(10, 100), at(10, 100), at(60, 300)], "given twice"),
    ],
)
def test_corners_that_place_nothing_are_refused(points, said):
    with pytest.raises(ConfigError) as caught:
        from_corners(points)
    assert caught.value.code == "E760"
    assert said in caught.value.message


def test_azimuth_is_clockwise_from_north_and_inlines_follow_to_the_right():
    north = from_azimuth((1, 1), (100.0, 200.0), 0.0, (25.0, 10.0))
    assert north.per_crossline == (0.0, 10.0)
    assert north.per_inline == (25.0, 0.0)
    east = from_azimuth((1, 1), (0.0, 0.0), 90.0, (-25.0, 10.0))
    assert east.per_crossline == (10.0, 0.0)
    # to the left of east is north
    assert east.per_inline == (0.0, 25.0)
    assert from_azimuth((1, 1), (0.0, 0.0), 450.0, (-25.0, 10.0)) == east.__class__(
        (1, 1), (0.0, 0.0), east.per_inline, east.per_crossline, 0.0, "origin and azimuth 450 degrees"
    )
    turned = from_azimuth((1, 1), (0.0, 0.0), math.degrees(math.asin(0.6)), (25.0, 12.5))
    np.testing.assert_allclose([*turned.per_inline, *turned.per_crossline], [*ALONG, *ACROSS], rtol=1e-12)
    with pytest.raises(ConfigError, match="leads nowhere"):
        from_azimuth((1, 1), (0.0, 0.0), 0.0, (0.0, 12.5))


def bins(rng=None, n=400):
    """Return inline and crossline numbers of random traces and the map positions of their bins."""
    rng = rng or np.random.default_rng(3)
    il, xl = rng.integers(10, 60, n).astype(np.int32), rng.integers(100, 300, n).astype(np.int32)
    il[:2], xl[:2] = (10, 59), (100, 299)
    return il, xl, np.array([at(i, j)[2:] for i, j in zip(il, xl, strict=True)])


def test_numbers_of_traces_give_the_grid():
    il, xl, points = bins()
    placed = from_numbers(il, xl, points, "bins")
    assert (placed.per_inline, placed.per_crossline) == (ALONG, ACROSS)
    assert placed.position(10, 100) == (4000.0, 7000.0)
    # midpoints scatter over their bins: evenly, the fit is as good as the mean of 400 of them
    rng = np.random.default_rng(5)
    scatter = rng.uniform(-0.5, 0.5, (400, 2)) @ np.array([ALONG, ACROSS])
    loose = from_numbers(il, xl, points + scatter, "midpoints")
    deviation = 25 / math.sqrt(12 * 400)
    np.testing.assert_allclose(loose.position(35, 200), at(35, 200)[2:], atol=4 * deviation)


def test_numbers_that_have_nothing_to_do_with_positions_are_refused():
    il, xl, points = bins()
    with pytest.raises(GeometryError, match="off the grid of their numbers") as caught:
        from_numbers(il, np.random.default_rng(1).permutation(xl), points, "bins")
    assert caught.value.code == "E766"
    assert "corners" in caught.value.fix
