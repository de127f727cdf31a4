"""Whole commands on the device: the files of the processor, stops and kills gone on from, a GPU that is lost."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import small_run
from launch import forked

import subsalt as ss
from patience import PATIENCE
from subsalt import kernels
from subsalt.api import WaveGrid
from subsalt.errors import ConfigError
from subsalt.kernels import cpu
from subsalt.methods.rtm import ahead
from subsalt.methods.rtm.born import scattered_traces
from subsalt.methods.rtm.engine import prepare_shot
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.linear_setup import linear_setup
from subsalt.methods.rtm.model_job import model_job
from subsalt.methods.rtm.operators import ModellingOperator
from subsalt.methods.rtm.playback import movie_of
from subsalt.methods.rtm.reimage import Wish, reimage_run
from subsalt.propagation.options import PropagationOptions
from subsalt.report import summary
from subsalt.report.facts import gather
from subsalt.run.migrate import migrate_job

MEDIA = {
    "isotropic": "vp = { z = [0, 60, 61, 300], value = [2000, 2000, 2400, 2400] }",
    "vti": "vp = { z = [0, 60, 61, 300], value = [2000, 2000, 2400, 2400] }\nepsilon = 0.15\ndelta = 0.05",
    "tti": "vp = { z = [0, 60, 61, 300], value = [2000, 2000, 2400, 2400] }\nepsilon = 0.15\ndelta = 0.05\n"
    'theta = "25 deg"\nphi = "40 deg"',
}

#: two shots over a small volume
VOLUME = """
[model]
{medium}
[acquisition]
shots = {{ first = [40, 40, 10], last = [70, 40, 10], n = 2 }}
receivers = {{ first = [10, 30, 10], last = [90, 30, 10], n = 6 }}
record_length = 0.052
dt = 0.002
files = "per-shot"
[grid]
spacing = 10
shape = [11, 8, 10]
[source]
f0 = 30
[propagation]
grid = "model"
order = 4
layer = 3
free_surface = {free_surface}
[output]
pictures = false
formats = ["segy", "rsf"]
"""


def on(device: str, text: str, folder: Path) -> Job:
    """Return a job that computes on a device."""
    path = folder / f"job-{device}.toml"
    path.write_text(text + f'[parallel]\ndevice = "{device}"\n')
    return Job.from_toml(path)


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the modelled shots of `small_run`, and the hash of their image by the processor."""
    folder = tmp_path_factory.mktemp("small")
    small_run.make(folder)
    return folder / "shots", migrate_job(on("cpu", small_run.MIGRATE, folder), folder / "whole").sha256


@pytest.fixture
def whole(shots: tuple[Path, str], tmp_path: Path) -> str:
    """Put the shots of `small_run` into the folder of a test, and return the hash of their image."""
    shutil.copytree(shots[0], tmp_path / "shots")
    return shots[1]


def files_of(folder: Path, pattern: str) -> dict[str, bytes]:
    contents = {p.name: p.read_bytes() for p in sorted(folder.glob(pattern))}
    assert contents, pattern
    return contents


@pytest.mark.parametrize("medium", MEDIA)
def test_a_volume_is_modelled_and_migrated_to_the_same_files(
    medium: str, tmp_path: Path, gpu_device: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[tuple[int, str]] = []

    def noted(setup: object, shot: ss.Shot, *more: object, **named: object) -> object:
        prepared.append((shot.id, threading.current_thread().name))
        return prepare_shot(setup, shot, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(ahead, "prepare_shot", noted)
    text = VOLUME.format(medium=MEDIA[medium], free_surface=str(medium == "vti").lower())
    by = [model_job(on(d, text, tmp_path), tmp_path / f"shots-{d}").computed_by for d in ("cpu", "cuda")]
    assert by == [kernels.label(kernels.get(d).describe()) for d in ("cpu", "cuda")]
    shots = files_of(tmp_path / "shots-cpu", "*.sgy")
    assert files_of(tmp_path / "shots-cuda", "*.sgy") == shots
    (tmp_path / "shots-cpu").rename(tmp_path / "shots")
    for device in ("cpu", "cuda"):
        migrate_job(
            on(device, '[data]\nfirst_breaks = "ignore"\nfiles = ["shots/*.sgy"]' + text, tmp_path),
            tmp_path / device,
        )
    for pattern in ("image.*", "images/*.planes"):
        assert files_of(tmp_path / "cuda", pattern) == files_of(tmp_path / "cpu", pattern)
    # beside the GPU, while it computes the first
    assert prepared == [*((n, "MainThread") for n in (1, 2, 1)), (2, "shots_0")]
    run = json.loads((tmp_path / "cuda" / "run.json").read_text())
    (by,), work = run["computed_by"], run["over_ranks"]["gpu"]
    assert work["snapshots"] > 0
    assert work["steps"] == sum(run["checkpoint"]["sums"][n] for n in ("source_steps", "receiver_steps"))
    assert min(work[name] for name in ("launches", "to_device", "to_host", "memory")) > work["steps"]
    assert "gpu" not in json.loads((tmp_path / "cpu" / "run.json").read_text())["over_ranks"]
    page = str(summary.numbers(gather(tmp_path / "cuda")))
    assert "over the links of GPUs" in page
    assert "largest memory on the GPU of a rank" in page
    assert by == gpu_device.chosen().name  # type: ignore[attr-defined]


def test_a_run_goes_on_on_another_device_and_says_which_did_what(
    tmp_path: Path, whole: str, gpu_device: object
) -> None:
    def stop(done: float, total: float, message: str = "") -> None:
        if done > 2.1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migrate_job(on("cuda", small_run.MIGRATE, tmp_path), tmp_path / "run", stop)
    again = migrate_job(on("cpu", small_run.MIGRATE, tmp_path), tmp_path / "run")
    assert again.sha256 == whole
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    gpu = gpu_device.chosen().name  # type: ignore[attr-defined]
    assert run["computed_by"][gpu] == [1, 2]
    assert sum(map(len, run["computed_by"].values())) == 3
    page = str(summary.numbers(gather(tmp_path / "run")))
    assert f"{gpu}: 2 shots" in page
    assert f"{kernels.label(kernels.get('cpu').describe())}: 1 shot" in page


#: kills itself when the first shot is half done; or says how it ended
STRUCK = """
import os, signal, sys
from pathlib import Path
from subsalt.methods.rtm.job import Job
from subsalt.kernels import cpu
from subsalt.run.migrate import migrate_job

def strike(done, total, message=""):
    if done > 0.5:
        os.kill(os.getpid(), signal.SIGKILL)

migrate_job(Job.from_toml(sys.argv[1]), Path(sys.argv[2]), strike)
"""


def test_killed_in_a_shot_it_goes_on_from_a_restart_point(
    tmp_path: Path, whole: str, gpu_device: object
) -> None:
    text = small_run.MIGRATE + "[checkpoint]\nrestart_every = 20\n"
    on("cuda", text, tmp_path)
    struck = [sys.executable, "-c", STRUCK, str(tmp_path / "job-cuda.toml"), str(tmp_path / "run")]
    done = subprocess.run(struck, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert list((tmp_path / "run").rglob("restart.g*.json"))
    for then in ("cuda", "cpu"):
        run = shutil.copytree(tmp_path / "run", tmp_path / then)
        again = migrate_job(on(then, text, tmp_path), run)
        assert again.sha256 == whole, then
        resumed = json.loads((run / "run.json").read_text())["checkpoint"]["shots"]["1"]["resumed"]
        assert resumed > 0, then


def test_a_gpu_that_is_lost_stops_the_run_and_blames_no_shot(
    tmp_path: Path, whole: str, emulated: object
) -> None:
    """Only the emulated device can be lost on demand."""
    on("cuda", small_run.MIGRATE, tmp_path)
    command = ["migrate", tmp_path / "job-cuda.toml", "--run", tmp_path / "run"]
    with forked(command, env={"SUBSALT_EMULATED_LOST": "1500"}) as lost:
        _, said = lost.communicate(timeout=PATIENCE)
    assert lost.returncode == 69, said
    assert "E984" in said
    assert not (tmp_path / "run" / "quarantine").exists()
    again = migrate_job(on("cuda", small_run.MIGRATE, tmp_path), tmp_path / "run")
    assert again.sha256 == whole
    rows = json.loads((tmp_path / "run" / "run.json").read_text())["shots"]
    assert [r["failures"] for r in rows] == [0, 0, 0]
    assert sum(r["attempt"] for r in rows) == 4  # one was begun twice


def test_kept_wavefields_are_played_and_imaged_again(tmp_path: Path, whole: str, gpu_device: object) -> None:
    """What was kept on the device, and what is propagated again there, are the frames of the processor."""
    text = small_run.MIGRATE + '[checkpoint]\nkeep = "both"\n'
    runs = {device: migrate_job(on(device, text, tmp_path), tmp_path / device) for device in ("cpu", "cuda")}
    assert runs["cuda"].sha256 == runs["cpu"].sha256 == whole
    wish = Wish(condition="cross-correlation", wavefields=True)
    new = [reimage_run(tmp_path / d, tmp_path / f"{d} again", wish).sha256 for d in ("cpu", "cuda")]
    assert new[0] == new[1]
    wanted = frames_of(tmp_path / "cpu")
    assert frames_of(tmp_path / "cuda") == wanted
    shutil.rmtree(tmp_path / "cuda" / "snapshots")
    said: list[str] = []
    assert frames_of(tmp_path / "cuda", said) == wanted
    assert "propagat" in said[-1]


def frames_of(run: Path, said: list[str] | None = None) -> dict[str, list[bytes]]:
    movie = movie_of(run, 2, say=(said if said is not None else []).append)
    return {name: [f.frame(i).tobytes() for i in range(len(f))] for name, f in movie.fields.items()}


def test_what_a_processor_without_fused_operations_began_is_not_mixed_with_a_gpu(
    tmp_path: Path, whole: str, monkeypatch: pytest.MonkeyPatch, gpu_device: object
) -> None:
    with monkeypatch.context() as patch:
        now = cpu.describe()
        patch.setattr(cpu, "describe", lambda: now | {"isa": "v2", "class": "separate"})
        migrate_job(on("cpu", small_run.MIGRATE, tmp_path), tmp_path / "run")
    with pytest.raises(ConfigError, match="numerics: separate -> fma") as said:
        migrate_job(on("cuda", small_run.MIGRATE, tmp_path), tmp_path / "run")
    assert said.value.code == "E810"


def small_model() -> tuple[ss.EarthModel, ss.Survey]:
    rng = np.random.default_rng(5)
    grid = ss.Grid((41, 31), (10.0, 10.0))
    vp, e = (rng.uniform(a, b, grid.shape).astype(np.float32) for a, b in ((1800, 2400), (0.1, 0.2)))
    model = ss.EarthModel(grid, vp, e, e / 2)
    rcv = np.stack([np.arange(50.0, 351.0, 50.0), np.full(7, 20.0)], axis=1)
    return model, ss.Survey.from_arrays([[200.0, 50.0]], rcv, nt=51, dt=0.002)


def test_functions_on_arrays_take_the_device(gpu_device: object) -> None:
    model, survey = small_model()
    wavelet, steps = ss.ricker(25.0, 0.001), []
    dm = np.random.default_rng(6).uniform(-1e-9, 1e-9, model.grid.shape)
    for device in ("cpu", "cuda"):
        data = ss.forward(model, survey, wavelet, device=device)
        image = ss.migrate(model, data.survey, wavelet, device=device)
        born = ss.born(model, dm, survey, wavelet, device=device)
        back = ss.born_adjoint(model, born.values, survey, wavelet, device=device)
        results = data.data[0], image.image, born.values, back.values
        steps.append([np.asarray(values).tobytes() for values in results])
    assert steps[0] == steps[1]


@pytest.mark.parametrize("medium", ["isotropic", "vti"])
def test_born_data_on_the_device_have_the_bytes_of_the_cpu(gpu_device: object, medium: str) -> None:
    model, survey = small_model()
    if medium == "isotropic":
        model = ss.EarthModel(model.grid, model.vp)
    dm = np.random.default_rng(6).uniform(-1e-9, 1e-9, model.grid.shape)
    setups = [
        linear_setup(model, ss.ricker(25.0, 0.001), survey.time, PropagationOptions(device=device))
        for device in ("cpu", "cuda")
    ]
    cpu_traces, gpu_traces = (scattered_traces(setup, survey.shots[0], dm).traces for setup in setups)
    assert cpu_traces.any()
    assert cpu_traces.tobytes() == gpu_traces.tobytes()
    # its adjoint is not on the device where there are two fields
    if medium == "vti":
        with pytest.raises(ConfigError, match="both fields are taken on the host") as said:
            ss.born_operator(model, survey, ss.ricker(25.0, 0.001), device="cuda")
        assert said.value.code == "E897"


@pytest.mark.parametrize("medium", ["isotropic", "vti", "tti"])
def test_records_and_images_on_a_stretched_depth_axis_have_the_bytes_of_the_cpu(
    gpu_device: object, medium: str
) -> None:
    grid = ss.Grid((21, 61), (10.0, 10.0))
    vp = np.tile(1500.0 + 3.0 * 10.0 * np.arange(61), (21, 1)).astype(np.float32)
    names = {"isotropic": (), "vti": ("epsilon", "delta"), "tti": ("epsilon", "delta", "theta")}[medium]
    volumes = {name: np.full_like(vp, 0.3 if name == "theta" else 0.1) for name in names}
    model, wavelet = ss.EarthModel(grid, vp, **volumes), ss.ricker(12.0, 0.002)
    assert (
        WaveGrid("auto", 0.01, "auto")
        .carry(model, PropagationOptions(), wavelet, imaging=True)
        .grid.depth_axis
    )
    rcv = np.stack([np.arange(20.0, 181.0, 40.0), np.full(5, 20.0)], axis=1)
    survey = ss.Survey.from_arrays([[100.0, 50.0]], rcv, nt=41, dt=0.002)
    results = []
    for device in ("cpu", "cuda"):
        data = ss.forward(model, survey, wavelet, grid="auto", depth_axis="auto", device=device)
        image = ss.migrate(model, data.survey, wavelet, grid="auto", depth_axis="auto", device=device)
        results.append([np.asarray(values).tobytes() for values in (data.data[0], image.image)])
    assert results[0] == results[1]
    assert any(results[0][1])


def test_the_operator_on_the_device_is_its_own_adjoint(gpu_device: object) -> None:
    model, survey = small_model()
    shot = survey.shots[0]
    operator = ModellingOperator(
        model, shot.src[None][:, [0, 2]], shot.rcv[:, [0, 2]], 60, PropagationOptions(device="cuda")
    )
    from subsalt.doctor import _InBand

    result = ss.dot_test(_InBand(operator), tolerance=1e-5)
    assert result, result


def test_a_run_made_on_a_gpu_is_looked_at_without_one(
    tmp_path: Path, whole: str, monkeypatch: pytest.MonkeyPatch, emulated: object
) -> None:
    migrate_job(on("cuda", small_run.MIGRATE, tmp_path), tmp_path / "run")
    monkeypatch.setenv("SUBSALT_CUDA_PLUGIN", "off")
    emulated.forget()  # type: ignore[attr-defined]
    assert len(movie_of(tmp_path / "run", 1, fields=("source",)).times) > 0
    new = reimage_run(tmp_path / "run", tmp_path / "new", Wish(filter="laplacian"))
    assert new.shots_done == [1, 2, 3]
