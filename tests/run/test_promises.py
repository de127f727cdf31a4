"""What a run promises when it is stopped, its disk fails, or its inputs change between two calls."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from small_run import MIGRATE
from small_run import MODEL as THREE

import subsalt
from subsalt.earth.grid import Grid
from subsalt.errors import CannotCreateError, ConfigError, CorruptionError, DiskError
from subsalt.io.faults import FaultCounter, set_fault
from subsalt.io.publish import make_folder, remove_leftovers
from subsalt.io.volumes import volume
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job
from subsalt.run import facts as provenance
from subsalt.run.identity import input_changes
from subsalt.run.ledger import Ledger
from subsalt.run.ledger_file import disk_errors
from subsalt.run.lock import RunLock
from subsalt.run.migrate import migrate_job
from subsalt.run.settings import NAME

#: two of the three shots of `small_run`
MODEL = THREE.replace("n = 3", "n = 2")

#: names as killed writers leave them
LEFT = (".image.sgy.0123456789ab.tmp", ".image.zarr.0123456789ab.old")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with job.toml and two modelled shots."""
    (tmp_path / "model.toml").write_text(MODEL)
    (tmp_path / "job.toml").write_text(MIGRATE)
    model_job(Job.from_toml(tmp_path / "model.toml"), tmp_path / "shots")
    return tmp_path


def leave(folder: Path) -> None:
    """Leave what a writer that was killed leaves, and a file that looks alike but is a user's."""
    (folder / LEFT[0]).write_bytes(b"half")
    (folder / LEFT[1]).mkdir()
    (folder / LEFT[1] / "0.0").write_bytes(b"half")
    (folder / ".notes.tmp").write_text("mine")


def names(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def test_leftovers_are_those_of_our_writers_alone(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    leave(tmp_path)
    leave(tmp_path / "images")
    assert {p.name for p in remove_leftovers(tmp_path)} == set(LEFT)
    assert names(tmp_path) == {"images", ".notes.tmp"}
    assert names(tmp_path / "images") == {".notes.tmp"}


def test_the_next_run_clears_up_after_a_killed_one(folder: Path) -> None:
    """F1: stray files do not heap up."""
    (folder / "run" / "images").mkdir(parents=True)
    leave(folder / "run")
    leave(folder / "run" / "images")
    migrate_job(Job.from_toml(folder / "job.toml"), folder / "run")
    assert not names(folder / "run") & set(LEFT)
    assert not names(folder / "run" / "images") & set(LEFT)
    leave(folder / "shots")
    model_job(Job.from_toml(folder / "model.toml"), folder / "shots")
    assert not names(folder / "shots") & set(LEFT)


def test_a_run_at_work_keeps_its_temporary_files(folder: Path) -> None:
    """F21: who is refused must not clear up in the folder of the other."""
    (folder / "run").mkdir()
    with Ledger(folder / "run"):
        leave(folder / "run")
        with pytest.raises(CannotCreateError, match="in use"):
            migrate_job(Job.from_toml(folder / "job.toml"), folder / "run")
        assert set(LEFT) <= names(folder / "run")


def test_two_modellings_do_not_share_a_folder(folder: Path) -> None:
    """F21."""
    before = names(folder / "shots")
    with (
        RunLock(folder / "shots", "--out", ".model.lock"),
        pytest.raises(CannotCreateError, match="in use") as caught,
    ):
        model_job(Job.from_toml(folder / "model.toml"), folder / "shots")
    assert caught.value.code == "E802"
    assert "--out" in caught.value.fix
    assert names(folder / "shots") == before


def test_a_refused_folder_of_shots_stays_as_it_was(folder: Path) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "line.sgy").write_bytes(b"x")
    with pytest.raises(ConfigError) as caught:
        model_job(Job.from_toml(folder / "model.toml"), folder / "mine")
    assert caught.value.code == "E811"
    assert names(folder / "mine") == {"line.sgy"}


@pytest.mark.parametrize(
    ("note", "said"), [("{", "damaged"), ("[]", "damaged"), ('{"run_id": "x"}', "another job or model")]
)
def test_a_damaged_note_of_shots_is_refused(folder: Path, note: str, said: str) -> None:
    (folder / "shots" / "modelling.json").write_text(note)
    with pytest.raises(ConfigError, match=said) as caught:
        model_job(Job.from_toml(folder / "model.toml"), folder / "shots")
    assert caught.value.code == "E811"


def test_shots_of_other_numerics_are_not_added_to(folder: Path) -> None:
    """F22: one survey, one numerics class."""
    note = folder / "shots" / "modelling.json"
    note.write_text(note.read_text().replace('"numerics": "', '"numerics": "not-'))
    with pytest.raises(ConfigError, match="numerics"):
        model_job(Job.from_toml(folder / "model.toml"), folder / "shots")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_at_the_lock_is_a_disk_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """F4, F5: exit code 74, not "cannot create"."""

    def full(*args: object, **kwargs: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(DiskError) as caught:
        RunLock(tmp_path)
    assert caught.value.exit_code == 74
    assert str(tmp_path) in caught.value.message


def test_changed_input_bytes_are_refused_by_name(folder: Path) -> None:
    """F9, strict: the same size and time, one other byte."""
    run, shot = folder / "run", folder / "shots" / "shot_000002.sgy"
    migrate_job(Job.from_toml(folder / "job.toml"), run)
    stamp, data = shot.stat(), bytearray(shot.read_bytes())
    data[-3] ^= 1
    shot.write_bytes(data)
    os.utime(shot, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    with pytest.raises(ConfigError, match=r"shot_000002\.sgy has changed: sha256 ") as caught:
        migrate_job(Job.from_toml(folder / "job.toml"), run)
    assert caught.value.code == "E810"
    assert "shot_000001" not in caught.value.message
    shot.unlink()
    with pytest.raises(ConfigError, match=r"shot_000002\.sgy is gone"):
        migrate_job(Job.from_toml(folder / "job.toml"), run)


def test_an_input_volume_that_changed_is_refused(folder: Path) -> None:
    """F9: models are inputs as well as traces."""
    grid = Grid((41, 31), (10.0, 10.0))
    vp = np.full(grid.shape, 2000, dtype=np.float32)
    volume.write(folder / "vp.npz", grid, vp, name="vp")
    job = folder / "job.toml"
    job.write_text(
        '[data]\nfiles = ["shots/*.sgy"]\nfirst_breaks = "ignore"\n[model]\nvp = "vp.npz"\n[source]\nf0 = 15\n'
        '[propagation]\ngrid = "model"\n[output]\npictures = false\n'
    )
    migrate_job(Job.from_toml(job), folder / "run")
    vp[20, 20] = 2001
    volume.write(folder / "vp.npz", grid, vp, name="vp")
    with pytest.raises(ConfigError, match=r"vp\.npz has changed"):
        migrate_job(Job.from_toml(job), folder / "run")


def test_input_changes_are_told_file_by_file() -> None:
    a, b = (
        {"key": "data.files", "path": "a.sgy", "sha256": "1" * 64},
        {"key": "data.files", "path": "b.sgy", "sha256": "2" * 64},
    )
    assert input_changes([a, b], [a, b]) == []
    assert input_changes([a], [{**a, "path": "moved/a.sgy"}]) == []
    assert input_changes([a], [a, b]) == ["b.sgy is new"]
    assert input_changes([a, b], [b]) == ["a.sgy is gone"]
    assert input_changes([a, b], [b, a]) == ["the order of the input files has changed"]
    assert input_changes([a], [{**a, "sha256": "3" * 64}]) == [
        f"a.sgy has changed: sha256 {'1' * 12}... -> {'3' * 12}..."
    ]


def test_an_interrupt_is_not_hidden_by_a_failing_ledger(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(done: float, total: float, message: str = "") -> None:
        if done > 0.3:
            raise KeyboardInterrupt

    def fail(self: Ledger, shot: int) -> None:
        raise DiskError("disk full")

    monkeypatch.setattr(Ledger, "release", fail)
    with pytest.raises(KeyboardInterrupt):
        migrate_job(Job.from_toml(folder / "job.toml"), folder / "run", interrupt)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (sqlite3.OperationalError("disk I/O error"), DiskError),
        (sqlite3.DatabaseError("database disk image is malformed"), CorruptionError),
        (sqlite3.OperationalError("database disk image is malformed"), CorruptionError),
    ],
)
def test_what_sqlite_raises_is_explained(
    tmp_path: Path, error: sqlite3.Error, expected: type[Exception]
) -> None:
    """F5, F8: also while reading, and when the damage is found in the middle of a run."""
    with pytest.raises(expected) as caught, disk_errors(tmp_path / NAME):
        raise error
    assert str(tmp_path / NAME) in str(caught.value)


def test_reading_a_closed_or_failing_ledger_is_explained(tmp_path: Path) -> None:
    with Ledger(tmp_path) as ledger:
        ledger.plan([1])
        ledger._db.execute("DROP TABLE shot")
        for read in (ledger.rows, ledger.done, ledger.failed, ledger.hashes):
            with pytest.raises(DiskError):
                read()


def test_made_folders_are_synced_with_their_parents(tmp_path: Path) -> None:
    """F10: a file that was synced is lost when the name of its folder is."""
    log: list[tuple[str, str]] = []

    def hook(operation: str, path: str, nbytes: int) -> None:
        log.append((operation, path))

    set_fault(hook)  # type: ignore[arg-type]
    try:
        make_folder(tmp_path / "a" / "b")
        make_folder(tmp_path / "a" / "b")
    finally:
        set_fault(None)
    synced = [path for operation, path in log if operation == "fsync-folder"]
    assert sorted(synced) == [str(tmp_path), str(tmp_path / "a")]


def test_no_finished_shot_is_computed_again(folder: Path) -> None:
    """F1: stopped after the first shot, the second call does the second alone."""
    job = Job.from_toml(folder / "job.toml")
    whole = migrate_job(job, folder / "whole")

    def stop(done: float, total: float, message: str = "") -> None:
        if done > 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migrate_job(job, folder / "run", stop)
    with Ledger(folder / "run") as ledger:
        assert [r["state"] for r in ledger.rows()] == ["done", "planned"]
    rest = migrate_job(job, folder / "run")
    assert 0 < rest.point_steps < whole.point_steps
    assert rest.sha256 == whole.sha256
    with Ledger(folder / "run") as ledger:
        assert ledger.rows()[0]["attempt"] == 1


def test_run_directories_are_their_owners(folder: Path) -> None:
    """F21: on shared scratch nobody else looks in."""
    before = os.umask(0)
    try:
        migrate_job(Job.from_toml(folder / "job.toml"), folder / "run")
    finally:
        os.umask(before)
    assert (folder / "run").stat().st_mode & 0o777 == 0o700


def test_a_lease_survives_short_reads_and_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F6: where the file system has no locks, a lease cut short would let a second run in."""
    pread, write = os.pread, os.write
    monkeypatch.setattr(os, "pread", lambda fd, n, offset: pread(fd, min(n, 5), offset))
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:7]))
    with RunLock(tmp_path) as lock:
        assert lock._read()["pid"] == os.getpid()


def test_short_writes_are_invisible(folder: Path) -> None:
    """F6: at most 100 bytes per write, the same files."""
    job = Job.from_toml(folder / "job.toml")
    whole = migrate_job(job, folder / "whole")
    set_fault(FaultCounter(short=100))
    try:
        assert migrate_job(job, folder / "run").sha256 == whole.sha256
    finally:
        set_fault(None)


def test_the_hash_of_the_code_covers_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change in any package of subsalt is another hash; a process keeps that of what it loaded."""
    code_facts = provenance._code_facts.__wrapped__
    copy = tmp_path / "subsalt"
    shutil.copytree(Path(subsalt.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    whole = code_facts()["python_sha256"]
    monkeypatch.setattr(subsalt, "__file__", str(copy / "__init__.py"))
    assert code_facts()["python_sha256"] == whole
    for package in ("methods", "io", "run"):
        source = sorted((copy / package).rglob("*.py"))[-1]
        source.write_text(source.read_text() + "\n# changed\n")
        changed = code_facts()["python_sha256"]
        assert changed != whole
        whole = changed
