"""`[checkpoint] keep` in a run: the same image, wavefields in its directory and ledger, whatever the strategy."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from survey_case import job_of, make_survey

import subsalt
from subsalt.io.volumes import volume
from subsalt.methods.rtm.reimage import Wish, reimage_run
from subsalt.run.migrate import migrate_job
from thorough import thorough

WINDOWS = "[imaging]\naperture = 150\n"
MEDIA = {
    "isotropic": "",
    "vti": "[model.epsilon]\nvalue = 0.1\n[model.delta]\nvalue = 0.05\n",
    "tti": "[model.epsilon]\nvalue = 0.1\n[model.delta]\nvalue = 0.05\n[model.theta]\nvalue = 20\n",
}


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Path:
    folder = make_survey(tmp_path_factory.mktemp("survey"))
    migrate_job(job_of(folder, more=WINDOWS), folder / "plain")
    return folder


@pytest.fixture(scope="module")
def inverse_scattering(survey) -> str:
    """The hash of the image by another condition of a run that keeps nothing: of every strategy, as of the first."""
    job = job_of(survey, more=WINDOWS).changed("imaging", condition="inverse-scattering")
    return migrate_job(job, survey / "inverse-scattering").sha256


def keeping(survey, words, more=WINDOWS):
    return job_of(survey, "keeping", more + "[checkpoint]\n" + words + "\n")


@pytest.mark.parametrize(
    "words",
    [
        pytest.param('strategy = "store"\nplace = "memory"', marks=thorough),
        'strategy = "store"\nplace = "disk"',
        pytest.param('strategy = "revolve"\nslots = 2\nblock = 3', marks=thorough),
        'strategy = "revolve"\nplace = "disk"\nrestart_every = 40',
        'directories = ["one", "two"]',
    ],
    ids=lambda w: w.replace("\n", ", "),
)
def test_wavefields_are_kept_and_make_the_image_again(survey, inverse_scattering, tmp_path, words):
    for name in ("one", "two"):
        (survey / name).mkdir(exist_ok=True)
    run = tmp_path / "run"
    first_run = migrate_job(keeping(survey, words + '\nkeep = "both"'), run)
    plain = json.loads((survey / "plain" / "run.json").read_text())
    assert first_run.sha256 == plain["image"]["sha256"]
    facts = json.loads((run / "run.json").read_text())
    assert facts["wavefields"]["both"] == [1, 2, 3]
    folders = [run / f for f in facts["wavefields"]["folders"]]
    # nothing but what is kept is left
    names = {p.name for f in folders for p in f.rglob("*") if p.is_file()}
    assert names == {f"{n}.r00.{s}" for n in ("source", "receiver") for s in ("snap", "json")}
    size = sum(p.stat().st_size for f in folders for p in f.rglob("*.snap"))
    assert facts["wavefields"]["bytes"] == size
    again = reimage_run(run, tmp_path / "again", Wish(wavefields=True))
    assert again.sha256 == first_run.sha256
    other = reimage_run(run, tmp_path / "other", Wish(condition="inverse-scattering", wavefields=True))
    assert other.sha256 == inverse_scattering
    for f in folders:
        shutil.rmtree(f)


@pytest.mark.parametrize("medium", [pytest.param(m, marks=[] if m == "tti" else thorough) for m in MEDIA])
def test_in_every_medium_another_condition_has_the_bytes_of_a_fresh_run(survey, tmp_path, medium):
    run, more = tmp_path / "run", MEDIA[medium]
    job = keeping(survey, 'keep = "both"', more).changed("imaging", condition="cross-correlation")
    migrate_job(job, run)
    said = []
    lit = migrate_job(job.changed("imaging", condition="source-normalised"), run, say=said.append)
    assert (lit.point_steps, said) == (0, ["using again the kept wavefields of 3 shots: no propagation"])
    fresh = migrate_job(job_of(survey, "fresh", more), tmp_path / "fresh")
    assert lit.sha256 == fresh.sha256
    assert lit.sha256 != json.loads((survey / "plain" / "run.json").read_text())["image"]["sha256"]


def test_the_source_alone_takes_half_the_room(survey, tmp_path):
    run = tmp_path / "run"
    migrate_job(keeping(survey, 'keep = "source"'), run)
    stored = json.loads((run / "run.json").read_text())["wavefields"]
    assert (stored["shots"], stored["both"]) == ([1, 2, 3], [])
    with subsalt.saved_wavefields(run, 2) as shot:
        assert shot.receiver is None
        light = sum(u.astype(np.float64) ** 2 for u in shot.source)
    assert light.shape == (61, 41)
    assert light.max() > 0


def test_compressed_wavefields_make_nearly_the_image(survey, tmp_path):
    pytest.importorskip("zfpy")
    run = tmp_path / "run"
    words = 'strategy = "store"\nplace = "disk"\ncompression = "zfp"\ntolerance = 1e-4\nkeep = "both"'
    first = migrate_job(keeping(survey, words), run)
    again = reimage_run(run, tmp_path / "again", Wish(wavefields=True))
    images = [volume.read(r.run_dir / "image.rsf").values.astype(np.float64) for r in (first, again)]
    # the run itself reads what it has written: receiver samples too are kept to 1e-4 of their largest value
    assert np.sqrt(np.mean((images[0] - images[1]) ** 2)) <= 1e-2 * np.sqrt(np.mean(images[0] ** 2))
    facts = json.loads((tmp_path / "again" / "run.json").read_text())
    assert "zfp" in facts["reimage"]["lossy"]


@pytest.mark.parametrize("keep", ["source", "both"])
def test_the_plan_knows_the_bytes_of_what_is_kept(survey, tmp_path, keep):
    from subsalt.methods.rtm.scratch import wavefield_bytes
    from subsalt.plan import plan_job

    job, run = keeping(survey, f'keep = "{keep}"'), tmp_path / "run"
    plan = plan_job(job, run_dir=run, measure=False)
    planned = wavefield_bytes(plan.basis.decision.needs, job.checkpoint_options)
    assert plan.disk.parts["kept wavefields"] == sum(planned.values())
    migrate_job(job, run)
    facts = json.loads((run / "run.json").read_text())["wavefields"]
    assert list(planned) == facts["shots"] == [1, 2, 3]
    assert sum(planned.values()) == facts["bytes"]
    # they are there now
    again = plan_job(job, run_dir=run, measure=False)
    assert again.disk.parts.get("kept wavefields", 0) == 0


def test_wavefields_in_16_bits_are_kept_played_and_imaged_again(survey, tmp_path):
    from subsalt.methods.rtm.scratch import wavefield_bytes
    from subsalt.plan import plan_job

    run, plain = tmp_path / "run", tmp_path / "plain"
    job = keeping(survey, 'compression = "f16"\nexact = false\nkeep = "both"')
    plan = plan_job(job, run_dir=run, measure=False)
    halved, whole = migrate_job(job, run), migrate_job(keeping(survey, 'keep = "both"'), plain)
    facts = [json.loads((r / "run.json").read_text()) for r in (run, plain)]
    assert facts[0]["run_id"] != facts[1]["run_id"]
    planned = wavefield_bytes(plan.basis.decision.needs, job.checkpoint_options)
    assert sum(planned.values()) == facts[0]["wavefields"]["bytes"] < facts[1]["wavefields"]["bytes"]
    assert not facts[0]["checkpoint"]["differing"]
    again = reimage_run(run, tmp_path / "again", Wish(wavefields=True))
    assert json.loads((again.run_dir / "run.json").read_text())["reimage"]["lossy"] == "f16"
    images = [volume.read(r.run_dir / "image.rsf").values.astype(np.float64) for r in (whole, halved, again)]
    for image in images[1:]:
        assert 0 < np.linalg.norm(image - images[0]) < 1e-3 * np.linalg.norm(images[0])
    with subsalt.saved_wavefields(run, 2) as a, subsalt.saved_wavefields(plain, 2) as b:
        for u, v in ((a.source, b.source), (a.receiver, b.receiver)):
            sums = [sum(np.sum((x - k * y) ** 2.0) for x, y in zip(u, v, strict=True)) for k in (1, 0)]
            assert 0 < sums[0] < 1e-8 * sums[1]
