"""Colours of pictures can be told apart with any colour vision, and palettes say which value is larger."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from subsalt.errors import ConfigError
from subsalt.view import palettes

#: linear RGB as seen without the long-wave or the medium-wave cones (Machado, Oliveira & Fernandes 2009, severity 1)
VISION = {
    "three cones": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
#: linear sRGB to XYZ of white D65
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
#: visual angle of the smallest marks: a dot of 3 points on a screen half a metre away; and of a patch, degrees
MARK, PATCH = 0.1, 1 / 3
REPOSITORY = Path(__file__).resolve().parents[2]


def rgb(text):
    return np.array([int(text[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def lab(colours, vision):
    """Return CIE L*, a*, b* of sRGB colours (..., 3), as they are seen."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    xyz = np.clip(linear @ VISION[vision].T, 0, 1) @ XYZ.T / XYZ.sum(axis=1)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.stack(
        [116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1
    )


def difference(a, b, angle):
    """Return the smallest difference of colours by any vision; 1 is what half of all viewers notice at this size.

    Stone, Szafir & Setlur 2014, An engineering model for color difference as a function of size: the axes L*, a*, b*
    differ noticeably by ``0.5 (A + B / angle)``.
    """
    noticed = 0.5 * (np.array([10.16, 10.68, 10.70]) + np.array([1.50, 3.08, 5.74]) / angle)
    return min(float(np.linalg.norm((lab(a, v) - lab(b, v)) / noticed, axis=-1).min()) for v in VISION)


def test_the_measures_themselves():
    white, black = np.ones(3), np.zeros(3)
    np.testing.assert_allclose(lab(white, "three cones"), [100, 0, 0], atol=1e-9)
    np.testing.assert_allclose(lab(black, "three cones"), [0, 0, 0], atol=1e-9)
    # a grey is the same grey for everybody: the rows of the matrices sum to one
    for vision in VISION:
        np.testing.assert_allclose(lab(np.full(3, 0.5), vision)[1:], 0, atol=1e-3)
    # red and green of equal lightness differ for three cones, and nearly not without the medium-wave ones
    red, green = rgb("#b05a4a"), rgb("#5f7f3a")
    gaps = [np.linalg.norm(lab(red, v) - lab(green, v)) for v in ("three cones", "deuteranopia")]
    assert gaps[0] > 4 * gaps[1]


@pytest.mark.parametrize(
    "together",
    [
        # a survey on its model; sections with stations and known depths
        (palettes.SOURCE, palettes.RECEIVER, palettes.MARK, palettes.INK),
        (palettes.YELLOW, palettes.SOURCE),  # the shot among the sources
        palettes.FLAGS,
        (palettes.BLUE, palettes.SKY_BLUE, palettes.ORANGE, palettes.INK),  # schedules of checkpoints
        palettes.CURVES[:2],
    ],
)
def test_colours_of_one_picture_are_told_apart(together):
    for a, b in itertools.combinations(together, 2):
        assert difference(rgb(a), rgb(b), MARK) >= 1, (a, b)


@pytest.mark.parametrize(
    ("palette", "over"),
    [
        ("grey", (palettes.SOURCE, palettes.RECEIVER, palettes.MARK)),
        ("velocity", (palettes.MARK,)),
        ("fold", (palettes.SOURCE, palettes.MARK, palettes.INK)),
        ("veil", (*palettes.FLAGS, palettes.SOURCE, palettes.MARK, palettes.INK)),
    ],
)
def test_what_is_drawn_over_a_palette_stands_out_of_each_of_its_colours(palette, over):
    below = palettes.colours_of(palette)[:, :3]
    for colour in over:
        assert difference(rgb(colour), below, MARK) >= 1, colour


@pytest.mark.parametrize("vision", VISION)
def test_lightness_orders_the_values(vision):
    for name in ("grey", "velocity", "fold", "veil"):
        step = np.diff(lab(palettes.colours_of(name)[:, :3], vision)[:, 0])
        assert (step > 0).all() or (step < 0).all(), name
    # of a palette with zero in the middle: on either side
    values = lab(palettes.colours_of("residual")[:, :3], vision)[:, 0]
    assert (np.diff(values[:128]) > 0).all()
    assert (np.diff(values[128:]) < 0).all()


def test_both_signs_of_a_residual_are_told_apart():
    colours = palettes.colours_of("residual")[:, :3]
    # from a sixth of the scale on: nearer to zero both are nearly white
    n = 128 - 128 // 6
    assert difference(colours[:n], colours[::-1][:n], PATCH) >= 1


def test_empty_bins_are_told_from_those_of_least_fold():
    assert difference(np.ones(3), palettes.colours_of("fold")[0, :3], PATCH) >= 1


def test_one_module_holds_all_colours():
    places = ["src/subsalt/**/*.py", "packages/*/src/**/*.py", "docs/make_*.py"]
    files = {p for place in places for p in REPOSITORY.glob(place)} - {Path(palettes.__file__).resolve()}
    assert len(files) > 300
    literal = re.compile(r"""["']#[0-9a-fA-F]{6}["']|cmap=["']|colormaps\[""")
    assert not [(p.name, m.group()) for p in files for m in literal.finditer(p.read_text(encoding="utf-8"))]


def test_a_palette_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match="grey, residual, velocity, fold, veil"):
        palettes.palette("jet")


def test_pages_have_the_colours_of_the_pictures():
    source = REPOSITORY / "src" / "subsalt"
    player = (source / "view" / "player" / "style.css").read_text(encoding="utf-8")
    wanted = {
        "source": palettes.SOURCE,
        "receiver": palettes.RECEIVER,
        "pick": palettes.MARK,
        "cursor": palettes.YELLOW,
    }
    for name, colour in wanted.items():
        # one colour in all themes: pictures are grey in each
        assert re.findall(rf"--{name}: (#\w+);", player) == [colour]
        # of a line or a mark over any shade of grey
        assert difference(rgb(colour), palettes.colours_of("grey")[:, :3], MARK) >= 1
    charts = (source / "report" / "templates" / "chart.css").read_text(encoding="utf-8")
    light, dark = ([re.findall(rf"\.c{i} {{ stroke: (#\w+)", charts)[k] for i in range(6)] for k in (0, 1))
    assert tuple(light) == palettes.CURVES[:6]
    for curves, paper in ((light, "#ffffff"), (dark, "#14181d")):
        for a in curves:
            assert difference(rgb(a), rgb(paper), MARK) >= 1
        # two curves are two points wide each, and their legend has dots of a patch
        for a, b in itertools.combinations(curves, 2):
            assert difference(rgb(a), rgb(b), PATCH) >= 1, (a, b)
