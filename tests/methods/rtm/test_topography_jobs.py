"""Jobs with a free surface on topography: the image below hills, its bytes, and what is refused."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
import segyio

from subsalt.errors import FindingsError
from subsalt.job.checking import check_job
from subsalt.methods.rtm.engine import ShotImage
from subsalt.methods.rtm.image_sum import ImageSum
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.job_setup import migration_setup, survey_of
from subsalt.methods.rtm.model_job import model_job
from subsalt.run.migrate import migrate_job

H, DATUM, BOTTOM = 10.0, 300.0, 400.0
SURFACE = {"radius": 60.0, "elevations": "surface.csv", "datum": DATUM}


def hill(x):
    """Return elevations along x, m: hills of 40 m, slopes up to 0.2."""
    return 180.0 + 20.0 * np.sin(x / 100.0)


def line(name, elevation):
    """Return a table of elevations of a line."""
    x = np.arange(-300.0, 1101.0, 10.0)
    return name, "x,y,elevation\n" + "".join(
        f"{a:g},0,{e:.4f}\n" for a, e in zip(x, elevation(x), strict=True)
    )


def tables(topography=None, **more):
    """Return what modelling and migration share."""
    return {
        "grid": {"spacing": H, "shape": [81, 61]},
        "source": {"f0": 18.0},
        "propagation": {"topography": topography or SURFACE, "grid": "model"},
        "parallel": {"threads": 1},
    } | more


def migration(folder, topography=None, **more):
    """Return the job that migrates the shots of a folder in the velocity above the reflector."""
    raw = {"data": {"files": ["shots/*.sgy"]}, "model": {"vp": 2000}, "imaging": {"top_mute": 120.0}}
    return Job.from_dict(raw | tables(topography) | {"output": {"pictures": False}} | more, folder)


def modelling(folder, topography=None, vp=(2000, 2000, 2600, 2600)):
    """Return the job that models three shots over a reflector at z = 400 m; positions are dropped on the surface."""
    acquisition = {
        "shots": {"first": [200, 0], "last": [600, 0], "n": 3},
        "receivers": {"first": [0, 0], "last": [800, 0], "n": 81},
        "record_length": 0.6,
        "dt": 0.002,
    }
    model = {"vp": {"z": [0, BOTTOM, BOTTOM + 1, 600], "value": list(vp)}}
    return Job.from_dict({"model": model, "acquisition": acquisition} | tables(topography), folder)


@pytest.fixture(scope="module")
def land(tmp_path_factory):
    """Return a folder with shots over hills in `shots`, and in `level` the same over level ground."""
    folder = tmp_path_factory.mktemp("land")
    for name, text in (line("surface.csv", hill), line("level.csv", lambda x: 180.0 + 0 * x)):
        (folder / name).write_text(text)
    model_job(modelling(folder), folder / "shots")
    (folder / "level").mkdir()
    (folder / "level" / "surface.csv").write_text((folder / "level.csv").read_text())
    model_job(modelling(folder / "level"), folder / "level" / "shots")
    return folder


def image_of(run):
    """Return the image, (nx, nz)."""
    with segyio.open(run / "image.sgy", strict=False, ignore_geometry=True) as f:
        return segyio.tools.collect(f.trace[:])


def digest(run):
    """Return the hash of the image."""
    return hashlib.sha256((run / "image.sgy").read_bytes()).hexdigest()


def depths(image):
    """Return the depth of the largest value below 300 m at the middle of the line, by a parabola through three."""
    part = image[25:56, 30:]
    k = part.argmax(axis=1)
    assert ((k > 0) & (k < part.shape[1] - 1)).all()
    a, b, c = (part[np.arange(len(k)), k + d].astype(float) for d in (-1, 0, 1))
    return H * (30 + k + 0.5 * (a - c) / (a - 2 * b + c))


@pytest.fixture(scope="module")
def migrated(land):
    migrate_job(migration(land), land / "run")
    return land / "run"


@pytest.fixture(scope="module")
def of_one_shot(land):
    migrate_job(migration(land).with_shots("2"), land / "one")
    return land / "one"


def test_a_reflector_below_hills_is_where_it_is_below_level_ground(land, migrated):
    """The reflector lies between two nodes. Surfaces err by less than 2 % of a wave of 10 nodes, a phase of 0.02.

    That is 0.3 m at the 100 m of this wavelet; the images also differ by the angles at which the shots see them.
    """
    migrate_job(migration(land / "level"), land / "level" / "run")
    hilly, level = depths(image_of(migrated)), depths(image_of(land / "level" / "run"))
    assert np.abs(np.median(level) - (BOTTOM + 0.5 * H)) < 0.5 * H
    assert np.abs(np.median(hilly) - np.median(level)) < 0.25 * H
    assert np.abs(hilly - level).max() < H


def test_the_image_is_zero_above_the_surface_and_says_where_it_is(migrated):
    image, x = image_of(migrated), H * np.arange(81)
    z = H * np.arange(61)
    above = z[None] < (DATUM - hill(x))[:, None] - 2.0
    assert not image[above].any()
    assert np.abs(image[:, 30:]).max() > 0
    stored = json.loads((migrated / "run.json").read_text())["topography"]
    np.testing.assert_allclose(stored["depths"], [100.0, 140.0], atol=1.0)
    assert stored["receivers"]["count"] == 3 * 81
    head = (migrated / "image.sgy").read_bytes()[:3200].decode("cp037")
    assert "Z = 0 AT ELEVATION 300 M" in head.upper()


def test_headers_hold_elevations_from_sea_level(land):
    with segyio.open(sorted((land / "shots").glob("*.sgy"))[0], ignore_geometry=True) as f:
        h = f.header[40]
        scalar = h[segyio.TraceField.ElevationScalar]
        up = h[segyio.TraceField.ReceiverGroupElevation] * (-1 / scalar if scalar < 0 else scalar)
    assert up == pytest.approx(hill(400.0) - 10.0, abs=0.6)


@pytest.mark.parametrize(
    "checkpoint", [{"strategy": "revolve", "slots": 2, "block": 5}, {"strategy": "store", "place": "disk"}]
)
def test_the_same_bytes_by_any_strategy(land, of_one_shot, tmp_path, checkpoint):
    migrate_job(migration(land, checkpoint=checkpoint, parallel={"threads": 2}).with_shots("2"), tmp_path)
    assert digest(tmp_path) == digest(of_one_shot)


def test_the_same_image_by_parts(land):
    job = migration(land)
    survey = survey_of(job, job.open_propagation_model())
    setup = migration_setup(job, job.open_propagation_model(), survey)
    rng = np.random.default_rng(0)
    sums = {n: rng.random((81, 1, 61)).astype(np.float32) for n in ("correlation", "illumination")}
    part = ShotImage(survey.shots[0].id, setup.image_grid.box, sums, 0, 0.0)
    whole, parts = ImageSum(setup), [ImageSum(setup, p) for p in ((0, 30), (30, 81))]
    light = 0.0
    for total in (whole, *parts):
        total.add(part)
    for total in parts:
        light = total.light(light)
    np.testing.assert_array_equal(whole.finish(), np.concatenate([total.finish(light) for total in parts]))


def test_a_chosen_grid_and_elevations_of_the_headers(land):
    """Stations lie 10 m below the ground: a surface through them, and all are brought below it again."""
    job = migration(
        land, {"radius": 60.0, "datum": DATUM}, propagation={"topography": {"radius": 60.0, "datum": DATUM}}
    )
    result = check_job(job)
    assert not [f for f in result.findings if f.level == "error"]
    facts = next(f for f in result.findings if f.message.startswith("topography"))
    np.testing.assert_allclose(facts.evidence["depths"], [110.0, 150.0], atol=2.0)


def findings_by_code(job):
    """Return the findings of a check by code."""
    return {f.code: f for f in check_job(job).findings}


def refused(folder, **more):
    """Return the findings of a job that cannot be."""
    with pytest.raises(FindingsError) as error:
        migration(folder, **more)
    return {f.code: f for f in error.value.findings}


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"checkpoint": {"strategy": "boundary"}}, "boundary"),
        ({"parallel": {"device": "cuda"}}, "cuda"),
        ({"parallel": {"ranks_per_shot": 2}}, "2 ranks per shot"),
        ({"signal": [{"step": "shift", "datum": 200.0, "velocity": 2000.0}]}, "datum"),
        ({"propagation": {"topography": SURFACE, "model_storage": "u16"}}, "u16"),
        ({"propagation": {"topography": SURFACE, "medium": "vti"}}, "vti"),
        ({"propagation": {"topography": SURFACE, "free_surface": True}}, "free_surface"),
    ],
)
def test_what_does_not_go_with_topography_is_named(land, more, named):
    assert named in refused(land, **more)["E754"].message


def test_elevations_that_are_not_there(land):
    assert "no elevations" in findings_by_code(modelling(land, {"radius": 60.0}))["E750"].message
    (land / "few.csv").write_text("x,y,elevation\n0,0,180\n100,0,185\n")
    said = findings_by_code(migration(land, SURFACE | {"elevations": "few.csv"}))["E751"].message
    assert "farther than 60 m" in said
    assert "shot 1" in said
    (land / "wrong.csv").write_text("x,y,height\n0,0,180\n")
    assert (
        "elevation"
        in findings_by_code(migration(land, SURFACE | {"elevations": "wrong.csv"}))["E107"].message
    )


def test_stations_off_the_surface(land):
    _, text = line("feet.csv", lambda x: hill(x) / 0.3048)
    (land / "feet.csv").write_text(text)
    said = findings_by_code(migration(land, SURFACE | {"elevations": "feet.csv", "datum": 900.0}))[
        "E755"
    ].message
    assert "below the topography" in said
    _, text = line("lower.csv", lambda x: hill(x) - 40.0)
    (land / "lower.csv").write_text(text)
    moved = findings_by_code(migration(land, SURFACE | {"elevations": "lower.csv"}))["W755"]
    assert moved.evidence["moved"] == moved.evidence["count"]


def test_the_wavelet_from_direct_waves_is_refused(land):
    from subsalt.methods.rtm.wavelet_direct import from_direct_waves
    from subsalt.methods.rtm.wavelet_job import WaveletOptions

    with pytest.raises(Exception, match="not modelled"):
        from_direct_waves(migration(land), WaveletOptions())
