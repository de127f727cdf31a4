"""Stops from outside: the request reaches the run it is for; what was finished stays, the rest goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_run import digest, make

from patience import PATIENCE, wait_for
from subsalt.cli import commands
from subsalt.errors import ConfigError, MissingInputError, ParallelError
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.reimage import Wish, reimage_run
from subsalt.run import live
from subsalt.run.ledger import Ledger
from subsalt.run.ledger_file import peek
from subsalt.run.live import read_progress
from subsalt.run.lock import RunLock, is_alive, read_lease
from subsalt.run.migrate import migrate_job
from subsalt.run.progress import view_of
from subsalt.run.resume import ResumeOptions
from subsalt.run.stop_request import STOP_FILE, RunStopped, read_request, request_stop


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LOOK", 0.02)
    monkeypatch.setattr(live, "WRITE", 0.02)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job.from_toml(make(tmp_path_factory.mktemp("survey")))


@pytest.fixture(scope="module")
def whole(job: Job) -> str:
    return migrate_job(job, job.base / "whole").sha256


def asking(run: Path, at: float, **how: bool):
    """Return a progress callback that asks the run to stop when so many shots are done, and waits until it heard."""
    stops = []

    def progress(done: float, total: float, message: str = "") -> None:
        if done >= at and not stops:
            stops.append(request_stop(run, patience=0, **how))
            # at once is by a signal, which ends the waiting
            wait_for(lambda: read_progress(run).get("state") == "stopping" and how.get("finish"))

    return progress


def test_a_stop_gives_the_shot_in_hand_back(job: Job, whole: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with pytest.raises(RunStopped, match="given back") as caught:
        migrate_job(job, run, asking(run, 1.2))
    assert caught.value.exit_code == 75
    assert f"subsalt resume {run}" in caught.value.fix
    assert [r["state"] for r in peek(run)] == ["done", "planned", "planned"]
    assert [r["deaths"] for r in peek(run)] == [0, 0, 0]
    assert (read_progress(run)["state"], read_lease(run)) == ("stopped", {})
    assert not (run / STOP_FILE).exists()
    assert migrate_job(job, run).sha256 == whole
    assert [r["attempt"] for r in peek(run)] == [1, 2, 1]


def test_a_stop_may_let_the_shot_in_hand_be_finished(job: Job, whole: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with pytest.raises(RunStopped, match="finished first"):
        migrate_job(job, run, asking(run, 1.2, finish=True))
    assert [r["state"] for r in peek(run)] == ["done", "done", "planned"]
    assert migrate_job(job, run).sha256 == whole
    assert [r["attempt"] for r in peek(run)] == [1, 1, 1]


def test_a_stop_after_the_last_shot_lets_the_run_end(job: Job, whole: str, tmp_path: Path) -> None:
    assert migrate_job(job, tmp_path / "run", asking(tmp_path / "run", 2.2, finish=True)).sha256 == whole


def test_a_new_image_of_a_run_is_stopped_and_watched_like_any_run(
    job: Job, whole: str, tmp_path: Path
) -> None:
    new = tmp_path / "new"
    with pytest.raises(RunStopped, match="finished first"):
        reimage_run(job.base / "whole", new, Wish(), asking(new, 1, finish=True))
    assert view_of(new).state == "stopped"
    assert {r["state"] for r in peek(new)} == {"done", "planned"}
    assert reimage_run(job.base / "whole", new, Wish()).sha256 == whole


def test_the_time_limit_stops_a_run(job: Job, whole: str, tmp_path: Path) -> None:
    def slow(done: float, total: float, message: str = "") -> None:
        time.sleep(PATIENCE)  # what stops it is a signal

    run = tmp_path / "run"
    with pytest.raises(RunStopped, match=r"time limit of 0\.2 s"):
        migrate_job(job, run, slow, resume=ResumeOptions(limit=0.2))
    assert migrate_job(job, run, resume=ResumeOptions(limit=600)).sha256 == whole


def test_a_request_for_an_earlier_start_stops_nothing(job: Job, whole: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / STOP_FILE).write_text(json.dumps({"token": "of another start", "finish": False, "why": "late"}))
    assert read_request(run, {"token": "mine"}) is None
    assert migrate_job(job, run).sha256 == whole
    assert not (run / STOP_FILE).exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', '{"finish": true}', '{"token": null}'])
def test_a_damaged_request_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / STOP_FILE).write_text(text)
    assert read_request(tmp_path, {"token": "t"}) is None
    assert read_request(tmp_path, {}) is None


def test_nobody_is_asked_where_nobody_works(tmp_path: Path) -> None:
    with Ledger(tmp_path) as ledger:
        ledger.plan([1])
    answer = request_stop(tmp_path)
    assert (answer.running, answer.stopped) == (False, True)
    assert not (tmp_path / STOP_FILE).exists()


def test_who_does_not_stop_is_named(tmp_path: Path) -> None:
    with RunLock(tmp_path), pytest.raises(ParallelError, match=f"process {os.getpid()} on") as caught:
        request_stop(tmp_path, patience=0.1)
    assert caught.value.code == "E840"
    assert json.loads((tmp_path / STOP_FILE).read_text())["finish"] is False


def test_a_dead_owner_is_told_from_a_living_one(tmp_path: Path) -> None:
    """A number of a process that was given again is another process."""
    with RunLock(tmp_path):
        lease = read_lease(tmp_path)
    assert is_alive(lease) is True
    assert is_alive(lease | {"started": 1}) is False
    assert is_alive(lease | {"boot": "before"}) is False
    assert is_alive(lease | {"boot": "b", "host": "elsewhere"}) is None
    assert is_alive({}) is False


def test_what_is_no_run_is_refused(tmp_path: Path, subsalt_command) -> None:
    for command in ("stop", "watch", "resume"):
        code, _, err = subsalt_command(command, tmp_path / "none")
        assert (code, "E110" in err) == (66, True)
        code, _, err = subsalt_command(command, tmp_path)
        assert (code, "E841" in err) == (66, True)
        (tmp_path / "file").write_text("x")
        code, _, err = subsalt_command(command, tmp_path / "file")
        assert (code, "E842" in err) == (78, True)
    (tmp_path / "run.lock").touch()
    assert subsalt_command("resume", tmp_path)[0] == 66  # ended before its job was written down
    (tmp_path / "job.resolved.toml").write_text("x = [")
    code, _, err = subsalt_command("resume", tmp_path)
    assert (code, "E641" in err) == (74, True)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("45m", 2700),
        ("3h", 10800),
        ("2d", 172800),
        ("1:30:00", 5400),
        ("1.5 h", 5400),
    ],
)
def test_times_are_read(text: str, seconds: float) -> None:
    assert commands.seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "x", "3 weeks", "-1", "0", "1:-2", "1:2:3:4", "nan", "inf", "1e999"])
def test_times_that_are_none(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        commands.seconds_of(text)
    assert (caught.value.code, caught.value.exit_code) == ("E843", 2)
    assert commands.seconds_of(None) is None


def test_resume_needs_the_directory_alone(job: Job, whole: str, tmp_path: Path, subsalt_command) -> None:
    """Also from elsewhere, and when run and job were moved together."""
    import shutil

    run = job.base / "stopped.run"
    with pytest.raises(RunStopped):
        migrate_job(job, run, asking(run, 1.2))
    here = os.getcwd()
    try:
        os.chdir(tmp_path)
        shutil.copytree(job.base, tmp_path / "moved")
        assert subsalt_command("resume", run)[0] == 0
        assert digest(run) == whole
        os.rename(job.base, f"{job.base}.away")
        try:
            code, out, err = subsalt_command("resume", tmp_path / "moved" / "stopped.run", "--json")
        finally:
            os.rename(f"{job.base}.away", job.base)
        assert code == 0, err
        assert json.loads(out.splitlines()[-1])["sha256"] == whole
    finally:
        os.chdir(here)


def test_the_command_stops_a_run_from_another_process(job: Job, tmp_path: Path, subsalt_command) -> None:
    run = tmp_path / "run"
    slow = (
        "import sys, time; from subsalt.cli import guard, app as cli; from subsalt.run import progress\n"
        "progress.for_stream = lambda label, **more: type('Slow', (progress.Silent,), "
        "{'__call__': lambda *a: time.sleep(600)})()\n"
        "sys.exit(guard.run(cli.app, sys.argv[1:]))"
    )
    command = [sys.executable, "-c", slow, "migrate", str(job.path), "--run", str(run)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: read_progress(run).get("in_hand") or process.poll() is not None)
    assert process.poll() is None
    code, out, _ = subsalt_command("stop", run, "--json")
    assert code == 0
    answer = json.loads(out.splitlines()[-1])
    assert (answer["running"], answer["stopped"]) == (True, True)
    # without the word it would go on for ever
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 75
    assert "E801" in err
    assert "subsalt stop" in err
    assert "Traceback" not in err


def test_times_of_the_commands_are_checked(tmp_path: Path, subsalt_command) -> None:
    (tmp_path / "run.lock").touch()
    for words in (("stop", tmp_path, "--wait", "-1"), ("watch", tmp_path, "--every", "0")):
        code, _, err = subsalt_command(*words)
        assert (code, "E843" in err) == (2, True)


def test_a_file_of_another_program_is_no_lease(tmp_path: Path) -> None:
    (tmp_path / "run.lock").write_text("[1]")
    assert read_lease(tmp_path) == {}
    with pytest.raises(MissingInputError):
        request_stop(tmp_path / "none")
