"""A small line migrated at several velocities through the command: panels, table, going on, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from kirchhoff_data import line_positions, make_survey, reflector_traces
from subsalt import view

JOB = """\
method = "kirchhoff"
title = "a line"
[data]
files = "line.sgy"
[velocity]
v = 2100
[kirchhoff]
gathers = "{gathers}"
{offset}
aperture = 300
antialias = "none"
interpolation = "linear"
[output]
pictures = false
"""
#: depth 600 m at 2000 m/s; the job says 2100
T0 = 0.6


@pytest.fixture
def line(tmp_path):
    """A function that writes a line over a flat reflector with its job; returns the job file."""

    def make(gathers="offset"):
        src, rcv = line_positions(24, 25.0, np.arange(100.0, 1301.0, 200.0))
        traces = reflector_traces(src, rcv, 250, 0.004, v=2000.0, depth=600.0)
        make_survey(tmp_path / "line.sgy", src, rcv, traces, 0.004, order="cdp")
        offset = "offset = { first = 100, last = 1300, step = 200 }" if gathers == "offset" else ""
        job = tmp_path / "line.toml"
        job.write_text(JOB.format(gathers=gathers, offset=offset))
        return job

    return make


def test_a_scan_finds_the_velocity_and_goes_on(line, subsalt_command, monkeypatch):
    job = line()
    words = ("vscan", job, "0.85:1.05:0.1")
    code, out, err = subsalt_command(*words, "--at", "12", "--json")
    assert code == 0, err
    said = json.loads(out.splitlines()[-1])
    assert said["scales"] == [0.85, 0.95, 1.05]
    k = next(i for i, (a, b) in enumerate(said["windows_s"]) if a <= T0 <= b)
    # three scales 0.1 apart: the parabola is better than half a step
    assert said["best_scale"][k] == pytest.approx(2000 / 2100, abs=0.05)
    pictures = [Path(p) for p in said["pictures"]]
    assert [p.name for p in pictures] == ["vscan.png", "vscan_stack.png", "vscan_1_12.png"]
    assert all(Image.open(p).width > 300 for p in pictures)
    assert "semblance of the gathers" in err
    folder = job.with_suffix(".vscan")
    assert sorted(p.name for p in folder.glob("*.run")) == [
        "scale_0.85.run",
        "scale_0.95.run",
        "scale_1.05.run",
    ]
    resolved = (folder / "scale_0.95.run" / "job.resolved.toml").read_text()
    assert "scale = 0.95" in resolved
    # a denser scan makes what is new alone
    before = {p: p.stat().st_mtime_ns for p in folder.glob("*/images/*.sums")}
    assert len(before) == 3
    # nobody looks at its pictures
    for name in ("scan_map", "scan_panels"):
        monkeypatch.setattr(view, name, lambda *rest, **more: job)
    code, out, _ = subsalt_command("vscan", job, "0.85:1.05:0.05", "--json")
    assert code == 0
    assert len(json.loads(out.splitlines()[-1])["scales"]) == 5
    assert {p: p.stat().st_mtime_ns for p in before} == before


def test_without_gathers_the_power_of_the_stack_decides(line, subsalt_command):
    code, out, err = subsalt_command("vscan", line("image"), "0.9:1:0.05")
    assert code == 0, err
    assert "power of the stack" in out
    assert "makes no image gathers" in out
    assert "vscan_stack.png" in out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("0.9:1.1",), "E834", "three numbers"),
        (("90:110:5",), "E834", "percent"),
        (("1.1:0.9:0.05",), "E834", "not above the first"),
        (("0.9:1.1:0.1", "--at", "99"), "E833", "1 to 24"),
        (("0.9:1.1:0.1", "--at", "left"), "E833", "not a place"),
        (("0.9:1.1:0.1", "--shots", "1-3"), "E002", "No such option"),
        ((), "E002", "FIRST:LAST:STEP"),
    ],
)
def test_what_is_no_scan_is_refused_before_anything_is_migrated(words, code, said, line, subsalt_command):
    job = line()
    status, _, err = subsalt_command("vscan", job, *words)
    assert status != 0
    assert code in err
    assert said in err
    assert not list(job.parent.glob("*.vscan"))
    assert not list(job.parent.glob("*.run"))


def test_a_time_migration_has_no_options_of_depth_scans(line, subsalt_command):
    for words in (("--below", "500"), ("--mask", "layer.rsf"), ("--by", "curvature"), ("--update",)):
        status, _, err = subsalt_command("vscan", line(), "0.9:1.1:0.1", *words)
        assert status != 0
        assert "E834" in err
        assert words[0] in err
