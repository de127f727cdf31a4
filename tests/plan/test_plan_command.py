"""`subsalt plan`: the table, its JSON, its exit codes; nothing is started."""

import json
import math
from pathlib import Path

import pytest
from plan_cases import needs, world

from job_files import MIGRATE as ON_ANY_GRID
from job_files import OWN_GRID, survey, write_files, write_job
from subsalt.cli import guard
from subsalt.cli.app_root import app
from subsalt.cli.plan_command import memory_bytes
from subsalt.errors import ConfigError
from subsalt.machine import machine_file as machines
from subsalt.methods.rtm.duration import prediction_of
from subsalt.methods.rtm.grouping import decide
from subsalt.methods.rtm.job import Job
from subsalt.plan import World, plan_job
from subsalt.plan.disk import Disk
from subsalt.plan.model import tail_loss
from subsalt.run.migrate import migrate_job

MIGRATE = ON_ANY_GRID + OWN_GRID


@pytest.fixture
def job(tmp_path):
    write_files(tmp_path)
    return write_job(tmp_path, MIGRATE)


def run(capsys, *args):
    code = guard.run(app, [str(a) for a in args])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_plan_says_what_a_rank_takes_and_starts_nothing(job, capsys):
    before = sorted(p.name for p in job.parent.iterdir())
    code, out, _ = run(capsys, "plan", job, "--ranks", 3)
    assert code == 0
    for word in ("wavefields", "snapshots", "groups", "disk", "in core: 1 rank per shot"):
        assert word in out
    assert sorted(p.name for p in job.parent.iterdir()) == before


def test_json_is_one_object_whose_arrays_sum_to_the_need(job, capsys):
    code, out, err = run(capsys, "plan", job, "--ranks", 2, "--memory-per-rank", "2GB", "--json")
    plan = json.loads(out)
    assert code == 0
    assert "wavefields" in err
    assert plan["fits"]
    assert plan["memory"]["memory_per_rank_bytes"] == 2 * 10**9
    assert sum(plan["memory"]["arrays"].values()) == plan["memory"]["need_bytes"]
    assert plan["disk"]["total_bytes"] == sum(plan["disk"]["parts"].values())


def test_what_does_not_fit_ends_with_69_and_a_cure(job, capsys):
    code, out, _ = run(capsys, "plan", job, "--ranks", 2, "--memory-per-rank", "1 MB")
    assert code == 69
    assert "does not fit" in out
    assert "E660" in out
    assert "fix:" in out
    code, out, _ = run(capsys, "plan", job, "--memory-per-rank", "1MB", "--json")
    assert code == 69
    assert json.loads(out)["findings"][-1]["code"] == "E610"


@pytest.mark.parametrize(
    ("args", "code", "exit_code"),
    [
        (["--memory-per-rank", "16"], "E662", 78),
        (["--memory-per-rank", "lots"], "E662", 78),
        (["--machine", "nowhere.json"], "E110", 66),
        (["--ranks", "0"], "", 2),
        (["--shots", "77"], "E304", 65),
    ],
)
def test_wrong_input_has_its_own_exit_code(job, capsys, args, code, exit_code):
    got, out, err = run(capsys, "plan", job, *args)
    assert got == exit_code
    assert code in err + out


def test_more_ranks_per_shot_than_ranks(job, capsys):
    job.write_text(MIGRATE + "[parallel]\nranks_per_shot = 4\n")
    code, out, _ = run(capsys, "plan", job, "--ranks", 2)
    assert code == 0
    assert "2 ranks per shot, all there are, of the 4 asked for" in out
    assert "W663" in out
    assert "start 4 ranks" in out


def test_shots_at_once_of_ranks(job, capsys):
    job.write_text(MIGRATE + "[parallel]\nshots_at_once = 2\n")
    _, out, _ = run(capsys, "plan", job, "--ranks", 2)
    assert "W666" in out
    assert "shots_at_once = 2 has no effect, since there are 2 ranks" in out
    _, out, _ = run(capsys, "plan", job)
    assert "W666" not in out


def test_a_full_disk_is_foreseen(job, capsys, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1000})())
    for command in (("plan", job), ("check", job, "--no-map")):
        code, out, _ = run(capsys, *command)
        assert code == 74
        assert "E663" in out


def test_partial_images_that_are_there_are_not_written_again(job):
    before = plan_job(Job.from_toml(job)).disk.parts["partial images"]
    images = job.parent / "line.run" / "images"
    images.mkdir(parents=True)
    (images / "shot_000001.part").write_bytes(bytes(1000))
    assert plan_job(Job.from_toml(job)).disk.parts["partial images"] == before - 1000


def test_disk_is_what_lies_there_at_a_time():
    parts = {"partial images": 10, "snapshots and states": 100, "image": 20, "pictures, report, ledger": 5}
    # two shots are done at the same time: their partial images, 4 bytes, come when their snapshots have gone
    for snapshots, most in ((100, 10 - 4 + 100), (20, 10 + 25)):
        given = parts | {"snapshots and states": snapshots}
        assert Disk(given, 0, Path("."), snapshots, 25 + 4).total == most


def test_parts_of_the_disk_are_what_a_run_leaves(job, tmp_path):
    job = Job.from_toml(job)
    planned = plan_job(job, run_dir=tmp_path / "run").disk.parts
    migrate_job(job, tmp_path / "run")
    images = sum(f.stat().st_size for f in (tmp_path / "run" / "images").glob("*.planes"))
    assert planned["partial images"] == images
    left = {
        f: f.stat().st_size
        for f in (tmp_path / "run").rglob("*")
        if f.is_file() and f.parent.name != "images"
    }
    outputs = sum(size for f, size in left.items() if f.name.startswith(("image", "illumination")))
    # headers of RSF files are counted with what lies beside
    assert planned["image"] <= outputs <= planned["image"] + 4096
    assert sum(left.values()) - outputs <= planned["pictures, report, ledger"]


def test_what_deserves_a_warning(job, monkeypatch):
    thin = plan_job(Job.from_toml(job), ranks=12)
    assert [f.code for f in thin.findings] == []
    job.write_text(MIGRATE + "[parallel]\nranks_per_shot = 12\n")
    codes = [f.code for f in plan_job(Job.from_toml(job), ranks=12).findings]
    assert codes == ["W660"]
    job.write_text(MIGRATE + "[parallel]\nranks_per_shot = 1\n")
    write_files(job.parent, survey(5))
    uneven = plan_job(Job.from_toml(job), ranks=4)
    assert [f.code for f in uneven.findings] == ["W662"]
    assert "5 shots over 4 groups leave 38% of the ranks' time unused" in uneven.findings[0].message
    need = plan_job(Job.from_toml(job)).basis.decision.need.total
    monkeypatch.setattr("subsalt.plan.world.available_memory", lambda: int(1.1 * need))
    assert [f.code for f in plan_job(Job.from_toml(job)).findings] == ["W661"]


def test_the_time_is_that_of_the_measured_rates(tmp_path):

    requirements = needs(medium="vti")
    n, width = 256, 12
    core, layered = 1000e6, 800e6
    row = {
        "medium": "vti",
        "dim": 3,
        "order": 8,
        "model_storage": "f32",
        "loop": "segment",
        "isa": "v3",
        "threads": 2,
        "n": n,
    }
    rows = [row | {"boundary": "none", "layer_cells": 0, "points_per_s": core}]
    rows.append(row | {"boundary": "pml", "layer_cells": width, "points_per_s": layered})
    machine = machines.Machine({"cores": 2}, {"kernels": rows})
    inside = (n - 2 * width) ** 3
    layer_rate = (n**3 - inside) / (n**3 / layered - inside / core)
    nx, ny, nz = requirements.domain(requirements.shots[0]).grid.shape3
    core_points = math.prod(v - 2 * width for v in (nx, ny, nz))
    steps = 2 * (requirements.setup.axis.nt - 1)
    shot = steps * (core_points / core + (nx * ny * nz - core_points) / layer_rate)
    # two ranks of a node share its rate: twelve shots take the node as long as one after the other
    got = prediction_of(requirements, decide(requirements, world(2, 1e12)), machine)
    assert got.steps.seconds == pytest.approx(12 * shot)
    assert got.steps.shot_seconds == pytest.approx(2 * shot)
    assert any(note.startswith("model") for note in got.notes)
    # a rate that was not measured is not made up
    for other in (needs(medium="tti"), needs(medium="vti", order=4)):
        nothing = prediction_of(other, decide(other, world(2, 1e12)), machine)
        assert nothing.steps.seconds is None
        assert "subsalt lab kernels" in nothing.notes[0]
    two = prediction_of(requirements, decide(requirements, world(1, 1e12)), machine)
    assert two.steps.seconds is None
    assert "1 are planned" in two.notes[0]


def test_without_a_measured_machine_the_plan_says_how_to_get_one(job, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    assert "subsalt lab kernels" in plan_job(Job.from_toml(job)).duration.notes[0]


@pytest.mark.parametrize(
    ("text", "size"),
    [("16GB", 16e9), ("1.5 GiB", 1.5 * 2**30), ("900M", 900 * 2**20), (".5tb", 5e11), ("100 kB", 1e5)],
)
def test_amounts_of_memory(text, size):
    assert memory_bytes(text) == int(size)


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1e3GB", "0GB", "16 bananas", "0.1b"])
def test_what_is_no_amount_of_memory(text):
    with pytest.raises(ConfigError, match="not an amount"):
        memory_bytes(text)


def test_the_loss_behind_the_last_shots():
    assert tail_loss(12, 4) == 0
    assert tail_loss(13, 4) == pytest.approx(3 / 16)
    assert tail_loss(2, 4) == 0.5


def test_a_group_takes_as_long_as_its_slowest_slab():
    requirements = needs(medium="vti")
    row = {"medium": "vti", "dim": 3, "order": 8, "model_storage": "f32", "loop": "segment", "isa": "v3"}
    row |= {"threads": 1, "n": 256, "boundary": "none", "layer_cells": 0, "points_per_s": 1e9}
    machine = machines.Machine({"cores": 1}, {"kernels": [row, row | {"boundary": "pml", "layer_cells": 12}]})
    plain = requirements.domain(requirements.shots[0]).grid.shape3
    # rates inside and outside the layer are alike: what counts is the thickest slab
    planes = max(p.slab.hi - p.slab.lo for p in requirements.parts(requirements.shots[0], 3))
    one, three = (
        prediction_of(
            requirements, decide(requirements, World(n, 10**12, 1, 1, True), n), machine
        ).steps.shot_seconds
        for n in (1, 3)
    )
    assert three / one == pytest.approx(planes / plain[0])
