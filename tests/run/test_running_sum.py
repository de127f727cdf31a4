"""The sum of the first shots in place of their partial images: the same bytes, whatever happens between two files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from farm_case import HereFarm
from small_run import make
from time_case import make as make_time

from subsalt.errors import ConfigError
from subsalt.io import faults
from subsalt.job.base import BaseJob, read_job
from subsalt.methods.rtm import running_sum
from subsalt.methods.rtm.reimage import Wish, reimage_run
from subsalt.methods.rtm.running_sum import KEY, RunningSum, Summed
from subsalt.run.engines.farm import Ended, FarmUnits, Task
from subsalt.run.job_of_run import job_of_run
from subsalt.run.ledger import Ledger
from subsalt.run.ledger_file import peek
from subsalt.run.method_run import RunRequest, RunState
from subsalt.run.migrate import migrate_job, migrate_on_farm, prepare_checked
from subsalt.run.one_unit import Wanted, compute_units
from subsalt.run.result import RunResult
from subsalt.run.resume import ResumeOptions
from thorough import some


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> BaseJob:
    """Return the job of three shots."""
    return read_job(make(tmp_path_factory.mktemp("line")))


@pytest.fixture(scope="module")
def whole(job: BaseJob) -> RunResult:
    """Return its run by one process."""
    return migrate_job(job, job.base / "whole.run")


@pytest.fixture(scope="module")
def published(job: BaseJob) -> Path:
    """Return a run whose shots are published, and not entered."""
    run = job.base / "published.run"
    prepare_checked(job, RunState.of(RunRequest(run)))
    assert len(list(compute_units(job_of_run(run), run, Wanted((1, 2, 3))))) == 3
    return run


def on_farm(job: BaseJob, run: Path, **options: object) -> RunResult:
    """Migrate on a farm with a running sum."""
    fate = options.pop("fate", None)
    farm = HereFarm(run) if fate is None else HereFarm(run, fate=fate)  # type: ignore[arg-type]
    state = RunState.of(RunRequest(run, running_sum=True, **options))  # type: ignore[arg-type]
    return migrate_on_farm(job, state, FarmUnits(farm, state, join=0))


def prepare(job: BaseJob, run: Path) -> None:
    """Begin a run, or enter what others have published, with a running sum."""
    prepare_checked(job, RunState.of(RunRequest(run, running_sum=True)))


def images(run: Path) -> list[str]:
    return sorted(path.name for path in (run / "images").iterdir())


def test_the_sum_takes_the_place_of_partial_images(
    job: BaseJob, whole: RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_sum, "BATCH", 2)
    run = tmp_path / "run"
    done = on_farm(job, run)
    assert images(run) == ["shot_000003.planes", "sum_000002.planes"]
    assert (done.sha256, done.shots_done, done.point_steps) == (whole.sha256, [1, 2, 3], whole.point_steps)
    # filters act on the sum; so does a condition that needs no other sums
    for changes in ({"filter": "none"}, {"condition": "cross-correlation"}):
        other = job.changed("imaging", **changes)
        again = migrate_job(other, run)
        assert (again.sha256, again.point_steps) == (migrate_job(other, whole.run_dir).sha256, 0)


def test_what_the_sum_does_not_serve_is_refused_and_stays(
    job: BaseJob, whole: RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_sum, "BATCH", 1)
    run, plain = tmp_path / "run", job.changed("imaging", condition="cross-correlation")
    first = on_farm(plain, run)
    assert images(run) == ["sum_000003.planes"]
    # it needs the illumination
    with pytest.raises(ConfigError, match="running-sum") as error:
        migrate_job(job, run)
    assert error.value.code == "E860"
    with pytest.raises(ConfigError, match="keeps the sum of its first 3 shots") as refused:
        reimage_run(run, tmp_path / "other.run", Wish())
    assert refused.value.code == "E861"
    done = migrate_job(plain, run)
    assert (done.sha256, done.point_steps) == (first.sha256, 0)
    assert done.sha256 == migrate_job(plain, whole.run_dir).sha256


def test_shots_that_come_later_are_added_behind_the_sum_alone(
    job: BaseJob, whole: RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_sum, "BATCH", 2)
    folder, run, resume = tmp_path / "line", tmp_path / "run", ResumeOptions(accept_changed_inputs=True)
    shutil.copytree(job.base, folder, ignore=shutil.ignore_patterns("*.run"))
    here = read_job(folder / "job.toml")
    files = sorted((folder / "shots").glob("*.sgy"))
    files[2].rename(folder / "later")
    on_farm(here, run)
    assert images(run) == ["sum_000002.planes"]
    (folder / "later").rename(files[2])
    files[0].rename(folder / "later")
    with pytest.raises(ConfigError, match="has shot 1 where the job now has shot 2") as error:
        on_farm(here, run, resume=resume)
    assert error.value.code == "E810"
    (folder / "later").rename(files[0])
    done = on_farm(here, run, resume=resume)
    assert images(run) == ["shot_000003.planes", "sum_000002.planes"]
    assert (done.sha256, done.shots_done) == (whole.sha256, [1, 2, 3])
    assert done.point_steps < whole.point_steps


def test_a_shot_that_is_put_aside_holds_the_sum_up(
    job: BaseJob, whole: RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_sum, "BATCH", 1)

    def crashes(farm: HereFarm, worker: str, task: Task) -> Ended | None:
        return Ended(task.number, 139) if task.units == (2,) else None

    run = tmp_path / "run"
    done = on_farm(job, run, fate=crashes)
    assert (done.shots_done, done.shots_failed) == ([1, 3], [2])
    assert images(run) == ["shot_000003.planes", "sum_000001.planes"]
    done = on_farm(job, run, resume=ResumeOptions(retry_quarantined=True))
    assert (done.sha256, images(run)) == (whole.sha256, ["sum_000003.planes"])


class Killed(BaseException):
    """The end of a process at an operation on a file."""


def killed_at(operation: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let the process end at an operation on files while a sum takes the place of others; return all operations."""
    log: list[str] = []

    def hook(name: str, path: str, size: int) -> None:
        log.append(name)
        if len(log) == operation:
            raise Killed

    real = RunningSum._keep

    def keep(self: RunningSum) -> None:
        faults.set_fault(hook)
        try:
            real(self)
        finally:
            faults.set_fault(None)

    monkeypatch.setattr(RunningSum, "_keep", keep)
    return log


def test_killed_between_any_two_operations_nothing_is_lost(
    job: BaseJob, whole: RunResult, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some operations in ``make test``, all in ``make test-all``."""
    monkeypatch.setattr(running_sum, "BATCH", 1)

    def start(at: int) -> list[str]:
        run = tmp_path / str(at)
        shutil.copytree(published, run)
        with monkeypatch.context() as patch:
            log = killed_at(at, patch)
            if at:
                with pytest.raises(Killed):
                    prepare(job, run)
            else:
                prepare(job, run)
        return log

    every = start(0)
    assert set(every) >= {"write", "rename", "unlink"}
    for at in some(range(1, len(every) + 1), 5):
        assert start(at)[:at] == every[:at]
        run = tmp_path / str(at)
        done = migrate_job(job, run)
        assert (done.sha256, done.point_steps) == (whole.sha256, 0), every[at - 1]
        held = Summed.of(Ledger(run).get(KEY)).shots
        left = [f"shot_{shot:06d}.planes" for shot in (1, 2, 3) if shot not in held]
        assert images(run) == [*left, *[f"sum_{len(held):06d}.planes"] * bool(held)]
        shutil.rmtree(run)


@pytest.mark.parametrize("what", ["byte", "gone"])
def test_a_damaged_sum_is_computed_again(
    job: BaseJob,
    whole: RunResult,
    published: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
) -> None:
    monkeypatch.setattr(running_sum, "BATCH", 2)
    run = tmp_path / "run"
    shutil.copytree(published, run)
    prepare(job, run)
    path = run / "images" / "sum_000002.planes"
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    if what == "gone":
        path.unlink()
    said: list[str] = []
    done = migrate_job(job, run, say=said.append)
    assert done.sha256 == whole.sha256
    assert 0 < done.point_steps < whole.point_steps
    assert any("the 2 shots in it are computed again" in text for text in said)


def test_a_damaged_partial_image_stops_the_sum_and_is_computed_again(
    job: BaseJob, whole: RunResult, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_sum, "BATCH", 1)
    run = tmp_path / "run"
    shutil.copytree(published, run)
    (partial,) = run.glob("attempts/round_000/unit_000002/*/images/shot_000002.planes")
    damaged = bytearray(partial.read_bytes())
    damaged[-1] ^= 1
    partial.write_bytes(damaged)
    prepare(job, run)
    assert images(run) == ["shot_000002.planes", "shot_000003.planes", "sum_000001.planes"]
    assert [row["state"] for row in peek(run)] == ["done", "planned", "done"]
    assert on_farm(job, run).sha256 == whole.sha256
    assert images(run) == ["sum_000003.planes"]


def test_a_ledger_that_was_built_anew_has_the_shots_of_the_sum(
    job: BaseJob, whole: RunResult, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_sum, "BATCH", 2)
    run = tmp_path / "run"
    shutil.copytree(published, run)
    prepare(job, run)
    (run / "ledger.sqlite").write_bytes(b"no database")
    (run / "events.jsonl").unlink()
    done = migrate_job(job, run)
    # what the log said of shot 3 is gone, the sum is not
    assert done.sha256 == whole.sha256
    assert 0 < done.point_steps < whole.point_steps / 2


def test_jobs_whose_partial_results_are_not_added(
    job: BaseJob, tmp_path: Path, subsalt_command: Callable[..., tuple[int, str, str]]
) -> None:
    time = read_job(make_time(tmp_path))
    for other, why in (
        (job.changed("imaging", illumination="shot"), "its own illumination"),
        (time, "blocks are not added"),
    ):
        with pytest.raises(ConfigError, match=why) as error:
            prepare(other, tmp_path / "none.run")
        assert error.value.code == "E881"
        assert not (tmp_path / "none.run" / "ledger.sqlite").exists()
    code, _, errors = subsalt_command("migrate", job.path, "--running-sum")
    assert (code, "belongs to --engine and --prepare" in errors) == (2, True)
