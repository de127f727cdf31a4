"""Gathers of whole runs: zero is the image byte for byte, whatever makes the image, the grid and what was kept."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import segyio
from kept_case import keep_wavefields
from survey_case import job_of, make_survey

from subsalt.errors import ConfigError, FindingsError
from subsalt.io.volumes import volume
from subsalt.io.volumes.rsf import open_rsf
from subsalt.job.checking import check_job
from subsalt.methods.rtm.filters import angle_gathers
from subsalt.methods.rtm.reimage import Wish, gathers_of, reimage_run
from subsalt.run.ledger import Ledger
from subsalt.run.migrate import migrate_job

#: shots on windows that end inside the model
GATHERS = "[imaging]\naperture = 150\ngathers = { max = 60, every = 7 }\n"
PLAIN = "[imaging]\naperture = 150\n"


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Path:
    """A folder with the shots."""
    return make_survey(tmp_path_factory.mktemp("survey"))


@pytest.fixture(scope="module")
def gathered(survey) -> Path:
    """A run with gathers, which stays as it is."""
    migrate_job(job_of(survey, more=GATHERS), survey / "gathered")
    return survey / "gathered"


def stored(run: Path):
    """Return the gathers of a run as in its RSF file, (columns, half offsets, nz), and the header."""
    header, planes = open_rsf(run / "gathers.rsf")
    return planes.read(0, planes.shape[0]), header


def is_image(run: Path, every: int) -> None:
    """Check that the middle trace of every gather is the column of the image."""
    image = volume.read(run / "image.rsf").values
    gathers, _ = stored(run)
    middle = gathers[:, gathers.shape[1] // 2]
    assert image.any()
    assert np.ascontiguousarray(middle).tobytes() == np.ascontiguousarray(image[::every]).tobytes()


@pytest.mark.parametrize(
    "imaging",
    [
        {},
        {"condition": "cross-correlation", "filter": "laplacian", "top_mute": 50.0},
        {"condition": "inverse-scattering"},
        {"illumination": "shot", "filter": "laplacian"},
    ],
    ids=lambda i: ", ".join(map(str, i.values())) or "survey",
)
def test_zero_is_the_image_byte_for_byte(survey, tmp_path, imaging):
    job = job_of(survey, more=GATHERS, imaging=imaging)
    made = migrate_job(job, tmp_path / "run")
    is_image(tmp_path / "run", 7)
    assert (tmp_path / "run" / "gathers.sgy") in [Path(f) for f in made.files]


@pytest.mark.parametrize("step", ["auto", 15.0])
def test_zero_is_the_image_on_a_chosen_grid_and_half_offsets_are_metres(survey, tmp_path, step):
    """Waves on 8 m, the image on 10 m: columns are interpolated as the image is, and steps that are no whole cells."""
    job = job_of(survey, more=GATHERS, propagation={"grid": 8.0})
    job = job.changed("imaging", gathers={"max": 64.0, "step": step, "every": 7})
    migrate_job(job, tmp_path / "run")
    is_image(tmp_path / "run", 7)
    _, header = stored(tmp_path / "run")
    lags = header.axes[1]
    assert (lags.o, lags.d, lags.n) == ((-64.0, 8.0, 17) if step == "auto" else (-60.0, 15.0, 9))
    assert header.axes[2].d == 70.0


def test_the_segy_file_is_sorted_by_place_with_the_half_offset_in_its_word(gathered):
    gathers, _ = stored(gathered)
    assert gathers.shape == (9, 13, 41)
    with segyio.open(gathered / "gathers.sgy", ignore_geometry=True) as file:
        assert np.array_equal(file.trace.raw[:].reshape(gathers.shape), gathers)
        offsets = file.attributes(segyio.TraceField.offset)[:].reshape(9, 13)
        assert (offsets == np.arange(-60, 61, 10)).all()
        assert (
            file.attributes(segyio.TraceField.CROSSLINE_3D)[:].reshape(9, 13) == np.arange(1, 62, 7)[:, None]
        ).all()
        assert file.bin[segyio.BinField.Traces] == 13
        x = (
            file.attributes(segyio.TraceField.CDP_X)[:]
            / -file.attributes(segyio.TraceField.SourceGroupScalar)[0]
        )
        assert np.allclose(np.abs(x).reshape(9, 13), 10.0 * np.arange(0, 61, 7)[:, None])
    with segyio.open(gathered / "image.sgy", ignore_geometry=True) as image:
        assert np.array_equal(image.trace.raw[:][::7], gathers[:, 6])


def test_gathers_do_not_change_the_image(survey, gathered, tmp_path):
    migrate_job(job_of(survey, more=PLAIN), tmp_path / "without")
    with_gathers, without = (
        volume.read(run / "image.rsf").values for run in (gathered, tmp_path / "without")
    )
    assert with_gathers.tobytes() == without.tobytes()


def test_kept_wavefields_give_gathers_and_partial_images_give_them_again(survey, gathered, tmp_path):
    fresh = gathered
    wanted = (fresh / "gathers.sgy").read_bytes()[3600:]
    run = tmp_path / "run"
    migrate_job(job_of(survey, more=PLAIN), run)
    # without wavefields the finished shots lack the sums of gathers
    with pytest.raises(ConfigError, match="sums of the gathers") as caught:
        migrate_job(job_of(survey, more=GATHERS), run)
    assert caught.value.code == "E860"
    keep_wavefields(job_of(survey, more=PLAIN), run)
    new = migrate_job(job_of(survey, more=GATHERS), run)
    assert new.point_steps == 0
    assert (run / "gathers.sgy").read_bytes()[3600:] == wanted
    whole = reimage_run(run, tmp_path / "other", Wish(gathers="max=60, every=7", wavefields=True))
    assert (tmp_path / "other" / "gathers.sgy").read_bytes()[3600:] == wanted
    assert whole.point_steps == 0
    # another condition of the same sums, from the partial images alone
    wish = Wish(condition="cross-correlation", top_mute=50)
    again = reimage_run(fresh, tmp_path / "filtered", wish)
    assert "kept wavefields" not in again.phases
    is_image(tmp_path / "filtered", 7)
    # a Laplacian looks at the columns beside, whose sums are not there
    with pytest.raises(ConfigError, match="sums of the gathers need"):
        reimage_run(fresh, tmp_path / "beside", Wish(filter="laplacian"))


def test_gathers_of_a_new_image_are_keys_and_values():
    assert gathers_of("max = 400 m, every=8,along=x") == {"max": "400 m", "every": 8, "along": "x"}
    assert gathers_of("auto") == {}
    assert gathers_of("none") is None
    with pytest.raises(ConfigError, match="'every' is not KEY=VALUE"):
        gathers_of("max=400, every")


def test_angles_are_made_of_the_sums_of_half_offsets_without_propagation(gathered, tmp_path):
    run = gathered
    wish = Wish(gathers="kind=angle, max=60, every=7, angle=30 deg")
    made = reimage_run(run, tmp_path / "angles", wish)
    assert "kept wavefields" not in made.phases
    angles, header = stored(tmp_path / "angles")
    assert (header.axes[1].label, header.axes[1].o, header.axes[1].n) == ("angle", pytest.approx(-30.0), 61)
    lags, _ = stored(run)
    wanted = angle_gathers(lags, 10.0 * np.arange(-6, 7), 10.0, np.radians(np.arange(-30, 31)))
    assert np.abs(angles - wanted).max() <= 1e-5 * np.abs(wanted).max()
    with segyio.open(tmp_path / "angles" / "gathers.sgy", ignore_geometry=True) as file:
        assert (file.attributes(segyio.TraceField.offset)[:].reshape(9, 61) == np.arange(-30, 31)).all()
        assert "HALF OPENING ANGLE, DEGREES" in segyio.tools.wrap(file.text[0])
    facts = json.loads((tmp_path / "angles" / "run.json").read_text())["gathers"]
    assert facts["kind"] == "angle"
    assert len(facts["angles_deg"]) == 61


def test_some_of_the_stored_half_offsets_and_columns_need_no_wavefields(survey, gathered, tmp_path):
    run, fewer = gathered, {"max": 40.0, "step": 20.0, "every": 14}
    migrate_job(job_of(survey, more=GATHERS, imaging={"gathers": fewer}), tmp_path / "fresh")
    made = reimage_run(run, tmp_path / "fewer", Wish(gathers="max=40, step=20, every=14"))
    assert "kept wavefields" not in made.phases
    wanted = (tmp_path / "fresh" / "gathers.sgy").read_bytes()[3600:]
    assert (tmp_path / "fewer" / "gathers.sgy").read_bytes()[3600:] == wanted
    is_image(tmp_path / "fewer", 14)
    # of the new run those that it has, and no others
    again = reimage_run(tmp_path / "fewer", tmp_path / "again", Wish(gathers="max=20, step=20, every=28"))
    assert "kept wavefields" not in again.phases
    for wish in ("max=80, every=7", "max=60, every=5"):
        with pytest.raises(ConfigError, match="sums of the gathers need") as caught:
            reimage_run(run, tmp_path / "more", Wish(gathers=wish))
        assert caught.value.code == "E861"
        assert (
            "or ask for some of the half offsets that it has summed, to 60 m along x every 10 m"
            in caught.value.fix
        )


def test_damaged_sums_of_gathers_are_made_again(survey, gathered, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(gathered, run)
    wanted = (run / "gathers.sgy").read_bytes()
    damaged = sorted((run / "images").glob("*.lags"))[1]
    raw = bytearray(damaged.read_bytes())
    raw[-100] ^= 4
    damaged.write_bytes(raw)
    (run / "gathers.sgy").unlink()
    again = migrate_job(job_of(survey, more=GATHERS), run)
    assert again.point_steps > 0
    assert (run / "gathers.sgy").read_bytes() == wanted
    with Ledger(run) as ledger:
        assert len(ledger.hashes()) == 3


def test_what_gathers_do_not_go_with_is_refused_by_name(survey, tmp_path):
    with pytest.raises(FindingsError, match=r"imaging\.gathers.*a GPU has no kernels") as caught:
        job_of(survey, more=GATHERS, parallel={"device": "cuda"})
    assert [f.code for f in caught.value.findings] == ["E757"]
    wide = job_of(survey, more=GATHERS, imaging={"gathers": {"max": 400.0}})
    with pytest.raises(FindingsError, match="window of shot") as caught:
        migrate_job(wide, tmp_path / "run")
    assert [f.code for f in caught.value.findings if f.level == "error"] == ["E756"]
    # `check` says so too, and its memory is that of the run with its gathers
    assert [f.code for f in check_job(wide).findings if f.level == "error"] == ["E756"]
    memory = [check_job(job_of(survey, more=m)).facts["memory_bytes"] for m in (PLAIN, GATHERS)]
    assert memory[1] > memory[0]
    assert not (tmp_path / "run" / "images").exists() or not list((tmp_path / "run" / "images").iterdir())
