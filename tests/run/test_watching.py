"""Watching a run: what is said of a running, finished, stopped and killed one; nothing is locked or written."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from small_run import make

from patience import PATIENCE, wait_for
from subsalt.methods.rtm.job import Job
from subsalt.run import live, progress
from subsalt.run.ledger import Ledger
from subsalt.run.live import Live, read_progress
from subsalt.run.migrate import migrate_job
from subsalt.run.progress import View, lines, view_of
from subsalt.run.resume import ResumeOptions
from subsalt.run.stop_request import RunStopped, StopRequest
from subsalt.timing import Phases


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job.from_toml(make(tmp_path_factory.mktemp("survey")))


def everything(run: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return the files of a run: a look must leave them as they are."""
    return {
        str(p.relative_to(run)): (p.stat().st_mtime_ns, p.stat().st_ino, p.read_bytes())
        for p in run.rglob("*")
        # the index of a log that readers share holds their marks
        if p.is_file() and not p.name.endswith("-shm")
    }


def test_a_run_at_work(job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LOOK", 0.01)
    monkeypatch.setattr(live, "WRITE", 0.01)
    run, seen = tmp_path / "run", []

    def look(done: float, total: float, message: str = "") -> None:
        if 1.4 < done < 2 and not seen:
            (run / "snapshots").mkdir()
            (run / "snapshots" / "x").write_bytes(bytes(10_000))
            # until the thread that tells has told of it
            wait_for(
                lambda: any(s["shot"] == 2 and s["fraction"] > 0.3 for s in read_progress(run)["in_hand"])
            )
            seen.append(view_of(run))

    migrate_job(job, run, look)
    view: View = seen[0]
    assert (view.state, view.shots["done"], view.shots["total"]) == ("running", 1, 3)
    assert view.owner == f"process {os.getpid()} on {os.uname().nodename}"
    assert [(r.shot, r.rank, r.host) for r in view.running] == [(2, 0, os.uname().nodename)]
    assert 0.3 < view.running[0].fraction < 1
    assert view.running[0].phase in ("source", "receivers")
    assert view.rate is not None
    assert view.left is not None
    assert 0 < view.left < math.inf
    assert view.scratch >= 10_000
    text = "\n".join(lines(view))
    for words in ("1 of 3 done", "shot 2", "left for the shots", "of scratch", "state     running"):
        assert words in text
    assert not view.over
    over = view_of(run)
    assert (over.state, over.over, over.running, over.shots["done"]) == ("finished", True, [], 3)


def test_a_look_changes_nothing(job: Job, tmp_path: Path) -> None:
    """Not in a finished run, nor in one that was killed, whose ledger has a log beside it."""
    run = tmp_path / "run"
    migrate_job(job, run)
    before = everything(run)
    names = sorted(p.name for p in run.iterdir())
    view_of(run)
    assert sorted(p.name for p in run.iterdir()) == names
    assert everything(run) == before
    code = (
        "import os, sys; from pathlib import Path; from subsalt.run.ledger import Ledger\n"
        "l = Ledger(Path(sys.argv[1])); l.release(2); l.start(2); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(run)], check=False)
    before = everything(run)
    assert "ledger.sqlite-wal" in before
    view = view_of(run)
    assert view.state == "killed"
    assert (view.shots["done"], view.shots["running"], view.shots["planned"]) == (2, 0, 1)
    assert everything(run) == before
    assert f"subsalt resume {run}" in "\n".join(lines(view))
    with Ledger(run):
        assert view_of(run).state == "running"


def test_a_stopped_run_says_why(job: Job, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with pytest.raises(RunStopped):
        migrate_job(job, run, lambda *a: time.sleep(PATIENCE), resume=ResumeOptions(limit=0.1))
    view = view_of(run)
    assert (view.state, view.why) == ("stopped", "the time limit of 0.1 s is over")


def test_a_request_that_comes_too_late_stops_nothing(tmp_path: Path) -> None:
    """The time limit may be over while the last file is written: the run is finished then, and says so."""

    def let_signals_in() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
        join()

    with Ledger(tmp_path) as ledger:
        before = signal.signal(signal.SIGUSR1, signal.SIG_DFL)
        try:
            with Live(tmp_path, ledger.lock.lease, Phases()) as running:
                join, running._thread.join = running._thread.join, let_signals_in
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
                running.request = StopRequest(False, "late")
                signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        finally:
            signal.signal(signal.SIGUSR1, before)
    assert json.loads((tmp_path / "progress.json").read_text())["state"] == "finished"


def test_a_failed_run_says_why(job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*a: object) -> None:
        raise ValueError("a mistake")

    with pytest.raises(ValueError, match="a mistake"):
        migrate_job(job, tmp_path / "run", fail)
    view = view_of(tmp_path / "run")
    assert (view.state, view.why) == ("failed", "a mistake")


@pytest.mark.parametrize("lease", [{}, {"pid": 1, "host": "elsewhere", "boot": "b"}])
def test_a_run_of_another_machine_may_be_silent(
    tmp_path: Path, lease: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger(tmp_path) as ledger:
        ledger.plan([1])
    (tmp_path / "run.lock").write_text(json.dumps(lease) if lease else "")
    if not lease:
        assert view_of(tmp_path).state == "not started"
        return
    assert view_of(tmp_path).state == "running"
    (tmp_path / "progress.json").write_text("{}")
    now = time.time()
    monkeypatch.setattr(progress.time, "time", lambda: now)
    os.utime(tmp_path / "progress.json", (now - 104, now - 104))
    view = view_of(tmp_path)
    assert (view.state, view.over) == ("silent", False)
    assert "nothing was heard of it for 1:44" in view.why


@pytest.mark.parametrize(
    "text", ["", "[", "[]", '{"in_hand": [3, {"shot": "x"}], "lease": 3, "elapsed": "1"}']
)
def test_damaged_progress_is_no_failure(tmp_path: Path, text: str) -> None:
    with Ledger(tmp_path) as ledger:
        ledger.plan([1])
        (tmp_path / "progress.json").write_text(text)
        assert lines(view_of(tmp_path))
    assert read_progress(tmp_path) == {} or text.startswith('{"')


def test_the_command_prints_lines_or_json(job: Job, tmp_path: Path, subsalt_command) -> None:
    run = tmp_path / "run"
    migrate_job(job, run)
    code, out, _ = subsalt_command("watch", run)
    assert code == 0
    assert "3 of 3 done  (100.0 %)" in out
    code, out, _ = subsalt_command("watch", run, "--json", "--once")
    view = json.loads(out)
    assert (code, view["state"], view["shots"]["done"]) == (0, "finished", 3)


def test_a_full_disk_does_not_disturb_a_run_that_tells_of_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger(tmp_path) as ledger:
        monkeypatch.setattr(os, "write", lambda fd, data: (_ for _ in ()).throw(OSError(28, "full")))
        with Live(tmp_path, ledger.lock.lease, Phases()):
            pass
        monkeypatch.undo()
    assert read_progress(tmp_path) == {}
    assert not list(tmp_path.glob(".progress*"))


def test_a_program_without_a_handler_is_not_killed_by_a_request(tmp_path: Path) -> None:
    """The package may run inside somebody's program, for which SIGUSR1 is death."""
    before = signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    try:
        with Ledger(tmp_path) as ledger:
            with Live(tmp_path, ledger.lock.lease, Phases()), pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGUSR1)
            assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGUSR1, before)
