"""Offset gathers and separated images of whole runs: classes add up to the image, others cost no propagation, and what
cannot be is refused by name.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import segyio
from survey_case import job_of, make_survey

from subsalt.errors import ConfigError, FindingsError
from subsalt.io.volumes import volume
from subsalt.io.volumes.rsf import open_rsf
from subsalt.methods.rtm.reimage import Wish, reimage_run
from subsalt.methods.rtm.stored_gathers import read_gathers
from subsalt.run.migrate import migrate_job

OFFSETS = """
[imaging]
aperture = 150
gathers = { kind = "offset", max = 500, step = 100, every = 7 }
"""
UP_DOWN = '[imaging]\naperture = 150\ncondition = "up-down"\n'


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Path:
    """A folder with the shots."""
    return make_survey(tmp_path_factory.mktemp("survey"))


@pytest.fixture(scope="module")
def run(survey, undrawn) -> Path:
    """A run with offset gathers and pictures, on a grid of 8 m."""
    job = job_of(survey, more=OFFSETS, output={"pictures": True}, propagation={"grid": 8.0})
    with undrawn():
        migrate_job(job, survey / "offsets.run")
    return survey / "offsets.run"


def off_by(run: Path) -> float:
    """Return how far the sum over classes lies from the image, in parts of the largest value of a class."""
    (stored,) = read_gathers(run)
    image = volume.read(run / "image.rsf").values[list(stored.columns[0])]
    total = np.asarray(stored.values[:, 0], np.float64).sum(axis=1)
    assert image.any()
    return float(np.abs(total - image).max() / np.abs(stored.values).max())


def test_the_classes_of_a_run_add_up_to_its_image(survey, run, tmp_path) -> None:
    """Each of five classes and the image are rounded to single precision; with a Laplacian what is rounded are sums of
    nine terms of both axes in double precision, whose error is far below.
    """
    rounded = 0.5 * np.finfo(np.float32).eps * 6
    assert off_by(run) <= rounded
    # divided shot by shot, products of classes are single precision: once for each of three shots, over a floor
    by_shot = job_of(survey, more=OFFSETS, imaging={"illumination": "shot", "filter": "laplacian"})
    migrate_job(by_shot, tmp_path / "shot")
    # a Laplacian takes differences of these: its weights sum to 2 * 2 * 3.2 over 2 * (2 pi / 8)^2 of the shortest wave
    assert off_by(tmp_path / "shot") <= (rounded + 0.5 * np.finfo(np.float32).eps * 3) * 12.8 / 1.2


def test_offsets_stand_in_their_word_and_in_the_facts(run) -> None:
    offsets = [50, 150, 250, 350, 450]
    _, planes = open_rsf(run / "gathers.rsf")
    gathers = planes.read(0, planes.shape[0])
    assert gathers.shape == (9, 5, 41)
    with segyio.open(run / "gathers.sgy", ignore_geometry=True) as file:
        assert np.array_equal(file.trace.raw[:].reshape(gathers.shape), gathers)
        assert (file.attributes(segyio.TraceField.offset)[:].reshape(9, 5) == offsets).all()
        assert "OFFSET OF SOURCE AND RECEIVER, M" in segyio.tools.wrap(file.text[0])
    facts = json.loads((run / "run.json").read_text())
    assert facts["gathers"] == {
        "kind": "offset",
        "columns": [list(range(0, 61, 7)), [0]],
        "offsets_m": offsets,
    }
    (stored,) = read_gathers(run)
    assert (stored.axis, stored.unit, stored.shows_moveout) == ("offset", "m", True)
    assert len(facts["flatness"]["semblance"]) == 9
    assert (run / "pictures" / "image_gathers.png").is_file()
    assert "gathers" in (run / "report.html").read_text()


def test_other_classes_are_made_of_partial_images_without_propagation(survey, run, tmp_path) -> None:
    wanted = job_of(
        survey, more=OFFSETS, propagation={"grid": 8.0}, imaging={"condition": "cross-correlation"}
    )
    wanted = wanted.changed("imaging", gathers={"kind": "offset", "max": 400.0, "step": 50.0, "every": 20})
    migrate_job(wanted, tmp_path / "fresh")
    wish = Wish(condition="cross-correlation", gathers="kind=offset, max=400, step=50, every=20")
    made = reimage_run(run, tmp_path / "other", wish)
    assert "kept wavefields" not in made.phases
    for name in ("gathers.sgy", "image.sgy"):
        assert (tmp_path / "other" / name).read_bytes()[3600:] == (tmp_path / "fresh" / name).read_bytes()[
            3600:
        ], name


def test_an_interrupted_run_goes_on_with_the_same_bytes(survey, run, tmp_path) -> None:
    """One partial image is damaged: its shot is migrated again."""
    other = tmp_path / "run"
    job = job_of(survey, more=OFFSETS, propagation={"grid": 8.0})
    shutil.copytree(run, other)
    (damaged, *_) = sorted((other / "images").glob("*.planes"))
    raw = bytearray(damaged.read_bytes())
    raw[-100] ^= 4
    damaged.write_bytes(raw)
    (other / "gathers.sgy").unlink()
    assert migrate_job(job, other).point_steps > 0
    assert (other / "gathers.sgy").read_bytes()[3600:] == (run / "gathers.sgy").read_bytes()[3600:]


def test_no_kept_wavefield_serves_and_the_message_says_what_does(survey, tmp_path) -> None:
    plain = tmp_path / "plain"
    migrate_job(job_of(survey, more="[imaging]\naperture = 150\n", checkpoint={"keep": "both"}), plain)
    for wish in (Wish(gathers="kind=offset, max=500, step=100"), Wish(condition="up-down")):
        with pytest.raises(ConfigError, match="receiver wavefield") as caught:
            reimage_run(plain, tmp_path / "new", wish)
        assert caught.value.code == "E861"
        assert "subsalt migrate" in caught.value.fix


def test_a_separated_image_is_made_by_a_job_and_looked_at_on_its_way(survey, tmp_path, undrawn) -> None:
    with undrawn():
        made = migrate_job(job_of(survey, more=UP_DOWN, output={"pictures": True}), tmp_path / "run")
    image = volume.read(tmp_path / "run" / "image.rsf").values
    assert (tmp_path / "run" / "illumination.rsf") in [Path(f) for f in made.files]
    # below direct waves the reflector at 240 m is the strongest event; two cells, half a wavelength of it is 67 m
    assert abs(int(np.abs(image[29, 21:33]).argmax()) + 21 - 24) <= 2
    from subsalt.earth.grid import Grid
    from subsalt.view.run_image import partial_sum

    partials = sorted((tmp_path / "run" / "images").glob("*.planes"))
    live, _, count = partial_sum(partials, Grid((61, 41), (10.0, 10.0)))
    assert count == 3
    assert live.any()


def test_what_a_second_wavefield_does_not_go_with_is_refused_by_name(survey) -> None:
    for more in (OFFSETS, UP_DOWN):
        with pytest.raises(FindingsError, match="second wavefield") as caught:
            job_of(survey, more=more, parallel={"device": "cuda"})
        assert [f.code for f in caught.value.findings] == ["E758"]
        shared = job_of(survey, more=more, parallel={"ranks_per_shot": 2})
        assert (shared.parallel.device, shared.parallel.group) == ("cpu", 2)
    with pytest.raises((ConfigError, FindingsError), match="up-down"):
        job_of(survey, more=UP_DOWN, imaging={"gathers": {"kind": "offset"}}).imaging_options  # noqa: B018
