"""Time migrations of several ranks on GPUs: every rank sums its own blocks; the bytes are those of one CPU."""

import json

import pytest
from emulated_ranks import MARKS, environment
from launch import run
from time_case import hashes, make

from subsalt.methods.rtm.job import Job
from subsalt.run.migrate import migrate_job
from thorough import some

pytestmark = MARKS


@pytest.mark.parametrize(("kind", "ranks", "seed"), some([("full-offset", 2, "1"), ("image", 3, "2")], 1))
def test_the_bytes_are_those_of_one_cpu(tmp_path, kind, ranks, seed):
    path = make(tmp_path, kind, "trace_block = 32")
    migrate_job(Job.from_toml(path), tmp_path / "one")
    path.write_text(path.read_text() + '[parallel]\ndevice = "cuda"\n')
    env = environment(seed, "staged", SUBSALT_EMULATED_GPUS=str(ranks))
    done = run(ranks, ["subsalt", "migrate", path, "--run", tmp_path / "run"], env=env)
    assert done.rc == 0, done
    assert hashes(tmp_path / "run") == hashes(tmp_path / "one")
    facts, one = (json.loads((tmp_path / r / "run.json").read_text()) for r in ("run", "one"))
    assert facts["parallel"]["ranks"] == ranks
    assert facts["contributions"] == one["contributions"] > 300_000
    names = {f"emulated device {rank}" for rank in range(ranks)}
    assert {name.split(",")[0] for name in facts["computed_by"]} <= names
    assert sum(map(len, facts["computed_by"].values())) == len(facts["blocks"])
