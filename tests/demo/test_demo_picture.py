"""The picture of the demo says how far each known reflector is off, and hides nothing."""

import numpy as np
import pytest
from PIL import Image

from subsalt.acquisition.survey import Survey
from subsalt.demo import GRID, REFLECTORS, in_salt, true_model
from subsalt.demo_picture import Demo, Reading, draw_demo
from subsalt.view import palettes

pytestmark = pytest.mark.usefixtures("texts_are_readable")
MOST = 22.5


@pytest.fixture(scope="module")
def scene():
    """Model, survey of 16 shots, and an image with a pulse at the flat reflector."""
    x, y = (a.ravel() for a in np.meshgrid(np.linspace(300, 1200, 4), np.linspace(225, 825, 4)))
    receivers = [(a, b, 15.0) for a in range(0, 1501, 30) for b in range(0, 1051, 30)]
    survey = Survey.from_arrays(np.stack([x, y, np.full(16, 15.0)], 1), receivers, nt=10, dt=0.004)
    image = np.zeros(GRID.shape, np.float32)
    image[:, :, 70] = 1.0
    return true_model(), survey, image


def drawn(scene, path, errors):
    truth, survey, image = scene
    x, y = GRID.axis(0)[:, None], GRID.axis(1)[None, :]
    readings = [
        Reading(r.name, np.broadcast_to(r.depth(x, y), GRID.shape[:2]), r.label, e, abs(e) + 2.0)
        for r, e in zip(REFLECTORS, errors, strict=True)
    ]
    demo = Demo(truth, survey, image, readings, in_salt(), (750.0, 525.0, 480.0), MOST)
    return draw_demo(demo, path, title="demo", run_id="0123456789abcdef")


def pixels_of(path, colour):
    rgb = np.asarray(Image.open(path).convert("RGB")).astype(int)
    # the panel of errors: right of the middle, in the lower half
    panel = rgb[rgb.shape[0] // 2 :, rgb.shape[1] * 5 // 8 :]
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return np.argwhere((np.abs(panel - wanted) <= 2).all(axis=-1))


def test_bars_are_as_long_as_errors(scene, tmp_path):
    widths = []
    for k, error in enumerate((4.0, 8.0, -16.0)):
        path = drawn(scene, tmp_path / f"{k}.png", [error, 0.0, 0.0, 0.0])
        across = pixels_of(path, palettes.MARK)[:, 1]
        widths.append((across.min(), across.max()))
    (a0, a1), (b0, b1), (c0, c1) = widths
    assert abs(a0 - b0) <= 1  # both begin at zero
    assert abs(c1 - a0) <= 4  # and a negative one ends there, but for the line of zero
    np.testing.assert_allclose([(b1 - b0) / (a1 - a0), (c1 - c0) / (a1 - a0)], [2, 4], rtol=0.06)


def test_the_facts_are_those_of_the_image(scene, tmp_path):
    # errors up to the limit stay readable
    path = drawn(scene, tmp_path / "a.png", [3.9, -MOST, 5.1, MOST])
    texts = Image.open(path).text
    assert (
        texts["Description"]
        == "16 shots, 1836 receivers · 4 known reflectors are imaged within 22.5 m of their depth"
    )
    assert texts["Run"] == "0123456789abcdef"


def test_every_name_lies_inside_the_model():
    x, z = GRID.axis(0), GRID.axis(2)
    for r in REFLECTORS:
        assert x[0] < r.label[0] < x[-1]
        assert z[0] < r.label[1] < z[-1]
        # next to its reflector
        depth = float(r.depth(np.array([r.label[0]]), np.array([525.0]))[0])
        assert 30 < abs(depth - r.label[1]) < 80
