"""What is wrong with the input of a time migration is said once, with its cure, by check, plan and migrate alike."""

import json
import shutil
from contextlib import suppress

import numpy as np
import pytest

from kirchhoff_jobs import CORNERS, areal, write_job
from subsalt.cli import guard
from subsalt.cli.app_root import app
from subsalt.earth.grid import Grid
from subsalt.io.volumes import volume


def text(path, rows):
    """Write a velocity text of rows ``t v`` at crossline 101 of inline 11."""
    path.write_text("\n".join(f"11 101 {t} {v}" for t, v in rows) + "\n")


def in_depth(folder):
    grid = Grid((6, 20, 101), (25.0, 20.0, 10.0))
    volume.write(folder / "vp.rsf", grid, np.full(grid.shape, 2000.0, np.float32))
    return {"velocity": {"v": None, "file": "vp.rsf"}}


def in_feet(folder):
    text(folder / "vrms.txt", [(0.0, 5600), (0.5, 8000), (1.0, 11500)])
    return {"velocity": {"v": None, "file": "vrms.txt", "columns": ["inline", "crossline", "t", "v"]}}


def in_milliseconds(folder):
    text(folder / "vrms.txt", [(0, 1600), (500, 2000), (1000, 2400)])
    return {"velocity": {"v": None, "file": "vrms.txt", "columns": ["inline", "crossline", "t", "v"]}}


def interval(folder):
    return {"velocity": {"v": {"t": [0.0, 0.3, 0.35, 1.0], "value": [1500.0, 3500.0, 1800.0, 1900.0]}}}


def zero(folder):
    text(folder / "vrms.txt", [(0, 1600), (0.5, 0), (1.0, 2400)])
    return {"velocity": {"v": None, "file": "vrms.txt", "columns": ["inline", "crossline", "t", "v"]}}


def negative(folder):
    return {"velocity": {"v": {"t": [0.0, 1.0], "value": [2000.0, -1.0]}}}


def microseconds_lost(folder):
    areal(folder / "traces.sgy", dt=8e-6)
    return {}


def without_offsets(folder):
    areal(folder / "traces.sgy", coordinates=False, offsets=False)
    return {}


def outside(folder):
    return {"kirchhoff": {"corners": [[i, j, x + 60000.0, y] for i, j, x, y in CORNERS]}}


def rotated(folder):
    # a quarter turn about the first corner
    (x0, y0) = CORNERS[0][2:]
    turned = [[i, j, x0 - (y - y0), y0 + (x - x0)] for i, j, x, y in CORNERS]
    far = [[i, j, x - 400.0, y - 300.0] for i, j, x, y in turned]
    return {"kirchhoff": {"corners": far, "aperture": 100.0}}


def swapped(folder):
    return {"kirchhoff": {"corners": [[i, j, y, x] for i, j, x, y in CORNERS]}}


def no_bands(folder):
    return {"kirchhoff": {"bands": 0}}


def duplicates(folder):
    shutil.copy(folder / "traces.sgy", folder / "again.sgy")
    return {"data": {"files": ["traces.sgy", "again.sgy"]}}


def not_a_number(folder):
    def spoil(traces):
        traces[:, 40] = np.nan

    areal(folder / "traces.sgy", edit=spoil)
    return {}


def no_files(folder):
    return {"data": {"files": ["nothing*.sgy"]}}


#: what is planted, the code, the exit code, what the message holds, what the cure holds
WRONG = {
    in_depth: ("E746", 65, "two-way time", "to time"),
    in_feet: ("E745", 65, "ft/s", "unit"),
    in_milliseconds: ("E743", 65, "1000", 'time_unit = "ms"'),
    zero: ("E740", 65, "velocity 0", "above 0"),
    negative: ("E740", 78, "-1", "above 0"),
    microseconds_lost: ("E727", 65, "", "dt"),
    without_offsets: ("E722", 65, "all zero", "[data"),
    outside: ("E730", 65, "", "corners"),
    rotated: ("E730", 65, "", ""),
    swapped: ("E730", 65, "", "x and y are exchanged"),
    no_bands: ("E762", 78, "bands = 0", "bands = 10"),
    duplicates: ("E728", 65, "", "duplicates"),
    not_a_number: ("E250", 65, "", "bad_traces"),
    no_files: ("E112", 66, "nothing*.sgy", "pattern"),
}


def make(folder, plant, name="survey.toml"):
    """Write the sound survey and what is planted in it; return the job file."""
    areal(folder / "traces.sgy")
    tables = plant(folder)
    path = write_job(folder, name, **tables)
    # a table given as None replaces a key of the default
    rows = [row for row in path.read_text().splitlines() if not row.startswith("# v =")]
    path.write_text("\n".join(rows))
    return path


def said_by(capsys, *args):
    """Return exit code and text of a command in this process."""
    code = guard.run(app, [str(a) for a in args])
    got = capsys.readouterr()
    return code, got.out + got.err


@pytest.mark.parametrize("plant", WRONG, ids=lambda p: p.__name__)
def test_check_plan_and_migrate_say_it_once_with_its_cure(plant, tmp_path, capsys):
    path = make(tmp_path, plant)
    code, exit_code, word, cure = WRONG[plant]
    for command in (["check", path, "--no-map"], ["plan", path], ["migrate", path]):
        status, said = said_by(capsys, *command)
        assert status == exit_code, (command, said)
        assert said.count(f"{code} ") == 1, (command, said)
        assert "Traceback" not in said
        after = said.split(code)[1]
        message, fix = after.split("fix:", 1)
        assert word in message, said
        assert fix.strip(), said
        assert cure in fix, said
    assert not (tmp_path / "survey.run").exists()


def test_interval_velocities_given_as_rms_are_a_warning(tmp_path, capsys):
    path = make(tmp_path, interval)
    status, said = said_by(capsys, "check", path, "--no-map")
    assert status == 0
    assert said.count("W740 ") == 1
    assert 'kind = "interval"' in said
    assert said_by(capsys, "check", path, "--no-map", "--strict")[0] == 65
    assert "W740" in said_by(capsys, "plan", path)[1]
    with suppress(OSError):
        assert "W740" in said_by(capsys, "migrate", path, "--strict")[1]


def test_a_grid_that_lies_wrongly_is_mapped_and_its_mistake_named(tmp_path, capsys):
    for plant in (rotated, swapped):
        _, said = said_by(capsys, "check", make(tmp_path, plant), "--no-map")
        rows = said.split("E730")[1].splitlines()
        # a map of a dozen rows of letters stands in the message
        assert sum(len(row) > 30 for row in rows) >= 8, said


def test_all_that_is_wrong_comes_at_once(tmp_path, capsys):
    areal(tmp_path / "traces.sgy")
    text(tmp_path / "vrms.txt", [(0, 1600), (500, 2000), (1000, 2400)])
    tables = in_milliseconds(tmp_path)
    tables["kirchhoff"] = outside(tmp_path)["kirchhoff"] | {"stretch_mute": 30}
    path = write_job(tmp_path, **tables)
    code = guard.run(app, ["check", str(path), "--no-map", "--json"])
    out = json.loads(capsys.readouterr().out)
    assert code == 65
    assert {"E730", "E743", "W767"} <= {f["code"] for f in out["findings"]}
