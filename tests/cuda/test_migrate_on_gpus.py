"""Whole migrations by ranks on GPUs: the files of one processor, a GPU that is lost, and what is said of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from emulated_ranks import MARKS, environment
from launch import Done, run
from survey_jobs import results

from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job
from subsalt.run.migrate import migrate_job
from thorough import thorough

pytestmark = MARKS

#: two shots over a small volume, whose windows are cut into slabs
MODEL = """
[model]
vp = { z = [0, 60, 61, 300], value = [2000, 2000, 2400, 2400] }
epsilon = 0.15
delta = 0.05
[acquisition]
shots = { first = [30, 50, 10], last = [80, 50, 10], n = 2 }
receivers = { first = [13, 30, 10], last = [97, 30, 10], n = 6 }
record_length = 0.052
dt = 0.002
files = "per-shot"
[grid]
spacing = 10
shape = [12, 9, 10]
[source]
f0 = 30
[propagation]
grid = "model"
order = 4
layer = 3
[output]
pictures = false
formats = ["segy", "npz"]
"""

MIGRATE = '[data]\nfiles = ["shots/*.sgy"]\nfirst_breaks = "ignore"\n' + MODEL.replace(
    "vp = { z = [0, 60", "vp = { z = [0, 50"
)

#: what is kept of the source's wavefield, by name: each has bits of its own in what it makes of rounding
CHECKPOINT = {
    "store": "",
    "revolve": '[checkpoint]\nstrategy = "revolve"\n',
    "boundary": '[checkpoint]\nstrategy = "boundary"\nexact = false\n',
}


def job_for(folder: Path, how: str, device: str, group: int | str = 1) -> Path:
    """Return the file of a migration."""
    path = folder / f"{how}-{device}-{group}.toml"
    share = f'[parallel]\ndevice = "{device}"\nranks_per_shot = {group}\n'
    path.write_text(MIGRATE + CHECKPOINT[how] + share)
    return path


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with modelled shots."""
    folder = tmp_path_factory.mktemp("survey")
    (folder / "model.toml").write_text(MODEL)
    model_job(Job.from_toml(folder / "model.toml"), folder / "shots")
    return folder


@pytest.fixture(scope="module")
def on_one_cpu(survey: Path) -> dict[str, dict[str, bytes]]:
    """Return the files of one process on its processor, by strategy."""
    out = {}
    for how in CHECKPOINT:
        migrate_job(Job.from_toml(job_for(survey, how, "cpu")), survey / f"{how}.one")
        out[how] = results(survey / f"{how}.one")
    return out


def migrate(survey: Path, how: str, ranks: int, group: int, folder: Path, **env: str) -> Done:
    """Migrate on ranks with the emulated device."""
    job = job_for(survey, how, "cuda", group)
    return run(ranks, ["subsalt", "migrate", job, "--run", folder], env=environment(**env))


@pytest.mark.parametrize(
    ("how", "ranks", "group", "messages", "gpus"),
    [
        ("store", 3, 3, "staged", 3),
        ("revolve", 2, 2, "direct", 2),
        ("boundary", 3, 2, "staged", 2),
        ("store", 2, 1, "staged", 1),
    ],
)
def test_files_are_those_of_one_processor(survey, on_one_cpu, tmp_path, how, ranks, group, messages, gpus):
    env = {"messages": messages, "order": "5", "SUBSALT_EMULATED_GPUS": str(gpus)}
    done = migrate(survey, how, ranks, group, tmp_path / "run", **env)
    assert done.rc == 0, done
    assert results(tmp_path / "run") == on_one_cpu[how]
    facts = json.loads((tmp_path / "run" / "run.json").read_text())["parallel"]
    taken = [rank % gpus for rank in range(ranks)]
    assert [(g["number"], g["sharing"]) for g in facts["gpus"]] == [(n, taken.count(n)) for n in taken]
    shared = f"{ranks} ranks share {gpus} GPU{'s' * (gpus > 1)} of"
    assert (shared in done.out[0] + done.err[0]) == (ranks > gpus), done
    assert not any(done.err[1:])


#: velocity that grows with depth, on a computational grid whose depth axis follows it: a few planes for each rank
DEEPENING = """
[model]
vp = {{ z = [0, 420], value = [1500, 3900] }}
{medium}
[acquisition]
shots = {{ first = {source}, last = {source}, n = 1 }}
receivers = {{ first = {first}, last = {last}, n = 6 }}
record_length = 0.128
dt = 0.004
files = "per-shot"
[grid]
spacing = 12
shape = {shape}
[source]
f0 = 12
[propagation]
grid = "auto"
depth_axis = "auto"
layer = 4
[output]
pictures = false
formats = ["npz"]
"""


#: where the shot of it lies, and how large it is
VOLUME = {"source": [80, 48, 24], "first": [20, 24, 24], "last": [140, 24, 24], "shape": [14, 6, 36]}
SECTION = {"source": [80, 24], "first": [20, 24], "last": [140, 24], "shape": [14, 36]}
VTI = "epsilon = 0.15\ndelta = 0.08\n"


@pytest.mark.parametrize(
    ("medium", "size", "checkpoint"),
    [
        ("", VOLUME, "boundary"),
        (VTI, VOLUME, "store"),
        (VTI + "theta = 25", SECTION, "store"),
        # boxes of such a volume: test_tilted_steps.py, ranks on GPUs with an even axis: test_device_ranks.py
        pytest.param(VTI + "theta = 25\nphi = 40", VOLUME, "store", marks=thorough),
    ],
    ids=["isotropic", "vti", "tti 2-D", "tti 3-D"],
)
def test_files_on_a_stretched_depth_axis_are_those_of_one_processor(tmp_path, medium, size, checkpoint):
    text = DEEPENING.format(medium=medium, **size)
    (tmp_path / "model.toml").write_text(text)
    model = Job.from_toml(tmp_path / "model.toml")
    assert model.open_propagation_model().grid.depth_axis is not None
    model_job(model, tmp_path / "shots")
    text += '[data]\nfiles = ["shots/*.sgy"]\nfirst_breaks = "ignore"\n' + CHECKPOINT[checkpoint]
    for device, ranks in (("cpu", 1), ("cuda", 2)):
        (tmp_path / f"{device}.toml").write_text(
            text + f'[parallel]\ndevice = "{device}"\nranks_per_shot = {ranks}\n'
        )
    migrate_job(Job.from_toml(tmp_path / "cpu.toml"), tmp_path / "cpu")
    command = ["subsalt", "migrate", tmp_path / "cuda.toml", "--run", tmp_path / "cuda"]
    done = run(2, command, env=environment("5", "staged", SUBSALT_EMULATED_GPUS="2"))
    assert done.rc == 0, done
    assert results(tmp_path / "cuda") == results(tmp_path / "cpu")


#: loses the GPU of rank 1 in the middle of a shot
LOST = """
    import os, sys
    if os.environ["PMI_RANK"] == "1":
        os.environ["SUBSALT_EMULATED_LOST"] = "{launch}"
    from subsalt.cli import app, guard
    sys.exit(guard.run(app.app, ["migrate", {job!r}, "--run", {folder!r}]))
"""


def test_a_gpu_lost_by_one_rank_ends_all_and_the_run_goes_on(survey, on_one_cpu, tmp_path):
    job, folder = job_for(survey, "store", "cuda", 2), tmp_path / "run"
    program = LOST.format(launch=1200, job=str(job), folder=str(folder))
    done = run(2, program, env=environment(messages="staged", order="6"))
    assert done.rc == 69, done
    said = [line for err in done.err for line in err.splitlines() if line.startswith("error")]
    assert len(said) == 1, done
    assert "E984" in said[0], said
    assert "rank 1 on" in said[0], said
    assert not (folder / "quarantine").exists() or not list((folder / "quarantine").iterdir())
    # the rest by one processor
    migrate_job(Job.from_toml(job_for(survey, "store", "cpu")), folder)
    assert results(folder) == on_one_cpu["store"]
    by = json.loads((folder / "run.json").read_text())["computed_by"]
    assert sum(map(len, by.values())) == 2
