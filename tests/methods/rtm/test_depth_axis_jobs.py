"""Jobs whose depth axis follows the rock: the same bits by all ways, depths in what they write, runs that go on."""

from __future__ import annotations

import json

import numpy as np
import pytest

import subsalt
from subsalt.earth import planes
from subsalt.earth.grid import Box, Grid
from subsalt.errors import ConfigError
from subsalt.io.volumes import volume
from subsalt.job.checking import check_job
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job
from subsalt.methods.rtm.plan import plan_rtm
from subsalt.methods.rtm.playback import movie_of
from subsalt.methods.rtm.reimage import Wish, reimage_run
from subsalt.plan.planning import PlanRequest
from subsalt.run.job_of_run import job_of_run
from subsalt.run.migrate import migrate_job
from subsalt.run.settings import settings_of
from subsalt.view.run_image import grid_of

GRID = Grid((71, 81), (8.0, 8.0))
FOLLOWS = {"grid": "auto", "layer": 8}
ACQUISITION = {
    "shots": {"first": [200, 40], "last": [380, 40], "n": 3},
    "receivers": {"first": [80, 40], "last": [480, 40], "n": 21},
    "record_length": 0.5,
    "dt": 0.004,
}


def velocity() -> np.ndarray:
    z = GRID.axis(-1)
    return np.tile((1500 + 3.2 * z) * np.where(z > 420, 1.12, 1.0), (71, 1)).astype(np.float32)


def job_of(folder, propagation=None, data=False, tilted=False, **tables) -> Job:
    named = {"vp": velocity()}
    if tilted:
        named |= {
            "epsilon": np.full(GRID.shape, 0.15),
            "delta": np.full(GRID.shape, 0.08),
            "theta": np.full(GRID.shape, 25.0),
        }
    for name, a in named.items():
        volume.write(folder / f"{name}.rsf", GRID, np.asarray(a, np.float32), name=name)
    raw = {
        "model": {name: {"file": f"{name}.rsf"} for name in named},
        "source": {"f0": 15},
        "propagation": FOLLOWS | (propagation or {}),
        "output": {"pictures": False, "formats": ["rsf"]},
        **tables,
    }
    if data:
        raw["data"] = {"files": ["shots/*.sgy"], "first_breaks": "ignore"}
    return Job.from_dict(raw, base=folder, name="job")


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    """Return the folder of a line of three shots."""
    folder = tmp_path_factory.mktemp("line")
    model_job(job_of(folder, acquisition=ACQUISITION), folder / "shots")
    return folder


@pytest.fixture(scope="module")
def run(line):
    """Return a run that keeps its wavefields, and its result."""
    job = job_of(line, data=True, checkpoint={"keep": "both"})
    return line / "kept.run", migrate_job(job, line / "kept.run")


@pytest.mark.parametrize("tilted", [False, True])
def test_a_streamed_model_has_the_same_axis_and_bits(tmp_path, monkeypatch, tilted):
    monkeypatch.setattr(planes, "SLAB_VALUES", 400)
    job = job_of(tmp_path, tilted=tilted, acquisition=ACQUISITION)
    whole = job.open_propagation_model()
    job.forget()
    job.stream()
    streamed = job.open_propagation_model()
    assert whole.grid.depth_axis is not None
    assert streamed.grid == whole.grid
    weights = job.propagation_options.weights
    assert streamed.stable_dt(weights) == whole.stable_dt(weights)
    np.testing.assert_array_equal(streamed.slowest_by_depth, whole.slowest_by_depth)
    _, ny, nz = whole.grid.shape3
    for box in (whole.grid.box, Box((-3, 0, -2), (5, ny, nz + 4))):
        a, b = whole.window(box), streamed.window(box)
        for name in whole.volumes:
            assert getattr(a, name).tobytes() == getattr(b, name).tobytes()


@pytest.mark.parametrize(
    "tables",
    [
        {"checkpoint": {"strategy": "revolve", "slots": 2, "block": 5}, "parallel": {"threads": 2}},
        {"checkpoint": {"strategy": "store", "place": "disk"}, "parallel": {"stream_model": True}},
    ],
    ids=["recomputed by two threads", "on disk and streamed"],
)
def test_the_image_has_the_same_bytes_by_every_way(line, run, tmp_path, tables):
    assert migrate_job(job_of(line, data=True, **tables), tmp_path / "run").sha256 == run[1].sha256


def test_reimaging_makes_the_image_of_a_fresh_run(line, run, tmp_path):
    for condition in ("inverse-scattering", "cross-correlation"):
        again = reimage_run(run[0], tmp_path / condition, Wish(condition=condition))
        fresh = job_of(line, data=True, imaging={"condition": condition})
        assert again.sha256 == migrate_job(fresh, tmp_path / f"{condition}.run").sha256


def test_the_image_lies_at_the_depth_of_the_step(line, tmp_path):
    """The step between 416 and 424 m, in the velocity without it; a third of the work is saved."""
    jobs = {axis: job_of(line, {"depth_axis": axis}, data=True) for axis in ("auto", "uniform")}
    smooth = np.tile((1500 + 3.2 * GRID.axis(-1)), (71, 1)).astype(np.float32)
    volume.write(line / "smooth.rsf", GRID, smooth, name="vp")
    images, facts = {}, {}
    for axis, job in jobs.items():
        folder = tmp_path / axis
        done = migrate_job(job.changed("model", vp={"file": "smooth.rsf"}), folder)
        images[axis] = volume.read(done.image).values.astype(np.float64)
        facts[axis] = json.loads((folder / "run.json").read_text())
    traces = {axis: a[25:46, 25:].mean(axis=0) for axis, a in images.items()}
    for trace in traces.values():
        assert abs((25 + int(trace.argmax())) * 8.0 - 420) <= 12
    assert traces["auto"].max() == pytest.approx(traces["uniform"].max(), rel=0.02)
    assert facts["auto"]["grid_point_steps"] < 0.7 * facts["uniform"]["grid_point_steps"]


def test_movies_and_saved_wavefields_say_depths(run):
    movie = movie_of(run[0], fields=("source", "image"))
    facts = json.loads((run[0] / "run.json").read_text())
    grid = grid_of(facts, run[0])
    assert grid.depth_axis is not None
    z = movie.axes[-1]
    assert z.spacing == pytest.approx(grid.spacing[-1])
    assert z.origin + (z.n - 1) * z.spacing >= grid.last[-1] - 1e-6
    with subsalt.saved_wavefields(run[0], movie.shot) as shot:
        assert shot.grid.depth_axis is None
        assert shot.grid.shape[-1] == z.n
        i = len(shot.source) // 2
        field = shot.source[i]
    assert field.shape == shot.grid.shape
    # the front of a direct wave stands where the time says, in depth and not in nodes
    x, depths = shot.grid.axis(0), shot.grid.axis(-1)
    column = field[int(np.abs(x - 200.0).argmin())]
    deepest = depths[np.flatnonzero(np.abs(column) > 0.3 * np.abs(column).max())[-1]]
    travel = np.log((1500 + 3.2 * deepest) / (1500 + 3.2 * 40)) / 3.2
    assert travel <= shot.times[i] + 1.5 / 15


def test_plan_check_and_report_say_the_spacings(line, run, tmp_path):
    job = job_of(tmp_path, acquisition=ACQUISITION)
    result = check_job(job)
    assert [f for f in result.findings if f.level == "error"] == []
    assert any("m along z)" in f.message for f in result.findings)
    plan = plan_rtm(job, PlanRequest(measure=False))
    assert "m along z (" in plan.lines()[0]
    assert plan.to_dict()["depth_axis"]["saved"] > 1.3
    even = plan_rtm(job.changed("propagation", depth_axis="uniform"), PlanRequest(measure=False))
    assert even.to_dict()["depth_axis"] is None
    report = (run[0] / "report.html").read_text()
    widest = json.loads((run[0] / "run.json").read_text())["grid"]["depth_axis"]["widest"]
    assert f"to {widest:.3g} m" in report


def test_a_run_that_began_without_the_axis_goes_on_without_it(line, tmp_path):
    even, default = job_of(line, {"depth_axis": "uniform"}, data=True), job_of(line, data=True)
    whole = migrate_job(even, tmp_path / "whole")
    begun = migrate_job(even.with_shots("1-2"), tmp_path / "run")
    assert whole.sha256 != begun.sha256
    # as jobs of earlier versions, which had no such key
    known = json.loads(settings_of(tmp_path / "run")["key"])
    assert "depth_axis" not in known["job"]["propagation"]
    with pytest.raises(ConfigError, match=r"job\.propagation\.depth_axis"):
        migrate_job(job_of(line, {"depth_axis": "auto"}, data=True).with_shots("1-2"), tmp_path / "run")
    said: list[str] = []
    again = migrate_job(default.with_shots("1-2"), tmp_path / "run", say=said.append)
    assert again.sha256 == begun.sha256
    assert [s for s in said if "depth_axis = 'uniform'" in s]
    # what it makes new is on that axis too
    (tmp_path / "run" / "images" / "shot_000002.planes").unlink()
    assert migrate_job(default.with_shots("1-2"), tmp_path / "run").sha256 == begun.sha256
    # and so it is by the job that the run keeps
    assert job_of_run(tmp_path / "run").propagation.depth_axis == "uniform"
    assert reimage_run(tmp_path / "run", tmp_path / "new", Wish(top_mute=0.0)).sha256 == begun.sha256
    resolved = {"propagation": {"grid": "auto", "stencil": "fitted"}}
    assert Job.upgrade_resolved(resolved)["propagation"]["depth_axis"] == "uniform"


def test_where_the_key_decides_nothing_it_makes_no_other_run(line, tmp_path):
    surface = {"radius": 100.0, "datum": -150.0, "depth": 12.0}
    for keys in ({"grid": "model"}, {"grid": 9.0}, {"topography": surface}):
        a, b = (job_of(line, keys | {"depth_axis": x}, data=True) for x in ("auto", "uniform"))
        assert a.run_id([]) == b.run_id([])
    # nor has a run of before with a grid of its own anything to say of it
    job = job_of(line, {"grid": "model"}, data=True)
    migrate_job(job, tmp_path / "run")
    said: list[str] = []
    migrate_job(job, tmp_path / "run", say=said.append)
    assert not [s for s in said if "depth_axis" in s]


def test_below_topography_the_axis_is_uniform(tmp_path):
    surface = {"topography": {"radius": 100.0, "datum": -150.0, "depth": 12.0}}
    rows = "".join(f"{x},0,{-180 + x / 50}\n" for x in range(0, 600, 40))
    (tmp_path / "surface.csv").write_text(f"x,y,elevation\n{rows}")
    surface["topography"]["elevations"] = "surface.csv"
    job = job_of(tmp_path, surface, acquisition=ACQUISITION)
    assert job.open_propagation_model().grid.depth_axis is None
    plan = plan_rtm(job, PlanRequest(measure=False))
    assert "evenly spaced along z below topography" in plan.lines()[0]
    even = job_of(tmp_path, surface | {"depth_axis": "uniform"}, acquisition=ACQUISITION)
    assert "evenly" not in plan_rtm(even, PlanRequest(measure=False)).lines()[0]
