"""Dask as the engine of a run: workers of this machine, killed while they compute, give the bytes of one process.

So do workers behind TLS, which need certificates of the same authority, and a unit whose worker starts it on two ranks.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from launch import mpiexec, needs_mpi
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
from subsalt.run.result import RunResult

pytest.importorskip("distributed", reason="distributed is not installed (make test-libraries)")
pytestmark = pytest.mark.library


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("line"))


@pytest.fixture(scope="module")
def whole(job: Path) -> RunResult:
    """Return the run of one process."""
    return migrate_job(read_job(job), job.parent / "whole.run")


def test_a_worker_is_killed_while_it_computes(job: Path, whole: RunResult, tmp_path: Path) -> None:
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
    assert (done.sha256, done.shots_failed) == (whole.sha256, [])
    assert done.point_steps == whole.point_steps
    lost = [e["shot"] for e in read_events(run).known if e["event"] == "lost"]
    # the worker that was killed had two tasks at most
    assert len(lost) <= 2
    assert not (run / "attempts").exists()


def test_workers_that_differ_are_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    with dask.dask_here(1, tmp_path / "run", "", said.append) as farm:
        assert len(farm.workers()) == 1
        farm.with_device("cpu")
        farm._mark.unlink()
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


@needs_mpi
def test_a_unit_is_a_group_of_ranks_in_its_worker(job: Path, whole: RunResult, tmp_path: Path) -> None:
    run = tmp_path / "ranks.run"
    # every rank writes into a file of its own
    launcher = f"""{mpiexec()} -n 2 /bin/sh -c 'exec "$@" >> "$0/$PMI_RANK"' {tmp_path}"""
    with dask.dask_here(1, run, launcher, print) as farm:
        state = RunState.of(RunRequest(run))
        done = migrate_on_farm(read_job(job), state, FarmUnits(farm, state, threads=1, join=0))
    assert done.sha256 == whole.sha256
    # slabs leave out less of what waves have not reached yet
    assert whole.point_steps <= done.point_steps <= whole.grid_point_steps
    # both ranks are of one program: the first speaks for it
    said = [(tmp_path / rank).read_text().splitlines() for rank in "01"]
    assert ([json.loads(line)["unit"] for line in said[0]], said[1]) == ([1, 2, 3], [])


def openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


def certificates(folder: Path) -> dict[str, str]:
    """Make an authority and a certificate that it has signed; return them as options of `Security`."""
    folder.mkdir()
    authority, key, host = folder / "ca.pem", folder / "host.key", folder / "host.pem"
    made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *made, "-keyout", folder / "ca.key", "-out", authority, "-subj", "/CN=authority")
    openssl("req", *made, "-keyout", key, "-out", folder / "host.csr", "-subj", "/CN=localhost")
    signed = ["-CA", authority, "-CAkey", folder / "ca.key", "-CAcreateserial"]
    openssl("x509", "-req", "-in", folder / "host.csr", *signed, "-out", host)
    ends = {
        f"tls_{end}_{what}": str(path)
        for end in ("scheduler", "worker", "client")
        for what, path in (("cert", host), ("key", key))
    }
    return {"tls_ca_file": str(authority), **ends}


@contextmanager
def behind(options: dict[str, str]) -> Iterator[str]:
    """Have a scheduler and a worker that speak to those alone whose certificates are of the same authority."""
    import distributed

    security = distributed.Security(require_encryption=True, **options)
    settings: Any = {"host": "127.0.0.1", "protocol": "tls://", "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, memory_limit=0, security=security, **settings
    ) as cluster:
        yield cluster.scheduler_address


def configured(options: dict[str, str]) -> Any:
    """Return a context in which the configuration of Dask names the certificates of the client."""
    import dask as package

    names = {"ca-file": "tls_ca_file", "client.cert": "tls_client_cert", "client.key": "tls_client_key"}
    return package.config.set({f"distributed.comm.tls.{name}": options[key] for name, key in names.items()})


@pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl, which makes the certificates, is not installed"
)
def test_a_scheduler_behind_tls_takes_certificates_of_its_authority_alone(
    job: Path, whole: RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, other = certificates(tmp_path / "good"), certificates(tmp_path / "other")
    with behind(good) as address:
        assert address.startswith("tls://")
        with configured(good), dask.dask_at(address, tmp_path / "tls.run", "", print) as farm:
            state = RunState.of(RunRequest(tmp_path / "tls.run"))
            done = migrate_on_farm(read_job(job), state, FarmUnits(farm, state, threads=1))
            assert done.sha256 == whole.sha256
        monkeypatch.setattr(dask, "PATIENCE", 2.0)
        refused = pytest.raises(ParallelError, match="no Dask scheduler answers at tls://")
        # of another authority; none at all; and without TLS
        with configured(other), refused, dask.dask_at(address, tmp_path / "a.run", "", print):
            pass
        with refused, dask.dask_at(address, tmp_path / "b.run", "", print):
            pass
        bare = address.replace("tls://", "tcp://")
        with pytest.raises(ParallelError, match="no Dask"), dask.dask_at(bare, tmp_path / "c.run", "", print):
            pass
