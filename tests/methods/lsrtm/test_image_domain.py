"""Least squares in the image domain as a run: two rounds, and a deconvolution that a later start does again."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from least_squares_case import GRID, job_in, scattered_survey

import subsalt as ss
from subsalt.errors import FindingsError
from subsalt.io.faults import set_fault
from subsalt.io.volumes.volume import read
from subsalt.job.base import read_job
from subsalt.run.ledger_file import peek
from subsalt.run.progress import view_of

MORE = 'domain = "image"\nlattice = 80\n'


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "image.sgy").read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Path:
    return scattered_survey(tmp_path_factory.mktemp("traces"))


@pytest.fixture(scope="module")
def whole(survey, tmp_path_factory) -> Path:
    job = job_in(tmp_path_factory.mktemp("whole"), survey, MORE, iterations=4)
    ss.migrate_job(read_job(job))
    return job.parent / "job.run"


def test_a_run_gives_the_image_of_the_same_arrays_and_says_how_far_it_goes(whole):
    job = read_job(whole.parent / "job.toml")
    survey = job.load_survey()
    operator = ss.born_operator(ss.EarthModel(GRID, 2000.0), survey, job.wavelet(0.001))
    data = np.stack([survey.traces(shot) for shot in survey.shots]).astype(np.float64)
    with pytest.warns(UserWarning, match="reach out of their windows"):
        spread = ss.point_spread(operator, 80.0)
    expected = spread.deconvolve(operator.adjoint(data), iterations=4)
    image = read(whole / "image.rsf").values
    assert np.linalg.norm(image - expected.image) < 1e-4 * np.linalg.norm(expected.image)
    facts = json.loads((whole / "run.json").read_text())
    said = facts["inversion"]
    assert (said["domain"], said["lattice"]) == ("image", [80.0, 80.0])
    assert said["image_misfit"] == pytest.approx(expected.misfits, rel=1e-3)
    assert said["overlap"] == pytest.approx(spread.typical_overlap, rel=1e-3)
    assert [z for z, _ in said["overlap_by_depth"]] == [40.0, 120.0, 200.0]
    assert "W899" in {f["code"] for f in facts["findings"]}
    page = (whole / "report.html").read_text()
    assert "lies in the outer quarter of its window" in page
    assert "misfit of the image over that of the start" in page
    assert "point" in (whole / "image.rsf").read_text()
    # two rounds of three shots, and no misfit of traces
    assert [(r["round"], r["attempt"]) for r in peek(whole)] == [(k, 1) for k in (0, 1) for _ in range(3)]
    assert len(view_of(whole).misfit) < 2


def test_it_is_deconvolved_again_without_propagating(whole, survey, tmp_path):
    job = job_in(tmp_path, survey, MORE, iterations=2)
    ss.migrate_job(read_job(job))
    other = digest(tmp_path / "job.run")
    job_in(tmp_path, survey, MORE + "damping = 0.01\n", iterations=4)
    ss.migrate_job(read_job(job))
    assert digest(tmp_path / "job.run") == digest(whole) != other
    assert {r["attempt"] for r in peek(tmp_path / "job.run")} == {1}


@pytest.mark.parametrize("name", ["rounds/state_000.json", "round_001/shot_000002.planes"])
def test_killed_it_goes_on_to_the_same_bytes(whole, survey, tmp_path, name):
    job = job_in(tmp_path, survey, MORE, iterations=4)
    child = os.fork()
    if child == 0:

        def hook(operation, path, nbytes):
            if operation == "rename" and str(path).endswith(name):
                os.kill(os.getpid(), signal.SIGKILL)

        set_fault(hook)
        ss.migrate_job(read_job(job))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    ss.migrate_job(read_job(job))
    assert digest(tmp_path / "job.run") == digest(whole)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('domain = "image"\nnoise = 0.1\n', "has no use for noise"),
        ('domain = "image"\nprecondition = "depth"\nmisfit = 0.1\n', "has no use for precondition, misfit"),
        ("lattice = 80\n", 'domain = "data" has no use for lattice'),
    ],
)
def test_keys_of_the_other_domain_are_refused(survey, tmp_path, more, said):
    with pytest.raises(FindingsError, match=said):
        read_job(job_in(tmp_path, survey, more))


def test_it_is_planned(whole, subsalt_command):
    fresh = ("plan", whole.parent / "job.toml", "--no-measure", "--run", whole.parent / "new.run")
    code, out, _ = subsalt_command(*fresh)
    assert code == 0
    assert "image domain: a second round models and migrates all shots" in out
    assert "then 4 iterations without wavefields" in out
