"""Velocities belong to line numbers: the lines that an image holds, and where it begins, change no bit."""

import numpy as np
import pytest

from subsalt.acquisition.image_grid import ImageGrid, numbers_of, positions_of
from subsalt.acquisition.survey import TimeAxis
from subsalt.methods.kirchhoff.velocity.fields import Functions
from subsalt.methods.kirchhoff.velocity.load import SmoothedField
from subsalt.methods.kirchhoff.velocity.time_velocity import FieldVelocity

TIME = TimeAxis(21, 0.1)
#: vectors of one inline and one crossline number: no round numbers
PER = (-7.31, 24.07), (11.83, 3.59)
CORNER = 431251.37, 6473914.91


def grid(inlines, crosslines):
    """Return an image of some lines of one lattice, on which inline 1, crossline 1 is at `CORNER`."""
    (ax, ay), (bx, by) = PER
    i, j = inlines[0] - 1, crosslines[0] - 1
    corner = (CORNER[0] + i * ax + j * bx, CORNER[1] + i * ay + j * by)
    return ImageGrid(inlines, crosslines, corner, *PER, TIME)


WHOLE = grid((1, 31, 1), (1, 61, 1))
SOME = grid((28, 4, -3), (7, 61, 9))


def velocity(image, kind):
    """Return the same velocity, opened for one image."""
    rng = np.random.default_rng(5)
    places = rng.uniform((1, 1), (31, 61), (20, 2))
    if kind == "lines":
        places[:, 0] = np.round(places[:, 0] / 10) * 10
    t = np.array([0.0, 1.0, 2.0])
    field = Functions(places, [t] * 20, list(rng.uniform(1500, 3000, (20, 3))), image)
    if kind == "smoothed":
        field = SmoothedField(field, image, 0.4, 250.0, 170.0)
    return FieldVelocity(field, None, True)


@pytest.mark.parametrize("kind", ["lines", "scattered", "smoothed"])
def test_some_lines_have_the_bits_of_all(kind):
    every, _ = velocity(WHOLE, kind).at(WHOLE.positions(), TIME)
    some, _ = velocity(SOME, kind).at(SOME.positions(), TIME)
    i, j = SOME.numbers().T
    assert len(some) == 9 * 7
    assert np.array_equal(some, every[(i - 1) * 61 + (j - 1)])


def test_numbers_and_positions_go_back_and_forth():
    for image in (WHOLE, SOME):
        assert np.array_equal(numbers_of(image, image.positions()), image.numbers())
        # positions of 6e6 m are exact to 1e-9 m
        np.testing.assert_allclose(
            positions_of(image, image.numbers().astype(float)), image.positions(), rtol=0, atol=1e-8
        )
