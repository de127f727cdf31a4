"""The demo from end to end, and what it says of an image that is wrong."""

import json

import pytest
from typer.testing import CliRunner

from subsalt import demo
from subsalt.cli.app_root import app
from subsalt.demo import GRID, ImagedReflector, compare_hash, judge
from subsalt.errors import DemoFailure
from subsalt.kernels import cpu


@pytest.mark.slow
def test_the_demo_runs_to_its_recorded_image(tmp_path):
    done = CliRunner().invoke(app, ["demo", "--quick", "--out", str(tmp_path / "demo"), "--json"])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert [f["name"] for f in result["reflectors"]] == [r.name for r in demo.REFLECTORS]
    # the packages of the tests are the pinned ones, so that the bytes must be the recorded ones
    recorded = demo.RECORDED[cpu.describe()["class"], 4]
    assert result["samples_sha256"] == recorded
    assert result["findings"][0]["level"] == "ok"
    for name in ("job.toml", "run/image.sgy", "run/report.html", "run/pictures/image.png"):
        assert (tmp_path / "demo" / name).exists(), name


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
