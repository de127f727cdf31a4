"""`--threads` and `--ranks-per-shot` go before `[parallel]`; they change neither bytes nor the identity of a run."""

import json
import tomllib

import pytest

from job_files import write_files, write_job
from kirchhoff_jobs import areal
from kirchhoff_jobs import write_job as time_job
from subsalt.cli.app_root import ParallelOptions
from subsalt.errors import ConfigError, FindingsError
from subsalt.methods.rtm.job import Job


@pytest.fixture
def job(tmp_path):
    """Write a small job of two shots."""
    write_files(tmp_path)
    return write_job(tmp_path)


def test_threads_change_no_byte_and_belong_to_the_same_run(job, subsalt_command, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    run = job.with_suffix(".run")
    code, out, err = subsalt_command("migrate", job, "--json")
    assert code == 0, err
    first = json.loads(out.splitlines()[-1])
    other = job.with_suffix(".two")
    code, out, err = subsalt_command("migrate", job, "--run", other, "--threads", "2", "--json")
    assert code == 0, err
    assert json.loads(out.splitlines()[-1])["sha256"] == first["sha256"]
    assert json.loads((other / "run.json").read_text())["parallel"]["threads"] == 2
    assert json.loads((run / "run.json").read_text())["parallel"]["threads"] == 1
    # the same run: nothing is computed again
    for words in (("migrate", job, "--run", other), ("resume", other, "--threads", "1")):
        code, out, err = subsalt_command(*words, "--json")
        said = json.loads(out.splitlines()[-1])
        assert (code, said["point_steps"], said["sha256"]) == (0, 0, first["sha256"]), err


def test_they_belong_to_one_start(job, subsalt_command):
    job.write_text(job.read_text() + "\n[parallel]\nthreads = 1\nranks_per_shot = 1\n")
    run = job.with_suffix(".run")

    def threads():
        return json.loads((run / "run.json").read_text())["parallel"]["threads"]

    code, _, err = subsalt_command("migrate", job, "--threads", "2", "--ranks-per-shot", "1")
    assert code == 0, err
    assert threads() == 2
    assert tomllib.loads((run / "job.resolved.toml").read_text())["parallel"]["threads"] == 1
    for words, count in ((("--threads", "2"), 2), ((), 1)):
        code, _, err = subsalt_command("resume", run, *words)
        assert code == 0, err
        assert threads() == count


def test_they_go_before_the_job(job):
    read = Job.from_toml(job)
    assert ParallelOptions().applied_to(read) is read
    changed = ParallelOptions(3, 2).applied_to(read)
    assert (changed.parallel.threads, changed.parallel.ranks_per_shot) == (3, 2)
    assert changed.of_the_image() == read.of_the_image()
    assert changed.path == read.path


def test_a_division_into_blocks_says_how_many_ranks_there_are(job):
    job.write_text(job.read_text() + "\n[parallel]\ndecomp = [2, 1]\n")
    with pytest.raises((ConfigError, FindingsError), match="decomp"):
        ParallelOptions(ranks_per_shot=3).applied_to(Job.from_toml(job))


def test_a_time_migration_has_no_shots_to_share(tmp_path, subsalt_command):
    areal(tmp_path / "traces.sgy")
    code, _, err = subsalt_command("migrate", time_job(tmp_path), "--ranks-per-shot", "2")
    assert code == 78
    assert "E769" in err
    assert "--ranks-per-shot" in err


def test_less_than_one_thread_is_wrong_use(job, subsalt_command):
    code, _, err = subsalt_command("migrate", job, "--threads", "0")
    assert code == 2
    assert "--threads" in err
