"""Rules on the image grid and the options of a time migration, each with a planted mistake, and none without."""

import json

import numpy as np
import pytest
from rules_alone import rules_on

from kirchhoff_jobs import CORNERS, OFFSETS, areal, line, write_job
from subsalt.cli import guard
from subsalt.cli.app_root import app
from subsalt.errors import FindingsError
from subsalt.methods.rtm.job import Job


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("areal")
    areal(made / "traces.sgy")
    return made


@pytest.fixture(scope="module")
def on_line(tmp_path_factory):
    made = tmp_path_factory.mktemp("line")
    line(made / "traces.sgy")
    return made


def found(folder, **tables):
    """Return the findings of a job by code, those in order left out."""
    findings = rules_on(Job.from_toml(write_job(folder, **tables))).findings
    return {f.code: f for f in findings if f.is_fault}


def test_a_sound_job_has_nothing_to_say(folder):
    assert found(folder) == {}


def test_the_grid_is_told_with_its_source(folder):
    job = Job.from_toml(write_job(folder))
    findings = [f.message for f in rules_on(job).findings if "image:" in f.message]
    assert findings == [
        "image: inlines 11 to 16 by 1, crosslines 101 to 120 by 1, bins of 25 x 20 m, from 3 corner points; "
        "0 to 1 s by 8 ms"
    ]


SKEWED = [[11, 101, 1000.0, 2000.0], [11, 120, 1020.0, 2380.0], [16, 101, 1125.0, 2000.0]]

MISTAKES = {
    "W760": ({"corners": SKEWED}, "degrees apart", "corner points"),
    "W761": ({"time": {"last": 1.2}}, "the records at 1 s", "last = 1"),
    "W762": ({"time": {"step": "20 ms", "last": 1.0}}, "above 25 Hz", "step = 0.008"),
    "W763": ({"antialias_spacing": [25, 200]}, "crossline is 200 m, the bins are 20 m", '"bins"'),
    "W764": (
        {"crossline": {"first": 101, "last": 900}, "aperture": 400.0},
        "lie farther than 400 m",
        "restrict",
    ),
    "W765": (
        {"gathers": "offset", "offset": {"first": 300, "last": 900, "step": 200}},
        "hold no trace, offsets 700, 900 m",
        "100 to 500 m",
    ),
    "W766": ({"amplitude": "2.5d"}, "cover an area", '"3d"'),
    "W767": ({"stretch_mute": 15}, "up to 1500 %", '"15 %"'),
    "W768": ({"aperture": 3}, "less than two bins", '"3 km"'),
}


@pytest.mark.parametrize("code", MISTAKES)
def test_a_planted_mistake_is_found_with_evidence_and_cure(folder, code):
    table, said, cure = MISTAKES[code]
    finding = found(folder, kirchhoff=table)[code]
    assert said in finding.message
    assert cure in finding.fix
    assert finding.level == "warning"


def test_traces_outside_the_classes_are_counted(folder):
    given = {"gathers": "offset", "offset": {"first": 300, "last": 500, "step": 200}}
    assert "120 of 360 traces" in found(folder, kirchhoff=given)["W765"].message
    none = found(
        folder, kirchhoff={"gathers": "offset", "offset": {"first": 3000, "last": 4000, "step": 500}}
    )
    assert none["E768"].level == "error"
    assert "100 to 500 m" in none["E768"].message


def test_a_line_is_migrated_in_2_5_d_from_its_cdps(on_line):
    job = Job.from_toml(write_job(on_line, kirchhoff={"corners": [[1, 1, 0.0, 0.0], [1, 40, 487.5, 0.0]]}))
    assert {f.code for f in rules_on(job).findings if f.is_fault} == set()
    assert job.options.amplitude == "2.5d"
    assert found(on_line, kirchhoff={"amplitude": "3d"})["W766"].level == "warning"


def without_corners(folder, **tables):
    path = write_job(folder, **tables)
    path.write_text("\n".join(row for row in path.read_text().splitlines() if not row.startswith("corners")))
    return path


def test_the_cdps_of_a_line_are_its_grid_when_nothing_is_said(on_line):
    job = Job.from_toml(without_corners(on_line))
    grid = job.image_grid(job.open_table())
    assert (grid.inlines, grid.crosslines) == ((1, 1, 1), (1, 40, 1))
    assert (grid.corner, grid.per_crossline) == ((0.0, 0.0), (12.5, 0.0))
    part = without_corners(on_line, kirchhoff={"crossline": {"first": 10, "last": 30, "step": 5}})
    job = Job.from_toml(part)
    grid = job.image_grid(job.open_table())
    assert grid.crosslines == (10, 30, 5)
    assert grid.corner == (112.5, 0.0)


def test_a_line_without_cdp_numbers_is_numbered_along_its_midpoints(tmp_path):
    line(tmp_path / "traces.sgy", n=21, spacing=20.0, offsets=(160.0,), cdp=np.zeros(21, int))
    job = Job.from_toml(without_corners(tmp_path))
    grid = job.image_grid(job.open_table())
    assert grid.crosslines == (1, 21, 1)
    np.testing.assert_allclose(grid.positions()[:, 0], 20.0 * np.arange(21), atol=1e-3)


def test_line_numbers_in_headers_are_the_grid_of_an_areal_survey(tmp_path):
    x, y = np.divmod(np.arange(120), 20)
    every = np.repeat(np.arange(120), len(OFFSETS))
    areal(tmp_path / "traces.sgy", inline=11 + x[every], crossline=101 + 2 * y[every])
    job = Job.from_toml(without_corners(tmp_path))
    grid = job.image_grid(job.open_table())
    assert (grid.inlines, grid.crosslines) == ((11, 16, 1), (101, 139, 2))
    assert grid.spacing == (25.0, 20.0)
    assert grid.corner == (1000.0, 2000.0)


def test_an_areal_survey_without_numbers_is_told_a_grid_that_holds_it(folder):
    finding = found_error(without_corners(folder))
    assert finding.code == "E766"
    assert "inline = {first = 1, last = 6}" in finding.fix
    assert "origin = [1000, 2000]" in finding.fix


def found_error(path):
    (finding,) = [f for f in rules_on(Job.from_toml(path)).findings if f.level == "error"]
    return finding


@pytest.mark.parametrize(
    ("time", "code", "said"),
    [
        ({"first": 1.5}, "E765", "records end at 1 s"),
        ({"first": -0.1}, "E765", "before time zero"),
        ({"first": 0, "last": 100}, "W761", "the image ends at 100 s"),
        ({"step": 0}, "E761", "is shorter than 1/100 of that of the records"),
        ({"first": 0.5, "last": 0.2}, "E761", "never reached"),
        ({"first": 0.0, "last": 0.5, "step": 0.03}, "E761", "use last = 0.48"),
    ],
)
def test_times_of_the_image(folder, time, code, said):
    finding = found(folder, kirchhoff={"time": time})[code]
    assert said in f"{finding.message}; {finding.fix}"


def test_what_does_not_fit_is_said_at_the_check(folder):
    finding = found(folder, kirchhoff={"memory": "60 MB"})["E610"]
    assert "[kirchhoff] memory" in finding.fix


def test_the_command_draws_the_map_and_prints_facts(folder, capsys):
    code = guard.run(app, ["check", str(write_job(folder)), "--json"])
    out = json.loads(capsys.readouterr().out)
    assert code == 0
    assert (folder / "survey.check" / "map.png").stat().st_size > 10_000
    assert out["facts"]["traces"]["traces"] == 360
    assert out["facts"]["grid"]["locations"] == 120
    assert 0 < out["facts"]["work"]["contributions"] < out["facts"]["work"]["bound"]


def test_the_maps_of_a_line_and_without_a_grid(on_line, folder, tmp_path):
    from subsalt.methods.kirchhoff.midpoint_map import midpoint_map

    job = Job.from_toml(write_job(on_line, kirchhoff={"corners": [[1, 1, 0.0, 0.0], [1, 40, 487.5, 0.0]]}))
    table = job.open_table()
    made = midpoint_map(table, job.image_grid(table), tmp_path / "line.png", title="a line")
    bare = midpoint_map(Job.from_toml(write_job(folder)).open_table(), None, tmp_path / "bare.png")
    assert made.read_bytes()[:4] == bare.read_bytes()[:4] == b"\x89PNG"


def test_an_error_of_the_job_file_has_its_exit_code(folder, capsys):
    path = write_job(folder, kirchhoff={"bands": 0})
    assert guard.run(app, ["check", str(path)]) == 78
    assert "E762" in capsys.readouterr().err
    with pytest.raises(FindingsError):
        Job.from_toml(path)
    assert guard.run(app, ["check", str(write_job(folder, data={"files": ["none.sgy"]}))]) == 66
    assert guard.run(app, ["check", str(write_job(folder, kirchhoff={"corners": CORNERS[:2]}))]) == 0
