"""The files of examples/ are what the documentation says of them."""

import importlib
import os
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from subsalt.acquisition.survey import TimeAxis
from subsalt.methods.kirchhoff.time_run import read_time_run
from subsalt.methods.rtm.job import Job
from subsalt.run.migrate import migrate_job
from subsalt.view.flatness import residual_moveout

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
DATA = Path(os.environ.get("SUBSALT_SHARED_DATA", ROOT.parent / "shared" / "data"))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda p: p.name)
def test_example_jobs_are_valid(path):
    job = Job.from_toml(path)
    assert job.data is not None or job.acquisition is not None


FIELD = pytest.mark.skipif(not (DATA / "segy").is_dir(), reason="../shared/data is not there")


@pytest.mark.shared_data
@FIELD
def test_field_gathers_without_coordinates_are_flat_where_the_page_says(tmp_path):
    job = Job.from_toml(EXAMPLES / "cdp601to610.toml")
    job = job.changed("data", files=str(DATA / "segy" / "cdp601to610_be.su")).changed(
        "output", pictures=False
    )
    migrate_job(job, tmp_path / "a.run")
    run = read_time_run(tmp_path / "a.run")
    offset, gather = run.gathers(0, 4)
    velocity = job.open_velocity(run.grid).at(run.grid.positions()[4:5], run.grid.time)[0][0]
    moveout = residual_moveout(gather, offset, run.grid.time, velocity)
    # the seabed and the reflections at 2.1 and 2.6 s within two steps of the scan of 0.75 %
    for t in (0.67, 2.12, 2.61):
        near = moveout.picks[np.argmin(np.abs(moveout.picks[:, 0] - t))]
        assert abs(near[0] - t) < 0.1
        assert near[1] == pytest.approx(1.0, abs=0.015)
    # 30 traces of each of ten CDPs, all within reach
    assert (run.fold.sum(axis=2) == 300).all()


@pytest.mark.shared_data
@FIELD
def test_four_field_shots_show_the_seabed_at_its_time(tmp_path):
    job = Job.from_toml(EXAMPLES / "viking_time.toml")
    job = job.changed("data", files=str(DATA / "segy" / "viking_small.segy")).changed(
        "output", pictures=False
    )
    migrate_job(job, tmp_path / "a.run")
    run = read_time_run(tmp_path / "a.run")
    # under the last CDPs: silence above the seabed at 0.48 s, then the strongest reflection of all
    stack = np.abs(run.image.read(0, 1)[0, 110:120]).mean(axis=0)
    t = run.grid.time.values()
    assert 0.46 < t[np.argmax(stack)] < 0.56
    assert stack[t < 0.42].max() < 0.1 * stack.max()


def test_the_made_survey_fills_every_bin_once_by_every_class(monkeypatch):
    made = importlib.import_module("subsalt.examples.time3d")
    monkeypatch.setattr(made, "primaries", lambda src, rcv, *rest: np.zeros((len(rcv), 1)))
    monkeypatch.setattr(made, "TIME", TimeAxis(1, 0.004))
    counted = np.zeros((41, 41, 7), int)
    for shot in made.survey():
        middle = (shot.src + shot.rcv)[:, :2] / 2
        i, j = np.round(middle[:, 1] / made.BIN).astype(int), np.round(middle[:, 0] / made.BIN).astype(int)
        c = ((shot.offset - 50) // 100).astype(int)
        inside = (i >= 0) & (i < 41) & (j >= 0) & (j < 41) & (c < 7)
        np.add.at(counted, (i[inside], j[inside], c[inside]), 1)
    # offsets of 700 m and a lateral 75 m are 704 m: all classes are full
    assert (counted == 1).all()
    job = Job.from_dict(tomllib.loads(made.JOB))
    assert job.method == "kirchhoff"


def test_the_viking_job_has_at_most_fifteen_lines():
    lines = (EXAMPLES / "viking.toml").read_text(encoding="utf-8").splitlines()
    effective = [l for l in lines if l.strip() and not l.lstrip().startswith("#")]
    assert len(effective) <= 15


@pytest.mark.shared_data
@pytest.mark.skipif(not (DATA / "reference").is_dir(), reason="../shared/data is not there")
def test_the_measure_gives_the_published_image_its_published_correlation(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    compare = importlib.import_module("compare_marmousi")
    monkeypatch.setattr(compare, "DATA", DATA)
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
    (measured_depths,) = depths.measure(ideal, ideal, h, vp, h, [at], 15.0)
    # the step lies between two nodes: half a cell
    assert (
        np.abs(measured_depths.true - step[np.round(measured_depths.x / h).astype(int)]).max() <= h / 2 + 1e-9
    )
    assert abs(measured_depths.overlap) <= h / 2
    assert measured_depths.error == 0


@pytest.mark.parametrize("shift", [-13.0, 4.0, 21.0])
def test_a_shifted_image_has_its_shift_as_error(depths, shift):
    h = 10.0
    vp, _, theta = dipping_step(h)
    ideal = depths.ideal_image(vp, theta, h, 15.0)
    z = h * np.arange(vp.shape[1])
    moved = np.stack([np.interp(z - shift, z, trace) for trace in ideal])
    (measured_depths,) = depths.measure(
        moved, ideal, h, vp, h, [depths.Reflector("step", 600.0, 600.0)], 15.0
    )
    # linear interpolation and a parabola: a tenth of a cell
    assert measured_depths.error == pytest.approx(shift, abs=0.1 * h)


def test_smoothing_moves_a_jump_by_the_time_it_takes_away(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    made = importlib.import_module("marmousi2")
    h, sigma, z = 2.0, 100.0, 2001.0
    depth = h * np.arange(1500)
    true = np.where(depth < z, 2650.0, 4100.0)[None]
    slow = np.stack([1 / 2650 + (1 / 4100 - 1 / 2650) * special.ndtr((depth - z) / sigma)])
    at = np.array([z])
    moved_depth = made.moved(true, 1 / slow, h, made.Depths(np.zeros(1), at, at, at))
    # the half above the jump of a smoothed step: sigma / sqrt(2 pi) of the contrast in slowness, at the velocity there
    lost = sigma / np.sqrt(2 * np.pi) * (1 / 2650 - 1 / 4100)
    # the slowness changes by a twentieth over that distance
    assert moved_depth == pytest.approx(lost * 2 / (1 / 2650 + 1 / 4100), rel=0.06)
