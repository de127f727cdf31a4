import numpy as np
import pytest
from PIL import Image

from subsalt import view
from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.earth.grid import Box, Frame
from subsalt.errors import ConfigError, GeometryError
from subsalt.view import palettes
from subsalt.view.acquisition import facts
from subsalt.view.placing import fold, placed


def marked(path):
    """Return how many pixels have the colour of what lies outside."""
    rgb = np.asarray(Image.open(path).convert("RGB")).astype(int)
    colour = [int(palettes.MARK[i : i + 2], 16) for i in (1, 3, 5)]
    return int((np.abs(rgb - colour).max(axis=-1) < 12).sum())


def test_fold_counts_every_midpoint_on_the_model_once(line):
    grid, _, _, survey = line
    counts, edges = fold(survey, grid)
    assert counts.sum() == sum(len(s.rcv) for s in survey)
    assert edges[0][1] - edges[0][0] == 20.0
    # by hand: midpoints of shot k lie every 10 m; count them in the bin from 395 to 415 m
    mid = np.concatenate([(s.rcv[:, 0] + s.src[0]) / 2 for s in survey])
    assert counts[20, 0] == ((mid >= 395) & (mid < 415)).sum()


def test_fold_in_3d_by_hand(area):
    grid, _, _, survey = area
    counts, (ex, ey) = fold(survey, grid, bins=(40.0, 40.0))
    mid = np.concatenate([(s.rcv + s.src) / 2 for s in survey])
    expected = np.histogram2d(mid[:, 0], mid[:, 1], bins=(ex, ey))[0]
    np.testing.assert_array_equal(counts, expected)


def test_outside_is_found_in_any_direction(area):
    grid, _, _, survey = area
    odd = [
        Shot(90, [-200.0, 0, 0], [[0.0, 0, 0]]),
        Shot(91, [0.0, 0, 5000.0], [[0.0, 0, 0]]),
        Shot(92, [0.0, 0, -50.0], [[0.0, 9000.0, 0]]),
    ]
    where = placed(Survey([*survey.shots, *odd], survey.time), grid)
    assert [i for i, bad in zip(where.ids, where.src_out, strict=True) if bad] == [90, 91, 92]
    assert where.rcv_out.sum() == 1
    assert where.beyond == pytest.approx(9000 - 400)
    assert "3 shots, 1 receivers" in facts(where, np.array([[1]]))


def test_a_survey_in_map_coordinates_is_moved_onto_the_model(area):
    grid, _, _, survey = area
    frame = Frame(431_200.0, 6_781_020.0, 0.4)
    world = Survey(
        [Shot(s.id, frame.to_world(s.src[None])[0], frame.to_world(s.rcv)) for s in survey],
        survey.time,
        frame=Frame(),
    )
    where = placed(world, grid, frame)
    assert not where.src_out.any()
    assert not where.rcv_out.any()
    np.testing.assert_allclose(where.src, [s.src for s in survey], atol=1e-6)


@pytest.mark.parametrize("scene", ["line", "area"])
def test_only_what_lies_outside_is_marked(scene, request, tmp_path):
    grid, _, model, survey = request.getfixturevalue(scene)
    good = view.survey_map(survey, grid, tmp_path / "good.png")
    assert marked(good) == 0
    far = Survey([*survey.shots, Shot(99, [1e6, 0, 0], [[0.0, 0, 0]])], survey.time, survey.ndim)
    bad = view.survey_map(far, model, tmp_path / "bad.png")
    assert marked(bad) > 30
    assert "outside by up to" in Image.open(bad).text["Description"]


def test_shot_window_and_map_coordinates(area, tmp_path):
    _, _, model, survey = area
    model.frame = survey.frame = Frame(1000.0, 2000.0, 0.3, flip=True)
    paths = [
        view.survey_map(
            survey,
            model,
            tmp_path / f"{c}.png",
            shot=2,
            window=Box((0, 0, 0), (10, 9, 8)),
            coordinates=c,
            depth=100.0,
        )
        for c in ("local", "map")
    ]
    assert paths[0].read_bytes() != paths[1].read_bytes()


def test_many_shots_outside_are_labelled_without_a_crowd(area, tmp_path):
    grid, _, _, survey = area
    shots = [Shot(i + 1, [1000.0 + i, 0, 0], [[0.0, 0, 0]]) for i in range(40)]
    view.survey_map(Survey(shots, survey.time), grid, tmp_path / "a.png")


def test_wrong_input_is_named(area, tmp_path):
    grid, _, _, survey = area
    with pytest.raises(GeometryError, match="no shots"):
        view.survey_map(Survey([], TimeAxis(1, 0.004)), grid, tmp_path / "a.png")
    with pytest.raises(GeometryError, match="no shot has id"):
        view.survey_map(survey, grid, tmp_path / "a.png", shot=999)
    with pytest.raises(ConfigError, match="coordinates"):
        view.survey_map(survey, grid, tmp_path / "a.png", coordinates="world")
    assert list(tmp_path.iterdir()) == []
