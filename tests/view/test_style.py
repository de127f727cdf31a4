import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from subsalt.errors import ConfigError
from subsalt.view import style
from subsalt.view.pages import columns_of


def test_import_of_view_leaves_matplotlib_alone():
    code = "import sys, subsalt.view; raise SystemExit('matplotlib' in sys.modules or 'PIL' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain", "plain"),
        ("a\nb", "a\\u000ab"),
        ("\x1b[31mred", "\\u001b[31mred"),
        ("abc\u202ecba", "abc\\u202ecba"),
        ("Grüße ±", "Grüße ±"),
        ("x" * 300, "x" * 199 + "…"),
    ],
)
def test_printable_shows_control_and_format_characters(raw, shown):
    assert style.printable(raw) == shown


def test_clip_is_a_percentile_of_what_is_not_zero():
    a = np.concatenate([np.zeros(1000), np.arange(1, 101)]) * -1.0
    assert style.clip_limit(a, 99) == pytest.approx(np.percentile(np.arange(1, 101), 99))
    assert style.clip_limit(a, 100) == 100


@pytest.mark.parametrize("a", [np.zeros(5), np.full(3, np.nan), np.zeros(0)])
def test_clip_of_nothing_is_one(a):
    assert style.clip_limit(a) == 1.0


@pytest.mark.parametrize("clip", [0, -1, 100.5, np.nan])
def test_clip_out_of_range_is_refused(clip):
    with pytest.raises(ConfigError, match="percentile"):
        style.clip_limit(np.ones(3), clip)


def test_value_limits_are_never_equal():
    low, high = style.value_limits(np.full(4, 2000.0))
    assert low < 2000 < high
    assert style.value_limits(np.array([1.0, np.nan, 3.0])) == (1.0, 3.0)


def test_length_is_in_km_from_five_kilometres_on():
    assert style.Length.fitting(4999.0, 10).unit == "m"
    far = style.Length.fitting(5000.0)
    assert far.unit == "km"
    assert far(2500.0) == 2.5
    assert far.text(1234.0) == "1.234 km"


def test_unique_points_merge_within_a_centimetre():
    a = np.array([[0.0, 0, 0], [10.0, 0, 0]])
    assert len(style.unique_points([a, a + 0.001])) == 2
    assert style.unique_points([]).shape == (0, 3)


def test_unique_points_of_a_large_survey_are_those_of_numpy():
    rng = np.random.default_rng(11)
    sets = [rng.integers(0, 300, (n, 3)) * 0.25 for n in (260_000, 1, 250_000, 50_000)]
    # one number for a position, in the order of x, y and z: numpy compares rows fifty times as slowly
    x, y, z = np.round(np.concatenate(sets) * 100).astype(int).T
    number = np.unique((x * 10_000 + y) * 10_000 + z)
    expected = np.stack([number // 10**8, number // 10**4 % 10**4, number % 10**4], axis=1) / 100
    np.testing.assert_array_equal(style.unique_points([sets[0], sets[0], *sets[1:]]), expected)


def test_a_page_is_published_only_when_the_drawing_succeeds(tmp_path):
    def draw():
        with style.page(tmp_path / "a.png", (2, 1)):
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        draw()
    assert list(tmp_path.iterdir()) == []


def test_metadata_has_title_and_run_and_no_date(tmp_path):
    with style.page(tmp_path / "a.png", (2, 1), title="t", run_id="abc", about="x\u202ey"):
        pass
    text = Image.open(tmp_path / "a.png").text
    assert text == {"Software": "subsalt", "Title": "t", "Run": "abc", "Description": "x\\u202ey"}


def test_settings_of_the_user_change_no_byte(tmp_path):
    import matplotlib

    def draw(name):
        with style.page(tmp_path / name, (3, 2), title="t", run_id="abc") as fig:
            ax = style.place(fig, (0.6, 0.3, 2, 1.2))
            ax.plot([0, 1], [0, 1])
            ax.set_title("costs $5")
        return (tmp_path / name).read_bytes()

    first = draw("a.png")
    with matplotlib.rc_context({"font.size": 20.0, "axes.grid": True, "lines.linewidth": 9.0}):
        assert draw("b.png") == first
        assert matplotlib.rcParams["font.size"] == 20.0
    assert "matplotlib.pyplot" not in sys.modules or draw("c.png") == first


def test_a_slice_lies_where_it_shows_something():
    # a level reflector is the strongest; a slice along it has one shade
    image = np.zeros((20, 40))
    image[:, 30] = 1.0
    assert style.telling_sample(image) == 30
    image[5:9, 22] = 0.8
    assert style.telling_sample(image) == 22
    # what lies in the shallow part does not count, and what varies by a hundredth neither
    image[:, 22] = 0.0
    image[5:9, 2] = 5.0
    image[5:9, 25] = 0.01
    assert style.telling_sample(image) == 30
    assert style.telling_sample(np.zeros((3, 8))) == 4


@pytest.mark.parametrize(
    ("most", "power"), [(0.0, 0), (1.0, 0), (9999.0, 0), (1e4, 4), (108_000.0, 5), (0.001, 0), (2e-7, -7)]
)
def test_powers_of_ten_are_named_for_small_and_large_values(most, power):
    assert style.exponent(np.array([0.0, -most, most / 2])) == power


@pytest.mark.parametrize(
    ("panels", "most", "columns"),
    [(1, 4, 1), (2, 4, 2), (3, 4, 3), (4, 3, 2), (5, 4, 3), (6, 3, 3), (7, 4, 4), (8, 4, 4)],
)
def test_panels_leave_few_places_empty(panels, most, columns):
    assert columns_of(panels, most) == columns


@pytest.mark.parametrize("wide", [3.0, 5.0, 12.0])
def test_facts_that_are_too_long_take_a_second_line(tmp_path, wide, texts_are_readable):
    about = " · ".join(f"fact number {i} of the picture" for i in range(6))
    with style.page(tmp_path / "a.png", (wide, 2.0), title="t", about=about) as fig:
        style.heading(fig, "t", about)
        lines = fig.texts[1].get_text().split("\n")
    assert len(lines) == (1 if wide == 12.0 else 2)
    # a page too narrow for two lines ends in an ellipsis; the metadata have all
    assert lines[-1].endswith("…") is (wide == 3.0)
    assert Image.open(tmp_path / "a.png").text["Description"] == about
