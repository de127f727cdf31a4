"""From job to objects: grids, units, smoothing, selection, mutes."""

import numpy as np
import pytest

from job_files import GRID, MIGRATE, survey, velocity, write_files, write_job
from subsalt.earth.grid import Grid
from subsalt.earth.volumes import resample, smooth, smoothing_weights
from subsalt.errors import GeometryError
from subsalt.io.volumes import volume
from subsalt.job.inputs import natural_key
from subsalt.job.signal.mute import Edge, Mute
from subsalt.job.signal.step import Headers
from subsalt.methods.rtm.data import select_shots
from subsalt.methods.rtm.job import Job


def test_velocity_of_depth():
    job = Job.from_dict(
        {
            "model": {"vp": {"z": [0, 100, 300], "value": [1500, 1500, 2500]}},
            "grid": {"spacing": 50, "shape": [3, 9]},
            "source": {"f0": 10},
        }
    )
    expected = [1500, 1500, 1500, 1750, 2000, 2250, 2500, 2500, 2500]
    np.testing.assert_array_equal(job.load_model().vp, np.tile(np.float32(expected), (3, 1)))


def test_units_of_files(tmp_path):
    write_files(tmp_path)
    volume.write(tmp_path / "vp.rsf", GRID, velocity() / 1000)
    volume.write(tmp_path / "epsilon.rsf", GRID, np.full(GRID.shape, 10.0, np.float32))
    text = MIGRATE.replace('"vp.rsf"', '{file = "vp.rsf", unit = "km/s"}')
    text = text.replace('"epsilon.rsf"', '{file = "epsilon.rsf", unit = "%"}')
    model = Job.from_toml(write_job(tmp_path, text)).load_model()
    np.testing.assert_allclose(model.vp, velocity(), rtol=2e-7)
    np.testing.assert_allclose(model.epsilon, 0.1, rtol=2e-7)


def test_slowness_files(tmp_path):
    write_files(tmp_path)
    volume.write(tmp_path / "vp.rsf", GRID, (1e6 / velocity().astype(float) ** 2).astype(np.float32))
    text = MIGRATE.replace('"vp.rsf"', '{file = "vp.rsf", unit = "s2/km2"}')
    model = Job.from_toml(write_job(tmp_path, text)).load_model()
    # float32 storage halves its relative error in the root
    np.testing.assert_allclose(model.vp, velocity(), rtol=2e-7)


def test_grid_from_the_survey(tmp_path):
    write_files(tmp_path)
    text = (
        MIGRATE.replace('"vp.rsf"', "2000")
        .replace('epsilon = "epsilon.rsf"\n', "")
        .replace('delta = "delta.rsf"\n', "")
    )
    job = Job.from_toml(write_job(tmp_path, text + "\n[grid]\nspacing = 20\ndepth = 400\nmargin = 95\n"))
    grid = job.load_model().grid
    low, high = job.load_survey().bounds
    assert grid.origin[0] <= low[0] - 95 < grid.origin[0] + 20
    assert grid.last[0] - 20 < high[0] + 95 <= grid.last[0]
    assert (grid.origin[1], grid.last[1]) == (0.0, 400.0)


def test_resampling_is_exact_for_linear_values_and_continues_outside():
    a, b = Grid((5, 4), (10.0, 20.0), (100.0, 0.0)), Grid((21, 31), (3.0, 2.0), (90.0, -10.0))

    def plane(grid):
        x = np.clip(grid.axis(0), 100, 140)[:, None]
        z = np.clip(grid.axis(1), 0, 60)[None, :]
        return 3 * x - 2 * z

    np.testing.assert_allclose(resample(plane(a), a, b), plane(b), rtol=1e-6)


def test_smoothing_keeps_constants_and_what_lies_above_the_top():
    grid = Grid((40, 60), (10.0, 10.0))
    flat = np.full(grid.shape, 0.25, np.float32)
    np.testing.assert_allclose(smooth(flat, grid, 35.0, None), flat, rtol=1e-6)
    steps = np.where(np.arange(60) < 20, 1.0, 3.0) * np.ones((40, 1))
    out = smooth(steps.astype(np.float32), grid, 30.0, 200.0)
    np.testing.assert_array_equal(out[:, :20], 1.0)
    # nothing of the water leaks into what lies below
    np.testing.assert_allclose(out[:, 20:], 3.0, rtol=1e-6)


def test_smoothing_weights_have_the_asked_for_width():
    w = smoothing_weights(3.0)
    k = np.arange(len(w)) - len(w) // 2
    assert w.sum() == pytest.approx(1.0, abs=1e-15)
    # cutting at 4 sigma takes 0.11 % of the variance
    assert np.sqrt((w * k**2).sum()) == pytest.approx(3.0, rel=2e-3)


def test_selection():
    line = survey(5, fill=False)
    assert [s.id for s in select_shots(line, "all")] == [1, 2, 3, 4, 5]
    assert [s.id for s in select_shots(line, [4, 2])] == [2, 4]
    assert [s.id for s in select_shots(line, "1-5:2, 4")] == [1, 3, 4, 5]
    assert [s.id for s in select_shots(line, "3-99")] == [3, 4, 5]
    with pytest.raises(GeometryError):
        select_shots(line, "7-9")
    with pytest.raises(GeometryError):
        select_shots(line, [7])


def test_mute_zeroes_above_the_line_and_keeps_what_is_below():
    shot = survey(1).shots[0]
    data = np.ones((len(shot.rcv), 151), np.float32)
    line = survey(1).time

    def mute(data, offset, line, **keys):
        made = Edge(line, Mute(step="mute", **keys))
        return made.apply(data, Headers(np.zeros(len(offset), int), offset))

    out = mute(data, shot.offset, line, velocity=1500, delay=0.05, taper=0.02)
    t = line.values()[None, :]
    edge = (0.05 + shot.offset / 1500)[:, None]
    assert not out[np.broadcast_to(t <= edge, out.shape)].any()
    np.testing.assert_array_equal(out[np.broadcast_to(t >= edge + 0.02, out.shape)], 1.0)
    assert (np.diff(out, axis=1) >= 0).all()
    sharp = mute(data, shot.offset, line, velocity=1500, taper=0)
    assert set(np.unique(sharp)) == {0.0, 1.0}


def test_the_mute_of_a_job_reaches_its_traces(tmp_path):
    write_files(tmp_path)
    plain = Job.from_toml(write_job(tmp_path)).load_survey()
    text = MIGRATE.replace('line = "2d"', 'line = "2d"\nmute = {velocity = "1.5 km/s", delay = "500 ms"}')
    muted = Job.from_toml(write_job(tmp_path, text)).load_survey()
    a, b = plain.traces(plain.shots[0]), muted.traces(muted.shots[0])
    assert np.abs(a[:, :120]).max() > 0.5
    assert np.abs(b[:, :120]).max() == 0


def test_files_come_in_natural_order():
    names = ["shot10.sgy", "shot9.sgy", "a/shot2.sgy", "shot1.sgy"]
    assert sorted(names, key=natural_key) == ["a/shot2.sgy", "shot1.sgy", "shot9.sgy", "shot10.sgy"]
