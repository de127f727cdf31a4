"""Crooked 2-D lines are called that, and are no fault where nothing depends on it."""

import re

import numpy as np
import pytest
from line_files import FFID, GX, RECEIVERS, SHOTS, SX, checked, findings_by_code, survey

from subsalt.acquisition.line import LINE_WIDTH, bent
from subsalt.methods.kirchhoff.starter import write_time_job

PROFILE = "{z = [0, 700, 710], value = [1500, 1500, 2200]}"
GRID = "[grid]\nspacing = 10\ndepth = 1200\nmargin = 100"


def bend(x, degrees):
    """Return y of a line that turns by so many degrees in its middle."""
    return np.tan(np.radians(degrees)) * np.maximum(x - 1200.0, 0.0)


def words(y):
    at = {"source_y": y(SX), "receiver_y": y(GX)}
    offset = np.sign(GX - SX) * np.hypot(GX - SX, at["receiver_y"] - at["source_y"])
    return {k: np.round(100 * v) for k, v in at.items()} | {"offset": np.round(offset)}


def test_a_line_that_turns_is_told_from_an_area():
    x = np.arange(0.0, 5000.0, 25.0)
    line = np.stack([x, np.abs(x - 2500.0)], axis=1)
    fit = bent(line)
    assert fit is not None
    # the best line of a right angle is parallel to its chord, a third of its height from the corner and more
    assert fit.misfit_max == pytest.approx(1250.0, rel=0.02)
    assert bent(np.stack([x, 0.01 * x], axis=1)) is None
    rng = np.random.default_rng(1)
    # midpoints scatter about a road by less than the width of a line
    scattered = line + rng.uniform(-0.3, 0.3, line.shape) * LINE_WIDTH * 5000.0
    assert bent(scattered) is not None
    area = rng.uniform(0.0, 5000.0, (2000, 2)) * (1.0, 0.3)
    assert bent(area) is None
    cross = np.concatenate([np.stack([x, 0 * x], 1), np.stack([0 * x + 2500.0, x - 2500.0], 1)])
    assert bent(cross) is None


def test_a_bent_line_on_a_section_is_called_crooked(tmp_path):
    fault = findings_by_code(survey(tmp_path, **words(lambda x: bend(x, 30.0))))["E329"]
    assert "the survey is a crooked line of" in fault.message
    assert '[data] line = "2d"' in fault.fix


@pytest.mark.parametrize("degrees", [4.0, 30.0])
def test_a_crooked_line_over_a_model_of_depth_alone(tmp_path, degrees):
    """The best line runs half a bend beside either part: at 30 degrees, offsets are 3.4 % shorter on it."""
    job = survey(tmp_path, 'line = "2d"', vp=PROFILE, tables=GRID, **words(lambda x: bend(x, degrees)))
    by = set(findings_by_code(job))
    assert not {"W342", "E343", "E329"} & by
    assert ("W339" in by) == (degrees == 30.0)


def test_a_frame_beside_a_crooked_line(tmp_path):
    """W342 says nothing where the model is the same beside the line."""
    frame = 'line = "2d"\nframe = {x0 = 0, y0 = 0, azimuth = 0}'
    crooked = words(lambda x: bend(x, 4.0))
    assert "W342" not in findings_by_code(survey(tmp_path, frame, vp=PROFILE, tables=GRID, **crooked))


def test_receiver_gathers_that_the_job_asks_for(tmp_path):
    """Each field record has one receiver and all sources: W224 does not say what the job has said."""
    order = np.argsort(GX, kind="stable")
    record = np.repeat(np.arange(1, RECEIVERS + 1), SHOTS)
    at = {"source_x": 100 * SX[order], "receiver_x": 100 * GX[order], "offset": (GX - SX)[order]}
    gathers = at | {"ffid": record, "channel": FFID[order]}
    assert "W224" in findings_by_code(survey(tmp_path, **gathers))
    assert "W224" not in findings_by_code(survey(tmp_path, 'gathers = "receiver"', **gathers))


def test_a_time_image_of_a_bent_line_is_no_area(tmp_path):
    """Neither `init` nor the cure of a job without lines makes a grid of which nine tenths are empty."""
    survey(tmp_path, **words(lambda x: bend(x, 30.0)))
    text = '[data]\nfiles = "line.sgy"\n[velocity]\nv = 1500\n[kirchhoff]\naperture = 300\n{}\n'
    job = tmp_path / "time.toml"
    job.write_text('method = "kirchhoff"\n' + text.format(""))
    (fault,) = [f for f in checked(job).findings if f.code == "E766"]
    assert "stations stand along a crooked line" in fault.message
    key = re.search(r"\[kirchhoff\] (corners = \[\[.*?\]\])", fault.fix).group(1)
    job.write_text('method = "kirchhoff"\n' + text.format(key))
    result = checked(job)
    assert not {f.code for f in result.findings if f.is_fault} & {"E766", "W730", "E730"}
    assert result.context.grid.is_line
    # all bins along the line hold midpoints, or their neighbours do
    assert result.facts["traces"]["fold"]["traces_on_grid"] > 0.9 * len(GX)
    write_time_job(tmp_path / "init.toml", [str(tmp_path / "line.sgy")])
    assert key.split(" = ")[1] in (tmp_path / "init.toml").read_text()
