"""Whole time migrations with `[parallel] device`: the bytes of the CPU, also of runs that change the device midway."""

import ctypes
import gc
import json
import os
import signal

import numpy as np
import pytest
from launch import forked
from time_case import hashes, make, positions

import subsalt
from kirchhoff_data import reflector_traces
from patience import PATIENCE
from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError, DeviceError, SubsaltError
from subsalt.io.prestack.table import TraceBlocks
from subsalt.kernels import cpu, cuda_library
from subsalt.kernels.cuda import kirchhoff as device
from subsalt.methods.kirchhoff import engine
from subsalt.methods.kirchhoff.engine import migrate_block, select
from subsalt.methods.kirchhoff.memory import layout_of
from subsalt.methods.kirchhoff.partial_image import Sums
from subsalt.methods.kirchhoff.restart import BlockRestartPoints
from subsalt.methods.rtm.job import Job
from subsalt.parallel.comm import single
from subsalt.plan import gpu as gpus
from subsalt.plan.world import World
from subsalt.run.migrate import migrate_job
from subsalt.timing import Phases

pytestmark = pytest.mark.skipif(
    cpu.available()[-1] == "v2", reason="the CPU has no multiply-add: its bytes are its own"
)


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """A folder with the traces, and runs of the CPU by kind of gathers."""
    folder = tmp_path_factory.mktemp("survey")
    runs = {kind: folder / f"{kind}.run" for kind in ("full-offset", "image")}
    for kind, run in runs.items():
        migrate_job(Job.from_toml(make(folder, kind)), run)
    return folder, runs


def start(survey, run, kind="full-offset", keys="", device="cuda", **more):
    """Migrate on a device."""
    job = Job.from_toml(make(survey[0], kind, keys)).changed("parallel", device=device)
    return migrate_job(job, run, **more)


def facts_of(run):
    return json.loads((run / "run.json").read_text())


@pytest.mark.parametrize("kind", ["full-offset", "image"])
def test_a_run_has_the_bytes_of_the_cpu(gpu_device, survey, tmp_path, kind):
    said = []
    result = start(survey, tmp_path / "run", kind, "trace_block = 70", say=said.append)
    assert hashes(tmp_path / "run") == hashes(survey[1][kind])
    here, there = facts_of(tmp_path / "run"), facts_of(survey[1][kind])
    assert result.contributions == here["contributions"] == there["contributions"] > 300_000
    assert here["numerics"]["device"] == "cuda"
    assert here["numerics"]["class"] == there["numerics"]["class"]
    assert here["run_id"] == there["run_id"]
    assert f"computing on {here['numerics']['name']}" in said
    # traces come prepared: 4 bands of 5 coefficients; the sums go home at least once
    done = here["over_ranks"]["gpu"]
    assert done["to_device"] > here["this_start"]["traces"] * 4 * 5 * 125 * 4
    assert done["to_host"] >= 4 * here["locations"] * 101
    assert done["memory"] > 0
    assert list(here["computed_by"]) == [here["numerics"]["name"]]
    assert list(there["computed_by"]) == [f"cpu {there['numerics']['isa']}"]


class Interrupt:
    """A signal in the sum of a block of traces."""

    def __init__(self, monkeypatch, at):
        real, self.count = device.BlockSum.add, 0

        def add(adder, *args):
            self.count += 1
            if self.count == at:
                os.kill(os.getpid(), signal.SIGINT)
            return real(adder, *args)

        monkeypatch.setattr(device.BlockSum, "add", add)


@pytest.mark.parametrize("at", [1, 3, 6])
def test_stopped_on_the_gpu_it_goes_on_anywhere(emulated, survey, tmp_path, monkeypatch, at):
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        Interrupt(patch, at)
        with pytest.raises(KeyboardInterrupt):
            start(survey, run, keys="trace_block = 40")
    (point,) = BlockRestartPoints(run, facts_of(run)["run_id"]).points()
    assert point.next > 0
    start(survey, run, keys="trace_block = 40", device="cpu" if at == 3 else "cuda")
    assert hashes(run) == hashes(survey[1]["full-offset"])
    assert facts_of(run)["contributions"] == facts_of(survey[1]["full-offset"])["contributions"]
    assert not list((run / "restart").iterdir())


def test_restart_points_hold_what_they_say(emulated, survey, tmp_path, monkeypatch):
    """Sums that are stored while the device goes on are those of the traces before `next`."""
    stored, real = [], BlockRestartPoints.save

    def save(points, sums: Sums):
        stored.append(
            (sums.next, sums.contributions, int(-(sums.hits * np.arange(sums.hits.shape[1])).sum()))
        )
        return real(points, sums)

    monkeypatch.setattr(BlockRestartPoints, "save", save)
    start(survey, tmp_path / "run", keys="trace_block = 60\nsave_every = 1e-6")
    assert len(stored) >= 5
    assert all(counted == held for _, counted, held in stored)
    assert hashes(tmp_path / "run") == hashes(survey[1]["full-offset"])


def test_a_device_that_is_lost_stops_the_run_and_it_can_go_on(emulated, survey, tmp_path):
    """In another process: nothing of a lost device works any more."""
    run, path = tmp_path / "run", make(survey[0], keys="trace_block = 40\nsave_every = 1e-6")
    text = path.read_text() + '[parallel]\ndevice = "cuda"\n'
    path.write_text(text)
    with forked(["migrate", path, "--run", run], env={"SUBSALT_EMULATED_LOST": "60"}) as process:
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == DeviceError.exit_code, said
    assert "Traceback" not in said
    assert BlockRestartPoints(run, facts_of(run)["run_id"]).points()
    start(survey, run, keys="trace_block = 40")
    assert hashes(run) == hashes(survey[1]["full-offset"])


def test_a_run_that_wants_a_gpu_is_refused_before_it_begins(survey, tmp_path, subsalt_command):
    path = make(survey[0])
    path.write_text(path.read_text() + '[parallel]\ndevice = "cuda"\n')
    code, out, err = subsalt_command("migrate", path, "--run", tmp_path / "run")
    assert code == 69
    assert "E980" in out + err
    assert not (tmp_path / "run").exists()


def test_a_run_falls_back_with_one_line(emulated, survey, tmp_path, monkeypatch, subsalt_command):
    monkeypatch.setenv("SUBSALT_EMULATED_DRIVER", "12040")
    code, out, err = subsalt_command("migrate", make(survey[0]), "--run", tmp_path / "run")
    assert code == 0
    assert len([line for line in (out + err).splitlines() if "W980" in line]) == 1
    assert facts_of(tmp_path / "run")["numerics"]["device"] == "cpu"
    assert hashes(tmp_path / "run") == hashes(survey[1]["full-offset"])


def test_a_small_gpu_gets_small_blocks(emulated, survey, tmp_path, monkeypatch):
    monkeypatch.setenv("SUBSALT_EMULATED_MEMORY", "700000")
    start(survey, tmp_path / "run")
    facts = facts_of(tmp_path / "run")
    assert len(facts["blocks"]) > len(facts_of(survey[1]["full-offset"])["blocks"])
    assert hashes(tmp_path / "run") == hashes(survey[1]["full-offset"])


def test_a_gpu_that_is_too_small_is_said_before_anything_is_computed(emulated, survey, tmp_path, monkeypatch):
    monkeypatch.setenv("SUBSALT_EMULATED_MEMORY", "300000")
    with pytest.raises(SubsaltError, match=r"emulated device 0 has 0\.3 MB for a rank") as said:
        start(survey, tmp_path / "run")
    assert "E994" in str(said.value)
    assert not (tmp_path / "run").exists()


def test_a_plan_counts_the_memory_of_the_gpu(emulated, survey, subsalt_command):
    path = make(survey[0])
    for words in ((), ("--gpu", "h200")):
        code, out, err = subsalt_command("plan", path, "--no-measure", "--json", *words)
        assert code == 0, err
        result = json.loads(out)["memory"]
        assert bool(words) == (sum(result["device_arrays"].values()) > 1_000_000)
        assert result["fits"]
    code, out, err = subsalt_command("plan", path, "--no-measure", "--gpu", "h200")
    assert "memory of its GPU" in out
    assert "h200 (not in this machine)" in out


def test_the_plan_of_a_block_is_what_it_takes(emulated, survey):
    """The bytes that are allocated while two blocks of traces are under way, against those that were planned."""
    job = Job.from_toml(make(survey[0])).changed("parallel", device="cuda")
    setup = job.setup()
    layout = layout_of(setup, World.of(single(), 1, gpus.of_run("cuda")), traces_at_a_time=50)
    counts = [ctypes.c_int64() for _ in range(4)]

    def now():
        cuda_library.call("subsalt_cuda_allocated", *(ctypes.byref(c) for c in counts))
        return counts[0].value, counts[2].value

    gc.collect()
    before, most = now(), [0, 0]

    def after(_):
        for i, (n, b) in enumerate(zip(now(), before, strict=True)):
            most[i] = max(most[i], n - b)

    for block in layout.blocks:
        with TraceBlocks(setup.table, select(setup, block)[:200], 50) as traces:
            migrate_block(setup, engine.start(setup, block), traces, 1, Phases(), after, device="cuda")
    planned = sum(layout.device.values()) - layout.device["driver"]
    assert 0.9 * planned <= most[0] <= planned
    assert 0.9 * layout.arrays["prepared traces"] <= most[1] <= layout.arrays["prepared traces"]


def test_traces_in_memory(emulated):
    src, rcv = positions()
    traces = reflector_traces(src, rcv, 125, 0.008, depth=400.0)
    grid = ImageGrid((0, 6, 1), (0, 5, 1), (0.0, 0.0), (25.0, 0.0), (0.0, 25.0), TimeAxis(101, 0.008))
    got, want = (
        subsalt.migrate_time(
            traces, src, rcv, dt=0.008, vrms=2000.0, grid=grid, gathers="full-offset", threads=1, device=name
        )
        for name in ("cuda", "cpu")
    )
    assert got.image.tobytes() == want.image.tobytes()
    assert got.gathers.tobytes() == want.gathers.tobytes()
    assert np.array_equal(got.hits, want.hits)
    assert np.array_equal(got.fold, want.fold)
    assert got.contributions == want.contributions > 0
    with pytest.raises(ConfigError):
        subsalt.migrate_time(traces, src, rcv, dt=0.008, vrms=2000.0, grid=grid, device="gpu")
