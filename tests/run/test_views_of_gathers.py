"""Gathers that a run has written: read back, drawn beside the stack, and their flatness in run.json and the report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from survey_case import job_of, make_survey

from subsalt.errors import ConfigError, CorruptionError
from subsalt.io.volumes.rsf import open_rsf
from subsalt.methods.rtm.reimage import Wish, reimage_run
from subsalt.methods.rtm.stored_gathers import read_gathers
from subsalt.run.migrate import migrate_job

ANGLES = """
[imaging]
aperture = 200
gathers = { kind = "angle", max = 100, every = 6, angle = "40 deg", angle_step = "2 deg" }
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory, undrawn) -> Path:
    """A run with angle gathers and pictures."""
    folder = make_survey(tmp_path_factory.mktemp("survey"))
    job = job_of(folder, more=ANGLES, output={"pictures": True})
    with undrawn():
        migrate_job(job, folder / "line.run")
    return folder / "line.run"


def test_gathers_are_read_as_they_were_written(run: Path) -> None:
    (stored,) = read_gathers(run)
    _, planes = open_rsf(run / "gathers.rsf")
    assert np.array_equal(stored.values[:, 0], planes.read(0, planes.shape[0]))
    assert stored.of_angles
    assert stored.x.tolist() == [60.0 * k for k in range(11)]
    assert stored.traces == pytest.approx(tuple(range(-40, 41, 2)))
    assert stored.nearest(130.0) == (2, 0)


def test_the_run_draws_gathers_and_says_their_flatness(run: Path) -> None:
    for name in ("image_gathers.png", "image_flatness.png"):
        assert Image.open(run / "pictures" / name).format == "PNG"
    said = json.loads((run / "run.json").read_text())["flatness"]
    (stored,) = read_gathers(run)
    _, image = open_rsf(run / "image.rsf")
    flat = stored.flatness(image.read(0, image.shape[0]))
    assert said["x_m"] == stored.x.tolist()
    assert said["semblance"] == pytest.approx([None if np.isnan(v) else v for v in flat.overall])
    # shots lie from 100 to 480 m: in the middle the right velocity makes the reflector flatter than noise, 1 / angles
    assert flat.overall[5] > 3 / len(stored.traces)
    report = (run / "report.html").read_text()
    assert "flatness of angle gathers" in report
    assert "image_gathers" in report or "gathers by angle" in report


def test_view_draws_gathers_at_places(run: Path, subsalt_command, tmp_path, undrawn) -> None:
    with undrawn():
        code, out, err = subsalt_command(
            "view", run, "--gathers", "--at", "240", "--at", "300", "-o", tmp_path, "--json"
        )
    assert code == 0, err
    made = [Path(p) for p in json.loads(out.splitlines()[-1])["pictures"]]
    assert [p.name for p in made] == ["line_gathers.png", "line_flatness.png"]
    code, _, err = subsalt_command("view", run, "--gathers", "--at", "2400")
    assert (code != 0, "E833" in err, "600" in err) == (True, True, True)
    code, _, err = subsalt_command("view", run / "image.sgy", "--gathers")
    assert (code != 0, "E836" in err) == (True, True)
    code, _, err = subsalt_command("view", run, "--gathers", "--at", "1,2,3")
    assert (code != 0, "E833" in err) == (True, True)


def test_a_run_without_gathers_says_how_to_have_them(run: Path, subsalt_command, tmp_path) -> None:
    plain = tmp_path / "plain.run"
    reimage_run(run, plain, Wish(gathers="none"))
    assert read_gathers(plain) == []
    code, _, err = subsalt_command("view", plain, "--gathers")
    assert code == ConfigError.exit_code
    assert "subsalt reimage" in err


def test_a_file_that_was_cut_is_refused(run: Path, tmp_path) -> None:
    for name in ("run.json", "gathers.sgy"):
        (tmp_path / name).write_bytes((run / name).read_bytes())
    (tmp_path / "gathers.sgy").write_bytes((run / "gathers.sgy").read_bytes()[:-400])
    with pytest.raises(CorruptionError, match=r"gathers\.sgy"):
        read_gathers(tmp_path)
