"""Runs whose iterations draw some of the shots: the image of the same arrays, kills, units elsewhere, refusals."""

from __future__ import annotations

import json
import os
import shutil
import signal
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from launch import needs_mpi, run
from least_squares_case import GRID, job_in, scattered_survey

import subsalt as ss
from subsalt.errors import ConfigError, FindingsError
from subsalt.inversion.draws import Draws
from subsalt.io.faults import set_fault
from subsalt.io.volumes.volume import read
from subsalt.job.base import read_job
from subsalt.methods.lsrtm import view
from subsalt.methods.lsrtm.course import misfits_of, pass_misfits
from subsalt.methods.lsrtm.disk import arrays_at_a_time
from subsalt.methods.lsrtm.sections import InversionSection
from subsalt.methods.lsrtm.states import RoundFiles
from subsalt.methods.lsrtm.view import Course
from subsalt.run.progress import lines, view_of
from subsalt.view.pages import Sheet

#: a pass over three shots: two shots, and the one that is left
ITERATIONS, MORE = 2, "subset = 2\nseed = 3\n"


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Path:
    """Return a file of the scattered traces of three shots."""
    return scattered_survey(tmp_path_factory.mktemp("traces"))


@pytest.fixture(scope="module")
def whole(survey, tmp_path_factory) -> Path:
    """Return the run directory of an undisturbed run."""
    job = job_in(tmp_path_factory.mktemp("whole"), survey, MORE, ITERATIONS)
    ss.migrate_job(read_job(job))
    return job.parent / "job.run"


def image(folder: Path) -> bytes:
    return (folder / "image.sgy").read_bytes()


def test_a_run_gives_the_image_of_the_same_arrays_and_lowers_the_misfit_of_all_data(whole, survey):
    job = read_job(whole.parent / "job.toml")
    traces, images = job.load_survey(), []
    result = ss.lsrtm(
        ss.EarthModel(GRID, 2000.0),
        traces,
        job.wavelet(0.001),
        iterations=ITERATIONS,
        subset=2,
        seed=3,
        on_iteration=lambda numbers, dm: images.append(dm),
    )
    of_run = read(whole / "image.rsf").values
    assert np.linalg.norm(of_run - result.image) < 1e-4 * np.linalg.norm(result.image)
    data = np.stack([traces.traces(s) for s in traces.shots])
    # Born data without noise: of this survey every step lowers the misfit of all shots, which no theory promises
    misfits = [np.linalg.norm(data - result.operator.forward(dm)) for dm in images]
    assert all(b < a for a, b in pairwise(misfits))
    # of the shots drawn last the step leaves what its numbers say
    last, ids = result.history[-1], tuple(s.id for s in traces.shots)
    places = [ids.index(shot) for shot in Draws(ids, 2, 3).drawn(ITERATIONS)]
    left = np.sum(np.square(data[places] - result.operator.forward(result.dm, places)))
    assert left == pytest.approx(last.misfit - last.alpha * last.gamma, rel=1e-4)
    said = json.loads((whole / "run.json").read_text())["inversion"]
    assert said["reason"] == f"{ITERATIONS} iterations are done"
    assert said["misfit"] == pytest.approx(result.misfit, rel=1e-4)
    assert (said["subset"], said["seed"]) == (2, 3)
    assert said["pass_misfits"] == pytest.approx(pass_misfits(result.history), rel=1e-4)


def test_everything_that_shows_a_misfit_says_of_which_shots(whole, tmp_path):
    ids, of = (1, 2, 3), "the 1 of 3 shots drawn, before the step"
    events = [json.loads(line) for line in (whole / "events.jsonl").read_text().splitlines()]
    rounds = [e for e in events if e["event"] == "round" and e["round"]]
    assert [e["drawn"] for e in rounds] == [Draws(ids, 2, 3).drawn(k) for k in (1, 1, 2, 2)]
    assert [e["half"] for e in rounds] == ["direction", "step"] * ITERATIONS
    assert [e.get("misfit_of") for e in rounds] == [None, "the 2 of 3 shots drawn, before the step", None, of]
    assert [e["iteration"] for e in rounds] == [1, 1, 2, 2]
    assert json.loads((whole / "run.json").read_text())["inversion"]["misfit_of"] == of
    page = (whole / "report.html").read_text()
    for words in (f"misfit of {of}", "that of the image itself is not computed", ">shots</th>"):
        assert words in page
    seen = view_of(whole)
    assert len(seen.misfit) == 1 + ITERATIONS
    assert seen.to_dict()["misfit_of"] == of
    assert any(
        f"after 2 iterations: of {of}, over that of the same at the start" in line for line in lines(seen)
    )


def test_the_picture_of_the_misfit_says_of_which_shots_it_is(whole, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(view, "kept_images", lambda folder: [])
    monkeypatch.setattr(view, "misfit_curve", lambda *what: drawn.append(what))
    Course(whole).draw(Sheet(tmp_path / "image.png", "title", ""))
    ((sheet, misfits, of),) = drawn
    assert sheet.about.startswith("misfit of the 1 of 3 shots drawn, before the step: ")
    assert (len(misfits), of) == (1 + ITERATIONS, "the shots drawn, before the step")


def killed_at(job: Path, operation: str, name: str) -> None:
    """Start a job in a process that is killed at an operation on a file whose path has a name in it."""
    child = os.fork()
    if child == 0:

        def hook(now, path, nbytes):
            if now == operation and name in str(path):
                os.kill(os.getpid(), signal.SIGKILL)

        set_fault(hook)
        ss.migrate_job(read_job(job))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_killed_again_and_again_it_has_the_same_bytes_and_the_misfits_of_whole_iterations(
    whole, survey, tmp_path, subsalt_command
):
    job, folder = job_in(tmp_path, survey, MORE, ITERATIONS), tmp_path / "job.run"
    killed_at(job, "rename", "rounds/start_misfits.json")
    # inside the first half of an iteration, and behind it
    killed_at(job, "rename", "round_001/shot_")
    killed_at(job, "rename", "rounds/state_001.json")
    # the first half of the second iteration is done: the misfit is still that of the first
    killed_at(job, "mkdir", "round_004")
    assert RoundFiles(folder, 3).read_halfway().scalars.iteration == 2
    assert misfits_of(folder) == misfits_of(whole)[:2]
    assert view_of(folder).misfit_of == "the 2 of 3 shots drawn, before the step"
    # inside the second half, a unit of which another process computes, and behind it
    killed_at(job, "rename", "round_004/shot_")
    (drawn,) = Draws((1, 2, 3), 2, 3).drawn(2)
    assert subsalt_command("unit", folder, "--unit", str(drawn))[0] == 0
    killed_at(job, "rename", "rounds/state_004.json")
    ss.migrate_job(read_job(job))
    assert image(folder) == image(whole)
    assert misfits_of(folder) == misfits_of(whole)


def test_a_damaged_state_is_computed_again_from_that_inside_its_iteration(whole, tmp_path):
    shutil.copytree(whole.parent, tmp_path / "of")
    run = tmp_path / "of/job.run"
    (run / "rounds/state_004.npy").write_bytes(b"damaged")
    (run / "image.sgy").unlink()
    ss.migrate_job(read_job(run.parent / "job.toml"))
    assert image(run) == image(whole)


@needs_mpi
def test_ranks_that_share_shots_or_not_give_the_same_bytes(whole, survey, tmp_path):
    """The first iteration by two ranks that share each shot, the second by two that have shots alone."""
    folder = tmp_path / "job.run"
    for iterations, ranks, group in ((1, 2, 2), (ITERATIONS, 2, 1)):
        job = job_in(tmp_path, survey, MORE, iterations)
        words = ["subsalt", "migrate", job, "--ranks-per-shot", str(group), "--quiet"]
        done = run(ranks, words)
        assert done.rc == 0, done
    assert image(folder) == image(whole)


def test_units_in_another_order_and_more_iterations_give_the_same_bytes(
    whole, survey, tmp_path, subsalt_command
):
    job, folder = job_in(tmp_path, survey, MORE, 1), tmp_path / "job.run"
    assert subsalt_command("migrate", job, "--prepare")[0] == 0
    assert subsalt_command("unit", folder, "--unit", "3")[0] == 0
    assert subsalt_command("resume", folder)[0] == 0
    assert subsalt_command("migrate", job, "--iterations", ITERATIONS)[0] == 0
    assert image(folder) == image(whole)


def test_it_is_planned_by_the_shots_it_draws(whole, subsalt_command):
    where = ("--no-measure", "--json", "--run", whole.parent / "new.run")
    planned = json.loads(subsalt_command("plan", whole.parent / "job.toml", *where)[1])
    # 2 + 1 shots; states of two, one and two arrays, and the illumination
    assert planned["shots_of_iterations"] == 3
    assert planned["rounds"] == 1 + 2 * ITERATIONS
    assert planned["states_bytes"] == 6 * 8 * GRID.size
    there = sum(p.stat().st_size for p in (whole / "rounds").glob("*.npy"))
    # the last state, that inside its iteration, the illumination, and the heads of three files
    assert there == 4 * 8 * GRID.size + 3 * 128
    said = subsalt_command("plan", whole.parent / "job.toml", "--no-measure")[1]
    assert "2 iterations of 2 of 3 shots after the migration" in said
    assert "4 rounds, by turns" in said


@pytest.mark.parametrize(("iterations", "arrays"), [(1, 1 + 2 + 1), (2, 2 + 1 + 2), (9, 2 + 1 + 2)])
def test_states_on_the_disk_are_counted_for_any_number_of_iterations(iterations, arrays):
    assert arrays_at_a_time(InversionSection(iterations=iterations, subset=2)) == arrays
    assert arrays_at_a_time(InversionSection(iterations=iterations)) == 3 * min(3, 1 + iterations)


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ("subset = 4\n", "E104", "subset = 4: the survey has 3 shots"),
        ("subset = 0\n", "", "subset"),
        ("subset = -2\n", "", "subset"),
        ('subset = "some"\n', "", "subset"),
        ("subset = 2\nseed = -1\n", "", "seed"),
        ("subset = 2\nthreshold = 1\n", "", "threshold"),
        ("subset = 2\nnoise = 0.1\n", "E897", "subset = 2 does not go with noise"),
        ("subset = 2\ndamping = 0.1\n", "E897", "subset = 2 does not go with damping"),
        ('subset = 2\ndomain = "image"\n', "E897", "has no use for subset"),
        ("seed = 2\n", "E897", "seed: every iteration takes all shots"),
        ("threshold = 0.1\n", "E897", "threshold: every iteration takes all shots"),
    ],
)
def test_what_does_not_go_with_draws_is_refused(survey, tmp_path, more, code, words):
    with pytest.raises((ConfigError, FindingsError)) as refused:
        ss.migrate_job(read_job(job_in(tmp_path, survey, more)))
    findings = getattr(refused.value, "findings", None) or [refused.value]
    wrong = [f for f in findings if getattr(f, "level", "error") == "error"]
    assert any(words in f.message and f.code == (code or f.code) and f.fix for f in wrong), wrong
    assert not (tmp_path / "job.run/images").exists()
