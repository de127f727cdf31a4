"""Surveys from lines, patches and tables."""

import numpy as np
import pytest

from subsalt.errors import ConfigError, FindingsError, GeometryError, MissingInputError
from subsalt.methods.rtm.acquisition_section import Positions
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.positions import expand

BASE = {"model": {"vp": 2000}, "source": {"f0": 15}}


def job(shots, receivers, folder=".", shape=(101, 51)):
    """Return a job that models these positions."""
    acq = {"shots": shots, "receivers": receivers, "dt": "4 ms", "record_length": "1 s"}
    return Job.from_dict({**BASE, "grid": {"spacing": 10, "shape": list(shape)}, "acquisition": acq}, folder)


def test_lines():
    by_count = expand(Positions(first=[0, 5], last=[100, 5], n=5))
    np.testing.assert_array_equal(by_count, [[x, 0, 5] for x in (0, 25, 50, 75, 100)])
    np.testing.assert_allclose(expand(Positions(first=[0, 5], last=[100, 5], step=25)), by_count)
    np.testing.assert_allclose(expand(Positions(first=[0, 5], n=5, step=25)), by_count)
    np.testing.assert_allclose(
        expand(Positions(first=[0, 0, 5], n=3, step=[0, 10, 0])), [[0, 0, 5], [0, 10, 5], [0, 20, 5]]
    )
    np.testing.assert_array_equal(expand(Positions(first=[7, 5])), [[7, 0, 5]])


def test_the_ends_of_a_line_are_exact():
    points = expand(Positions(first=[0.1, 0.7], last=[1234.5, 0.7], n=1001))
    assert tuple(points[0]) == (0.1, 0.0, 0.7)
    assert tuple(points[-1]) == (1234.5, 0.0, 0.7)


def test_a_step_that_does_not_divide_the_line_stops_before_its_end():
    points = expand(Positions(first=[0, 5], last=[95, 5], step=10))
    assert len(points) == 10
    assert points[-1, 0] == pytest.approx(90.0)


def test_patches_run_along_x_first():
    patch = expand(Positions(first=[0, 100, 5], last=[20, 150, 5], n=[3, 2]))
    np.testing.assert_array_equal(
        patch, [[0, 100, 5], [10, 100, 5], [20, 100, 5], [0, 150, 5], [10, 150, 5], [20, 150, 5]]
    )


def test_relative_receivers_move_with_the_source_and_keep_their_depth():
    survey = job(
        {"first": [100, 20], "last": [300, 20], "n": 3},
        {"first": [50, 8], "n": 4, "step": 25, "relative": True},
    ).acquisition_survey()
    assert survey.ndim == 2
    for shot, x in zip(survey.shots, (100, 200, 300), strict=True):
        np.testing.assert_allclose(shot.rcv[:, 0], x + 50 + 25 * np.arange(4))
        np.testing.assert_array_equal(shot.rcv[:, 2], 8)
    assert (survey.time.nt, survey.time.dt) == (251, 0.004)


def test_three_coordinates_make_an_areal_survey():
    survey = job(
        {"first": [0, 0, 5], "n": 2, "step": 10},
        {"first": [0, 0, 5], "last": [9, 9, 5], "n": [4, 4]},
        shape=(9, 9, 9),
    )
    assert survey.acquisition_survey().ndim == 3


def test_tables(tmp_path):
    (tmp_path / "s.csv").write_text("# sources\nshot, sx, sy, sz\n11,100,0,5\n12,200,0,5\n")
    (tmp_path / "r.csv").write_text("shot,chan,gx,gy,gz\n11,2,60,0,8\n11,1,50,0,8\n12,1,70,0,8\n")
    survey = job("s.csv", "r.csv", tmp_path).acquisition_survey()
    assert [s.id for s in survey] == [11, 12]
    np.testing.assert_array_equal(survey.shots[0].rcv, [[50, 0, 8], [60, 0, 8]])
    assert survey.ndim == 2
    assert sorted(job("s.csv", "r.csv", tmp_path).input_files()) == [
        "acquisition.receivers.0.file",
        "acquisition.shots.0.file",
    ]


@pytest.mark.parametrize(
    ("sources", "receivers", "error"),
    [
        ("shot,sx\n1,2\n", "shot,chan,gx,gy,gz\n1,1,1,1,1\n", ConfigError),
        ("shot,sx,sy,sz\n1,2,3\n", "shot,chan,gx,gy,gz\n1,1,1,1,1\n", ConfigError),
        ("shot,sx,sy,sz\n1,a,3,4\n", "shot,chan,gx,gy,gz\n1,1,1,1,1\n", ConfigError),
        ("shot,sx,sy,sz\n1,nan,3,4\n", "shot,chan,gx,gy,gz\n1,1,1,1,1\n", ConfigError),
        ("shot,sx,sy,sz\n", "shot,chan,gx,gy,gz\n1,1,1,1,1\n", ConfigError),
        ("", "shot,chan,gx,gy,gz\n1,1,1,1,1\n", ConfigError),
        ("shot,sx,sy,sz\n1,2,3,4\n", "shot,chan,gx,gy,gz\n2,1,1,1,1\n", GeometryError),
        ("shot,sx,sy,sz\n1,2,3,4\n2,2,3,4\n", "shot,chan,gx,gy,gz\n2,1,1,1,1\n", GeometryError),
    ],
)
def test_wrong_tables(tmp_path, sources, receivers, error):
    (tmp_path / "s.csv").write_text(sources)
    (tmp_path / "r.csv").write_text(receivers)
    with pytest.raises(error) as caught:
        job("s.csv", "r.csv", tmp_path).acquisition_survey()
    assert caught.value.fix


def test_missing_table(tmp_path):
    with pytest.raises(MissingInputError):
        job("no.csv", "no.csv", tmp_path).acquisition_survey()


@pytest.mark.parametrize(
    "positions",
    [
        {},
        {"first": [0]},
        {"first": [0, 0], "last": [1, 1, 1], "n": 3},
        {"first": [0, 0], "last": [1, 1], "n": 3, "step": 1},
        {"first": [0, 0], "n": 3},
        {"first": [0, 0], "last": [5, 5], "n": 0},
        {"first": [0, 0], "last": [5, 5], "n": [2, 2]},
        {"file": "a.csv", "n": 3},
    ],
)
def test_positions_that_say_nothing(positions):
    with pytest.raises(FindingsError):
        job(positions, {"first": [0, 0]})


def test_mixed_dimensions_and_endless_lines():
    with pytest.raises(ConfigError):
        job({"first": [0, 0, 0]}, {"first": [0, 0]}).acquisition_survey()
    with pytest.raises(ConfigError):
        job({"first": [0, 0], "last": [1, 0], "step": 1e-9}, {"first": [0, 0]}).acquisition_survey()
    with pytest.raises(ConfigError):
        job({"first": [0, 0], "relative": True}, {"first": [0, 0]}).acquisition_survey()


def test_a_step_of_one_number_runs_along_the_line():
    """Towards `last` in any direction; without it along x, and along both axes of a patch."""
    diagonal = expand(Positions(first=[0, 0, 5], last=[300, 400, 5], step=100))
    np.testing.assert_allclose(diagonal, [[60 * i, 80 * i, 5] for i in range(6)])
    np.testing.assert_array_equal(
        expand(Positions(first=[0, 7, 5], n=3, step=25)), [[0, 7, 5], [25, 7, 5], [50, 7, 5]]
    )
    patch = expand(Positions(first=[0, 0, 5], n=[2, 3], step=25))
    np.testing.assert_array_equal(patch, [[25 * i, 25 * j, 5] for j in range(3) for i in range(2)])
