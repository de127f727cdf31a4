"""What is drawn of the course of a least-squares migration: events that are followed, traces by turns, and pictures."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from least_squares_case import job_in, scattered_survey

import subsalt as ss
from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError, FindingsError
from subsalt.io.volumes.horizon import read_horizon
from subsalt.job.base import read_job
from subsalt.methods.lsrtm import view
from subsalt.methods.lsrtm.course import KeptImage
from subsalt.methods.lsrtm.view import chosen
from subsalt.view.interleaved import Predicted
from subsalt.view.reflector import along_horizon, follow, spread_of

GRID = ss.Grid((41, 31), (10.0, 10.0), (100.0, 50.0))


def section(slope: float, amplitude: np.ndarray) -> np.ndarray:
    """Return an event of one sample, and a stronger one above, in the shallow part."""
    out = np.zeros(GRID.shape)
    rows = np.round(18 + slope * (np.arange(41) - 20)).astype(int)
    out[np.arange(41), rows] = amplitude
    out[:, 2] = 50.0
    return out


@pytest.mark.parametrize("slope", [0.0, 0.5, -0.4])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_strongest_event_in_the_middle_is_followed_along_its_dip(slope, sign):
    amplitude = sign * np.linspace(1.0, 3.0, 41)
    image = section(slope, amplitude)
    event = follow(image, GRID)
    assert event.sign == sign
    assert np.array_equal(event.rows, np.argmax(np.abs(image[:, 8:]), axis=1) + 8)
    assert np.array_equal(event.amplitudes(image), np.abs(amplitude))
    # a line from 1 to 3: the middle half has the values 1.5 to 2.45 in equal steps
    middle = np.abs(amplitude)[10:31]
    assert spread_of(np.abs(amplitude)) == pytest.approx(middle.std() / middle.mean())


def test_an_event_is_named_by_a_point_near_it():
    image = section(0.0, np.ones(41))
    assert set(follow(image, GRID, (300.0, 75.0)).rows) == {2}
    assert set(follow(image, GRID, (300.0, 50.0 + 200.0)).rows) == {18}
    with pytest.raises(ConfigError, match="x = 900 m, depth 100 m: the section has x from 100 to 500 m"):
        follow(image, GRID, (900.0, 100.0))
    with pytest.raises(ConfigError, match="the image is zero at x = 300 m from depth 270 to 330 m"):
        follow(image, GRID, (300.0, 300.0))


def test_an_event_is_taken_along_a_horizon(tmp_path):
    amplitude = -np.linspace(1.0, 3.0, 41)
    image = section(0.5, amplitude)
    # points every 100 m, up to two rows beside the event: what goes past the dip or a stronger event doesn't matter
    x = np.linspace(100.0, 500.0, 5)
    lines = [f"{a:g} {b:g}\n" for a, b in zip(x, 50.0 + 10.0 * (18 + 0.05 * (x - 300.0)) + 15.0, strict=True)]
    (tmp_path / "h.txt").write_text("# x depth\n" + "".join(reversed(lines)))
    depth = read_horizon(str(tmp_path / "h.txt"), GRID, "--along", "E833")
    event = along_horizon(image, depth, GRID)
    assert event.sign == -1
    assert np.array_equal(event.amplitudes(image), -amplitude)
    assert set(along_horizon(image, read_horizon("72", GRID, "--along", "E833"), GRID).rows) == {2}
    with pytest.raises(
        ConfigError, match="the image is zero within 3 rows of the horizon, from depth 320 to 320 m"
    ):
        along_horizon(section(0.0, amplitude), read_horizon("320", GRID, "--along", "E833"), GRID)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("100 20\n500 20\n", "at x = 100 m the horizon lies at 20 m, the grid goes from 50 to 350 m"),
        ("100 nan\n500 80\n", "the horizon lies at nan m"),
        ("200\n200\n", "neither a depth nor a readable table of x and depth (2 lines of 1 columns)"),
        ("a b\n", "neither a depth nor a readable table"),
        ("", "neither a depth nor a readable table"),
        (None, "neither a depth nor a readable table"),
    ],
)
def test_a_horizon_that_does_not_fit_is_refused(text, said, tmp_path):
    if text is not None:
        (tmp_path / "h.txt").write_text(text)
    with pytest.raises(ConfigError, match=re.escape(said)) as refused:
        read_horizon(str(tmp_path / "h.txt"), GRID, "--along", "E833")
    assert refused.value.code == "E833"


def test_traces_take_turns_in_a_gather():
    recorded, predicted = np.full((24, 5), 2.0), np.full((24, 5), 1.0)
    shot = Predicted(recorded, predicted, TimeAxis(5, 0.004))
    assert shot.width == 2
    assert shot.by_turns()[:, 0].tolist() == [2.0, 2.0, 1.0, 1.0] * 6
    assert shot.left == 0.25


def test_images_are_chosen_where_they_change_most():
    by_iteration = [KeptImage(k, Path()) for k in range(1, 41)]
    numbers = [k.iteration for k in chosen(by_iteration)]
    assert (numbers[0], numbers[-1], len(numbers)) == (1, 40, 6)
    steps = np.diff(numbers)
    assert (np.diff(steps) > 0).all()
    assert [k.iteration for k in chosen(by_iteration[:4])] == [1, 2, 3, 4]


def test_a_run_draws_its_course_and_so_does_view(tmp_path, subsalt_command, undrawn):
    """Every picture once, at the end of the run and in its report; by `view` which there are, and of which event."""
    survey = scattered_survey(tmp_path / "traces")
    job = job_in(tmp_path / "of", survey, "compare_shots = [2]\n", iterations=2)
    job.write_text(job.read_text().replace("pictures = false", "pictures = true"))
    done = ss.migrate_job(read_job(job))
    run = Path(done.run_dir)
    course = {f"image_{name}.png" for name in ("misfit", "iterations", "difference", "amplitude")}
    names = {p.name for p in (run / "pictures").iterdir()}
    assert names == course | {"image.png", "survey_map.png", "gathers_000002.png"}
    page = (run / "report.html").read_text()
    assert all(f"pictures/{name}" in page for name in names)
    with undrawn(), pytest.MonkeyPatch.context() as patch:
        events = []
        draw = view.draw_reflector
        patch.setattr(view, "draw_reflector", lambda *what: events.append(what[3]) or draw(*what))
        drawn_by_view(tmp_path, run, subsalt_command, course)
    # the point and the horizon are at the same depth
    assert np.array_equal(*(event.rows for event in events))


def drawn_by_view(tmp_path, run, subsalt_command, course) -> None:
    """Ask `view` for the event at a point and along a horizon, where there is one and where there is none."""
    picture = tmp_path / "line.png"
    code, out, _ = subsalt_command("view", run, "-o", picture, "--at", "150,0,130", "--json")
    assert code == 0
    made = {Path(p).name for p in json.loads(out)["pictures"]}
    assert made == {"line.png"} | {name.replace("image", "line") for name in course}
    code, _, said = subsalt_command("view", run, "-o", picture, "--at", "150,0,990")
    assert (code, "E833" in said) == (78, True)
    (tmp_path / "h.txt").write_text("0 130\n300 130\n")
    code, out, _ = subsalt_command("view", run, "-o", picture, "--along", tmp_path / "h.txt", "--json")
    assert (code, "line_amplitude.png" in out) == (0, True)
    code, _, said = subsalt_command("view", run, "-o", picture, "--along", "9000")
    assert (code, "E833" in said) == (78, True)
    code, _, said = subsalt_command("view", run / "image.rsf", "-o", picture, "--along", "130")
    assert (code, "E836" in said, "no images by iteration" in said) == (78, True, True)


def test_a_shot_that_is_not_there_is_refused(tmp_path):
    survey = scattered_survey(tmp_path / "traces")
    job = job_in(tmp_path / "of", survey, "compare_shots = [2, 77]\n", iterations=2)
    with pytest.raises(FindingsError) as refused:
        ss.migrate_job(read_job(job))
    (finding,) = [f for f in refused.value.findings if f.level == "error"]
    assert "77" in finding.message
