"""`subsalt init` writes a job that says what the files say, and that passes its own check."""

import tomllib

import numpy as np
import pytest

from job_files import GRID, shared_data, survey, velocity, write_files
from subsalt.errors import CannotCreateError, ConfigError, MissingInputError
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume
from subsalt.job.checking import check_job
from subsalt.job.starter import common_pattern, round_down
from subsalt.job.text import explain_key
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.starter import depth_of, dominant_frequency, write_job


def effective_lines(text):
    """Return the lines that are neither empty nor comments."""
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def test_everything_found_is_filled_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    made = write_job(tmp_path / "line.toml", ["shots.sgy"], vp="vp.rsf", epsilon="epsilon.rsf", delta="0.05")
    raw = tomllib.loads(made.text)
    assert raw["data"]["files"] == ["shots.sgy"]
    assert raw["model"] == {"vp": "vp.rsf", "epsilon": "epsilon.rsf", "delta": 0.05}
    # the data are Ricker pulses of 10 Hz; the bins of 0.6 s are 1.7 Hz wide
    assert raw["source"]["f0"] == pytest.approx(10, abs=2)
    assert "grid" not in raw
    assert "3 shots, 45 traces, 151 samples of 4 ms" in made.text
    assert len(effective_lines(made.text)) <= 15
    result = check_job(Job.from_toml(tmp_path / "line.toml"))
    assert not result.has_errors


def test_without_a_velocity_one_is_guessed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    made = write_job(tmp_path / "line.toml", ["shots.sgy"], f0="8 Hz")
    raw = tomllib.loads(made.text)
    assert raw["source"]["f0"] == 8.0
    assert raw["model"]["vp"]["value"][0] == 1500.0
    assert "a guess" in made.text
    assert raw["grid"]["depth"] == raw["model"]["vp"]["z"][1]
    result = check_job(Job.from_toml(tmp_path / "line.toml"))
    assert [f.code for f in result.findings if f.is_fault] == []


def test_files_of_another_folder_are_named_from_the_job(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "jobs").mkdir()
    write_files(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    made = write_job(tmp_path / "jobs" / "a.toml", ["data/*.sgy"], vp="data/vp.rsf")
    raw = tomllib.loads(made.text)
    assert raw["data"]["files"] == ["../data/*.sgy"]
    assert raw["model"]["vp"] == "../data/vp.rsf"
    assert len(Job.from_toml(tmp_path / "jobs" / "a.toml").load_survey()) == 3


def test_a_velocity_in_km_is_declared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    volume.write(tmp_path / "slow.npz", GRID, velocity() / 1000, name="vp")
    made = write_job(tmp_path / "line.toml", ["shots.sgy"], vp="slow.npz")
    assert tomllib.loads(made.text)["model"]["vp"] == {"file": "slow.npz", "unit": "km/s"}


def test_many_files_of_one_folder_become_a_pattern(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_survey(tmp_path / "shots", survey(6))
    names = sorted(f"shots/{p.name}" for p in (tmp_path / "shots").iterdir())
    assert common_pattern(names) == "shots/*.sgy"
    assert common_pattern(names[1:]) == ""
    made = write_job(tmp_path / "a.toml", names, vp="2000")
    assert tomllib.loads(made.text)["data"]["files"] == ["shots/*.sgy"]


def test_an_existing_job_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    (tmp_path / "a.toml").write_text("mine")
    with pytest.raises(CannotCreateError):
        write_job(tmp_path / "a.toml", ["shots.sgy"])
    assert (tmp_path / "a.toml").read_text() == "mine"
    write_job(tmp_path / "a.toml", ["shots.sgy"], force=True)
    assert Job.from_toml(tmp_path / "a.toml")


def test_wrong_arguments(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    with pytest.raises(MissingInputError):
        write_job(tmp_path / "a.toml", ["no/*.sgy"])
    with pytest.raises(ConfigError):
        write_job(tmp_path / "a.toml", ["shots.sgy"], f0="8 m")
    assert not (tmp_path / "a.toml").exists()


@pytest.mark.parametrize(
    ("value", "expected"), [(6.1, 5.0), (6.25, 6.25), (12.9, 12.5), (0.99, 0.8), (99.0, 80.0)]
)
def test_round_spacings(value, expected):
    assert round_down(value) == expected


def test_depth_of_the_record():
    # v = 1500 + 0.6 z: two-way time to depth z is 2 ln(1 + 0.6 z / 1500) / 0.6
    z = depth_of(2.4, 1500.0)
    assert 2 * np.log(1 + 0.6 * z / 1500) / 0.6 <= 2.4 < 2 * np.log(1 + 0.6 * (z + 100) / 1500) / 0.6


def test_dominant_frequency_ignores_drift():
    t = np.arange(1000) * 0.004
    trace = np.sin(2 * np.pi * 22 * t) + 5 * np.sin(2 * np.pi * 0.5 * t)
    assert dominant_frequency(np.tile(trace, (3, 1)).astype(np.float32), 0.004) == pytest.approx(22, abs=2)
    assert dominant_frequency(np.zeros((2, 100), np.float32), 0.004) == 0.0


@pytest.mark.shared_data
def test_viking_needs_at_most_sixteen_lines(tmp_path):
    made = write_job(tmp_path / "viking.toml", [str(shared_data() / "segy" / "viking_small.segy")])
    # two of them are the free surface, which the ghosts of the direct waves show
    assert "free_surface = true" in made.text
    assert len(effective_lines(made.text)) <= 16
    assert not check_job(Job.from_toml(tmp_path / "viking.toml")).has_errors


def test_what_is_recommended_is_written(tmp_path, monkeypatch):
    """Receivers whose depths stand where elevations are to be: with z_sign the job has nothing to correct."""
    monkeypatch.chdir(tmp_path)
    line = survey()
    for shot in line.shots:
        shot.rcv[:, 2] *= -1
    write_files(tmp_path, line)
    made = write_job(tmp_path / "line.toml", ["shots.sgy"], vp="vp.rsf")
    assert tomllib.loads(made.text)["data"]["fix"] == {"z_sign": -1}
    assert "z_sign" in made.read
    assert [f.code for f in made.findings] == []
    result = check_job(Job.from_toml(tmp_path / "line.toml"))
    assert [f.code for f in result.findings if f.is_fault] == []


def test_what_was_read_and_what_was_made_up(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    made = write_job(tmp_path / "a.toml", ["shots.sgy"])
    assert any(text.startswith("f0 ") for text in made.read)
    assert "vp" in made.made_up
    assert any("margin" in text for text in made.made_up)
    # traces of zeros tell no frequency
    line = survey()
    for shot in line.shots:
        shot.data = np.zeros_like(shot.data)
    write_survey(tmp_path / "zeros.sgy", line)
    made = write_job(tmp_path / "b.toml", ["zeros.sgy"], vp="vp.rsf")
    assert "f0 15 Hz" in made.made_up
    assert "made up: the data do not show it" in made.text


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("data.preset", '"rev1", "su", "marine2d", "obn"'),
        ("acquisition.files", '"one", "per-shot"'),
        ("output.formats", '"segy", "rsf"'),
    ],
)
def test_explain_lists_the_values_of_a_key(key, values):
    text = explain_key(key)["text"]
    assert f"values: {values}" in text


def test_explain_lists_no_values_of_a_number():
    assert "values:" not in explain_key("source.f0")["text"]


def test_explain_finds_keys_of_tables_within_tables_and_each_of_their_meanings():
    text = explain_key("counted_from")["text"]
    assert '"map x"' in text
    assert "model.phi.counted_from" in text
    text = explain_key("flip")["text"]
    assert "data.frame.flip" in text
    assert "model.vp.flip: axes" in text
