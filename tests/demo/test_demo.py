"""The demo from end to end, and what it says of an image that is wrong."""

import hashlib
import json

import pytest
from typer.testing import CliRunner

from subsalt import demo
from subsalt.cli.app_root import app
from subsalt.demo import GRID, ImagedReflector, compare_hash, judge
from subsalt.earth.grid import Grid
from subsalt.errors import DemoFailure
from subsalt.io.volumes import volume
from subsalt.kernels import cpu
from thorough import thorough

#: what the demo leaves in its folder
FILES = ("job.toml", "shots", "run/image.sgy", "run/report.html", "run/pictures/image.png")
#: image of the small form, made with the pinned packages, by numerics class
SMALL = {"fma": "7f8e9a400fc88f3c1878288f6950d09ecd7858339500032cbd68f05c83c38d85"}


def run(folder):
    """Return what the command says of the quick demo in a folder."""
    done = CliRunner().invoke(app, ["demo", "--quick", "--out", str(folder), "--json"])
    assert done.exit_code == 0, done.output
    for name in FILES:
        assert (folder / name).exists(), name
    return json.loads(done.stdout)


# the same way with longer waves, below; `make wheel-proof` runs it whole, too
@thorough
@pytest.mark.slow
def test_the_demo_runs_to_its_recorded_image(tmp_path):
    result = run(tmp_path / "demo")
    assert [f["name"] for f in result["reflectors"]] == [r.name for r in demo.REFLECTORS]
    # the packages of the tests are the pinned ones, so that the bytes must be the recorded ones
    recorded = demo.RECORDED[cpu.describe()["class"], 4]
    assert result["samples_sha256"] == recorded
    assert result["findings"][0]["level"] == "ok"


@pytest.fixture
def small(monkeypatch):
    """Let one shot be in the middle, its waves twice as long, nodes twice as far apart: a sixtieth of the work.

    The lower layer is read beside the salt, where that shot lights nothing.
    """

    def put(name, old, new):
        text = getattr(demo, name)
        assert text.count(old) == 1
        monkeypatch.setattr(demo, name, text.replace(old, new))

    monkeypatch.setattr(demo, "GRID", Grid((51, 36, 43), (30.0, 30.0, 30.0)))
    put("MODEL_JOB", "f0 = {f0}", "f0 = 5")
    put("MIGRATE_JOB", "f0 = {f0}", "f0 = 5")
    put("MODEL_JOB", "first = [300, {y0}, 15], last = [1200, {y1}, 15]", "first = [750, 525, 15], step = 300")
    # the wavelet peaks later by 0.15 s
    put("MODEL_JOB", "record_length = 1.25", "record_length = 1.5")
    put("MIGRATE_JOB", "delay = 0.21, taper = 0.08", "delay = 0.42, taper = 0.16")
    # the demo draws them itself, with what is true
    monkeypatch.setattr(demo, "MIGRATE_JOB", f"{demo.MIGRATE_JOB}\n[output]\npictures = false\n")
    monkeypatch.setattr(demo, "QUICK_SHOTS", (1, 1))
    monkeypatch.setattr(demo, "REFLECTORS", tuple(r for r in demo.REFLECTORS if "lower" not in r.name))
    monkeypatch.setattr(demo, "RECORDED", {(name, 1): sha for name, sha in SMALL.items()})


def test_the_demo_runs_from_end_to_end(tmp_path, small):
    result = run(tmp_path / "demo")
    # a cell and a half of 30 m, by `judge`
    assert [f["name"] for f in result["reflectors"]] == [r.name for r in demo.REFLECTORS]
    image = volume.read(tmp_path / "demo" / "run" / "image.sgy")
    assert image.grid.shape == demo.GRID.shape
    digest = hashlib.sha256(image.values.tobytes()).hexdigest()
    assert result["samples_sha256"] == digest
    assert digest == SMALL.get(cpu.describe()["class"], digest)
    assert result["findings"][0]["level"] == "ok"


def reflector(error):
    return ImagedReflector("flat", 600.0, 600.0 + error, error, abs(error))


def test_a_reflector_one_and_a_half_cells_off_is_a_failure():
    most = 1.5 * GRID.spacing[2]
    judge([reflector(most), reflector(-most)])
    for error in (1.01 * most, -1.01 * most, float("nan")):
        with pytest.raises(DemoFailure, match="flat by") as failed:
            judge([reflector(0.0), reflector(error)])
        assert failed.value.exit_code != 0


def test_other_bytes_are_said_to_be_other_bytes(monkeypatch):
    monkeypatch.setattr(cpu, "describe", lambda: {"class": "fma"})
    assert compare_hash(demo.RECORDED["fma", 16], (4, 4)).level == "ok"
    other = compare_hash("0" * 64, (4, 4))
    assert (other.code, other.level) == ("W812", "warning")
    monkeypatch.setattr(cpu, "describe", lambda: {"class": "a class without a record"})
    assert compare_hash("0" * 64, (4, 4)).level == "ok"
