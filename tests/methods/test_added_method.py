"""A method is a folder and a line of `METHODS`: every command finds the rest in its contract."""

import json

import pytest

from job_files import survey
from subsalt.cli.app_make import _own_options, _start_options
from subsalt.io.segy.writing import write_survey
from subsalt.job.base import read_job
from subsalt.job.schema import schema_text
from subsalt.job.text import explain_key
from subsalt.machine.machine_file import Machine
from subsalt.methods import METHODS, method_of

JOB = """\
method = "mean"
factor = 2.0

[data]
files = ["*.sgy"]
"""


@pytest.fixture
def added(monkeypatch, tmp_path):
    """Return a folder with a job of the added method, which is in the table."""
    monkeypatch.setitem(METHODS, "mean", "added_method")
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        write_survey(tmp_path / f"{name}.sgy", survey(1))
    (tmp_path / "mean.toml").write_text(JOB)
    return tmp_path


def test_its_job_is_read_explained_and_in_the_schema(added):
    assert read_job(added / "mean.toml").factor == 2.0
    assert "factor on the mean" in explain_key("factor").values()
    schema = json.loads(schema_text())
    assert "mean of bytes (mean)" in schema["properties"]["method"]["description"]
    assert "mean" in schema["properties"]["method"]["enum"]


def test_it_is_checked_and_drawn(added, subsalt_command):
    code, out, _ = subsalt_command("check", "mean.toml", "--json")
    said = json.loads(out)
    assert (code, said["warnings"], said["facts"]) == (0, 1, {"files": 2})
    assert (added / "mean.check" / "map.png").read_text() == "drawn"


def test_it_is_planned(added, subsalt_command):
    code, out, _ = subsalt_command("plan", "mean.toml")
    assert code == 0
    assert "mean: little" in out
    assert "it fits" in out


def test_it_runs_resumes_and_refuses_another_job(added, subsalt_command):
    code, _, err = subsalt_command("migrate", "mean.toml")
    assert code == 0, err
    run = json.loads((added / "mean.run" / "run.json").read_text())
    assert (run["state"], run["files_read"], run["files"]) == ("finished", 2, ["mean.txt"])
    assert [row["state"] for row in run["parts"]] == ["done", "done"]
    assert subsalt_command("resume", "mean.run")[0] == 0
    (added / "mean.toml").write_text(JOB.replace("2.0", "3.0"))
    code, _, err = subsalt_command("migrate", "mean.toml")
    assert (code, "takes the mean of all bytes again" in err) == (78, True)


def test_its_run_is_drawn_and_reported(added, subsalt_command):
    assert subsalt_command("migrate", "mean.toml")[0] == 0
    code, out, _ = subsalt_command("view", "mean.run", "--out", "image.png", "--clip", "98")
    assert (code, "clip 98" in out) == (0, True)
    assert (added / "image.png").read_text() == (added / "mean.run" / "mean.txt").read_text()
    page = (added / "mean.run" / "report.html").read_text()
    assert "files whose bytes were averaged" in page
    assert "Parts of the mean" in page


def test_it_has_no_velocity_scan(added, subsalt_command):
    code, _, err = subsalt_command("vscan", "mean.toml", "0.9:1.1:0.1")
    assert code == 78
    assert "is a job of method mean" in err


def test_its_options_of_init_and_its_rates(added):
    made = _start_options("mean")(factor="2")
    given = {"factor": made.factor, "vp": None}
    for name in METHODS:
        given |= {o.name: given.get(o.name) for o in method_of(name).start_options}
    assert _own_options("mean", given) == {"factor": "2"}
    rows = [{"isa": "v3", "rate": 1.0}, {"isa": "v4", "rate": 2.0}, {"isa": "v3", "rate": 3.0}]
    assert len(Machine({}).merged("mean", rows).sections["mean"]) == 2
