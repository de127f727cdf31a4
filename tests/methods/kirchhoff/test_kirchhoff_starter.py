"""`subsalt init --method kirchhoff` writes a job that says what the traces say, and that passes its own check."""

import json
import tomllib

import numpy as np

from job_files import shared_data
from kirchhoff_jobs import OFFSETS, areal, line
from subsalt.cli import guard
from subsalt.cli.app_root import app
from subsalt.job.checking import check_job
from subsalt.methods.kirchhoff.starter import write_time_job
from subsalt.methods.rtm.job import Job


def checked(path):
    """Return the codes that the check of a job finds."""
    return {f.code for f in check_job(Job.from_toml(path)).findings if f.is_fault}


def test_a_line_gets_its_cdps_its_offsets_and_its_times(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line(tmp_path / "traces.sgy")
    made = write_time_job(tmp_path / "a.toml", ["traces.sgy"], vrms="2 km/s")
    raw = tomllib.loads(made.text)
    assert raw["method"] == "kirchhoff"
    assert raw["velocity"] == {"v": 2000.0}
    k = raw["kirchhoff"]
    assert k["corners"] == [[1, 1, 0.0, 0.0], [1, 40, 487.5, 0.0]]
    assert k["crossline"] == {"first": 1, "last": 40, "step": 1}
    assert k["time"] == {"first": 0.0, "last": 1.0, "step": 0.008}
    assert k["gathers"] == "full-offset"
    assert "120 traces, 126 samples of 8 ms" in made.text
    assert checked(tmp_path / "a.toml") == set()


def test_every_commented_line_works_when_its_mark_is_removed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line(tmp_path / "traces.sgy")
    made = write_time_job(tmp_path / "a.toml", ["traces.sgy"])
    head, rest = made.text.split("# Further keys")
    rows = [row.removeprefix("# ") for row in rest.splitlines() if " = " in row or row.startswith("# [")]
    given = tomllib.loads("\n".join([head, *rows]))
    plain, full = Job.from_toml(tmp_path / "a.toml"), Job.from_dict(given, tmp_path)
    # they are the defaults: nothing changes
    assert full.resolved() == plain.resolved()
    assert len(rows) >= 12
    assert "a guess" in made.text


def test_an_areal_survey_gets_its_line_numbers_or_a_guess(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    areal(tmp_path / "bare.sgy")
    guessed = tomllib.loads(write_time_job(tmp_path / "a.toml", ["bare.sgy"], vrms="2000").text)["kirchhoff"]
    assert (guessed["origin"], guessed["spacing"]) == ([1000.0, 2000.0], [25.0, 25.0])
    assert checked(tmp_path / "a.toml") == set()
    x, y = np.divmod(np.arange(120), 20)
    every = np.repeat(np.arange(120), len(OFFSETS))
    areal(tmp_path / "numbered.sgy", inline=11 + x[every], crossline=101 + y[every])
    numbered = tomllib.loads(write_time_job(tmp_path / "b.toml", ["numbered.sgy"], vrms="2000").text)[
        "kirchhoff"
    ]
    assert numbered["inline"] == {"first": 11, "last": 16, "step": 1}
    assert numbered["corners"][1] == [11, 120, 1000.0, 2380.0]
    assert checked(tmp_path / "b.toml") == set()


def test_traces_without_coordinates_need_the_spacing_of_their_cdps(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    line(tmp_path / "traces.sgy", coordinates=False)
    args = ["init", "a.toml", "--from", "traces.sgy", "--method", "kirchhoff", "--vrms", "2000"]
    # the job is there, and cannot be run as it is
    assert guard.run(app, [*args, "--json"]) == 65
    result = json.loads(capsys.readouterr().out)
    assert [(f["code"], f["level"]) for f in result["findings"]] == [("E722", "error")]
    assert (tmp_path / "a.toml").exists()
    assert guard.run(app, [*args, "--force", "--cdp-spacing", "12.5 m"]) == 0
    raw = tomllib.loads((tmp_path / "a.toml").read_text())
    assert raw["data"]["cdp_line"] == {"spacing": 12.5, "first_cdp": 1}
    assert checked(tmp_path / "a.toml") == set()


def test_options_of_the_other_method_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for args, said in (
        (["--method", "kirchhoff", "--vp", "2000"], "--vp belongs to method rtm"),
        (["--vrms", "2000"], "--vrms belongs to method kirchhoff"),
        (["--method", "kirchof"], "use one of rtm, kirchhoff"),
    ):
        assert guard.run(app, ["init", "a.toml", "--from", "x.sgy", *args]) == 78
        assert said in capsys.readouterr().err
    line(tmp_path / "traces.sgy")
    (tmp_path / "a.toml").write_text("")
    assert guard.run(app, ["init", "a.toml", "--from", "traces.sgy", "--method", "kirchhoff"]) == 73


def test_a_real_line_gets_a_job_that_passes(tmp_path):
    path = shared_data() / "segy" / "cdp601to610_be.su"
    write_time_job(tmp_path / "a.toml", [str(path)], preset="su", cdp_spacing="25", vrms="2000")
    assert not any(c.startswith("E") for c in checked(tmp_path / "a.toml"))
