"""Waves on a grid of their own: what the job may ask, the same bits by all ways, the image on the user's grid."""

from __future__ import annotations

import json

import numpy as np
import pytest

from subsalt import forward, migrate, ricker
from subsalt.earth import planes
from subsalt.earth.grid import Box, Grid
from subsalt.earth.streamed import StreamedModel
from subsalt.errors import ConfigError, FindingsError
from subsalt.io.volumes import volume
from subsalt.job.checking import check_job
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job
from subsalt.methods.rtm.plan import plan_rtm
from subsalt.methods.rtm.playback import movie_of
from subsalt.methods.rtm.reimage import Wish, reimage_run
from subsalt.plan.planning import PlanRequest
from subsalt.propagation.grid_choice import points_needed
from subsalt.propagation.options import PropagationOptions
from subsalt.run.migrate import migrate_job
from subsalt.view.run_image import grid_of

RNG = np.random.default_rng(3)


def layers(grid: Grid) -> np.ndarray:
    """Return three layers, the middle one dipping."""
    x, z = grid.axis(0), grid.axis(-1)
    shape = (-1, *(1,) * (grid.ndim - 1))
    depth = z.reshape((1,) * (grid.ndim - 1) + (-1,)) - 0.2 * (x - x[0]).reshape(shape)
    vp = np.where(depth > 150.0, 2300.0, 2000.0) + 0.0 * np.zeros(grid.shape)
    return np.where(depth > 260.0, 2700.0, vp).astype(np.float32)


GRIDS = {2: Grid((81, 61), (8.0, 8.0), (40.0, 0.0)), 3: Grid((31, 21, 41), (10.0, 10.0, 8.0))}


def job_of(folder, ndim=2, propagation=None, data=False, **tables) -> Job:
    """Return a job on layers in files; angles in degrees."""
    grid = GRIDS[ndim]
    named = {"vp": layers(grid)}
    if tables.pop("tilted", False):
        named |= {
            "epsilon": 0.1 + 0.1 * RNG.random(grid.shape),
            "delta": 0.09 * RNG.random(grid.shape),
            "theta": np.full(grid.shape, 25.0),
        }
        if ndim == 3:
            named["phi"] = np.full(grid.shape, 40.0)
    for name, a in named.items():
        volume.write(folder / f"{name}.rsf", grid, np.asarray(a, np.float32), name=name)
    raw = {
        "model": {name: {"file": f"{name}.rsf"} for name in named},
        "source": {"f0": 18},
        "propagation": {"layer": 8, **(propagation or {})},
        "output": {"pictures": False, "formats": ["rsf"]},
        **tables,
    }
    if data:
        raw["data"] = {"files": ["shots/*.sgy"], "first_breaks": "ignore"}
    return Job.from_dict(raw, base=folder, name="job")


ACQUISITION = {
    "shots": {"first": [200, 40], "last": [520, 40], "n": 3},
    "receivers": {"first": [80, 40], "last": [640, 40], "n": 29},
    "record_length": 0.5,
    "dt": 0.004,
}


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    """Return the folder of a line of three shots."""
    folder = tmp_path_factory.mktemp("line")
    model_job(job_of(folder, acquisition=ACQUISITION), folder / "shots")
    return folder


def test_the_grid_carries_the_band(tmp_path):
    job = job_of(tmp_path, propagation={"grid": "auto"})
    grid, own = job.open_propagation_model().grid, GRIDS[2]
    weights, wavelet = PropagationOptions().weights, ricker(18.0, 0.0005)
    # three digits of a spacing
    points = 2000.0 / (45.0 * grid.spacing[0])
    need = points_needed(weights, False, 0.01, wavelet, imaging=False).points
    assert 0.997 * need <= points < need * 1.01
    # an image takes fewer than a reflection that is modelled
    imaged = job_of(tmp_path, propagation={"grid": "auto"}, data=True).open_propagation_model().grid
    points = 2000.0 / (45.0 * imaged.spacing[0])
    assert weights.points() <= points < weights.points() * 1.01
    assert need > 1.2 * weights.points()
    assert grid.origin == own.origin
    assert all(a >= b for a, b in zip(grid.last, own.last, strict=True))
    assert job.open_model().grid == own
    # what the model cannot carry takes a finer grid
    fine = job_of(tmp_path, propagation={"grid": "auto"}, source={"f0": 33}).open_propagation_model().grid
    assert fine.spacing[0] < own.spacing[0]
    # about as coarse: not worth another grid
    same = job_of(tmp_path, propagation={"grid": "auto"}, source={"f0": 22})
    assert same.open_propagation_model() is same.open_model()
    given = job_of(tmp_path, propagation={"grid": "9 m"})
    assert given.open_propagation_model().grid.spacing == (9.0, 9.0)


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("tilted", [False, True])
def test_a_streamed_model_has_the_same_bits(tmp_path, monkeypatch, ndim, tilted):
    monkeypatch.setattr(planes, "SLAB_VALUES", 400)
    job = job_of(tmp_path, ndim, {"grid": 11.7}, tilted=tilted)
    whole = job.open_propagation_model()
    job.forget()
    job.stream()
    streamed = job.open_propagation_model()
    assert isinstance(streamed, StreamedModel)
    assert (
        streamed.volumes
        == whole.volumes
        == (("vp", "epsilon", "delta", "theta", "phi")[: ndim + 2] if tilted else ("vp",))
    )
    weights = PropagationOptions().weights
    assert streamed.stable_dt(weights) == whole.stable_dt(weights)
    assert (streamed.slowest, streamed.fastest) == (whole.slowest, whole.fastest)
    _, ny, nz = whole.grid.shape3
    for box in (whole.grid.box, Box((2, 0, 1), (7, ny, nz - 2)), Box((-3, 0, -2), (5, ny, nz + 4))):
        a, b = whole.window(box), streamed.window(box)
        for name in whole.volumes:
            assert getattr(a, name).tobytes() == getattr(b, name).tobytes()


def test_the_image_stands_on_the_grid_of_the_model(line, tmp_path):
    """And is that of a grid of half the spacing to 2 %, below the near field of the sources, in a smooth velocity."""
    images, facts, imaging = {}, {}, {"top_mute": 160.0, "filter": "laplacian"}
    for grid in ("model", "auto", 4.0):
        job = job_of(line, propagation={"grid": grid}, data=True, imaging=imaging)
        done = migrate_job(job.changed("model", smoothing=24.0), tmp_path / str(grid))
        read_back = volume.read(done.image)
        assert read_back.grid.shape == GRIDS[2].shape
        assert read_back.grid.spacing == pytest.approx(GRIDS[2].spacing)
        images[grid] = read_back.values.astype(np.float64)
        facts[grid] = json.loads((tmp_path / str(grid) / "run.json").read_text())
    assert facts["auto"]["image_grid"] == facts["model"]["grid"]
    assert facts["auto"]["grid"]["spacing"][0] > 11
    report = (tmp_path / "auto" / "report.html").read_text()
    assert "grid points x, z of the image" in report
    assert "spacing of the waves" in report
    # a look at the sum of the shots on its way needs the grid where they lie, and does not take another for it
    assert grid_of(facts["auto"], tmp_path).spacing == tuple(facts["auto"]["grid"]["spacing"])
    unsaid = {"grid": {"spacing": 8.0, "shape": [81, 61]}, "propagation": {"grid": "auto"}}
    assert grid_of({"job": unsaid}, tmp_path) is None
    assert grid_of({"job": unsaid | {"propagation": {}}}, tmp_path).shape == (81, 61)
    assert facts["auto"]["grid_point_steps"] < 0.5 * facts["model"]["grid_point_steps"]
    fine = images[4.0][8:-8, 8:-8]
    for name, bar in (("auto", 0.02), ("model", 0.02)):
        assert np.linalg.norm(images[name][8:-8, 8:-8] - fine) < bar * np.linalg.norm(fine)


def test_reimaging_and_movies_know_the_grid(line, tmp_path):
    job = job_of(line, propagation={"grid": 12.0}, data=True, checkpoint={"keep": "both"})
    run = tmp_path / "run"
    made = {"source-normalised": migrate_job(job, run).sha256}
    changed_job = job.changed("imaging", condition="inverse-scattering")
    made["inverse-scattering"] = migrate_job(changed_job, tmp_path / "fresh").sha256
    for condition, sha256 in made.items():
        assert reimage_run(run, tmp_path / condition, Wish(condition=condition)).sha256 == sha256
    movie = movie_of(run, 2, fields=("source", "image"))
    assert movie.velocity.shape[-1] == job.open_propagation_model().grid.shape[-1]


def test_a_run_keeps_its_grid(line, tmp_path):
    run = tmp_path / "run"
    migrate_job(job_of(line, propagation={"grid": 12.0}, data=True), run)
    with pytest.raises(ConfigError, match=r"job\.propagation\.grid: 12\.0 -> model"):
        migrate_job(job_of(line, propagation={"grid": "model"}, data=True), run)
    # a key that has nothing to say is no part of the job
    a, b = (job_of(line, propagation={"grid": "model", "accuracy": x}, data=True) for x in (0.01, 0.02))
    assert a.run_id([]) == b.run_id([])
    assert job_of(line, data=True).run_id([]) == job_of(line, propagation={"grid": "auto"}, data=True).run_id(
        []
    )


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ({"grid": "fine"}, "E103"),
        ({"grid": -4}, "E104"),
        ({"accuracy": 0}, "E104"),
        ({"grid": 40.0}, "E531"),
        ({"accuracy": 0.001}, "E546"),
        ({"order": 2, "grid": "auto"}, "E546"),
    ],
)
def test_wrong_grids(tmp_path, keys, code):
    try:
        findings = check_job(job_of(tmp_path, propagation=keys, acquisition=ACQUISITION)).findings
    except FindingsError as error:
        findings = error.findings
    assert code in [f.code for f in findings if f.level == "error"], [f.message for f in findings]


def test_the_check_says_what_is_saved(tmp_path):
    job = job_of(tmp_path, propagation={"grid": "auto"}, acquisition=ACQUISITION)
    result = check_job(job)
    assert [f for f in result.findings if f.level == "error"] == []
    assert any("times fewer points than the model's 81 x 61" in f.message for f in result.findings)
    assert result.context.facts["computed_grid"]["spacing"][0] > 10
    assert result.context.facts["points_decided_by"] == "reflection"
    assert any(
        "the reflection takes 4.3" in f.message or "the reflection takes 4.4" in f.message
        for f in result.findings
    )
    plan = plan_rtm(job, PlanRequest(measure=False))
    assert "as many as the reflection needs" in plan.lines()[0]
    assert plan.to_dict()["points_decided_by"] == "reflection"
    own = plan_rtm(
        job_of(tmp_path, propagation={"grid": "model"}, acquisition=ACQUISITION), PlanRequest(measure=False)
    )
    assert own.to_dict()["points_decided_by"] is None


def test_order_2_stays_on_the_model(tmp_path):
    job = job_of(tmp_path, propagation={"order": 2})
    assert (job.propagation.grid, job.propagation.stencil) == ("model", "taylor")
    assert job.open_propagation_model() is job.open_model()


def test_every_job_has_the_same_order(tmp_path):
    """A reflection takes as many points at order 12 as at order 8, which is cheaper then."""
    auto = {"grid": "auto"}
    assert job_of(tmp_path, propagation=auto, acquisition=ACQUISITION).propagation.order == 8
    assert job_of(tmp_path, propagation=auto, data=True).propagation.order == 8


def test_arrays_take_a_grid_too(line):
    """The functions on arrays make the traces and the image of a job."""
    job = job_of(line, propagation={"grid": "auto"}, data=True)
    model, survey = job.load_model(), job.load_survey()
    used = job.open_propagation_model()
    weights = job.propagation_options.weights
    wavelet = job.wavelet(used.choose_dt(weights, None, job.propagation_options.dt_reserve))
    made = migrate(model, survey, wavelet, grid="auto", layer=8)
    assert made.grid == model.grid
    done = migrate_job(job, line / "arrays.run")
    assert volume.read(done.image).values.tobytes() == made.image.tobytes()
    by_spacing = forward(model, survey, wavelet, grid=used.grid.spacing[0], layer=8)
    same = forward(used, survey, wavelet, layer=8, trace_error=1e-4)
    assert by_spacing.data.tobytes() == same.data.tobytes()
    chosen = forward(model, survey, wavelet, grid="auto", layer=8)
    assert (
        chosen.data.tobytes() == forward(model, survey, wavelet, grid="auto", order=8, layer=8).data.tobytes()
    )
    for wrong in ({"grid": "coarse"}, {"grid": 0}, {"grid": True}, {"grid": "auto", "accuracy": 2}):
        with pytest.raises(ConfigError) as caught:
            forward(model, survey, wavelet, **wrong)
        assert caught.value.code == "E104"
    with pytest.raises(ConfigError, match="cannot be reached"):
        forward(model, survey, wavelet, grid="auto", accuracy=0.001)
    with pytest.raises(ConfigError, match="cannot carry the wavelet"):
        forward(model, survey, ricker(90.0, 0.0005), grid="auto")
