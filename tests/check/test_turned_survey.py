"""Lines of a 3-D survey at an angle to the map: found, proposed by init, warned of by check, and mended."""

from __future__ import annotations

import math
import tomllib

import numpy as np
import pytest
from rules_alone import rules_on

from subsalt.acquisition.turned import turned
from subsalt.earth.grid import Frame
from subsalt.methods.kirchhoff.starter import write_time_job
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.starter import write_job
from turned_case import stations, survey, write


def test_lines_at_an_angle_are_found_and_proposed(tmp_path):
    frame = Frame(431_200.0, 6_781_020.0, math.radians(37.0))
    job = write(tmp_path, frame)
    loaded = turned(Job.from_toml(job.path).load_survey())
    # the model has a place: the lines run along its axes
    assert loaded is None
    made = write_job(tmp_path / "init.toml", [str(tmp_path / "shots.sgy")])
    key = tomllib.loads(made.text)["data"]["frame"]
    assert key["azimuth"] == pytest.approx(37.0, abs=0.011)
    proposed = Job.from_toml(tmp_path / "init.toml")
    assert stations(proposed)[:, :2].min() >= 0.0
    assert "W398" not in {f.code for f in rules_on(proposed).findings}
    # the same job along the map axes covers more
    flat = tmp_path / "flat.toml"
    flat.write_text("\n".join(line for line in made.text.splitlines() if not line.startswith("frame")))
    warned = next(f for f in rules_on(Job.from_toml(flat)).findings if f.code == "W398")
    assert warned.level == "warning"
    assert warned.fix.startswith(f"[data] frame = {{x0 = {key['x0']:.10g}, y0 = {key['y0']:.10g}, azimuth = ")
    # stations over 300 by 150 m, in a rectangle along the map axes; metres to centimetres
    c, s = math.cos(frame.azimuth), math.sin(frame.azimuth)
    whole = (300 * c + 150 * s) * (300 * s + 150 * c)
    assert warned.evidence["share"] == pytest.approx(300 * 150 / whole, rel=1e-3)
    # a model without a place: commented, with a warning
    beside = write_job(tmp_path / "beside.toml", [str(tmp_path / "shots.sgy")], vp=str(tmp_path / "vp.rsf"))
    assert "W398" in {f.code for f in beside.findings}
    assert "frame" not in tomllib.loads(beside.text)["data"]
    outside = next(f for f in rules_on(Job.from_toml(tmp_path / "beside.toml")).findings if f.code == "E330")
    text = outside.fix.partition("[data] frame = ")[2]
    assert (
        stations(
            Job.from_toml(tmp_path / "beside.toml").changed("data", frame=tomllib.loads(f"f = {text}")["f"])
        ).min()
        >= 0
    )
    time = write_time_job(tmp_path / "time.toml", [str(tmp_path / "shots.sgy")])
    assert tomllib.loads(time.text)["kirchhoff"]["azimuth"] == pytest.approx(-37.0, abs=0.011)


def test_stations_in_no_order_have_no_direction():
    made = survey(Frame())
    dice = np.random.default_rng(3)
    for shot in made.shots:
        shot.rcv[:, :2] = dice.uniform(0, 400, (21, 2))
    assert turned(made) is None
