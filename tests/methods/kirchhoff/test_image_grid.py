"""The image grid of a time migration: numbers, map positions, boxes of it."""

import numpy as np
import pytest

from subsalt.acquisition.image_grid import ImageGrid, LocationBox
from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError
from subsalt.methods.kirchhoff.options import KirchhoffOptions

TIME = TimeAxis(101, 0.008)


def grid(**changes):
    """Return inlines 65, 67, ... 85 and crosslines 1 ... 40, turned on the map; per number 15 and 12.5 m."""
    given = {
        "inlines": (65, 85, 2),
        "crosslines": (1, 40, 1),
        "corner": (1000.0, 2000.0),
        "per_inline": (9.0, 12.0),
        "per_crossline": (-10.0, 7.5),
        "time": TIME,
    }
    return ImageGrid(**given | changes)


def test_numbers_steps_and_positions():
    g = grid()
    assert g.shape == (11, 40)
    assert g.size == 440
    # two inline numbers to a step
    assert g.spacing == (30.0, 12.5)
    assert g.numbered_spacing == (15.0, 12.5)
    assert not g.is_line
    points, numbers = g.positions(), g.numbers()
    assert tuple(points[0]) == (1000.0, 2000.0)
    assert tuple(numbers[1]) == (65, 2)
    assert tuple(points[40]) == (1018.0, 2024.0)
    assert tuple(numbers[40]) == (67, 1)
    np.testing.assert_allclose(np.linalg.norm(g.axes(), axis=1), 1.0, rtol=1e-15)


def test_a_box_holds_the_bytes_of_the_whole():
    g = grid()
    box = LocationBox(3, 5, 10, 40)
    whole = g.positions().reshape(11, 40, 2)
    assert box.shape == (2, 30)
    assert box.size == 60
    np.testing.assert_array_equal(g.positions(box), whole[3:5, 10:40].reshape(-1, 2))
    np.testing.assert_array_equal(g.numbers(box), g.numbers().reshape(11, 40, 2)[3:5, 10:40].reshape(-1, 2))


def test_positions_lead_back_to_indices():
    g = grid(crosslines=(40, 1, -3))
    assert g.shape == (11, 14)
    index = g.index_of(g.positions())
    want = np.stack(np.meshgrid(np.arange(11), np.arange(14), indexing="ij"), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(index, want, atol=1e-10)
    np.testing.assert_allclose(g.corners()[2], g.positions()[-1], rtol=1e-14)


@pytest.mark.parametrize(
    ("changes", "code", "said", "cure"),
    [
        ({"inlines": (65, 85, 0)}, "E761", "a step of 0", "use a step of 1"),
        ({"inlines": (65, 85, 3)}, "E761", "never reached", "last = 83 or 86"),
        ({"crosslines": (40, 1, 1)}, "E761", "never reached", "step of -1"),
        ({"per_crossline": (18.0, 24.0)}, "E760", "no two directions", "span an area"),
        ({"corner": (float("nan"), 0.0)}, "E760", "not a number", ""),
        ({"time": TimeAxis(5, 0.004, -0.1)}, "E765", "before time zero", "begin at 0"),
    ],
)
def test_wrong_grids_are_refused(changes, code, said, cure):
    with pytest.raises(ConfigError) as caught:
        grid(**changes)
    assert caught.value.code == code
    assert said in caught.value.message
    assert cure in caught.value.fix


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        ({"bands": 0}, "E762", "bands = 0"),
        ({"bands": 65}, "E762", "64 at most"),
        ({"aperture": 0.0}, "E763", "aperture = 0.0 m"),
        ({"dip": 90.0}, "E763", "dip = 90.0"),
        ({"stretch_mute": -0.1}, "E764", "stretch_mute = -0.1"),
        ({"antialias_spacing": (15.0, 0.0)}, "E767", "antialias_spacing"),
        ({"stretch_taper": 1.5}, "E104", "stretch_taper = 1.5"),
        ({"interpolation": "cubic"}, "E104", "interpolation = 'cubic'"),
    ],
)
def test_wrong_options_are_refused(changes, code, said):
    with pytest.raises(ConfigError) as caught:
        KirchhoffOptions(**changes)
    assert caught.value.code == code
    assert said in caught.value.message
    assert caught.value.fix
