"""`subsalt reimage` and its neighbours as a user types them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "run"))

from survey_case import job_of, make_survey

from subsalt.io.volumes import volume
from subsalt.run.migrate import migrate_job


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Path:
    folder = make_survey(tmp_path_factory.mktemp("survey"))
    migrate_job(job_of(folder, more='[checkpoint]\nkeep = "both"\n'), folder / "line.run")
    return folder


def test_a_new_image_goes_beside_its_run_and_goes_on_there(survey, subsalt_command):
    words = ["reimage", survey / "line.run", "--condition", "inverse-scattering", "--top-mute", "0.03 km"]
    code, out, err = subsalt_command(*words, "--json")
    assert code == 0, err
    result = json.loads(out)
    assert Path(result["run"]).parent == survey
    assert Path(result["run"]).name.startswith("line.reimage-")
    assert "3 shots, nothing is propagated: 3 from partial images" in err
    code, out, err = subsalt_command(*words)
    assert code == 0
    assert "3 are done already" in out
    # from its directory alone, like any other run
    code, out, err = subsalt_command("resume", result["run"], "--json")
    assert code == 0, err
    assert json.loads(out)["sha256"] == result["sha256"]
    code, out, err = subsalt_command("watch", result["run"], "--once")
    assert "3 of 3 done" in out


def test_options_are_understood(survey, subsalt_command, tmp_path):
    words = [
        "--region=-50:200,:150",
        "--time-range",
        ":0.3",
        "--image-step",
        "8",
        "--shots",
        "1-2",
        "--from-wavefields",
    ]
    code, out, err = subsalt_command("reimage", survey / "line.run", "--run", tmp_path / "new", *words)
    assert code == 0, err
    assert "2 shots, nothing is propagated: 2 from kept wavefields" in out
    assert volume.read(tmp_path / "new" / "image.rsf").grid.shape == (21, 16)
    wish = json.loads((tmp_path / "new" / "run.json").read_text())["reimage"]["wish"]
    assert wish == {
        "image_step": 8,
        "times": [None, 0.3],
        "region": "-50:200,:150",
        "shots": "1-2",
        "wavefields": True,
    }
    code, out, err = subsalt_command("resume", tmp_path / "new")
    assert (code, "2 are done already" in out) == (0, True), err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--condition", "foo"], 78, "is not one of source-normalised"),
        (["--filter", "lap"], 78, "is not one of none, laplacian"),
        (["--top-mute", "deep"], 78, "is not a length"),
        (["--region", "0:100"], 78, "E862"),
        (["--time-range", "1"], 78, "E864"),
        (["--time-range", "1:inf"], 78, "E864"),
        (["--image-step", "3"], 78, "multiple of 4"),
        (["--image-step", "0"], 2, "image-step"),
    ],
    ids=lambda w: " ".join(w) if isinstance(w, list) else None,
)
def test_wrong_options_are_explained(survey, subsalt_command, tmp_path, words, code, said):
    printed, _, err = subsalt_command("reimage", survey / "line.run", "--run", tmp_path / "new", *words)
    assert printed == code
    assert said in err
    assert "Traceback" not in err
    assert not (tmp_path / "new").exists()


def test_a_directory_is_of_one_maker(survey, subsalt_command, tmp_path):
    assert subsalt_command("reimage", survey / "line.run", "--run", tmp_path / "new")[0] == 0
    code, _, err = subsalt_command("migrate", survey / "line.toml", "--run", tmp_path / "new")
    assert code == 78
    assert "has made" in err
    assert "subsalt reimage" in err
    plain = tmp_path / "plain"
    assert subsalt_command("migrate", survey / "line.toml", "--run", plain)[0] == 0
    code, _, err = subsalt_command("reimage", survey / "line.run", "--run", plain)
    assert code == 78
    assert "another directory with -o" in err


def test_holes_are_told(survey, subsalt_command, tmp_path):
    """One shot has neither its partial image nor its wavefields."""
    run = tmp_path / "run"
    job = job_of(survey, "one", '[checkpoint]\nkeep = "both"\n')

    def stop(done, total, message=""):
        if done > 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migrate_job(job, run, stop)
    code, _, err = subsalt_command("reimage", run, "--run", tmp_path / "new")
    assert code == 65
    assert "E822" in err
    assert "2 shots are missing in the image: 2, 3" in err


def test_migrate_says_what_it_uses_again_and_what_it_sets_aside(survey, subsalt_command, tmp_path):
    run, path = tmp_path / "run", survey / "iterated.toml"
    job_of(survey, "iterated", '[imaging]\ncondition = "cross-correlation"\n[checkpoint]\nkeep = "source"\n')
    assert subsalt_command("migrate", path, "--run", run)[0] == 0
    path.write_text(path.read_text().replace("cross-correlation", "source-normalised"))
    code, out, _ = subsalt_command("migrate", path, "--run", run)
    assert (code, "using again the kept wavefields of 3 shots: no propagation" in out) == (0, True)
    path.write_text(path.read_text().replace("vp = 2000", "vp = 1900"))
    code, _, err = subsalt_command("migrate", path, "--run", run)
    assert code == 78
    assert "both wavefields of every shot" in err
    code, out, _ = subsalt_command("migrate", path, "--run", run, "--recompute")
    assert (code, "the old result is now in" in out) == (0, True)
