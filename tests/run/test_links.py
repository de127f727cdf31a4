"""Links in a run directory and in scratch: nothing is deleted, written or trusted through them."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest
from small_run import make

from subsalt.cli.app_root import app
from subsalt.cli.guard import run as run_command
from subsalt.errors import CannotCreateError
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job
from subsalt.methods.rtm.reimage import Wish, reimage_run
from subsalt.methods.rtm.source_run import SourceRun
from subsalt.report import write as write_report
from subsalt.run.job_of_run import job_of_run
from subsalt.run.migrate import migrate_job
from subsalt.run.stop_request import request_stop


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job.from_toml(make(tmp_path_factory.mktemp("survey")))


@pytest.fixture(scope="module")
def whole(job: Job) -> tuple[str, Path]:
    run = job.base / "whole"
    return migrate_job(job, run).sha256, run


@pytest.fixture
def run(whole: tuple[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole[1], tmp_path / "run"))


def state_of(folder: Path) -> dict[str, object]:
    """Return names, kinds and contents of all that is in a folder."""
    return {
        str(p.relative_to(folder)): os.readlink(p)
        if p.is_symlink()
        else hashlib.sha256(p.read_bytes()).hexdigest()
        if p.is_file()
        else "folder"
        for p in sorted(folder.rglob("*"))
    }


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A folder of somebody, with what a run might take for its own."""
    folder = tmp_path / "theirs"
    for name in ("precious.txt", "states.r00.snap", "shot_000001/states.r00.snap", "block_000001.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("years of work")
    (folder / ".data.0123456789ab.tmp").write_text("as a temporary file")
    return folder


def put(link: Path, target: Path) -> None:
    """Put a link in the place of a folder or file of a run."""
    shutil.rmtree(link, ignore_errors=True) if link.is_dir() else link.unlink(missing_ok=True)
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(target)


FOLDERS = ("images", "pictures", "quarantine", "restart", "snapshots", "previous", "snapshots/shot_000009")
FILES = (
    *(
        "ledger.sqlite",
        "ledger.sqlite-wal",
        "ledger.sqlite-shm",
        "ledger.json",
        "job.resolved.toml",
        "run.json",
    ),
    *("events.jsonl", "progress.json", "run.lock", "stop.json", "previous.json", "report.html", "image.sgy"),
    *("signal_marks.npy", "images/shot_000002.planes", "crash.r0000.txt"),
)


@pytest.mark.parametrize("name", FOLDERS)
def test_folders_that_are_links_are_refused(job: Job, run: Path, theirs: Path, name: str) -> None:
    put(run / name, theirs)
    before = state_of(theirs)
    for recompute in (False, True):
        with pytest.raises(CannotCreateError) as caught:
            migrate_job(job, run, recompute=recompute)
        assert (caught.value.code, caught.value.exit_code) == ("E655", 73)
        assert f"{run / name} is a link" in caught.value.message
        assert state_of(theirs) == before
    # the cure
    (run / name).unlink()
    if name == "images":
        (run / name).mkdir()
    assert migrate_job(job, run).shots_done == [1, 2, 3]
    assert state_of(theirs) == before


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", ["of the same content", "dangling"])
def test_files_that_are_links_are_refused(job: Job, run: Path, tmp_path: Path, name: str, kind: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    if kind != "dangling":
        elsewhere.write_bytes((run / name).read_bytes() if (run / name).exists() else b"years of work")
    put(run / name, elsewhere)
    before = elsewhere.read_bytes() if elsewhere.exists() else None
    with pytest.raises(CannotCreateError, match=f"{name} is a link") as caught:
        migrate_job(job, run)
    assert caught.value.code == "E655"
    assert (elsewhere.read_bytes() if elsewhere.exists() else None) == before


@pytest.mark.parametrize("name", ["run.lock", "events.jsonl", "ledger.sqlite"])
def test_files_that_are_anothers_as_well_are_not_changed(
    job: Job, run: Path, tmp_path: Path, name: str
) -> None:
    other = tmp_path / "other"
    os.link(run / name, other)
    before = other.read_bytes()
    with pytest.raises(CannotCreateError, match=rf"{name} has a second name \(a hard link\)") as caught:
        migrate_job(job, run)
    assert caught.value.code == "E655"
    assert other.read_bytes() == before
    shutil.copy(other, run / "copy")
    (run / "copy").replace(run / name)
    assert migrate_job(job, run).shots_done == [1, 2, 3]


def test_a_note_of_a_crash_is_made_anew(job: Job, run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("years of work")
    os.link(other, run / "crash.r0000.txt")
    migrate_job(job, run)
    assert other.read_text() == "years of work"


def test_every_reader_refuses_links(run: Path, theirs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(run / "images", theirs)
    before = state_of(theirs)
    calls = {
        "resume": lambda: job_of_run(run),
        "source": lambda: SourceRun.open(run),
        "report": lambda: write_report(run),
        "stop": lambda: request_stop(run),
        "reimage": lambda: reimage_run(run, run.with_name("new"), Wish(normalise=0.1)),
    }
    for name, call in calls.items():
        with pytest.raises(CannotCreateError) as caught:
            call()
        assert caught.value.code == "E655", name
    for command in ("resume", "play", "reimage", "report", "stop", "view"):
        assert run_command(app, [command, str(run)]) == 73, command
        assert f"{run / 'images'} is a link" in capsys.readouterr().err
    assert state_of(theirs) == before


def test_a_link_put_there_while_the_run_works_leads_nowhere(job: Job, theirs: Path, tmp_path: Path) -> None:
    """Between the look at the directory and the use: the folder of partial images, after the first shot."""
    run, before = tmp_path / "run", state_of(theirs)

    def swap(done: float, *_: object) -> None:
        if done >= 1 and not (run / "images").is_symlink():
            (run / "images").rename(run / "kept")
            (run / "images").symlink_to(theirs)

    with pytest.raises(CannotCreateError) as caught:
        migrate_job(job, run, swap)
    assert caught.value.code == "E655"
    assert state_of(theirs) == before


def test_the_run_itself_may_be_a_link(job: Job, whole: tuple[str, Path], tmp_path: Path) -> None:
    (tmp_path / "disk" / "real.run").mkdir(parents=True)
    (tmp_path / "there").symlink_to(tmp_path / "disk")
    (tmp_path / "run").symlink_to(tmp_path / "there" / "real.run")
    for _ in range(2):
        assert migrate_job(job, tmp_path / "run").sha256 == whole[0]
    assert (tmp_path / "disk" / "real.run" / "images" / "shot_000001.planes").is_file()
    assert (tmp_path / "run").is_symlink()
    assert job_of_run(tmp_path / "run").of_the_image() == job.of_the_image()


@pytest.fixture
def on_disk(job: Job, tmp_path: Path) -> tuple[Job, Path]:
    """The job with its snapshots on another disk, which is reached through a link; and the folder they go to."""
    disk = tmp_path / "lustre"
    disk.mkdir()
    (tmp_path / "scratch").symlink_to(disk)
    keys = {"strategy": "store", "place": "disk", "keep": "both", "directories": [str(tmp_path / "scratch")]}
    return job.changed("checkpoint", **keys), disk


def test_the_place_of_scratch_may_be_a_link(
    on_disk: tuple[Job, Path], whole: tuple[str, Path], tmp_path: Path
) -> None:
    job, disk = on_disk
    assert migrate_job(job, tmp_path / "run").sha256 == whole[0]
    (mine,) = disk.iterdir()
    assert len(list(mine.glob("shot_*/*.snap"))) == 6
    new = reimage_run(tmp_path / "run", tmp_path / "new", Wish(wavefields=True))
    assert new.sha256 == whole[0]


@pytest.mark.parametrize("inside", ["shot_000001", "shot_000009", "shot_000009/states.r00.snap"])
def test_links_in_scratch_are_refused(
    on_disk: tuple[Job, Path], theirs: Path, tmp_path: Path, inside: str
) -> None:
    job, disk = on_disk
    migrate_job(job, tmp_path / "run")
    (mine,) = disk.iterdir()
    put(mine / inside, theirs if "/" not in inside else theirs / "precious.txt")
    before = state_of(theirs)
    with pytest.raises(CannotCreateError, match="is a link") as caught:
        migrate_job(job, tmp_path / "run")
    assert caught.value.code == "E655"
    assert state_of(theirs) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
@pytest.mark.parametrize("name", ["images", "snapshots"])
def test_folders_of_others_are_left_alone(job: Job, run: Path, theirs: Path, name: str) -> None:
    shutil.rmtree(run / name, ignore_errors=True)
    shutil.copytree(theirs, run / name)
    os.chown(run / name, 12345, -1)
    before = state_of(run / name)
    with pytest.raises(CannotCreateError, match=f"{name} belongs to another user"):
        migrate_job(job, run)
    assert state_of(run / name) == before


def test_modelled_shots_are_no_links(job: Job, theirs: Path, tmp_path: Path) -> None:
    shots = tmp_path / "shots"
    model = Job.from_toml(job.base / "model.toml")
    model_job(model, shots)
    for name in ("shot_000002.sgy", "modelling.json"):
        content = (shots / name).read_bytes()
        put(shots / name, theirs / "precious.txt")
        with pytest.raises(CannotCreateError, match=f"{name} is a link"):
            model_job(model, shots)
        (shots / name).unlink()
        (shots / name).write_bytes(content)
    assert (theirs / "precious.txt").read_text() == "years of work"
    model_job(model, shots)
