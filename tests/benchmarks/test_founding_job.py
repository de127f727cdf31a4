"""The founding small case as a job, at a size of seconds: made once, killed, gone on with, told beside 2009."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from patience import wait_for

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SAMPLES = 160
SMALL = ["--shape", "56", "60", "60", "--samples", str(SAMPLES), "--threads", "1", "--memory", "100MB"]


@pytest.fixture
def start(tmp_path, monkeypatch, capfd):
    """Return what runs the script in this process, and forget it afterwards; plans and migrations are commands."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import founding_job

    def call(*more):
        monkeypatch.setattr(sys, "argv", ["founding_job.py", str(tmp_path), *SMALL, *more])
        code = None
        try:
            founding_job.main()
        except SystemExit as leave:
            code = leave.code
        out, err = capfd.readouterr()
        if isinstance(code, str):  # which the interpreter prints
            code, err = 1, err + code
        return subprocess.CompletedProcess(sys.argv, int(code or 0), out, err)

    yield call
    for name in ("founding_job", "facts"):
        sys.modules.pop(name, None)


def is_alive(number):
    """Whether a process of this number still runs; one that has ended and that nobody asked about does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{number}/status").read_text()
    except OSError:
        return False


def test_it_goes_on_in_the_background_where_it_was_killed(tmp_path, start):
    begun = start("--background")
    assert begun.returncode == 0, begun.stdout + begun.stderr
    process = int(begun.stdout.split("process ")[1].split()[0])
    # killed once the run has begun: its facts are there before its first shot
    wait_for(lambda: (tmp_path / "run" / "run.json").exists() or not is_alive(process))
    os.kill(process, signal.SIGKILL)
    wait_for(lambda: not is_alive(process))
    assert json.loads((tmp_path / "run" / "run.json").read_text())["state"] == "running"
    report = start("--report")
    assert report.returncode == 1
    assert "start the same command again" in report.stderr

    done = start()
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["shape"] == [56, 60, 60]
    # every step of both wavefields, on the whole grid with its layer
    assert result["grid_point_steps"] == 2 * SAMPLES * 56 * 60 * 60
    assert 0 < result["point_steps"] <= result["grid_point_steps"]
    assert sum(result["seconds"][g] for g in result["seconds"] if g != "total") == pytest.approx(
        result["seconds"]["total"]
    )
    assert result["peak_memory_bytes"] < result["bar_bytes"]
    assert "writing" not in done.stdout  # model and shot are those of the first start
    assert result["checkpoint"]["sums"]["snapshots_read"] == SAMPLES // 16
    for words in ("peak memory", "484.9", "892.4", "store, disk (as asked for)", "plan and counters agree"):
        assert words in done.stdout

    other = start("--order", "4")
    assert other.returncode == 1
    assert "holds another case" in other.stderr
