"""A run whose image would be zero throughout, or not finite, ends with an error that names the step; sums are kept."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest
from survey_case import job_of, make_survey

from kirchhoff_jobs import areal, write_job
from subsalt.errors import ConfigError, DataError, NumericalFailure, SubsaltError
from subsalt.io.segy.reading import read_survey
from subsalt.io.segy.writing import write_survey
from subsalt.job.base import read_job
from subsalt.methods.kirchhoff.outputs import TimeContents, refuse_blank_times
from subsalt.methods.rtm.image import refuse_blank
from subsalt.methods.rtm.image_sum import ImageSum
from subsalt.methods.rtm.job_setup import migration_setup, survey_of
from subsalt.methods.rtm.reimage import Wish, reimage_run
from subsalt.parallel.comm import single
from subsalt.run.blank import Contents
from subsalt.run.ledger_file import peek
from subsalt.run.migrate import migrate_job

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Path:
    """A folder with three modelled shots and a run of them."""
    folder = make_survey(tmp_path_factory.mktemp("survey"))
    migrate_job(job_of(folder), folder / "run")
    return folder


@pytest.fixture
def unchecked(monkeypatch):
    """Let jobs run that the checks refuse beforehand: what the end says must not depend on them."""
    monkeypatch.setattr("subsalt.job.checking.check_before_run", lambda *_: type("", (), {"findings": []})())


def fails(job, run, code, exit_code, *words):
    """Migrate, expect an error of a code and an exit code that says some words; nothing looks like a result."""
    with pytest.raises(SubsaltError) as caught:
        migrate_job(job, run)
    assert (caught.value.code, caught.value.exit_code) == (code, exit_code)
    assert "zero throughout" in caught.value.message or code == "E846"
    for word in words:
        assert word in f"{caught.value.message}; {caught.value.fix}"
    assert not (run / "image.sgy").exists()
    assert not list(run.glob("*.sgy"))
    assert not list(run.glob("*.tmp*"))
    rows = peek(run)
    assert rows
    assert {r["state"] for r in rows} == {"done"}
    assert len(list((run / "images").iterdir())) >= len(rows)


def test_a_top_mute_below_the_model_is_named_and_the_shots_are_kept(survey, tmp_path, unchecked):
    job = job_of(survey, more="[imaging]\ntop_mute = 400\n")
    fails(job, tmp_path / "run", "E844", 78, "the step top_mute", "400 m deep", "[imaging] top_mute")
    # a second start says the same, and a mended job goes on from the kept shots
    fails(job, tmp_path / "run", "E844", 78, "the step top_mute")
    mended = migrate_job(job_of(survey, more="[imaging]\ntop_mute = 100\n"), tmp_path / "run")
    assert mended.point_steps == 0
    assert mended.image.exists()


def test_a_mute_of_all_samples_is_named(survey, tmp_path, unchecked):
    job = job_of(survey, more="[data.mute]\nvelocity = 100\ndelay = 5\n")
    fails(job, tmp_path / "run", "E844", 78, "the step [data.mute]", "are not zero before it")


def test_traces_of_zeros_are_named(survey, tmp_path, unchecked):
    (tmp_path / "shots").mkdir()
    for path in (survey / "shots").glob("*.sgy"):
        line = read_survey(path)
        shots = [dataclasses.replace(s, data=np.zeros_like(line.traces(s))) for s in line.shots]
        write_survey(tmp_path / "shots" / path.name, dataclasses.replace(line, shots=shots, reader=None))
    fails(job_of(tmp_path), tmp_path / "run", "E845", 65, "samples of the traces are zero", "shots 1, 2, 3")


def test_a_new_image_of_a_run_is_held_to_the_same(survey, tmp_path):
    for _ in range(2):
        with pytest.raises(ConfigError, match="the step top_mute") as caught:
            reimage_run(survey / "run", tmp_path / "new", Wish(top_mute="1 km"))
        assert caught.value.code == "E844"
        assert not (tmp_path / "new" / "image.sgy").exists()
    with pytest.raises(ConfigError, match="the step --region"):
        reimage_run(survey / "run", tmp_path / "part", Wish(top_mute="200 m", region="0:600,0:150"))


def sums(survey: Path) -> tuple[ImageSum, object]:
    """Return empty sums of the survey's job, and its shots."""
    job = job_of(survey)
    model = job.open_model()
    shots = survey_of(job, model)
    return ImageSum(migration_setup(job, model, shots)), shots


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (0.0, ConfigError, "the step imaging condition found no time"),
        (1e-60, DataError, "too small for float32"),
        (1e60, NumericalFailure, "float32: amplitudes too large"),
        (np.nan, NumericalFailure, "the step: sum over shots"),
    ],
)
def test_every_step_is_told_from_the_others(survey, value, error, words):
    total, shots = sums(survey)
    total.fields["correlation"][3:9, 0, 4:20] = value
    total.fields["illumination"][:] = 1.0
    light = total.light()
    with pytest.raises(error, match=words), np.errstate(over="ignore"):
        refuse_blank(total, total.finish(light), light, shots, single())


def test_an_image_with_a_single_value_is_an_image(survey):
    total, shots = sums(survey)
    total.fields["correlation"][3, 0, 4] = 1.0
    total.fields["illumination"][:] = 1.0
    refuse_blank(total, total.finish(), total.light(), shots, single())


#: what empties a time migration: keys of [kirchhoff], what is done to its traces, code, exit code, words
TIMES = {
    "aperture": ({"aperture": 2.0, "corners": [[11, 101, 1e4, 2e3], [11, 120, 1e4, 2380.0], [16, 101, 10125.0, 2e3]]},
                 None, "E844", 78, "the step aperture"),
    "stretch mute": ({"stretch_mute": 1e-6}, None, "E844", 78, "the step stretch_mute"),
    "traces": ({}, 0.0, "E845", 65, "all samples of the traces are zero"),
}  # fmt: skip


@pytest.mark.parametrize("name", TIMES)
def test_a_time_migration_names_the_step(tmp_path, name, unchecked):
    keys, scale, code, exit_code, words = TIMES[name]

    def edit(traces):
        if scale is not None:
            traces *= np.float32(scale)

    areal(tmp_path / "traces.sgy", edit=edit)
    job = read_job(write_job(tmp_path, kirchhoff=keys))
    for _ in range(2):
        fails(job, tmp_path / "run", code, exit_code, words)


def test_a_filter_that_leaves_nothing_is_named(tmp_path):
    """Sums that are zero although samples are not: nothing but the filters lies between."""
    areal(tmp_path / "traces.sgy")
    setup = read_job(write_job(tmp_path)).setup(single())
    counts = TimeContents()
    for name, live in (("image", 0), ("gathers", 0), ("hits", 9)):
        setattr(counts, name, Contents(9, live))
    with pytest.raises(DataError, match="the step filter"):
        refuse_blank_times(counts, setup, single())
    counts.gathers.live, counts.image.live, counts.image.bad = 9, 8, 1
    with pytest.raises(NumericalFailure, match="1 of 9 values of the image are not finite"):
        refuse_blank_times(counts, setup, single())


def test_empty_classes_are_no_error(tmp_path, unchecked):
    areal(tmp_path / "traces.sgy")
    classes = {"first": "100 m", "last": "900 m", "step": "200 m"}
    job = read_job(write_job(tmp_path, kirchhoff={"gathers": "offset", "offset": classes}))
    assert migrate_job(job, tmp_path / "run").image.exists()
