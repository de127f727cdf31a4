"""The founding small case as a job, at a size of seconds: made once, killed, gone on with, told beside 2009."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from patience import PATIENCE, wait_for

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SAMPLES = 160
SMALL = ["--shape", "56", "60", "60", "--samples", str(SAMPLES), "--threads", "1", "--memory", "100MB"]


def start(folder, *more):
    command = [sys.executable, str(BENCHMARKS / "founding_job.py"), str(folder), *SMALL, *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


def is_alive(number):
    """Whether a process of this number still runs; one that has ended and that nobody asked about does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{number}/status").read_text()
    except OSError:
        return False


def test_it_goes_on_in_the_background_where_it_was_killed(tmp_path):
    begun = start(tmp_path, "--background")
    assert begun.returncode == 0, begun.stdout + begun.stderr
    process = int(begun.stdout.split("process ")[1].split()[0])
    # killed once the run has begun: its facts are there before its first shot
    wait_for(lambda: (tmp_path / "run" / "run.json").exists() or not is_alive(process))
    os.kill(process, signal.SIGKILL)
    wait_for(lambda: not is_alive(process))
    assert json.loads((tmp_path / "run" / "run.json").read_text())["state"] == "running"
    report = start(tmp_path, "--report")
    assert report.returncode == 1
    assert "start the same command again" in report.stderr

    done = start(tmp_path)
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

    other = start(tmp_path, "--order", "4")
    assert other.returncode == 1
    assert "holds another case" in other.stderr
