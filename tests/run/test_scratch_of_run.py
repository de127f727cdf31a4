"""Scratch of a run: what a killed process left goes when the run is started again, and nothing else does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from subsalt.checkpoint.storage.scratch import scratch_folders
from subsalt.errors import SubsaltError
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job
from subsalt.run.migrate import migrate_job

GRID = "[grid]\nspacing = 10\nshape = [41, 31]\n[source]\nf0 = 15\n"
MODEL = (
    "[model]\nvp = 2000\n[acquisition]\nshots = { first = [100, 0], last = [300, 0], n = 2 }\n"
    'receivers = { first = [0, 0], last = [400, 0], n = 41 }\nrecord_length = 0.2\ndt = 0.002\nfiles = "per-shot"\n'
    + GRID
)
MIGRATE = (
    '[data]\nfiles = ["shots/*.sgy"]\nfirst_breaks = "ignore"\n[model]\nvp = 2000\n[output]\npictures = false\n'
    '[checkpoint]\nstrategy = "store"\nplace = "disk"\ndirectories = ["scratch a", "scratch b"]\n' + GRID
)


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    (tmp_path / "model.toml").write_text(MODEL)
    for name in ("scratch a", "scratch b"):
        (tmp_path / name).mkdir()
    model_job(Job.from_toml(tmp_path / "model.toml"), tmp_path / "shots")
    (tmp_path / "job.toml").write_text(MIGRATE)
    return tmp_path


def folders_in(survey: Path) -> list[Path]:
    return sorted(p for name in ("scratch a", "scratch b") for p in (survey / name).iterdir())


def folders_of(run: Path) -> list[Path]:
    """Return the folders of scratch that a run has said."""
    return sorted(Path(f) for f in json.loads((run / "progress.json").read_text())["scratch"])


def test_scratch_goes_with_its_run_and_strays_with_the_next_start(survey: Path) -> None:
    job, modes = Job.from_toml(survey / "job.toml"), {}

    def look(*_: object) -> None:
        modes.update({f: f.stat().st_mode & 0o777 for f in folders_in(survey)})

    migrate_job(job, survey / "first.run", look)
    folders = folders_of(survey / "first.run")
    assert [f.name.startswith("first.run-") for f in folders] == [True, True]
    assert modes == dict.fromkeys(folders, 0o700)
    assert not folders_in(survey), "empty folders of scratch stay"
    strays = [f / "shot_000001" / "states.r00.snap" for f in folders]
    foreign = survey / "scratch a" / "second.run-12345678" / "shot_000001" / "states.r00.snap"
    for stray in [*strays, foreign]:
        stray.parent.mkdir(parents=True)
        stray.write_bytes(bytes(10000))
    migrate_job(job, survey / "first.run")
    assert folders_in(survey) == [foreign.parent.parent]
    assert foreign.exists()


def test_copies_of_a_run_do_not_share_scratch(survey: Path) -> None:
    names = {scratch_folders(survey / run, "a" * 64, [survey])[0] for run in ("one/job.run", "two/job.run")}
    assert len(names) == 2
    assert scratch_folders(survey / "job.run", "a" * 64) == [survey / "job.run" / "snapshots"]


def test_a_folder_of_somebody_else_stops_the_run(survey: Path) -> None:
    job = Job.from_toml(survey / "job.toml")
    migrate_job(job, survey / "first.run")
    theirs = survey / "elsewhere" / "shot_000001" / "precious.txt"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("years of work")
    folders_of(survey / "first.run")[0].symlink_to(survey / "elsewhere")
    # a finished run has nothing to write there, but it removes what killed ones left
    for again in (True, False):
        if not again:
            (survey / "first.run" / "ledger.sqlite").unlink()
        with pytest.raises(SubsaltError) as caught:
            migrate_job(job, survey / "first.run")
        assert caught.value.code == "E651"
        assert [p.name for p in (survey / "elsewhere").rglob("*")] == ["shot_000001", "precious.txt"]
