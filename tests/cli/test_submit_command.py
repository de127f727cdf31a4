"""`subsalt submit`: a script that can be submitted, or a refusal; nothing is started."""

import json
import subprocess

import pytest

from job_files import write_files, write_job
from kirchhoff_jobs import areal
from kirchhoff_jobs import write_job as time_job
from subsalt.cli.submit_command import TARGETS, TargetName
from subsalt.methods.rtm.job import Job
from subsalt.plan import plan_job
from subsalt.run import migrate

SLURM = ("--to", "slurm")


@pytest.fixture
def run(subsalt_command, monkeypatch):
    """Return a function that runs the command in this process: (exit code, stdout, stderr)."""
    monkeypatch.delenv("MPI4PY_LIBMPI", raising=False)
    monkeypatch.setattr(migrate, "migrate_job", lambda *a, **k: pytest.fail("migrated"))
    return lambda *args: subsalt_command("submit", *args)


@pytest.fixture
def job(tmp_path):
    """Write a small job into a folder whose name needs quotation."""
    folder = tmp_path / "the model's $HOME"
    folder.mkdir()
    write_files(folder)
    return write_job(folder)


def test_print_gives_the_script_and_nothing_else(run, job):
    before = sorted(job.parent.iterdir())
    code, out, _ = run(job, *SLURM, "--nodes", "2", "--ranks-per-node", "3", "--shots", "1-2", "--print")
    assert code == 0
    assert out.startswith("#!/bin/bash\n")
    assert subprocess.run(["bash", "-n"], input=out, text=True).returncode == 0
    # the same command, with whole paths and the same shots
    words = out[out.index("command=(") :].split("\nlaunch=", 1)[0] + '\nprintf "%s\\n" "${command[@]}"'
    command = subprocess.run(["bash", "-c", words], capture_output=True, text=True).stdout.splitlines()
    assert command[1:] == [
        *("-m", "subsalt", "migrate", str(job), "--run", str(job.parent / "line.run"), "--shots", "1-2"),
    ]
    assert "2 shots on 6 ranks" in out
    assert sorted(job.parent.iterdir()) == before


def test_the_script_lies_beside_the_job_and_asks_for_what_the_plan_needs(run, job):
    code, out, _ = run(job, *SLURM, "--nodes", "1", "--ranks-per-node", "2", "--threads", "4", "--json")
    assert code == 0
    result = json.loads(out)
    script = (job.parent / "line.sbatch").read_text()
    assert result["text"] == script
    assert result["script"] == str(job.parent / "line.sbatch")
    memory = next(line for line in script.splitlines() if line.startswith("#SBATCH --mem="))
    # two ranks, each with the plan's need in 80 % of its share, in megabytes rounded up to hundreds
    need = plan_job(Job.from_toml(job), 2, 1 << 50, 4).basis.decision.need.total
    assert result["memory_per_node"] == int(2 * need / 0.8)
    assert 0 <= int(memory[len("#SBATCH --mem=") : -1]) * 2**20 - result["memory_per_node"] < 100 * 2**20


def test_whole_nodes_come_with_all_of_their_memory(run, job):
    _, out, _ = run(job, *SLURM, "--nodes", "1", "--ranks-per-node", "2", "--json")
    lines = json.loads(out)["text"].splitlines()
    assert "#SBATCH --exclusive" in lines
    assert "#SBATCH --mem=0" in lines
    assert json.loads(out)["memory_per_node"] > 0
    _, out, _ = run(job, *SLURM, "--nodes", "1", "--memory-per-node", "64GB", "--print")
    assert "#SBATCH --mem=61100M" in out.splitlines()


def test_ranks_that_share_a_shot_are_in_the_command_of_the_script(run, job):
    _, out, _ = run(job, *SLURM, "--nodes", "2", "--ranks-per-shot", "2", "--print")
    assert "2 ranks share a shot" in out
    assert "--ranks-per-shot 2)" in " ".join(out.split())


def test_every_target_has_a_row():
    assert set(TARGETS) == set(TargetName)


def test_the_library_of_the_site_is_handed_on(run, job, monkeypatch):
    monkeypatch.setenv("MPI4PY_LIBMPI", "/opt/mpi/libmpi.so.40")
    _, out, _ = run(job, *SLURM, "--nodes", "1", "--mpi", "mpiexec", "--print")
    assert "export MPI4PY_LIBMPI=/opt/mpi/libmpi.so.40" in out
    assert "launch=(mpiexec -n " in out
    _, out, _ = run(job, *SLURM, "--nodes", "1", "--mpi-library", "/other.so", "--print")
    assert "export MPI4PY_LIBMPI=/other.so" in out


@pytest.mark.parametrize(
    ("options", "code", "exit_code", "words"),
    [
        (("--nodes", "2"), "E002", 2, "Missing option '--to'"),
        (("--to", "pbs", "--nodes", "2"), "E002", 2, "is not one of 'slurm'"),
        (SLURM, "E002", 2, "Missing option '--nodes'"),
        ((*SLURM, "--nodes", "0"), "E786", 2, "--nodes 0"),
        ((*SLURM, "--nodes", "1", "--time", "soon"), "E786", 2, "--time 'soon'"),
        ((*SLURM, "--nodes", "1", "--print", "--out", "x"), "E786", 2, "--print writes no file"),
        ((*SLURM, "--nodes", "1", "--memory-per-node", "lots"), "E662", 78, "--memory-per-node 'lots'"),
        ((*SLURM, "--nodes", "1", "--memory-per-node", "10MB"), "E610", 69, "GB"),
        ((*SLURM, "--nodes", "1", "--out", "/nowhere/x"), "E630", 73, "/nowhere"),
    ],
)
def test_what_makes_no_script(run, job, options, code, exit_code, words):
    left, out, err = run(job, *options, "--json")
    error = json.loads(out)["error"]
    assert (left, error["code"], error["exit"]) == (exit_code, code, exit_code), err
    assert words in error["message"] + error["fix"]
    assert not list(job.parent.glob("*.sbatch"))


def test_wrong_options_are_refused_before_the_traces_are_read(run, job):
    (job.parent / "shots.sgy").unlink()
    code, _, err = run(job, *SLURM, "--nodes", "1", "--mpi", "rsh")
    assert code == 2
    assert "--mpi rsh" in err
    assert "shots.sgy" not in err


def test_a_job_with_errors_makes_no_script(run, job):
    job.write_text(job.read_text().replace("shots.sgy", "others.sgy"))
    code, _, err = run(job, *SLURM, "--nodes", "1")
    assert code == 66
    assert "others.sgy" in err
    assert not list(job.parent.glob("*.sbatch"))


def test_a_time_migration_gets_a_script_of_blocks(run, tmp_path):
    areal(tmp_path / "traces.sgy")
    job = time_job(tmp_path)
    code, out, _ = run(job, *SLURM, "--nodes", "2", "--ranks-per-node", "2", "--threads", "2", "--print")
    assert code == 0
    assert subprocess.run(["bash", "-n"], input=out, text=True).returncode == 0
    assert "4 blocks of 120 locations, 360 traces on 4 ranks; every rank migrates blocks of its own" in out
    assert "#SBATCH --ntasks-per-node=2" in out
    code, out, _ = run(job, *SLURM, "--nodes", "1", "--json")
    script = json.loads(out)["text"]
    # what has restart points goes on: those of blocks lie in a folder of their own
    (tmp_path / "survey.run" / "restart").mkdir(parents=True)
    (tmp_path / "survey.run" / "restart" / "block_000001.json").write_text("{}")
    counted = script[script.index("run_dir=") : script.index("before=")] + "restarts"
    ran = subprocess.run(["bash", "-c", counted], capture_output=True, text=True).stdout
    assert "block_000001.json" in ran
    code, _, err = run(job, *SLURM, "--nodes", "1", "--shots", "1-2", "--print")
    assert code == 78
    assert "takes all traces" in err
    code, _, err = run(job, *SLURM, "--nodes", "1", "--memory-per-node", "60MB", "--print")
    assert code == 69
    assert "trace table" in err


def test_an_array_of_shots_says_what_to_call_before_and_after(run, job):
    cloud = ("--threads", "4", "--image", "subsalt:0.9", "--volume", "survey")
    for more, suffix, middle in (
        (("slurm-array", "--threads", "4"), "array.sbatch", ["sbatch --wait"]),
        (("kubernetes", *cloud), "kubernetes.json", ["kubectl apply", "kubectl wait"]),
        (("aws-batch", *cloud, "--queue", "spot", "--tasks", "2"), "batch.json", ["aws batch", "aws batch"]),
    ):
        code, out, err = run(job, "--to", *more, "--shots", "1-2", "--json")
        assert code == 0, err
        result = json.loads(out)
        assert result["script"] == str(job.parent / f"line.{suffix}")
        first, *others, last = result["next"]
        assert first.endswith("--shots 1-2 --prepare")
        assert [line.startswith(start) for line, start in zip(others, middle, strict=True)] == [True] * len(
            middle
        )
        assert last.startswith("subsalt resume ")
        # two shots, an element for each
        assert "/2" in result["text"]
    for more, says in (
        (("slurm-array",), "--threads"),
        (("slurm-array", "--threads", "4", "--nodes", "2"), "no nodes"),
        (("kubernetes", "--threads", "4"), "--image"),
        (("kubernetes", *cloud, "--mount", "/elsewhere"), "is not in it"),
        (("aws-batch", *cloud), "--queue"),
    ):
        code, _, err = run(job, "--to", *more)
        assert (code, says in err) == (2, True), err
