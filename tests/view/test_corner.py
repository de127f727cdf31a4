"""The corner of an overview shows the survey or where the planes lie; the depth slice shows the image alone."""

import numpy as np
import pytest
from PIL import Image

from subsalt import view
from subsalt.earth.grid import Grid
from subsalt.view import palettes, slices, style
from subsalt.view.corner import LOWEST, NARROWEST, stations_box
from subsalt.view.cuts import cuts_at
from subsalt.view.pages import TOP, unfolded


def share(path, box, colour):
    """Return the part of a box (inches) of a picture that has a colour."""
    rgb = np.asarray(Image.open(path).convert("RGB")).astype(int)
    left, top, wide, tall = (round(style.DPI * v) for v in box)
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return (np.abs(rgb[top : top + tall, left : left + wide] - wanted).max(axis=-1) <= 8).mean()


@pytest.fixture(autouse=True)
def the_overview_alone(monkeypatch):
    """Draw no plane by itself: the corner is on the overview."""
    monkeypatch.setattr(slices, "single", lambda sheet, *rest, **more: sheet.path)


@pytest.fixture
def wide():
    """A volume of 2 x 1.6 x 1 km with a dipping reflector, and where its panels lie."""
    grid = Grid((41, 33, 26), (50.0, 50.0, 40.0))
    x, z = grid.axis(0)[:, None, None], grid.axis(2)
    dipping = np.exp(-(((z - 400 - 0.2 * x) / 60) ** 2))
    image = np.broadcast_to(dipping, grid.shape).astype(np.float32)
    boxes, corner, _, _ = unfolded(cuts_at(grid), TOP + 0.17)
    return grid, image, boxes["depth"], corner


def test_the_survey_has_a_map_of_its_own(wide, area, tmp_path):
    grid, image, depth, corner = wide
    survey = area[3]
    path = view.sections(image, grid, tmp_path / "a.png", survey=survey)["overview"]
    for colour in (palettes.SOURCE, palettes.RECEIVER):
        assert share(path, depth, colour) == 0
    assert share(path, corner, palettes.SOURCE) > 1e-4


def test_without_a_survey_the_planes_are_sketched(wide, tmp_path):
    grid, image, depth, corner = wide
    path = view.sections(image, grid, tmp_path / "a.png")["overview"]
    for colour in (palettes.ORANGE, palettes.BLUE, palettes.MARK):
        assert share(path, depth, colour) == 0
        assert share(path, corner, colour) > 1e-5


def test_a_survey_map_has_true_proportions_or_is_left_out():
    corner = (5.0, 1.0, 3.0, 3.0)
    left, top, across, down = stations_box(corner, (1500.0, 1000.0))
    assert (left, top) == corner[:2]
    assert across / down == pytest.approx(1.5)
    assert across <= corner[2]
    assert down + 1.0 < corner[3]
    assert stations_box((5.0, 1.0, 1.0, 1.0), (1500.0, 1000.0)) is None
    # a long and narrow survey
    assert stations_box(corner, (3000.0, 3000.0 * LOWEST / 3.1)) is None
    assert stations_box(corner, (1000.0, 2000.0 * 3.0 / NARROWEST)) is None


def test_a_narrow_survey_is_marked_on_the_slice(area, tmp_path):
    grid, image = Grid((41, 5, 26), (50.0, 50.0, 40.0)), np.ones((41, 5, 26), np.float32)
    boxes, *_ = unfolded(cuts_at(grid), TOP + 0.17)
    path = view.sections(image, grid, tmp_path / "a.png", survey=area[3])["overview"]
    assert share(path, boxes["depth"], palettes.SOURCE) > 1e-4
