"""Units on workers that come and go: the bytes of one process, and only what a unit itself did is its failure."""

from __future__ import annotations

import builtins
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from farm_case import HereFarm, migrate
from small_run import make

from patience import PATIENCE, wait_for
from subsalt.errors import ConfigError, DeviceError, NumericalFailure, ParallelError
from subsalt.io.event_log import read_events
from subsalt.job.base import read_job
from subsalt.methods.rtm import migrate as shots
from subsalt.run.engines import dask, farm
from subsalt.run.engines.farm import Ended, Task
from subsalt.run.ledger_file import peek
from subsalt.run.lock import RunLock
from subsalt.run.method_run import RunRequest, RunState
from subsalt.run.migrate import migrate_job, migrate_on_farm
from subsalt.run.quarantine import read_record
from subsalt.run.result import RunResult
from subsalt.run.stop_request import RunStopped, request_stop
from thorough import some


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunResult]:
    """Return the job of three shots and its run by one process."""
    job = make(tmp_path_factory.mktemp("line"))
    return job, migrate_job(read_job(job), job.parent / "whole.run")


def lost(run: Path) -> list[int]:
    return [e["shot"] for e in read_events(run).known if e["event"] == "lost"]


def test_workers_compute_and_the_client_enters(line: tuple[Path, RunResult], tmp_path: Path) -> None:
    workers = HereFarm(tmp_path / "run")
    done, units = migrate(line[0], workers)
    assert (done.sha256, done.shots_failed, units.lost) == (line[1].sha256, [], 0)
    assert [(name, task.units, task.attempt, task.threads) for name, task in workers.started] == [
        ("a", (1,), 1, 2),
        ("b", (2,), 1, 2),
        ("a", (3,), 1, 2),
    ]
    assert workers.most == 2
    assert {row["attempt"] for row in peek(workers.run)} == {1}
    # nothing is done again, by whomever
    assert migrate_job(read_job(line[0]), workers.run).point_steps == 0


def test_what_a_lost_worker_had_is_tried_elsewhere_and_never_put_aside(
    line: tuple[Path, RunResult], tmp_path: Path
) -> None:
    def dies(workers: HereFarm, worker: str, task: Task) -> Ended | None:
        if worker in workers.names and len(workers.started) < 12:
            # a worker comes in its place; the unit is published by one that was thought dead
            workers.names[workers.names.index(worker)] = worker + "'"
            if task.number == 5:
                workers.compute(task)
        return None

    workers = HereFarm(tmp_path / "run", fate=dies)
    done, units = migrate(line[0], workers)
    assert (done.sha256, done.shots_failed) == (line[1].sha256, [])
    assert units.lost == len(lost(workers.run)) > 3
    assert max(row["attempt"] for row in peek(workers.run)) > 2
    assert not (workers.run / "attempts").exists()


@pytest.mark.parametrize("code", some([75, 137, 143, None], 2))  # 137 also ends the unit of the next test
def test_codes_after_which_another_attempt_is_made(
    line: tuple[Path, RunResult], tmp_path: Path, code: int | None
) -> None:
    def ends(workers: HereFarm, worker: str, task: Task) -> Ended | None:
        return Ended(task.number, code, "disk full") if task.units == (2,) and task.attempt < 4 else None

    done, _ = migrate(line[0], HereFarm(tmp_path / "run", fate=ends))
    assert (done.sha256, lost(tmp_path / "run")) == (line[1].sha256, [2, 2, 2])


def test_a_unit_that_is_lost_again_and_again_ends_the_run(
    line: tuple[Path, RunResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(farm, "LOST", 4)
    workers = HereFarm(
        tmp_path / "run", fate=lambda w, name, task: Ended(task.number, 137) if task.units == (1,) else None
    )
    with pytest.raises(ParallelError, match="shot 1 was lost 4 times") as error:
        migrate(line[0], workers)
    assert error.value.exit_code == 75
    # the others came first
    assert [row["state"] for row in peek(workers.run)] == ["planned", "done", "done"]
    workers.fate = lambda *any_: None
    assert migrate(line[0], workers)[0].sha256 == line[1].sha256


def test_bad_data_and_crashes_are_failures_of_their_unit(
    line: tuple[Path, RunResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shots.migrate_shot

    def fails(setup: object, which: object, *args: object, **options: object) -> object:
        if which.id == 2:  # type: ignore[attr-defined]
            raise NumericalFailure("the wavefield is not finite")
        return real(setup, which, *args, **options)  # type: ignore[arg-type]

    def fate(workers: HereFarm, worker: str, task: Task) -> Ended | None:
        if task.units == (3,):
            return Ended(task.number, 139)
        return Ended(task.number, 65 if workers.compute(task) else 0)

    monkeypatch.setattr(shots, "migrate_shot", fails)
    done, _ = migrate(line[0], HereFarm(tmp_path / "run", fate=fate))
    assert (done.shots_done, done.shots_failed) == ([1], [2, 3])
    reasons = {i: [f["reason"] for f in read_record(tmp_path / "run", i)["failures"]] for i in (2, 3)}
    assert reasons == {
        2: ["E510 the wavefield is not finite"] * 2,
        3: ["the program crashed in this shot: SIGSEGV"] * 2,
    }


def test_an_error_that_every_attempt_would_meet_ends_the_run(
    line: tuple[Path, RunResult], tmp_path: Path
) -> None:
    workers = HereFarm(
        tmp_path / "run", fate=lambda w, name, task: Ended(task.number, 78, "error E875 another class")
    )
    with pytest.raises(ParallelError, match="E875 another class") as error:
        migrate(line[0], workers)
    assert error.value.exit_code == 78
    assert not workers.tasks


def test_short_units_are_joined_into_one_task(line: tuple[Path, RunResult], tmp_path: Path) -> None:
    workers = HereFarm(tmp_path / "run", names=["a"])
    client = farm.FarmUnits(workers, None)  # type: ignore[arg-type]
    assert client._joined(100, 2) == 1
    client._seconds += [0.9, 1.0, 1.1]
    assert [client._joined(left, 2) for left in (1000, 100, 8, 1)] == [64, 25, 2, 1]
    client._seconds[:] = [50.0]
    assert client._joined(1000, 2) == 4
    client._seconds[:] = [181.0]
    assert client._joined(1000, 2) == 1
    client = farm.FarmUnits(workers, None, join=0)  # type: ignore[arg-type]
    assert client._joined(1000, 2) == 1


def test_with_a_joined_task_only_the_unit_in_hand_is_lost(
    line: tuple[Path, RunResult], tmp_path: Path
) -> None:
    def dies(workers: HereFarm, worker: str, task: Task) -> Ended | None:
        if len(workers.started) == 1:
            workers.compute(Task(task.number, task.units[:1], task.round, task.attempt, task.threads))
            return Ended(task.number, 137)
        return None

    workers = HereFarm(tmp_path / "run", names=["a"], fate=dies)
    state = RunState.of(RunRequest(workers.run))
    units = farm.FarmUnits(workers, state)
    # all three in one task, as if units were known to be short
    units._joined = lambda left, there: 3  # type: ignore[method-assign]
    done = migrate_on_farm(read_job(line[0]), state, units)
    assert (done.sha256, done.shots_failed) == (line[1].sha256, [])
    assert [task.units for _, task in workers.started] == [(1, 2, 3), (2, 3)]
    # the first was published, the second in hand, the third waited behind it
    assert (units.lost, lost(workers.run)) == (1, [2])
    assert peek(workers.run)[0]["attempt"] == 1


def test_a_stopped_run_goes_on_by_another_engine(line: tuple[Path, RunResult], tmp_path: Path) -> None:
    def stops(workers: HereFarm, worker: str, task: Task) -> Ended | None:
        if task.units == (1,):
            request_stop(workers.run, finish=True, patience=0)
            wait_for(lambda: (workers.run / "progress.json").read_text().find('"stopping"') > 0)
        return None

    workers = HereFarm(tmp_path / "run", names=["a"], fate=stops)
    with pytest.raises(RunStopped):
        migrate(line[0], workers)
    # what had been handed out is finished
    assert [row["state"] for row in peek(workers.run)] == ["done", "done", "planned"]
    assert migrate_job(read_job(line[0]), workers.run).sha256 == line[1].sha256


def test_the_program_of_a_unit_ends_with_its_run_and_with_its_worker(tmp_path: Path) -> None:
    program = """
import sys, time
from pathlib import Path
from subsalt.run.owner import end_with_owner
end_with_owner(Path(sys.argv[1]), int(sys.argv[2]), 0.05)
print("on", flush=True)
time.sleep(600)
"""
    (tmp_path / "run").mkdir()
    with subprocess.Popen(["sleep", "600"]) as worker:
        for end in ("run", "worker"):
            lock = RunLock(tmp_path / "run")
            words = [sys.executable, "-c", program, str(tmp_path / "run"), str(worker.pid)]
            with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as unit:
                assert unit.stdout is not None
                assert unit.stdout.readline() == "on\n"
                assert unit.poll() is None
                if end == "worker":
                    worker.kill()
                    worker.wait()
                else:
                    lock.release()
                assert unit.wait(PATIENCE) == -15
            lock.release()


@pytest.mark.parametrize(
    ("address", "fine"),
    [
        ("tls://head:8786", True),
        ("tcp://127.0.0.1:8786", True),
        ("localhost:8786", True),
        ("tcp://[::1]:8786", True),
        ("tcp://head:8786", False),
        ("10.0.0.1:8786", False),
        ("tcp://0.0.0.0:8786", False),
        ("ws://127.0.0.1:8786", False),
        ("tcp://127.0.0.1.example.org:8786", False),
        ("", False),
    ],
)
def test_an_address_that_others_reach_needs_tls(address: str, fine: bool) -> None:
    if fine:
        dask.refuse_open_address(address)
        return
    with pytest.raises(ConfigError, match="without TLS") as error:
        dask.refuse_open_address(address)
    assert error.value.code == "E878"


class Finished:
    """The future of a task that is finished, and whose worker is gone with the answer."""

    status = "finished"

    def result(self, timeout: float) -> str:
        assert timeout > 0
        raise TimeoutError


def test_an_answer_that_is_gone_with_its_worker_is_not_waited_for(tmp_path: Path) -> None:
    assert dask._end_of(7, Finished()) == Ended(7, None, "its answer is gone with its worker")
    client = dask.DaskFarm(None, tmp_path / "run")
    future = Finished()
    client._asked["tcp://a"] = future
    client._judge("tcp://a", future)
    # neither accepted nor refused: it is asked again
    assert (client._asked, client._good, client.refused) == ({}, {}, {})
    client.close()
    assert not (tmp_path / "run" / "attempts").exists()


def test_options_that_do_not_belong_together(
    line: tuple[Path, RunResult],
    subsalt_command: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for words, said in (
        (["--engine", "dask"], "--scheduler"),
        (["--engine", "dask", "--scheduler", "tcp://head:1"], "TLS"),
        (["--workers", "2"], "--engine dask-local"),
        (["--scheduler", "tls://head:1"], "--engine dask"),
        (["--engine", "dask-local", "--prepare"], "--prepare"),
        (["--launcher", "srun"], "--engine"),
    ):
        code, _, errors = subsalt_command("migrate", line[0], *words)
        assert (code, said in errors) == (2, True), errors
    real = builtins.__import__

    def without(name: str, *args: object) -> object:
        if name == "distributed":
            raise ModuleNotFoundError("No module named 'distributed'", name=name)
        return real(name, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DeviceError, match=r"pip install .*\[dask\]") as error:
        dask.distributed()
    assert error.value.code == "E877"
