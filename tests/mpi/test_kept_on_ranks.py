"""Wavefields that several ranks kept together, and images that several ranks make of them: the bytes of one process."""

from __future__ import annotations

import json

from launch import MPI, run

from subsalt.io.publish import sha256_file
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job
from subsalt.methods.rtm.reimage import Wish, reimage_run
from subsalt.run.migrate import migrate_job

pytestmark = MPI

MODEL = """
[model]
vp = { z = [0, 120, 121, 200], value = [2000, 2000, 2400, 2400] }
[acquisition]
shots = { first = [300, 0], last = [700, 0], n = 3 }
receivers = { first = [0, 0], last = [1000, 0], n = 51 }
record_length = 0.25
dt = 0.002
files = "per-shot"
[grid]
spacing = 10
shape = [101, 21]
[source]
f0 = 20
"""
MIGRATE = """
[data]
files = ["shots/*.sgy"]
first_breaks = "ignore"
[model]
vp = 2000
[imaging]
condition = "cross-correlation"
[grid]
spacing = 10
shape = [101, 21]
[source]
f0 = 20
[output]
pictures = false
[checkpoint]
keep = "both"
strategy = "store"
place = "disk"
[parallel]
threads = 1
"""


def test_kept_and_imaged_on_ranks(tmp_path):
    (tmp_path / "model.toml").write_text(MODEL)
    model_job(Job.from_toml(tmp_path / "model.toml"), tmp_path / "shots")
    (tmp_path / "job.toml").write_text(MIGRATE + "ranks_per_shot = 2\n")
    # two groups of two ranks: every shot is kept in two parts
    done = run(4, ["subsalt", "migrate", tmp_path / "job.toml", "--run", tmp_path / "run"])
    assert done.rc == 0, done
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["wavefields"]["both"] == [1, 2, 3]
    parts = sorted(p.name for p in (tmp_path / "run" / "snapshots" / "shot_000002").glob("*.snap"))
    assert parts == ["receiver.r00.snap", "receiver.r01.snap", "source.r00.snap", "source.r01.snap"]
    wish = Wish(condition="source-normalised")
    fresh = migrate_job(wish.job(Job.from_toml(tmp_path / "job.toml")), tmp_path / "fresh")
    assert reimage_run(tmp_path / "run", tmp_path / "one", wish).sha256 == fresh.sha256
    # three ranks take shots; the image has a part of its planes on each
    words = ["--condition", "source-normalised", "--json"]
    new = run(3, ["subsalt", "reimage", tmp_path / "run", "--run", tmp_path / "three", *words])
    assert new.rc == 0, new
    assert json.loads(new.out[0])["sha256"] == fresh.sha256
    assert new.out[1:] == ["", ""]
    part = run(
        2,
        [
            "subsalt",
            "reimage",
            tmp_path / "run",
            "--run",
            tmp_path / "part",
            *words,
            "--region",
            "400:1000,0:150",
        ],
    )
    assert part.rc == 0, part
    reimage_run(
        tmp_path / "run", tmp_path / "part1", Wish(condition="source-normalised", region="400:1000,0:150")
    )
    assert sha256_file(tmp_path / "part" / "image.sgy") == sha256_file(tmp_path / "part1" / "image.sgy")
    # the same directory, another condition, another number of ranks: nothing is propagated
    again = (tmp_path / "job.toml").read_text().replace("cross-correlation", "source-normalised")
    (tmp_path / "again.toml").write_text(again)
    back = run(2, ["subsalt", "migrate", tmp_path / "again.toml", "--run", tmp_path / "run", "--json"])
    assert back.rc == 0, back
    result = json.loads(back.out[0])
    assert (result["point_steps"], result["sha256"]) == (0, fresh.sha256)
    assert "using again the kept wavefields of 3 shots: no propagation" in back.err[0]
    # what cannot be is said once, by all ranks together
    wrong = run(
        2, ["subsalt", "reimage", tmp_path / "run", "--run", tmp_path / "x", "--region", "5000:6000,0:1"]
    )
    assert wrong.rc == 78, wrong
    assert wrong.err[0].count("E862") == 1
    assert "E862" not in wrong.err[1]
