"""Benchmarks of what checkpoints cost, at sizes of a second: what they compare, count, and call a miss."""

import argparse
import json
import multiprocessing
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module", autouse=True)
def benchmarks():
    """Let the scripts be imported, and forget them afterwards."""
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))
    for name in ("facts", "storing", "revolve_time", "protection"):
        sys.modules.pop(name, None)


def test_storing_takes_turns_and_tells_what_the_device_had_to_do(tmp_path):
    import storing

    options = argparse.Namespace(
        directory=tmp_path,
        grid=[36, 36, 36],
        samples=40,
        checkpoints=10,
        rounds=2,
        threads=1,
        io_threads=1,
        direct=False,
        device_bytes=1 << 20,
    )
    times = storing.measure(options)
    assert times["same_image"]
    assert (times["counts"]["puts"], times["counts"]["gets"]) == (10, 10)
    assert times["counts"]["bytes_written"] == 10 * 4 * 12**3
    assert len(times["memory_seconds"]) == len(times["disk_seconds"]) == 2
    assert min(times["needed_bytes_per_second"].values()) > 0
    assert set(times["device_bytes_per_second"]) == {"put", "get"}
    assert not list(tmp_path.iterdir())


def test_revolve_multiplies_its_steps_with_the_rates_of_the_shot_that_keeps_everything():
    import revolve_time

    options = argparse.Namespace(
        grid=[44, 44, 44], samples=50, slots=4, image_step=2, block=1, rounds=1, threads=1
    )
    times = revolve_time.measure(options)
    # 26 samples, rest among them, with 4 slots and rest, each two steps from the next
    assert times["source_steps"] == 2 * brute_force(26, 5)
    assert times["receiver_steps"] == 50
    assert times["same_image"]
    assert times["counted_as_planned"]
    (row,) = times["rounds"]
    assert row["predicted"] == pytest.approx(
        times["source_steps"] * row["source_step"] + 50 * row["receiver_step"]
    )
    assert times["ratio"] == row["measured"] / row["predicted"]


def brute_force(length, slots):
    """Return the fewest steps forward to visit `length` states backwards from the first one, by trying all."""
    best = {}
    for c in range(1, slots + 1):
        best[1, c] = 0
        for l in range(2, length + 1):
            whole = l * (l - 1) // 2
            best[l, c] = whole if c == 1 else min(m + best[l - m, c - 1] + best[m, c] for m in range(1, l))
    return best[length, slots]


def test_without_protection_means_without():
    """The patches reach what they are meant for, in a process of their own."""
    import protection

    db = sqlite3.connect(":memory:", factory=protection.Careless)
    db.execute("PRAGMA synchronous = EXTRA")
    assert db.execute("PRAGMA synchronous").fetchone() == (0,)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert protection.NoHash(b"a").hexdigest() == "0" * 64
    code = (
        "import sys, os, hashlib; sys.path.insert(0, sys.argv[1]); import protection; protection.leave_out();"
        "os.fsync(-1); os.fdatasync(-1); print(hashlib.sha256(b'a').hexdigest())"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, str(BENCHMARKS)], capture_output=True, text=True, check=True
    )
    assert said.stdout.split() == ["0" * 64]


def test_protection_compares_whole_runs(tmp_path, monkeypatch):
    import protection

    run = subprocess.run

    def child(words):
        subprocess.run = run
        protection.child(words[0], words[1:])

    def forked(command, **more):
        """Run the first child as it is, and the others by a fork of this process, which has imported everything."""
        if not starts:
            starts.append(command)
            return run(command, **more)
        process = multiprocessing.get_context("fork").Process(target=child, args=(command[3:],))
        process.start()
        process.join()
        return subprocess.CompletedProcess(command, process.exitcode, "", "")

    starts = []
    monkeypatch.setattr(subprocess, "run", forked)
    options = argparse.Namespace(
        directory=tmp_path, grid=[16, 14, 14], shots=1, samples=41, rounds=1, threads=1
    )
    lines = []
    times = protection.measure(options, say=lines.append)
    (row,) = times["rounds"]
    assert times["cost"] == row["whole"] / row["bare"] - 1
    assert times["same_image"]
    assert len(lines) == 1
    assert not list(tmp_path.iterdir())
    json.dumps(times)
