"""Runs of least-squares migration: the same bytes on any ranks and after any kill, more iterations, what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
from launch import needs_mpi, run
from least_squares_case import GRID, ITERATIONS, job_in, scattered_survey

import subsalt as ss
from subsalt.errors import ConfigError, DiskError, FindingsError, MemoryPlanError, NumericalFailure
from subsalt.io.faults import set_fault
from subsalt.io.volumes import rsf
from subsalt.io.volumes.volume import read, write
from subsalt.job.base import read_job
from subsalt.job.checking import check_job
from subsalt.methods.lsrtm import run as lsrtm_run
from subsalt.methods.lsrtm import step_memory
from subsalt.methods.lsrtm.course import kept_images
from subsalt.methods.lsrtm.states import RoundFiles
from subsalt.plan import plan_job
from subsalt.run.progress import lines, view_of
from thorough import some, thorough


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "image.sgy").read_bytes()).hexdigest()


def facts(folder: Path) -> dict:
    return json.loads((folder / "run.json").read_text())


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Path:
    """Return a file of the scattered traces of three shots."""
    return scattered_survey(tmp_path_factory.mktemp("traces"))


@pytest.fixture(scope="module")
def whole(survey, tmp_path_factory) -> Path:
    """Return the run directory of an undisturbed run."""
    job = job_in(tmp_path_factory.mktemp("whole"), survey)
    ss.migrate_job(read_job(job))
    return job.parent / "job.run"


@pytest.fixture(scope="module")
def short(survey, tmp_path_factory) -> Path:
    """Return the run directory of one iteration."""
    job = job_in(tmp_path_factory.mktemp("short"), survey, iterations=1)
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
    page = (whole / "report.html").read_text()
    for words in ("misfit over that of the start", "Misfit by iteration", f"ended: {said['reason']}."):
        assert words in page
    watched = view_of(whole)
    assert watched.misfit == pytest.approx(said["misfit"])
    bars = [line.split()[-1] for line in lines(watched) if line.endswith("#")]
    assert [len(bar) for bar in bars] == [n for m in said["misfit"] if (n := round(40 * m))]
    events = [json.loads(line) for line in (whole / "events.jsonl").read_text().splitlines()]
    rounds = [e for e in events if e["event"] == "round"]
    assert [e["iteration"] for e in rounds] == list(range(ITERATIONS + 1))
    assert rounds[-1]["reason"] == said["reason"]
    assert all(e["pair"] < 1e-5 for e in rounds)


def test_a_finished_run_takes_more_iterations(whole, short, tmp_path, subsalt_command):
    shutil.copytree(short.parent, tmp_path, dirs_exist_ok=True)
    job = tmp_path / "job.toml"
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
    [
        'strategy = "revolve"',
        'strategy = "store"\nplace = "disk"',
        # what the others are compared with
        pytest.param('strategy = "store"\nplace = "memory"', marks=thorough),
    ],
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


# at many more points: tests/faults/test_kill_least_squares.py
@pytest.mark.parametrize(("operation", "name"), some(POINTS, 3))
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
def test_ranks_give_the_same_bytes(short, survey, tmp_path):
    """Two that share every shot; groups of two, ranks alone and all on one shot in ``make test-all``."""
    job = job_in(tmp_path, survey, iterations=1)
    for ranks, group in some([(2, 2), (4, 2), (3, 1), (5, 5)], 1):
        folder = tmp_path / f"{ranks}.run"
        words = ["subsalt", "migrate", job, "--run", folder, "--ranks-per-shot", str(group), "--quiet"]
        done = run(ranks, words)
        assert done.rc == 0, done
        assert digest(folder) == digest(short)
        assert facts(folder)["parallel"]["groups"] == [group] * (ranks // group)


def test_units_that_other_processes_compute_give_the_same_bytes(whole, survey, tmp_path, subsalt_command):
    job, folder = job_in(tmp_path, survey), tmp_path / "job.run"
    assert subsalt_command("migrate", job, "--prepare")[0] == 0
    assert subsalt_command("unit", folder, "--unit", "2")[0] == 0
    assert subsalt_command("resume", folder)[0] == 0
    assert digest(folder) == digest(whole)


def test_it_keeps_the_last_states_and_every_image(whole, survey, tmp_path):
    """Two states, the illumination, and an image of every iteration, of which the last is that of the run."""
    names = {p.name for p in (whole / "rounds").iterdir()}
    assert names == {f"state_00{k}.{end}" for k in (2, 3) for end in ("npy", "json")} | {"illumination.npy"}
    assert [k.iteration for k in kept_images(whole)] == [1, 2, 3]
    last = read(whole / "iterations/image_003.rsf").values
    assert (last == read(whole / "image.rsf").values).all()
    job = job_in(tmp_path, survey, "keep_images = 2\n", iterations=4)
    ss.migrate_job(read_job(job))
    assert [k.iteration for k in kept_images(tmp_path / "job.run")] == [1, 2, 4]
    # how many are kept is no part of what the run is
    job_in(tmp_path, survey, "keep_images = 0\n", iterations=5)
    ss.migrate_job(read_job(job))
    assert [k.iteration for k in kept_images(tmp_path / "job.run")] == [1, 2, 4]


@pytest.mark.parametrize(
    "names", [["state_003.npy"], ["state_003.json"], ["illumination.npy", "state_002.npy"]]
)
def test_damaged_states_are_computed_again(whole, tmp_path, names):
    shutil.copytree(whole.parent, tmp_path / "of")
    run = tmp_path / "of/job.run"
    before = {p.name: p.read_bytes() for p in (run / "rounds").iterdir()}
    (run / "image.sgy").unlink()
    for name in names:
        (run / "rounds" / name).write_bytes(before[name][:-9])
    said: list[str] = []
    ss.migrate_job(read_job(run.parent / "job.toml"), say=said.append)
    assert any("is damaged; the round is computed again" in s for s in said)
    assert digest(run) == digest(whole)
    # what nothing reads any more stays as it is
    mended = {p.name: p.read_bytes() for p in (run / "rounds").iterdir()}
    unread = {"state_002.npy"} & set(names)
    assert {n: mended[n] for n in set(mended) - unread} == {n: before[n] for n in set(before) - unread}


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
    assert "3 iterations at most after the migration" in out
    planned = json.loads(subsalt_command("plan", whole.parent / "job.toml", "--no-measure", "--json")[1])
    points = GRID.size
    # of this run directory the states that are there are taken off
    there = sum(p.stat().st_size for p in (whole / "rounds").iterdir())
    assert planned["disk"]["parts"]["states"] == max(0, 80 * points - there)
    fresh = ("plan", whole.parent / "job.toml", "--no-measure", "--json", "--run", whole.parent / "new.run")
    planned = json.loads(subsalt_command(*fresh)[1])
    assert (planned["states_bytes"], planned["images_bytes"]) == (80 * points, 3 * 4 * points)
    assert planned["disk"]["total_bytes"] > planned["states_bytes"] + planned["images_bytes"]
    assert subsalt_command("check", whole.parent / "job.toml", "--no-map")[0] == 0


def test_a_step_that_memory_does_not_hold_is_refused_by_check_and_run(survey, tmp_path, monkeypatch):
    monkeypatch.setattr(step_memory, "available_memory", lambda: 10_000)
    path = job_in(tmp_path, survey)
    checked = check_job(read_job(path))
    assert [(f.code, f.level) for f in checked.findings if f.level == "error"] == [("E610", "error")]
    assert checked.exit_code() == MemoryPlanError.exit_code
    with pytest.raises(FindingsError, match="a step of the iteration needs"):
        ss.migrate_job(read_job(path))


def test_check_names_a_disk_that_is_too_small_for_states_and_images(
    survey, tmp_path, monkeypatch, subsalt_command
):
    path = job_in(tmp_path, survey)
    total, usage = plan_job(read_job(path)).disk.total, shutil.disk_usage(tmp_path)
    for free, code in ((total, 0), (total - 1, DiskError.exit_code)):
        monkeypatch.setattr("shutil.disk_usage", lambda where, free=free: usage._replace(free=free))
        status, out, _ = subsalt_command("check", path, "--no-map")
        assert (status, "E663" in out) == (code, code != 0)
    assert "states 0.00 GB" in out


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
        ("[imaging.gathers]\nmax = 50\n", "E769"),
    ],
)
def test_what_has_no_exact_adjoint_or_another_grid_is_refused(survey, tmp_path, more, code):
    write(tmp_path / "other.rsf", ss.Grid((30, 25), (10.0, 10.0)), np.ones((30, 25), np.float32))
    with pytest.raises((ConfigError, FindingsError)) as refused:
        ss.migrate_job(read_job(job_in(tmp_path, survey, more)))
    findings = getattr(refused.value, "findings", None) or [refused.value]
    assert code in {f.code for f in findings if getattr(f, "level", "error") == "error"}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("mask", 0.0, "zero throughout: nothing may change"),
        ("mask", -1.0, "negative at 775 of 775 points"),
        ("mask", np.nan, "is not finite at 775 of 775 points"),
        ("start", 1e-6, "is 4 times 1 / v^2 of the slowest velocity, 2000 m/s: that is no perturbation"),
        ("start", 1e-9, "is the image of a reverse time migration, in a unit of its own"),
    ],
)
def test_a_file_that_is_no_mask_or_no_start_is_refused_before_anything_is_computed(
    survey, tmp_path, name, value, said
):
    made_by = ["made_by: subsalt 0.9.0, reverse time migration"]
    rsf.write_rsf(
        tmp_path / "file.rsf",
        np.full(GRID.shape, value, np.float32),
        rsf.axes_of(GRID.shape, GRID.spacing, GRID.origin),
        comments=made_by,
    )
    with pytest.raises(FindingsError) as refused:
        ss.migrate_job(read_job(job_in(tmp_path, survey, f'{name} = "file.rsf"\n')))
    (error,) = [f for f in refused.value.findings if f.level == "error"]
    assert (error.code, said in error.message) == ("E896", True), error.message


def test_a_preconditioner_of_zero_ends_the_first_round_whose_parts_stay(survey, tmp_path, monkeypatch):
    """Where a mask lets only that change which no light reaches: seen once the first round has its illumination."""
    job, made = job_in(tmp_path, survey, 'precondition = "none"\n'), lsrtm_run.cgls_of
    dark = np.zeros(GRID.shape)
    monkeypatch.setattr(
        lsrtm_run, "cgls_of", lambda options, grid, light, mask: made(options, grid, light, dark)
    )
    with pytest.raises(ConfigError) as refused:
        ss.migrate_job(read_job(job))
    assert refused.value.code == "E894"
    # the partial results of the first round are there: the next start continues with them
    assert len(list((tmp_path / "job.run/images/round_000").glob("*.planes"))) == 3


def test_a_number_that_is_none_ends_a_run_whose_states_stay(whole, survey, tmp_path, monkeypatch):
    """Infinity in the second iteration: the cause is said, the state of the first stays, a later start goes on."""
    job = job_in(tmp_path, survey)
    right, calls = lsrtm_run.sums_to_gradient, []

    def broken(setup, sums):
        calls.append(sums)
        return right(setup, sums) * (np.inf if len(calls) == 3 else 1.0)

    with monkeypatch.context() as patch:
        patch.setattr(lsrtm_run, "sums_to_gradient", broken)
        with pytest.raises(NumericalFailure, match="iteration 2") as failure:
            ss.migrate_job(read_job(job))
    assert failure.value.code == "E895"
    assert "the state before it is kept" in failure.value.fix
    assert RoundFiles(tmp_path / "job.run", 1).read().scalars.iteration == 1
    ss.migrate_job(read_job(job))
    assert digest(tmp_path / "job.run") == digest(whole)
