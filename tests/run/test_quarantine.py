"""A shot that fails twice is set aside with its inputs; the survey finishes, and the next start does as it is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from small_run import make

from subsalt.errors import ConfigError, CorruptionError, DataError, DiskError, NumericalFailure, ResourceError
from subsalt.host import kills_for_memory
from subsalt.methods.rtm import migrate as shots
from subsalt.methods.rtm.job import Job
from subsalt.parallel.comm import single
from subsalt.run.crash_evidence import CrashNote, collect_crash_stacks, died_of_memory
from subsalt.run.ledger import Ledger
from subsalt.run.ledger_file import peek
from subsalt.run.lock import boot_id
from subsalt.run.migrate import migrate_job
from subsalt.run.quarantine import belongs_to_shot, read_record
from subsalt.run.resume import DEFAULT_RESUME, ResumeOptions, review_last_start, units_to_do
from thorough import some


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job.from_toml(make(tmp_path_factory.mktemp("survey")))


@pytest.fixture(scope="module")
def whole(job: Job) -> str:
    return migrate_job(job, job.base / "whole").sha256


def events(run: Path) -> list[tuple[str, int]]:
    lines = (run / "events.jsonl").read_text().splitlines()
    return [(e["event"], e["shot"]) for e in map(json.loads, lines) if "shot" in e]


def failing(monkeypatch: pytest.MonkeyPatch, shot: int, errors: list[Exception]) -> None:
    """Let the migration of a shot fail, once for each of the errors."""
    real = shots.migrate_shot

    def migrate(setup: object, which: object, *args: object, **options: object) -> object:
        if which.id == shot and errors:  # type: ignore[attr-defined]
            raise errors.pop(0)
        return real(setup, which, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(shots, "migrate_shot", migrate)


@pytest.mark.parametrize(
    "error",
    some(
        [
            NumericalFailure("the wavefield is not finite"),
            ResourceError("cannot read shots.sgy", code="E601"),
            CorruptionError("a snapshot was lost"),
            MemoryError("no memory"),
        ],
        2,  # whose errors are its own: test_an_error_of_one_rank_alone_is_none_of_the_shot
    ),
)
def test_a_shot_that_fails_once_is_done_at_the_end(
    job: Job, whole: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    failing(monkeypatch, 1, [error])
    result = migrate_job(job, tmp_path / "run")
    assert (result.sha256, result.shots_failed) == (whole, [])
    assert events(tmp_path / "run") == [("failed", 1), ("done", 2), ("done", 3), ("done", 1)]
    assert read_record(tmp_path / "run", 1) == {}
    assert not list((tmp_path / "run" / "quarantine").iterdir())


def test_a_shot_that_fails_twice_is_set_aside_with_its_inputs(
    job: Job, whole: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, error = tmp_path / "run", NumericalFailure("the wavefield is not finite")
    failing(monkeypatch, 2, [error, error])
    result = migrate_job(job, run)
    assert (result.shots_done, result.shots_failed) == ([1, 3], [2])
    assert events(run) == [("done", 1), ("failed", 2), ("done", 3), ("quarantined", 2)]
    record = read_record(run, 2)
    assert record["source"] == [210.0, 0.0, 0.0]
    assert (record["receivers"], record["window"]) == (21, {"lo": [0, 0, 0], "hi": [41, 1, 31]})
    assert [f["reason"] for f in record["failures"]] == [f"E510 {error}"] * 2
    assert "NumericalFailure" in "".join(record["failures"][0]["traceback"])
    assert [Path(f).name for f in record["traces"]["files"]] == [f"shot_00000{i}.sgy" for i in (1, 2, 3)]
    assert (record["traces"]["first"], record["traces"]["last"]) == (21, 41)
    assert np.load(run / record["copy"]).shape == (21, 126)
    assert "the wavefield is not finite" in (run / "report.html").read_text()
    # the cause has gone, but nobody said so: the shot stays aside
    monkeypatch.undo()
    again = migrate_job(job, run)
    assert (again.shots_failed, again.point_steps) == ([2], 0)
    mended = migrate_job(job, run, resume=ResumeOptions(retry_quarantined=True))
    assert (mended.shots_failed, mended.sha256) == ([], whole)
    assert read_record(run, 2) == {}


def test_what_cannot_be_written_stops_the_run(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, 2, [DiskError("disk full", code="E621")])
    with pytest.raises(DiskError):
        migrate_job(job, tmp_path / "run")
    assert [r["state"] for r in peek(tmp_path / "run")] == ["done", "planned", "planned"]


def test_an_error_of_one_rank_alone_is_none_of_the_shot() -> None:
    class Two:
        size = 2

    alone, agreed = MemoryError("one rank"), MemoryError("all ranks")
    agreed.agreed_ranks = 2  # type: ignore[attr-defined]
    assert belongs_to_shot(alone, single())
    assert not belongs_to_shot(alone, Two())  # type: ignore[arg-type]
    assert belongs_to_shot(agreed, Two())  # type: ignore[arg-type]
    assert belongs_to_shot(DataError("bad traces"), single())
    assert not belongs_to_shot(ValueError("a mistake"), single())


def test_mended_traces_are_used_when_they_are_accepted(
    tmp_path: Path, subsalt_command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F9: refused by default; finished shots stay when the user says so; a changed model is refused all the same."""
    job = make(tmp_path)
    run, shot = tmp_path / "run", tmp_path / "shots" / "shot_000002.sgy"
    failing(monkeypatch, 2, [DataError("bad traces")] * 2)
    code, _, err = subsalt_command("migrate", job, "--run", run)
    assert code == 65, err
    assert "E822" in err
    assert f"subsalt resume {run} --retry-quarantined" in err
    data = bytearray(shot.read_bytes())
    data[-3] ^= 1
    shot.write_bytes(data)
    code, _, err = subsalt_command("resume", run, "--retry-quarantined")
    assert code == 78
    assert "--accept-changed-inputs" in err
    code, _, err = subsalt_command("resume", run, "--retry-quarantined", "--accept-changed-inputs")
    assert code == 0, err
    assert [(r["state"], r["attempt"]) for r in peek(run)] == [("done", 1), ("done", 3), ("done", 1)]
    assert subsalt_command("resume", run)[0] == 0  # it is the run's own input now
    (tmp_path / "other.toml").write_text(job.read_text().replace("vp = 2000", "vp = 2100"))
    other = Job.from_toml(tmp_path / "other.toml")
    with pytest.raises(ConfigError, match=r"job\.model\.vp"):
        migrate_job(other, run, resume=ResumeOptions(accept_changed_inputs=True))


def crashed(folder: Path, shot: int, stack: str = "Fatal Python error: Segmentation fault") -> None:
    """Leave what a crash in a shot leaves."""
    (folder / "crash.r0003.txt").write_text(f"{shot}\n{stack}\n")


def test_a_crash_leaves_its_stack_and_a_kill_does_not(tmp_path: Path) -> None:
    code = (
        "import sys, os, signal; from pathlib import Path; from subsalt.run.crash_evidence import CrashNote\n"
        "note = CrashNote(Path(sys.argv[1]), 3).__enter__(); note.now(1); note.now(7)\n"
        "os.kill(os.getpid(), int(sys.argv[2]))"
    )
    for number, units_found in ((11, [(0, 7)]), (6, [(0, 7)]), (9, [])):
        subprocess.run([sys.executable, "-c", code, str(tmp_path), str(number)], check=False)
        stacks = collect_crash_stacks(tmp_path)
        assert list(stacks) == units_found
        assert all("Fatal Python error" in stack for stack in stacks.values())
        assert not list(tmp_path.iterdir())
    with CrashNote(tmp_path, 0) as note:
        note.now(5)
        assert (tmp_path / "crash.r0000.txt").read_text().startswith("5\n")
    assert not list(tmp_path.iterdir())


def test_two_crashes_in_a_shot_set_it_aside(job: Job, tmp_path: Path) -> None:
    run = tmp_path / "run"
    migrate_job(job, run)
    with Ledger(run) as ledger:
        ledger.release(2)
    for left in ([2], []):
        crashed(run, 2)
        crashed(run / "..", 99)
        with Ledger(run) as ledger:
            review_last_start(ledger, DEFAULT_RESUME)
            assert units_to_do(ledger) == left
    assert "crashed in this shot: Fatal Python error" in peek(run)[1]["reason"]
    assert len(read_record(run, 2)["failures"][0]["stack"]) == 1
    # a crash behind the last shot, when the image is summed, is held against nobody
    crashed(run, 3)
    with Ledger(run) as ledger:
        review_last_start(ledger, DEFAULT_RESUME)
        assert [r["state"] for r in ledger.rows()] == ["done", "quarantined", "done"]


@pytest.mark.parametrize("text", ["", "x", "7", "\nstack", "seven\nstack"])
def test_a_note_that_says_nothing_is_no_crash(tmp_path: Path, text: str) -> None:
    (tmp_path / "crash.r0000.txt").write_text(text)
    assert collect_crash_stacks(tmp_path) == {}
    assert not list(tmp_path.iterdir())


def test_a_killed_run_is_no_fault_of_its_shots_but_they_come_last(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from subsalt.run.ledger import Ledger\n"
        "l = Ledger(Path(sys.argv[1])); l.plan([1, 2, 3]); l.start(1); os.kill(os.getpid(), 9)"
    )
    for k in range(1, 6):
        subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
        with Ledger(tmp_path) as ledger:
            review_last_start(ledger, DEFAULT_RESUME)
            assert ledger.interrupted == [(0, 1)]
            assert ledger.rows()[0]["deaths"] == k
            assert units_to_do(ledger) == ([1, 2, 3] if k < 2 else [2, 3, 1])


def test_an_end_for_lack_of_memory_is_known_by_the_counter_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = kills_for_memory()
    if now is None:
        pytest.skip("the system keeps no counter of processes ended for lack of memory")
    assert not died_of_memory({"memory_kills": now, "boot": boot_id()})
    assert died_of_memory({"memory_kills": now - 1, "boot": boot_id()})
    assert not died_of_memory({"memory_kills": now - 1, "boot": "another"})
    assert not died_of_memory({})
    with Ledger(tmp_path) as ledger:
        ledger.plan([1, 2])
        ledger.interrupted, ledger.lock.previous = [(0, 1)], {"memory_kills": now - 1, "boot": boot_id()}
        review_last_start(ledger, DEFAULT_RESUME)
        assert "lack of memory" in ledger.rows()[0]["reason"]
        # two shots were running: it may have been either
        ledger.interrupted = [(0, 1), (0, 2)]
        review_last_start(ledger, DEFAULT_RESUME)
        assert [r["failures"] for r in ledger.rows()] == [1, 0]


def test_a_ledger_of_an_older_version_is_read(job: Job, whole: str, tmp_path: Path) -> None:
    import sqlite3

    run = tmp_path / "run"
    migrate_job(job, run)
    db = sqlite3.connect(run / "ledger.sqlite")
    for column in ("failures", "deaths"):
        db.execute(f"ALTER TABLE shot DROP COLUMN {column}")
    db.commit()
    db.close()
    assert "failures" not in peek(run)[0]
    assert migrate_job(job, run).sha256 == whole
    assert peek(run)[0]["failures"] == 0


def test_the_runner_notes_the_shot_it_begins(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = []
    monkeypatch.setattr(CrashNote, "now", lambda self, shot: said.append((self.path.name, shot)))
    migrate_job(job, tmp_path / "run")
    assert said == [("crash.r0000.txt", i) for i in (1, 2, 3)]
