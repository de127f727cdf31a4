"""A plan for a GPU: memory by place, strategy, seconds and transfers; for one that is here, and for one that is not."""

import json
from dataclasses import replace

import pytest
from plan_cases import setup, survey, world

from job_files import write_files, write_job
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.cli import guard
from subsalt.cli.app_root import app
from subsalt.errors import ConfigError, MemoryPlanError
from subsalt.machine import machine_file as machines
from subsalt.machine.machine_file import Machine
from subsalt.methods.rtm.duration import RunTimes
from subsalt.methods.rtm.grouping import group_size
from subsalt.methods.rtm.need import Needs
from subsalt.methods.rtm.node_inputs import NodeInputs
from subsalt.methods.rtm.speed import LAYER, SHARE, gpu_rates
from subsalt.plan import PlannedDevice, plan_job
from subsalt.plan import gpu as gpus
from subsalt.plan.gpu import PlannedGpu
from subsalt.plan.prediction import Writes
from subsalt.plan.rates import Parts, Rates

#: its kernels start at once and its driver takes nothing: a small survey is ruled by its arrays
H200 = replace(gpus.named("h200"), launch=0.0, context=0)
#: room for everything on the host
HOST = 64 * 10**9


@pytest.fixture
def job(tmp_path):
    write_files(tmp_path)
    return write_job(tmp_path)


def run(capsys, *args):
    code = guard.run(app, [str(a) for a in args])
    said = capsys.readouterr()
    return code, said.out, said.err


def decided(gpu, ranks=1, memory=HOST, group="auto", medium="vti", **options):
    made = setup(medium=medium)
    there = replace(world(ranks, memory), gpu=gpu)
    rates = gpu_rates(Needs(made, survey().shots, gpu=gpu), there, gpu, None)
    how = NodeInputs(CheckpointOptions(**options), rates, disk=10**12, gpu=gpu)
    needs = Needs(made, survey().shots, there.ranks, there.threads, how)
    return group_size(needs, there, group)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("NVIDIA H200", "h200"),
        ("h100", "h100"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
        ("NVIDIA A100-SXM4-80GB", None),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("Emulated", None),
    ],
)
def test_names_of_drivers_mean_a_kind(name, kind):
    assert gpus.kind_of(name) == kind or (kind is None and gpus.kind_of(name) in (None, "a100"))


def test_what_nobody_measured_is_assumed_and_says_so():
    assert not H200.measured
    assert not H200.there
    row = {"device": "h200", "version": "0.6.0", "date": "2026-11-22T10:00:00Z"}
    rows = [
        row | {"what": w, "rate": r}
        for w, r in (("copy", 4000.0), ("down", 50.0), ("up", 40.0), ("launch", 3.0))
    ]
    known = gpus.named("h200", None, Machine({}, {"device": rows}))
    assert (known.copy, known.down, known.up, known.launch) == (4e12, 50e9, 40e9, 3e-6)
    assert known.measured.startswith("2026-11-22")
    assert gpus.named("some card", 8 * 10**9).memory == 8 * 10**9
    with pytest.raises(ConfigError, match="some card") as unknown:
        gpus.named("some card")
    assert unknown.value.code == "E989"
    with pytest.raises(ConfigError, match="leave --gpu") as both:
        PlannedDevice("cpu", "h200")
    assert both.value.code == "E989"


def test_what_fits_stays_on_the_device():
    choice = decided(H200)
    assert choice.choice.best.name == "store, device"
    need = choice.need
    assert set(need.device) >= {
        "wavefields",
        "model arrays",
        "absorbing layer",
        "snapshots",
        "image accumulators",
    }
    assert not {"wavefields", "absorbing layer", "snapshots"} & set(need.arrays)
    assert need.pinned == 0
    # two levels of p and q, padded as on the host
    layout = choice.needs.domain(survey().shots[0]).layout
    padded = 1
    for n in layout.padded_shape:
        padded *= n
    assert need.device["wavefields"] == 4 * 4 * padded


def test_the_next_shot_is_prepared_where_memory_has_room_for_it():
    roomy = decided(H200)
    more = roomy.need.arrays["next shot"]
    assert roomy.need.ahead
    assert roomy.need.total <= HOST
    arrays = roomy.needs.arrays(survey().shots[0])
    assert more + roomy.need.arrays.get("working space", 0) >= arrays.propagator.model_arrays
    tight = decided(H200, memory=roomy.need.total - 1)
    assert not tight.need.ahead
    assert tight.need.total == roomy.need.total - more
    assert not decided(H200, ranks=2, group=2).need.ahead
    # all shots but the first wait for what others do not hide
    rates = gpu_rates(roomy.needs, roomy.world, H200, None)
    left = len(survey().shots)
    alone = RunTimes(tight.needs, tight, rates).of_survey(Writes({}), survey().shots)
    beside = RunTimes(roomy.needs, roomy, rates).of_survey(Writes({}), survey().shots)
    assert beside["source"] == pytest.approx(alone["source"])
    assert alone["setup"] / left <= beside["setup"] < alone["setup"]


def test_what_no_wave_reaches_takes_no_time(monkeypatch):
    from subsalt.kernels import cpu
    from subsalt.kernels.cuda import segment

    choice = decided(H200)
    times = RunTimes(choice.needs, choice, gpu_rates(choice.needs, choice.world, H200, None))
    shot = survey().shots[0]
    whole = times.of_shot(shot)
    # a small grid is advanced whole; of a large one a box
    monkeypatch.setattr(segment, "SMALLEST", 0)
    monkeypatch.setattr(segment, "LOOKS", (1, 1))
    cut = times.of_shot(shot)
    assert cut["source"] < whole["source"]
    assert cut["setup"] == whole["setup"]
    with cpu.forced(front=False):
        assert times.of_shot(shot) == whole


def test_snapshots_go_to_pinned_memory_then_to_disk_then_they_are_computed_again():
    # a link and a disk as fast as memory, so that only room decides
    fast = replace(H200, down=H200.copy, up=H200.copy)
    bare = decided(fast).need.on_device - decided(fast).need.device["snapshots"]
    small = replace(fast, memory=int(1.2 * bare))
    assert small.limit < decided(fast).need.on_device
    pinned = decided(small, strategy="store")
    assert pinned.choice.best.name == "store, memory"
    assert pinned.need.pinned == decided(fast).need.device["snapshots"]
    assert pinned.need.on_device <= small.limit
    assert pinned.choice.best.link == (pinned.need.pinned, pinned.need.pinned)
    no_room = pinned.need.total - pinned.need.pinned + 10**8
    assert decided(small, memory=no_room, strategy="store").choice.best.name == "store, disk"
    slow = replace(fast, memory=int(2.5 * bare), down=1e8, up=1e8)
    assert decided(slow).choice.best.name == "revolve, device"


def test_too_little_device_memory_is_refused_with_a_change_that_fits():
    least = replace(H200, memory=30 * 10**6)
    with pytest.raises(MemoryPlanError, match="wavefields") as refused:
        decided(least)
    assert refused.value.code == "E988"
    assert "h200" in refused.value.message
    assert refused.value.fix.startswith("start ")
    assert "such a GPU" in refused.value.fix
    with pytest.raises(MemoryPlanError) as given:
        decided(H200, strategy="store", place="device", device_memory=10**6)
    assert given.value.code == "E988"
    assert given.value.fix == "leave [checkpoint] device_memory out"
    with pytest.raises(MemoryPlanError) as alone:
        decided(replace(least, memory=10**6))
    assert "use a GPU with" in alone.value.fix or "aperture" in alone.value.fix


def test_slabs_over_more_gpus_when_one_is_too_small():
    # wavefields, model and image of half the window fit, those of the whole do not
    one = decided(H200, strategy="revolve")
    bare = one.needs.gpu.limit - one.needs.device_budget(1)
    half = replace(H200, memory=int(0.8 * bare))
    with pytest.raises(MemoryPlanError, match="of h200"):
        decided(half)
    several = decided(half, ranks=4)
    assert several.group_size > 1
    assert several.need.on_device <= half.limit
    # planes of p go to the neighbours and come from them, both time levels; without MPI that knows GPUs by the host
    slab = several.needs.parts(survey().shots[0], several.group_size)[1].slab
    _, rows, row = several.needs.domain(survey().shots[0], (1, several.group_size)).layout.padded_shape
    ghosts = slab.ghost_lo + slab.ghost_hi
    assert several.need.arrays["pinned ghost planes"] <= 2 * 2 * ghosts * rows * row * 4
    assert "pinned ghost planes" not in one.need.arrays


def test_ranks_that_share_a_gpu_share_its_memory_and_time():
    two = replace(H200, sharing=2)
    assert two.limit == H200.limit // 2
    one, shared = decided(H200, ranks=2), decided(two, ranks=2)
    assert shared.choice.best.seconds == pytest.approx(2 * one.choice.best.seconds)


@pytest.mark.parametrize("medium", ["isotropic", "vti", "tti"])
def test_rates_are_a_share_of_the_copy_bandwidth(medium):
    made = setup(medium=medium)
    needs = Needs(made, survey().shots, gpu=H200)
    rates = gpu_rates(needs, replace(world(1, HOST), gpu=H200), H200, None)
    bytes_per_point = {"isotropic": 16, "vti": 36, "tti": 48}[medium]
    assert rates.core == pytest.approx(SHARE[medium] * H200.copy / bytes_per_point)
    assert rates.layer == rates.core / LAYER
    assert "predicted, not measured" in rates.source


def test_measured_kernels_are_used_where_they_are_known():
    needs = Needs(setup(), survey().shots, gpu=H200)
    row = {
        "device": "h200", "loop": "segment", "medium": "vti", "order": 8, "model_storage": "f32", "n": 512,
        "date": "2026-11-22T10:00:00Z", "version": "0.6.0",
    }  # fmt: skip
    rows = [
        row | {"boundary": "none", "layer_cells": 0, "points_per_s": 8e10},
        row | {"boundary": "pml", "layer_cells": 12, "points_per_s": 7e10},
    ]
    known = Machine({}, {"device_kernels": rows})
    rates = gpu_rates(needs, replace(world(1, HOST), gpu=H200), H200, known)
    inside = 488**3
    assert rates.core == 8e10
    assert rates.layer == pytest.approx((512**3 - inside) / (512**3 / 7e10 - inside / 8e10))
    assert "measured on h200 at 512^3 on 2026-11-22" in rates.source


def test_a_step_takes_at_least_the_launches_of_its_kernels():
    slow = replace(H200, launch=1.0)
    assert decided(H200).choice.best.seconds < 1.0
    assert decided(slow).choice.best.seconds >= 2 * 8 * (setup().axis.nt - 2)


def test_phases_of_a_shot_count_what_the_link_does_not_hide():
    choice = decided(replace(H200, down=1e7, up=1e7), strategy="store", place="memory")
    rates = Rates(1e12, 1e12, 0, 0, False, Parts())
    spent = RunTimes(choice.needs, choice, rates).of_shot(survey().shots[0])
    down, up = choice.choice.best.link
    # setting a source sample aside, steps are nothing beside this link
    assert spent["snapshots"] == pytest.approx((down + up) / 1e7 - spent["source"] - spent["receivers"])


def test_what_decides_reaches_the_other_ranks():
    how = decided(H200).needs.checkpointing
    assert NodeInputs.from_dict(json.loads(json.dumps(how.to_dict()))) == how


def test_a_job_is_sized_for_a_gpu_that_is_not_here(job, capsys):
    code, out, _ = run(capsys, "plan", job, "--gpu", "h200", "--memory-per-rank", "64GB")
    assert code == 0
    for word in (
        "h200 (not in this machine)",
        "memory of the GPU",
        "store, device",
        "predicted, not measured",
        "driver",
    ):
        assert word in out
    code, out, err = run(capsys, "plan", job, "--gpu-memory", "80GiB", "--memory-per-rank", "64GB", "--json")
    plan = json.loads(out)
    assert code == 0
    assert plan["device"]["memory"] == 80 << 30
    assert sum(plan["device"]["arrays"].values()) == plan["device"]["need_bytes"] <= plan["device"]["limit"]
    assert plan["device"]["largest_shot_link_bytes"] == {"down": 0, "up": 0}
    assert plan["memory"]["pinned_bytes"] == 0
    assert "assumed" in err


def test_from_python_a_gpu_is_named_too(job):
    from subsalt.methods.rtm.job import Job

    plan = plan_job(
        Job.from_toml(job), memory_per_rank=64 * 10**9, on=PlannedDevice("cuda", "a100", 20 * 10**9)
    )
    assert plan.fits
    assert (plan.basis.decision.world.gpu.name, plan.basis.decision.world.gpu.memory) == ("a100", 20 * 10**9)


@pytest.mark.parametrize(
    ("args", "code", "exit_code"),
    [
        (["--device", "cuda"], "E989", 78),
        (["--gpu", "voodoo"], "E989", 78),
        (["--gpu", "h200", "--device", "cpu"], "E989", 78),
        (["--device", "tpu"], "E104", 78),
        (["--gpu-memory", "much"], "E662", 78),
        (["--gpu", "h200", "--gpu-memory", "10MB"], "E988", 69),
        (["--gpu", "h200", "--nodes", "2,4"], "E971", 78),
    ],
)
def test_wrong_words_and_small_gpus_have_their_exit_code(job, capsys, args, code, exit_code):
    got, out, err = run(capsys, "plan", job, *args)
    assert got == exit_code
    assert code in err + out


def test_the_gpu_of_this_process_is_what_is_free_on_it(emulated, monkeypatch):
    monkeypatch.setenv("SUBSALT_EMULATED_MEMORY", str(10**9))
    here = PlannedDevice("cuda").gpu_for(None)
    assert isinstance(here, PlannedGpu)
    free, total = emulated.free_memory()
    assert (here.memory, here.there, here.context) == (free, True, 0)
    assert free <= total == 10**9
    assert PlannedDevice("cuda").gpu_for(None, ranks=3).sharing == 3
    assert PlannedDevice("auto").gpu_for(None) is None  # an emulated device is asked for by name


def test_the_path_of_machine_json_is_read_for_its_device(job, capsys, tmp_path):
    rows = [
        {"device": "h200", "what": what, "rate": rate, "unit": unit, "date": "2026-11-22T10:00:00Z"}
        for what, rate, unit in (("copy", 4100.0, "GB/s"), ("down", 50.0, "GB/s"), ("up", 51.0, "GB/s"))
    ]
    here = machines.Machine.here()
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(Machine(here.machine, {"device": rows}).to_dict()))
    code, out, _ = run(capsys, "plan", job, "--gpu", "h200", "--machine", path, "--memory-per-rank", "64GB")
    assert code == 0
    assert "copies 4.10 TB/s, to the host 50 GB/s, from it 51 GB/s (measured on 2026-11-22)" in out
