"""What `[parallel] device` chooses, what is said when there is no GPU to choose, and what a run remembers of it."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
import small_run

import subsalt as ss
from subsalt import kernels
from subsalt.errors import ConfigError, DeviceError
from subsalt.kernels import cuda_library
from subsalt.kernels.cuda_library import Availability, Gpu
from subsalt.methods.rtm.job import Job
from subsalt.run.migrate import migrate_job
from subsalt.run.progress import lines, view_of

GPU = Gpu(0, "NVIDIA H200", 139 << 30, (9, 0), 132, "0000:01:00")


@pytest.fixture
def here(monkeypatch):
    """Return a function that says what this machine has."""

    def has(availability: Availability, listed: tuple[str, ...] = ()) -> None:
        monkeypatch.setattr(cuda_library, "availability", lambda: availability)
        monkeypatch.setattr(cuda_library, "switched_off", lambda: False)
        monkeypatch.setattr(kernels, "gpus_of_driver", lambda: list(listed))

    return has


@pytest.fixture
def old_driver(emulated, monkeypatch):
    """Let there be a plug-in that is too new for the driver."""
    monkeypatch.setenv("SUBSALT_EMULATED_DRIVER", "12040")


def test_a_gpu_is_taken_when_there_is_one(here):
    here(Availability((GPU,), driver="13.0", plugin="x"))
    assert kernels.chosen("auto").name == "cuda"
    assert kernels.get("auto").NAME == "cuda"
    assert kernels.label(kernels.get("auto").describe()) == "NVIDIA H200"
    assert kernels.chosen("cpu").name == "cpu"


@pytest.mark.parametrize(
    ("availability", "listed", "note"),
    [
        (Availability(why="the plug-in for GPUs is not built", code="E980"), (), ""),
        (
            Availability(why="the plug-in for GPUs is not built", code="E980"),
            ("NVIDIA H200",),
            "NVIDIA H200: the plug-in for GPUs is not built",
        ),
        (
            Availability(why="this machine has no driver for GPUs", code="E981", plugin="x"),
            (),
            "this machine has no driver for GPUs",
        ),
        (Availability((GPU,), emulated=True, plugin="x"), (), ""),
    ],
    ids=["nothing", "a card without plug-in", "a plug-in without driver", "emulated"],
)
def test_without_one_the_processor_is_taken(availability, listed, note, here):
    here(availability, listed)
    assert (kernels.chosen("auto").name, kernels.chosen("auto").note) == ("cpu", note)
    assert kernels.get("auto").NAME == "cpu"


def test_what_was_agreed_on_counts(here):
    here(Availability((GPU,)))
    kernels.decide(kernels.Chosen("cpu"))
    try:
        assert kernels.chosen("auto").name == "cpu"
        assert kernels.chosen("cuda").name == "cuda"
    finally:
        kernels.decide(None)
    assert kernels.chosen("auto").name == "cuda"


def test_no_such_device():
    with pytest.raises(ConfigError) as said:
        kernels.chosen("gpu")
    assert said.value.code == "E701"


def test_a_gpu_that_was_asked_for_and_is_not_there_is_refused(emulated, monkeypatch):
    monkeypatch.setenv("SUBSALT_EMULATED_GPUS", "0")
    with pytest.raises(DeviceError) as said:
        kernels.chosen("cuda")
    assert (said.value.code, said.value.exit_code) == ("E981", 69)


def test_a_run_falls_back_with_one_line(tmp_path, old_driver, subsalt_command):
    job = small_run.make(tmp_path)
    code, out, err = subsalt_command("migrate", job)
    assert code == 0
    said = [line for line in (out + err).splitlines() if "W980" in line]
    assert len(said) == 1
    assert "the driver knows CUDA 12.4, the plug-in was built for 13.0" in said[0]
    run = json.loads((tmp_path / "job.run" / "run.json").read_text())
    assert run["numerics"]["device"] == "cpu"
    assert [f["code"] for f in run["findings"]].count("W980") == 1
    # every shot was computed by the same
    ((by, shots),) = run["computed_by"].items()
    assert by.startswith("cpu ")
    assert shots == [1, 2, 3]


def test_who_looks_at_a_run_sees_what_computes(tmp_path):
    migrate_job(Job.from_toml(small_run.make(tmp_path)), tmp_path / "run")
    view = view_of(tmp_path / "run")
    assert view.by == kernels.label(kernels.get("cpu").describe())
    assert f"computes  {view.by}" in lines(replace(view, state="running"))
    assert not any(line.startswith("computes") for line in lines(view))


def test_functions_on_arrays_warn_and_fall_back(here):
    here(
        Availability(
            why="this machine has no driver for GPUs", fix="use device = cpu", code="E981", plugin="x"
        )
    )
    model = ss.EarthModel(ss.Grid((31, 21), (10.0, 10.0)), np.full((31, 21), 2000.0))
    survey = ss.Survey.from_arrays([[150.0, 50.0]], [[100.0, 20.0]], nt=20, dt=0.002)
    with pytest.warns(UserWarning, match="no GPU is used: this machine has no driver"):
        traces = ss.forward(model, survey, ss.ricker(20.0, 0.001))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        on_cpu = ss.forward(model, survey, ss.ricker(20.0, 0.001), device="cpu")
    assert np.array_equal(traces.data[0], on_cpu.data[0])


def test_nothing_is_said_where_no_gpu_is_wanted(tmp_path, old_driver, subsalt_command):
    job = small_run.make(tmp_path, '[parallel]\ndevice = "cpu"\n')
    code, out, err = subsalt_command("check", job)
    assert code == 0
    assert "W980" not in out + err


def test_a_run_that_wants_a_gpu_is_refused_before_it_begins(tmp_path, old_driver, subsalt_command):
    job = small_run.make(tmp_path, '[parallel]\ndevice = "cuda"\n')
    code, out, err = subsalt_command("migrate", job)
    assert code == 69
    assert "E982" in out + err
    assert "update the driver" in out + err
    assert "W980" not in out + err
    assert not (tmp_path / "job.run").exists()
