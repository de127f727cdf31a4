"""Runs of least-squares migration: the same bytes on any ranks and after any kill, more iterations, what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from launch import needs_mpi, run

import subsalt as ss
from subsalt.errors import ConfigError, FindingsError, MemoryPlanError
from subsalt.io.faults import set_fault
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes.volume import read, write
from subsalt.job.base import read_job
from subsalt.job.checking import check_job
from subsalt.methods.lsrtm import step_memory
from subsalt.methods.lsrtm.states import RoundFiles

GRID = ss.Grid((31, 25), (10.0, 10.0))
WAVELET = ss.ricker(15.0, 0.001)
ITERATIONS = 3
JOB = """
method = "lsrtm"
[data]
files = ["shots.sgy"]
first_breaks = "ignore"
[model]
vp = 2000
[output]
pictures = false
[grid]
spacing = 10
shape = [31, 25]
[source]
f0 = 15
[propagation]
grid = "model"
[inversion]
iterations = {iterations}
"""


def job_in(folder: Path, survey: Path, more: str = "", iterations: int = ITERATIONS) -> Path:
    """Write a job beside its traces; return its file."""
    folder.mkdir(exist_ok=True, parents=True)
    shutil.copy(survey, folder / "shots.sgy")
    (folder / "job.toml").write_text(JOB.format(iterations=iterations) + more)
    return folder / "job.toml"


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "image.sgy").read_bytes()).hexdigest()


def facts(folder: Path) -> dict:
    return json.loads((folder / "run.json").read_text())


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Path:
    """Return a file of the scattered traces of three shots."""
    receivers = [[x, 0.0] for x in range(0, 301, 30)]
    survey = ss.Survey.from_arrays([[50.0, 0.0], [150.0, 0.0], [250.0, 0.0]], receivers, nt=90, dt=0.002)
    dm = np.zeros(GRID.shape)
    dm[:, 13] = 4e-9
    data = ss.born_operator(ss.EarthModel(GRID, 2000.0), survey, WAVELET).forward(dm).astype(np.float32)
    shots = [replace(s, data=data[i]) for i, s in enumerate(survey.shots)]
    path = tmp_path_factory.mktemp("traces") / "shots.sgy"
    write_survey(path, replace(survey, shots=shots))
    return path


@pytest.fixture(scope="module")
def whole(survey, tmp_path_factory) -> Path:
    """Return the run directory of an undisturbed run."""
    job = job_in(tmp_path_factory.mktemp("whole"), survey)
    ss.migrate_job(read_job(job))
    return job.parent / "job.run"


def test_a_run_gives_the_image_of_the_same_arrays(whole, survey):
    job = read_job(whole.parent / "job.toml")
    result = ss.lsrtm(
        ss.EarthModel(GRID, 2000.0), job.load_survey(), job.wavelet(0.001), iterations=ITERATIONS
    )
    said = facts(whole)["inversion"]
    assert said["reason"] == f"{ITERATIONS} iterations are done"
    assert said["misfit"] == pytest.approx(result.misfit, rel=1e-4)
    assert all(b < a for a, b in zip(said["misfit"], said["misfit"][1:], strict=False))
    image = read(whole / "image.rsf").values
    assert np.linalg.norm(image - result.image) < 1e-4 * np.linalg.norm(result.image)
    assert "least-squares migration" in (whole / "image.rsf").read_text()
    assert "misfit over that of the start" in (whole / "report.html").read_text()
    events = [json.loads(line) for line in (whole / "events.jsonl").read_text().splitlines()]
    rounds = [e for e in events if e["event"] == "round"]
    assert [e["iteration"] for e in rounds] == list(range(ITERATIONS + 1))
    assert rounds[-1]["reason"] == said["reason"]
    assert all(e["pair"] < 1e-5 for e in rounds)


def test_a_finished_run_takes_more_iterations(whole, survey, tmp_path, subsalt_command):
    job = job_in(tmp_path, survey, iterations=1)
    ss.migrate_job(read_job(job))
    assert len(facts(tmp_path / "job.run")["inversion"]["misfit"]) == 2
    assert subsalt_command("migrate", job, "--iterations", ITERATIONS)[0] == 0
    assert digest(tmp_path / "job.run") == digest(whole)
    assert facts(tmp_path / "job.run")["inversion"] == facts(whole)["inversion"]
    (tmp_path / "other.toml").write_text(
        job.read_text().replace('method = "lsrtm"', "").split("[inversion]")[0]
    )
    code, _, said = subsalt_command("migrate", tmp_path / "other.toml", "--iterations", 2)
    assert (code, "E769" in said) == (78, True)


@pytest.mark.parametrize(
    "checkpoint",
    ['strategy = "revolve"', 'strategy = "store"\nplace = "disk"', 'strategy = "store"\nplace = "memory"'],
)
def test_whatever_recovers_the_source_wavefield_gives_the_same_bytes(whole, survey, tmp_path, checkpoint):
    job = job_in(tmp_path, survey, f"[checkpoint]\n{checkpoint}\n")
    ss.migrate_job(read_job(job))
    assert digest(tmp_path / "job.run") == digest(whole)


#: operations on files at which a process is killed: inside the first round, before and behind a state, between rounds
POINTS = [
    ("rename", "round_000/shot_000002.planes"),
    ("rename", "rounds/state_000.json"),
    ("mkdir", "round_002"),
    ("rename", "round_002/shot_000003.planes"),
    ("rename", "rounds/state_003.npy"),
    ("rename", "image.sgy"),
]


@pytest.mark.parametrize(("operation", "name"), POINTS)
def test_killed_anywhere_it_continues_to_the_same_bytes(whole, survey, tmp_path, operation, name):
    job = job_in(tmp_path, survey)
    child = os.fork()
    if child == 0:

        def hook(now, path, nbytes):
            if now == operation and str(path).endswith(name):
                os.kill(os.getpid(), signal.SIGKILL)

        set_fault(hook)
        ss.migrate_job(read_job(job))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    ss.migrate_job(read_job(job))
    assert digest(tmp_path / "job.run") == digest(whole)


@needs_mpi
def test_ranks_give_the_same_bytes(whole, survey, tmp_path):
    job = job_in(tmp_path, survey)
    for ranks in (2, 3):
        done = run(ranks, ["subsalt", "migrate", job, "--run", tmp_path / f"{ranks}.run", "--quiet"])
        assert done.rc == 0, done
        assert digest(tmp_path / f"{ranks}.run") == digest(whole)


def test_units_that_other_processes_compute_give_the_same_bytes(whole, survey, tmp_path, subsalt_command):
    job, folder = job_in(tmp_path, survey), tmp_path / "job.run"
    assert subsalt_command("migrate", job, "--prepare")[0] == 0
    assert subsalt_command("unit", folder, "--unit", "2")[0] == 0
    assert subsalt_command("resume", folder)[0] == 0
    assert digest(folder) == digest(whole)


def test_a_start_a_mask_and_steps_on_traces(survey, whole, tmp_path):
    shutil.copytree(whole, tmp_path / "first.run")
    mask = np.ones(GRID.shape, np.float32)
    mask[:, :5] = 0
    write(tmp_path / "mask.rsf", GRID, mask)
    steps = '[[signal]]\nstep = "bandpass"\ncorners = [2, 4, 30, 40]\n[[signal]]\nstep = "mute"\nvelocity = 4000\n'
    more = 'start = "first.run/image.rsf"\nmask = "mask.rsf"\nprecondition = "depth"\n' + steps
    job = job_in(tmp_path, survey, more, iterations=1)
    ss.migrate_job(read_job(job))
    said = facts(tmp_path / "job.run")["inversion"]["iterations"]
    # the start has explained the larger part of the traces
    assert said[0]["misfit"] < 0.5 * said[0]["data"]
    assert said[1]["misfit"] < said[0]["misfit"]
    assert said[1]["pair"] < 1e-5
    change = RoundFiles(tmp_path / "job.run", 1).read().x
    assert not change[..., :5].any()
    assert change.any()


def test_it_is_planned_and_checked(whole, subsalt_command):
    code, out, _ = subsalt_command("plan", whole.parent / "job.toml", "--no-measure")
    assert code == 0
    assert "3 iterations at most behind the migration" in out
    assert subsalt_command("check", whole.parent / "job.toml", "--no-map")[0] == 0


def test_a_step_that_memory_does_not_hold_is_refused_by_check_and_run(survey, tmp_path, monkeypatch):
    monkeypatch.setattr(step_memory, "available_memory", lambda: 10_000)
    path = job_in(tmp_path, survey)
    checked = check_job(read_job(path))
    assert [(f.code, f.level) for f in checked.findings if f.level == "error"] == [("E610", "error")]
    assert checked.exit_code() == MemoryPlanError.exit_code
    with pytest.raises(FindingsError, match="a step of the iteration needs"):
        ss.migrate_job(read_job(path))


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ('mask = "other.rsf"\n', "E896"),
        ('start = "other.rsf"\n', "E896"),
        ('[[signal]]\nstep = "edit"\nwhere = "rms > 20*median"\n', "E897"),
        ('[[signal]]\nstep = "mute"\nvelocity = 4000\n[[signal]]\nstep = "shift"\ntime = 0.01\n', "E897"),
        ('noise = "above-band"\n[[signal]]\nstep = "bandpass"\ncorners = [2, 4, 30, 40]\n', "E899"),
        ('[checkpoint]\nkeep = "source"\n', "E897"),
        ('[checkpoint]\nstrategy = "boundary"\n', "E897"),
        ("[parallel]\nranks_per_shot = 2\n", "E897"),
        ("[imaging.gathers]\nmax = 50\n", "E769"),
    ],
)
def test_what_has_no_exact_adjoint_or_another_grid_is_refused(survey, tmp_path, more, code):
    write(tmp_path / "other.rsf", ss.Grid((30, 25), (10.0, 10.0)), np.ones((30, 25), np.float32))
    with pytest.raises((ConfigError, FindingsError)) as refused:
        ss.migrate_job(read_job(job_in(tmp_path, survey, more)))
    findings = getattr(refused.value, "findings", None) or [refused.value]
    assert code in {f.code for f in findings if getattr(f, "level", "error") == "error"}


def test_traces_that_are_no_numbers_end_it_with_the_state_kept(whole, survey, tmp_path):
    """A state whose direction is damaged beyond numbers is refused at the next step, and the one before stays."""
    job = job_in(tmp_path, survey, 'precondition = "none"\nmask = "mask.rsf"\n')
    write(tmp_path / "mask.rsf", GRID, np.zeros(GRID.shape, np.float32))
    with pytest.raises(ConfigError) as refused:
        ss.migrate_job(read_job(job))
    assert refused.value.code == "E894"
    # the partial results of the first round are there: the next start continues with them
    assert len(list((tmp_path / "job.run/images/round_000").glob("*.planes"))) == 3
