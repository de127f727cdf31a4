"""The ledger: states survive, damage is found and mended, one owner at a time."""

import json
import os
import signal
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from subsalt.earth.grid import Box
from subsalt.errors import CannotCreateError, ConfigError, DiskError
from subsalt.io.event_log import NAME as EVENTS
from subsalt.io.publish import append_line
from subsalt.methods.rtm.engine import ShotImage
from subsalt.methods.rtm.partial_image import intact, partial_path, write_partial
from subsalt.parallel.comm import single
from subsalt.run.ledger import Ledger
from subsalt.run.ledger_file import peek
from subsalt.run.lock import RunLock, boot_id
from subsalt.run.settings import COPY, NAME


@pytest.fixture
def images(tmp_path):
    """Return the folder of partial images of a run directory."""
    folder = tmp_path / "images"
    folder.mkdir()
    return folder


BOX = Box((0, 0, 0), (3, 1, 4))


def verified(ledger, images):
    """Return the done shots that are intact, and plan the others again, as the runner does."""
    good = set(intact(images, ledger.hashes(), single()))
    ledger.keep(good)
    return good


def finish(ledger, images, shot):
    """Publish a partial image and record it as the runner does."""
    ledger.start(shot)
    part = ShotImage(shot, BOX, {"correlation": np.full(BOX.shape, shot, np.float32)}, 0, 0.0)
    sha = write_partial(images, part, BOX, single())
    ledger.finish(shot, sha, 1.5)
    append_line(
        ledger.folder / EVENTS, json.dumps({"event": "done", "shot": shot, "sha256": sha, "seconds": 1.5})
    )


def test_states_and_order(tmp_path, images):
    with Ledger(tmp_path) as ledger:
        ledger.plan([30, 10, 20, 40])
        finish(ledger, images, 30)
        ledger.start(10)
        ledger.release(10)
        ledger.start(20)
        ledger.quarantine(20, "NaN in trace 3")
        assert ledger.done() == [30]
        assert ledger.failed() == [20]
        assert [r["id"] for r in ledger.rows() if r["state"] == "planned"] == [10, 40]
        rows = {r["id"]: r for r in ledger.rows()}
    assert [r["id"] for r in peek(tmp_path)] == [30, 10, 20, 40]
    assert rows[20]["reason"] == "NaN in trace 3"
    assert (rows[10]["attempt"], rows[40]["attempt"]) == (1, 0)


def test_running_shots_are_planned_again_after_a_crash(tmp_path, images):
    with Ledger(tmp_path) as ledger:
        ledger.plan([1, 2])
        ledger.start(1)
    with Ledger(tmp_path) as ledger:
        assert [r["state"] for r in ledger.rows()] == ["planned", "planned"]
        assert ledger.rows()[0]["attempt"] == 1


def test_a_new_plan_keeps_what_is_known(tmp_path, images):
    with Ledger(tmp_path) as ledger:
        ledger.plan([1, 2, 3])
        finish(ledger, images, 2)
        ledger.plan([2, 4, 1])
        assert [r["id"] for r in ledger.rows()] == [2, 4, 1]
        assert ledger.done() == [2]


@pytest.mark.parametrize("damage", ["changed", "truncated", "missing"])
def test_a_damaged_partial_image_is_done_again(tmp_path, images, damage):
    with Ledger(tmp_path) as ledger:
        ledger.plan([1, 2])
        finish(ledger, images, 1)
        finish(ledger, images, 2)
        path = partial_path(images, 1)
        if damage == "missing":
            path.unlink()
        else:
            data = path.read_bytes()
            path.write_bytes(data[:-1] + b"!" if damage == "changed" else data[:-4])
        assert verified(ledger, images) == {2}
        assert [r["id"] for r in ledger.rows() if r["state"] == "planned"] == [1]


@pytest.mark.parametrize("damage", ["junk", "page", "empty header"])
def test_a_damaged_ledger_is_rebuilt(tmp_path, images, damage):
    with Ledger(tmp_path) as ledger:
        ledger.set("key", "job 1")
        ledger.plan([5, 6, 7])
        finish(ledger, images, 5)
        finish(ledger, images, 6)
    path = tmp_path / NAME
    content = bytearray(path.read_bytes())
    if damage == "junk":
        content = bytearray(b"no database" * 100)
    elif damage == "page":
        content[4096:8192] = bytes([0x5A]) * 4096
    else:
        content[:100] = bytes(100)
    path.write_bytes(content)
    partial_path(images, 6).write_bytes(b"other")
    with Ledger(tmp_path) as ledger:
        assert ledger.rebuilt
        assert ledger.get("key") == "job 1"
        assert verified(ledger, images) == {5}
        assert [r["id"] for r in ledger.rows() if r["state"] == "planned"] == [6, 7]
    assert (tmp_path / f"{NAME}.damaged").exists()


def test_rebuilding_without_the_copy_starts_anew(tmp_path, images):
    with Ledger(tmp_path) as ledger:
        ledger.set("key", "x")
    (tmp_path / COPY).unlink()
    (tmp_path / NAME).write_bytes(b"junk" * 1000)
    with Ledger(tmp_path) as ledger:
        assert ledger.get("key") is None
        assert ledger.rows() == []


def test_a_torn_event_is_passed_over(tmp_path, images):
    with Ledger(tmp_path) as ledger:
        ledger.plan([1])
        finish(ledger, images, 1)
    with (tmp_path / EVENTS).open("a") as file:
        file.write('{"event": "do')
    (tmp_path / NAME).write_bytes(b"junk" * 1000)
    with Ledger(tmp_path) as ledger:
        assert verified(ledger, images) == {1}


def test_commits_are_full_and_survive_a_kill(tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from subsalt.run.ledger import Ledger\n"
        "l = Ledger(Path(sys.argv[1])); l.plan([1, 2, 3]); l.start(1); l.finish(1, 'abc', 2.0); l.start(2)\n"
        "os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)])
    assert done.returncode == -signal.SIGKILL
    with Ledger(tmp_path) as ledger:
        assert ledger.hashes() == {1: "abc"}
        assert [r["state"] for r in ledger.rows()] == ["done", "planned", "planned"]
        # EXTRA is 3: FULL, and commits last also without the write-ahead log
        assert ledger._db.execute("PRAGMA synchronous").fetchone()[0] == 3
        assert ledger._db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_one_owner(tmp_path):
    with Ledger(tmp_path), pytest.raises(CannotCreateError) as caught:
        Ledger(tmp_path)
    assert caught.value.code == "E802"
    assert str(os.getpid()) in caught.value.message
    Ledger(tmp_path).close()


def test_another_process_is_refused_until_the_owner_ends(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from subsalt.run.lock import RunLock\n"
        "RunLock(Path(sys.argv[1])); print('held', flush=True); time.sleep(3600)"
    )
    owner = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert owner.stdout.readline() == "held\n"
        with pytest.raises(CannotCreateError) as caught:
            RunLock(tmp_path)
        assert str(owner.pid) in caught.value.message
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()
    # a dead owner leaves its lease behind, which does not count
    RunLock(tmp_path).release()


def test_the_lock_does_not_follow_links(tmp_path):
    target = tmp_path / "precious"
    target.write_text("keep")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.lock").symlink_to(target)
    with pytest.raises(CannotCreateError):
        RunLock(folder)
    assert target.read_text() == "keep"


def test_leases_of_other_boots_are_dead(tmp_path):
    lock = RunLock(tmp_path)
    lock._write({"pid": 1, "host": os.uname().nodename, "boot": boot_id()})
    assert lock._is_alive()
    lock._write({"pid": 1, "host": os.uname().nodename, "boot": "another"})
    assert not lock._is_alive()
    lock._write({"pid": 1, "host": "another machine", "boot": "another"})
    assert lock._is_alive()
    lock.release()


def test_a_newer_format_is_refused(tmp_path):
    with Ledger(tmp_path) as ledger:
        ledger.set("format", "99")
    with pytest.raises(ConfigError) as caught:
        Ledger(tmp_path)
    assert caught.value.code == "E803"
    # and the directory is free again
    RunLock(tmp_path).release()


def test_a_full_disk_is_said(tmp_path):
    with Ledger(tmp_path) as ledger:
        ledger.plan([1])
        pages = ledger._db.execute("PRAGMA page_count").fetchone()[0]
        ledger._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(DiskError) as caught:
            ledger.quarantine(1, "x" * 100_000)
    assert caught.value.code == "E622"
    assert "full" in caught.value.message


def test_peek_without_a_ledger(tmp_path):
    assert peek(tmp_path) == []
    (tmp_path / NAME).write_bytes(b"junk")
    assert peek(tmp_path) == []


def test_peek_while_the_owner_works(tmp_path):
    with Ledger(tmp_path) as ledger:
        ledger.plan([1, 2])
        assert [r["state"] for r in peek(tmp_path)] == ["planned", "planned"]
        assert isinstance(ledger._db, sqlite3.Connection)
