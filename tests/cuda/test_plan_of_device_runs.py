"""A plan for the device against what a run allocates there and moves over the link, strategy by strategy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from subsalt.errors import FindingsError
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job
from subsalt.run.migrate import migrate_job

MODEL = """
[model]
vp = { z = [0, 60, 61, 300], value = [2000, 2000, 2400, 2400] }
epsilon = 0.15
delta = 0.05
[grid]
spacing = 10
shape = [26, 22, 20]
[source]
f0 = 30
[propagation]
grid = "model"
order = 8
layer = 6
[output]
pictures = false
formats = ["segy"]
"""

SHOT = """
[acquisition]
shots = { first = [120, 100, 10], last = [120, 100, 10], n = 1 }
receivers = { first = [10, 53, 10], last = [240, 53, 10], n = 12 }
record_length = 0.064
dt = 0.002
files = "per-shot"
"""

#: from the one that takes least of the device to the one that takes most: peaks of a process only rise
WAYS = {
    "store, memory": 'strategy = "store"\nplace = "memory"',
    "store, device": "",
    "revolve, memory": 'strategy = "revolve"\nplace = "memory"\nblock = 2\nslots = 6',
    "boundary, device": 'strategy = "boundary"\nplace = "device"',
    "boundary, memory": 'strategy = "boundary"\nplace = "memory"',
    "revolve, device": 'strategy = "revolve"\nplace = "device"\nblock = 2\nslots = 6',
}

RUN = """
import json, sys
from pathlib import Path
from subsalt.methods.rtm.job import Job
from subsalt.kernels import cuda_library
from subsalt.kernels.cuda import segment
from subsalt.plan import PlannedDevice, plan_job
from subsalt.run.migrate import migrate_job

folder = Path(sys.argv[1])
for name in sys.argv[2:]:
    job = Job.from_toml(folder / f"{name}.toml")
    plan = plan_job(job, run_dir=folder / name, measure=False)
    before = segment.counters()
    migrate_job(job, folder / name)
    after, choice = segment.counters(), plan.basis.decision.choice
    moved = {k: after[k] - before[k] for k in after}
    need = plan.basis.decision.need
    told = {"name": choice.best.name, "need": need.on_device, "model": need.device["model arrays"],
            "sums": need.device["image accumulators"], "pinned": need.pinned, "counts": vars(choice.counts),
            "link": [plan.basis.largest_shot.down, plan.basis.largest_shot.up], "moved": moved,
            **cuda_library.allocated()}
    cuda_library.free_memory()  # lets go what waits in cycles
    print(json.dumps(told | {"left": cuda_library.allocated()["device"]}))
"""


def job(folder: Path, name: str, checkpoint: str) -> Path:
    path = folder / f"{name}.toml"
    text = (
        f'[data]\nfiles = ["shots/*.sgy"]\nfirst_breaks = "ignore"\n{MODEL}[parallel]\ndevice = "cuda"\n'
        f"[checkpoint]\n{checkpoint}\n"
    )
    path.write_text(text)
    return path


@pytest.fixture
def shots(tmp_path: Path) -> Path:
    path = tmp_path / "model.toml"
    path.write_text(MODEL + SHOT + '[parallel]\ndevice = "cpu"\n')
    model_job(Job.from_toml(path), tmp_path / "shots")
    return tmp_path


def test_memory_and_transfers_are_those_of_the_plan(shots: Path, gpu_device: object) -> None:
    for i, checkpoint in enumerate(WAYS.values()):
        job(shots, f"job{i}", checkpoint)
    names = [f"job{i}" for i in range(len(WAYS))]
    command = [sys.executable, "-c", RUN, str(shots), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    runs = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [r["name"] for r in runs] == list(WAYS)
    assert sorted(r["need"] for r in runs) == [r["need"] for r in runs]
    for r in runs:
        # tables and lists of points are counted roughly, and matter in a grid of this size
        assert 0.9 * r["need"] <= r["device_peak"] <= r["need"], r["name"]
        assert r["left"] < 0.01 * r["device_peak"], "a run leaves nothing on the device"
        down, up = r["link"]
        # beside snapshots and states: the model once up, with the samples of traces; the sums once down
        samples = 4 * (r["counts"]["source_steps"] + 13 * r["counts"]["receiver_steps"])
        assert 0 <= r["moved"]["to_device"] - up - r["model"] <= samples + 64_000, r["name"]
        assert 0 <= r["moved"]["to_host"] - down - r["sums"] <= 1000, r["name"]
        assert r["moved"]["steps"] == r["counts"]["source_steps"] + r["counts"]["receiver_steps"]
    pinned = {r["name"]: (r["pinned"], r["host_peak"]) for r in runs}
    for name in ("store, memory", "revolve, memory"):
        planned, taken = pinned[name]
        assert planned <= taken <= planned + 1000


def test_too_little_device_memory_is_refused_before_anything_is_allocated(
    shots: Path, emulated: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUBSALT_EMULATED_MEMORY", str(4_460_000))
    made = Job.from_toml(job(shots, "small", ""))
    before = emulated.allocated()  # type: ignore[attr-defined]
    with pytest.raises(FindingsError) as refused:
        migrate_job(made, shots / "run")
    (finding,) = [f for f in refused.value.findings if f.level == "error"]
    assert (finding.code, "wavefields" in finding.message) == ("E988", True)
    assert emulated.allocated()["device_peak"] == before["device_peak"]  # type: ignore[attr-defined]


def test_with_less_device_memory_the_same_image(
    shots: Path, emulated: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = migrate_job(
        Job.from_toml(job(shots, "whole", "")).changed("parallel", device="cpu"), shots / "whole-run"
    )
    monkeypatch.setenv("SUBSALT_EMULATED_MEMORY", str(4_700_000))
    small = migrate_job(Job.from_toml(job(shots, "less", "")), shots / "less-run")
    run = json.loads((shots / "less-run" / "run.json").read_text())
    assert run["checkpoint"]["strategy"] != "store, device"
    assert small.sha256 == whole.sha256
