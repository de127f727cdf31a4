"""`subsalt play`: a page of a run, its server, and what is said about wrong options."""

import json
import re
import stat
import threading
import urllib.request
from pathlib import Path

import pytest

from job_files import GRID, MIGRATE, write_files, write_job
from patience import PATIENCE, wait_for
from subsalt.methods.rtm.region import parse_region
from subsalt.run.migrate import migrate_job

KEEP = '\n[propagation]\ngrid = "model"\n[checkpoint]\nkeep = "both"\n'


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a run directory whose wavefields are kept."""
    from subsalt.methods.rtm.job import Job

    folder = tmp_path_factory.mktemp("play")
    write_files(folder)
    migrate_job(Job.from_toml(write_job(folder, MIGRATE + KEEP)), folder / "line.run")
    return folder / "line.run"


def meta_of(path):
    """Return the facts in a page."""
    return json.loads(re.search(r'id="meta">(.*?)</script>', path.read_bytes().decode("utf-8"))[1])


def test_a_page_of_a_shot(subsalt_command, run, tmp_path):
    page = tmp_path / "movie.html"
    code, out, err = subsalt_command("play", run, "--shot", 2, "-o", page)
    assert code == 0, err
    assert "movie.html" in out
    meta = meta_of(page)
    assert meta["shot"] == 2
    assert meta["title"] == "a line"
    assert [f["name"] for f in meta["fields"]] == ["source", "receiver", "image"]
    assert [(a["name"], a["n"]) for a in meta["axes"]] == [("x", 81), ("z", 51)]
    assert meta["times"] == sorted(meta["times"])
    assert all(len(f["clips"]) == len(meta["percentiles"]) and f["clips"][-1] > 0 for f in meta["fields"])
    assert str(run) in meta["reimage"]


def test_the_first_shot_under_its_name(subsalt_command, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = subsalt_command("play", run, "--fields", "image")
    assert code == 0, err
    assert meta_of(tmp_path / "line-shot1.html")["shot"] == 1


def test_what_is_asked_for_is_shown(subsalt_command, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["--fields", "image,source", "--every", 5, "--size", 41, "--from", "100 ms", "--to", "0.4 s"]
    code, out, err = subsalt_command("play", run, "--shot", 3, *words, "--json")
    assert code == 0, err
    result = json.loads(out)
    meta = meta_of(tmp_path / "line-shot3.html")
    assert result["movie"] == "line-shot3.html"
    assert result["bytes"] == (tmp_path / "line-shot3.html").stat().st_size
    assert result["fields"] == ["source", "image"]
    assert result["shape"] == [41, 26]
    assert result["frames"] == len(meta["times"])
    # samples nearest to what was asked for: within one of them
    assert 0.1 - 0.01 <= meta["times"][0] <= meta["times"][-1] <= 0.4 + 0.01
    assert {b - a for a, b in zip(meta["samples"], meta["samples"][1:], strict=False)} == {5}


def test_the_region_of_a_page_is_one_that_reimage_reads():
    """As `regionText` in the player writes it."""
    box = parse_region("200:640,350.5:450", GRID)
    assert (box.lo, box.hi) == ((20, 0, 36), (65, 1, 46))


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--shot", "99"], "E", "99"),
        (["--fields", "source,pressure"], "E853", "no field is called 'pressure'"),
        (["--fields", ","], "E853", "no field is named"),
        (["--from", "3 km"], "E853", "--from"),
        (["--max-size", "large"], "E662", "--max-size 'large'"),
        (["--max-size", "1kB"], "E850", "frames"),
        (["--serve", "-o", "a.html"], "E853", "not both"),
        (["--port", "8000"], "E853", "--port is for the server"),
        (["--open"], "E853", "add --serve"),
        (["-o", "none/a.html"], "E630", "none"),
        (["-o", "."], "E630", "folder"),
        (["--every", "0"], "E002", "--every"),
    ],
)
def test_what_cannot_be_is_said(subsalt_command, run, tmp_path, monkeypatch, words, code, says):
    monkeypatch.chdir(tmp_path)
    left, _, err = subsalt_command("play", run, *words)
    assert left != 0
    assert f"error {code}" in err
    assert says in err
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


def test_no_run(subsalt_command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("nothing", "."):
        code, _, err = subsalt_command("play", name)
        assert code == 66, err
        assert "Traceback" not in err


def test_a_batch_node_is_told_before_anything_is_computed(subsalt_command, run, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    code, _, err = subsalt_command("play", run, "--serve")
    assert code == 69
    assert "error E851" in err


def test_serve_answers_and_leaves_nothing_behind(subsalt_command, run, monkeypatch):
    from subsalt.view import movie_server

    for name in movie_server.BATCH:
        monkeypatch.delenv(name, raising=False)
    before = sorted(run.rglob("*"))
    servers, opened = [], []
    monkeypatch.setattr("webbrowser.open", opened.append)
    start = movie_server.MovieServer.__init__

    def remembered(self, *args, **named):
        start(self, *args, **named)
        servers.append(self)

    monkeypatch.setattr(movie_server.MovieServer, "__init__", remembered)
    answers, pages = [], []

    def look():
        wait_for(lambda: servers and opened)
        server = servers[0]
        ask = urllib.request.Request(
            f"http://127.0.0.1:{server.port}/movie", headers={"X-Subsalt-Token": server.token}
        )
        with urllib.request.urlopen(ask, timeout=PATIENCE) as answer:
            answers.append(json.load(answer))
        page = Path(opened[0].removeprefix("file://"))
        pages.append((stat.S_IMODE(page.parent.stat().st_mode), page.read_text()))
        server.shutdown()

    reader = threading.Thread(target=look)
    reader.start()
    code, out, err = subsalt_command("play", run, "--shot", 1, "--serve", "--open")
    reader.join(PATIENCE)
    assert code == 0, err
    assert answers[0]["shot"] == 1
    assert f"http://127.0.0.1:{servers[0].port}/#token={servers[0].token}" in out
    # the browser is started with a page that only this user may read, not with the token
    assert servers[0].token not in opened[0]
    assert pages[0][0] == 0o700
    assert f"url=http://127.0.0.1:{servers[0].port}/#token={servers[0].token}" in pages[0][1]
    assert not Path(opened[0].removeprefix("file://")).exists()
    assert sorted(run.rglob("*")) == before
