"""A run begins with a prediction, which stands in run.json beside what it took; without rates it says why."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from plan_cases import program_row, shot_row

import kirchhoff_jobs
from job_files import MIGRATE, OWN_GRID, survey, write_files, write_job
from subsalt import __version__
from subsalt.cli import guard
from subsalt.cli.app_root import app
from subsalt.machine import machine_file as machines
from subsalt.methods.kirchhoff import duration as kirchhoff_rates
from subsalt.methods.kirchhoff.duration import measured
from subsalt.methods.rtm import measuring, need
from subsalt.methods.rtm.job import Job
from subsalt.plan import World, plan_job, program

SUM_RATES = {"contributions_per_s": 1e8, "prepared_samples_per_s": 1e7, "start_seconds": 0.5}


def ago(hours):
    """Return the time so many hours ago, as rates are dated."""
    return (datetime.now(UTC) - timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def migrate(capsys, job, run):
    code = guard.run(app, ["migrate", str(job), "--run", str(run), "--json"])
    assert code == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    return result, json.loads((run / "run.json").read_text())


def test_a_migration_predicts_what_the_plan_says(tmp_path, capsys):
    write_files(tmp_path, survey(2))
    job = write_job(tmp_path, MIGRATE + OWN_GRID)
    job.write_text(job.read_text() + "[parallel]\nthreads = 1\n")
    _, facts = migrate(capsys, job, tmp_path / "first")
    assert facts["predicted"]["phases"] == {}
    # `migrate` has no --machine; what it names must work when pasted
    (note,) = facts["predicted"]["notes"]
    assert "subsalt plan" in note
    assert "--machine" not in note
    machines.save(machines.default_path(), "shots", [shot_row(81 * 51, threads=1)])
    planned = plan_job(Job.from_toml(job), run_dir=tmp_path / "second", threads=1).duration
    result, facts = migrate(capsys, job, tmp_path / "second")
    assert facts["predicted"]["phases"] == pytest.approx(planned.phases)
    assert facts["predicted"]["measured"] == "2026-11-22T10:00:00Z"
    compared = {r["phase"]: r for r in result["model"]["phases"]}
    assert compared["source"]["measured"] > 0
    assert compared["source"]["ratio"] == pytest.approx(1.0)
    assert compared["receivers"]["predicted"] == pytest.approx(planned.phases["receivers"])
    # a run with nothing left to do predicts no time steps
    _, facts = migrate(capsys, job, tmp_path / "second")
    assert "source" not in facts["predicted"]["phases"]


def test_a_disturbed_measurement_is_made_again_later(tmp_path, monkeypatch):
    monkeypatch.delenv("SUBSALT_MEASURE", raising=False)
    monkeypatch.setattr(
        measuring.shot_rates, "measure", lambda case: shot_row(81 * 51, threads=1, noisy=True)
    )
    monkeypatch.setattr(measuring.storage, "measure_directory", lambda *arguments: [])
    monkeypatch.setattr(program, "measure", program_row)
    write_files(tmp_path, survey(1))
    job = Job.from_toml(write_job(tmp_path, MIGRATE + OWN_GRID))
    said = []
    row = shot_row(81 * 51, threads=1)
    for noisy, hours, version, times in (
        (False, 1, __version__, 0),
        (True, 0, __version__, 0),
        (True, 1, __version__, 1),
        (False, 24 * 40, __version__, 1),
        (False, 1, "0.1.0", 1),
    ):
        machines.default_path().unlink(missing_ok=True)
        row |= {"noisy": noisy, "date": ago(hours), "version": version}
        machines.save(machines.default_path(), "shots", [row])
        said.clear()
        plan = plan_job(job, threads=1, measure=True, say=said.append, run_dir=tmp_path / "run")
        assert plan.basis.decision.need.arrays["program"] == 123_000_000 + need.TAPERS
        assert sum("measuring how long a time step takes" in s for s in said) == times


def test_a_disturbed_sum_is_measured_again_too_and_the_faster_of_two_disturbed_ones_is_kept(
    tmp_path, monkeypatch
):
    kirchhoff_jobs.areal(tmp_path / "traces.sgy")
    setup = Job.from_toml(kirchhoff_jobs.write_job(tmp_path)).setup()
    row = kirchhoff_rates.kind(setup, 1) | SUM_RATES | {"samples": kirchhoff_jobs.NT, "version": __version__}
    known = World.planned(threads=1)
    for rate, noisy, stored in ((5e7, True, 1e8), (3e8, True, 3e8), (5e7, False, 5e7)):
        machines.default_path().unlink(missing_ok=True)
        machines.save(machines.default_path(), "kirchhoff", [row | {"noisy": True, "date": ago(1)}])
        new = row | {"contributions_per_s": rate, "noisy": noisy, "date": ago(0)}
        monkeypatch.setattr(kirchhoff_rates, "measure", lambda setup, threads, new=new: new)
        monkeypatch.delenv("SUBSALT_MEASURE", raising=False)
        said = []
        measured(setup, known, said.append)
        assert said == [
            "measuring how fast traces are summed again, because the last measurement was disturbed: a few seconds"
        ]
        (now,) = machines.read(machines.default_path()).find("kirchhoff")
        assert now["contributions_per_s"] == stored
        assert now["date"] == new["date"]
        said.clear()
        measured(setup, known, said.append)
        assert said == []


def test_a_quiet_rate_is_kept_until_it_is_old():
    row = shot_row(81 * 51, version=__version__)
    for hours, age in ((24 * 3, False), (24 * 40, True)):
        known = machines.Machine({}).merged("shots", [row | {"date": ago(hours)}])
        new = row | {"noisy": True, "date": ago(0)}
        assert (new in known.merged("shots", [new]).sections["shots"]) == age


def test_a_time_migration_predicts_too(tmp_path, capsys):
    kirchhoff_jobs.areal(tmp_path / "traces.sgy")
    job = kirchhoff_jobs.write_job(tmp_path)
    row = SUM_RATES | {
        "amplitude": "3d",
        "antialias": "bands",
        "bands": 4,
        "interpolation": "sinc",
        "eta": False,
        "gathers": False,
        "threads": 1,
        "samples": kirchhoff_jobs.NT,
    }
    machines.save(machines.default_path(), "kirchhoff", [row])
    planned = plan_job(Job.from_toml(job), run_dir=tmp_path / "run", threads=1).duration
    result, facts = migrate(capsys, job, tmp_path / "run")
    assert facts["predicted"]["phases"]["sum"] == pytest.approx(planned.phases["sum"])
    assert result["model"]["kernel_rate_of"] == "sum"


def test_a_damaged_machine_file_is_no_reason_not_to_run(tmp_path, capsys):
    write_files(tmp_path, survey(1))
    path = machines.default_path()
    path.parent.mkdir(parents=True)
    path.write_text("not JSON")
    _, facts = migrate(capsys, write_job(tmp_path), tmp_path / "run")
    assert facts["predicted"]["phases"] == {}
    assert "cannot be used" in facts["predicted"]["notes"][0]
