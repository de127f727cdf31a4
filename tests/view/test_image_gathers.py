import numpy as np
import pytest
from PIL import Image

from subsalt import view
from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError, GeometryError
from subsalt.view.image_gathers import ImageGather

TIME = TimeAxis(300, 0.004)
OFFSET = np.arange(100.0, 2501.0, 100.0)


def flat(at=0.6, mute=True):
    """Return a gather of one flat pulse, muted outwards near the top."""
    t = TIME.values()
    a = np.tile(np.exp(-(((t - at) / 0.015) ** 2)) + 1e-3 * np.sin(40 * t), (len(OFFSET), 1))
    if mute:
        a[t < OFFSET[:, None] / 6000] = 0.0
    return a


def inside(path, box):
    """Return the pixels (0 to 255) of a box of inches (left, top, width, height)."""
    rgb = np.asarray(Image.open(path).convert("RGB")).astype(float)
    left, top, wide, tall = (round(v * 120) for v in box)
    return rgb[top + 3 : top + tall - 3, left + 3 : left + wide - 3]


@pytest.mark.parametrize("draw", ["auto", "wiggle", "grey", "residual"])
def test_a_flat_event_is_dark_at_its_time_in_gather_and_stack(draw, tmp_path):
    path = view.image_gathers([ImageGather(1, 605, OFFSET, flat())], TIME, tmp_path / "a.png", draw=draw)
    # 0.72 in of labels, then gather and stack as one strip of 3.2 + 0.06 + 0.64 in
    rows = inside(path, (0.75, 0.82, 3.1, 5.6))[..., 1].mean(axis=1)
    assert TIME.duration * np.argmin(rows) / len(rows) == pytest.approx(0.6, abs=0.03)
    rows = inside(path, (4.0, 0.82, 0.6, 5.6))[..., 1].mean(axis=1)
    assert TIME.duration * np.argmin(rows) / len(rows) == pytest.approx(0.6, abs=0.03)


def test_what_is_muted_has_a_colour_of_its_own(tmp_path):
    path = view.image_gathers([ImageGather(1, 605, OFFSET, flat())], TIME, tmp_path / "a.png", draw="grey")
    top = inside(path, (0.75, 0.82, 3.1, 5.6))
    # the far corner at the top is muted: warm (more red than blue), while grey has equal channels
    corner, middle = top[5:20, -40:-10], top[330:350, 100:200]
    assert (corner[..., 0] - corner[..., 2]).min() > 5
    assert np.abs(middle[..., 0] - middle[..., 2]).max() <= 1


def test_the_moveout_that_is_left_is_said(tmp_path):
    t = TIME.values()
    late = np.sqrt(0.8**2 + (0.95**-2 - 1) / 2000.0**2 * OFFSET[:, None] ** 2)
    bent = np.exp(-(((t - late) / 0.015) ** 2))
    g = ImageGather(1, 605, OFFSET, bent, velocity=np.full(TIME.nt, 2000.0))
    rest = g.left_over(TIME)
    # half a step of the scan
    assert rest.mean_ratio == pytest.approx(0.95, abs=0.15 / 20 / 2)
    a = view.image_gathers([g], TIME, tmp_path / "a.png", run_id="77")
    b = view.image_gathers([ImageGather(1, 605, OFFSET, bent)], TIME, tmp_path / "b.png")
    assert Image.open(a).width > Image.open(b).width
    assert Image.open(a).text["Run"] == "77"
    assert "flattens" in Image.open(a).text["Description"]


def test_several_gathers_share_one_page_and_its_bytes(tmp_path):
    few = [
        ImageGather(1, n, OFFSET, flat(0.3 + 0.1 * n), velocity=np.full(TIME.nt, 2e3)) for n in range(1, 5)
    ]
    a = view.image_gathers(few, TIME, tmp_path / "a.png")
    b = view.image_gathers(few, TIME, tmp_path / "b.png")
    assert a.read_bytes() == b.read_bytes()
    assert Image.open(a).width < 14 * 120


def test_the_stack_is_the_mean_of_live_traces():
    a = flat()
    live = (a != 0).sum(axis=0)
    got = ImageGather(1, 1, OFFSET, a).stacked()
    np.testing.assert_allclose(got, a.sum(axis=0) / np.maximum(live, 1), rtol=1e-14)
    np.testing.assert_array_equal(ImageGather(1, 1, OFFSET, a, stack=got * 2).stacked(), got * 2)


def test_wrong_gathers_are_named(tmp_path):
    g = ImageGather(1, 605, OFFSET, flat())
    with pytest.raises(ConfigError, match="9 gathers"):
        view.image_gathers([g] * 9, TIME, tmp_path / "a.png")
    with pytest.raises(ConfigError, match="draw"):
        view.image_gathers([g], TIME, tmp_path / "a.png", draw="colour")
    with pytest.raises(GeometryError, match="25 offsets"):
        view.image_gathers([ImageGather(1, 605, OFFSET, flat()[:, :100])], TIME, tmp_path / "a.png")
