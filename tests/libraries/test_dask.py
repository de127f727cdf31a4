"""Dask as the engine of a run: workers of this machine, killed while they compute, give the bytes of one process."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from small_run import make

from patience import wait_for
from subsalt.errors import ParallelError
from subsalt.io.event_log import read_events
from subsalt.job.base import read_job
from subsalt.run.engines import dask
from subsalt.run.engines.farm import FarmUnits
from subsalt.run.facts import code_facts
from subsalt.run.ledger_file import peek
from subsalt.run.method_run import RunRequest, RunState
from subsalt.run.migrate import migrate_job, migrate_on_farm

pytest.importorskip("distributed", reason="distributed is not installed (make test-libraries)")
pytestmark = pytest.mark.library


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("line"))


def test_a_worker_is_killed_while_it_computes(job: Path, tmp_path: Path) -> None:
    run = tmp_path / "dask.run"
    with dask.dask_here(2, run, "", print) as farm:
        pids = list(farm.client.run(os.getpid).values())

        def kill() -> None:
            wait_for(lambda: any(row["state"] == "running" for row in peek(run)), every=0.05)
            os.kill(pids[0], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        state = RunState.of(RunRequest(run))
        done = migrate_on_farm(read_job(job), state, FarmUnits(farm, state, threads=1, join=0))
        killer.join()
    whole = migrate_job(read_job(job), tmp_path / "whole.run")
    assert (done.sha256, done.shots_failed) == (whole.sha256, [])
    lost = [e["shot"] for e in read_events(run).known if e["event"] == "lost"]
    # the worker that was killed had two tasks at most
    assert len(lost) <= 2
    assert not list(run.glob("shared-*.mark"))


def test_workers_that_differ_are_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    with dask.dask_here(1, tmp_path / "run", "", said.append) as farm:
        assert len(farm.workers()) == 1
        farm._mark.unlink()
        farm.with_device("cpu")
        monkeypatch.setattr(dask, "LOOK", 0.0)
        with pytest.raises(ParallelError, match="does not see"):
            farm.wait_for_first(60)
        monkeypatch.setattr(dask, "code_facts", lambda: code_facts() | {"version": "0.1"})
        farm.refused.clear()
        farm.with_device("")
        with pytest.raises(ParallelError, match=r"this machine 0\.1"):
            farm.wait_for_first(60)
    assert [text.split(" worker ")[0] for text in said] == ["refused", "refused"]


def test_a_scheduler_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask, "PATIENCE", 0.5)
    with (
        pytest.raises(ParallelError, match="no Dask scheduler answers"),
        dask.dask_at("tcp://127.0.0.1:1", tmp_path / "run", "", print),
    ):
        pass
