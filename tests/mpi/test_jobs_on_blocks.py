"""Whole jobs whose ranks share shots in blocks: files, kept wavefields and messages are those of one process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from launch import MPI, run
from survey_jobs import job_file, results, write_jobs

from subsalt.errors import ConfigError, SubsaltError
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job
from subsalt.methods.rtm.reimage import Wish, reimage_run
from subsalt.plan import plan_job
from subsalt.run.migrate import migrate_job

pytestmark = MPI


@pytest.fixture(scope="module")
def surveys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a modelled line and a modelled volume, of two shots each, and jobs that migrate them."""
    folder = tmp_path_factory.mktemp("surveys")
    write_jobs(folder)
    for name, many, few in (("line", "n = 5", "n = 2"), ("volume", "n = 3 }", "n = 2 }")):
        model = folder / name / "model.toml"
        model.write_text(model.read_text().replace(many, few))
        model_job(Job.from_toml(model), folder / name / "shots")
    return folder


def with_tables(job: Path, name: str, tables: str) -> Path:
    path = job.with_name(f"{name}.toml")
    path.write_text(f"{job.read_text()}\n{tables}\n")
    return path


def test_a_survey_on_blocks_writes_the_files_of_one_process(surveys: Path, tmp_path: Path) -> None:
    job = job_file(surveys, "volume by angle")
    checkpoint_section = '[checkpoint]\nkeep = "both"\nstrategy = "store"\nplace = "disk"\n'
    alone = migrate_job(Job.from_toml(job), tmp_path / "alone")
    blocks = with_tables(job, "blocks", f"{checkpoint_section}[parallel]\nthreads = 1\ndecomp = [2, 2]")
    done = run(4, ["subsalt", "migrate", blocks, "--run", tmp_path / "blocks", "--json"])
    assert done.rc == 0, done
    assert json.loads(done.out[0])["sha256"] == alone.sha256
    assert results(tmp_path / "blocks") == results(tmp_path / "alone")
    facts = json.loads((tmp_path / "blocks" / "run.json").read_text())
    assert (facts["plan"]["ranks_per_shot"], facts["plan"]["decomp"]) == (4, [2, 2])
    # the four parts of kept wavefields are one field for whoever reads them
    wish = Wish(condition="cross-correlation")
    fresh = migrate_job(wish.job(Job.from_toml(job)), tmp_path / "fresh")
    assert reimage_run(tmp_path / "blocks", tmp_path / "again", wish).sha256 == fresh.sha256


def test_traces_modelled_on_blocks_are_those_of_one_process(surveys: Path, tmp_path: Path) -> None:
    job = with_tables(
        surveys / "volume" / "model.toml", "model_blocks", "[parallel]\nthreads = 1\ndecomp = [1, 2]"
    )
    done = run(2, ["subsalt", "model", job, "-o", tmp_path / "shots"])
    assert done.rc == 0, done
    for path in sorted((surveys / "volume" / "shots").glob("*.sgy")):
        assert (tmp_path / "shots" / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_plan_names_the_blocks(surveys: Path) -> None:
    job = Job.from_toml(with_tables(job_file(surveys, "volume"), "planned", "[parallel]\ndecomp = [3, 2]"))
    plan = plan_job(job, 6, 10**9, 1)
    assert plan.basis.decision.group_size == 6
    assert plan.basis.reading.cut == (3, 2)
    (row,) = [line for line in plan.lines() if line.startswith("blocks")]
    assert "3 x 2 along x and y" in row
    # fewer ranks than blocks share every shot all the same
    assert plan_job(job, 4, 10**9, 1).basis.decision.group_size == 4


@pytest.mark.parametrize(
    ("name", "table", "code", "words"),
    [
        ("volume", "decomp = [2, 0]", "E104", "two positive integers"),
        ("volume", 'decomp = "rows"', "E104", "slabs"),
        ("volume", "decomp = [2, 2]\nranks_per_shot = 3", "E719", "has 4 parts"),
        ("volume", "decomp = [2, 9]", "E720", "along y"),
        ("line", "decomp = [2, 2]", "E719", "a 2-D model has no rows"),
    ],
)
def test_blocks_that_cannot_be_are_refused(
    surveys: Path, name: str, table: str, code: str, words: str
) -> None:
    path = with_tables(job_file(surveys, name), "wrong", f"[parallel]\n{table}")
    with pytest.raises(SubsaltError) as caught:
        plan_job(Job.from_toml(path), 18, 10**9, 1)
    assert code == caught.value.code or code in str(caught.value)
    assert words in str(caught.value)


def test_a_gpu_cuts_no_rows(surveys: Path) -> None:
    from subsalt.plan import PlannedDevice

    path = with_tables(job_file(surveys, "volume"), "gpu", "[parallel]\ndecomp = [2, 2]")
    with pytest.raises(ConfigError, match="ranks on GPUs have slabs along x"):
        plan_job(Job.from_toml(path), 4, 10**10, 1, on=PlannedDevice("cuda", "h200", None))
