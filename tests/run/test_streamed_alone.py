"""`[parallel] stream_model`: one process that leaves the model in its files gives the same bytes, and is planned so."""

from pathlib import Path

import numpy as np
import pytest

import subsalt as ss
from subsalt.earth.grid import Box
from subsalt.earth.model import EarthModel
from subsalt.earth.regrid import Regridded
from subsalt.earth.streamed import StreamedModel
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume
from subsalt.methods.rtm import earth_model
from subsalt.methods.rtm.job import Job
from subsalt.plan import plan_job
from subsalt.run.migrate import migrate_job

GRID = ss.Grid((61, 41), (10.0, 10.0))
JOB = """
[data]
files = ["shots.sgy"]
first_breaks = "ignore"
line = "2d"
[model]
vp = "vp.rsf"
epsilon = "epsilon.rsf"
delta = "delta.rsf"
[source]
f0 = 15
[output]
pictures = false
[parallel]
threads = 1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("streamed")
    rng = np.random.default_rng(3)
    epsilon = (0.1 + 0.1 * rng.random(GRID.shape)).astype(np.float32)
    # delta above epsilon at some nodes: the gate repairs both alike
    values = {
        "vp": 2000 + 300 * rng.random(GRID.shape),
        "epsilon": epsilon,
        "delta": epsilon + 0.1 * rng.random(GRID.shape) - 0.08,
    }
    for name, a in values.items():
        volume.write(made / f"{name}.rsf", GRID, a.astype(np.float32))
    rcv = [[x, 10.0] for x in np.arange(0.0, 600.0, 20.0)]
    data = rng.standard_normal((2, len(rcv), 60)).astype(np.float32)
    survey = ss.Survey.from_arrays([[200.0, 20.0], [400.0, 20.0]], rcv, nt=60, dt=0.004, data=data)
    write_survey(made / "shots.sgy", survey)
    (made / "held.toml").write_text(JOB)
    (made / "streamed.toml").write_text(JOB + "stream_model = true\n")
    return made


def test_the_image_has_the_same_bytes(folder):
    held, streamed = (
        migrate_job(Job.from_toml(folder / f"{n}.toml"), folder / n) for n in ("held", "streamed")
    )
    assert held.sha256 == streamed.sha256
    assert held.findings == streamed.findings


def test_the_model_stays_in_its_files_and_out_of_the_plan(folder):
    held, streamed = (Job.from_toml(folder / f"{n}.toml") for n in ("held", "streamed"))
    assert isinstance(held.open_model(), EarthModel)
    assert isinstance(streamed.open_model(), StreamedModel)
    a, b = (plan_job(job, 1, threads=1).basis.decision.need.arrays for job in (held, streamed))
    assert a.pop("model volumes") == 3 * 4 * held.open_propagation_model().grid.size
    assert a.pop("model as given") == 3 * 4 * GRID.size
    # on the grid of the waves it is kept once it has been made
    assert b.pop("model volumes") == 3 * 4 * held.open_propagation_model().grid.size
    assert a == b


def test_the_model_is_carried_to_the_grid_of_the_waves_once(folder, monkeypatch):
    held, streamed = (Job.from_toml(folder / f"{n}.toml") for n in ("held", "streamed"))
    model, whole = streamed.open_propagation_model(), held.open_propagation_model()
    box = Box((0, 0, 0), model.grid.shape3)
    # its facts are known, and with them all planes
    monkeypatch.setattr(Regridded, "read", None)
    assert model.cached_bytes == 3 * 4 * model.grid.size
    for name in model.volumes:
        assert model.values(name, box).tobytes() == whole.volume(name).tobytes()


def test_a_model_too_large_to_be_kept_is_carried_again(folder, monkeypatch):
    monkeypatch.setattr(earth_model, "KEPT", 1)
    held, streamed = (Job.from_toml(folder / f"{n}.toml") for n in ("held", "streamed"))
    model, whole = streamed.open_propagation_model(), held.open_propagation_model()
    assert model.cached_bytes == 0
    assert model.values("vp", Box((0, 0, 0), model.grid.shape3)).tobytes() == whole.volume("vp").tobytes()


def test_it_has_no_influence_on_the_identity_of_a_run(folder):
    held, streamed = (Job.from_toml(folder / f"{n}.toml") for n in ("held", "streamed"))
    assert held.run_id(held.inputs()) == streamed.run_id(streamed.inputs())
