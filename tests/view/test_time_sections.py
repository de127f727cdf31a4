import numpy as np
import pytest
from PIL import Image

from subsalt import view
from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.survey import TimeAxis
from subsalt.earth.planes import InMemoryPlanes
from subsalt.errors import ConfigError, ModelError
from subsalt.methods.kirchhoff.image_fold import fold_map
from subsalt.view.flatness import _balanced
from subsalt.view.time_sections import indices_at, plane

TIME = TimeAxis(101, 0.01)
VOLUME = ImageGrid((100, 120, 2), (40, 10, -1), (0.0, 0.0), (0.0, 25.0), (12.5, 0.0), TIME)
LINE = ImageGrid((1, 1, 1), (601, 640, 1), (0.0, 0.0), (0.0, 1.0), (12.5, 0.0), TIME)


def flat(grid, at):
    """Return an image with one flat event."""
    trace = np.exp(-(((TIME.values() - at) / 0.02) ** 2)).astype(np.float32)
    return np.broadcast_to(trace, (*grid.shape, TIME.nt))


def test_a_line_is_one_section_with_its_event_at_its_time(tmp_path):
    written = view.time_sections(flat(LINE, 0.3), LINE, tmp_path / "a.png", title="line", run_id="5")
    assert list(written) == ["section"]
    picture = Image.open(written["section"])
    rgb = np.asarray(picture.convert("RGB")).astype(float)
    # 0.55 in from the top, 5.4 in tall; half a sample lies above the first
    rows = rgb[66 + 3 : 66 + 648 - 3, 100:500, 1].mean(axis=1)
    assert 1.01 * np.argmin(rows) / len(rows) - 0.005 == pytest.approx(0.3, abs=0.015)
    assert picture.text["Run"] == "5"


def test_a_volume_has_three_planes_and_an_overview(tmp_path):
    image = flat(VOLUME, 0.5)
    speed = np.broadcast_to(1500 + 500 * TIME.values(), image.shape)
    written = view.time_sections(image, VOLUME, tmp_path / "a.png", velocity=speed, at=(104, 33, 0.5))
    assert sorted(written) == ["crossline", "inline", "overview", "slice"]
    assert all(p.is_file() for p in written.values())
    assert "crossline 33" in Image.open(written["crossline"]).text["Description"]
    assert "0.500 s" in Image.open(written["slice"]).text["Description"]
    # what is read from a file gives the same picture
    planes = {"velocity": InMemoryPlanes(speed), "planes": False}
    other = view.time_sections(InMemoryPlanes(image), VOLUME, tmp_path / "b.png", at=(104, 33, 0.5), **planes)
    assert list(other) == ["overview"]
    assert other["overview"].read_bytes() == written["overview"].read_bytes()


def test_places_are_line_numbers_whatever_their_step():
    assert indices_at(VOLUME, (104, 33, 0.5)) == (2, 7, 50)
    assert indices_at(VOLUME, None) == (5, 15, 50)
    assert indices_at(LINE, (605,))[:2] == (0, 4)
    image = np.arange(11 * 31 * 101).reshape(11, 31, 101)
    for axis, index in ((0, 2), (1, 7), (2, 50)):
        np.testing.assert_array_equal(plane(InMemoryPlanes(image), axis, index), np.take(image, index, axis))


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ((99 - 1, 20), "100 to 120"),
        ((104, 41), "10 to 40"),
        ((104, 20, 1.2), "0 to 1 s"),
        ((1, 2, 3, 4), "4 numbers"),
    ],
)
def test_a_place_outside_is_refused_with_what_there_is(at, words):
    with pytest.raises(ConfigError, match=words) as caught:
        indices_at(VOLUME, at)
    assert caught.value.code == "E833"


def test_a_volume_of_another_grid_is_refused(tmp_path):
    with pytest.raises(ModelError, match="velocity has shape"):
        view.time_sections(flat(LINE, 0.3), LINE, tmp_path / "a.png", velocity=np.zeros((1, 3, 101)))


def test_fold_of_a_map_and_of_a_line(tmp_path):
    fold = np.zeros((11, 31, 4), np.int32)
    fold[5:] = 3
    a = fold_map(fold, VOLUME, tmp_path / "a.png")
    about = Image.open(a).text["Description"]
    assert "0 to 12" in about
    assert f"{5 * 31} of {11 * 31} without any" in about
    b = fold_map(np.ones((1, 40, 24), int), LINE, tmp_path / "b.png", offsets=np.arange(24) * 100.0)
    c = fold_map(np.ones((1, 40), int), LINE, tmp_path / "c.png")
    assert Image.open(b).height > Image.open(c).height
    with pytest.raises(ModelError, match="fold has shape"):
        fold_map(np.ones((3, 4)), VOLUME, tmp_path / "d.png")


def test_panels_of_a_scan_share_one_scale(tmp_path):
    traces = flat(LINE, 0.5)[0]
    weak = [("0.9 v", traces), ("1 v", 0.2 * traces), ("1.1 v", traces)]
    path = view.scan_panels(weak, TIME, tmp_path / "a.png", across=np.arange(601, 641), name="CDP")
    rgb = np.asarray(Image.open(path).convert("RGB")).astype(float)
    # 2.6 in each, 0.12 in apart, 0.72 in from the left: the fainter one stays nearer to the grey of zero
    darkest = [rgb[110:750, round(120 * (0.72 + n * 2.72)) + 20 :, 1][:, :250].min() for n in range(3)]
    assert darkest[0] == darkest[2] < darkest[1] - 50
    with pytest.raises(ModelError, match="panels have shapes"):
        view.scan_panels([("a", traces), ("b", traces[1:])], TIME, tmp_path / "b.png")


def test_balance_shows_late_times_and_keeps_the_ratio_of_scales(tmp_path):
    trace = np.exp(-(((TIME.values() - 0.25) / 0.02) ** 2)) + 1e-3 * np.exp(
        -(((TIME.values() - 0.75) / 0.02) ** 2)
    )
    strong = np.tile(trace, (40, 1))
    [(_, a), (_, b)] = _balanced([("1 v", strong), ("1.1 v", 0.5 * strong)], 10)
    # what was a thousandth is as large, to the spread of one window over another
    assert a[0, 75] == pytest.approx(a[0, 25], rel=1e-2)
    np.testing.assert_allclose(b, 0.5 * a, rtol=1e-12)
    path = view.scan_panels([("1 v", strong), ("1.1 v", strong)], TIME, tmp_path / "a.png", balance=0.2)
    assert "balanced over 0.2 s" in Image.open(path).text["Description"]


def test_the_map_of_a_scan_says_what_it_shows(tmp_path):
    scales = np.array([0.9, 1.0, 1.1])
    windows = [(0.0, 0.5), (0.5, 1.0)]
    values = np.array([[0.2, np.nan], [0.9, np.nan], [0.4, np.nan]])
    path = view.scan_map(scales, windows, values, np.array([1.0, np.nan]), tmp_path / "a.png", run_id="3")
    assert "best scale" in Image.open(path).text["Description"]
