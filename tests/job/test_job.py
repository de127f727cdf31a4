"""The job file: what it means, what it refuses, and the number that stands for it."""

import hashlib
import json
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

import subsalt
from job_files import GRID, MIGRATE, velocity, write_files, write_job
from subsalt.earth.grid import Grid
from subsalt.errors import ConfigError, FindingsError, MissingInputError, ModelError
from subsalt.io.volumes import volume
from subsalt.job import units
from subsalt.job.schema import schema_text
from subsalt.job.text import explain_key
from subsalt.job.units import Section
from subsalt.methods import METHODS, method_of
from subsalt.methods.rtm.job import Job

BASE = {"model": {"vp": 2000}, "grid": {"spacing": 10, "shape": [101, 51]}, "source": {"f0": 15}}


def job(**tables):
    """Return the small base job with tables replaced or added."""
    return Job.from_dict({**BASE, **tables})


def problems(**tables):
    """Return the findings of a job that is wrong, by key."""
    with pytest.raises(FindingsError) as caught:
        job(**tables)
    assert caught.value.exit_code == 78
    return {f.evidence["key"]: f for f in caught.value.findings}


def test_units_everywhere():
    built = job(
        grid={"spacing": "12.5 m", "extent": ["1 km", "1000 ft"]},
        propagation={"dt": "1 ms"},
        imaging={"aperture": "1.5 km", "top_mute": "100 ft"},
        source={"f0": "0.02 kHz"},
    )
    assert built.propagation.dt == 0.001
    assert built.imaging.aperture == 1500.0
    assert built.imaging.top_mute == 30.48
    assert built.source.f0 == 20.0
    assert built.load_model().grid == Grid((81, 25), (12.5, 12.5))


def test_options_reach_the_program():
    built = job(
        propagation={"order": 4, "layer": 16, "boundary": "damping", "source_taper": 0, "free_surface": True},
        imaging={"condition": "inverse-scattering", "image_step": 3, "illumination": "shot"},
        parallel={"threads": 2, "device": "reference"},
    )
    p, i = built.propagation_options, built.imaging_options
    assert (p.order, p.layer, p.boundary, p.source_taper, p.free_surface) == (4, 16, "damping", None, True)
    assert (p.threads, p.device, p.dt, p.medium) == (2, "reference", None, "auto")
    assert (i.condition, i.image_step, i.illumination, i.aperture) == ("inverse-scattering", 3, "shot", None)


def test_defaults_of_job_and_options_are_the_same():
    # but for the grid, which is the model's where arrays are given
    options = job(propagation={"grid": "model"}).propagation_options
    assert options == subsalt.PropagationOptions()
    assert job().propagation_options == replace(options, trace_error=1e-4)
    assert job().imaging_options == subsalt.ImagingOptions()


def test_all_mistakes_at_once_with_key_and_cure():
    findings = problems(
        model={"vp": "2 km", "epsilno": 0.1},
        source={"f0": -3, "aperture": 5},
        propagation={"order": 7, "medium": "hti"},
        imagin={"mode": "adjoint"},
        imaging={"mode": "adjont"},
    )
    assert "measures a length" in findings["model.vp"].message
    assert findings["model.epsilno"].fix == "did you mean 'epsilon'?"
    assert findings["source.aperture"].fix == "'aperture' belongs in [imaging]"
    assert "above 0" in findings["source.f0"].message
    assert "2, 4, 6" in findings["propagation.order"].fix
    assert "isotropic, vti, tti" in findings["propagation.medium"].fix
    assert findings["imagin"].fix == "did you mean 'imaging'?"
    assert findings["imaging.mode"].fix == "did you mean 'adjoint'?"
    assert len(findings) == 8


def test_line_numbers(tmp_path):
    path = write_job(tmp_path, MIGRATE.replace('f0 = "10 Hz"', 'f0 = "10 m"\nfmaks = 3'))
    with pytest.raises(FindingsError) as caught:
        Job.from_toml(path)
    lines = path.read_text().splitlines()
    by_key = {f.evidence["key"]: f for f in caught.value.findings}
    assert by_key["source.f0"].evidence["line"] == lines.index('f0 = "10 m"') + 1
    assert by_key["source.fmaks"].evidence["line"] == lines.index("fmaks = 3") + 1
    assert "(line " in by_key["source.f0"].message


@pytest.mark.parametrize(
    ("tables", "key"),
    [
        ({"model": {}}, "model.vp"),
        ({"model": {"vp": {"z": [0, 1], "value": [1500]}}}, "model.vp"),
        ({"model": {"vp": {"z": [1, 0], "value": [1500, 1600]}}}, "model.vp"),
        ({"model": {"vp": {"file": "a.rsf", "value": 3}}}, "model.vp"),
        ({"model": {"vp": {"file": "a.rsf", "unit": "furlong"}}}, "model.vp"),
        ({"grid": {"spacing": 10}}, "grid"),
        ({"grid": {"spacing": 10, "shape": [4, 4], "extent": [1, 1]}}, "grid"),
        ({"grid": {"spacing": [10, 10, 10], "shape": [4, 4]}}, "grid"),
        ({"grid": {"spacing": -1, "shape": [4, 4]}}, "grid.spacing"),
        ({"source": {}}, "source"),
        ({"source": {"wavelet": "ormsby", "f1": 5, "f2": 4, "f3": 30, "f4": 40}}, "source"),
        ({"source": {"wavelet": "file"}}, "source"),
        ({"data": {"files": []}}, "data.files"),
        ({"data": {"files": "a.sgy", "shots": "1-x"}}, "data.shots"),
        ({"data": {"files": "a.sgy", "shots": "9-1"}}, "data.shots"),
        ({"data": {"files": "a.sgy", "bytes": {"sourcex": 73}}}, "data.bytes"),
        ({"data": {"files": "a.sgy", "fix": {"scaler": 1}}}, "data.fix.scaler"),
        ({"data": {"files": "a.sgy", "mute": {"delay": 1}}}, "data.mute.velocity"),
        ({"parallel": {"threads": 0}}, "parallel.threads"),
        ({"parallel": {"ranks_per_shot": 0}}, "parallel.ranks_per_shot"),
        ({"parallel": {"io": "both"}}, "parallel.io"),
        ({"parallel": {"watchdog": -3}}, "parallel.watchdog"),
        ({"parallel": {"watchdog": "200 ms"}}, "parallel.watchdog"),
        ({"output": {"formats": ["segy", "tiff"]}}, "output.formats[1]"),
        (
            {
                "acquisition": {
                    "shots": {"first": [0, 0]},
                    "receivers": {"first": [0, 0], "n": 3},
                    "dt": 1,
                    "record_length": 1,
                }
            },
            "acquisition.receivers[0]",
        ),
    ],
)
def test_wrong_values_name_their_key(tables, key):
    findings = problems(**tables)
    assert key in findings, findings
    assert findings[key].fix


def test_a_job_without_a_grid_is_refused():
    with pytest.raises(FindingsError) as caught:
        Job.from_dict({"model": {"vp": 2000}, "source": {"f0": 15}})
    assert "[grid]" in str(caught.value)


@pytest.mark.parametrize("text", ["[data", "x = 'a", "a = 1\na = 2"])
def test_no_toml(tmp_path, text):
    with pytest.raises(ConfigError) as caught:
        Job.from_toml(write_job(tmp_path, text))
    assert caught.value.code == "E106"


def test_missing_binary_and_directory(tmp_path):
    with pytest.raises(MissingInputError):
        Job.from_toml(tmp_path / "no.toml")
    with pytest.raises(MissingInputError):
        Job.from_toml(tmp_path)
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError):
        Job.from_toml(tmp_path / "b.toml")


def test_resolved_toml_reads_back_as_the_same_job(tmp_path):
    built = job(
        data={
            "files": "x.sgy",
            "fix": {"scalar": -100, "dt": "2 ms"},
            "mute": {"velocity": 1500},
            "bytes": {"ffid": 17},
        },
        acquisition={
            "shots": {"first": [1, 2], "last": [3, 2], "n": 4},
            "receivers": ["r.csv"],
            "dt": "4 ms",
            "record_length": 2,
        },
        model={"vp": {"z": [0, 100], "value": [1500, "2 km/s"]}, "epsilon": "12 %"},
    )
    text = built.resolved_toml()
    assert Job.from_dict(tomllib.loads(text)) == built
    # every key is there, with its meaning
    for table in type(built).model_fields:
        assert table == "title" or f"[{table}]" in text
    assert text.count("  # ") > 50


def test_schema_is_fresh_and_accepts_the_short_forms():
    stored = Path(subsalt.__file__).parent / "job" / "job.schema.json"
    assert stored.read_text() == schema_text(), "run `make schema`"
    schema = json.loads(schema_text())
    assert {"data", "model", "source"} <= set(schema["properties"])
    vp = schema["$defs"]["ModelSection"]["properties"]["vp"]["anyOf"]
    assert {"type": "number"} in vp


def test_explain_keys():
    assert (
        "model beside" in explain_key("imaging.aperture")["text"]
        or "width" in explain_key("imaging.aperture")["text"]
    )
    assert explain_key("aperture")["key"] == "imaging.aperture"
    assert "scalar" in explain_key("data.fix")["text"]
    assert explain_key("nothing") is None


def test_run_id_counts_contents_not_names(tmp_path):
    ids = []
    for name, extra in (
        ("a", ""),
        ("b", ""),
        ("c", "\n[parallel]\nthreads = 2"),
        ("d", "\n[imaging]\ntop_mute = 50"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        write_files(folder)
        ids.append(Job.from_toml(write_job(folder, MIGRATE + extra, f"{name}.toml")).run_id())
    renamed = tmp_path / "e"
    renamed.mkdir()
    write_files(renamed)
    (renamed / "shots.sgy").rename(renamed / "other.sgy")
    ids.append(Job.from_toml(write_job(renamed, MIGRATE.replace("shots.sgy", "other.sgy"))).run_id())
    assert ids[0] == ids[1] == ids[2] == ids[4]
    assert ids[3] != ids[0]
    volume.write(tmp_path / "a" / "vp.rsf", GRID, velocity() + 1)
    assert Job.from_toml(tmp_path / "a" / "a.toml").run_id() != ids[0]


def test_numbers_and_texts_make_one_run_id():
    assert job(imaging={"aperture": 1500}).run_id() == job(imaging={"aperture": "1.5 km"}).run_id()
    assert job(title="x").run_id() == job().run_id()


def test_missing_inputs_are_named(tmp_path):
    loaded = Job.from_toml(write_job(tmp_path))
    with pytest.raises(MissingInputError) as caught:
        loaded.input_files()
    assert "shots.sgy" in caught.value.message


def test_with_shots_changes_the_selection_alone(tmp_path):
    write_files(tmp_path)
    loaded = Job.from_toml(write_job(tmp_path))
    one = loaded.with_shots("2")
    assert [s.id for s in one.load_survey()] == [2]
    assert one.path == loaded.path
    assert one.run_id() != loaded.run_id()


def test_wavelets():
    ricker = job(source={"f0": 20}).wavelet(0.001)
    assert (ricker.f0, ricker.fmax) == (20.0, 50.0)
    assert ricker.peak_time == pytest.approx(0.075)
    assert job(source={"f0": 20, "t0": 0}).wavelet(0.001).peak_time == pytest.approx(0.0, abs=1e-12)
    assert job(source={"f0": 20, "fmax": 40}).wavelet(0.001).fmax == 40.0
    ormsby = job(source={"wavelet": "ormsby", "f1": 2, "f2": 5, "f3": 30, "f4": 40}).wavelet(0.001)
    assert ormsby.fmax == pytest.approx(40.0, rel=0.1)


def test_wavelet_from_a_file(tmp_path):
    samples = job(source={"f0": 20}).wavelet(0.001).samples
    np.savetxt(tmp_path / "w.txt", samples)
    loaded = Job.from_dict(
        {**BASE, "source": {"wavelet": "file", "file": "w.txt", "dt": "1 ms", "t0": "10 ms"}}, tmp_path
    )
    made = loaded.wavelet(0.001)
    assert made.peak_time == pytest.approx(0.01)
    np.testing.assert_allclose(made.samples, samples, rtol=1e-12, atol=1e-15)


def test_models_of_different_shape_are_refused_and_resampled_on_request(tmp_path):
    write_files(tmp_path)
    half = Grid((41, 26), (20.0, 20.0))
    volume.write(tmp_path / "epsilon.rsf", half, np.full(half.shape, 0.1, np.float32))
    with pytest.raises(ModelError, match="resample"):
        Job.from_toml(write_job(tmp_path)).load_model()
    model = Job.from_toml(
        write_job(tmp_path, MIGRATE + "\n[grid]\nspacing = 5\nshape = [161, 101]\n")
    ).load_model()
    assert model.grid == Grid((161, 101), (5.0, 5.0))
    # linear in z, so that linear interpolation is exact to rounding
    np.testing.assert_allclose(model.vp[7], 1500 + model.grid.axis(-1), rtol=1e-6)


def test_a_job_of_0_4_0_is_still_the_same_run():
    """Made by version 0.4.0, before there was a second method: a run directory of it is to go on."""
    given = {**BASE, "title": "x", "checkpoint": {"strategy": "boundary"}}
    given["propagation"] = {"stencil": "taylor", "grid": "model"}  # there were no others
    for made in (Job.from_dict(given), Job.from_dict({"method": "rtm", **given})):
        assert made.run_id([]) == "f60ffb73a2d9d1ecb351e706451fc2a0fd50e66ac145bb6a685bb043be5fcd39"
        resolved = tomllib.loads(made.resolved_toml())
        for key in ("device", "decomp", "shots_at_once"):  # where it runs is another matter
            resolved["parallel"].pop(key)
        assert (resolved["propagation"].pop("grid"), resolved["propagation"].pop("accuracy")) == (
            "model",
            0.01,
        )
        assert resolved["propagation"].pop("stencil") == "taylor"  # it had no other
        resolved["propagation"].pop("depth_axis")  # for grid = "auto" alone, which it did not have
        text = hashlib.sha256(json.dumps(resolved, sort_keys=True).encode()).hexdigest()
        assert text == "d35611107ef687ba1806f9544b4f146c0d77409c785cb6e7f0a80c2421bbfb6c"


def tables(kind=Section):
    """Return all tables of job files."""
    return {kind, *(inner for sub in kind.__subclasses__() for inner in tables(sub))}


def test_no_key_takes_a_text_for_true_or_true_for_a_number():
    methods = [method_of(m).job_class() for m in METHODS]
    assert len(methods) == len(METHODS)
    tried = 0
    for table in tables():
        for key, field in table.model_fields.items():
            kinds = units._alternatives(field.annotation)
            wrong = ["yes", "off", 1, 0.0] if bool in kinds else [True, False] if kinds & {int, float} else []
            for value in wrong:
                with pytest.raises(ValidationError) as caught:
                    table.model_validate({key: value})
                assert key in {e["loc"][0] for e in caught.value.errors() if e["loc"]}, (table, key, value)
                tried += 1
    assert tried > 200


def test_a_text_for_true_is_an_error_with_its_cure():
    findings = problems(propagation={"free_surface": "on"}, data={"files": "a.sgy", "frame": {"flip": "yes"}})
    assert (
        findings["propagation.free_surface"].message
        == "propagation.free_surface: 'on' is neither true nor false"
    )
    assert findings["data.frame.flip"].fix == "write true or false, without quotes"
    # a union in which the text stays a text
    assert "true" in problems(propagation={"layer": True})["propagation.layer"].message.lower()
