"""Pictures of an image show what the survey lights, at its place, and say so."""

import json

import numpy as np
import pytest
from PIL import Image

from subsalt import view
from subsalt.acquisition.image_grid import ImageGrid, LocationBox
from subsalt.acquisition.survey import TimeAxis
from subsalt.earth.grid import Box, Grid
from subsalt.earth.planes import InMemoryPlanes
from subsalt.io.volumes import volume
from subsalt.view.cuts import cuts_at
from subsalt.view.lit import lit_box, lit_locations, shown_locations, shown_text
from subsalt.view.run_image import illumination_of
from subsalt.view.style import Length

NOWHERE = np.zeros((0, 3))


@pytest.fixture
def long_line():
    """Return grid, image and illumination of a model of 4 km that is lit between 1 and 2 km."""
    grid = Grid((401, 41), (10.0, 10.0), (500.0, 0.0))
    image, light = np.zeros(grid.shape, np.float32), np.zeros(grid.shape, np.float32)
    image[50:151, 20], light[50:151] = 1.0, 1.0
    return grid, image, light


def stations(*x):
    return np.array([[each, 0.0, 0.0] for each in x])


def test_the_lit_columns_and_a_margin_are_shown(long_line):
    grid, image, light = long_line
    assert lit_box(image[:, None], grid, light, 1.0, NOWHERE) == Box((44, 0, 0), (157, 1, 41))
    # planes that are yet to be read give the same
    planes = InMemoryPlanes(light)
    assert lit_box(image[:, None], grid, planes, 1.0, NOWHERE) == Box((44, 0, 0), (157, 1, 41))


def test_stations_belong_to_it_and_those_outside_the_model_do_not_count(long_line):
    grid, image, light = long_line
    box = lit_box(image[:, None], grid, light, 1.0, stations(900.0, 2500.0, -3000.0, 1e6))
    assert box.lo[0] <= 40
    assert box.hi[0] > 200
    assert (box.lo[0], box.hi[0]) == (31, 210)


def test_plain_grey_is_not_lit_whatever_the_source_wavefield_was(long_line):
    grid, image, light = long_line
    light[:] = 1.0
    image[300:, 5] = 0.019  # less than a fiftieth of the scale
    assert lit_box(image[:, None], grid, light, 1.0, NOWHERE) == Box((44, 0, 0), (157, 1, 41))
    image[300:, 5] = 0.5
    light[300:] = 0  # not lit: an artefact of another program
    assert lit_box(image[:, None], grid, light, 1.0, NOWHERE) == Box((44, 0, 0), (157, 1, 41))


@pytest.mark.parametrize("case", ["no illumination", "no light", "all lit", "nearly all lit"])
def test_all_is_shown(long_line, case):
    grid, image, light = long_line
    if case == "no illumination":
        light = None
    elif case == "no light":
        light[:] = 0
    else:
        n = 401 if case == "all lit" else 345
        image[:n, 20], light[:n] = 1.0, 1.0
    assert lit_box(image[:, None], grid, light, 1.0, NOWHERE) == Box((0, 0, 0), grid.shape3)


def test_a_volume_is_cropped_along_both_axes_and_cut_through_the_middle_of_what_is_shown():
    grid = Grid((100, 80, 11), (10.0, 10.0, 10.0))
    image, light = np.zeros(grid.shape, np.float32), np.ones(grid.shape, np.float32)
    image[60:80, 10:20] = 1.0
    box = lit_box(image, grid, light, 1.0, NOWHERE)
    assert box == Box((59, 9, 0), (81, 21, 11))
    cuts = cuts_at(grid, None, image, box)
    assert (cuts["crossline"].index, cuts["inline"].index) == (70, 15)
    assert cuts["depth"].values(image).shape == (12, 22)
    assert cuts["depth"].extent == (585.0, 805.0, 85.0, 205.0)
    assert cuts["inline"].title(Length("m", 1.0)) == "inline section at y = 150 m"
    assert (
        shown_text(grid, box)
        == " · x 590 to 800 m of 0 to 990 m, y 90 to 200 m of 0 to 790 m, lit by the survey"
    )


def test_a_cut_of_planes_shows_the_same_part_as_one_of_an_array(long_line):
    grid, image, _ = long_line
    cut = cuts_at(grid, box=Box((44, 0, 0), (157, 1, 41)))["section"]
    assert np.array_equal(cut.values(InMemoryPlanes(image)), cut.values(image))
    assert cut.values(image).shape == (41, 113)
    assert cut.extent == (935.0, 2065.0, -5.0, 405.0)


def test_the_picture_says_what_it_shows_and_whole_shows_all(long_line, tmp_path):
    grid, image, light = long_line
    lit = view.sections(image, grid, tmp_path / "lit.png", illumination=light)["section"]
    whole = view.sections(image, grid, tmp_path / "whole.png", illumination=light, whole=True)["section"]
    none = view.sections(image, grid, tmp_path / "none.png")["section"]
    assert whole.read_bytes() == none.read_bytes()
    assert "x 940 to 2060 m of 500 to 4500 m, lit by the survey" in Image.open(lit).text["Description"]
    assert "lit by" not in Image.open(whole).text["Description"]
    # true aspect: 1130 m by 410 m
    assert Image.open(lit).size[1] > 1.5 * Image.open(whole).size[1]


def test_a_run_gives_its_illumination_to_the_command(long_line, tmp_path, subsalt_command, monkeypatch):
    grid, image, light = long_line
    run = tmp_path / "line.run"
    run.mkdir()
    volume.write(run / "image.rsf", grid, image)
    volume.write(run / "illumination.rsf", grid, light)
    (run / "run.json").write_text(json.dumps({"image": {"path": "image.rsf"}, "title": "line"}))
    monkeypatch.chdir(tmp_path)
    for options, said in (((), True), (("--whole",), False)):
        code, _, err = subsalt_command("view", "line.run", *options)
        assert code == 0, err
        assert ("lit by the survey" in Image.open("line.png").text["Description"]) == said


def test_illumination_of_another_grid_or_that_cannot_be_read_shows_everything(long_line, tmp_path):
    grid, _, light = long_line
    volume.write(tmp_path / "illumination.rsf", grid, light)
    assert illumination_of(tmp_path, grid) is not None
    assert illumination_of(tmp_path, Grid((7, 9), (10.0, 10.0))) is None
    (tmp_path / "illumination.rsf").write_text("no volume")
    assert illumination_of(tmp_path, grid) is None
    (tmp_path / "illumination.rsf").unlink()
    assert illumination_of(tmp_path, grid) is None


def test_a_time_image_is_cropped_to_locations_with_traces():
    grid = ImageGrid((1, 1, 1), (601, 800, 1), (0.0, 0.0), (0.0, 1.0), (12.5, 0.0), TimeAxis(5, 0.01))
    fold = np.zeros((*grid.shape, 3), int)
    assert lit_locations(None, grid) == grid.whole
    assert lit_locations(fold, grid) == grid.whole  # an empty fold says nothing
    fold[0, 100:140, 1] = 2
    box = lit_locations(fold, grid)
    assert box == LocationBox(0, 1, 98, 142)
    part = grid.part(box)
    assert shown_locations(grid, part) == " · CDP 699 to 742 of 601 to 800, lit by the survey"
    # each location stays where it is
    np.testing.assert_allclose(part.positions(), grid.positions(box))
    assert grid.part(grid.whole) is grid
    assert shown_locations(grid, grid) == ""


def test_inlines_and_crosslines_are_cropped_and_keep_their_numbers():
    grid = ImageGrid((100, 180, 2), (40, 2, -1), (5.0, 7.0), (1.0, 25.0), (12.5, 2.0), TimeAxis(5, 0.01))
    fold = np.zeros(grid.shape, int)
    fold[10:20, 30:38] = 1
    part = grid.part(lit_locations(fold, grid))
    assert part.inlines == (118, 140, 2)
    assert part.crosslines == (11, 2, -1)
    np.testing.assert_allclose(part.positions(), grid.positions(lit_locations(fold, grid)))


@pytest.mark.parametrize(
    ("options", "cropped"), [({}, True), ({"whole": True}, False), ({"at": (1, 610)}, False)]
)
def test_the_section_of_a_line_says_what_it_shows(tmp_path, options, cropped):
    grid = ImageGrid((1, 1, 1), (601, 800, 1), (0.0, 0.0), (0.0, 1.0), (12.5, 0.0), TimeAxis(40, 0.01))
    image, fold = np.zeros((*grid.shape, 40), np.float32), np.zeros(grid.shape, int)
    image[0, 100:140, 25], fold[0, 100:140] = 1.0, 2
    made = view.time_sections(image, grid, tmp_path / "a.png", fold=fold, **options)
    said = Image.open(made["section"]).text["Description"]
    assert ("CDP 699 to 742 of 601 to 800" in said) is cropped


def test_a_volume_in_time_is_cut_in_the_middle_of_what_is_shown(tmp_path):
    grid = ImageGrid((1, 60, 1), (1, 50, 1), (0.0, 0.0), (0.0, 25.0), (25.0, 0.0), TimeAxis(40, 0.01))
    image, fold = np.zeros((*grid.shape, 40), np.float32), np.zeros(grid.shape, int)
    image[40:50, 10:20, 25], fold[40:50, 10:20] = 1.0, 2
    made = view.time_sections(image, grid, tmp_path / "a.png", fold=fold)
    said = {k: Image.open(p).text["Description"] for k, p in made.items()}
    assert said["inline"].startswith("inline 46 ·")
    assert said["crossline"].startswith("crossline 16 ·")
    assert "inline 40 to 51 of 1 to 60, crossline 10 to 21 of 1 to 50, lit by the survey" in said["overview"]
