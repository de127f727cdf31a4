"""What a run directory is tied to, what a change of it makes necessary, and the job found again from it."""

from __future__ import annotations

import json
import sqlite3

import pytest

from subsalt.errors import ConfigError, CorruptionError, MissingInputError
from subsalt.methods.rtm.job import Job
from subsalt.run.identity import begin_run, needed_again, wavefield_id
from subsalt.run.job_of_run import job_of_run
from subsalt.run.ledger import Ledger

FILES = [
    {"key": "data.files", "path": "a.sgy", "sha256": "1"},
    {"key": "model.vp.file", "path": "vp", "sha256": "2"},
]
NUMERICS = {"class": "fma"}


def job(**changes):
    raw = {
        "data": {"files": ["a.sgy"]},
        "model": {"vp": 2000},
        "grid": {"spacing": 10, "shape": [61, 41]},
        "source": {"f0": 15},
    }
    return Job.from_dict({**raw, **changes})


@pytest.mark.parametrize(
    ("change", "again"),
    [
        ({"model": {"vp": 2100}}, "both wavefields"),
        ({"source": {"f0": 12}}, "both wavefields"),
        ({"imaging": {"aperture": 500}}, "both wavefields"),
        ({"imaging": {"mode": "adjoint"}}, "the receiver wavefield"),
        ({"data": {"files": ["a.sgy"], "shots": "1-2"}}, "the receiver wavefield"),
        ({"imaging": {"image_step": 7}}, "the imaging at other samples"),
        (
            {"imaging": {"image_step": 7, "mode": "adjoint"}},
            "the receiver wavefield and the imaging at other samples",
        ),
    ],
)
def test_a_change_is_refused_with_what_it_takes(tmp_path, change, again):
    with Ledger(tmp_path) as ledger:
        begin_run(ledger, job(), "id", FILES, NUMERICS)
        with pytest.raises(ConfigError, match=f"takes {again} of every shot again") as caught:
            begin_run(ledger, job(**change), "other", FILES, NUMERICS)
        assert caught.value.code == "E810"
        assert "stays as it is" in caught.value.message
        # nothing of it has changed
        assert ledger.get("run_id") == "id"
        begin_run(ledger, job(), "id", FILES, NUMERICS)


@pytest.mark.parametrize(("key", "again"), [(0, "the receiver wavefield"), (1, "both wavefields")])
def test_changed_inputs_are_refused_with_what_they_take(tmp_path, key, again):
    other = [dict(f) for f in FILES]
    other[key]["sha256"] = "3"
    with Ledger(tmp_path) as ledger:
        begin_run(ledger, job(), "id", FILES, NUMERICS)
        with pytest.raises(ConfigError, match=f"has changed: sha256.*takes {again} of"):
            begin_run(ledger, job(), "other", other, NUMERICS)


def test_another_condition_goes_on_where_what_is_kept_serves(tmp_path):
    other = job(imaging={"condition": "inverse-scattering", "filter": "laplacian"})
    with Ledger(tmp_path) as ledger:
        begin_run(ledger, job(), "id", FILES, NUMERICS)
        with pytest.raises(
            ConfigError, match="source-normalised -> inverse-scattering: 3 shots lack"
        ) as caught:
            begin_run(ledger, other, "other", FILES, NUMERICS, unserved=lambda: "3 shots lack sums")
        assert caught.value.code == "E860"
        begin_run(ledger, other, "other", FILES, NUMERICS)
        assert ledger.get("run_id") == "other"


def test_a_ledger_of_an_older_version_is_understood(tmp_path):
    """0.3 kept condition and illumination in the key."""
    with Ledger(tmp_path) as ledger:
        begin_run(ledger, job(), "id", FILES, NUMERICS)
    db = sqlite3.connect(tmp_path / "ledger.sqlite")
    old = {"job": job().of_the_image(), "numerics": "fma"}
    for k in ("filter", "top_mute", "normalise"):
        del old["job"]["imaging"][k]
    db.execute("UPDATE meta SET value = ? WHERE key = 'key'", (json.dumps(old),))
    db.execute("DELETE FROM meta WHERE key IN ('imaging', 'base', 'name')")
    db.commit()
    db.close()
    with Ledger(tmp_path) as ledger:
        begin_run(ledger, job(imaging={"filter": "laplacian"}), "id", FILES, NUMERICS)
        with pytest.raises(ConfigError, match="no sums"):
            begin_run(
                ledger,
                job(imaging={"condition": "cross-correlation"}),
                "id",
                FILES,
                NUMERICS,
                unserved=lambda: "no sums",
            )


def test_wavefields_do_not_depend_on_what_images_them():
    first = wavefield_id(job(), FILES, NUMERICS)
    assert first == wavefield_id(
        job(imaging={"condition": "cross-correlation", "top_mute": 50}), FILES, NUMERICS
    )
    assert first == wavefield_id(job(), [f | {"path": "elsewhere"} for f in FILES], NUMERICS)
    assert first != wavefield_id(job(model={"vp": 2100}), FILES, NUMERICS)
    assert first != wavefield_id(job(), FILES, {"class": "mul-add"})
    assert first != wavefield_id(job(), FILES[:1], NUMERICS)


def test_needed_again_names_the_most_first():
    assert needed_again([]) == []
    assert needed_again(["numerics"]) == ["both wavefields"]
    assert needed_again(["job.imaging.mode", "job.model.vp.value"]) == ["both wavefields"]


def test_the_job_of_a_run_counts_from_its_folder(tmp_path):
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "line.toml").write_text(job().resolved_toml())
    run = tmp_path / "elsewhere" / "run"
    run.mkdir(parents=True)
    given = Job.from_toml(tmp_path / "jobs" / "line.toml")
    (run / "job.resolved.toml").write_text(given.resolved_toml())
    with Ledger(run) as ledger:
        begin_run(ledger, given, "id", FILES, NUMERICS)
    job_read = job_of_run(run)
    assert job_read.resolved() == given.resolved()
    assert job_read.name == "line"
    assert job_read.resolve("a.sgy") == tmp_path / "jobs" / "a.sgy"
    assert job_read.changed("imaging", filter="laplacian").resolve("a.sgy") == tmp_path / "jobs" / "a.sgy"
    # a run that was moved together with its job
    (tmp_path / "jobs").rename(tmp_path / "moved")
    assert job_of_run(run).resolve("a.sgy") == tmp_path / "elsewhere" / "a.sgy"


def test_what_is_no_run_is_said(tmp_path):
    for path, said in ((tmp_path / "none", "does not exist"), (tmp_path, "holds no run")):
        with pytest.raises(MissingInputError, match=said):
            job_of_run(path)
    (tmp_path / "file").write_text("")
    with pytest.raises(MissingInputError, match="is no run directory"):
        job_of_run(tmp_path / "file")
    for text, said in (("[model", "cannot be read"), ("[models]\nvp = 1\n", "no job of this version")):
        (tmp_path / "job.resolved.toml").write_text(text)
        with pytest.raises(CorruptionError, match=said):
            job_of_run(tmp_path)
