"""The files of examples/ are what the documentation says of them."""

import importlib
import os
from pathlib import Path

import numpy as np
import pytest

from subsalt.job.job import Job

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
DATA = Path(os.environ.get("SUBSALT_SHARED_DATA", ROOT.parent / "shared" / "data"))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda p: p.name)
def test_example_jobs_are_valid(path):
    job = Job.from_toml(path)
    assert job.data is not None or job.acquisition is not None


def test_the_viking_job_has_at_most_fifteen_lines():
    lines = (EXAMPLES / "viking.toml").read_text(encoding="utf-8").splitlines()
    effective = [l for l in lines if l.strip() and not l.lstrip().startswith("#")]
    assert len(effective) <= 15


@pytest.mark.shared_data
@pytest.mark.skipif(not (DATA / "reference").is_dir(), reason="../shared/data is not there")
def test_the_measure_gives_the_published_image_its_published_correlation(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    compare = importlib.import_module("compare_marmousi")
    match = compare.published()
    # the notes of the data say 0.23 at 2 samples, without the widths of the filters: one unit of the last
    assert abs(match.correlation - 0.23) <= 0.01
    assert abs(match.shift) == 2


@pytest.fixture
def depths(monkeypatch):
    """Return the module of examples/ that measures reflectors."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("reflector_depths")


def dipping_step(h):
    """Return vp with a step that dips by 20 degrees, its depth along x, and the tilt of the normal, radians."""
    x, z = h * np.arange(120), h * np.arange(150)
    step = 600.0 - np.tan(np.deg2rad(20.0)) * (x - 600.0)
    vp = np.where(z[None, :] < step[:, None], 2000.0, 2600.0)
    return vp, step, np.full(vp.shape, np.deg2rad(20.0))


def test_an_ideal_image_has_its_peak_at_a_lonely_step(depths):
    h = 10.0
    vp, step, theta = dipping_step(h)
    ideal = depths.ideal_image(vp, theta, h, 15.0)
    at = depths.Reflector("step", 600.0, 600.0)
    (found,) = depths.measure(ideal, ideal, h, vp, h, [at], 15.0)
    # the step lies between two nodes: half a cell
    assert np.abs(found.true - step[np.round(found.x / h).astype(int)]).max() <= h / 2 + 1e-9
    assert abs(found.overlap) <= h / 2
    assert found.error == 0


@pytest.mark.parametrize("shift", [-13.0, 4.0, 21.0])
def test_a_shifted_image_has_its_shift_as_error(depths, shift):
    h = 10.0
    vp, _, theta = dipping_step(h)
    ideal = depths.ideal_image(vp, theta, h, 15.0)
    z = h * np.arange(vp.shape[1])
    moved = np.stack([np.interp(z - shift, z, trace) for trace in ideal])
    (found,) = depths.measure(moved, ideal, h, vp, h, [depths.Reflector("step", 600.0, 600.0)], 15.0)
    # linear interpolation and a parabola: a tenth of a cell
    assert found.error == pytest.approx(shift, abs=0.1 * h)
